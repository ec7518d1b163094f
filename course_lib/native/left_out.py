"""Names that PyTorch has and this engine leaves out, each with what to do instead. Read when one is asked for.

For hasattr() such a name is not there, so that `if hasattr(torch, "compile"):` takes the right branch; whoever uses it
reads which limit was met.

PyTorch: the packages torch/sparse, torch/fft, torch/_dynamo, torch/autograd/forward_ad.py and others.
"""

from course_lib.errors import NotSupportedError, not_supported
from course_lib.native.messages import no_such_name


class NameLeftOut(NotSupportedError, AttributeError):
    """A name of PyTorch's that this engine does not have; the message names the limit."""


REAL, WHOLE, DENSE = "Use float32 or float64.", "Use int64.", "Use a dense tensor."
HERE, AS_IT_IS = "Everything is computed on the CPU.", "Run the function as it is."
INSTEAD = {
    "torch": {
        "compile": AS_IT_IS, "jit": AS_IT_IS, "fx": AS_IT_IS, "export": AS_IT_IS, "func": "Use course_lib.autograd.",
        "vmap": "Write the loop.",
        **dict.fromkeys(("float16", "half", "bfloat16"), REAL),
        **dict.fromkeys(("complex32", "complex64", "complex128", "cfloat", "cdouble", "chalf"), REAL),
        **dict.fromkeys(("complex", "polar", "view_as_real", "view_as_complex"), "Keep two tensors, one a part."),
        "fft": "Use numpy.fft on x.detach().numpy(), without gradients.",
        **dict.fromkeys(("int8", "int16", "int32", "uint8", "uint16", "uint32", "uint64", "short", "int"), WHOLE),
        **dict.fromkeys(("sparse", "sparse_coo_tensor", "sparse_csr_tensor", "sparse_coo", "sparse_csr"), DENSE),
        "set_default_dtype": "Give dtype= where a tensor is made.", "set_default_tensor_type": "Give dtype= instead.",
        "set_default_device": HERE, "get_default_device": HERE, "mps": HERE, "xpu": HERE, "accelerator": HERE,
        **dict.fromkeys(("amp", "autocast"), "Compute in float32."),
        "distributed": "Train in one process.", "multiprocessing": "Use threads.",
    },  # fmt: skip
    "torch.autograd": {
        "forward_ad": "Use autograd.functional.jvp: this engine goes backward only.",
        "profiler": "Use course_lib.teach.watch, or time.perf_counter.",
    },
    "torch.Tensor": {
        **dict.fromkeys(("to_sparse", "to_sparse_csr", "sparse_mask"), DENSE),
        **dict.fromkeys(("pin_memory", "to_mkldnn"), HERE), "share_memory_": "Use threads: they share all memory.",
        "storage": "Use untyped_storage().",
    },
}


def missing(module, name):
    """The error for a name that a module does not have: with the limit, if the name is PyTorch's and known here.

    `module` is written as in PyTorch, "torch.autograd".
    """
    instead = INSTEAD.get(module, {}).get(name)
    if instead is None:
        return no_such_name(module.replace("torch", "course_lib", 1), name)
    return NameLeftOut(str(not_supported(f"{module}.{name}", instead)))

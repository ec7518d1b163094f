"""Names that PyTorch has and this engine leaves out, each with what to do instead. Read when one is asked for.

For hasattr() such a name is not there, so that `if hasattr(torch, "compile"):` takes the right branch; whoever uses it
reads which limit was met.

PyTorch: the packages torch/sparse, torch/fft, torch/_dynamo, torch/autograd/forward_ad.py and others.
"""

from pathlib import Path

from course_lib.arrays.errors import NotSupportedError, not_supported
from course_lib.arrays.messages import no_such_name
from course_lib.engine.ops import ROWS


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
        "profiler": "Use backscope.events.watch, or time.perf_counter.",
    },
    "torch.Tensor": {
        **dict.fromkeys(("int", "short"), "Use .long(), .float() or .double()."),
        **dict.fromkeys(("half", "bfloat16"), "Use .float() or .double()."),
        **dict.fromkeys(("to_sparse", "to_sparse_csr", "sparse_mask"), DENSE),
        **dict.fromkeys(("pin_memory", "to_mkldnn"), HERE), "share_memory_": "Use threads: they share all memory.",
        "storage": "Use untyped_storage().",
    },
}
SAME = dict(
    absolute="abs", arccos="acos", arcsin="asin", arctan="atan", arctan2="atan2", clip="clamp", concat="cat",
    concatenate="cat", divide="div", greater="gt", greater_equal="ge", less="lt", less_equal="le",
    multiply="mul", negative="neg", not_equal="ne", row_stack="vstack", subtract="sub", swapaxes="transpose",
    swapdims="transpose",
)  # fmt: skip


def other_spelling(module: str, name: str) -> str | None:
    """Return the name that is here and does the same, or None: torch.mul for torch.multiply."""
    ending = "_" if module == "torch.Tensor" and name.endswith("_") else ""
    same = SAME.get(name.removesuffix(ending))
    return None if same is None or same + ending in left_out(module) else f"{module}.{same}{ending}"


def read_sections(path: object) -> dict:
    """Return {module: [names]} from a file of names: see its first line."""
    sections = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            names = sections[line.strip("[]")] = []
        elif line and not line.startswith("#"):
            names += line.split()
    return sections


NOT_NEEDED = read_sections(Path(__file__).with_suffix(".txt"))


def left_out(module: str) -> list:
    """List the names of a module that are answered with a sentence. A name of left_out.txt that a row has is not."""
    found = INSTEAD.get(module, {}) | dict.fromkeys(NOT_NEEDED.get(module, []))
    if module == "torch":
        return [name for name in found if name not in ROWS or not ROWS[name].is_function]
    if module == "torch.Tensor":
        return sorted({*found}.difference(*(row.methods for row in ROWS.values())))
    return [*found]


def doors(module: str, names: list) -> tuple:
    """Return a library's `__getattr__` and `__dir__`: it lists its names, and for others it says what to do instead."""

    def __getattr__(name):
        raise missing(module, name)

    def __dir__():
        return sorted(names)

    return __getattr__, __dir__


def missing(module: str, name: str) -> object:
    """Return the error for a name that a module does not have: with what to do, if the name is PyTorch's.

    `module` is written as in PyTorch, "torch.autograd".
    """
    if instead := INSTEAD.get(module, {}).get(name):
        return NameLeftOut(str(not_supported(f"{module}.{name}", instead)))
    if name in NOT_NEEDED.get(module, []):
        if same := other_spelling(module, name):
            return NameLeftOut(f"course_lib has {module}.{name} under one name only. Write {same}, which is the same.")
        return NameLeftOut(
            f"{module}.{name} is PyTorch's, and this course leaves it to PyTorch: change "
            "`import course_lib as torch` to `import torch`, and the cell runs there."
        )
    return no_such_name(module.replace("torch", "course_lib", 1), name)

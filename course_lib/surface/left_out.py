"""Names that PyTorch has and this engine leaves out, each with what to do instead. Read when one is asked for.

For hasattr() such a name is not there, so that `if hasattr(torch, "compile"):` takes the right branch; whoever uses it
reads which limit was met.

PyTorch: the packages torch/sparse, torch/fft, torch/_dynamo, torch/autograd/forward_ad.py and others.
"""

from course_lib.arrays.errors import NotSupportedError, not_supported
from course_lib.arrays.messages import no_such_name


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
        "profiler": "Use course_lib.teach.instruments.watch, or time.perf_counter.",
    },
    "torch.Tensor": {
        **dict.fromkeys(("int", "short"), "Use .long(), .float() or .double()."),
        **dict.fromkeys(("half", "bfloat16"), "Use .float() or .double()."),
        **dict.fromkeys(("to_sparse", "to_sparse_csr", "sparse_mask"), DENSE),
        **dict.fromkeys(("pin_memory", "to_mkldnn"), HERE), "share_memory_": "Use threads: they share all memory.",
        "storage": "Use untyped_storage().",
    },
}


# Names that a course on autograd does not need, and that PyTorch has.
NOT_NEEDED = {
    "torch": """
        BoolTensor DoubleTensor FloatTensor LongTensor absolute acosh acosh_ addbmm addcdiv addcmul addmm addmv
        addmv_ addr aminmax arccos arccos_ arccosh arccosh_ arcsin arcsin_ arcsinh arcsinh_ arctan arctan2 arctan_
        arctanh arctanh_ are_deterministic_algorithms_enabled argwhere as_strided asinh asinh_ atanh atanh_
        atleast_1d atleast_2d atleast_3d backends baddbmm bincount bitwise_and bitwise_left_shift bitwise_not bitwise_or
        bitwise_right_shift bitwise_xor block_diag broadcast_shapes broadcast_tensors broadcast_to bucketize
        can_cast cartesian_prod clamp_max clamp_min clip clip_ column_stack combinations concat concatenate conj
        conj_physical contiguous_format copysign corrcoef count_nonzero cov cummax cummin cumulative_trapezoid
        default_generator deg2rad deg2rad_ det diag_embed diagflat diagonal_scatter diff dist divide dsplit dstack e
        erfc erfc_ exp2 exp2_ fill fix fix_ fliplr flipud float_power fmax fmin frac frac_ gcd get_device
        get_float32_matmul_precision greater greater_equal heaviside histc hsplit hypot index_copy index_fill
        index_put inverse is_anomaly_check_nan_enabled is_anomaly_enabled is_complex is_nonzero is_same_size
        is_signed is_warn_always_enabled isneginf isposinf isreal kron lcm ldexp legacy_contiguous_format less
        less_equal log10_ logaddexp2 logdet logical_xor logit logit_ logspace masked_scatter matrix_power moveaxis
        msort multiply nan_to_num_ nanmean nanmedian nanquantile nansum negative negative_ not_equal positive
        preserve_format quantile rad2deg rad2deg_ ravel real resolve_conj resolve_neg rot90 round_ row_stack rsub
        scatter_reduce searchsorted select_scatter set_float32_matmul_precision sgn signbit sinc sinc_ slice_scatter
        slogdet split_with_sizes square_ strided subtract swapdims take tensor_split trapezoid trapz tril_indices
        triu_indices trunc unique_consecutive use_deterministic_algorithms vdot vsplit xlogy
    """,
    "torch.Tensor": """
        H absolute absolute_ acos acos_ acosh acosh_ addbmm addbmm_ addmm_ addmv addmv_ addr addr_ aminmax arccos
        arccos_ arccosh arccosh_ arcsin arcsin_ arcsinh arcsinh_ arctan arctan2 arctan2_ arctan_ arctanh arctanh_
        argwhere asin asin_ asinh asinh_ atan atan2 atan2_ atan_ atanh atanh_ baddbmm baddbmm_ bernoulli bincount
        bitwise_and bitwise_and_ bitwise_left_shift bitwise_left_shift_ bitwise_not bitwise_or bitwise_or_
        bitwise_right_shift bitwise_right_shift_ bitwise_xor bitwise_xor_ broadcast_to ceil_ clamp_max_ clip_ conj
        conj_physical copysign copysign_ corrcoef cos_ cosh cosh_ count_nonzero cov cross cuda cummax cummin
        cumprod_ cumsum_ deg2rad deg2rad_ det diag diag_embed diagflat diagonal_scatter diff dist divide divide_
        dsplit eq_ erf_ erfc erfc_ exp2 exp2_ expm1 expm1_ fill_diagonal_ fix fix_ fliplr flipud float_power
        floor_divide_ fmax fmin fmod fmod_ frac frac_ gcd ge_ get_device grad_dtype greater greater_equal gt_
        heaviside histc hsplit hypot_ index_copy index_fill index_put inverse is_complex is_meta is_quantized
        is_same_size is_signed isneginf isposinf isreal kron kthvalue lcm ldexp le_ lerp less less_equal log10
        log10_ log1p_ log2 log2_ log_ logaddexp logaddexp2 logdet logical_and logical_and_ logical_not_ logical_or
        logical_or_ logical_xor logical_xor_ logit logit_ mH masked_scatter masked_scatter_ matrix_power moveaxis
        msort multiply multiply_ nan_to_num nan_to_num_ nanmean nanmedian nanquantile nansum ne_ negative negative_
        not_equal positive quantile rad2deg rad2deg_ real remainder_ resolve_conj resolve_neg rot90 rsqrt_
        scatter_reduce scatter_reduce_ select_scatter sgn sign_ signbit sinc sinc_ sinh sinh_ slice_scatter slogdet
        split_with_sizes square_ subtract subtract_ swapdims take take_along_dim tan_ tensor_split tril_ triu_
        true_divide true_divide_ trunc trunc_ unique_consecutive vdot vsplit xlogy
    """,
    "torch.cuda": """
        device_count empty_cache is_initialized manual_seed manual_seed_all max_memory_allocated memory_allocated
    """,
    "torch.nn": """
        AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveAvgPool3d AdaptiveMaxPool1d AdaptiveMaxPool2d AdaptiveMaxPool3d
        AlphaDropout AvgPool1d AvgPool3d BatchNorm3d Bilinear CELU ChannelShuffle CircularPad1d CircularPad2d
        CircularPad3d ConstantPad1d ConstantPad2d ConstantPad3d Conv3d ConvTranspose1d ConvTranspose2d
        ConvTranspose3d CosineEmbeddingLoss CosineSimilarity Dropout1d Dropout2d Dropout3d ELU Fold GLU GRU
        GaussianNLLLoss GroupNorm Hardshrink Hardsigmoid Hardswish Hardtanh HingeEmbeddingLoss InstanceNorm1d
        InstanceNorm2d InstanceNorm3d LPPool1d LPPool2d LocalResponseNorm LogSigmoid MarginRankingLoss MaxPool1d
        MaxPool3d Mish MultiLabelSoftMarginLoss MultiMarginLoss PReLU PairwiseDistance PixelShuffle PixelUnshuffle
        PoissonNLLLoss RReLU ReLU6 ReflectionPad1d ReflectionPad2d ReflectionPad3d ReplicationPad1d ReplicationPad2d
        ReplicationPad3d SELU SoftMarginLoss Softmax2d Softmin Softshrink Softsign Tanhshrink Threshold
        TripletMarginLoss TripletMarginWithDistanceLoss Unflatten Unfold Upsample UpsamplingBilinear2d
        UpsamplingNearest2d ZeroPad1d ZeroPad2d ZeroPad3d modules
    """,
    "torch.nn.functional": """
        adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool1d adaptive_max_pool2d
        adaptive_max_pool3d alpha_dropout avg_pool1d avg_pool3d bilinear celu celu_ channel_shuffle conv3d
        conv_transpose1d conv_transpose2d conv_transpose3d cosine_embedding_loss dropout1d dropout2d dropout3d elu_
        fold gaussian_nll_loss group_norm gumbel_softmax hardshrink hardsigmoid hardswish hardtanh hardtanh_
        hinge_embedding_loss instance_norm interpolate leaky_relu_ local_response_norm lp_pool1d lp_pool2d
        margin_ranking_loss max_pool1d max_pool3d mish multi_margin_loss multilabel_soft_margin_loss
        pairwise_distance pixel_shuffle pixel_unshuffle poisson_nll_loss prelu relu6 rrelu selu selu_
        soft_margin_loss softmin softshrink softsign tanhshrink threshold_ triplet_margin_loss
        triplet_margin_with_distance_loss unfold upsample
    """,
    "torch.nn.init": """
        dirac dirac_ eye eye_ constant kaiming_normal kaiming_uniform normal orthogonal sparse sparse_ uniform
        xavier_normal xavier_uniform
    """,
    "torch.nn.utils": """
        clip_grad_norm clip_grads_with_norm_ rnn
    """,
    "torch.autograd": """
        Variable is_multithreading_enabled set_multithreading_enabled
    """,
    "torch.random": """
        default_generator get_rng_state initial_seed manual_seed seed set_rng_state
    """,
    "torch.optim": """
        Adadelta Adamax NAdam RAdam
    """,
    "torch.optim.lr_scheduler": """
        ChainedScheduler ConstantLR CosineAnnealingWarmRestarts CyclicLR MultiplicativeLR PolynomialLR
    """,
    "torch.utils.data": """
        ChainDataset ConcatDataset Sampler StackDataset SubsetRandomSampler default_convert
    """,
    "torch.utils.checkpoint": """
        GraphExecGroup set_checkpoint_debug_enabled set_checkpoint_early_stop
    """,
    "torch.linalg": """
        LinAlgError cross det matrix_power multi_dot slogdet vecdot
    """,
}
VALUES = "contiguous_format default_generator e legacy_contiguous_format preserve_format strided".split()
KINDS = {"torch.nn": "a module", "torch.optim": "an optimizer", "torch.optim.lr_scheduler": "a schedule"}


def what_it_is(module, name):
    """A function, a method, a class …: what PyTorch has under this name."""
    if name in ("H", "mH", "real", "is_meta", "is_quantized", "grad_dtype"):
        return "an attribute"
    if name in VALUES:
        return "a value"
    if name in ("backends", "modules", "rnn"):
        return "a package"
    other = "a class" if name[0].isupper() else "a method" if module == "torch.Tensor" else "a function"
    return KINDS.get(module, other)


def left_out(module):
    """The names of a module that are answered with a sentence."""
    return [*INSTEAD.get(module, {}), *NOT_NEEDED.get(module, "").split()]


def doors(module, names):
    """The `__getattr__` and `__dir__` of a library: it lists its names, and for others it says what to do instead."""

    def __getattr__(name):
        raise missing(module, name)

    def __dir__():
        return sorted(names)

    return __getattr__, __dir__


def missing(module, name):
    """The error for a name that a module does not have: with what to do, if the name is PyTorch's and known here.

    `module` is written as in PyTorch, "torch.autograd".
    """
    if instead := INSTEAD.get(module, {}).get(name):
        return NameLeftOut(str(not_supported(f"{module}.{name}", instead)))
    if name in NOT_NEEDED.get(module, "").split():
        return NameLeftOut(
            f"{module}.{name} is {what_it_is(module, name)} of PyTorch's, and this course leaves it to PyTorch: change "
            "`import course_lib as torch` to `import torch`, and the cell runs there."
        )
    return no_such_name(module.replace("torch", "course_lib", 1), name)

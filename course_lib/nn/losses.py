"""Losses as modules: each calls the function of its name in functional/.

PyTorch: torch/nn/modules/loss.py.
"""

from course_lib.nn import functional as F
from course_lib.nn.module import Module


class _Loss(Module):
    """A loss whose constructor's arguments are passed on to its function; tensors among them become buffers."""

    function, options, tensors = None, {}, ()

    def __init__(self, *args, **kwargs):
        super().__init__()
        names = [*self.tensors, *self.options]
        given = dict(zip(names, args, strict=False)) | kwargs
        for name in given.keys() - {*names, "reduction"}:
            raise TypeError(f"{type(self).__name__}.__init__() got an unexpected keyword argument '{name}'")
        self.reduction = given.get("reduction", "mean")
        for name in self.tensors:
            self.register_buffer(name, given.get(name))
        for name, default in self.options.items():
            setattr(self, name, given.get(name, default))

    def forward(self, *inputs):
        """The loss of predictions and targets."""
        options = {name: getattr(self, name) for name in (*self.tensors, *self.options)}
        return type(self).function(*inputs, **options, reduction=self.reduction)


def loss(name, function, *tensors, **options):
    """A module class for one loss of functional/."""
    made = {"function": staticmethod(function), "__doc__": function.__doc__, "__module__": __name__}
    return type(name, (_Loss,), made | {"tensors": tensors, "options": options})


MSELoss = loss("MSELoss", F.mse_loss)
L1Loss = loss("L1Loss", F.l1_loss)
SmoothL1Loss = loss("SmoothL1Loss", F.smooth_l1_loss, beta=1.0)
HuberLoss = loss("HuberLoss", F.huber_loss, delta=1.0)
BCELoss = loss("BCELoss", F.binary_cross_entropy, "weight")
BCEWithLogitsLoss = loss("BCEWithLogitsLoss", F.binary_cross_entropy_with_logits, "weight", "pos_weight")
NLLLoss = loss("NLLLoss", F.nll_loss, "weight", ignore_index=-100)
CrossEntropyLoss = loss("CrossEntropyLoss", F.cross_entropy, "weight", ignore_index=-100, label_smoothing=0.0)
KLDivLoss = loss("KLDivLoss", F.kl_div, log_target=False)

"""Activations as modules: each calls the function of its name in functional/.

PyTorch: torch/nn/modules/activation.py.
"""

from course_lib.nn import functional as F
from course_lib.nn.module import Module


class _Activation(Module):
    """An activation whose constructor's arguments are attributes, printed and passed on in the order of `options`."""

    function, options = None, {}

    def __init__(self, *args, **kwargs):
        super().__init__()
        given = dict(zip(self.options, args, strict=False)) | kwargs
        if len(args) > len(self.options) or given.keys() - self.options:
            takes = ", ".join(self.options) or "no arguments"
            raise TypeError(f"{type(self).__name__}.__init__() takes {takes}; got an unexpected argument")
        for name, default in self.options.items():
            setattr(self, name, given.get(name, default))

    def forward(self, input):
        """The function, element by element or along `dim`."""
        return type(self).function(input, **{name: getattr(self, name) for name in self.options})

    def extra_repr(self):
        shown = {name: getattr(self, name) for name in self.options}
        return ", ".join(f"{name}={value!r}" for name, value in shown.items() if name != "inplace" or value)


def activation(name, function, **options):
    """A module class for one function of functional/."""
    made = {"function": staticmethod(function), "options": options, "__doc__": function.__doc__, "__module__": __name__}
    return type(name, (_Activation,), made)


ReLU = activation("ReLU", F.relu, inplace=False)
Tanh = activation("Tanh", F.tanh)
Sigmoid = activation("Sigmoid", F.sigmoid)
LeakyReLU = activation("LeakyReLU", F.leaky_relu, negative_slope=0.01, inplace=False)
GELU = activation("GELU", F.gelu, approximate="none")
SiLU = activation("SiLU", F.silu, inplace=False)
Softplus = activation("Softplus", F.softplus, beta=1.0, threshold=20.0)
Softmax = activation("Softmax", F.softmax, dim=None)
LogSoftmax = activation("LogSoftmax", F.log_softmax, dim=None)

"""Activations as modules: each calls the function of its name in functional.py.

PyTorch: torch/nn/modules/activation.py.
"""

from course_lib.nn import functional as F
from course_lib.nn.module import Module


class _Activation(Module):
    """An activation whose constructor's arguments are attributes, printed and passed on in the order of `options`."""

    function, options = None, {}

    def __init__(self, *args, **kwargs):
        super().__init__()
        unknown = next((name for name in kwargs if name not in self.options), None)
        if unknown is not None:
            raise TypeError(f"{type(self).__name__}.__init__() got an unexpected keyword argument '{unknown}'")
        if len(args) > len(self.options):
            raise TypeError(f"{type(self).__name__}() takes at most {len(self.options)} arguments, got {len(args)}")
        given = dict(zip(self.options, args, strict=False)) | kwargs
        for name, default in self.options.items():
            setattr(self, name, given.get(name, default))

    def forward(self, input):
        """The function, element by element or along `dim`."""
        return type(self).function(input, **{name: getattr(self, name) for name in self.options})

    def extra_repr(self):
        shown = [f"{name}={getattr(self, name)!r}" for name in self.options if name != "inplace"]
        return ", ".join(shown + (["inplace=True"] if getattr(self, "inplace", False) else []))


def activation(name, function, **options):
    """A module class for one function of functional.py."""
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

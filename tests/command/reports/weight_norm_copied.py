"""The old weight_norm keeps a computed weight in the module, and the model is copied for an average."""

import copy
import warnings

from torch import nn

warnings.simplefilter("ignore")


def normalised(layer):
    return nn.utils.weight_norm(layer)  # KEPT


model = nn.Sequential(normalised(nn.Linear(3, 4)), nn.Tanh(), nn.Linear(4, 1))
average = copy.deepcopy(model)  # FAILED

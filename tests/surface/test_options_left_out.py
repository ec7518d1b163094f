"""Options that the engine leaves out of functions it has: each ends in a sentence, and none in a wrong answer."""

import pytest

import course_lib as torch
from course_lib.arrays.errors import NotSupportedError
from course_lib.nn import functional as F

IMAGE, X = torch.ones(1, 2, 4, 4), torch.ones(2, 2)
LEFT_OUT = {
    "ceil_mode of max_pool2d": lambda: F.max_pool2d(IMAGE, 2, ceil_mode=True),
    "dilation of max_pool2d": lambda: torch.nn.MaxPool2d(2, dilation=2)(IMAGE),
    "ceil_mode of avg_pool2d": lambda: torch.nn.AvgPool2d(2, ceil_mode=True)(IMAGE),
    "count_include_pad of avg_pool2d": lambda: F.avg_pool2d(IMAGE, 2, padding=1, count_include_pad=False),
    "pad with mode='reflect'": lambda: F.pad(IMAGE, (1, 1), mode="reflect"),
    "groups of Conv2d": lambda: torch.nn.Conv2d(2, 2, 1, groups=2),
    "dilation of conv2d": lambda: F.conv2d(IMAGE, torch.ones(1, 2, 1, 1), dilation=2),
    "dilation of Conv2d": lambda: torch.nn.Conv2d(2, 2, 1, dilation=(1, 2)),
    "padding='same' of Conv1d": lambda: torch.nn.Conv1d(2, 2, 3, padding="same"),
    "bidirectional of LSTM": lambda: torch.nn.LSTM(2, 3, bidirectional=True),
    "DataLoader with batch_size=None": lambda: torch.utils.data.DataLoader([1, 2], batch_size=None),
    "beta of addmm": lambda: X.addmm(X, X, beta=2),
    "alpha of addmm": lambda: X.addmm(X, X, alpha=0.5),
    "the matrix norm of order 1": lambda: torch.linalg.matrix_norm(X, 1),
    "check_forward_ad of gradcheck": lambda: torch.autograd.gradcheck(torch.sin, X, check_forward_ad=True),
    "check_batched_grad of gradcheck": lambda: torch.autograd.gradcheck(torch.sin, X, check_batched_grad=True),
    "check_fwd_over_rev of gradgradcheck": lambda: torch.autograd.gradgradcheck(torch.sin, X, check_fwd_over_rev=True),
    "the strategy 'forward-mode'": lambda: torch.autograd.functional.jacobian(torch.sin, X, strategy="forward-mode"),
}


@pytest.mark.parametrize("what", LEFT_OUT)
def test_an_option_that_is_left_out_says_so(what):
    """The error names the option and the function, and goes on with what to do."""
    with pytest.raises(NotSupportedError) as error:
        LEFT_OUT[what]()

    beginning, _, advice = str(error.value).partition(". ")
    assert beginning == f"course_lib does not support {what}" and advice.endswith("."), error.value


@pytest.mark.parametrize("index", [True, False, (0, True)])
def test_truth_values_are_no_index(index):
    """True and False by themselves stand for no place; a mask is a tensor."""
    with pytest.raises(IndexError, match=r"only integers, slices .* are valid indices \(got bool\)"):
        X[index]
    with pytest.raises(IndexError, match=r"\(got bool\)"):
        X.clone()[index] = 1.0


@pytest.mark.parametrize("name", ["get_submodule", "get_parameter", "get_buffer", "type"])
def test_methods_of_modules_that_are_left_out_say_so(name):
    """The sentence is that of every name which is left to PyTorch."""
    with pytest.raises(AttributeError, match=f"torch.nn.Module.{name} is a method of PyTorch's"):
        getattr(torch.nn.Linear(1, 1), name)

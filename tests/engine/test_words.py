"""Ways to say a thing: NumPy's words for arguments, functions named like methods, operators from the other side."""

import copy
import pickle
import warnings

import numpy
import pytest

import course_lib

MATRIX = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
REDUCTIONS = "sum mean prod var std amax amin argmax argmin logsumexp".split()


def matrix(torch):
    return torch.tensor(MATRIX, requires_grad=True)


def lists(value):
    return [v.tolist() for v in value] if isinstance(value, tuple) else value.tolist()


@pytest.mark.parametrize("name", REDUCTIONS)
def test_axis_and_keepdims_are_numpys_words_for_dim_and_keepdim(torch, name):
    """Reductions take `axis` and `keepdims` as well, as methods and as functions."""
    x = matrix(torch)
    plain, kept = getattr(x, name)(axis=0), getattr(torch, name)(x, axis=1, keepdims=True)

    assert lists(plain) == lists(getattr(x, name)(dim=0))
    assert lists(kept) == lists(getattr(x, name)(1, keepdim=True)) and kept.shape == (2, 1)


def test_axis_of_functions_that_are_no_reductions(torch):
    """softmax, cumsum, cat, stack and unsqueeze take `axis` for `dim`."""
    x = matrix(torch)

    assert lists(x.softmax(axis=0)) == lists(x.softmax(0))
    assert lists(x.cumsum(axis=1)) == lists(x.cumsum(1))
    assert torch.cat([x, x], axis=1).shape == (2, 6)
    assert torch.stack([x, x], axis=2).shape == (2, 3, 2)
    assert x.unsqueeze(axis=1).squeeze(axis=1).shape == (2, 3)


def test_shapes_may_be_named(torch):
    """What may be given as several numbers may be given as one sequence by its name."""
    x = matrix(torch)

    assert x.view(size=(6,)).shape == x.reshape(shape=[6]).shape == (6,)
    assert x.permute(dims=(1, 0)).shape == (3, 2) and x.expand(size=(2, 2, 3)).shape == (2, 2, 3)
    assert lists(x.flip(dims=(0, 1))) == lists(x.flip(0, 1)) and x.repeat(repeats=(2, 1)).shape == (4, 3)
    assert torch.zeros(size=(2, 1)).shape == x.new_ones(size=(2, 1)).shape == torch.rand(size=(2, 1)).shape


def test_functions_that_are_methods(torch):
    """`torch.detach(x)` and its like are the methods, in place too."""
    x = matrix(torch)

    assert not torch.detach(x).requires_grad and not torch.is_inference(x)
    assert lists(torch.masked_fill(x, x > 2, 0.0)) == [[1, 2, 0], [0, 0, 0]]
    assert lists(torch.clamp_(x * 1, 2.0, 3.0)) == [[2, 2, 3], [3, 3, 3]]
    assert lists(torch.zero_(x * 1)) == lists(torch.fill_(x * 1, 0.0)) == [[0, 0, 0], [0, 0, 0]]
    assert torch.detach_(x * 1).is_leaf


def test_limits_that_are_tensors_pass_the_whole_gradient_at_a_tie(torch):
    """clamp with tensors is one node, which gives an element on its limit the whole gradient; maximum gives half."""
    x, low = torch.tensor([1.0, 2.0, 3.0], requires_grad=True), torch.tensor([2.0, 2.0, 2.0], requires_grad=True)
    y = x.clamp(min=low)
    y.sum().backward()

    assert type(y.grad_fn).__name__ == "ClampBackward0"
    assert lists(x.grad) == [0, 1, 1] and lists(low.grad) == [1, 0, 0]


def test_a_rounded_quotient_is_one_node_with_gradient_zero(torch):
    """div with a rounding mode is DivBackward2 and sends zeros, not None."""
    x = torch.tensor([7.0, -7.0], requires_grad=True)
    y = torch.div(x, 2, rounding_mode="trunc")
    y.sum().backward()

    assert type(y.grad_fn).__name__ == "DivBackward2" and lists(y) == [3, -3] and lists(x.grad) == [0, 0]


def test_index_add_keeps_its_source_unscaled(torch):
    """alpha is a number of index_add, which scales the gradient of the source."""
    x, source = torch.zeros(3, requires_grad=True), torch.ones(2, requires_grad=True)
    y = x.index_add(0, torch.tensor([0, 2]), source, alpha=3)
    y.sum().backward()

    assert lists(y) == [3, 0, 3] and lists(source.grad) == [3, 3]


def test_numbers_on_the_left_of_operators_for_integers(torch):
    """//, %, << and >> work from the left."""
    t = torch.tensor([2, 3])

    assert [lists(v) for v in (7 // t, 7 % t, t << 1, t >> 1, 1 << t)] == [[3, 2], [1, 1], [4, 6], [1, 1], [4, 8]]
    assert lists(reversed(torch.tensor([[1, 2], [3, 4]]))) == [[3, 4], [1, 2]]


def test_superfluous_gradients_are_left_alone(torch):
    """As many gradients as tensors are read; too few are an error."""
    x = matrix(torch)
    (grad,) = torch.autograd.grad(x.sum(), x, [torch.tensor(2.0), torch.tensor(5.0)])

    assert lists(grad) == [[2, 2, 2], [2, 2, 2]]
    with pytest.raises(RuntimeError, match="got 2 tensors and 1 gradients"):
        torch.autograd.backward([x.sum(), x.sum()], [torch.tensor(1.0)])


def test_inputs_of_backward_may_be_a_dict(torch):
    """Only the tensors in the dict get a gradient."""
    x, w = matrix(torch), matrix(torch)
    (x * w).sum().backward(inputs={"x": x})

    assert lists(x.grad) == MATRIX and w.grad is None


def test_some_warnings_are_given_once():
    """Of a warning that PyTorch gives once a process, the second call hears nothing; set_warn_always changes that."""
    from course_lib.arrays import messages as warn

    x = matrix(course_lib)
    course_lib.set_warn_always(False)
    warn._given.clear()
    try:
        heard = []
        for _ in range(2):
            with warnings.catch_warnings(record=True) as seen:
                warnings.simplefilter("always")
                (x * x).sum().backward(create_graph=True)
            heard.append(len(seen))
    finally:
        course_lib.set_warn_always(True)

    assert heard == [1, 0]


def test_an_array_walked_backwards_is_refused(torch):
    """No tensor has negative strides, so such an array must be copied first."""
    for make in (torch.from_numpy, torch.tensor):
        with pytest.raises(ValueError, match="At least one stride in the given numpy array is negative"):
            make(numpy.ones(3)[::-1])


def test_a_list_of_lists_indexes_each_dimension(torch):
    """A short list that holds lists, tensors or slices counts as a tuple; one of numbers picks rows."""
    x = matrix(torch)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")

        assert lists(x[[[0, 1], [1, 2]]]) == [2, 6] and lists(x[[slice(None), 0]]) == [1, 4]
    assert lists(x[[1, 0]]) == MATRIX[::-1] and x[([],)].shape == (0, 3)


def test_truth_values_have_no_difference(torch):
    """Subtracting True is refused even from a number, and maximum takes tensors only."""
    x = matrix(torch)
    for wrong in (lambda: x - True, lambda: True - x, lambda: 1.5 - torch.tensor(True)):
        with pytest.raises(RuntimeError, match="with a bool tensor is not supported"):
            wrong()
    with pytest.raises(TypeError, match=r"maximum\(\): argument 'other' \(position 2\) must be Tensor, not float"):
        torch.maximum(x, 2.0)


def test_copies_of_views_share_a_copy_of_the_memory(torch):
    """Tensors that share memory share it after a deepcopy of both, each at its old place in it."""
    a = torch.arange(6.0).view(2, 3)
    whole, column = copy.deepcopy([a, a[:, 1]])
    whole[0, 1] = 9.0

    assert lists(column) == [9, 4] and column.stride() == (3,) and column.storage_offset() == 1 and lists(a)[0][1] == 1


@pytest.mark.filterwarnings("ignore:__array_wrap__:DeprecationWarning")  # of real PyTorch, to be mended there
def test_arithmetic_with_arrays(torch):
    """A tensor on the left of a NumPy array gives a tensor; an array on the left is refused; a graph is not left."""
    array, t = numpy.array([1.0, 2.0]), torch.ones(2)

    assert (t * array).dtype is torch.float64 and lists(t + array) == [2, 3] and lists(t == array) == [True, False]
    assert lists(numpy.sqrt(t)) == [1, 1]
    with pytest.raises(TypeError, match="unsupported operand type"):
        array * t
    with pytest.raises(RuntimeError, match=r"Can't call numpy\(\) on Tensor that requires grad"):
        matrix(torch) * array[0:1]


def test_set_without_a_source(torch):
    """set_() lets the tensor look at no memory."""
    assert torch.ones(2).set_().shape == (0,)


def test_tensors_take_attributes_of_the_user_s_own(torch):
    """Also misspelt ones. Results have none of them; copies and files of a tensor have them, of a Parameter some."""
    x = matrix(torch)
    x.note, x.numbers = "w", [1]
    x.requires_gard = False
    results = [x * 1, x.detach(), x.data, x.clone(), x.view(-1), torch.nn.Parameter(x)]
    deep, shallow, pickled = copy.deepcopy(x), copy.copy(x), pickle.loads(pickle.dumps(x))
    parameter = torch.nn.Parameter(torch.ones(2))
    parameter.note = "p"

    assert x.requires_grad and vars(x) == {"note": "w", "numbers": [1], "requires_gard": False}
    assert not any(hasattr(result, "note") for result in results)
    assert deep.note == shallow.note == pickled.note == "w" and pickled.requires_grad
    assert shallow.numbers is x.numbers and deep.numbers == [1] and deep.numbers is not x.numbers
    assert (copy.copy(parameter).note, pickle.loads(pickle.dumps(parameter)).note) == ("p", "p")
    assert not hasattr(copy.deepcopy(parameter), "note")
    del x.note
    with pytest.raises(AttributeError, match="'Tensor' object has no attribute 'note'"):
        x.note  # noqa: B018


FACTS = "shape dtype grad_fn is_leaf _version _base T ndim output_nr".split()


@pytest.mark.parametrize("name", FACTS)
def test_what_is_true_of_a_tensor_cannot_be_assigned(torch, name):
    """AttributeError, in PyTorch's words."""
    with pytest.raises(AttributeError, match=f"attribute '{name}' of 'torch._C.TensorBase' objects is not writable"):
        setattr(matrix(torch), name, None)


def test_a_file_of_weights_may_hold_attributes(torch, tmp_path):
    """load with weights_only=True gives back a tensor with the attributes it had."""
    x = torch.ones(2)
    x.note = "w"
    torch.save({"x": x}, tmp_path / "x.pt")

    assert torch.load(tmp_path / "x.pt", weights_only=True)["x"].note == "w"

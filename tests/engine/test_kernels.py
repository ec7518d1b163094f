"""Arithmetic that takes another way for small, large or odd arrays: each way gives what PyTorch gives."""

import itertools
import math

import numpy as np
import pytest

import course_lib
from course_lib.arrays.kernels import SHORT

INF, NAN = float("inf"), float("nan")
ODD = [0.0, -0.0, INF, -INF, NAN, 1.0, -1.0, 2.5]


def both(real_torch, program):
    """What a program gives on both libraries, as arrays."""
    return [program(library).detach().numpy() for library in (course_lib, real_torch)]


@pytest.mark.parametrize("rows", [1, 23, 24, 300], ids="{} rows of 64".format)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_gradient_of_relu_at_odd_values(real_torch, rows, dtype):
    """0 where x <= 0, the gradient itself elsewhere and at NaN: for small arrays and for those masked by bits."""

    def program(torch):
        cells = torch.tensor([ODD * 8] * rows, dtype=getattr(torch, dtype)).requires_grad_()
        gradient = torch.tensor([[g for g in ODD for _ in range(8)]] * rows, dtype=getattr(torch, dtype))
        cells.relu().backward(gradient)
        return cells.grad

    ours, theirs = both(real_torch, program)

    assert np.array_equal(ours, theirs, equal_nan=True)


@pytest.mark.parametrize("function", ["log_softmax", "softmax"])
@pytest.mark.parametrize("row", [[1.0, 2.0, 0.5], [NAN, 1.0, 2.0], [INF, 1.0, 2.0], [-INF, 1.0, 2.0], [-INF] * 3])
def test_softmax_of_odd_rows(real_torch, function, row):
    """Rows with NaN and infinities leave the other rows alone."""

    def program(torch):
        return getattr(torch, function)(torch.tensor([[0.0, 1.0, 2.0], row, [3.0, 1.0, 2.0]]), 1)

    np.testing.assert_allclose(*both(real_torch, program), rtol=2e-6)


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (1, 1), (2, SHORT), (2, SHORT + 1), (SHORT + 1, 2)])
@pytest.mark.parametrize("dim", [None, 0, 1, -1, (0, 1)], ids=str)
@pytest.mark.parametrize("keepdim", [False, True], ids=["", "keepdim"])
def test_sums_of_short_and_long_rows(real_torch, shape, dim, keepdim):
    """Sums over any dimension, on either side of the length at which BLAS gives way to NumPy."""

    def program(torch):
        cells = torch.arange(shape[0] * shape[1], dtype=torch.float64).reshape(shape)
        return cells.sum() if dim is None else cells.sum(dim, keepdim)

    ours, theirs = both(real_torch, program)

    assert ours.shape == theirs.shape
    assert np.array_equal(ours, theirs)


def test_sums_of_strided_and_expanded_matrices(real_torch):
    """A transposed, a stepped and an expanded matrix are summed like their copies."""

    def program(torch):
        cells = torch.arange(24.0).reshape(4, 6)
        forms = [cells.t(), cells[::2, 1::2], cells[:1].expand(4, 6), cells.t()[1:3]]
        return torch.cat([form.sum(dim) for form in forms for dim in (0, 1)] + [torch.stack([f.sum() for f in forms])])

    ours, theirs = both(real_torch, program)

    assert np.array_equal(ours, theirs)


@pytest.mark.parametrize("columns", [2, 40])
def test_class_numbers_below_zero_are_refused(columns):
    """A negative class is no class, however the largest one is found."""
    with pytest.raises(IndexError, match="Target -1 is out of bounds"):
        course_lib.nn.functional.nll_loss(course_lib.zeros(3, columns), course_lib.tensor([0, -1, 1]))


@pytest.mark.parametrize("name", ["add", "maximum", "lt"])
def test_a_result_is_laid_out_like_its_first_operand(real_torch, name):
    """Of operands that lie differently in memory the first decides, and with it what view() may do afterwards."""

    def program(torch):
        cube = torch.arange(8.0).view(2, 2, 2)
        operands = [cube.permute(order) for order in itertools.permutations(range(3))]
        results = [getattr(torch, name)(a, b) for a in operands for b in operands]
        return [(result.stride(), result.tolist()) for result in results]

    assert program(course_lib) == program(real_torch)


@pytest.mark.parametrize("rows", [1, 4, 5, 64, 65])
@pytest.mark.parametrize("form", ["in rows", "transposed", "every other column"])
def test_a_large_linear_layer(real_torch, rows, form):
    """Few rows take another way through BLAS: same values, in rows, with the same gradients."""

    def program(torch):
        random_numbers = np.random.default_rng(0).standard_normal
        wide = torch.tensor(random_numbers((rows, 600)) if form != "transposed" else random_numbers((600, rows)))
        x = {"in rows": wide[:, :300], "transposed": wide[:300].t(), "every other column": wide[:, ::2]}[form]
        weight, bias = (torch.tensor(random_numbers(shape)).requires_grad_() for shape in ((250, 300), (250,)))
        result = torch.nn.functional.linear(x.requires_grad_(), weight, bias)
        assert result.is_contiguous() and result.shape == (rows, 250)
        (result * result).sum().backward()
        return torch.cat([result.reshape(-1), x.grad.reshape(-1), weight.grad.reshape(-1), bias.grad])

    np.testing.assert_allclose(*both(real_torch, program), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("form", ["expanded", "transposed", "every other column"])
def test_how_copies_with_other_elements_lie_in_memory(real_torch, form):
    """What writes at places of a copy lies in rows; index_fill lies like its input, where that fills its memory."""

    def program(torch):
        x = {"expanded": torch.ones(3).expand(3, 3), "transposed": torch.arange(9.0).view(3, 3).t(),
             "every other column": torch.arange(18.0).view(3, 6)[:, ::2]}[form]  # fmt: skip
        places, row, ones = torch.zeros(1, 3).long(), torch.tensor([0]), torch.ones(1, 3)
        copies = [
            x.scatter(0, places, 0.5), x.scatter(0, places, ones), x.scatter_add(0, places, ones),
            x.index_add(0, row, ones), x.clone(), x.flip(0),
            x.roll(1, 0), x.roll(1), x.repeat(1, 1), x.sort(0).values, x.triu(), x.masked_fill(x > 1, 0.0),
        ]  # fmt: skip
        return [(copy.stride(), copy.tolist()) for copy in copies]

    assert program(course_lib) == program(real_torch)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("size", [5, 64])
def test_a_gradient_is_masked_in_place_only_if_nobody_sees_it(dtype, size):
    """relu's backward writes over a gradient when the engine alone holds it; all others find theirs as it was."""
    random, kind = np.random.default_rng(0), getattr(course_lib, dtype)
    x, given = (course_lib.tensor(random.standard_normal((size, size)), dtype=kind) for _ in range(2))
    x.requires_grad_()
    kept, seen = given.clone(), []
    passes = kept * (x > 0)

    (x * 1).relu().backward(given)  # the caller's
    assert course_lib.equal(given, kept) and course_lib.equal(x.grad, passes)

    x.grad = None
    y = x * 1
    ((y).relu() + y).backward(given)  # sent both ways
    assert course_lib.equal(x.grad, kept + passes)

    z = (x * 1).relu()
    z.register_hook(seen.append)
    z.grad_fn.register_hook(lambda grad_inputs, grad_outputs: seen.extend([grad_outputs[0], grad_inputs[0]]))
    u = z * 2
    u.grad_fn.register_hook(lambda grad_inputs, grad_outputs: seen.append(grad_inputs[0]))
    z.retain_grad()
    u.backward(given)  # seen by hooks
    whole = kept * 2
    assert [course_lib.equal(a, whole) for a in seen] == [True, True, True, False]
    assert course_lib.equal(seen[3], passes * 2) and course_lib.equal(z.grad, whole)

    z = (x * 1).relu()
    at_z, at_x = course_lib.autograd.grad(z * 2, (z, x), given)  # asked for
    assert course_lib.equal(at_z, whole) and course_lib.equal(at_x, passes * 2)
    assert course_lib.equal(given, kept)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_erf_of_many_elements(real_torch, dtype):
    """The series around places of a table: right to the last two bits, at both ends and at NaN too."""
    values = np.concatenate([np.linspace(-7, 7, 20_001), 10.0 ** np.linspace(-300, 1, 500), ODD, [-NAN]]).astype(dtype)
    got = course_lib.erf(course_lib.from_numpy(values)).numpy()
    want = np.array([math.erf(v) for v in values]).astype(dtype)
    ours, theirs = both(real_torch, lambda torch: torch.nn.functional.gelu(torch.from_numpy(values[:20_001])))

    assert np.array_equal(np.isnan(got), np.isnan(want)) and np.array_equal(np.signbit(got), np.signbit(want))
    np.testing.assert_array_max_ulp(got[~np.isnan(got)], want[~np.isnan(want)], 2, dtype)
    np.testing.assert_allclose(ours, theirs, 1e-5, 1e-6)  # 1 + erf(-5) has few digits of its own in float32


@pytest.mark.parametrize("count", [0, 1, 20, 2000])
@pytest.mark.parametrize("distinct", [True, False])
def test_rows_added_at_places(real_torch, count, distinct):
    """Few rows and many, places that repeat or do not, along any dimension, in gradients and in index_add."""

    def program(torch):
        torch.manual_seed(0)
        index = torch.randperm(3000)[:count] if distinct else torch.randint(0, 5, (count,))
        x = torch.randn(3000, 3, requires_grad=True)
        weights = torch.randn(count, 3)
        (x[index] * weights).sum().backward()
        (x[(index - 3000).view(-1, 1)][:, 0] * weights).sum().backward()
        x.index_select(0, index).mul(weights).sum().backward()
        torch.nn.functional.embedding(index, x).mul(weights).sum().backward()
        added = torch.ones(3, 3000).index_add(1, index, weights.t(), alpha=2)
        whole = torch.zeros(3000, dtype=torch.int64).index_add_(0, index, index)
        return torch.cat([x.grad.reshape(-1), added.reshape(-1), whole.float()])

    np.testing.assert_allclose(*both(real_torch, program), 1e-4, 1e-4)

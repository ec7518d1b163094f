"""What programs ask for now and then: einsum, torch.linalg, files."""

import pickle

import pytest

import course_lib

EQUATIONS = """
    ij,jk->ik  ij,jk  i,i->  i,j->ij  bij,bjk->bik  ij,ij->i  ...i,...i->...  ...ij,jk->...ik  ii->i  ii  ij->ji  ij->
    iij->j  ij,jk,kl->il  ij,i,j->  ij,bjk->bik  ij,kl->ijkl  abc,cd,db->a  ...ii->...i  ij,ik->jk
""".split()
SIZES = dict(zip("ijklbacd", (2, 3, 2, 2, 2, 2, 2, 3), strict=True))


def operands(torch, equation):
    """Tensors whose dimensions are as long as SIZES says, two more for "..."."""
    made = []
    for number, term in enumerate(equation.split("->")[0].split(","), 1):
        shape = [2] * term.count("...") + [SIZES[letter] for letter in term.replace("...", "")]
        numbers = torch.arange(float(torch.zeros(shape).numel())) / 3 + number
        made.append(numbers.reshape(shape).requires_grad_())
    return made


@pytest.mark.parametrize("equation", EQUATIONS)
def test_einsum_as_in_pytorch(equation, real_torch):
    """Value and gradients of sums of products are PyTorch's."""
    import course_lib

    found = []
    for torch in (course_lib, real_torch):
        tensors = operands(torch, equation)
        result = torch.einsum(equation, *tensors)
        (result * result).sum().backward()
        found.append([t.tolist() for t in (result, *(t.grad for t in tensors))])

    assert flat(found[0]) == pytest.approx(flat(found[1]), rel=1e-5)


def flat(values):
    """All numbers of nested lists."""
    return [number for value in values for number in flat(value)] if isinstance(values, list) else [values]


def test_linalg_norms(torch):
    """linalg.norm of a matrix is that of its elements, unless an order says which matrix norm is meant."""
    x = torch.tensor([[3.0, 4.0], [0.0, -12.0]])
    norm = torch.linalg.norm

    assert [norm(x).item(), norm(x, 1).item(), norm(x, float("inf")).item()] == [13, 16, 12]
    assert norm(x, dim=1).tolist() == [5, 12] and torch.linalg.vector_norm(x, 1).item() == 19


def test_a_singular_matrix_has_no_inverse(torch):
    """The error is a RuntimeError."""
    with pytest.raises(RuntimeError, match="the input matrix is singular"):
        torch.linalg.inv(torch.ones(2, 2))


def test_a_state_dict_is_saved_and_loaded(torch, tmp_path):
    """save and load take a path or an open file, and give back equal tensors in memory of their own."""
    layer = torch.nn.Linear(2, 1)
    torch.save(layer.state_dict(), tmp_path / "layer.pt")
    with open(tmp_path / "layer.pt", "rb") as file:
        loaded = torch.load(file)

    assert list(loaded) == ["weight", "bias"] and torch.equal(loaded["weight"], layer.weight)
    assert loaded["weight"].data_ptr() != layer.weight.data_ptr()
    assert torch.equal(torch.load(tmp_path / "layer.pt")["bias"], layer.bias)


def test_weights_only_runs_nothing(torch, tmp_path):
    """load refuses a file with more than tensors in containers, unless told that it is trusted."""
    torch.save({"module": torch.nn.Linear(1, 1)}, tmp_path / "whole.pt")
    with pytest.raises(pickle.UnpicklingError, match="Weights only load failed"):
        torch.load(tmp_path / "whole.pt")

    assert torch.load(tmp_path / "whole.pt", weights_only=False)["module"].in_features == 1


def test_there_is_one_thread():
    """Setting the number of threads is accepted and changes nothing; less than one is refused."""
    import course_lib

    course_lib.set_num_threads(4)
    assert course_lib.get_num_threads() == 1
    with pytest.raises(RuntimeError, match="set_num_threads expects a positive integer"):
        course_lib.set_num_threads(0)


def test_a_failed_save_keeps_the_older_file(tmp_path):
    """Nothing is lost and nothing half-written stays behind when an object cannot be written. (PyTorch overwrites.)"""
    path = tmp_path / "weights.pt"
    course_lib.save({"weight": course_lib.ones(2)}, path)
    with pytest.raises((AttributeError, pickle.PicklingError), match="pickle|local object"):  # 3.13 has other words
        course_lib.save(lambda x: x, path)

    assert course_lib.load(path)["weight"].tolist() == [1.0, 1.0]
    assert [each.name for each in tmp_path.iterdir()] == ["weights.pt"]

"""`backscope.gradients`: what is in each .grad, and what has changed since the last look; PyTorch and course_lib."""

import pytest

import backscope
import course_lib


@pytest.fixture(params=["course_lib", pytest.param("torch", marks=pytest.mark.check)])
def lib(request):
    return course_lib if request.param == "course_lib" else request.getfixturevalue("real_torch")


def rows(table):
    return {row.name: row for row in table.rows}


def test_a_step_makes_gradients_stale(lib):
    """None, new, stale after the step, changed by a second pass, cleared."""
    model = lib.nn.Linear(3, 1)
    optimizer = lib.optim.SGD(model.parameters(), lr=0.1)
    assert {row.norm for row in backscope.gradients(model).rows} == {None}

    model(lib.ones(2, 3)).sum().backward()
    table = rows(backscope.gradients(model))
    assert table["weight"].norm == pytest.approx(2 * 3**0.5) and table["weight"].said == "new"

    optimizer.step()
    assert rows(backscope.gradients(model))["bias"].said == "stale: the parameter was written to since"
    model(lib.ones(2, 3)).sum().backward()
    assert rows(backscope.gradients(model))["bias"].said == "changed since"
    optimizer.zero_grad()
    assert rows(backscope.gradients(model))["bias"].said == "cleared since"


def test_what_is_frozen_and_what_is_zero(lib):
    """Frozen parameters are counted apart; a gradient of zeros is no missing one."""
    model = lib.nn.Sequential(lib.nn.Linear(2, 2), lib.nn.Linear(2, 1))
    model[0].weight.requires_grad_(False)
    (model(lib.ones(1, 2)).sum() * 0).backward()
    table = backscope.gradients(model)

    assert (table.trainable, table.all) == (5, 9)
    assert rows(table)["0.weight"].said == "frozen" and rows(table)["1.bias"].said == "zeros"
    assert "5 of 9 numbers are trainable; 3 of 4 parameters have a gradient" in str(table)
    assert "<td style='text-align:left'>1.bias</td>" in table._repr_html_()


def test_what_is_no_model_is_refused(lib):
    with pytest.raises(TypeError, match="takes models and tensors; argument 1 is a str"):
        backscope.gradients(lib.nn.Linear(1, 1), "model")

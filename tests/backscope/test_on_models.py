"""The instruments on models: parameters by their names, those that no gradient reaches, and the culprit in the open."""

import pytest

from backscope import draw, explain, ledger, step, watch
from coursekit import expect_error


def model_of(torch, depth=3):
    """`depth` layers of one width, with a tanh behind each."""
    torch.manual_seed(0)
    layers = [part for _ in range(depth) for part in (torch.nn.Linear(2, 2), torch.nn.Tanh())]
    return torch.nn.Sequential(*layers)


def test_every_instrument_takes_a_module_for_names(torch):
    """step, watch, ledger and explain call parameters as draw does: by their path."""
    layers, x = [model_of(torch)], torch.ones(1, 2)

    with watch(names=layers[0]) as log:
        layers[0](x).sum().backward()
    with ledger(names=layers[0]) as held:
        _product = layers[0][2].weight * layers[0][0].weight
    loss = layers[0](x).sum()
    assert "2.weight" in str(log) and "2.weight" in str(held.table())
    assert "AccumulateGrad of 2.weight" in str(step(loss, names=layers[0]))
    with expect_error(RuntimeError, "a second time"):
        loss.backward()
    assert "2.weight" in explain(None, loss, names=layers[0]).text


def test_a_parameter_that_no_gradient_reaches_is_named(torch):
    """It stands in the first lines of the listing; a module whose parameters are all reached has no such line."""
    model, x = model_of(torch), torch.ones(1, 2)
    loss = model[4](model[2](model[0](x)).detach()).sum()

    assert "No gradient reaches 0.weight, 0.bias, 2.weight, 2.bias from here." in draw(model, loss).text
    assert "No gradient reaches" not in draw(model, model(x).sum()).text
    assert "No gradient reaches" not in draw(loss).text


@pytest.mark.parametrize("names", [True, False], ids=["by modules", "by runs"])
def test_the_culprit_is_never_folded(torch, names):
    """In forty layers the one whose result was written to stands alone, and HERE marks it."""
    model, x = model_of(torch, 40), torch.ones(1, 2)
    for number, layer in enumerate(model):
        x = layer(x)
        if number == 41:
            x.mul_(2)  # the result of the 21st tanh
    loss = x.sum()
    with expect_error(RuntimeError, "output 0 of Tanh"):
        loss.backward()
    told = explain(None, loss, names=model if names else None)

    assert "HERE marks saved result" in told.seen and "TanhBackward0" in told.seen
    assert "1 STALE" not in told.text

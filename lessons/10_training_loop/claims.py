"""The claims of lesson 10, on our engine and on real PyTorch."""

import copy
import itertools

from lessons.claims_kit import CHANGED, from_lesson, leaf, raises


def lesson(torch):
    """The lesson's network of two layers of one weight each, with its optimizer; its training, unrounded; its loss."""
    x, t, mse = torch.ones(1, 1), torch.full((1, 1), 3.0), torch.nn.MSELoss()
    names, exact = ("fresh", "train"), lambda text: text.replace("round(loss.item(), 4)", "loss.item()")
    own = from_lesson(torch, 10, *names, edit=exact, x=x, t=t, mse=mse)
    own.loss = lambda model: mse(model(x), t)
    return own


def test_c10_1_a_step_writes_in_place(torch):
    """`step()` reads `.grad` and writes the parameters in place under no_grad: the same tensors afterwards, without a
    node, and with a higher version (unless the optimizer was made with `fused=True`)."""
    own = lesson(torch)
    writes = {"SGD": 1, "Adam": 1, "AdamW": 2, "RMSprop": 1, "Adagrad": 1}
    for name, count in writes.items():
        p, gradient = leaf(torch, 1.0, 2.0), torch.tensor([3.0, 4.0])
        p.grad, memory = gradient, p.data_ptr()
        getattr(torch.optim, name)([p], lr=0.1).step()

        assert p.data_ptr() == memory and p.tolist() != [1.0, 2.0]
        assert p.is_leaf and p.grad_fn is None and p.requires_grad
        assert p._version == count
        assert p.grad is gradient and gradient.tolist() == [3.0, 4.0] and gradient._version == 0

    if torch.__name__ == "torch":
        model, optimizer = own.fresh(fused=True)
        own.loss(model).backward()
        before = [p._version for p in model.parameters()]
        optimizer.step()
        assert [p._version for p in model.parameters()] == before  # not counted


def test_c10_2_plain_sgd_by_hand(torch):
    """A step of plain SGD is `p.add_(p.grad, alpha=-lr)`."""
    for shape in ((), (16,), (3, 1), (0,)):
        for lr in (0.1, 0.3, 2.0):
            p = torch.randn(shape).requires_grad_()
            q, optimizer = p.detach().clone(), torch.optim.SGD([p], lr=lr)
            for _ in range(4):
                p.grad = torch.randn(shape)
                optimizer.step()
                q.add_(p.grad, alpha=-lr)

                assert p.tolist() == q.tolist()  # to the last digit


def test_c10_3_read_all_then_write(torch):
    """When two losses come from one forward pass, a step between their backward passes raises if the second still has
    to read a weight that was stepped."""
    own = lesson(torch)

    def two(layers, early):
        """The trunk's and the heads' weights after one round."""
        trunk, (actor, critic) = own.fresh()[0][:layers], own.fresh()[0]
        first = torch.optim.SGD([*trunk.parameters(), *actor.parameters()], lr=0.1)
        second = torch.optim.SGD(critic.parameters(), lr=0.1)
        h, t = trunk(torch.ones(1, 1)), torch.full((1, 1), 3.0)
        loss_a, loss_c = ((head(h) - t).square().mean() for head in (actor, critic))
        loss_a.backward(retain_graph=True)
        if early:
            first.step()
        loss_c.backward()
        if not early:
            first.step()
        second.step()
        return [round(p.item(), 4) for part in (trunk, actor, critic) for p in part.parameters()]

    raises(CHANGED, lambda: two(layers=2, early=True))
    assert two(layers=2, early=False) == [1.8, 1.8, 1.4, 1.4]
    assert two(layers=1, early=True) == [1.4, 1.4, 1.4]  # the trunk's weight is kept by nobody: no error
    assert two(layers=1, early=False) == [1.8, 1.4, 1.4]


def test_c10_4_none_and_zero(torch):
    """`step()` skips a parameter whose `.grad` is None; a gradient of zero can still move it, by momentum or
    weight decay."""
    makers = {
        "plain": lambda p: torch.optim.SGD([p], lr=0.1),
        "momentum": lambda p: torch.optim.SGD([p], lr=0.1, momentum=0.9),
        "decay": lambda p: torch.optim.SGD([p], lr=0.1, weight_decay=0.5),
        "Adam": lambda p: torch.optim.Adam([p], lr=0.1),
        "AdamW": lambda p: torch.optim.AdamW([p], lr=0.1),
        "RMSprop": lambda p: torch.optim.RMSprop([p], lr=0.1, momentum=0.9),
        "Adagrad": lambda p: torch.optim.Adagrad([p], lr=0.1, weight_decay=0.5),
    }
    for name, make in makers.items():
        p, values = leaf(torch, 1.0), []
        optimizer = make(p)
        for gradient in (1.0, None, 0.0):
            p.grad = None if gradient is None else torch.tensor([gradient])
            optimizer.step()
            values.append(p.item())
        first, second, third = values

        assert first == second
        assert (third == first) == (name == "plain")


def test_c10_5_frozen_and_stepped(torch):
    """`requires_grad_(False)` does not stop `step()`: a gradient that is still there is used again."""
    p = leaf(torch, 1.0)
    optimizer = torch.optim.SGD([p], lr=0.25)
    p.sum().backward()
    p.requires_grad_(False)
    values = []
    for _ in range(3):
        optimizer.step()
        values.append(p.item())

    assert values == [0.75, 0.5, 0.25]

    for name in ("SGD", "Adam", "AdamW", "RMSprop", "Adagrad"):
        p = leaf(torch, 1.0)
        optimizer = getattr(torch.optim, name)([p], lr=0.1)
        p.sum().backward()
        p.requires_grad_(False)
        values = [1.0]
        for _ in range(3):
            optimizer.step()
            values.append(p.item())
        assert sorted(values, reverse=True) == values and len(set(values)) == 4, name


def test_c10_6_six_orders(torch):
    """With no gradients at first, three calls follow the forward pass: Z clears, B is backward, S steps. ZBS and BSZ
    train; ZSB, BZS and SBZ never move a parameter; SZB raises in the second round if backward reads a parameter that
    was stepped."""
    own = lesson(torch)
    for order in map("".join, itertools.permutations("ZBS")):
        model, optimizer = own.fresh()
        if order == "SZB":
            assert own.train(model, optimizer, order, rounds=1) == [4.0]
            raises(CHANGED, lambda: own.train(model, optimizer, order, rounds=1))
            continue
        losses = [round(loss, 4) for loss in own.train(model, optimizer, order)]
        trains = order in ("ZBS", "BSZ")
        assert losses == ([4.0, 1.0816, 0.0196] if trains else [4.0, 4.0, 4.0])
        assert [p._version for p in model.parameters()] == ([3, 3] if trains else [0, 0])

    for order, wanted in (("ZBS", [1.0, 1.4, 1.72, 1.976]), ("SZB", [1.0, 1.0, 1.4, 1.8])):
        model, optimizer = own.fresh()
        model = model[:1]  # backward reads no parameter
        seen = []
        for _ in range(4):
            seen.append(round(own.train(model, optimizer, order, rounds=1)[0] ** 0.5, 4))
        assert seen == [round(3 - w, 4) for w in wanted]  # no error, and one round late


def test_c10_7_clip_once(torch):
    """`clip_grad_norm_` multiplies all gradients in place by one factor and returns the norm they had; after each
    micro-batch instead of after the last it can give another direction."""
    p, q = leaf(torch, 0.0, 0.0), leaf(torch, 0.0)
    p.grad, q.grad = torch.tensor([1.0, 2.0]), torch.tensor([2.0])
    grads = [p.grad, q.grad]
    norm = torch.nn.utils.clip_grad_norm_([p, q], 1.5)

    assert norm.item() == 3.0
    assert [round(value, 4) for value in (*p.grad.tolist(), *q.grad.tolist())] == [0.5, 1.0, 1.0]
    assert p.grad is grads[0] and q.grad is grads[1] and [g._version for g in grads] == [1, 1]
    assert p._version == q._version == 0 and p.tolist() == [0.0, 0.0]

    results = {}
    for after in ("last", "each"):
        w = leaf(torch, 0.0, 0.0)
        for number, part in enumerate(torch.tensor([[3.0, 0.0], [0.0, 4.0]])):
            (w * part).sum().backward()
            if after == "each" or number == 1:
                torch.nn.utils.clip_grad_norm_([w], 1.0)
        results[after] = [round(value, 4) for value in w.grad.tolist()]
    assert results == {"last": [0.6, 0.8], "each": [0.2425, 0.9701]}


def test_c10_8_an_optimizer_holds_tensors(torch):
    """An optimizer steps the tensors it was given: a layer that is put in later does not learn, and nothing raises;
    `load_state_dict` and `model.double()` keep the parameters the same objects."""
    own = lesson(torch)
    model, optimizer = own.fresh()
    model[1] = torch.nn.Linear(1, 1, bias=False)
    torch.nn.init.constant_(model[1].weight, 0.5)
    own.train(model, optimizer)

    assert model[1].weight.item() == 0.5 and model[1].weight.grad is not None
    assert model[0].weight.item() != 1.0

    model, optimizer = own.fresh()
    parameters = list(model.parameters())
    model.load_state_dict(copy.deepcopy(model.state_dict()))
    model.double()
    model.float().double()
    assert all(a is b for a, b in zip(model.parameters(), parameters, strict=True))


def test_c10_9_a_state_is_no_copy(torch):
    """`state_dict()` hands out the model's own memory: a best state that was not copied changes with every step."""
    own = lesson(torch)
    model, optimizer = own.fresh(lr=0.25)
    given, copied = model.state_dict(), copy.deepcopy(model.state_dict())
    own.train(model, optimizer, rounds=1)

    assert model[0].weight.item() == given["0.weight"].item() == 2.0
    assert given["0.weight"].data_ptr() == model[0].weight.data_ptr()
    assert copied["0.weight"].item() == 1.0
    for state, loss in ((given, 1.0), (copied, 4.0)):
        model.load_state_dict(state)
        assert own.loss(model).item() == loss

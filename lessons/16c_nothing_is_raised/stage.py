"""The programs around what part 16c shows: batches whose results are counted, and two evenings of training."""

import gc
import weakref

from backscope import ledger
from coursekit import chart
from lessons.three_questions import copies, moved

# --- report 4: memory that grows -----------------------------------------------------------------------------


def alive_after(torch, activation, training, batches=5):
    """Count the results that are alive after each batch. The garbage collector waits meanwhile."""
    torch.manual_seed(0)
    model, references, counts = torch.nn.Linear(100, 100), [], []
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    gc.collect()
    gc.disable()
    try:
        for _ in range(batches):
            h = activation(model(torch.randn(50, 100)))
            references.append(weakref.ref(h))
            if training:
                optimizer.zero_grad()
                (h * h).mean().backward()
                optimizer.step()
            del h
            counts.append(sum(each() is not None for each in references))
    finally:
        gc.enable()
    return counts


def alive(torch, activation):
    """Print how many results are alive after each of five batches."""
    for training in (True, False):
        print(f"{'training' if training else 'validation':10} {alive_after(torch, activation, training)}")


def in_slots(torch, activation):
    """Print how many bytes are in slots, in training."""
    with ledger(leaves=False) as held:
        count = alive_after(torch, activation, training=True)[-1]
    print(f"results alive: {count}, bytes in slots: {held.now}, at the peak {held.peak}")


# --- report 5: a head that moves -----------------------------------------------------------------------------


def two_heads(torch):
    """A frozen trunk with a head for cats and a head for dogs."""
    nn = torch.nn
    torch.manual_seed(0)
    trunk = nn.Sequential(nn.Linear(4, 16), nn.Tanh())
    trunk.requires_grad_(False)
    return nn.ModuleDict({"trunk": trunk, "cats": nn.Linear(16, 1), "dogs": nn.Linear(16, 1)})


def loss_of_task(model, task, x):
    """The loss of one head."""
    wanted = x[:, :1] - x[:, 1:2] if task == "cats" else x[:, 2:3] + x[:, 3:4]
    return ((model[task](model["trunk"](x)) - wanted) ** 2).mean()


def evenings(torch, to_none, freeze=False, extra=False, plain=False, steps=30):
    """An evening of cats and one of dogs: the loss of cats meanwhile, and what moved in the second evening."""
    model = two_heads(torch)
    heads = [*model["cats"].parameters(), *model["dogs"].parameters()]
    settings = {} if plain else {"momentum": 0.9, "weight_decay": 0.01}
    optimizer = torch.optim.SGD(heads, lr=0.05, **settings)
    test, losses = torch.randn(200, 4), {}
    for number in range(2 * steps):
        task = "cats" if number < steps else "dogs"
        if number == steps:
            before = copies(model)
            model["cats"].requires_grad_(not freeze)
        x = torch.randn(32, 4)
        optimizer.zero_grad(set_to_none=to_none)
        loss = loss_of_task(model, task, x)
        if extra:
            loss = loss + 0 * model["cats"](model["trunk"](x)).sum()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            losses[number + 1] = loss_of_task(model, "cats", test).item()
    return losses, [name for name in moved(model, before) if name.startswith("cats")]


def two_evenings(torch, **settings):
    """Print the loss of cats after each evening, and what of their head moved in the second."""
    losses, names = evenings(torch, **settings)
    print(f"loss of cats after the first evening {losses[30]:.3f}, after the second {losses[60]:.3f}; moved: {names}")


def losses_of_cats(torch, programs):
    """The loss of cats in both evenings, in one chart."""
    lines = {}
    for name, settings in programs.items():
        losses, _ = evenings(torch, **settings)
        lines[name] = {k: losses[k] for k in range(10, 61, 5)}
    return chart({"loss of cats": lines}, "step", "loss")


def one_weight(torch):
    """A weight that gets a gradient in the first of eight steps, with momentum: its value, .grad and velocity."""
    p = torch.tensor([1.0], requires_grad=True)
    optimizer = torch.optim.SGD([p], lr=0.1, momentum=0.9)
    (3 * p).sum().backward()
    seen = {"p": {}, ".grad": {}, "velocity": {}}
    for number in range(1, 9):
        optimizer.step()
        for name, tensor in {"p": p, ".grad": p.grad, "velocity": optimizer.state[p]["momentum_buffer"]}.items():
            seen[name][number] = round(tensor.item(), 2)
        optimizer.zero_grad(set_to_none=False)
    return chart({"one weight": seen}, "step", "value after the step")

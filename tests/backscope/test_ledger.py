"""ledger(): bytes held by saved tensors, on our engine and on real PyTorch."""

import gc
import re
import sys
import threading
import tracemalloc

import matplotlib
import numpy as np
import pytest

import course_lib
from backscope import ledger, watch
from tests.backscope.refusals import raises

FLOOR = 64 * (256 + 128 + 10) * 4  # what an MLP step cannot do without: two results of relu, one of log_softmax


def mlp(torch, batch=64):
    """A function that runs the forward pass of a 784-256-128-10 network and returns its loss."""
    nn = torch.nn
    model = nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 128), nn.ReLU(), nn.Linear(128, 10))
    x, target = torch.ones(batch, 784), torch.zeros(batch, dtype=torch.int64)
    return lambda: nn.functional.cross_entropy(model(x), target)


def test_the_table_in_words(torch):
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    with ledger() as held:
        y = x * x
        z = y.exp()
        z.sum().backward()
    assert held.table().text.splitlines() == [
        "ledger: 3 saved tensors in 2 pieces of memory, each piece counted once",
        "peak: 24 B after event 3 of 6 · now: 0 B",
        "at the peak: leaves 12 B · ExpBackward0 12 B",
        "",
        "   node          slot    tensor    type              bytes  events",
        "1  MulBackward0  other   x (leaf)  float32 (3,)         12  1 to 5",
        "2  MulBackward0  self    x (leaf)  float32 (3,)  same as 1  2 to 6",
        "3  ExpBackward0  result  z         float32 (3,)         12  3 to 4",
        "",
        "Events: saved at the first, freed at the second; numbered as below the plot.",
        "Not counted: gradients and .grad, intermediates that no node keeps, numbers and shapes in nodes, "
        "Python objects, what hooks hold (checkpoint(use_reentrant=False), save_on_cpu).",
    ]
    assert (held.peak, held.now) == (24, 0)
    assert str(held) == repr(held) == held.table().text


def test_an_mlp_step_holds_the_known_floor(torch):
    forward = mlp(torch)
    with ledger(leaves=False) as computed, ledger() as everything:
        loss = forward()
        assert computed.now == FLOOR
        # x, two weights (the first layer's input wants no gradient), the target, and its total weight
        assert everything.now == FLOOR + 4 * (64 * 784 + 256 * 128 + 128 * 10) + 8 * 64 + 4
        loss.backward()
        assert computed.now == everything.now == 0
    assert computed.peak == FLOOR


def test_a_saved_view_holds_all_of_its_base(torch):
    w = torch.ones(1000, requires_grad=True)
    with ledger(leaves=False) as held:
        base = w * 2.0
        y = base[:10].sin()
        del base
        assert held.now == 4000
        assert "  1 to now\n" in held.table().text
    del y
    assert held.now == 0, "frees are noticed after the block too"


def test_memory_used_again_after_a_release_is_a_new_piece(torch):
    w = torch.ones(1000, requires_grad=True)
    with ledger(leaves=False) as held:
        for _ in range(5):
            w.exp().sum().backward()
    assert held.peak == 4000
    assert held.table().text.startswith("ledger: 5 saved tensors in 5 pieces of memory")


@pytest.mark.parametrize("instrument", [ledger, watch])
def test_a_graph_that_is_dropped_lets_go(torch, instrument):
    w = torch.ones(10, requires_grad=True)
    gc.disable()
    try:
        with instrument(), ledger() as held:
            y = w.exp().sin().cos().tanh()
            assert held.now == 120
            del y
            assert held.now == 0, "no record of a slot keeps a node"
    finally:
        gc.enable()


def test_in_place_results_views_and_custom_functions(torch):
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            ctx.save_for_backward(a, None, b)
            return a * 2 + b

        @staticmethod
        def backward(ctx, g):
            a, _, b = ctx.saved_tensors
            return g * 2, g

    x = torch.ones(10, requires_grad=True)
    with ledger(leaves=False) as held:
        h = x * 1.0
        h.exp_()
        out = Twice.apply(h, x)
        assert held.now == 40, "exp_ and the Function keep the same memory"
        out.sum().backward()
    assert [row[1:4] for row in held.table()._rows] == [
        ("ExpBackward0", "result", "h"),
        ("TwiceBackward", "tensors[0]", "h"),
        ("TwiceBackward", "tensors[2]", "x (leaf)"),
    ]
    assert held.now == 0


def test_long_graphs(torch):
    """Cost grows with the number of operations, not with its square; freeing a deep graph overflows no stack."""
    x = torch.ones(1, requires_grad=True)
    with ledger() as held:
        y = x
        for _ in range(3000):
            y = y.sin()
        assert held.now == 12000
        del y
        assert held.now == 0
    assert held.table().html.count("<tr") == 201
    assert "Not shown: 2,800 lines in the middle; held.table(rows=None) has all." in held.table().text
    assert held.table(rows=None).html.count("<tr") == 3001
    assert "Not shown" not in held.table(rows=None).text
    raises("a number from 2 up, or None for all rows, not 0", lambda: held.table(rows=0), ValueError)
    assert "bytes held after every 30th event, 30 to 6000:" in held.plot().text


def test_what_a_node_computed_besides_its_result_is_its_own(torch):
    """layer_norm keeps the mean and the scale, which nobody else sees: computed memory, not a leaf's."""
    x = torch.ones(8, 4, requires_grad=True)
    with ledger(leaves=False) as held:
        y = torch.nn.functional.layer_norm(x, (4,))
        assert held.now == 2 * 8 * 4
        assert held.table().text.count("its result") == 2
    del y


def test_within_two_percent_of_tracemalloc():
    """NumPy reports its arrays to tracemalloc in a domain of their own."""
    forward = mlp(course_lib)
    forward().backward()  # whatever is made at first use is there now
    only_arrays = tracemalloc.DomainFilter(True, np.lib.tracemalloc_domain)

    def arrays():
        gc.collect()
        return sum(t.size for t in tracemalloc.take_snapshot().filter_traces([only_arrays]).traces)

    tracemalloc.start()
    try:
        before = arrays()
        with ledger(leaves=False) as held:
            loss = forward()
            said, measured = held.now, arrays() - before
            loss.backward()
    finally:
        tracemalloc.stop()
    assert abs(measured - said) <= 0.02 * measured
    assert said == FLOOR


STALE = {
    "a result": "y = w.exp()\ny.mul_(2)",
    "through a view": "h = w * 2.0\ny = h * h\nh[0] = 5.0",
    "a leaf": "y = w * w\nwith torch.no_grad():\n    w.add_(1.0)",
    "a condition": "c = torch.tensor([True, False])\ny = torch.where(c, w, w * 2)\nc.fill_(False)",
}


@pytest.mark.parametrize("instrument", [ledger, watch])
@pytest.mark.parametrize("program", STALE.values(), ids=STALE)
def test_stale_tensors_are_refused_as_ever(torch, program, instrument):
    """PyTorch makes no version check for packed tensors: the recorder has to make it, in PyTorch's words."""

    def run():
        names = {"torch": torch, "w": torch.tensor([1.0, 2.0], requires_grad=True)}
        exec(program, names)
        names["y"].sum().backward()

    with pytest.raises(RuntimeError) as plain:
        run()
    with instrument(), pytest.raises(RuntimeError) as watched:
        run()
    assert str(watched.value) == str(plain.value)


@pytest.mark.parametrize("instrument", [ledger, watch])
def test_gradients_and_versions_are_the_same(torch, instrument):
    def program():
        x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
        h = x * x
        h.mul_(x)
        h[0].exp_()
        loss = (h.softmax(1) @ x).tanh().sum()
        loss.backward()
        return loss.tolist(), x.grad.tolist(), h._version, x._version

    plain = program()
    with instrument():
        assert program() == plain


def test_slots_still_give_the_very_tensor():
    """On our engine nothing is packed: slots keep their tensors, and their versions can be read."""
    x = course_lib.tensor([1.0, 2.0], requires_grad=True)
    with ledger():
        y = x.sin()
        assert y.grad_fn._saved_self is x
        assert y.grad_fn._raw_saved_self.saved_version == 0
        assert y.grad_fn._raw_saved_self.unpack_hook is None
    assert y.grad_fn._saved_self is x


def test_outer_hooks_go_on(torch):
    """Hooks that were there before the ledger still pack; what they made is what is held."""
    seen = []

    def pack(tensor):
        seen.append("pack")
        return tensor.double()

    def unpack(packed):
        seen.append("unpack")
        return packed.float()

    x = torch.ones(10, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(pack, unpack), ledger() as held:
        x.exp().sum().backward()
        assert seen == ["pack", "unpack"]
    assert held.peak == 80
    assert "packed by hooks" in held.table().text
    assert x.grad.tolist() == pytest.approx([2.718281745910645] * 10)


def test_nested_ledgers_each_tell_their_own(torch):
    x = torch.ones(10, requires_grad=True)
    with ledger() as outer:
        a = x.exp()
        with ledger() as inner:
            b = x.tanh()
        c = x.sigmoid()
        assert (outer.now, inner.now) == (120, 40)
        (a + b + c).sum().backward()
    assert (outer.now, inner.now, outer.peak, inner.peak) == (0, 0, 120, 40)


def test_an_error_inside_leaves_nothing_attached(torch):
    x = torch.ones(10, requires_grad=True)
    with pytest.raises(ZeroDivisionError), ledger() as held:
        y = x.exp()
        raise ZeroDivisionError
    assert held.now == 40
    del y
    assert held.now == 0


def test_other_threads_are_not_recorded(torch):
    x = torch.ones(10, requires_grad=True)
    own = []

    def work():
        x.exp()
        with ledger() as theirs:
            x.exp().tanh()
        own.append(theirs.peak)

    with ledger() as held:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        assert held.now == 0
    assert own == [80]


def test_without_recording_it_says_so(torch):
    with ledger() as held, torch.no_grad():
        torch.ones(10, requires_grad=True).exp()
    assert held.peak == held.now == 0
    assert str(held) == (
        "ledger: no tensor was seen to be saved in this block: no input required grad, recording was off, the "
        "operations needed none for their gradients, or, on PyTorch, other saved-tensor hooks packed them."
    )
    assert str(held.plot()) == str(held)
    assert "no tensor was seen to be saved" in held.plot().html and "<img" not in held.plot().html


def test_bad_input_is_answered_in_a_sentence(torch):
    x = torch.ones(2, requires_grad=True)
    raises("ledger\\(\\) takes no tensors: open it around", lambda: ledger(x), TypeError)
    raises("ledger\\(leaves=…\\) is True or False, not 3", lambda: ledger(leaves=3), TypeError)
    raises("takes a module, or a dictionary such as", lambda: ledger(names=["x"]), TypeError)
    raises("must pair text with tensors", lambda: ledger(names={"x": 3}), TypeError)
    raises("the same name twice", lambda: ledger(names={x: "x", torch.ones(2): "x"}), ValueError)
    for ask in (ledger().table, ledger().plot, lambda: ledger().now, lambda: ledger().peak):
        raises("was never opened", ask)
    assert str(ledger()) == "ledger(), not opened yet"
    with ledger() as held:
        pass
    with pytest.raises(RuntimeError, match="was opened before: make a new one"), held:
        pass


def test_disabled_hooks_are_named(real_torch):
    with real_torch.autograd.graph.disable_saved_tensors_hooks("not now"):
        with pytest.raises(RuntimeError, match="disabled here: not now"), ledger():
            pass


def example(torch):
    x = torch.ones(50, 50, requires_grad=True)
    with ledger(leaves=False) as held:
        x.exp().sin().tanh().sigmoid().sum().backward()
    return held


def test_the_plot_in_words_and_as_a_picture(torch, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)  # whose import would change a notebook's own plots
    plot = example(torch).plot()
    with matplotlib.rc_context({"font.size": 31.0}):
        settings = matplotlib.rcParams.copy()
        bundle = plot._repr_mimebundle_()
        assert matplotlib.rcParams.copy() == settings
    assert set(bundle) == {"text/plain", "text/html"}
    assert bundle["text/plain"].splitlines()[:6] == [
        "ledger: 4 saved tensors in 3 pieces of memory, each piece counted once, leaves left out",
        "peak: 30,000 B after event 4 of 8 · now: 0 B",
        "at the peak: ExpBackward0 10,000 B · TanhBackward0 10,000 B · SigmoidBackward0 10,000 B",
        "bytes held after each event:",
        "  10,000 → 10,000 → 20,000 → 30,000 → 20,000 → 10,000 → 10,000 → 0",
        "Not counted: gradients and .grad, intermediates that no node keeps, numbers and shapes in nodes, "
        "Python objects, what hooks hold (checkpoint(use_reentrant=False), save_on_cpu).",
    ]
    assert bundle["text/html"].startswith('<img class="bs-picture" alt="ledger: 4 saved tensors')
    assert 'src="data:image/svg+xml;base64,' in bundle["text/html"]
    for word in ("peak: 30,000 B", "ExpBackward0", "TanhBackward0", "SigmoidBackward0", "held by saved tensors, kB"):
        assert f">{word}</text>" in plot.svg
    for colour in ("#1f69a8", "#9a6200", "#1b7a57"):
        assert colour in plot.svg.lower()
    assert "<metadata" not in plot.svg and "DejaVu" not in plot.svg


def test_parts_of_a_pass_have_names(torch):
    """mark() names what comes after it: a line and a name in the plot, the first event of each part in words."""
    x = torch.ones(3, requires_grad=True)
    with ledger() as held:
        held.mark("forward")
        y = x.exp().sum()
        held.mark("backward")
        y.backward()
    plot = held.plot()

    assert "from event 1 on: forward\nfrom event 2 on: backward\n" in plot.text
    if plot.svg is not None:
        assert ">forward</text>" in plot.svg and ">backward</text>" in plot.svg


def test_the_plot_of_one_pass_says_where_freeing_begins(torch):
    """Two passes, one after the other, have no such place."""
    x = torch.ones(50, requires_grad=True)
    with ledger() as held:
        for _ in range(2):
            x.exp().sum().backward()
    assert ">freeing</text>" in example(torch).plot().svg and ">freeing</text>" not in held.plot().svg


def test_few_events_are_named_below_the_plot(torch):
    """Each number has the tensor below it, saved or let go; where there are many there is no room."""
    x = torch.ones(50, requires_grad=True)
    with ledger() as few, ledger() as many:
        h = x * x
        h.sin().sum().backward()
        assert ">+ h</text>" in few.plot().svg and ">− h</text>" in few.plot().svg
        (x.exp() * h.detach()).sum().backward()

    assert ">− h</text>" not in many.plot().svg


def test_many_operations_are_gathered(torch):
    x = torch.full((10, 10), 0.5, requires_grad=True)
    names = ("exp", "tanh", "sigmoid", "sqrt", "reciprocal", "rsqrt", "relu", "sin", "log", "cos")
    with ledger(leaves=False) as held:
        total = sum(getattr(x * 1.0, name)().sum() for name in names)
        total.backward()
    svg = held.plot().svg
    assert ">other operations</text>" in svg
    assert svg.count("Backward0</text>") == 6


def test_without_matplotlib_the_plot_is_text(torch, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    plot = example(torch).plot()
    assert "Without matplotlib this plot is shown as text." in plot.html and plot.svg is None


def test_the_card_is_opaque_and_complete(torch):
    held = example(torch)
    card = held._repr_mimebundle_()["text/html"]
    assert "background:#FFFFFF" not in card and "<script" not in card
    plain = re.sub(r"\s+", " ", re.sub("<[^>]+>", " ", card))
    for row in held.table()._rows:
        assert " ".join(row) in plain

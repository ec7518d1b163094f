"""The listings of small programs, the same on both libraries; names, hooks, bad input; what a notebook gets."""

import base64
import gc
import html
import importlib
import importlib.util
import re
import time
import warnings
import weakref

import draw_programs
import pytest
from listings import pinned

from course_lib.teach.pictures import layout, node_facts, reader
from course_lib.teach.pictures.dotsource import Drawing
from course_lib.teach.pictures.draw import Picture, draw


@pytest.fixture
def as_text(monkeypatch):
    """No layout engine: for tests that look at words only."""
    monkeypatch.setenv("COURSE_LAYOUT", "text")


LISTINGS = pinned("draw_listings.txt")


def test_every_program_has_a_listing():
    """The programs and the listings are the same set."""
    assert sorted(program.__name__ for program in draw_programs.PROGRAMS) == sorted(LISTINGS)


@pytest.mark.parametrize("program", draw_programs.PROGRAMS, ids=lambda program: program.__name__)
def test_listing(torch, program):
    """A program's listing is one exact text, whichever library ran it."""
    assert program(torch).text == LISTINGS[program.__name__]


def test_listing_holds_no_addresses(torch):
    """Neither an id nor an address can be found in a listing."""
    for program in draw_programs.PROGRAMS:
        text = program(torch).text

        assert "0x" not in text
        assert not re.search(r"\d{9,}", text)


# --- what a notebook gets ----------------------------------------------------------------------------------


def test_mimebundle_has_text_and_an_image(torch):
    """text/plain is the listing; text/html an image whose description is the point of it, in 300 letters at most."""
    if layout.layout_engine()[0] == "text":
        pytest.skip("no layout engine here: " + layout.layout_engine()[1])
    picture = draw_programs.stale_through_a_view(torch)

    bundle = picture._repr_mimebundle_()

    assert sorted(bundle) == ["text/html", "text/plain"]
    assert bundle["text/plain"] == picture.text == str(picture) == repr(picture)
    found = re.fullmatch(
        r'<img alt="(.*?)" style="[^"]*" src="data:image/svg\+xml;base64,(.*)">', bundle["text/html"], re.S
    )
    alt = html.unescape(found[1])
    assert picture.text.startswith(alt.partition(". ")[0]) and "STALE" not in alt and "fails" in alt
    assert len(alt) <= 300
    assert base64.b64decode(found[2]).decode() == picture.svg


def test_without_an_engine_the_listing_is_shown(torch, as_text):
    """COURSE_LAYOUT=text gives a card that holds the whole listing."""
    picture = draw_programs.freed(torch)

    card = picture._repr_mimebundle_()["text/html"]

    assert picture.svg is None
    assert html.unescape(re.fullmatch(r"<pre style=[^>]*>(.*)</pre>", card, re.S)[1]) == picture.text


def test_save(torch, tmp_path):
    """save() writes the drawing or the listing, by the file's ending, and refuses anything else."""
    picture = draw_programs.first_multiplication(torch)

    picture.save(tmp_path / "graph.txt")

    assert (tmp_path / "graph.txt").read_text(encoding="utf-8") == picture.text + "\n"
    with pytest.raises(ValueError, match=r"save\(\) writes .svg or .txt files, not '.png'"):
        picture.save(tmp_path / "graph.png")
    if picture.svg is not None:
        picture.save(tmp_path / "graph.svg")
        assert (tmp_path / "graph.svg").read_text(encoding="utf-8") == picture.svg


def test_save_without_an_engine_says_why(torch, as_text, tmp_path):
    """Saving a drawing that cannot be made is an error with a reason."""
    with pytest.raises(RuntimeError, match="No layout engine is at hand .*COURSE_LAYOUT=text"):
        draw_programs.first_multiplication(torch).save(tmp_path / "graph.svg")


def test_picture_is_of_the_moment(torch):
    """A picture shows the graph as it was when draw() was called, whatever happens afterwards."""
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * x
    picture = draw(y)
    before = picture.text

    y.sum().backward()

    assert picture.text == before
    assert "FREED" in draw(y).text


def test_picture_keeps_no_tensor_alive(torch):
    """A picture holds words and numbers only."""
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x.exp()
    gone = weakref.ref(y)
    picture = draw(y)

    del y
    gc.collect()

    assert gone() is None
    assert isinstance(picture, Picture)


def test_drawing_changes_nothing(torch):
    """Versions are the same after drawing: the question whether two tensors share a counter leaves no trace."""
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * x
    same, own = x.detach(), x.data
    same.add_(1)
    own.add_(1)
    own.sub_(1)
    before = x._version, same._version, own._version
    text = draw(y).text

    assert (x._version, same._version, own._version) == before == (1, 1, 2)
    assert "x, same: one memory, one counter, version 1" in text


def test_a_custom_backward_that_does_not_read_what_was_saved_does_not_fail(torch):
    """The sentences on stale and freed slots of a custom Function say on what it depends."""

    def program(reads):
        class Fn(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, c):
                ctx.save_for_backward(c)
                return x * 2

            @staticmethod
            def backward(ctx, grad):
                return (ctx.saved_tensors and grad * 2) if reads else grad * 2, None

        c = torch.ones(2)
        return c, Fn.apply(torch.ones(2, requires_grad=True), c).sum()

    c, loss = program(reads=False)
    c.add_(1)
    stale = "(node 1) fails if its backward reads ctx.saved_tensors: it saved c at version 0, now at version 1."
    assert stale in draw(loss).text
    loss.backward()
    assert "a second pass fails there if its backward reads ctx.saved_tensors." in draw(loss).text
    loss.backward()

    c, loss = program(reads=True)
    c.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()
    c, loss = program(reads=True)
    loss.backward()
    with pytest.raises(RuntimeError, match="a second time"):
        loss.backward()


def test_a_function_that_saved_nothing_has_nothing_freed(torch):
    """After its pass our engine knows that there was no slot. A node of PyTorch cannot tell: the picture says so."""

    class Stash(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, slot):
            ctx.mine = x
            if slot:
                ctx.save_for_backward(x)
            return x * 1

        @staticmethod
        def backward(ctx, grad):
            return grad * ctx.mine, None

    real = torch.__name__ == "torch"
    for slot in (False, True):
        y = Stash.apply(torch.tensor([2.0], requires_grad=True), slot)
        assert "FREED" not in draw(y).text
        y.backward()
        text = draw(y).text
        assert ("saved tensors, if any: FREED" in text) == real
        assert ("saved tensors: FREED" in text) == (slot and not real)
        assert ("A backward pass has freed" in text) == (slot or real)
        assert ("1 saved tensor." in text) == (slot or real)
        assert "kept ctx.mine = " in text
        y.backward()  # a second pass runs: backward reads no slot


def test_a_leaf_behind_a_detach_is_not_said_to_have_had_no_part(torch):
    """h was computed from v, but no recorded way leads there."""
    v, w = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    h = (v * 2).detach()
    loss = (w * h).sum()

    assert "No gradient reaches v from here: it is a leaf, and no recorded way leads back to it." in draw(loss, v).text
    with pytest.raises(ValueError, match="v is not in this picture. No recorded way leads from a drawn tensor to it"):
        draw(loss, names={"v": v})
    loss.backward()
    assert v.grad is None


def test_data_is_told_from_detach_before_any_write(torch):
    """x.detach() shares the counter and x.data does not, also while both counters say 0."""
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * x
    same, own = x.detach(), x.data
    text = draw(y).text

    assert "x, same: one memory, one counter, version 0" in text
    assert "own looks at the memory of x with a version counter of its own" in text
    assert (same._version, own._version) == (0, 0)


# --- names -------------------------------------------------------------------------------------------------


def test_names_from_the_caller(torch):
    """Values are called what the caller calls them, in lists and dictionaries too."""
    layers = [torch.tensor([2.0], requires_grad=True)]
    table = {"bias": torch.tensor([1.0], requires_grad=True)}
    out = layers[0] * 3 + table["bias"]
    text = draw(out).text

    assert "\n  layers[0]      [2.]; v0; leaf" in text
    assert "\n  table['bias']  [1.]; v0; leaf" in text


def test_hidden_names_are_not_used(torch):
    """A name that begins with _ is nobody's business."""
    _secret = torch.tensor([2.0], requires_grad=True)
    out = _secret * 3
    text = draw(out).text

    assert "_secret" not in text
    assert "unnamed 1  [2.]; v0; leaf" in text


def test_two_names_for_one_tensor(torch):
    """The second name is mentioned."""
    x = torch.tensor([2.0], requires_grad=True)
    again = x
    y = again * 3

    assert "leaf; grad: None; also named again" in draw(y).text


def test_parameters_of_a_module_have_paths(torch):
    """A module's parameters are called by their path from the variable."""

    class Module:
        def __init__(self):
            self.weight = torch.tensor([2.0], requires_grad=True)

        def named_parameters(self):
            yield "weight", self.weight

    model = Module()
    y = model.weight * 3

    assert "AccumulateGrad of model.weight, model.weight.grad: None" in draw(y).text


def test_grad_of_a_named_leaf_has_a_name(torch):
    """draw(x.grad) knows whose gradient it is."""
    x = torch.tensor([2.0], requires_grad=True)
    (x * x).sum().backward()

    assert draw(x.grad).text.startswith("The graph of x.grad: no backward nodes")


def test_given_names_win(torch):
    """names= overrides the caller's: a list for what is drawn, a dictionary for anything in the picture."""
    x = torch.tensor([2.0], requires_grad=True)
    y = x * 3

    assert draw(y, names=["result"]).text.startswith("The graph of result:")
    assert "from weight" in draw(y, names={"weight": x}).text
    assert "from weight" in draw(y, names={x: "weight"}).text


def test_two_references_are_two_slots(torch):
    """x * x keeps x twice, and both slots are shown."""
    x = torch.tensor([2.0], requires_grad=True)
    y = x * x
    text = draw(y).text

    assert text.count("= x: v0, now v0") == 2


def test_kept_numbers_at_detail_2(torch):
    """detail=2 shows the numbers that a node keeps; less detail does not."""
    x = torch.tensor([2.0], requires_grad=True)
    y = x**3

    assert "kept exponent = 3" in draw(y, detail=2).text
    assert "exponent" not in draw(y, detail=1).text


def test_temporary_that_only_the_graph_holds(torch):
    """A value without a name is called by the number of its node."""
    x = torch.tensor([0.0, 1.0], requires_grad=True)
    loss = x.exp().sum()
    text = draw(loss).text

    assert "#1    [1., 2.718]; v0; from x; grad_fn 1 ExpBackward0; no name leads to it" in text
    assert "saved result = #1: v0, now v0" in text


def test_old_view_of_a_base_written_later(torch):
    """A view that was used before its base was written to: its new history is not part of the old graph."""
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    base = x * 2
    view = base[0:1]
    loss = (view * view).sum()
    base.add_(1)
    text = draw(loss).text

    assert "view  [3.]; v1; view of base; grad_fn AsStridedBackward0, not in this graph" in text


# --- bad input ---------------------------------------------------------------------------------------------


def test_what_was_computed_from_an_old_view_comes_from_that_view(torch):
    """rest has another history since the write, and sin was computed from it all the same."""
    x = torch.tensor([5.0, 2.0, 3.0], requires_grad=True)
    y = x + 0
    first, rest = y[:1], y[1:]
    z = rest.sin()
    first.mul_(2)
    text = draw(z).text

    assert "z      [0.9093, 0.1411]; v0; from rest; grad_fn 3 SinBackward0" in text


def test_a_note_names_what_it_holds(torch):
    """A saved tensor's note says which tensor that is, whether it is data, a leaf or a result."""
    x, w = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0], requires_grad=True)
    y = x * w
    z = (y * y * 2).exp()
    words = Drawing(draw(z)._graph, 1, True).words()

    assert {"saved self = x", "saved self = y", "saved other = y", "saved other = 2", "saved result = z"} <= set(words)


def test_a_frozen_parameter_is_told_from_data(torch):
    """A Parameter that does not require grad is frozen, in the drawing and in the words; other data is not."""
    frozen = torch.nn.Parameter(torch.tensor([3.0]), requires_grad=False)
    x, w = torch.tensor([1.0]), torch.tensor([2.0], requires_grad=True)
    picture = draw(w * frozen * x)

    assert "  frozen  [3.]; v0; frozen\n" in picture.text
    assert {"frozen  frozen", "x  no grad", "w  leaf"} <= set(Drawing(picture._graph, 1, True).words())


def test_a_detached_tensor_is_not_taken_for_the_operand(torch):
    """What was saved of a transposed weight is the weight, though a state that shares its memory is drawn, too."""
    weight, x = torch.ones(1, 1, requires_grad=True), torch.ones(1, 1, requires_grad=True)
    state = weight.detach()
    text = draw(state, x @ weight.t(), names=["state", "y"]).text

    assert "saved mat2 = weight: v0, now v0" in text
    assert re.search(r"y +\[\[1.\]\]; v0; from x, weight;", text)


def test_a_ring_is_closed(torch):
    """A .grad whose history leads back to its leaf has an arrow from the leaf and a sentence; others have not."""
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    with warnings.catch_warnings(action="ignore"):
        (w**3).sum().backward(create_graph=True)
    picture = draw(w.grad)

    assert "A ring: w holds its .grad, and the history of this .grad leads back to w." in picture.text
    if picture.svg is not None:
        assert ">.grad</text>" in picture.svg
    v = torch.tensor([1.0, 2.0], requires_grad=True)
    v.grad = (w.detach().requires_grad_() * 2).detach()
    assert "A ring" not in draw(v.grad).text
    v.grad = (w * 2).sum() * torch.ones(2)
    assert "A ring" not in draw(v.grad, v * 1).text
    w.grad = None


def test_parts_have_names(torch):
    """`parts` puts a name to nodes, in the listing and in the picture; what is no part of the picture is refused."""
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x.exp().sin().sum()
    picture = draw(y, parts={"the waves": (1, 2)})

    assert "\n  (the waves: 1 to 2)\n  1 ExpBackward0" in picture.text
    if picture.svg is not None:
        assert ">the waves</text>" in picture.svg and ">the waves" not in draw(y).svg
    with pytest.raises(TypeError, match=r"parts pairs a name with the numbers of two nodes, as in .* not with 7"):
        draw(y, parts={"what": 7})
    with pytest.raises(ValueError, match="none of the nodes 8 to 9 stands in this picture"):
        draw(y, parts={"what": (8, 9)})


def test_nothing_to_draw():
    """An empty call says what to give."""
    with pytest.raises(TypeError, match=r"draw\(\) needs at least one tensor: draw\(loss\)"):
        draw()


def test_not_a_tensor(torch):
    """Each wrong thing gets the advice that fits it."""
    x = torch.tensor([1.0], requires_grad=True)
    with pytest.raises(TypeError, match="takes tensors, not int: give it the tensor whose graph"):
        draw(3)
    with pytest.raises(TypeError, match=r"takes tensors, not list: put a star in front: draw\(\*tensors\)"):
        draw([x, x])
    with pytest.raises(TypeError, match="takes tensors, not MulBackward0: draw the tensor whose grad_fn it is"):
        draw((x * 2).grad_fn)


def test_names_that_match_nothing(torch):
    """A name for a tensor outside the picture is refused, by name."""
    x = torch.tensor([1.0], requires_grad=True)
    other = torch.tensor([1.0])
    y = x * 2
    with pytest.raises(ValueError, match="names: q is not in this picture"):
        draw(y, names={"q": other})
    with pytest.raises(ValueError, match="names has 2 entries for 1 tensors"):
        draw(y, names=["a", "b"])
    with pytest.raises(ValueError, match="the same name twice"):
        draw(x, y, names=["a", "a"])
    with pytest.raises(TypeError, match="must pair text with tensors"):
        draw(y, names=[3])
    with pytest.raises(TypeError, match="must be a list, a dictionary or a module, not str"):
        draw(y, names="y")


def test_unknown_detail(torch):
    """detail has three values."""
    with pytest.raises(ValueError, match="detail is 7; it can be 0, 1 or 2"):
        draw(torch.tensor([1.0]), detail=7)


# --- large graphs ------------------------------------------------------------------------------------------


def test_large_graphs_are_folded(torch):
    """Past 40 nodes repeated runs become one box, and the listing says so."""
    text = draw_programs.repeated(torch).text

    assert "114 nodes, 4 to 117, are folded into one box: 57 × (SinBackward0, MulBackward0)." in text


def test_stale_slots_are_counted_when_folded(torch):
    """Folding hides no stale tensor: the folded box counts them."""
    x = torch.tensor([1.0], requires_grad=True)
    w = torch.tensor([2.0])
    h = x
    for _ in range(60):
        h = (h * w) + 1
    w.add_(1)
    text = draw(h).text

    assert "57 saved tensors: 57 STALE" in text
    assert "57 more saved tensors are STALE." in text


def test_a_folded_picture_of_a_fault_shows_the_fault(torch):
    """In a folded graph with a stale tensor the others are counted, and the module around the fault has two parts."""
    net = transformer(torch, 3)

    def write(module, args, out):
        args[0].detach().mul_(2)

    with net.blocks[1].mlp.register_forward_hook(write):
        loss = net(torch.ones(1, 1, dtype=torch.int64)).sum()
    picture = draw(net, loss)

    assert picture.text.count("      saved ") == 1 and "STALE" in picture.text
    assert re.search(r"\n      \d+ more saved tensors?, not stale\n", picture.text)
    assert "(first part)" in picture.text and "(last part)" in picture.text
    assert "more leaves" not in picture.text
    if picture.svg is not None:
        assert heights(picture) < 800


def test_irregular_graphs_lose_their_middle(torch):
    """Where nothing repeats, the oldest and the newest nodes stay."""
    h = x = torch.tensor([1.0], requires_grad=True)
    bits = format(0xB16B00B5CAFEF00D123, "b")
    for bit in bits:
        h = h.sin() if bit == "1" else h.exp()
    text = draw(h).text

    assert len(bits) > 70
    assert "nodes folded" in text
    assert x.is_leaf and "  1 SinBackward0 -> AccumulateGrad of x" in text


def test_ten_thousand_nodes_in_two_seconds(torch):
    """No recursion and no pile of work: 10,000 nodes take less than 2 s of computing."""
    x = torch.tensor([1.0], requires_grad=True)
    h = x
    for _ in range(5000):
        h = (h * x).sin()
    begin = time.process_time()
    picture = draw(h)
    text, _ = picture.text, picture.html

    assert time.process_time() - begin < 2
    assert "10000 backward nodes" in text


# --- modules, hooks, ctx -----------------------------------------------------------------------------------


def two_layers(torch):
    nn = importlib.import_module(torch.__name__ + ".nn")
    return nn.Sequential(nn.Linear(2, 2), nn.Tanh(), nn.Linear(2, 1))


def test_a_module_names_its_parameters(torch):
    """draw(model, loss) and names=model call parameters by their paths."""
    net = two_layers(torch)
    loss = net(torch.ones(1, 2)).sum()

    for text in (draw(net, loss).text, draw(loss, net).text, draw(loss, names=net).text):
        assert text.startswith("The graph of loss:")
        assert "AccumulateGrad of 0.weight, 0.weight.grad: None" in text
        assert "AccumulateGrad of 2.bias, 2.bias.grad: None" in text


def test_two_modules_keep_their_parameters_apart(torch):
    """Where two modules are given, a path says which of them it belongs to."""
    one, two = two_layers(torch), two_layers(torch)
    loss = (one(torch.ones(1, 2)) + two(torch.ones(1, 2))).sum()
    text = draw(one, two, loss).text

    assert "Sequential 0: 0.weight" in text and "Sequential 1: 0.weight" in text


def test_a_module_alone_is_not_drawn(torch):
    """There is no graph before the module was called."""
    with pytest.raises(TypeError, match=r"takes tensors, not Sequential: call it on an input"):
        draw(two_layers(torch))


def test_hooks_are_counted_where_they_are(torch):
    """Hooks on nodes belong to the node, those on leaves' accumulators to AccumulateGrad."""
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    z = y.sum()
    accumulator = y.grad_fn.next_functions[0][0]
    y.grad_fn.register_hook(lambda grads_in, grads_out: None)
    y.grad_fn.register_hook(lambda grads_in, grads_out: None)
    z.grad_fn.register_prehook(lambda grads: None)
    accumulator.register_prehook(lambda grads: None)
    text = draw(z).text

    assert "1 MulBackward0 -> [0] AccumulateGrad of x, [1] nothing\n      2 node hooks\n" in text
    assert "2 SumBackward0 -> 1 MulBackward0\n      1 node prehook\n" in text
    assert "AccumulateGrad of x, x.grad: None; 1 node prehook" in text


def test_a_hook_with_a_name_is_called_by_it(torch):
    """The name of a hook's function stands in the picture; a lambda has none."""

    def log(*grads):
        pass

    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    x.register_post_accumulate_grad_hook(log)
    y.register_hook(log)
    y.register_hook(lambda grad: None)
    y.grad_fn.register_prehook(log)
    y.grad_fn.register_hook(lambda grads_in, grads_out: None)
    text = draw(y).text

    assert "grad_fn 1 MulBackward0; 2 hooks: log, …" in text
    assert "; 1 post-accumulate hook: log" in text
    assert "      1 node prehook: log\n      1 node hook\n" in text


def test_asking_for_hooks_leaves_none(torch):
    """Drawing asks PyTorch's nodes for their hooks by registering one: it is gone afterwards, and calls nothing."""
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = (x * x).sum()
    called = []
    y.grad_fn.register_hook(lambda grads_in, grads_out: called.append(1))
    before, again = draw(y).text, draw(y).text
    y.backward()

    assert before == again and before.count("hook") == 1
    assert called == [1] and x.grad.tolist() == [2.0, 4.0]


def test_things_kept_on_ctx(torch):
    """Tensors that forward put on ctx are shown as unwatched, numbers at detail 2, and cycles do no harm."""

    class Keeper(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, factor):
            ctx.save_for_backward(x)
            ctx.mine, ctx.factor, ctx.pair = x, factor, [x, x]
            ctx.self, ctx.ring = ctx, []
            ctx.ring.append(ctx.ring)
            return x * factor

        @staticmethod
        def backward(ctx, grad):
            return grad * ctx.factor, None

    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = Keeper.apply(x, 3)
    text = draw(y, detail=2).text

    assert "1 saved tensor." in text.splitlines()[0]
    assert "saved tensors[0] = x: v0, now v0" in text
    assert "kept ctx.mine = " in text
    assert "kept ctx.pair[1] = x: no version check" in text
    assert "kept ctx.factor = 3" in text
    assert "ctx.self" not in text and "ctx.ring" not in text


def test_a_graph_that_changes_while_it_is_drawn(torch, monkeypatch):
    """Another thread may free or extend the graph meanwhile: one picture comes out, and nothing is raised."""
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * x
    v = y[0:1]
    z = (v * v).sum()
    reads = []
    honest = reader.read_slots

    def meddling(node, names):
        reads.append(1)
        if len(reads) == 2:
            z.backward(retain_graph=False)
            y.detach().add_(1)
        return honest(node, names)

    monkeypatch.setattr(reader, "read_slots", meddling)
    text = draw(z, v).text

    assert len(reads) > 2 and text.startswith("The graph of z, v: ")
    assert "FREED" in text


def test_a_slot_that_is_freed_while_it_is_read(torch, monkeypatch):
    """Between looking at a slot and asking for its tensor a backward pass may free it: it counts as freed."""
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = (x * x).sum()
    reads = []
    honest = node_facts.refusal

    def meddling(*given):
        reads.append(1)
        if len(reads) == 1:
            y.backward()
        return honest(*given)

    monkeypatch.setattr(node_facts, "refusal", meddling)

    assert draw(y).text.count("FREED") == 2


def test_a_leaf_that_no_gradient_reaches(torch):
    """Drawn beside a graph that does not lead to it, a leaf is said not to be reached."""
    x, w = torch.tensor([1.0], requires_grad=True), torch.tensor([1.0], requires_grad=True)
    y = x * 2

    assert "No gradient reaches w from here" in draw(y, w).text
    assert "No gradient reaches" not in draw(y, x).text


# --- what folds --------------------------------------------------------------------------------------------


def blocks(torch):
    """A model of seven blocks, no two of which look alike."""
    nn = importlib.import_module(torch.__name__ + ".nn")

    class Block(nn.Module):
        def __init__(self, turns):
            super().__init__()
            self.a, self.b, self.turns = nn.Linear(2, 2), nn.Linear(2, 2), turns

        def forward(self, x):
            y = self.a(x)
            for turn in self.turns:
                y = y.sin() if turn == "s" else y.exp()
            return x + self.b(y)

    turns = ["s", "ess", "se", "eess", "ses", "e", "sses"]
    return nn.Sequential(*(Block(t) for t in turns))


def transformer(torch, layers):
    """An embedding, blocks that are all alike, a norm and a head."""
    nn = importlib.import_module(torch.__name__ + ".nn")

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm = nn.LayerNorm(8)
            self.attention = nn.ModuleDict({name: nn.Linear(8, 8) for name in "qkvo"})
            self.mlp = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 8))

        def forward(self, x):
            h = self.norm(x)
            q, k, v = (self.attention[name](h) for name in "qkv")
            x = x + self.attention["o"]((q @ k.mT).softmax(-1) @ v)
            return x + self.mlp(x)

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = nn.Embedding(10, 8)
            self.blocks = nn.ModuleList(Block() for _ in range(layers))
            self.head = nn.Linear(8, 10)

        def forward(self, ids):
            x = self.embed(ids)
            for block in self.blocks:
                x = block(x)
            return self.head(x)

    return Model()


def heights(picture):
    """The height of a picture in pixels."""
    return layout.size(picture.svg)[1] * 4 / 3


def test_folding_by_module(torch):
    """Nodes are folded by the module whose parameters they use, the picture says so, and how to see more."""
    net = blocks(torch)
    loss = net(torch.ones(1, 2)).sum()
    text = draw(net, loss).text

    assert "52 nodes are folded into 7 boxes, by the module whose parameters they use." in text
    assert 'draw(…, open="3") shows the inside of a box.' in text
    assert "\n  3 -> 2\n" in text


def test_blocks_that_are_alike_share_a_box(torch):
    """Of twelve equal blocks the first and the last have a box each, the others share one; it fits one screen."""
    net = transformer(torch, 12)
    picture = draw(net, net(torch.ones(1, 3, dtype=torch.int64)).sum())

    # A view is made for the head before its parameters are met: it counts for blocks.11.
    assert "\n  blocks.1 to blocks.9 -> blocks.0\n      9 alike, nodes " in picture.text
    assert "126 leaves" in picture.text
    assert len(picture.text.splitlines()) < 45
    if picture.svg is not None:
        assert heights(picture) < 750


def test_open_shows_a_module(torch):
    """`open` names a module: its nodes, or the modules in it, stand alone, and what is around them is folded."""
    net = transformer(torch, 12)
    loss = net(torch.ones(1, 3, dtype=torch.int64)).sum()
    block, attention = draw(net, loss, open="blocks.4").text, draw(net, loss, open="blocks.4.attention").text

    assert "\n  blocks.4.mlp.0 -> blocks.4.attention.o\n" in block and "\n  blocks.5" not in block
    assert "nodes folded (1 to " in block
    assert " SoftmaxBackward0 -> " in attention and "AccumulateGrad of blocks.4.attention.q.weight" in attention


def test_open_finds_a_variable_s_module(torch):
    """A model that draw knows by its variable alone may be opened with or without the variable's name."""
    net = transformer(torch, 12)
    loss = net(torch.ones(1, 3, dtype=torch.int64)).sum()

    assert draw(loss, open="net.blocks.4").text == draw(loss, open="blocks.4").text


def test_open_shows_numbered_nodes(torch):
    """`open` takes the numbers of two nodes, or one, as the folded boxes print them."""
    h = x = torch.tensor([1.0], requires_grad=True)
    for _ in range(60):
        h = (h * x).sin()
    text, one = draw(h, open=(10, 12)).text, draw(h, open=11).text

    assert "9 nodes folded (1 to 9)" in text and "108 nodes folded (13 to 120)" in text
    assert all(f"\n  {n} " in text for n in (10, 11, 12)) and "\n  11 MulBackward0" in one


def test_open_says_what_there_is(torch):
    """A part that is not in the graph is refused in a sentence that names parts, or what to give."""
    net = blocks(torch)
    x = torch.ones(1, requires_grad=True)
    loss = net(torch.ones(1, 2)).sum()
    with pytest.raises(ValueError, match="no node of this graph uses parameters of .* Among its modules are 0.a"):
        draw(net, loss, open="blok")
    with pytest.raises(ValueError, match="give the model"):
        draw(x * 2, open="layers")
    with pytest.raises(ValueError, match="the numbers of this graph's nodes are 1 to 1"):
        draw(x * 2, open=(5, 9))
    with pytest.raises(TypeError, match="open takes a module's name or two numbers"):
        draw(x * 2, open=3.5)


def test_a_loop_over_one_module_is_folded_by_repetition(torch):
    """Where all nodes belong to one module, modules show nothing: what repeats is folded."""
    nn = importlib.import_module(torch.__name__ + ".nn")
    cell = nn.Sequential(nn.Linear(1, 1), nn.Tanh())
    h = torch.ones(1, 1)
    for _ in range(50):
        h = cell(h)

    assert "49 × (TanhBackward0, TBackward0, AddmmBackward0)" in draw(cell, h).text


def test_a_run_names_its_leaves(torch):
    """A folded run says which parameters are in it."""
    leaves = {f"w{i}": torch.ones(1, requires_grad=True) for i in range(60)}
    h = torch.ones(1)
    for leaf in leaves.values():
        h = h * leaf
    text = draw(h, names=leaves).text

    assert "with 57 leaves, w2 to w58" in text


def test_very_many_views_and_outputs(torch):
    """A thousand tensors on one memory, or a thousand tensors drawn, give a picture of fifty, which says so."""
    y = torch.ones(1000, requires_grad=True) * 2
    views = [y[i] for i in range(1000)]
    text = draw(*views).text

    assert text.startswith("The graph of views[0], views[1],") and "more: 1001 backward nodes" in text.splitlines()[0]
    assert len(text.splitlines()) < 200
    assert "more tensors are left out of the picture." in draw(*(y * 2).unbind()).text


def test_very_many_saved_tensors(torch):
    """Of a hundred saved tensors of one node eight are shown, the stale one among them, and the rest is counted."""

    class Saver(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, *others):
            ctx.save_for_backward(*others)
            return x * 1

        @staticmethod
        def backward(ctx, grad):
            return (grad, *(None for _ in ctx.saved_tensors))

    x = torch.ones(1, requires_grad=True)
    others = [torch.ones(1) for _ in range(100)]
    y = Saver.apply(x, *others)
    others[70].add_(1)
    text = draw(y).text

    assert "100 saved tensors." in text.splitlines()[0]
    assert text.count("      saved tensors[") == 8
    assert "and 92 more saved tensors" in text
    assert "      saved tensors[70] = others[70]: v0, now v1, STALE" in text

"""draw(): names, hooks, bad input, what folds, what a notebook gets. The gallery has one picture of every kind."""

import base64
import gc
import html
import re
import time
import warnings
import weakref

import pytest

from backscope.pictures.draw import Picture, draw
from backscope.pictures.drawing import Drawing
from tests.backscope.refusals import raises


def stale(torch):
    """The picture of a small graph that holds a stale tensor."""
    x = torch.tensor([1.0, 4.0], requires_grad=True)
    y = x.sqrt()
    y[0:1].mul_(2)
    return draw(y.sum())


def test_mimebundle_has_text_and_an_image(torch):
    """text/plain is the listing; text/html an image whose description is the point of it, in 300 letters at most."""
    picture = stale(torch)

    bundle = picture._repr_mimebundle_()

    assert sorted(bundle) == ["text/html", "text/plain"]
    assert bundle["text/plain"] == picture.text == str(picture) == repr(picture)
    image = r'<img class="bs-picture" alt="(.*?)" style="[^"]*" src="data:image/svg\+xml;base64,(.*)">'
    found = re.fullmatch(image, bundle["text/html"], re.S)
    alt = html.unescape(found[1])
    assert picture.text.startswith(alt.partition(". ")[0]) and "STALE" not in alt and "fails" in alt
    assert len(alt) <= 300
    assert base64.b64decode(found[2]).decode() == picture.svg


def test_save(torch, tmp_path):
    """save() writes the drawing or the listing, by the file's ending, and refuses anything else."""
    picture = stale(torch)

    picture.save(tmp_path / "graph.txt")

    assert (tmp_path / "graph.txt").read_text(encoding="utf-8") == picture.text + "\n"
    raises(r"save\(\) writes .svg or .txt files, not '.png'", lambda: picture.save(tmp_path / "graph.png"), ValueError)
    picture.save(tmp_path / "graph.svg")
    assert (tmp_path / "graph.svg").read_text(encoding="utf-8") == picture.svg


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

    class Fn(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, c):
            ctx.save_for_backward(c)
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2, None

    c = torch.ones(2)
    loss = Fn.apply(torch.ones(2, requires_grad=True), c).sum()
    c.add_(1)
    stale = "(node 1) fails if its backward reads ctx.saved_tensors: it saved c at version 0, now at version 1."
    assert stale in draw(loss).text
    loss.backward()
    assert "a second pass fails there if its backward reads ctx.saved_tensors." in draw(loss).text
    loss.backward()


def test_names_from_the_caller(torch):
    """Values are called what the caller calls them, in lists and dictionaries too."""
    layers = [torch.tensor([2.0], requires_grad=True)]
    table = {"bias": torch.tensor([1.0], requires_grad=True)}
    out = layers[0] * 3 + table["bias"]
    text = draw(out).text

    assert "\n  layers[0]      [2.]; v0; leaf" in text
    assert "\n  table['bias']  [1.]; v0; leaf" in text


def test_names_of_one_tensor(torch):
    """A second name is mentioned, a name that begins with _ is nobody's business, and x.grad is known as such."""
    x = _secret = torch.tensor([2.0], requires_grad=True)
    again = x
    y = again * 3

    assert "leaf; grad: None; also named again" in draw(y).text
    assert "_secret" not in draw(y).text
    y.sum().backward()
    assert draw(x.grad).text.startswith("The graph of x.grad: no backward nodes")


def test_given_names_win(torch):
    """names= overrides the caller's: a list for what is drawn, a dictionary for anything in the picture."""
    x = torch.tensor([2.0], requires_grad=True)
    y = x * 3

    assert draw(y, names=["result"]).text.startswith("The graph of result:")
    assert "from weight" in draw(y, names={"weight": x}).text
    assert "from weight" in draw(y, names={x: "weight"}).text


def test_several_tensors_without_a_graph_have_one_sentence(torch):
    """One line says that no graph is behind them; one tensor alone has a sentence of its own."""
    weight, copied = torch.tensor([2.0], requires_grad=True), torch.tensor([2.0])

    assert "\nNo graph is behind weight and copied: no recorded operation" in draw(weight, copied).text
    assert "weight is a leaf" in draw(weight).text


def test_a_drawer_names_what_it_holds(torch):
    """A saved tensor's drawer says which tensor that is, whether it is data, a leaf or a result."""
    x, w = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0], requires_grad=True)
    y = x * w
    z = (y * y * 2).exp()
    words = Drawing(draw(z)._graph, 1, True).words()

    assert {"self = x", "self = y", "other = y", "other = 2", "result = z"} <= set(words)


def test_a_frozen_parameter_is_told_from_data(torch):
    """A Parameter that does not require grad is frozen, in the drawing and in the words; other data is not."""
    frozen = torch.nn.Parameter(torch.tensor([3.0]), requires_grad=False)
    x, w = torch.tensor([1.0]), torch.tensor([2.0], requires_grad=True)
    picture = draw(w * frozen * x)

    assert "  frozen  [3.]; v0; frozen\n" in picture.text
    assert {"frozen", "x", "no grad", "w"} <= set(Drawing(picture._graph, 1, True).words())


def test_a_detached_tensor_is_not_taken_for_the_operand(torch):
    """What was saved of a transposed weight is the weight, though a state that shares its memory is drawn, too."""
    weight, x = torch.ones(1, 1, requires_grad=True), torch.ones(1, 1, requires_grad=True)
    state = weight.detach()
    text = draw(state, x @ weight.t(), names=["state", "y"]).text

    assert "saved mat2 = weight: v0, now v0" in text
    assert re.search(r"y +\[\[1.\]\]; v0; from x, weight;", text)


def test_a_detached_operand_is_not_taken_for_its_source(torch):
    """A product that saved `state.detach()` is drawn with that tensor, not with `state`, which shares its memory."""
    w = torch.tensor(2.0, requires_grad=True)
    state = w * 3
    cut = state.detach()
    y = w * cut
    text = draw(state, y).text

    assert "saved other = cut: v0, now v0" in text
    assert "y      12.; v0; from w, cut; grad_fn" in text


def test_a_ring_is_closed(torch):
    """A .grad whose history leads back to its leaf has an arrow from the leaf; another .grad makes no ring."""
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    with warnings.catch_warnings(action="ignore"):
        (w**3).sum().backward(create_graph=True)
    picture = draw(w.grad)

    assert "A ring: w holds" in picture.text and ">.grad</text>" in picture.svg
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
    assert ">the waves</text>" in picture.svg and ">the waves" not in draw(y).svg
    raises("none of the nodes 8 to 9 stands in this picture", lambda: draw(y, parts={"what": (8, 9)}), ValueError)


def test_slopes_stand_on_the_arrows(torch):
    """What backward multiplies by, asked of each node whose result is one number; nothing runs, nothing is recorded."""
    x = torch.tensor(3.0, requires_grad=True)
    y = x * x + x
    picture = draw(y, slopes=True)

    assert "  1 MulBackward0 -> [0] AccumulateGrad of x × 3, [1] AccumulateGrad of x × 3\n" in picture.text
    assert "  2 AddBackward0 -> [0] 1 MulBackward0 × 1, [1] AccumulateGrad of x × 1\n" in picture.text
    assert picture.svg.count(">× 3</text>") == picture.svg.count(">× 1</text>") == 2
    assert x.grad is None and " × " not in draw(y).text
    y.backward()
    assert x.grad.item() == 7

    w = torch.tensor([1.0, 2.0], requires_grad=True)
    h = w * 3
    loss = h.exp().sum()
    assert "3 SumBackward0 -> 2 ExpBackward0 × [1., 1.]\n" in draw(loss, slopes=True).text
    assert "1 MulBackward0 -> [0] AccumulateGrad of w, [1] nothing" in draw(loss, slopes=True).text
    h.add_(1)
    assert " × " in draw(loss, slopes=True).text
    loss.backward()
    assert "2 ExpBackward0 -> 1 MulBackward0\n" in draw(loss, slopes=True).text


def test_not_a_tensor(torch):
    """Each wrong thing gets the advice that fits it."""
    x = torch.tensor([1.0], requires_grad=True)
    raises("takes tensors, not int: give it the tensor whose graph", lambda: draw(3), TypeError)
    raises(r"takes tensors, not list: put a star in front: draw\(\*tensors\)", lambda: draw([x, x]), TypeError)
    with pytest.raises(TypeError, match="takes tensors, not MulBackward0: draw the tensor whose grad_fn it is"):
        draw((x * 2).grad_fn)
    raises(r"takes tensors, not Sequential: call it on an input", lambda: draw(two_layers(torch)), TypeError)
    raises(r"draw\(\) needs at least one tensor: draw\(loss\)", draw, TypeError)
    raises("detail is 7; it can be 0, 1 or 2", lambda: draw(x, detail=7), ValueError)


def test_names_that_match_nothing(torch):
    """A name for a tensor outside the picture is refused, by name."""
    x = torch.tensor([1.0], requires_grad=True)
    other = torch.tensor([1.0])
    y = x * 2
    raises("names: q is not in this picture", lambda: draw(y, names={"q": other}), ValueError)
    with pytest.raises(ValueError, match="x is not in this picture. No recorded way leads from a drawn tensor to it"):
        draw(y.detach(), names={"x": x})
    raises("names has 2 entries for 1 tensors", lambda: draw(y, names=["a", "b"]), ValueError)
    raises("the same name twice", lambda: draw(x, y, names=["a", "a"]), ValueError)
    raises("must pair text with tensors", lambda: draw(y, names=[3]), TypeError)
    raises("must be a list, a dictionary or a module, not str", lambda: draw(y, names="y"), TypeError)


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
    assert smallest_letters(picture) > 8


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


def two_layers(torch):
    nn = torch.nn
    return nn.Sequential(nn.Linear(2, 2), nn.Tanh(), nn.Linear(2, 1))


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
    """Tensors that forward put on ctx are shown as unwatched, numbers at detail 2."""

    class Keeper(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, factor):
            ctx.save_for_backward(x)
            ctx.mine, ctx.factor, ctx.pair = x, factor, [x, x]
            ctx.self = ctx
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
    assert "ctx.self" not in text


def transformer(torch, layers):
    """An embedding, blocks that are all alike, a norm and a head."""
    nn = torch.nn

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


def smallest_letters(picture):
    """The size of the smallest letters of a picture in pixels."""
    shown, whole = re.search(r'<svg [^>]*width="([\d.]+)"[^>]*viewBox="0 0 ([\d.]+)', picture.svg).groups()
    return 11 * float(shown) / float(whole)


def test_blocks_that_are_alike_share_a_box(torch):
    """Of twelve equal blocks the first and the last have a box each, the others share one; it fits one screen."""
    net = transformer(torch, 12)
    picture = draw(net, net(torch.ones(1, 3, dtype=torch.int64)).sum())

    # A view is made for the head before its parameters are met: it counts for blocks.11.
    assert "\n  blocks.1 to blocks.9 -> blocks.0\n      9 alike, nodes " in picture.text
    assert "126 leaves" in picture.text
    assert len(picture.text.splitlines()) < 45
    assert smallest_letters(picture) > 8


def test_open_shows_a_module(torch):
    """`open` names a module: its nodes, or the modules in it, stand alone, and what is around them is folded."""
    net = transformer(torch, 12)
    loss = net(torch.ones(1, 3, dtype=torch.int64)).sum()
    block, attention = draw(net, loss, open="blocks.4").text, draw(net, loss, open="blocks.4.attention").text

    assert "\n  blocks.4.mlp.0 -> blocks.4.attention.o\n" in block and "\n  blocks.5" not in block
    assert "nodes folded (1 to " in block
    assert " SoftmaxBackward0 -> " in attention and "AccumulateGrad of blocks.4.attention.q.weight" in attention
    assert draw(loss, open="net.blocks.4").text == draw(loss, open="blocks.4").text  # known by its variable alone
    assert "\n  11 " in draw(loss, open=11).text


def test_open_says_what_there_is(torch):
    """A part that is not in the graph is refused in a sentence that names parts, or what to give."""
    net = two_layers(torch)
    x = torch.ones(1, requires_grad=True)
    loss = net(torch.ones(1, 2)).sum()
    with pytest.raises(ValueError, match="no node of this graph uses parameters of .* Among its modules are 0"):
        draw(net, loss, open="blok")
    raises("give the model", lambda: draw(x * 2, open="layers"), ValueError)
    raises("the numbers of this graph's nodes are 1 to 1", lambda: draw(x * 2, open=(5, 9)), ValueError)
    raises("open takes a module's name or two numbers", lambda: draw(x * 2, open=3.5), TypeError)


def test_a_loop_over_one_module_is_folded_by_repetition(torch):
    """Where all nodes belong to one module, modules show nothing: what repeats is folded."""
    nn = torch.nn
    cell = nn.Sequential(nn.Linear(1, 1), nn.Tanh())
    h = torch.ones(1, 1)
    for _ in range(50):
        h = cell(h)

    assert "49 × (TanhBackward0, TBackward0, AddmmBackward0)" in draw(cell, h).text


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

    others = [torch.ones(1) for _ in range(100)]
    y = Saver.apply(torch.ones(1, requires_grad=True), *others)
    others[70].add_(1)
    text = draw(y).text

    assert text.count("      saved tensors[") == 8 and "and 92 more saved tensors" in text
    assert "      saved tensors[70] = others[70]: v0, now v1, STALE" in text


def test_an_operand_that_was_overwritten_is_still_the_operand(torch):
    """`y = h.sin()`, then writes into h: the arrow to y begins at h, not at what h was computed from."""
    x = torch.tensor([4.0, 9.0], requires_grad=True)
    h = x * 2
    h.add_(1)
    y = h.sin()
    h.add_(1)

    assert "; v0; from h; grad_fn" in str(draw(y, h, x))

"""The listings of small programs, the same on both libraries; names, hooks, bad input; what a notebook gets."""

import base64
import gc
import html
import importlib
import importlib.util
import os
import re
import time
import weakref
from pathlib import Path

import draw_programs
import pytest

from course_lib.teach import layout
from course_lib.teach.draw import Picture, draw

WHY = "torch is not installed: `pip install -e .[torch]` to test pictures of real PyTorch graphs too"


@pytest.fixture(params=["course_lib", "torch"])
def torch(request):
    """The library whose tensors are drawn."""
    if request.param == "torch" and importlib.util.find_spec("torch") is None:
        if os.environ.get("COURSE_REQUIRE_TORCH") == "1":
            pytest.fail("COURSE_REQUIRE_TORCH=1, but " + WHY)
        pytest.skip(WHY)
    return importlib.import_module(request.param)


@pytest.fixture
def as_text(monkeypatch):
    """No layout engine: for tests that look at words only."""
    monkeypatch.setenv("COURSE_LAYOUT", "text")


def pinned():
    """{program: listing} from draw_listings.txt."""
    text = (Path(__file__).parent / "draw_listings.txt").read_text(encoding="utf-8")
    parts = re.split(r"^===== (\w+)\n", text, flags=re.MULTILINE)[1:]
    return dict(zip(parts[::2], (part.rstrip("\n") for part in parts[1::2]), strict=True))


LISTINGS = pinned()


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
    """text/plain is the listing; text/html an image whose description is the listing."""
    if layout.layout_engine()[0] == "text":
        pytest.skip("no layout engine here: " + layout.layout_engine()[1])
    picture = draw_programs.stale_through_a_view(torch)

    bundle = picture._repr_mimebundle_()

    assert sorted(bundle) == ["text/html", "text/plain"]
    assert bundle["text/plain"] == picture.text == str(picture) == repr(picture)
    found = re.fullmatch(
        r'<img alt="(.*?)" style="[^"]*" src="data:image/svg\+xml;base64,(.*)">', bundle["text/html"], re.S
    )
    assert html.unescape(found[1]) == picture.text
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
    with pytest.raises(TypeError, match="must be a list or a dictionary, not str"):
        draw(y, names="y")


def test_unknown_detail(torch):
    """detail has three values."""
    with pytest.raises(ValueError, match="detail is 7; it can be 0, 1 or 2"):
        draw(torch.tensor([1.0]), detail=7)


# --- large graphs ------------------------------------------------------------------------------------------


def test_large_graphs_are_folded(torch):
    """Past 40 nodes repeated runs become one box, and the listing says so."""
    text = draw_programs.repeated(torch).text

    assert "114 nodes, 4 to 117, are folded into one box: 57 more times: SinBackward0, MulBackward0." in text


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

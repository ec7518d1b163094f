"""What `step` gives a notebook: a card with a picture, words and a table for each frame; long passes; paging."""

import base64
import html
import importlib.util
import re
import shutil

import pytest

import course_lib
from backscope.pictures.style import HIGHEST, WIDEST
from backscope.stepping import step_picture
from backscope.stepping.step import step
from tests.backscope.step_programs import FAILING, FINE, diamond, leaf


def pictures(card):
    """The SVG of every frame."""
    found = re.findall(r'<img [^>]*alt="[^"]+"[^>]* src="data:image/svg\+xml;base64,([^"]*)">', card)
    return [base64.b64decode(data).decode() for data in found]


def test_card(torch):
    """text/plain is the trace; text/html one card, a <details> for each frame with picture, words and table."""
    x, h, y = diamond(torch)
    result = step(y)

    bundle = result._repr_mimebundle_()
    card = bundle["text/html"]

    assert bundle["text/plain"] == result.text == str(result) == repr(result)
    assert card.count("<details ") == 2 * card.count("<table") == 2 * card.count("<img ") == 12
    assert card.count("<details open") == 1
    assert html.unescape(re.findall(r'alt="([^"]*)"', card)[2]) == (
        "Step 2 of 5: 3 MulBackward0 runs. ready: 2 MulBackward0. "
        "waiting: 1 MulBackward0 for 1, AccumulateGrad of x for 1."
    )
    assert "http://" not in card and "https://" not in card and " id=" not in card
    for label in ("gets", "sends", "frees", "ready queue", "waiting", "buffers", ".grad"):
        assert f">{label}</td>" in card


def test_all_frames_share_one_layout(torch):
    """From frame to frame boxes and arrows stay where they are; words and colours change."""
    x, h, y = diamond(torch)
    drawn = pictures(step(y).html)

    boxes = [re.findall(r'<rect [^>]* (x="[^/]*? rx="8")', svg) for svg in drawn]
    paths = [sorted(re.findall(r'<path class="a-[^>]* d="M([^"]*?)L', svg)) for svg in drawn]
    assert len(boxes[0]) == 5 and boxes == [boxes[0]] * 6
    assert len(paths[0]) == 5 and paths == [paths[0]] * 6
    states = [re.search(r">([^<]*)</tspan><tspan[^>]*>holds 5.", svg) for svg in drawn]
    assert [state and state[1] for state in states] == [None, None, "waits for 1", None, None, None]
    assert ["has just run" in svg for svg in drawn] == [False] + [True] * 5
    assert ["a-carry" in svg for svg in drawn] == [False] + [True] * 4 + [False]


@pytest.mark.parametrize("program", [*FINE, *FAILING], ids=lambda program: program.__name__)
def test_words_fit_into_their_boxes(program):
    """No card is larger than its box in any frame, no two boxes overlap, and pictures fit the column and a screen."""
    recording = program(course_lib)._recording
    frames = recording.frames(set(range(len(recording.steps) + 1)))
    pages = step_picture.Pages(recording, frames)

    for frame in frames:
        drawing = pages.page_for(frame).drawing
        drawing.now = frame
        for box in drawing.plan.boxes:
            width, height = drawing.card_of(box).size(drawing.lies)
            assert width <= box.width + 0.1 and height <= box.height + 0.1
        svg = pages.svg(frame)
        sizes = re.search(r'width="(.*?)" height="(.*?)" viewBox="0 0 (\S+) ', svg)
        shown, high, whole = map(float, sizes.groups())
        assert shown <= WIDEST and high <= HIGHEST and shown / whole > 0.8


def test_a_write_into_a_waiting_gradient_stands_in_its_box(torch):
    """The box whose gradient was written into says so, in one step; the arrow that carried the same tensor, too."""
    x = leaf(torch, [1.0, 2.0])
    f = x * 3
    loss = ((x + f) * torch.tensor([1.0, 2.0])).sum()
    f.register_hook(lambda grad: grad.clamp_(-0.25, 0.25))
    drawn = pictures(step(loss).html)

    assert [">written into: [1., 2.] → [0.25, 0.25]</" in svg for svg in drawn] == [False] * 4 + [True, False]
    assert ">[0.75, 0.75]</text>" in drawn[4]
    assert [">[1., 2.]</text>" in svg and ">the same</text>" in svg for svg in drawn].index(True) == 3
    assert "[1] the same tensor to 1 MulBackward0" in step(((x + f) * 2).sum()).text


def test_one_tensor_on_two_arrows_is_said_where_a_hook_changes_a_gradient(torch):
    """An addition sends one tensor along both arrows: said of a good hook as of a bad one, and not without a hook."""
    said = []
    for hook in (lambda grad: grad.clamp(-0.25, 0.25), lambda grad: grad.clamp_(-0.25, 0.25), lambda grad: None):
        x = leaf(torch, [1.0, 2.0])
        f = x * 3
        f.register_hook(hook)
        said.append("[1] the same tensor to 1 MulBackward0" in step(((x + f) * torch.tensor([1.0, 2.0])).sum()).text)

    assert said == [True, True, False]


def test_slots_that_an_earlier_pass_emptied_are_called_freed(torch):
    """A node that a pass will reach with empty slots says so in every frame; what this pass frees is told apart."""
    w = leaf(torch, 0.5)
    h = torch.tanh(w)
    (h * h).sum().backward()
    drawn = pictures(step((h * h).sum()).html)

    assert [svg.count("slots: FREED") for svg in drawn] == [1] * len(drawn)


def test_a_box_says_freed_in_the_frame_whose_table_does(torch):
    """What a node lets go of stands in its box as soon as it has run, and in each later frame."""
    w = leaf(torch, 0.5)
    drawn = pictures(step(torch.tanh(w) * 3).html)

    assert [svg.count(" freed") for svg in drawn] == [0, 1, 2, 2]


def test_words_are_escaped(torch):
    """What comes from outside cannot add elements to the page."""
    x = leaf(torch, 2.0)
    y = x * 3

    def bad(grad):
        raise ValueError("<script>alert(1)</script>")

    x.register_hook(bad)
    assert "<script>alert" not in step(y, names={"<b>x": x}).html


def chain(torch, length):
    x, w = leaf(torch, 1.0), leaf(torch, 1.0)
    y = x
    for _ in range(length // 2):
        y = (y * w).sin()
    return y


def test_a_long_pass_shows_its_beginning_and_its_end(torch):
    """Past 60 steps the frames in the middle are left out; the text says so, and part() shows them."""
    y = chain(torch, 100)
    result = step(y)

    assert len(result) == 102
    assert "Frames left out: 41 to 82. Ask for others with .part(first, last)." in result.text
    assert "Step 40 of 102" in result.text
    assert "Step 41 of 102" not in result.text
    assert "Step 102 of 102" in result.text
    assert "Step 60 of 102: 41 MulBackward0 runs" in result.part(60, 61).text
    assert result.part(60, 61).html.count("<details ") == 4
    assert "what is dashed runs in other parts" in result.part(60, 61).html
    assert "what is dashed" not in step(chain(torch, 2)).part(1, 2).html
    with pytest.raises(ValueError, match="frames are numbered from 0 .* to 102"):
        result.part(60, 200)


@pytest.mark.check
def test_deep_graphs(torch):
    """A graph of 3,000 nodes is stepped through without recursion, and its card stays as small as that of 100."""
    result = step(chain(torch, 3000))

    assert len(result) == 3002
    assert len(result.html) < 600_000


@pytest.fixture(scope="module")
def browser():
    """Headless Chromium."""
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if importlib.util.find_spec("playwright") is None or path is None:
        pytest.skip("no playwright or no Chromium here")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        yield opened
        opened.close()


def opened_card(browser, scripts):
    x, h, y = diamond(course_lib)
    page = browser.new_context(java_script_enabled=scripts).new_page()
    card = step(y).html
    page.set_content(f"<body>{card}{card}</body>")
    return page


def test_paging_with_script(browser):
    """One frame at a time: buttons, slider and arrow keys turn the pages, each card on its own."""
    page = opened_card(browser, True)

    def shown():
        titles = page.locator("summary:has(b)").all()
        return [one.inner_text() for one in titles if one.is_visible()]

    assert shown() == ["Start", "Start"]
    first = page.locator(".course-step").first
    first.get_by_text("next").click()
    assert shown() == ["Step 1 of 5: 4 AddBackward0 runs", "Start"]
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowLeft")
    assert shown()[0] == "Step 2 of 5: 3 MulBackward0 runs"
    first.locator("input").fill("5")
    assert shown()[0] == "Step 5 of 5: AccumulateGrad of x runs"
    assert first.get_by_text("next").is_disabled()
    first.locator("summary:has(b)").last.click()
    assert shown()[0] == "Step 5 of 5: AccumulateGrad of x runs"
    page.keyboard.press("Home")
    assert shown() == ["Start", "Start"]

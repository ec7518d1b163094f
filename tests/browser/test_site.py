"""The site of `make site`: nothing from elsewhere, no broken link, readable on a telephone, quick, and accessible."""

import re
import struct
from pathlib import Path
from urllib.parse import quote, unquote, urldefrag, urljoin

import pytest
from axe_playwright_python.sync_playwright import Axe

from tests.browser.lab import ROOT, screenshot, served, tool
from tests.browser.wordings import WORDINGS

LARGEST = 1_500_000  # bytes of a page with all that it loads
SLOWEST = 1.0  # seconds until a lesson is there, on loopback
NARROW = {"width": 360, "height": 780}
EDGE = """() => Math.max(0, ...[...document.querySelectorAll('article section > *')].map(
  each => each.getBoundingClientRect().right))"""  # what is wider inside of these scrolls by itself
MESSAGE = "messages/one-of-the-variables-needed-for-gradient-computation-has.html"
SHOWN = ("index.html", "errors.html", MESSAGE, "notebooks/07_version_counters.html", "notebooks/04_the_engine.html")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The folder of the site, built now."""
    out = tmp_path_factory.mktemp("site")

    assert tool("site").build(out) == 0
    return out


@pytest.fixture(scope="module")
def address(site):
    """Where the site is served on loopback."""
    with served(site) as address:
        yield address


def pages(site):
    """Every page, as its place in the site."""
    return sorted(str(path.relative_to(site)) for path in site.rglob("*.html") if "_static" not in path.parts)


def test_no_page_asks_for_anything_elsewhere(site, address, page):
    """Every page loads from the site alone, without an error, in a second, within 1.5 MB, and fits 360 pixels."""
    found, sizes = [], []
    page.on("response", lambda response: sizes.append(int(response.headers.get("content-length", 0))))
    for name in pages(site):
        sizes.clear()
        page.set_viewport_size({"width": 1280, "height": 900})
        page.goto(address + name, wait_until="load")
        seconds = page.evaluate("performance.timing.loadEventEnd - performance.timing.navigationStart") / 1000
        page.set_viewport_size(NARROW)
        too_wide = page.evaluate(EDGE) - NARROW["width"]
        outside = [url for url in page.asked if not url.startswith((address, "data:"))]
        if outside or page.wrong or too_wide > 1 or sum(sizes) > LARGEST or seconds > SLOWEST:
            found.append((name, outside, page.wrong[:], too_wide, sum(sizes), seconds))
        page.asked.clear()
        page.wrong.clear()
    assert found == []


def test_every_link_leads_somewhere(site):
    """Each link within the site leads to a page that is there, and to a heading that is on it."""
    texts = {name: (site / name).read_text(encoding="utf-8") for name in pages(site)}
    places = {name: set(re.findall(r'\bid="([^"]+)"', text)) for name, text in texts.items()}
    broken = []
    for name, text in texts.items():
        for target in re.findall(r'<a [^>]*href="([^"]+)"', text):
            if re.match(r"[a-z]+:", target):
                continue
            page, heading = urldefrag(urljoin("/" + name, target))
            page = unquote(page).lstrip("/") or name
            page += "index.html" * (page.endswith("/") or not page)
            if not (site / page).exists():
                broken.append((name, target))
            elif heading and page in places and unquote(heading) not in places[page]:
                broken.append((name, target))
    assert broken == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", SHOWN)
def test_pages_are_accessible(address, window, name, scheme):
    """axe finds nothing that keeps somebody from reading: contrast, names of links and pictures, order of headings."""
    page = window(color_scheme=scheme)
    page.goto(address + name)
    screenshot(page, f"site_{Path(name).stem}_{scheme}")
    found = Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
    serious = [
        (each["id"], node["target"], node["any"][0]["message"] if node["any"] else "")
        for each in found
        if each["impact"] in ("serious", "critical")
        for node in each["nodes"][:5]
    ]

    assert serious == []


def test_the_stepper_turns_its_pages(address, page):
    """The buttons of a step-by-step card work on the site, too: another frame, with another picture."""
    page.goto(address + "notebooks/04_the_engine.html")
    onward = page.get_by_role("button", name="next").first
    card = onward.locator("xpath=ancestor::div[contains(@class, 'output')][1]")
    onward.scroll_into_view_if_needed()
    before = card.inner_text()
    onward.click()

    assert card.inner_text() != before
    assert page.wrong == []


@pytest.mark.parametrize("asked, title", WORDINGS)
def test_the_search_puts_the_page_of_a_message_first(address, page, asked, title):
    """With the shapes, devices and node names that people paste, or with a piece of the message only."""
    page.goto(f"{address}search.html?q={quote(asked)}")
    first = page.locator("#search-results ul.search li a").first
    first.wait_for()

    assert first.inner_text().startswith(title)
    assert first.get_attribute("href").startswith("messages/")
    assert page.wrong == []


@pytest.mark.parametrize("asked, lesson", [("version counter", "07 "), ("what does retain_graph do", "06 ")])
def test_the_search_for_a_topic_finds_its_lesson_first(address, page, asked, lesson):
    """Only messages are taken for messages."""
    page.goto(f"{address}search.html?q={quote(asked)}")
    first = page.locator("#search-results ul.search li a").first
    first.wait_for()

    assert first.inner_text().startswith(lesson)


def test_each_message_has_a_page_with_its_cure(site):
    """Title, what happened, what cures it, what only silences it, the lesson; and the index leads to each of them."""
    index = (site / "errors.html").read_text(encoding="utf-8")
    there = sorted((site / "messages").glob("*.html"))
    whole = (site / MESSAGE).read_text(encoding="utf-8")
    parts = re.findall(r"<h2>(.*?)<", whole)

    assert len(there) > 100
    assert [path.name for path in there if f'href="messages/{path.name}"' not in index] == []
    assert [path.name for path in there if "What happened" not in path.read_text(encoding="utf-8")] == []
    assert parts == ["What happened", "What cures it", "What only silences it", "A small program that raises it",
                     "The lesson"]  # fmt: skip


def test_the_front_page_says_how_to_get_it(site):
    """Five lines beside their picture, README's lines, version and date, what a link to it shows; no placeholder."""
    text = (site / "index.html").read_text(encoding="utf-8")
    card = (site / "_static" / "card.png").read_bytes()

    assert "a.backward()" in re.sub(r"<[^>]+>", "", text) and "picture.svg" in text
    assert "make open" in re.sub(r"<[^>]+>", "", text)
    assert "Read lesson 00 now" in text
    assert re.search(r"Version \d+\.\d+\.\d+(\.dev\d+)?, \d+ \w+ 20\d\d", text)
    assert re.search(r'<meta[^>]*content="[^"]{60,}"[^>]*name="description"', text)
    assert re.search(r'<meta[^>]*content="[^"]*_static/card.png"[^>]*property="og:image"', text)
    assert struct.unpack(">II", card[16:24]) == (1200, 630) and len(card) < 200_000
    assert not re.search(r"OWNER|\{[A-Z_]+\}", text)


def test_lessons_say_where_they_can_be_run(site):
    """No page tells people to press keys on what does not run here; each lesson says how to open it."""
    lessons = [path for path in (site / "notebooks").glob("*.html") if not path.name.startswith("90")]

    assert [name for name in pages(site) if "Shift+Enter" in (site / name).read_text(encoding="utf-8")] == []
    assert [path.name for path in lessons if "Open this lesson" not in path.read_text(encoding="utf-8")] == []


def test_an_address_makes_links(tmp_path, monkeypatch):
    """What tools/address.py writes is on the front page, in its picture's address, and in each lesson."""
    maker = tool("site")
    for name in ("README.md", "CITATION.cff", "docs/elsewhere.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text((ROOT / name).read_text(encoding="utf-8"), encoding="utf-8")
    tool("address").write("Some-One/course.x", tmp_path)
    monkeypatch.setattr(maker, "published", lambda real=maker.published: real(tmp_path))
    monkeypatch.setattr(maker, "clone", lambda real=maker.clone: real(tmp_path))
    front = maker.front_page(lite=True)
    opener = maker.opener("07", "Version counters", "07_version_counters", True)

    assert "[Repository](https://github.com/Some-One/course.x)" in front
    assert '"https://some-one.github.io/course.x/_static/card.png"' in front
    assert "git clone https://github.com/Some-One/course.x" in front and "In a copy" not in front
    assert "colab.research.google.com/github/Some-One/course.x/blob/main/notebooks/07_version_counters.ipynb" in opener
    assert 'href="../lite/notebooks/index.html?path=07_version_counters.ipynb"' in opener

"""The site of `make site`: nothing from elsewhere, no broken link, readable on a telephone, quick, and accessible."""

import re
from pathlib import Path
from urllib.parse import unquote, urldefrag, urljoin

import pytest
from axe_playwright_python.sync_playwright import Axe

from tests.browser.lab import screenshot, served, tool

LARGEST = 1_500_000  # bytes of a page with all that it loads
SLOWEST = 1.0  # seconds until a lesson is there, on loopback
NARROW = {"width": 360, "height": 780}
EDGE = """() => Math.max(0, ...[...document.querySelectorAll('article section > *')].map(
  each => each.getBoundingClientRect().right))"""  # what is wider inside of these scrolls by itself
SHOWN = ("index.html", "errors.html", "notebooks/07_version_counters.html", "notebooks/04_the_engine.html")


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

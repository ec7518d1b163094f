"""The gallery as people see it: in JupyterLab and as a page, light and dark, trusted or not; no word out of its box.

Screenshots of what it saw are left in tests/browser/artifacts.
"""

import base64
import re

import nbformat
import pytest
from playwright.sync_api import expect

from tests.browser.lab import PATIENCE, ROOT, drawings, open_notebook, screenshot

NOTEBOOKS = sorted((ROOT / "notebooks").glob("[0-9][0-9]*_*.ipynb"))
GALLERY = ROOT / "notebooks" / "90_gallery.ipynb"
SVG = re.compile(r"data:image/svg\+xml;base64,([A-Za-z0-9+/=]+)")
LEAST_CONTRAST = 4.5  # WCAG 2.1, level AA, for text of ordinary size


def svgs_of(path):
    """(name, SVG text) of every picture in a notebook, also those inside a step card."""
    outputs = [o for cell in nbformat.read(path, as_version=4).cells for o in cell.get("outputs", [])]
    found = [data for o in outputs for data in SVG.findall(o.get("data", {}).get("text/html", ""))]
    return [(f"{path.stem} picture {i}", base64.b64decode(data).decode()) for i, data in enumerate(found, 1)]


UNFOLD = """() => document.querySelectorAll('.jp-OutputArea details').forEach(
  one => { one.open = true; one.style.display = ''; })"""

PICTURES = """async () => {
  const found = [];
  for (const image of document.querySelectorAll('.jp-OutputArea-output img')) {
    await image.decode();
    const box = image.getBoundingClientRect();
    found.push({natural: image.naturalWidth, width: box.width - 2 * parseFloat(getComputedStyle(image).paddingLeft),
                height: box.height, alt: image.alt.length});
  }
  return found;
}"""

# Every text in an HTML output, with the contrast to what is behind it: the nearest ancestor that is not transparent.
FAINT = """least => {
  function numbers(colour) { return colour.match(/[\\d.]+/g).map(Number); }
  function light(colour) {
    const [r, g, b] = numbers(colour).map(c => (c /= 255) <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  }
  function behind(element) {
    for (; element; element = element.parentElement) {
      const colour = getComputedStyle(element).backgroundColor, n = numbers(colour);
      if (n.length < 4 || n[3] > 0.99) return colour;
    }
    return 'rgb(255, 255, 255)';
  }
  const faint = []; let seen = 0;
  for (const output of document.querySelectorAll('.jp-OutputArea-output')) {
    const walker = document.createTreeWalker(output, NodeFilter.SHOW_TEXT);
    for (let text; (text = walker.nextNode());) {
      const element = text.parentElement;
      if (!text.textContent.trim() || !element.getClientRects().length || element.disabled) continue;
      if (['SCRIPT', 'STYLE'].includes(element.tagName)) continue;
      const ink = getComputedStyle(element).color, paper = behind(element);
      const [a, b] = [light(ink), light(paper)].sort((x, y) => y - x), contrast = (a + 0.05) / (b + 0.05);
      seen++;
      if (contrast < least) faint.push(`${text.textContent.trim().slice(0, 40)}: ${ink} on ${paper}`);
    }
  }
  return {seen, faint};
}"""


def look(page, name):
    """All pictures of the gallery are there at full size, and no text is faint; a few screenshots."""
    wanted = drawings(nbformat.read(GALLERY, as_version=4))
    page.evaluate(UNFOLD)
    expect(page.locator(".jp-OutputArea-output img")).to_have_count(wanted, timeout=PATIENCE * 1000)
    pictures, texts = page.evaluate(PICTURES), page.evaluate(FAINT, LEAST_CONTRAST)
    outputs = page.locator(".jp-OutputArea-output:has(img)")
    for number in (0, outputs.count() - 4, outputs.count() - 1):
        outputs.nth(number).scroll_into_view_if_needed()
        screenshot(page, f"gallery_{name}_{number:02d}")

    assert wanted > 30 and texts["seen"] > 100
    assert [p for p in pictures if min(p["width"], p["height"], p["alt"]) < 20] == []
    assert [p for p in pictures if abs(p["natural"] - p["width"]) > 1 or p["natural"] > 800] == [], "not at 100 %"
    assert texts["faint"] == []


def choose_theme(page, name):
    """Let the system ask for light or dark: JupyterLab follows it, as the course's settings say."""
    page.emulate_media(color_scheme=name.split()[1].lower())
    page.locator(f"body[data-jp-theme-name='{name}']").wait_for(state="attached")


@pytest.mark.parametrize("trusted", [True, False], ids=["trusted", "untrusted"])
def test_in_jupyterlab(page, course, trusted):
    """The learner's copy shows every picture unrun, in a light and in a dark theme; so does one that nobody trusts."""
    notebook = course.lessons / GALLERY.name
    nb = nbformat.read(notebook, as_version=4)
    if not trusted:
        notebook = course.lessons / "gallery_of_somebody_else.ipynb"
        html = "<img src='data:,x' onerror='window.ran = 1'>"
        nb.cells[-1].outputs.append(nbformat.v4.new_output("display_data", data={"text/html": html}))
        nbformat.write(nb, notebook)
    open_notebook(page, course, notebook)
    if not trusted:
        page.evaluate("document.querySelector(\"img[src='data:,x']\")?.remove()")
    script = page.locator(".course-step-bar button")
    expect(script).to_have_count(4 if trusted else 0)  # two step cards
    for theme in ("JupyterLab Dark", "JupyterLab Light"):
        choose_theme(page, theme)
        look(page, f"{theme.split()[1].lower()}_{'trusted' if trusted else 'untrusted'}")

    assert page.evaluate("window.ran") is None


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_as_a_page(window, tmp_path, theme):
    """`jupyter nbconvert --to html`: the same pictures, without a kernel, without a network."""
    from nbconvert import HTMLExporter

    body, _ = HTMLExporter(theme=theme).from_notebook_node(nbformat.read(GALLERY, as_version=4))
    (tmp_path / "gallery.html").write_text(body, encoding="utf-8")
    page = window(offline=True)
    page.goto((tmp_path / "gallery.html").as_uri(), wait_until="domcontentloaded")
    look(page, f"page_{theme}")


def test_faint_words_would_be_noticed(page):
    """Dark words that rely on a white page are named when the page is dark."""
    card = '<div class="jp-OutputArea-output"><p style="color:#111111">words</p></div>'

    def faint(paper):
        page.set_content(f'<body style="background:{paper}">{card}</body>')
        return page.evaluate(FAINT, LEAST_CONTRAST)

    assert faint("#FFFFFF") == {"seen": 1, "faint": []}
    assert faint("#111111")["faint"] == ["words: rgb(17, 17, 17) on rgb(17, 17, 17)"]


# Each picture in a shadow root, so that the style of one is not that of the next. The box of a text is the smallest
# rectangle around its middle; words without a box (on arrows and outlines, titles, a plot's axes) must stay inside the
# picture and clear of all others. Boxes lie inside each other or apart. The paper, the amber behind what is marked, the
# outlines of memories and the bands of parts are no boxes.
WORDS = """([pictures, least]) => {
  const bad = []; let count = 0, boxed = 0;
  const numbers = colour => (colour.match(/[\\d.]+/g) || [255, 255, 255]).map(Number);
  const light = colour => {
    const [r, g, b] = numbers(colour).map(c => (c /= 255) <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (a, b) => {
    const [low, high] = [light(a), light(b)].sort((x, y) => x - y);
    return (high + 0.05) / (low + 0.05);
  };
  for (const [name, source] of pictures) {
    const host = document.createElement('div');
    document.body.appendChild(host);
    const root = host.attachShadow({mode: 'open'});
    root.innerHTML = source;
    const svg = root.querySelector('svg'), page = svg.getBoundingClientRect(), texts = [];
    if (page.width > 720.5 || page.height > 620.5) bad.push(`${name}: ${page.width} by ${page.height} pixels`);
    const all = [...svg.querySelectorAll('rect[class]')].map(rect => [rect, rect.getBoundingClientRect()]);
    const boxes = all.filter(([rect]) => !/^(paper|part|mem|behind|ring_\\w+)$/.test(rect.getAttribute('class')));
    const paper = all.length ? getComputedStyle(all[0][0]).fill : null;
    const inside = (a, b) => a.left >= b.left - 1 && a.right <= b.right + 1
                             && a.top >= b.top - 2 && a.bottom <= b.bottom + 2;
    for (const text of svg.querySelectorAll('text')) {
      if (!text.textContent.trim()) continue;
      const r = text.getBoundingClientRect(), x = (r.left + r.right) / 2, y = (r.top + r.bottom) / 2;
      const around = boxes.filter(([, b]) => b.left < x && x < b.right && b.top < y && y < b.bottom);
      around.sort((one, two) => one[1].width * one[1].height - two[1].width * two[1].height);
      const pills = around.filter(([, b]) => Math.abs(b.height - 20) < 1);
      const box = (pills[0] || around[0] || [null])[0], b = box && box.getBoundingClientRect();
      count++;
      texts.push([text.textContent, r]);
      if (box) {
        boxed++;
        if (!inside(r, b)) bad.push(`${name}: "${text.textContent}" leaves its box`);
      }
      if (r.left < page.left || r.right > page.right || r.top < page.top - 2 || r.bottom > page.bottom + 2)
        bad.push(`${name}: "${text.textContent}" leaves the picture`);
      if (paper) for (const piece of text.querySelector('tspan') ? text.querySelectorAll('tspan') : [text]) {
        const found = contrast(getComputedStyle(piece).fill, box ? getComputedStyle(box).fill : paper);
        if (found < least) bad.push(`${name}: "${piece.textContent}" has a contrast of ${found.toFixed(1)}`);
      }
    }
    for (let i = 0; i < texts.length; i++) for (let j = 0; j < i; j++) {
      const a = texts[i][1], b = texts[j][1];
      if (Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1
          && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 3.5)
        bad.push(`${name}: texts "${texts[i][0]}" and "${texts[j][0]}" overlap`);
    }
    const solid = boxes.filter(([, b]) => Math.abs(b.height - 20) > 1);  // a pill may lie on another arrow's end
    for (let i = 0; i < solid.length; i++) for (let j = 0; j < i; j++) {
      const a = solid[i][1], b = solid[j][1];
      if (Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1
          && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 1 && !inside(a, b) && !inside(b, a))
        bad.push(`${name}: boxes ${solid[j][0].outerHTML} and ${solid[i][0].outerHTML} overlap`);
    }
    host.remove();
  }
  return {count, boxed, bad};
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_words_stay_in_their_boxes_and_can_be_read(page, path, scheme):
    """In every picture of every notebook: at most 720 by 620 pixels, no text leaves its box or the picture, or covers
    another, nor do boxes, and words have a contrast of 4.5 at least with what they stand on, light and dark."""
    page.emulate_media(color_scheme=scheme)
    pictures = svgs_of(path)
    found = page.evaluate(WORDS, [pictures, LEAST_CONTRAST])

    assert found["bad"] == []
    assert found["boxed"] > 10 or not any('class="node"' in svg for _, svg in pictures)


def test_larger_words_would_be_noticed(page):
    """The check has teeth: the same pictures with larger letters fail it, drawings and frames of a step alike."""

    def enlarged(svg):
        for pattern in (r'(font-size=")([\d.]+)', r"(font-size:)([\d.]+)(?=px)"):
            svg = re.sub(pattern, lambda m: f"{m[1]}{float(m[2]) * 1.25}", svg)
        return svg

    pictures = svgs_of(GALLERY)
    frames = [name for name, svg in pictures if ".small{font-size" in svg]
    bad = page.evaluate(WORDS, [[(name, enlarged(svg)) for name, svg in pictures], LEAST_CONTRAST])["bad"]
    noticed = {fault.partition(":")[0] for fault in bad}

    assert len(noticed) > len(pictures) / 2 and frames
    assert noticed.intersection(frames)


def test_a_word_that_covers_another_would_be_noticed(page):
    """Two labels at one place, a box over a box, a title that is cut off: each is named."""

    def node(x, text):
        shape = f'<rect class="node" x="{x}" y="0" width="60" height="30" fill="#fff"/>'
        return f'<g>{shape}<text x="{x + 10}" y="18" font-size="10">{text}</text></g>'

    def faults(inside):
        paper = '<rect class="paper" width="200" height="60" fill="#fff"/>'
        picture = f'<svg width="200" height="60" viewBox="0 0 200 60">{paper}{inside}</svg>'
        return page.evaluate(WORDS, [[("it", picture)], LEAST_CONTRAST])["bad"]

    assert faults(node(0, "one") + node(80, "two")) == []
    [found] = faults(node(0, "one") + node(50, "two"))
    assert found.startswith("it: boxes ") and found.endswith(" overlap")
    label = '<text x="{}" y="50" font-size="10">a label</text>'
    assert faults(label.format(20) + label.format(30)) == ['it: texts "a label" and "a label" overlap']
    assert faults(label.format(180)) == ['it: "a label" leaves the picture']

"""Write a film of a program as a moving picture, for the README and the site: APNG, or GIF.

    make film ARGS="program.py"                   program.png beside it
    python tools/film.py program.py --out docs/film.gif --seconds 2.5 --engine torch --nodes

The program needs no import: `torch` is there. It may have up to 30 lines, like any film.
"""

import argparse
import io
import re
import sys
import textwrap
from collections.abc import Iterator
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from backscope import film  # noqa: E402
from backscope.filming import words  # noqa: E402
from backscope.pictures.style import LIGHT, MONO, Page, wrapped  # noqa: E402

LEFT, ROW, LETTERS = 300, 18, 38  # of the source: its width in pixels, a line, the letters in a line
EDGE, TOP = 16, 44
LAST = 2  # the last frame stays this many times as long


def still(shown, k) -> str:
    """Draw the SVG of a frame: source and words on the left, the graph on the right."""
    seen, picture = shown.reel.frames[k], shown.pages[k]
    rows = list(source_rows(shown.source))
    low = TOP + ROW * len(rows) + 24
    told = [heights(shown, j) for j in range(len(shown))]
    high = max(TOP + picture.height, low + max(told)) + EDGE
    page = Page(LEFT + picture.width + 3 * EDGE, high, "")
    page.text(EDGE, 28, words.headline(shown.reel, shown.error), "name", "ink", "start")
    for at, (number, text) in enumerate(rows):
        y = TOP + ROW * at
        band(page, seen, number, y)
        paint = page.paint("t-ink", "ink")
        page.add(f'<text {paint} x="{EDGE + 6}" y="{y + 13}" font-size="12" font-family="{MONO}" '
                 f'text-anchor="start" xml:space="preserve">{escape(text, quote=False)}</text>')  # fmt: skip
    page.text(EDGE, low, f"{k + 1}. {seen.title}", "news", "ink", "start")
    for at, line in enumerate(line for one in shown.changes(k) for line in bullet(one)):
        page.text(EDGE + 4, low + 20 + 17 * at, line, "text", "ink", "start")
    inner = picture.svg().replace("<svg ", f'<svg x="{LEFT + 2 * EDGE}" y="{TOP - 8}" ', 1)
    page.add(inner.strip())
    return page.svg()


def band(page, seen, number, y) -> None:
    """Behind a line that has run, or raised, or is to blame, a ground."""
    if seen.lines[0] <= number <= seen.lines[1]:
        page.rect("stale" if seen.error else "run", EDGE, y - 1, LEFT, ROW, 4, 0.5)
    elif seen.culprit and seen.culprit[2][0] <= number <= seen.culprit[2][1]:
        page.rect("stale", EDGE, y - 1, LEFT, ROW, 4, 2)


def source_rows(source) -> Iterator:
    """Yield (number of the line, text) for each row; a long line goes on in the next row."""
    for number, line in enumerate(source.split("\n"), 1):
        indent = " " * (len(line) - len(line.lstrip()) + 4)
        pieces = textwrap.wrap(line, LETTERS, subsequent_indent=indent, break_on_hyphens=False) or [""]
        for k, piece in enumerate(pieces):
            yield number, f"{number if not k else '':>2}  {piece}"


def bullet(sentence) -> list:
    """Return the lines of a sentence below the source."""
    return [("• " if not k else "   ") + line for k, line in enumerate(wrapped(sentence, LEFT - 24))]


def heights(shown, k) -> int:
    """Measure how much room the sentences of a frame take."""
    return 20 + 17 * sum(len(bullet(one)) for one in shown.changes(k))


def write(shown, path, seconds) -> int:
    """Write the film; returns its size in bytes."""
    import resvg_py
    from PIL import Image

    frames = []
    for k in range(len(shown)):
        svg = re.sub(r"@media \(prefers-color-scheme:dark\)\{.*?\}\n?\}", "", still(shown, k), flags=re.DOTALL)
        png = bytes(resvg_py.svg_to_bytes(svg_string=svg, background=LIGHT["paper"]))
        frames.append(Image.open(io.BytesIO(png)).convert("RGB"))
    palette = frames[-1].quantize(128)
    frames = [one.quantize(palette=palette, dither=Image.Dither.NONE) for one in frames]
    pause = [int(1000 * seconds)] * (len(frames) - 1) + [int(1000 * seconds * LAST)]
    frames[0].save(path, save_all=True, append_images=frames[1:], duration=pause, loop=0, optimize=True)
    return path.stat().st_size


def main(given=None) -> None:
    """Write one film and say where it is."""
    parser = argparse.ArgumentParser(prog="tools/film.py", description=__doc__.partition("\n")[0])
    parser.add_argument("program", type=Path, help="a Python file of up to 30 lines")
    parser.add_argument("--out", type=Path, help="where it goes; .png (APNG) or .gif")
    parser.add_argument("--seconds", type=float, default=2.0, help="how long a frame stays")
    parser.add_argument("--engine", choices=("course_lib", "torch"), default="course_lib")
    parser.add_argument("--nodes", action="store_true", help="backward() node by node")
    chosen = parser.parse_args(given)
    out = chosen.out or chosen.program.with_suffix(".png")
    if out.suffix not in (".png", ".gif"):
        sys.exit(f"A film is written as .png (APNG) or .gif, not {out.name}.")
    try:
        source = chosen.program.read_text(encoding="utf-8")
    except OSError as error:
        sys.exit(f"{chosen.program} cannot be read: {error.strerror}.")
    if chosen.engine == "torch":
        import torch  # noqa: F401 - the program sees it
    else:
        import course_lib as torch  # noqa: F401
    shown = film(source, nodes=chosen.nodes)
    if not shown.pages:
        sys.exit(shown.text)
    try:
        size = write(shown, out, chosen.seconds)
    except ImportError as error:
        sys.exit(f"{error.name} is missing: pip install '.[docs]'")
    print(f"wrote {out}: {len(shown)} frames, {size // 1000} kB")


if __name__ == "__main__":
    main()

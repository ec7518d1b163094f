"""Draw the README's picture, docs/picture.svg, with the course's own draw().

    python tools/readme_picture.py

The picture is of the error that most people search for: "one of the variables needed for gradient computation has
been modified by an inplace operation".
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import course_lib as torch  # noqa: E402
from backscope.pictures.draw import Picture, draw  # noqa: E402


def modified_in_place() -> Picture:
    """Return the program that stands beside the picture: a result is overwritten before the pass that needs it."""
    x = torch.tensor(4.0, requires_grad=True)
    a = x.sqrt()
    a += 1
    return draw(a)


def main() -> None:
    """Write the file and say so."""
    picture = modified_in_place()
    svg = ROOT / "docs" / "picture.svg"
    svg.parent.mkdir(exist_ok=True)
    picture.save(svg)
    print(f"wrote {svg.relative_to(ROOT)}")


if __name__ == "__main__":
    main()

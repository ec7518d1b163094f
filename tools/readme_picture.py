"""Draw the README's picture, docs/picture.svg, with the course's own draw(); and picture.png where a converter is.

    python tools/readme_picture.py

The picture is of the error that most people search for: "one of the variables needed for gradient computation has
been modified by an inplace operation".
"""

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import course_lib as torch  # noqa: E402
from backscope.pictures.draw import draw  # noqa: E402


def modified_in_place():
    """A view of a result is overwritten before the backward pass that needs the result."""
    w = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    x = torch.tensor([0.5, 0.5, 0.5])
    y = w * x
    z = y.exp()
    v = z[0:2]
    v.mul_(2)
    loss = v.sum()
    return draw(loss)


def main():
    """Write the files and say what was written."""
    picture = modified_in_place()
    svg = ROOT / "docs" / "picture.svg"
    svg.parent.mkdir(exist_ok=True)
    picture.save(svg)
    print(f"wrote {svg.relative_to(ROOT)}")
    converter = shutil.which("rsvg-convert")
    if converter is None:
        print("left picture.png as it is: no rsvg-convert on PATH")
        return
    png = svg.with_suffix(".png")
    subprocess.run([converter, "--zoom=2", "--background-color=white", str(svg), "--output", str(png)], check=True)
    print(f"wrote {png.relative_to(ROOT)}")


if __name__ == "__main__":
    main()

"""tools/build_notebooks.py: a rebuild changes nothing, a failure destroys nothing."""

import base64
import io
import re
import sys

import nbformat
import pytest

from tools import build_notebooks

SAMPLE = """\
# %% [markdown]
# # A sample

# %% tags=["C99.1"]
import os
import sys

print(os.path.exists(os.environ["COURSE_PROGRESS"]))
for number in range(200):
    print(number, flush=True)
sys.executable == {python!r}
"""


@pytest.fixture
def folder(tmp_path):
    """A tree with one small lesson."""
    for name in ("notebooks", "lessons/99_sample"):
        (tmp_path / name).mkdir(parents=True)
    source = tmp_path / "lessons" / "99_sample" / "lesson.py"
    source.write_text(SAMPLE.format(python=sys.executable), encoding="utf-8")
    return tmp_path


def command(folder, *words):
    """Run the command as a maintainer would."""
    return build_notebooks.main(["--folder", str(folder), *words])


def test_build_verify_check(folder, capsys):
    """Building uses this interpreter; building again gives the same bytes; an edit is found."""
    source, notebook = folder / "lessons/99_sample/lesson.py", folder / "notebooks/99_sample.ipynb"

    assert command(folder, "99") == 0
    nb = nbformat.read(notebook, as_version=4)
    stream, result = nb.cells[1].outputs
    assert stream.text.startswith("False\n0\n1\n") and stream.text.endswith("\n199\n")
    assert result.data == {"text/plain": "True"}
    assert nb.cells[1].metadata == {"tags": ["C99.1"]} and nb.cells[1].execution_count == 1
    assert [cell.id for cell in nb.cells] == ["lesson-99-cell-00", "lesson-99-cell-01"]

    assert command(folder, "--verify") == 0 and command(folder, "--check") == 0
    assert "the same as before" in capsys.readouterr().out

    source.write_text(source.read_text(encoding="utf-8") + "1 + 1\n", encoding="utf-8")
    assert command(folder, "--check") == 1
    complaint = capsys.readouterr().err
    assert "99_sample.ipynb and its source disagree" in complaint and "-1 + 1" in complaint

    source.unlink()
    assert command(folder, "--check") == 1
    assert "has no source" in capsys.readouterr().err


def test_a_failing_cell(folder, capsys):
    """The message names lesson, cell, heading and error; the old notebook stays, byte for byte."""
    source, notebook = folder / "lessons/99_sample/lesson.py", folder / "notebooks/99_sample.ipynb"
    text = "# %% [markdown]\n# ## Run\n\n# %%\nprint('so far')\n1 / 0\n\n# %%\n2\n"
    source.write_text(text, encoding="utf-8")
    notebook.write_text("the old notebook", encoding="utf-8")

    assert command(folder) == 1
    complaint = capsys.readouterr().err
    for words in ("Lesson 99_sample", "the 1st code cell", "## Run", "ZeroDivisionError", "so far", "1 / 0"):
        assert words in complaint
    assert notebook.read_text(encoding="utf-8") == "the old notebook"
    assert [p.name for p in (folder / "notebooks").iterdir()] == ["99_sample.ipynb"]


def test_nothing_to_build(folder, capsys):
    """An unknown lesson lists the lessons there are; an empty folder is an error: nothing checked is no success."""
    assert command(folder, "12") == 1
    assert "99_sample" in capsys.readouterr().err
    assert command(folder / "notebooks", "--check") == 1
    assert "no lesson source" in capsys.readouterr().err


DRAWN = """
# %% [markdown]
# # 99

# %%
import course_lib as torch
from backscope import draw

draw((torch.ones(2, requires_grad=True) * 2).sum())
"""


def test_a_drawing_has_its_png(folder):
    """Beside the HTML of a drawing stands the same picture as PNG: as wide, white around, and not empty."""
    pytest.importorskip("resvg_py", reason="only with `course.py setup --docs`: no resvg-py here")
    from PIL import Image

    source = folder / "lessons/99_sample/lesson.py"
    source.write_text(source.read_text(encoding="utf-8") + DRAWN, encoding="utf-8")
    assert command(folder, "99") == 0
    data = nbformat.read(folder / "notebooks/99_sample.ipynb", as_version=4).cells[-1].outputs[0].data
    picture = Image.open(io.BytesIO(base64.b64decode(data["image/png"]))).convert("RGB")
    svg = base64.b64decode(build_notebooks.DRAWING.search(data["text/html"])[1]).decode()
    width = re.search(r'<svg[^>]* width="([\d.]+)"', svg)

    assert abs(picture.width - float(width[1])) <= 1
    assert picture.getpixel((0, 0)) == (255, 255, 255)
    assert len(picture.getcolors()) > 5

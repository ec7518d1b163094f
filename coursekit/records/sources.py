"""Find the files of PyTorch's that a file of our engine stands for, in the sentence with which each of them begins."""

import ast
import re
from pathlib import Path

import course_lib

ENGINE = Path(course_lib.__file__).parent / "engine"


def sources() -> dict:
    """Return {our file: PyTorch's files}, for every file of engine/."""
    return {f"engine/{file.name}": kept(file) for file in sorted(ENGINE.glob("*.py")) if file.stem != "__init__"}


def kept(file) -> str | None:
    """Return what stands after "PyTorch:" in the first lines of a file, up to the end of the sentence."""
    words = " ".join(ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))).split())
    return re.search(r"PyTorch: (.+?)\.?(?= [A-Z]\w* |$)", words)[1]

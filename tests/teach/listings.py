"""The pinned texts of pictures: files of sections, each under a line `===== name`."""

import re
from pathlib import Path


def pinned(file):
    """{program: text} from a file beside this one."""
    text = (Path(__file__).parent / file).read_text(encoding="utf-8")
    parts = re.split(r"^===== (\w+)\n", text, flags=re.MULTILINE)[1:]
    return dict(zip(parts[::2], (part.rstrip("\n") for part in parts[1::2]), strict=True))

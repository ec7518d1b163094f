"""Write the address of this repository into the pages that link to it: clone line, Binder, Codespaces, Colab, site.

    python tools/address.py OWNER/NAME

The pages hold the placeholder OWNER/NAME until somebody who has published the course runs this once. A copy under
another name is changed in the same way: what is replaced is the address in README's clone line.
"""

import argparse
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FILES = ("README.md", "docs/elsewhere.md")
CLONE = re.compile(r"git clone https://github\.com/([\w.-]+/[\w.-]+)")


def pages_of(address):
    """The address of a repository's GitHub Pages, without https://."""
    owner, name = address.split("/")
    return f"{owner.lower()}.github.io/{name}"


def write(new, root=ROOT):
    """Replace the address in all pages below root. Return the names of the pages that changed.

    ValueError when `new` is not OWNER/NAME, or README has no clone line to read the present address from.
    """
    if not re.fullmatch(r"[\w.-]+/[\w.-]+", new):
        raise ValueError(f"{new!r} is no repository of GitHub: say OWNER/NAME, as in its address.")
    found = CLONE.search((root / "README.md").read_text(encoding="utf-8"))
    if not found:
        raise ValueError("README.md has no line `git clone https://github.com/OWNER/NAME`: put it back first.")
    old, changed = found.group(1), []
    for name in FILES:
        path = root / name
        before = path.read_text(encoding="utf-8")
        after = before.replace(pages_of(old), pages_of(new)).replace(old, new)
        if after != before:
            path.write_text(after, encoding="utf-8")
            changed.append(name)
    return changed


def main():
    """Read the address from the command line, write it, say what changed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("address", metavar="OWNER/NAME")
    try:
        changed = write(parser.parse_args().address)
    except ValueError as error:
        sys.exit(str(error))
    print("changed: " + ", ".join(changed) if changed else "This address is there already.")


if __name__ == "__main__":
    main()

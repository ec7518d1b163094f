"""Write the address of a published copy into every page that needs one, or take it out again.

    python tools/address.py OWNER/NAME     for a repository of GitHub, and the site of its Pages
    python tools/address.py --none         as it is before anybody has published: no page names an address

What depends on the address stands between `<!-- address:NAME -->` and `<!-- /address -->`, and is written from the
two texts of BLOCKS, without and with an address. Nothing else here knows an address.
"""

import argparse
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FILES = ("README.md", "docs/elsewhere.md", "CITATION.cff")
GITHUB = "https://github.com/{owner}/{name}"
SITE = "https://{lower}.github.io/{name}"
BLOCKS = {
    "clone": (
        "In a copy of this repository:\n\n```console\n$ make open      # the course, in JupyterLab, in your browser\n"
        "$ make test      # what the lessons claim, checked on your machine\n```",
        f"```console\n$ git clone {GITHUB} autograd-course && cd autograd-course\n"
        "$ make open      # the course, in JupyterLab, in your browser\n"
        "$ make test      # what the lessons claim, checked on your machine\n```\n\n"
        f"You can also [read it as a site]({SITE}/), or [run it in your browser]({SITE}/lite/).",
    ),
    "places": (
        "The links to these places need the address of a published copy: `python tools/address.py` writes them.",
        f"[The site]({SITE}/) · [in your browser]({SITE}/lite/) · "
        "[Codespaces](https://codespaces.new/{owner}/{name}) · "
        "[Binder](https://mybinder.org/v2/gh/{owner}/{name}/main?urlpath=lab/tree/notebooks/home.ipynb) · "
        "[Colab](https://colab.research.google.com/github/{owner}/{name}/blob/main/notebooks/00_start_here.ipynb)",
    ),
    "colab": (
        "```python\n# first upload a copy of this repository as the folder autograd-course\n"
        "%pip install --quiet --editable ./autograd-course\n%cd autograd-course\n```",
        f"```python\n!git clone --depth 1 {GITHUB} autograd-course\n"
        "%pip install --quiet --editable ./autograd-course\n%cd autograd-course\n```",
    ),
    "citation": ("", f'repository-code: "{GITHUB}"\nurl: "{SITE}/"'),
}
MARKED = re.compile(r"((?:<!--|#) address:(\w+)(?: -->)?\n)(.*?)((?:<!--|#) /address(?: -->)?)", re.DOTALL)


def write(address: str | None, root: Path = ROOT) -> list[str]:
    """Write OWNER/NAME into all pages below `root`, or take it out for None; return the pages that changed.

    ValueError when `address` is not OWNER/NAME, or a page has lost a mark.
    """
    if address is not None and not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9-]*/[\w.-]+", address):
        raise ValueError(f"{address!r} is no repository of GitHub: write owner and name, as in its address.")
    owner, _, name = (address or "/").partition("/")
    names = {"owner": owner, "name": name, "lower": owner.lower()}
    changed = []
    for file in FILES:
        path = root / file
        before = path.read_text(encoding="utf-8")
        if not MARKED.search(before):
            raise ValueError(f"{file} has no mark `address:` any more: put it back first.")

        def block(found):
            without, with_address = BLOCKS[found[2]]
            text = with_address.format(**names) if address else without
            return found[1] + (text + "\n" if text else "") + found[4]

        after = MARKED.sub(block, before)
        if after != before:
            path.write_text(after, encoding="utf-8")
            changed.append(file)
    return changed


def main() -> None:
    """Read the address from the command line, write it, say what changed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("address", nargs="?", metavar="OWNER/NAME")
    parser.add_argument("--none", action="store_true", help="take the address out")
    options = parser.parse_args()
    if bool(options.address) == options.none:
        parser.error("say OWNER/NAME, or --none")
    try:
        changed = write(options.address)
    except ValueError as error:
        sys.exit(str(error))
    print("changed: " + ", ".join(changed) if changed else "This address is there already.")


if __name__ == "__main__":
    main()

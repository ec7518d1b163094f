"""The course in the browser: `make lite` writes JupyterLite with the lessons into build/lite. It needs no server.

    python tools/lite.py [--out FOLDER] [--pyodide FOLDER]

Python itself runs in the reader's browser (Pyodide). The result holds JupyterLite, the lessons without their outputs,
all four rooms as a wheel; Pyodide with NumPy and matplotlib comes from Pyodide's own
distribution when a page is opened, or, with --pyodide, from a copy of that distribution that is put into the result.
docs/in_the_browser.md says what that means. `course.py setup --lite` installs what this needs.
"""

import argparse
import importlib.util
import json
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from coursekit.cli.workspace import render_copy  # noqa: E402
from coursekit.own_engine import stages  # noqa: E402

FIRST_PAGE = "home.ipynb"
KERNEL = "@jupyterlite/pyodide-kernel-extension"
ROOMS = {  # and what no lesson's cell needs of each
    "course_lib": (), "backscope": (), "coursekit": ("cli", "classroom"), "lessons": ("claims*.py",),
}  # fmt: skip
PROJECT = """
[build-system]
requires = ["setuptools>=77"]
build-backend = "setuptools.build_meta"

[project]
name = "autograd-course-in-the-browser"
version = "{version}"

[tool.setuptools.packages.find]
include = ["*"]

[tool.setuptools.package-data]
"*" = ["*"]
"""  # the whole course in one wheel: pyproject.toml's own, for work, holds backscope alone
WITH_US = ("comm",)  # pure Python, and not in Pyodide's distribution
CORE = ("pyodide.js", "pyodide.mjs", "pyodide.asm.js", "pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json")
# What the kernel loads of the distribution, and what the course needs.
LOADED = ("micropip", "packaging", "ssl", "sqlite3", "ipython", "jedi", "numpy", "matplotlib")
OWN_PYODIDE = "./static/pyodide/pyodide.js"
BANNER = Path(__file__).with_name("lite_banner.js")
IN_A_BROWSER = {  # what lessons say of a folder and a terminal, and what is true where there are none
    r"- Your copies of the lessons are in the folder `my_course`\..*":
        "- What you write stays in this browser, in its storage for this site; clearing the site's data deletes it. To "
        "keep a lesson, or to take it to another machine: right-click on it in the list of files, *Download*.",
    r"- Your own engine is `my_engine\.py` in the same folder\.": "- Your own engine is `my_engine.py` in that list.",
    r" in your folder `my_course`": "",
    r" ?\(If it is not there, `python3 course\.py my-engine` in a terminal writes it\.\)": "",
}  # fmt: skip
METADATA = {
    "kernelspec": {"display_name": "Python (Pyodide)", "language": "python", "name": "python"},
    "language_info": {"name": "python"},
}
REDIRECT = """<!doctype html>
<meta charset="utf-8">
<title>autograd, seen from the inside</title>
<script id="jupyter-config-data" type="application/json" data-jupyter-lite-root=".">{{}}</script>
<script>
  // JupyterLab leaves no room for a notebook on a telephone; the notebook alone fits.
  location.replace((innerWidth < 800 ? "notebooks" : "lab") + "/index.html?path={page}")
</script>
<a href="lab/index.html?path={page}">The course, in the browser</a>
"""


class Problem(Exception):
    """Something that whoever builds has to know: what was tried, what is in the way, what to do about it."""


def call(words, what, **more) -> None:
    """Run a program. When it fails, its last lines are told."""
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, **more)
    if done.returncode:
        last = "\n".join((done.stdout + done.stderr).strip().splitlines()[-15:])
        raise Problem(f"{what} did not work. The last lines of what was said:\n{last}")


# ------------------------------------------------------------------------------------------- what goes in


def wheels(folder) -> list:
    """Make a wheel of the course, and fetch the packages that it draws with, into this folder. Asks pip's index."""
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    with open(ROOT / "pyproject.toml", "rb") as file:
        version = tomllib.load(file)["project"]["version"]
    with tempfile.TemporaryDirectory() as scratch:  # a copy, since setuptools leaves files where it builds
        for room, left_out in ROOMS.items():
            ignored = shutil.ignore_patterns("__pycache__", *left_out)
            shutil.copytree(ROOT / room, Path(scratch) / room, ignore=ignored)
        (Path(scratch) / "pyproject.toml").write_text(PROJECT.format(version=version), encoding="utf-8")
        call([*pip, "wheel", "--no-deps", "--wheel-dir", folder, scratch], "Making a wheel of the course")
    constraints = ROOT / "constraints.txt"
    for name in WITH_US:
        call([*pip, "download", "--no-deps", "--only-binary", ":all:", "--constraint", constraints, "--dest", folder,
              name], f"Fetching the package {name}")  # fmt: skip
    return sorted(path.name for path in folder.glob("*.whl"))


def lessons(folder) -> None:
    """Write the learner's copies, and the beginning of the engine that they build."""
    folder.mkdir()
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        notebook = json.loads(render_copy(path).decode())
        for cell in notebook["cells"]:
            if cell["cell_type"] == "markdown":
                cell["source"] = told_here("".join(cell["source"]))
        notebook["metadata"] = METADATA  # JupyterLab would write it on opening, and call the lesson changed
        (folder / path.name).write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    (folder / stages.NAME).write_text(stages.start(), encoding="utf-8")


def told_here(text) -> str:
    """Change a text of a lesson to what is true in a browser."""
    for there, here in IN_A_BROWSER.items():
        text = re.sub(there, here, text)
    return text


def distribution(given, folder) -> None:
    """Copy from a Pyodide distribution what the kernel and the course load, with all that it depends on."""
    from jupyterlite_pyodide_kernel.constants import PYODIDE_VERSION

    known = f"Take the full distribution of Pyodide {PYODIDE_VERSION}, unpacked: the folder with pyodide-lock.json."
    try:
        lock = json.loads((given / "pyodide-lock.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise Problem(f"{given} holds no pyodide-lock.json that can be read. {known}") from None
    wanted, waiting = set(), list(LOADED)
    while waiting:
        name = waiting.pop()
        if name not in wanted and name in lock["packages"]:
            wanted.add(name)
            waiting += [re.sub(r"[-_.]+", "-", each).lower() for each in lock["packages"][name]["depends"]]
    files = [*CORE, *(lock["packages"][name]["file_name"] for name in sorted(wanted))]
    missing = sorted({*LOADED} - wanted) + [name for name in files if not (given / name).is_file()]
    if missing:
        raise Problem(f"{given} lacks {', '.join(missing)}. {known}")
    folder.mkdir(parents=True)
    for name in files:
        shutil.copy(given / name, folder)


def settings(names, own_pyodide) -> dict:
    """jupyter-lite.json: what the kernel loads before the first cell, from where."""
    # A wheel's place as the kernel's worker sees it, whose file lies four folders deep.
    ours = [f"../../../../pypi/{name}" for name in names if not name.startswith("comm-")]
    kernel = {
        "disablePyPIFallback": True,  # all it needs is here or in the distribution: no package index is asked
        "loadPyodideOptions": {"packages": ["numpy", "matplotlib", *ours]},
    }
    if own_pyodide:
        kernel["pyodideUrl"] = OWN_PYODIDE
    config = {"appName": "autograd, seen from the inside", "litePluginSettings": {f"{KERNEL}:kernel": kernel}}
    return {"jupyter-lite-schema-version": 0, "jupyter-config-data": config}


# ---------------------------------------------------------------------------------------------- the build


def published_pyodide(extension) -> str:
    """Return the address from which the kernel takes Pyodide by itself."""
    for path in sorted(extension.rglob("*.js")):
        if found := re.search(r"https://[\w./-]+/pyodide\.js", path.read_text(encoding="utf-8")):
            return found[0]
    raise Problem(f"No address of Pyodide stands in {extension}: this version of jupyterlite-pyodide-kernel is unknown "
                  "here. Install the one in constraints.txt.")  # fmt: skip


def add_banner(made, address) -> None:
    """Give every page with a kernel the words for a Python that cannot be reached; `address` as the banner sees it."""
    (made / "banner.js").write_text(BANNER.read_text(encoding="utf-8").replace("FROM", address, 1), encoding="utf-8")
    for app in ("lab", "notebooks"):
        page = made / app / "index.html"
        text = page.read_text(encoding="utf-8")
        page.write_text(text.replace("<head>", '<head>\n    <script src="../banner.js"></script>', 1), encoding="utf-8")


def build(out, pyodide=None) -> None:
    """Write JupyterLite with the course into `out`, in the place of what is there."""
    if importlib.util.find_spec("jupyterlite_pyodide_kernel") is None:
        raise Problem("jupyterlite-core and jupyterlite-pyodide-kernel are missing here. `python3 course.py lite` "
                      "installs them, or say `course.py setup --lite`.")  # fmt: skip
    extension = Path(sys.prefix) / "share" / "jupyter" / "labextensions" / KERNEL
    with tempfile.TemporaryDirectory() as scratch:
        source = Path(scratch) / "source"
        (source / "pypi").mkdir(parents=True)
        names = wheels(source / "pypi")
        lessons(source / "files")
        if pyodide is not None:
            distribution(pyodide, source / "static" / "pyodide")
        (source / "jupyter-lite.json").write_text(json.dumps(settings(names, pyodide is not None)), encoding="utf-8")
        made = Path(scratch) / "made"
        call([sys.executable, "-m", "jupyterlite_core", "build", "--lite-dir", source, "--output-dir", made,
              "--contents", source / "files", "--apps", "lab", "--apps", "notebooks", "--no-sourcemaps",
              "--no-unused-shared-packages",
              "--ignore-sys-prefix", f"--LiteBuildConfig.federated_extensions={extension}"],
             "Building JupyterLite", cwd=scratch)  # fmt: skip
        add_banner(made, published_pyodide(extension) if pyodide is None else OWN_PYODIDE)
        (made / "index.html").write_text(REDIRECT.format(page=FIRST_PAGE), encoding="utf-8")
        shutil.rmtree(out, ignore_errors=True)
        out.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(made, out)


def main(arguments=None) -> int:
    """Build JupyterLite with the course."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "lite", help="where to (build/lite)")
    parser.add_argument("--pyodide", type=Path, metavar="FOLDER",
                        help="a Pyodide distribution, unpacked: the result then asks nobody else for anything")
    options = parser.parse_args(arguments)
    try:
        build(options.out, options.pyodide)
    except Problem as problem:
        print(problem, file=sys.stderr)
        return 1
    size = sum(path.stat().st_size for path in options.out.rglob("*") if path.is_file()) / 1e6
    print(f"The course for the browser: {options.out} ({size:.0f} MB). Put the folder on any web server, or look at it")
    print(f"here:  {Path(sys.executable).name} -m http.server --bind 127.0.0.1 --directory {options.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

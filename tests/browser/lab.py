"""The course in a real browser, as a learner gets it: what the tests beside this file do with JupyterLab."""

import contextlib
import functools
import http.server
import importlib.util
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import nbformat
from playwright.sync_api import expect

from tests.opened import open_course

ROOT = Path(__file__).resolve().parent.parent.parent
ARTIFACTS = Path(__file__).with_name("artifacts")
LESSON = "07_version_counters"
FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
FLAGS += ["--disable-component-update", "--disable-sync"]
PATIENCE = 90  # seconds until a lesson has run
LEFT_OUT = (".git", ".venv", "my_course", "artifacts", "__pycache__", "*.egg-info", ".*_cache", "build")


class Course:
    """A running `course.py open` on a copy of this tree, so that nobody's own lessons are touched."""

    def __init__(self, folder: Path):
        self.root = folder / "course"
        shutil.copytree(ROOT, self.root, ignore=shutil.ignore_patterns(*LEFT_OUT))
        self.process, self.base, _, self.token = open_course(self.root, folder)
        self.lessons = self.root / "my_course"

    def url(self, notebook: Path, workspace: str) -> str:
        """The address of a notebook, in a workspace where nothing else was left open."""
        path = notebook.relative_to(self.root).as_posix()
        return f"{self.base}/lab/workspaces/{workspace}/tree/{path}?token={self.token}"

    def stop(self):
        """Ctrl-C, as a learner would; then harder."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()


def open_notebook(page, course, notebook: Path):
    """Open a notebook and wait until all its cells are there and its kernel is."""
    name = f"{notebook.stem}-{time.monotonic_ns()}"
    page.goto(course.url(notebook, name))
    expect(prompts(page)).to_have_text(numbers(nbformat.read(notebook, as_version=4)), timeout=PATIENCE * 1000)
    page.locator(".jp-NotebookPanel:visible .jp-Notebook-ExecutionIndicator[data-status=idle]").wait_for()


def prompts(page):
    """The places beside the code cells where their execution counts stand."""
    return page.locator(".jp-NotebookPanel:visible .jp-CodeCell .jp-InputPrompt")


def numbers(nb) -> list[str]:
    """The execution counts of a notebook as JupyterLab writes them."""
    return [f"[{cell.execution_count or ' '}]:" for cell in nb.cells if cell.cell_type == "code"]


def run_all(page):
    """Clear all outputs, run all cells, and wait until each of them has its number again."""
    wanted = numbers(published())
    menu(page, "Edit", "Clear Outputs of All Cells")
    expect(prompts(page)).to_have_text(["[ ]:"] * len(wanted))
    menu(page, "Run", "Run All Cells")
    expect(prompts(page)).to_have_text(wanted, timeout=PATIENCE * 1000)


def type_over(page, place, text: str, key: str):
    """Type a text over all that is in an editor, and press a key."""
    place.click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(text)
    page.keyboard.press(key)


def menu(page, name: str, entry: str):
    """Choose an entry of JupyterLab's menu bar."""
    page.get_by_role("menuitem", name=name, exact=True).click()
    page.get_by_role("menuitem", name=entry, exact=True).click()


def saved(page, notebook: Path):
    """The notebook as JupyterLab writes it to disk."""
    before = notebook.stat().st_mtime_ns
    page.keyboard.press("Control+s")
    end = time.monotonic() + 20
    while time.monotonic() < end:
        if notebook.stat().st_mtime_ns != before:
            with contextlib.suppress(nbformat.reader.NotJSONError):  # it is just being written
                return nbformat.read(notebook, as_version=4)
        time.sleep(0.1)
    raise AssertionError("JupyterLab did not save the notebook")


def pictures(page, count: int) -> list[dict]:
    """Each picture in an output, once scrolled to: its natural width, and the size it is shown in."""
    found = page.locator(".jp-NotebookPanel:visible .jp-OutputArea-output img")
    expect(found).to_have_count(count)
    seen = []
    for number in range(found.count()):
        picture = found.nth(number)
        picture.scroll_into_view_if_needed()
        picture.evaluate("image => image.decode()")  # rejects a picture that cannot be drawn
        seen.append(picture.evaluate("i => ({natural: i.naturalWidth, width: i.clientWidth, height: i.clientHeight})"))
    return seen


def screenshot(page, name: str):
    ARTIFACTS.mkdir(exist_ok=True)
    page.screenshot(path=ARTIFACTS / f"{name}.png")


def tool(name: str):
    """A file of tools/ as a module."""
    spec = importlib.util.spec_from_file_location(f"{name}_tool", ROOT / "tools" / f"{name}.py")
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@contextlib.contextmanager
def served(folder: Path):
    """The address of a folder that is served on loopback meanwhile."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *words):
            pass

    handler = functools.partial(Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def published():
    return nbformat.read(ROOT / "notebooks" / f"{LESSON}.ipynb", as_version=4)


def drawings(nb) -> int:
    """How many pictures the outputs of a notebook hold."""
    outputs = [o for cell in nb.cells for o in cell.get("outputs", [])]
    return sum(o.get("data", {}).get("text/html", "").count("<img") for o in outputs)


def said(nb) -> list[list[str]]:
    """What each code cell printed and showed as text."""
    code = [cell for cell in nb.cells if cell.cell_type == "code"]
    return [
        ["".join(o.text for o in cell.outputs if o.output_type == "stream")]
        + [o.data.get("text/plain", "") for o in cell.outputs if "data" in o]
        for cell in code
    ]


def outcome(ident: str, word: str):
    """What a card with this outcome says: the exercise, a sign, the word."""
    return re.compile(rf"{re.escape(ident)}\s+\S\s+{word}")


def complaints(nb) -> list[str]:
    """Errors and warnings in the outputs."""
    outputs = [o for cell in nb.cells for o in cell.get("outputs", [])]
    errors = [f"{o.ename}: {o.evalue}" for o in outputs if o.output_type == "error"]
    return errors + [o.text for o in outputs if o.get("name") == "stderr"]


def check_pictures(page, nb):
    """Every picture of the notebook is there, and drawn."""
    seen = pictures(page, drawings(nb))

    assert seen and min(min(picture.values()) for picture in seen) > 20, seen

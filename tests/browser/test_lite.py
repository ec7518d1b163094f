"""The course for the browser, as `make lite` builds it: what is in it, what it asks for elsewhere, how it draws.

Its Python runs on NumPy from Pyodide's distribution. COURSE_PYODIDE=FOLDER names a copy of that, unpacked; then lessons
are run as well, and nothing may be asked for elsewhere. COURSE_PYODIDE=online runs them with the published one.
"""

import json
import os
import re
import subprocess
import sys
import time
import zipfile
from pathlib import Path
from urllib.parse import urlsplit

import nbformat
import pytest
from jupyterlite_pyodide_kernel.constants import PYODIDE_VERSION

from tests.browser.lab import ROOT, screenshot, served, tool

GIVEN = os.environ.get("COURSE_PYODIDE", "")
FOLDER = None if GIVEN in ("", "online") else Path(GIVEN)
LONG = 300  # seconds until a lesson has run: the first page loads some 50 MB
ROOMS = ("course_lib", "backscope", "coursekit", "lessons")
LESSONS = ("home", "00_start_here", "07_version_counters", "10_training_loop")


@pytest.fixture(scope="module")
def lite(tmp_path_factory):
    """The folder, built now."""
    out = tmp_path_factory.mktemp("lite") / "lite"
    tool("lite").build(out, FOLDER)
    return out


@pytest.fixture(scope="module")
def address(lite):
    """Where it is served on loopback: below another page, as on the site, and open to be looked into by tests."""
    config = lite / "jupyter-lite.json"
    settings = json.loads(config.read_text(encoding="utf-8"))
    settings["jupyter-config-data"]["exposeAppInBrowser"] = True
    config.write_text(json.dumps(settings), encoding="utf-8")
    with served(lite.parent) as address:
        yield address + "lite/"


@pytest.fixture
def page(page, address):
    """A fresh window, which notes what it asks for elsewhere; it only gets that online."""
    here, page.elsewhere = urlsplit(address).netloc, []

    def route(route):
        page.elsewhere.append(route.request.url)
        route.continue_() if GIVEN == "online" else route.abort()

    page.context.route(lambda url: urlsplit(url).scheme in ("http", "https") and urlsplit(url).netloc != here, route)
    page.set_default_timeout(LONG * 1000)
    return page


def test_it_holds_the_lessons_without_their_answers(lite):
    """Every notebook is there as a learner's copy, with the beginning of the learner's own engine."""
    names = {path.name for path in (ROOT / "notebooks").glob("*.ipynb")}
    copies = {path.name: nbformat.read(path, as_version=4) for path in (lite / "files").glob("*.ipynb")}
    outputs = {name: sum(len(cell.get("outputs", [])) for cell in nb.cells) for name, nb in copies.items()}

    assert set(copies) == names
    assert {name for name, count in outputs.items() if count} == {"90_gallery.ipynb"}
    assert "Your lines begin here" in (lite / "files" / "my_engine.py").read_text(encoding="utf-8")


def test_its_wheel_is_the_course(lite):
    """What is imported there is these four rooms, with the data that they read; what no cell needs is left out."""
    [wheel] = (lite / "pypi").glob("autograd_course*.whl")
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    wanted = {path.relative_to(ROOT).as_posix() for room in ROOMS for path in (ROOT / room).rglob("*")
              if path.is_file() and path.suffix != ".pyc"}  # fmt: skip
    left_out = r"coursekit/(cli|classroom)/.*|lessons/(.*/)?claims(_kit)?\.py"

    assert names == {name for name in wanted if not re.fullmatch(left_out, name)}


def test_its_wheel_runs_a_lesson_where_nothing_else_is(lite, tmp_path):
    """Unpacked into an empty folder, with neither a clone nor the other rooms beside it, a lesson judges an answer."""
    [wheel] = (lite / "pypi").glob("autograd_course*.whl")
    zipfile.ZipFile(wheel).extractall(tmp_path / "site")
    (tmp_path / "work").mkdir()
    code = f"""
import sys
sys.path[:] = [{str(tmp_path / "site")!r}] + [each for each in sys.path if each and not each.startswith({str(ROOT)!r})]
sys.path += {[path for path in sys.path if "site-packages" in path]!r}
import course_lib as torch
from backscope import draw
from coursekit import lesson
from coursekit.own_engine.stages import write
assert torch.__file__.startswith({str(tmp_path)!r}), torch.__file__
L = lesson(7)
L.check("07.1", None)
write(5)
print(L.results, draw(torch.ones(2, requires_grad=True) * 2))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path / "work",
                          env={**os.environ, "PYTHONPATH": ""})  # fmt: skip

    assert done.returncode == 0, done.stderr
    assert "MulBackward0" in done.stdout and "07.1" in done.stdout
    assert (tmp_path / "work" / "my_engine.py").is_file()


def test_its_lessons_speak_of_the_browser(lite):
    """There is no folder my_course and no course.py there: no lesson sends anybody to one."""
    elsewhere = r"my_course|course\.py|make (open|reset|my-engine)"
    said = {path.stem: [line for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "markdown"
                        for line in cell.source.splitlines() if re.search(elsewhere, line)]
            for path in (lite / "files").glob("*.ipynb")}  # fmt: skip
    home = (lite / "files" / "home.ipynb").read_text(encoding="utf-8")

    assert {name: lines for name, lines in said.items() if lines} == {}
    assert "stays in this browser" in home and "`my_engine.py` in that list" in home


def test_a_folder_that_is_no_distribution_is_refused(tmp_path):
    """It is said what the folder lacks, and nothing is built."""
    maker = tool("lite")
    with pytest.raises(maker.Problem, match="holds no pyodide-lock.json"):
        maker.distribution(tmp_path, tmp_path / "out")
    (tmp_path / "pyodide-lock.json").write_text('{"packages": {}}')
    with pytest.raises(maker.Problem, match="lacks .*numpy.*pyodide.asm.wasm"):
        maker.distribution(tmp_path, tmp_path / "out")

    assert not (tmp_path / "out").exists()


def test_the_front_page_leads_to_the_lessons(address, page):
    """It opens the home page of the course in JupyterLab; elsewhere nothing but Pyodide is asked for."""
    page.goto(address)
    page.get_by_role("paragraph").filter(has_text="This is the home page of the course.").wait_for()
    end = time.monotonic() + 60
    while FOLDER is None and not page.elsewhere and time.monotonic() < end:
        page.wait_for_timeout(200)
    screenshot(page, "lite_home")
    folders = {url.rsplit("/", 1)[0] for url in page.elsewhere}

    assert len(folders) == (FOLDER is None)
    assert all(folder.endswith(f"/pyodide/v{PYODIDE_VERSION}/full") for folder in folders)


@pytest.mark.parametrize("app", ["lab", "notebooks"])
@pytest.mark.parametrize("network, why", [("cut", "cannot be reached"), ("hangs", "has not answered")])
def test_where_python_cannot_be_reached_a_banner_says_so(address, window, app, network, why):
    """Within 20 seconds it names the host and the way out, also where a proxy swallows the question."""
    page, here = window(), urlsplit(address).netloc
    outside = lambda url: urlsplit(url).scheme in ("http", "https") and urlsplit(url).netloc != here  # noqa: E731
    page.context.route(outside, lambda route: route.abort() if network == "cut" else None)
    if FOLDER is not None:  # then this is the address that can be cut off
        page.context.route("**/static/pyodide/**", lambda route: route.abort() if network == "cut" else None)
    page.goto(f"{address}{app}/index.html?path=home.ipynb", wait_until="domcontentloaded")
    banner = page.locator("#python-missing")
    banner.wait_for(timeout=20_000)
    screenshot(page, f"lite_banner_{app}_{network}")
    said = banner.inner_text()

    assert why in said and "--pyodide FOLDER" in said
    assert (here if FOLDER is not None else "cdn.") in said
    assert banner.get_by_role("button", name="Try again").is_visible()


def test_where_python_comes_there_is_no_banner(address, window):
    """A host that answers leaves the page as it is."""
    page, here = window(), urlsplit(address).netloc
    outside = lambda url: urlsplit(url).scheme in ("http", "https") and urlsplit(url).netloc != here  # noqa: E731
    page.context.route(outside, lambda route: route.fulfill(body="", content_type="text/javascript"))
    with page.expect_response(re.compile(r"/pyodide\.js$")):
        page.goto(f"{address}lab/index.html?path=home.ipynb", wait_until="domcontentloaded")
    page.get_by_role("paragraph").filter(has_text="This is the home page of the course.").wait_for()

    assert page.locator("#python-missing").count() == 0


if GIVEN:

    @pytest.mark.parametrize("name", LESSONS)
    def test_a_lesson_runs(address, page, name):
        """All cells run, as on a machine of one's own: the same words, as many pictures, no error."""
        published = nbformat.read(ROOT / "notebooks" / f"{name}.ipynb", as_version=4)
        wanted = [cell for cell in published.cells if cell.cell_type == "code"]
        page.goto(f"{address}lab/index.html?path={name}.ipynb")
        page.locator(".jp-NotebookPanel:visible .jp-CodeCell").first.wait_for()
        page.get_by_role("menuitem", name="Run", exact=True).click()
        page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
        page.wait_for_function(
            """count => {
              const cells = jupyterapp.shell.currentWidget.context.model.toJSON().cells;
              const prompts = [...document.querySelectorAll('.jp-NotebookPanel .jp-InputPrompt')];
              return cells.filter(cell => cell.execution_count).length >= count
                  && !prompts.some(prompt => prompt.textContent.includes('*'));
            }""",
            arg=len(wanted),
        )
        cells = page.evaluate("jupyterapp.shell.currentWidget.context.model.toJSON()")["cells"]
        ran = [cell for cell in cells if cell["cell_type"] == "code"]
        screenshot(page, f"lite_{name}")
        other = [
            (number, was, now)
            for number, (was, now) in enumerate(zip(map(words, wanted), map(words, ran), strict=True), 1)
            if was != now and "my_engine.py" not in now
        ]

        assert other == []
        assert sum(map(drawings, ran)) == sum(map(drawings, wanted))
        assert FOLDER is None or page.elsewhere == []


def words(cell):
    """What a cell printed and showed as text; an error as its message."""
    return "\n".join(
        output.get("text") or output.get("data", {}).get("text/plain") or output.get("evalue", "")
        for output in cell["outputs"]
    ).strip()


def drawings(cell):
    """How many pictures the outputs of a cell hold."""
    return sum(output.get("data", {}).get("text/html", "").count("<img ") for output in cell["outputs"])

"""The course as a site to read: `make site` writes it into build/site, with nothing fetched from elsewhere.

    python tools/site.py [--out FOLDER] [--lite]

The pages are the committed notebooks with their outputs, and pages made here: the front page (docs/site/index.md), an
index of errors from `explain`'s rows, each with a message that a program has just raised, the instruments' docstrings,
and the engine's source. Sphinx with myst-nb and furo puts them together: `course.py setup --docs` installs these.
"""

import argparse
import contextlib
import html
import importlib
import inspect
import io
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))
PAGES = ROOT / "docs" / "site"
MENDED = (  # what a screen reader misses in the theme's pages; pictures far down are read when they are near
    ('<p class="caption" role="heading">', '<p class="caption" role="heading" aria-level="2">'),
    ('<aside class="sidebar-drawer">', '<aside class="sidebar-drawer" aria-label="All pages">'),
    ("<img alt=", '<img loading="lazy" decoding="async" alt='),
)
DOCUMENTS = ("questions", "puzzles")  # pages of docs/ that are shown as they are
GUIDES = ("classroom", "in_the_browser")  # and those whose links into the repository lead nowhere here
ASKED_FIRST = (7, 8, 6, 2, 5, 3)  # lessons whose messages people meet most often


def lessons():
    """(number, title, what it is about, minutes, file name) of each lesson, as README's table has them."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    row = r"^\| \[(\d\d[a-z]?) ([^\]]+)\]\(notebooks/([\w.]+)\.ipynb\) \| (.+?) \| (\d+) \|$"
    return [(n, title, about, int(minutes), file) for n, title, file, about, minutes in re.findall(row, readme, re.M)]


SAMPLE = "07.3", "uncounted"  # an exercise, and one of its wrong answers


def sample():
    """A wrong answer to an exercise, and the card that it gets, as the lesson shows it."""
    from coursekit.judge import exercise
    from coursekit.notebook import card as cards

    torch = importlib.import_module("course_lib")
    ident, name = SAMPLE
    records = importlib.import_module("coursekit.judge.discovery").exercises_module(ident.partition(".")[0]).EXERCISES
    record = next(each for each in records if each.id == ident)
    wrong = next(each.answer for each in record.mistakes if each.name == name)
    names = {"torch": torch}
    exec(wrong, names)
    shown = cards.verdict(exercise.judge(record, names[record.name], torch))
    return f"```python\n{wrong.strip()}\n```\n\n```{{raw}} html\n{shown.html}\n```"


LITE = ' Or install nothing, and <a href="lite/index.html">run the lessons in your browser</a>.'


def front_page(lite=False):
    """docs/site/index.md with its tables filled in; with a link to the course for the browser, if that lies below."""
    text = (PAGES / "index.md").read_text(encoding="utf-8")
    rows = [f"| [{n} {title}](notebooks/{file}.ipynb) | {about} | {m} |" for n, title, about, m, file in lessons()]
    whole = [(n, m) for n, _, _, m, _ in lessons() if n.isdigit()]
    hours = round(sum(m for *_, m, _ in lessons()) / 60)
    files = (ROOT / "course_lib" / "engine").glob("*.py")
    lines = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in files)
    values = {
        "LESSONS": "\n".join(["| lesson | about | minutes, with its exercises |", "| --- | --- | --- |", *rows]),
        "TOTAL": f"{len(whole)} lessons and {len(rows) - len(whole)} optional parts, some {hours} hours in all.",
        "LESSON_TREE": "\n".join(f"notebooks/{file}" for *_, file in lessons()),
        "COUNT": str(len(whole)),
        "HOURS": str(round(sum(m for n, m in whole if n <= "05") / 60)),
        "ENGINE_LINES": f"{lines:,}",
        "CARD": sample(),
        "LITE": LITE if lite else "",
    }
    for name, value in values.items():
        text = text.replace("{" + name + "}", value)
    return text


def raised(program):
    """The error, or the warning, that a program of tools/explain_cures.py ends with; None."""
    from tools.explain_cures import run

    with contextlib.redirect_stderr(io.StringIO()):  # anomaly mode prints where the forward call stood
        return run(importlib.import_module("course_lib"), program)


def error_index():
    """A page: each message, what it means, what cures it, what only silences it, the lesson."""
    from backscope.explaining.report import LESSONS, explain
    from tools.explain_cures import CURES

    files = {int(n): file for n, _, _, _, file in lessons() if n.isdigit()}
    by_lesson = {}
    for _, program, _ in CURES:
        error = raised(program)
        told, title = explain(error), f"{type(error).__name__}: {error}"
        by_lesson.setdefault(told.row.lesson, {}).setdefault(title, told)
    count = sum(map(len, by_lesson.values()))
    lines = [
        "# You saw this message",
        "",
        f"{count} messages of PyTorch's autograd, in PyTorch's words (numbers and shapes are those of a small "
        "program). Search this page with your browser for a piece of yours, or paste it into `explain(\"…\")`. Each "
        "cure is run in CI, on our engine and on PyTorch.",
    ]
    order = [number for number in ASKED_FIRST if number in by_lesson]
    order += sorted((number for number in by_lesson if number not in order), key=lambda n: (n is None, n))
    for lesson in order:
        title = f"Lesson {lesson:02d}: {LESSONS[lesson]}" if lesson is not None else "Before autograd"
        lines += ["", f"## {title}", ""]
        if lesson in files:
            lines += [f"[Read the lesson](notebooks/{files[lesson]}.ipynb)", ""]
        for message, told in by_lesson[lesson].items():
            lines += ["<details><summary>" + html.escape(" ".join(message.split())) + "</summary>", ""]
            lines += [f"<p>{code(' '.join(sentence for sentence in told.what if sentence))}</p>"]
            if told.cures:
                lines += ["<p><strong>What cures it</strong></p>", bullets(told.cures)]
            if told.silences:
                lines += ["<p><strong>What only silences it</strong></p>"]
                lines += [bullets(f"{what}: {cost}." for what, cost in told.silences)]
            lines += ["</details>", ""]
    return "\n".join(lines) + "\n"


def bullets(sentences):
    """Sentences as a list in HTML."""
    return "<ul>" + "".join(f"<li>{code(sentence)}</li>" for sentence in sentences) + "</ul>"


def code(sentence):
    """A sentence in HTML, with what stands in backticks as code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(" ".join(sentence.split())))


def at_work():
    """README's section on the instruments."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    section = readme[readme.index("## At work") :].partition("\n## ")[0]
    return section.replace("## At work", "# At work", 1)


def api():
    """The instruments' signatures and docstrings."""
    backscope = importlib.import_module("backscope")
    lines = ["# The instruments", "", "What `help()` says of each.", ""]
    for name in backscope.__all__:
        thing = getattr(backscope, name)
        lines += [f"## {name}", "", f"```text\n{name}{inspect.signature(thing)}\n\n{inspect.getdoc(thing)}\n```", ""]
    return "\n".join(lines)


def engine_pages(folder):
    """The engine's files, each on a page, and the map."""
    folder.mkdir(parents=True)
    where = {}  # file -> lessons that speak of it
    for n, title, _, _, file in lessons():
        source = (ROOT / "lessons" / file / "lesson.py").read_text(encoding="utf-8")
        for name in set(re.findall(r"engine[/.](\w+)", source)):
            where.setdefault(name, []).append(f"[{n} {title}](../notebooks/{file}.ipynb)")
    names = []
    for path in sorted((ROOT / "course_lib" / "engine").glob("*.py")):
        if path.stem == "__init__":
            continue
        names.append(path.stem)
        text = path.read_text(encoding="utf-8")
        told = f"Lessons that speak of it: {', '.join(where[path.stem])}.\n\n" if path.stem in where else ""
        (folder / f"{path.stem}.md").write_text(
            f"# engine/{path.name}\n\n{told}````{{code-block}} python\n:linenos:\n\n{text}\n````\n", encoding="utf-8"
        )
    readme = (ROOT / "course_lib" / "README.md").read_text(encoding="utf-8")
    for name in names:
        readme = readme.replace(f"`{name}.py`", f"[`{name}.py`]({name}.md)")
        readme = readme.replace(f"`engine/{name}.py`", f"[`engine/{name}.py`]({name}.md)")
    readme = re.sub(r"\]\((?!\w+\.md\))[^)]+\)", "]", readme)  # links into the repository lead nowhere here
    tree = "\n".join(names)
    (folder / "index.md").write_text(
        f"{readme}\n\n```{{toctree}}\n:hidden:\n\n{tree}\n```\n", encoding="utf-8"
    )


def without_links_out(text, known):
    """Links to files that the site does not have become plain words."""

    def kept(match):
        words, target = match.groups()
        file = target.partition("#")[0]
        if target.startswith("#"):  # JupyterLab's name of a heading, and the one it has here
            return f"[{words}](#{re.sub(r'[^a-z0-9_-]', '', target.lower())})"
        return match.group() if not file or "://" in target or Path(file).name in known else words

    return re.sub(r"\[([^\]\[]+)\]\(([^)\s]+)\)", kept, text)


def gather(folder, lite):
    """All pages in one folder, ready for Sphinx."""
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "_static").mkdir(parents=True)
    (folder / "docs").mkdir()
    (folder / "notebooks").mkdir()
    shutil.copy(PAGES / "conf.py", folder)
    for name in ("course.css", "node.svg"):
        shutil.copy(PAGES / name, folder / "_static")
    shutil.copy(ROOT / "docs" / "picture.svg", folder)
    files = [file for *_, file in lessons()] + ["90_gallery"]
    known = {f"{file}.ipynb" for file in files} | {f"{name}.md" for name in (*DOCUMENTS, *GUIDES, "errors", "at_work")}
    for file in files:
        notebook = json.loads((ROOT / "notebooks" / f"{file}.ipynb").read_text(encoding="utf-8"))
        for cell in notebook["cells"]:
            if cell["cell_type"] == "markdown":
                text = "".join(cell["source"]).replace("[all lessons](home.ipynb)", "[all lessons](../index.md)")
                cell["source"] = without_links_out(text, known | {"index.md"})
        (folder / "notebooks" / f"{file}.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
    for name in DOCUMENTS:
        shutil.copy(ROOT / "docs" / f"{name}.md", folder / "docs")
    for name in GUIDES:
        text = (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")
        (folder / "docs" / f"{name}.md").write_text(without_links_out(text, known), encoding="utf-8")
    (folder / "index.md").write_text(front_page(lite), encoding="utf-8")
    (folder / "errors.md").write_text(error_index(), encoding="utf-8")
    (folder / "at_work.md").write_text(without_links_out(at_work(), known), encoding="utf-8")
    (folder / "api.md").write_text(api(), encoding="utf-8")
    engine_pages(folder / "engine")


def build(out, lite=False):
    """Write the site; returns Sphinx's exit status. Warnings are errors: a broken link is one."""
    source = ROOT / "build" / "site-source"
    gather(source, lite)
    call = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html"]
    status = subprocess.run([*call, str(source), str(out)]).returncode
    for page in out.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        for old, new in MENDED:
            text = text.replace(old, new)
        page.write_text(text, encoding="utf-8")
    return status


def main(arguments=None):
    """Build the site."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "site", help="where to (build/site)")
    parser.add_argument("--lite", action="store_true", help="link to what `make lite` builds, put below as lite/")
    options = parser.parse_args(arguments)
    status = build(options.out, options.lite)
    if not status:
        print(f"The site: {options.out / 'index.html'}")
    return status


if __name__ == "__main__":
    sys.exit(main())

"""The course as a site to read: `make site` writes it into build/site, with nothing fetched from elsewhere.

    python tools/site.py [--out FOLDER] [--lite]

The pages are the committed notebooks with their outputs, and pages made here: the front page (docs/site/index.md), a
page for each message that `explain` knows (tools/messages.py), the instruments' docstrings, and the engine's source.
Where README names an address, the pages link to it. Sphinx with myst-nb and furo puts them together: `course.py setup
--docs` installs these.
"""

import argparse
import datetime
import html
import importlib
import inspect
import json
import re
import shutil
import subprocess
import sys
import tomllib
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


def lessons() -> list:
    """Return (number, title, what it is about, minutes, file name) of each lesson, as README's table has them."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    row = r"^\| \[(\d\d[a-z]?) ([^\]]+)\]\(notebooks/([\w.]+)\.ipynb\) \| (.+?) \| (\d+) \|$"
    return [(n, title, about, int(minutes), file) for n, title, file, about, minutes in re.findall(row, readme, re.M)]


SAMPLE = "07.2", "uncounted"  # an exercise, and one of its wrong answers


def sample() -> str:
    """Return a wrong answer to an exercise, and the card that it gets, as the lesson shows it."""
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


LITE = "lite/notebooks/index.html?path="  # a notebook of what `make lite` builds, put below the site
RUN = ("Click into it and press **Shift+Enter** to run it and go on to the next one. "
       "Run the cells from the top to the bottom.")  # fmt: skip
READ = "Below it stands what it printed and drew when it was run."  # on the site no cell runs


def published(root=ROOT) -> tuple:
    """Read (address of the repository, of the site), as tools/address.py has written them; empty before that."""
    citation = (root / "CITATION.cff").read_text(encoding="utf-8")
    return tuple(
        found[1] if (found := re.search(rf'^{name}: "(.+)"$', citation, re.MULTILINE)) else ""
        for name in ("repository-code", "url")
    )


def edition() -> str:
    """Return the version, and the day of the last commit, or today where there is no git."""
    with open(ROOT / "pyproject.toml", "rb") as file:
        version = tomllib.load(file)["project"]["version"]
    asked = subprocess.run(["git", "log", "-1", "--format=%cs"], cwd=ROOT, capture_output=True, text=True)
    day = asked.stdout.strip() if asked.returncode == 0 else ""
    day = datetime.date.fromisoformat(day) if day else datetime.date.today()
    return f"Version {version}, {day.day} {day:%B %Y}"


def clone(root=ROOT) -> str:
    """README's lines for how to get the course: with an address, or in a copy of the repository."""
    readme = (root / "README.md").read_text(encoding="utf-8")
    block = re.search(r"<!-- address:clone -->\n(.*?)<!-- /address -->", readme, re.DOTALL)[1].strip()
    return block.partition("\n\nYou can also")[0]  # read here, as they do already


def front_page(lite=False) -> str:
    """docs/site/index.md with its tables filled in; with a link to the course for the browser, if that lies below."""
    from tools.messages import messages

    text = (PAGES / "index.md").read_text(encoding="utf-8")
    rows = [f"| [{n} {title}](notebooks/{file}.ipynb) | {about} | {m} |" for n, title, about, m, file in lessons()]
    whole = [(n, m) for n, _, _, m, _ in lessons() if n.isdigit()]
    hours = round(sum(m for *_, m, _ in lessons()) / 60)
    files = (ROOT / "course_lib" / "engine").glob("*.py")
    lines = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in files)
    repository, site = published()
    buttons = ["[Read lesson 00 now](notebooks/00_start_here.ipynb)", "[Look up a message](errors.md)"]
    buttons += ['<a href="lite/index.html">Run it in your browser</a>'] * lite
    buttons += [f"[Repository]({repository})"] * bool(repository)
    values = {
        "LESSONS": "\n".join(["| lesson | about | minutes, with its exercises |", "| --- | --- | --- |", *rows]),
        "TOTAL": f"{len(whole)} lessons and {len(rows) - len(whole)} optional parts, some {hours} hours in all.",
        "LESSON_TREE": "\n".join(f"notebooks/{file}" for *_, file in lessons()),
        "COUNT": str(len(whole)),
        "MESSAGES": str(len(messages())),
        "HOURS": str(round(sum(m for n, m in whole if n <= "05") / 60)),
        "ENGINE_LINES": f"{lines:,}",
        "EXERCISE": sample(),
        "BUTTONS": "\n".join(buttons),
        "CLONE": clone(),
        "EDITION": edition(),
        "CARD": f"{site}_static/card.png",  # a whole address, where there is one: nobody shows another picture
    }
    for name, value in values.items():
        text = text.replace("{" + name + "}", value)
    return text


def card() -> bytes:
    """Draw the picture that a link to the site is shown with, 1200 by 630: five lines, and what they leave behind."""
    from tools.build_notebooks import as_png

    index = (PAGES / "index.md").read_text(encoding="utf-8")
    lines = re.search(r"```python\n(.*?)```", index, re.DOTALL)[1].splitlines()
    picture = (ROOT / "docs" / "picture.svg").read_text(encoding="utf-8")
    wide, high = map(float, re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', picture).groups())
    picture = picture[: picture.index(">")].partition(" width=")[0] + (
        f' x="590" y="{355 - 570 * high / wide / 2}" width="570" height="{570 * high / wide}" '
        f'viewBox="0 0 {wide} {high}" font-family="x"' + picture[picture.index(' font-size="'):]
    )
    words = "".join(
        f'<text x="60" y="{270 + 44 * k}" font-size="25" font-family="DejaVu Sans Mono">{html.escape(line)}</text>'
        for k, line in enumerate(lines)
    ).replace("x=\"60\" y", 'xml:space="preserve" x="60" y')
    return as_png(
        '<svg xmlns="http://www.w3.org/2000/svg" width="1200" height="630" viewBox="0 0 1200 630" font-family="x" '
        'fill="#1B2228"><rect width="1200" height="630" fill="#FFFFFF"/>'
        '<text x="60" y="105" font-size="56" font-weight="700">autograd, seen from the inside</text>'
        '<text x="60" y="160" font-size="28" fill="#56616B">What does backward() do? Run a line, and see what it left '
        f'behind.</text>{words}<text x="60" y="510" font-size="23" fill="#B3261E">RuntimeError: … modified by an</text>'
        f'<text x="60" y="544" font-size="23" fill="#B3261E">inplace operation</text>{picture}</svg>'
    )


def opener(number, title, file, lite) -> str:
    """Write what stands below a lesson's first words: it is read here, and run elsewhere."""
    repository, _ = published()
    ways = [f'<a href="../{LITE}{file}.ipynb">in your browser</a>'] * lite
    if repository:
        colab = repository.replace("https://github.com", "https://colab.research.google.com/github")
        ways += [f'<a href="{colab}/blob/main/notebooks/{file}.ipynb">in Colab</a>']
    home = '<a href="../index.html">a copy of the course</a>'
    ways += [f"with <code>make open</code> in {home}, under <em>{html.escape(f'{number} {title}')}</em>"]
    return (
        "```{raw} html\n"
        '<p class="open-lesson"><strong>Open this lesson</strong> to predict, run and be checked: '
        f"{', or '.join(ways)}. "
        "Here you read it with its outputs.</p>\n```"
    )


def at_work() -> str:
    """README's section on the instruments."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    section = readme[readme.index("## At work") :].partition("\n## ")[0]
    return section.replace("## At work", "# At work", 1)


def api() -> str:
    """Write the instruments' signatures and docstrings."""
    backscope = importlib.import_module("backscope")
    lines = ["# The instruments", "", "What `help()` says of each.", ""]
    for name in backscope.__all__:
        thing = getattr(backscope, name)
        lines += [f"## {name}", "", f"```text\n{name}{inspect.signature(thing)}\n\n{inspect.getdoc(thing)}\n```", ""]
    return "\n".join(lines)


def engine_pages(folder) -> None:
    """Write the engine's files, each on a page, and the map."""
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


def without_links_out(text, known) -> str:
    """Links to files that the site does not have become plain words."""

    def kept(match):
        words, target = match.groups()
        file = target.partition("#")[0]
        if target.startswith("#"):  # JupyterLab's name of a heading, and the one it has here
            return f"[{words}](#{re.sub(r'[^a-z0-9_-]', '', target.lower())})"
        return match.group() if not file or "://" in target or Path(file).name in known else words

    return re.sub(r"\[([^\]\[]+)\]\(([^)\s]+)\)", kept, text)


def gather(folder, lite) -> None:
    """Gather all pages in one folder, ready for Sphinx."""
    from tools import messages

    shutil.rmtree(folder, ignore_errors=True)
    (folder / "_static").mkdir(parents=True)
    (folder / "docs").mkdir()
    (folder / "notebooks").mkdir()
    shutil.copy(PAGES / "conf.py", folder)
    (folder / "messages").mkdir()
    for name in ("course.css", "node.svg"):
        shutil.copy(PAGES / name, folder / "_static")
    (folder / "_static" / "messages.js").write_text(messages.script(), encoding="utf-8")
    (folder / "_static" / "card.png").write_bytes(card())
    shutil.copy(ROOT / "docs" / "picture.svg", folder)
    files = [file for *_, file in lessons()] + ["90_gallery"]
    known = {f"{file}.ipynb" for file in files} | {f"{name}.md" for name in (*DOCUMENTS, *GUIDES, "errors", "at_work")}
    about = {file: (number, title) for number, title, _, _, file in lessons()}
    for file in files:
        notebook = json.loads((ROOT / "notebooks" / f"{file}.ipynb").read_text(encoding="utf-8"))
        for cell in notebook["cells"]:
            if cell["cell_type"] == "markdown":
                text = "".join(cell["source"]).replace("[all lessons](home.ipynb)", "[all lessons](../index.md)")
                cell["source"] = without_links_out(text.replace(RUN, READ), known | {"index.md"})
        if file in about:
            told = {"cell_type": "markdown", "id": "open-this-lesson", "metadata": {}}
            notebook["cells"].insert(1, {**told, "source": opener(*about[file], file, lite)})
        (folder / "notebooks" / f"{file}.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
    for name in DOCUMENTS:
        shutil.copy(ROOT / "docs" / f"{name}.md", folder / "docs")
    for name in GUIDES:
        text = (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")
        (folder / "docs" / f"{name}.md").write_text(without_links_out(text, known), encoding="utf-8")
    (folder / "index.md").write_text(front_page(lite), encoding="utf-8")
    numbered = {int(number): file for file, (number, _) in about.items() if number.isdigit()}
    (folder / "errors.md").write_text(messages.index(numbered), encoding="utf-8")
    for message in messages.messages():
        page = messages.page(message, numbered)
        (folder / "messages" / f"{message.page}.md").write_text(page, encoding="utf-8")
    (folder / "at_work.md").write_text(without_links_out(at_work(), known), encoding="utf-8")
    (folder / "api.md").write_text(api(), encoding="utf-8")
    engine_pages(folder / "engine")


def build(out, lite=False) -> int:
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


def main(arguments=None) -> int:
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

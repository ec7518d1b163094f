"""The learner's folder, my_course: copies of the lessons that are never overwritten, and my_engine.py."""

import contextlib
import dataclasses
import datetime
import json
import os
import re
import tempfile
from collections.abc import Callable
from pathlib import Path

from coursekit.cli import paths
from coursekit.cli.environment import Environment, python_version
from coursekit.cli.files import digest, write_new, write_whole
from coursekit.cli.terminal import UserError, this_command
from coursekit.own_engine import stages

FIRST_LESSON = "00_start_here.ipynb"
HOME = "home.ipynb"
MANIFEST = ".course.json"
# What a notebook said about itself up to 0.8.0: the manifest's first format had it in its digests.
FIRST_METADATA = {
    "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
    "language_info": {
        "file_extension": ".py", "mimetype": "text/x-python", "name": "python", "pygments_lexer": "ipython3"},
}


def changed_notebook(text: bytes, change: Callable[[dict], None]) -> bytes:
    """Return a notebook's bytes after `change(notebook)`; other bytes, and those it changes nothing in, as they are."""
    try:
        notebook = json.loads(text.decode("utf-8"))
        before = json.dumps(notebook)
        change(notebook)
    except (ValueError, KeyError, TypeError, AttributeError):
        return text
    if json.dumps(notebook) == before:
        return text
    return (json.dumps(notebook, indent=1, ensure_ascii=False) + "\n").encode("utf-8")


def clear_outputs(notebook: dict) -> None:
    """Take out all outputs, and the cells that tell the answer to a prediction: `L.run` shows these afterwards."""
    notebook["cells"] = [cell for cell in notebook["cells"] if "tells" not in cell.get("metadata", {}).get("tags", [])]
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            cell["outputs"], cell["execution_count"] = [], None


def with_output(text: bytes, shown: dict[str, str]) -> bytes:
    """Return a notebook's bytes with this below the cell that ends in `home()`: {MIME type: text}."""
    def change(notebook: dict) -> None:
        for cell in notebook["cells"]:
            if cell["cell_type"] == "code" and "".join(cell["source"]).rstrip().endswith("home()"):
                data = {kind: words.splitlines(keepends=True) for kind, words in shown.items()}
                cell["outputs"] = [{"data": data, "metadata": {}, "output_type": "display_data"}]
                cell["execution_count"] = None

    return changed_notebook(text, change)


def render_copy(path: Path, python: str | None = None) -> bytes:
    """Return the bytes that a copy begins with, for an environment of this Python.

    An appendix (from 90 up) asks nothing, so it keeps its pictures. The version has to be the kernel's own:
    JupyterLab would change any other on opening, and call the copy modified before anybody has touched it.
    """
    def change(notebook: dict) -> None:
        if path.name[:1] != "9":
            clear_outputs(notebook)
        if python and "version" in notebook.get("metadata", {}).get("language_info", {}):
            notebook["metadata"]["language_info"]["version"] = python

    return changed_notebook(path.read_bytes(), change)


def edition_digest(text: bytes) -> str:
    """Digest what is read in the cells, not what they printed, and no metadata: by it an edition is known."""
    try:
        cells = json.loads(text.decode("utf-8"))["cells"]
        read = [[cell["cell_type"], "".join(cell["source"]), cell.get("attachments", {})] for cell in cells]
    except (ValueError, KeyError, TypeError, AttributeError):
        return digest(text)
    return digest(json.dumps(read, sort_keys=True).encode("utf-8"))


def contents(text: bytes) -> str:
    """Return the digest by which a file is known to be as it was made: all of its cells with their outputs. Only the
    notebook's own metadata is left out, which programs change on opening and no learner writes in."""
    try:
        return digest(json.dumps(json.loads(text.decode("utf-8"))["cells"], sort_keys=True).encode("utf-8"))
    except (ValueError, KeyError, TypeError, AttributeError):
        return digest(text)


def first_edition_digest(text: bytes, appendix: bool) -> str:
    """Digest an edition as the manifest's first format did."""
    def change(notebook: dict) -> None:
        notebook["metadata"] = FIRST_METADATA
        if appendix:
            clear_outputs(notebook)

    return digest(changed_notebook(text, change))


@dataclasses.dataclass
class UpdateReport:
    """The report of an update of the learner's folder."""

    added: list[str] = dataclasses.field(default_factory=list)  # lessons that were not there
    renewed: list[str] = dataclasses.field(default_factory=list)  # new editions, where nobody had written
    offered: dict[str, str] = dataclasses.field(default_factory=dict)  # {lesson written in: file of its new edition}
    written: list[str] = dataclasses.field(default_factory=list)  # all files that were written


class Copies:
    """The learner's folder: one copy of each lesson, theirs from the moment they write in it.

    Copies begin without outputs: a lesson asks for a prediction before it shows the answer. The manifest
    remembers, per lesson, which edition the copy was made from ("made_from"), per file what we wrote into it
    ("contents"), and per lesson the file in which a new edition was offered ("offered").

    No file of this folder is ever deleted or overwritten here. A copy that is as we made it is renewed: it is
    first moved aside, looked at where nobody else writes to it, and put back when it is not what we made.
    """

    def __init__(self, lessons: str | Path, mine: str | Path, python: str | None = None) -> None:
        self.lessons = Path(lessons)  # the course's notebooks: read only
        self.mine = Path(mine)  # the learner's folder
        self.python = python  # the version of the environment's Python, or None: as published

    def published(self) -> dict[str, bytes]:
        """Return the course's lessons as {file name: bytes of a fresh copy}, in order."""
        paths = [path for path in sorted(self.lessons.glob("*.ipynb")) if not path.name.startswith(".")]
        return {path.name: render_copy(path, self.python) for path in paths}

    def read_manifest(self) -> dict[str, dict[str, str]]:
        """Read what is known of the copies; nothing, where that cannot be read."""
        manifest = {"made_from": {}, "contents": {}, "offered": {}}
        try:
            found = json.loads((self.mine / MANIFEST).read_text(encoding="utf-8"))
            for part in manifest:
                manifest[part] = {str(name): str(value) for name, value in found.get(part, {}).items()}
            if found["format"] == 1:
                self.read_first_format(manifest)
            return manifest
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return {"made_from": {}, "contents": {}, "offered": {}}

    def read_first_format(self, manifest: dict[str, dict[str, str]]) -> None:
        """Bring the manifest of a course up to 0.8.0, whose digests were of cells and metadata, to this form."""
        for name, known in list(manifest["made_from"].items()):
            appendix = name[:1] == "9"
            with contextlib.suppress(OSError):
                text = (self.mine / name).read_bytes()
                if first_edition_digest(text, appendix) == known:
                    manifest["contents"][name] = contents(text)
            with contextlib.suppress(OSError):
                text = render_copy(self.lessons / name)
                if first_edition_digest(text, appendix) == known:
                    manifest["made_from"][name] = edition_digest(text)

    def write_manifest(self, manifest: dict[str, dict[str, str]]) -> None:
        """Write down what is known of the copies, in one step."""
        text = json.dumps(dict(manifest, format=2), indent=2, sort_keys=True) + "\n"
        write_whole(self.mine / MANIFEST, text.encode("utf-8"))

    def update(self, today: datetime.date | None = None) -> UpdateReport:
        """Add the lessons that are missing, renew those that nobody wrote in, offer the others' new editions."""
        lessons = self.published()
        if not lessons:
            raise UserError(f"There are no lessons in {self.lessons}. Is this a whole clone?")
        self.make_folder()
        manifest = self.read_manifest()
        before = json.dumps(manifest, sort_keys=True)
        news = UpdateReport()
        for name, text in lessons.items():
            self.update_one(name, text, manifest, news, today or datetime.date.today())
        if json.dumps(manifest, sort_keys=True) != before or not (self.mine / MANIFEST).exists():
            self.write_manifest(manifest)
        return news

    def update_one(self, name: str, text: bytes, manifest: dict[str, dict[str, str]], news: UpdateReport,
                   today: datetime.date) -> None:
        """Bring one lesson to the edition `text`, or put that beside a copy that was written in."""
        try:
            write_new(self.mine / name, text)
            news.added.append(name)
            news.written.append(name)
        except FileExistsError:
            # A copy that the manifest does not know (it was lost, or we died before writing it) counts
            # as made from the lesson of today: better silent once than crying wolf each time.
            known = manifest["made_from"].setdefault(name, edition_digest(text))
            if self.holds(name, contents(text)):
                pass  # renewed before we died
            elif known == edition_digest(text):
                return
            elif self.renew(name, text, manifest["contents"].get(name), today):
                news.renewed.append(name)
                news.written.append(name)
            else:
                self.write_new_edition(name, text, manifest, news, today)
                return
        manifest["made_from"][name] = edition_digest(text)
        manifest["contents"][name] = contents(text)

    def show_home(self, shown: dict[str, str], today: datetime.date) -> bool:
        """Put the table of lessons, as it is now, below its cell in home.ipynb, if its cells are still ours.

        False, and nothing changed: they are the learner's, or the table is there already.
        """
        try:
            text = (self.mine / HOME).read_bytes()
        except OSError:
            return False
        new = with_output(text, shown)
        if edition_digest(text) != edition_digest(self.published().get(HOME, b"")) or contents(new) == contents(text):
            return False
        if not self.renew(HOME, new, contents(text), today, keep=False):
            return False
        manifest = self.read_manifest()
        manifest["contents"][HOME] = contents(new)
        self.write_manifest(manifest)
        return True

    def holds(self, name: str, known: str | None) -> bool:
        """Tell whether this file is as it was when its contents had this digest."""
        try:
            return known == contents((self.mine / name).read_bytes())
        except OSError:
            return False

    def renew(self, name: str, text: bytes, known: str | None, today: datetime.date, keep: bool = True) -> bool:
        """Put `text` in the place of a file that is as we made it; False, and nothing changed, when it is not.

        What was there stays in .jupyter/earlier; not if `keep` is False, when nothing but an output is new.
        """
        if not self.holds(name, known):
            return False
        try:
            aside = self.move_aside(name, today)
        except OSError:
            return False  # in use (Windows), or just moved by somebody else
        if contents(aside.read_bytes()) != known:  # it was written to between the look and the move
            self.give_back(aside, name, today)
            return False
        try:
            write_new(self.mine / name, text)
        except FileExistsError:  # somebody saved it anew: theirs
            return False
        if not keep:
            aside.unlink()
            aside.parent.rmdir()
        return True

    def move_aside(self, name: str, today: datetime.date) -> Path:
        """Move a file into a new folder of its own, where its name cannot meet another."""
        earlier = self.mine / ".jupyter" / "earlier"
        earlier.mkdir(parents=True, exist_ok=True)
        aside = Path(tempfile.mkdtemp(prefix=today.isoformat() + "-", dir=str(earlier))) / name
        os.rename(str(self.mine / name), str(aside))
        return aside

    def give_back(self, aside: Path, name: str, today: datetime.date) -> None:
        """Undo move_aside; where there is a file of that name again, under a dated name beside it."""
        try:
            write_new(self.mine / name, aside.read_bytes())
        except FileExistsError:
            self.keep(self.mine / name, today, aside.read_bytes())

    def write_new_edition(self, name: str, text: bytes, manifest: dict[str, dict[str, str]], news: UpdateReport,
                          today: datetime.date) -> None:
        """Put a new edition beside the copy that was written in: once, and never over anything."""
        stem = name[: -len(".ipynb")]
        file, _, edition = manifest["offered"].get(name, "").partition(" ")
        if edition != edition_digest(text):
            if not (file and self.renew(file, text, manifest["contents"].get(file), today)):
                number = 1
                while True:
                    file = "{}.new{}.ipynb".format(stem, "" if number == 1 else f"-{number}")
                    try:
                        write_new(self.mine / file, text)
                        break
                    except FileExistsError:
                        number += 1
            manifest["offered"][name] = file + " " + edition_digest(text)
            manifest["contents"][file] = contents(text)
            news.written.append(file)
        if (self.mine / file).exists():  # deleted: the learner does not want it
            news.offered[name] = file

    def make_folder(self) -> None:
        """Make the learner's folder where there is none."""
        if self.mine.exists() and not self.mine.is_dir():
            raise UserError(
                f"{self.mine} is a file, but your copies of the lessons belong into a folder of that name.\n"
                "Rename the file, then run the same command again."
            )
        self.mine.mkdir(exist_ok=True)

    def find(self, wanted: str) -> str:
        """Return the file name of the lesson called 7, 07, 07_version_counters or 07_version_counters.ipynb."""
        names = list(self.published())
        key = Path(wanted).name
        key = key[: -len(".ipynb")] if key.endswith(".ipynb") else key
        key = re.sub(r"^(?=\d(?!\d))", "0", key)
        for name in names:
            if name[: -len(".ipynb")] == key or name.split("_")[0] == key:
                return name
        raise UserError(f"There is no lesson {wanted!r}. The lessons are:\n{self.listed()}")

    def listed(self) -> str:
        """List the lessons, a line each."""
        return "\n".join("    " + name[: -len(".ipynb")] for name in self.published())

    def reset(self, wanted: str, today: datetime.date) -> tuple[str, str | None]:
        """Start one lesson afresh. Return (file name, what the old copy is now called or None)."""
        name = self.find(wanted)
        text = self.published()[name]
        self.make_folder()
        copy = self.mine / name
        kept = None
        manifest = self.read_manifest()
        if copy.exists() and not self.holds(name, contents(text)):
            kept = self.keep(copy, today, copy.read_bytes())
        write_whole(copy, text)
        offered = manifest["offered"].pop(name, "").partition(" ")[0]
        if offered and self.holds(offered, manifest["contents"].pop(offered, None)):
            with contextlib.suppress(OSError):
                self.move_aside(offered, today)  # the copy is that edition now
        manifest["made_from"][name] = edition_digest(text)
        manifest["contents"][name] = contents(text)
        self.write_manifest(manifest)
        return name, kept

    def keep(self, copy: Path, today: datetime.date, data: bytes) -> str:
        """Put these bytes beside `copy`, under a dated name that is still free."""
        number = 1
        while True:
            mark = "" if number == 1 else f"-{number}"
            kept = copy.with_name(f"{copy.stem}.kept-{today.isoformat()}{mark}{copy.suffix}")
            try:
                write_new(kept, data)
                return kept.name
            except FileExistsError:
                number += 1


def learner_copies(environment: Environment | None = None) -> Copies:
    """Return the learner's folder of this clone."""
    return Copies(paths.ROOT / "notebooks", paths.ROOT / "my_course", environment and python_version(environment))


def write_start(copies: Copies) -> bool:
    """Put the beginning of my_engine.py into the learner's folder. False: a file of that name is there, and stays."""
    copies.make_folder()
    try:
        write_new(copies.mine / stages.NAME, stages.start().encode("utf-8"))
    except FileExistsError:
        return False
    return True


def catch_up(copies: Copies, lesson: str, today: datetime.date) -> str | None:
    """Write the engine as it is after a lesson. Return what the file that was there is now called, or None."""
    number = int(lesson) if re.match(r"[0-9]{1,2}\Z", lesson) else -1
    if not 0 <= number <= stages.LAST:
        raise UserError(f"There is no lesson {lesson!r} that ends with an engine. Lessons 00 to {stages.LAST:02d} do:  "
                      f"{this_command()} my-engine --catch-up 05")
    copies.make_folder()
    path, kept = copies.mine / stages.NAME, None
    text = stages.stage(number).encode("utf-8")
    if path.exists() and path.read_bytes() not in (text, stages.start().encode("utf-8")):
        kept = copies.keep(path, today, path.read_bytes())
    write_whole(path, text)
    return kept

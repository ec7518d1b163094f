"""Find lessons by path: a folder a lesson, a file for each exercise. CONTRIBUTING says how one is written."""

import importlib
import importlib.util
import pkgutil
import re
import sys
from pathlib import Path
from types import ModuleType

from coursekit.rooms import LESSONS


def in_order(package) -> list:
    """Return the EXERCISE of every file of a lesson's package: predictions first, each by its number."""
    folder = importlib.import_module(package).__path__
    files = (importlib.import_module(f"{package}.{file.name}") for file in pkgutil.iter_modules(folder))
    found = [file.EXERCISE for file in files if hasattr(file, "EXERCISE")]
    return sorted(found, key=lambda exercise: by_number(exercise.id))


def by_number(id) -> tuple:
    """Make a key for sorting: the predictions of a lesson first, each by its number, so that 07.10 comes after 07.9."""
    lesson, _, rest = id.partition(".")
    return lesson, not rest.startswith("p"), int(rest.strip("p"))


def number_of(lesson) -> str:
    """Normalise a lesson's number: "07" for `7`, `"7"` and `"07"`, "07b" for its part b. ValueError otherwise."""
    match = None if isinstance(lesson, bool) else re.fullmatch(r"(\d{1,2})([a-z]?)", str(lesson).strip().lower())
    if match is None:
        raise ValueError(f"{lesson!r} is no number of a lesson; write 7, or \"07b\" for a part of lesson 07")
    return match[1].zfill(2) + match[2]


def number_in(name) -> str:
    """Read the number that a lesson's folder or notebook begins with, "07b" of 07b_the_hunt; "" where there is none."""
    match = re.match(r"(\d\d[a-z]?)_", name)
    return match[1] if match else ""


def folder_of(lesson) -> Path | None:
    """Return the folder of a lesson by its number; None when there is none."""
    return next(iter(sorted(LESSONS.glob(f"{number_of(lesson)}_*"))), None)


def lesson_numbers() -> list[str]:
    """Return the numbers of all lessons and parts that have exercises, as texts, in order."""
    return sorted(number_in(path.parent.name) for path in LESSONS.glob("[0-9][0-9]*_*/exercises"))


def exercises_module(lesson) -> ModuleType:
    """Return the package of a lesson's exercises; its records are EXERCISES. ModuleNotFoundError when there is none."""
    folder = folder_of(lesson)
    if folder is None:
        raise ModuleNotFoundError(f"there is no folder lessons/{lesson}_…")
    return import_from_lessons(f"{folder.name}.exercises")


def import_from_lessons(name) -> ModuleType:
    """Return a module below lessons/, which need not be on sys.path: a learner's notebook runs in another folder."""
    if "lessons" not in sys.modules:
        file, folders = LESSONS / "__init__.py", [str(LESSONS)]
        place = importlib.util.spec_from_file_location("lessons", file, submodule_search_locations=folders)
        sys.modules["lessons"] = package = importlib.util.module_from_spec(place)
        place.loader.exec_module(package)
    return importlib.import_module(f"lessons.{name}")

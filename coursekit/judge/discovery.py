"""Find lessons by path: a folder a lesson, a file for each exercise. CONTRIBUTING says how one is written."""

import importlib
import importlib.util
import pkgutil
import sys
from pathlib import Path

LESSONS = Path(__file__).resolve().parents[2] / "lessons"


def in_order(package):
    """The EXERCISE of every file of a lesson's package: predictions first, each by its number."""
    folder = importlib.import_module(package).__path__
    files = (importlib.import_module(f"{package}.{file.name}") for file in pkgutil.iter_modules(folder))
    found = [file.EXERCISE for file in files if hasattr(file, "EXERCISE")]
    return sorted(found, key=lambda exercise: (".p" not in exercise.id, exercise.id))


def folder_of(lesson):
    """The folder of a lesson by its number or name, `7`, `"07"` or `"07b"`; None when there is none."""
    name = f"{lesson:02d}" if isinstance(lesson, int) else str(lesson)
    return next(iter(sorted(LESSONS.glob(f"{name}_*"))), None)


def lesson_numbers():
    """The numbers of all lessons that have exercises, in order."""
    return sorted(int(path.parent.name[:2]) for path in LESSONS.glob("[0-9][0-9]_*/exercises"))


def exercises_module(lesson):
    """The package of a lesson's exercises; its records are EXERCISES. ModuleNotFoundError when there is none."""
    folder = folder_of(lesson)
    if folder is None:
        raise ModuleNotFoundError(f"there is no folder lessons/{lesson}_…")
    return import_from_lessons(f"{folder.name}.exercises")


def import_from_lessons(name):
    """A module below lessons/, which need not be on sys.path: a learner's notebook runs in another folder."""
    if "lessons" not in sys.modules:
        file, folders = LESSONS / "__init__.py", [str(LESSONS)]
        place = importlib.util.spec_from_file_location("lessons", file, submodule_search_locations=folders)
        sys.modules["lessons"] = package = importlib.util.module_from_spec(place)
        place.loader.exec_module(package)
    return importlib.import_module(f"lessons.{name}")

"""The exercises: a package for each lesson, a file for each exercise. CONTRIBUTING says how one is written."""

import importlib
import pkgutil


def in_order(package):
    """The EXERCISE of every file of a lesson's package: predictions first, each by its number."""
    folder = importlib.import_module(package).__path__
    files = (importlib.import_module(f"{package}.{file.name}") for file in pkgutil.iter_modules(folder))
    found = [file.EXERCISE for file in files if hasattr(file, "EXERCISE")]
    return sorted(found, key=lambda exercise: (".p" not in exercise.id, exercise.id))

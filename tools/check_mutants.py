"""Does each exercise's check look at what it seems to look at? Takes one property at a time out of a check.

`.venv/bin/python tools/check_mutants.py`, or with lessons, `07 11`. A property is an `if` in a record's check that
ends in "not yet" or "almost". Without it the proof (coursekit/judge/prove.py) has to fail, because some recorded wrong
answer is then called correct or gets another sentence. A property that nobody misses has no recorded answer, or sees
nothing.
"""

import argparse
import ast
import sys
import time
import types
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import course_lib  # noqa: E402
from coursekit.judge import prove  # noqa: E402
from coursekit.judge.discovery import folder_of, lesson_numbers  # noqa: E402

VERDICTS = ("almost", "not_yet")


def properties(tree) -> list:
    """Find the `if` statements of a module's functions that may end a check: pairs (function, if)."""
    return [
        (function, node)
        for function in tree.body
        if isinstance(function, ast.FunctionDef)
        for node in ast.walk(function)
        if isinstance(node, ast.If) and ends_check(node.body[-1])
    ]


def ends_check(statement) -> bool:
    """Recognise `return almost(...)`, `return not_yet(...)` and `return` of either by a condition."""
    return isinstance(statement, ast.Return) and any(
        isinstance(node, ast.Name) and node.id in VERDICTS for node in ast.walk(statement)
    )


def exercise_without(tree, file, node) -> object:
    """Return the file's exercise, with one `if` whose condition is never true."""
    condition, node.test = node.test, ast.copy_location(ast.Constant(False), node.test)
    try:
        code = compile(tree, file, "exec")
    finally:
        node.test = condition
    module = types.ModuleType(Path(file).stem)
    module.__file__ = file
    exec(code, vars(module))
    return module.EXERCISE


def is_used(tree, function, exercise) -> bool:
    """Is this function the exercise's check, or does the check call it, through others too?"""
    functions = {each.name: each for each in tree.body if isinstance(each, ast.FunctionDef)}

    def reaches(name, seen):
        if name == function.name:
            return True
        if name in seen or name not in functions:
            return False
        seen.add(name)
        names = {node.id for node in ast.walk(functions[name]) if isinstance(node, ast.Name)}
        return any(reaches(each, seen) for each in names)

    check = getattr(exercise.check, "__name__", "")
    return check in functions and reaches(check, set())


def exercise_results(file, say) -> list:
    """Triples (exercise id, line, noticed) for all properties of the exercise in a file; [] where there is none."""
    source = file.read_text(encoding="utf-8")
    tree = ast.parse(source)
    results = []
    for function, node in properties(tree) if "\nEXERCISE = " in source else ():
        exercise = exercise_without(tree, str(file), node)
        if is_used(tree, function, exercise):
            noticed = bool(prove.exercise_complaints(exercise, course_lib))
            results.append((exercise.id, node.lineno, noticed))
            if not noticed:
                condition = ast.get_source_segment(source, node.test).split("\n")[0][:70]
                say(f"  {exercise.id:6} line {node.lineno:4}  nobody misses  if {condition}")
    return results


def lesson_results(number, say) -> list:
    """Return the results of all exercises of one lesson."""
    folder = folder_of(number) / "exercises"
    return [result for file in sorted(folder.glob("*.py")) for result in exercise_results(file, say)]


def main(arguments=None) -> int:
    """Run the command; 0 when at least one property of every check is missed, and so many of all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lessons", nargs="*", help="lesson numbers (default: all)")
    options = parser.parse_args(arguments)
    began, everything = time.monotonic(), []
    for number in options.lessons or lesson_numbers():
        print(f"lesson {number}", flush=True)
        results = lesson_results(number, lambda line: print(line, flush=True))
        everything += results
        missed = sum(noticed for _, _, noticed in results)
        print(f"  {missed} of {len(results)} properties are missed when they are gone", flush=True)
    noticed = [id for id, _, seen in everything if seen]
    print(f"{len(noticed)} of {len(everything)} properties, in {len(set(noticed))} exercises; "
          f"{time.monotonic() - began:.0f} s.")  # fmt: skip
    return 0 if everything and noticed else 1


if __name__ == "__main__":
    sys.exit(main())

"""Four rooms and what each may import: course_lib | backscope < coursekit < lessons. Nothing imports the tests.

Every import counts: at a file's top, inside functions, for type checkers only, by importlib, by `__import__`, through
sys.modules, after `-m`, and in the source of another process that stands in a string.
"""

import ast
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("course_lib", "backscope", "coursekit", "lessons", "tools", "tests")
BELOW = {  # what a room may import beside itself
    "course_lib": set(),
    "backscope": set(),  # course_lib in adapters/, see LIBRARIES
    "coursekit": {"course_lib", "backscope"},
    "lessons": {"course_lib", "backscope", "coursekit"},
    "tools": {"course_lib", "backscope", "coursekit"},
    "course.py": {"coursekit"},
}
LIBRARIES = {"torch": "backscope/adapters/torch.py", "course_lib": "backscope/adapters/course_lib.py"}
UPWARD = "course_lib/teach/__init__.py"  # what learners' copies of 0.9.0 import
NAMED = {  # (file, room): an import that the floors do not allow, and why it is there
    (UPWARD, "backscope"): "old copies",
    (UPWARD, "coursekit"): "old copies",
    ("coursekit/judge/discovery.py", "lessons"): "this file finds lessons by path, for everybody else",
    ("coursekit/cli/checks.py", "tests"): "the command that runs the tests names their plugin",
    ("tools/lesson.py", "tests"): "this one too",
}
COMPUTED = {  # files that import a name which is computed, and what the names are
    "backscope/adapters/__init__.py": "an adapter",
    "backscope/script/command.py": "the user's own module",
    "coursekit/__init__.py": "names of a dictionary in this file, whose strings are seen here",
    "coursekit/judge/discovery.py": "the exercises of a lesson, found by path",
    "coursekit/judge/prove.py": "a lesson's exercises, or a program's",
    "coursekit/notebook/cells.py": "the library of an error",
    "coursekit/notebook/processes.py": "the library of a lesson's job: course_lib or torch",
    "coursekit/own_engine/training.py": "the learner's own library",
    "tools/bench.py": "what is compared with",
    "tools/explain_cures.py": "a library, and a module of it",
}
IMPORTERS = {"import_module", "__import__", "find_spec", "run_module", "spec_from_file_location", "resolve_name"}
IN_TEXT = re.compile(r"(?:^|[;:])[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import\b|import[ \t]+([\w., \t]+))", re.MULTILINE)
DOTTED = re.compile(r"[a-z_]\w*(\.\w+)+")


def files_of(room):
    """The Python files of a room, as paths from the root."""
    place = ROOT / room
    found = [place] if place.is_file() else place.rglob("*.py")
    return sorted(path.relative_to(ROOT).as_posix() for path in found)


def text_of(node):
    """A string as far as it is written down, with {} for what is computed; None for what is no string."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.JoinedStr) and node.values:
        return "".join(each.value if isinstance(each, ast.Constant) else "{}" for each in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return f"{text_of(node.left) or '{}'}{text_of(node.right) or '{}'}"
    return None


def docstrings(tree):
    """The nodes that are docstrings: they show imports, and make none."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and node.body:
            first = node.body[0]
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                yield id(first.value)


def modules_in(source, file):
    """Return ({each module that a file imports in some way: its line}, the lines that import a computed name)."""
    tree = ast.parse(source)
    package = Path(file).with_suffix("").parts[:-1]
    skipped, found, computed = set(docstrings(tree)), {}, []
    nodes = list(ast.walk(tree))
    names = [alias for node in nodes if isinstance(node, ast.ImportFrom) for alias in node.names]
    importers = IMPORTERS | {alias.asname for alias in names if alias.name in IMPORTERS}

    def note(name, line):
        if name:
            found.setdefault(name, line)

    def note_computed(argument, line):
        """A name given to an importer: `f"{__name__}.{x}"` and `f"{__package__}.{x}"` stay in the package."""
        text = text_of(argument)
        if text is None or text.startswith("{}"):
            inner = argument.values[0] if isinstance(argument, ast.JoinedStr) else None
            own = isinstance(getattr(inner, "value", None), ast.Name) and inner.value.id in ("__name__", "__package__")
            note(".".join(package), line) if own else computed.append(line)
        else:
            start = "." * (len(text) - len(text.lstrip(".")))
            note(".".join(package) if start else text.partition("{}")[0].rstrip("."), line)

    for node in nodes:
        line = getattr(node, "lineno", 0)
        if isinstance(node, ast.Import):
            for alias in node.names:
                note(alias.name, line)
        elif isinstance(node, ast.ImportFrom):
            start = package[: len(package) - node.level + 1] if node.level else ()
            base = ".".join([*start, *([node.module] if node.module else [])])
            note(base, line)
            for alias in node.names:
                note(f"{base}.{alias.name}" if base else alias.name, line)
        elif isinstance(node, ast.Call):
            function = node.func
            name = getattr(function, "id", getattr(function, "attr", ""))
            if name in importers and node.args:
                note_computed(node.args[0], line)
            elif name in ("get", "pop", "setdefault") and is_sys_modules(getattr(function, "value", None)):
                note(text_of(node.args[0]), line)
        elif isinstance(node, ast.Subscript) and is_sys_modules(node.value):
            note((text_of(node.slice) or "").partition("{}")[0].rstrip("."), line)
        elif isinstance(node, ast.List | ast.Tuple):
            for flag, module in zip(node.elts, node.elts[1:], strict=False):
                if text_of(flag) == "-m" and text_of(module):
                    note(text_of(module), line)
        elif isinstance(node, ast.Constant | ast.JoinedStr) and id(node) not in skipped:
            text = text_of(node) or ""
            for one, several in IN_TEXT.findall(text):
                for name in [one, *several.split(",")]:
                    note(name.split()[0] if name.split() else "", line)
            if DOTTED.fullmatch(text) and is_module(text):
                note(text, line)
    return found, computed


def is_sys_modules(node):
    """True for the expression `sys.modules`."""
    return isinstance(node, ast.Attribute) and node.attr == "modules" and getattr(node.value, "id", "") == "sys"


def is_module(name):
    """True when a dotted name is that of a file or a package of this tree."""
    place = ROOT / name.replace(".", "/")
    return place.with_suffix(".py").is_file() or (place / "__init__.py").is_file()


def wrong_in(source, file):
    """What a file of this content, at this place, imports against the floors, in words."""
    room = file.partition("/")[0]
    modules, computed = modules_in(source, file)
    wrong = []
    for name, line in sorted(modules.items()):
        other = name.partition(".")[0]
        allowed = other == room or other not in ROOMS or other in BELOW[room] or (file, other) in NAMED
        if room == "backscope" and other in LIBRARIES:
            allowed = LIBRARIES[other] == file
        if not allowed:
            wrong.append(f"{file}:{line} imports {name}")
    if computed and file not in COMPUTED:
        wrong.append(f"{file}:{computed[0]} imports a name that is computed: say in COMPUTED what it can be")
    return wrong


@pytest.mark.parametrize("room", sorted(BELOW))
def test_a_room_imports_only_what_stands_below_it(room):
    """Each file of a room keeps to the floors, inside functions and in the source of other processes as well."""
    files = files_of(room)
    wrong = [each for file in files for each in wrong_in((ROOT / file).read_text(encoding="utf-8"), file)]

    assert files and wrong == []


def test_what_is_named_here_is_still_needed():
    """An exception that nothing uses any more goes."""
    for file, room in NAMED:
        modules, _ = modules_in((ROOT / file).read_text(encoding="utf-8"), file)
        assert any(name.partition(".")[0] == room for name in modules), f"{file} imports no {room}"
    for file in COMPUTED:
        assert modules_in((ROOT / file).read_text(encoding="utf-8"), file)[1], f"{file} computes no name"


def test_what_old_copies_import_is_short():
    """The re-export is at most ten lines of code."""
    tree = ast.parse((ROOT / UPWARD).read_text(encoding="utf-8"))
    code = {node.lineno for node in ast.walk(tree) if isinstance(node, ast.stmt)}

    assert len(code) - 1 <= 10  # without the docstring
    assert files_of("course_lib/teach") == [UPWARD]


def outside(room, top_level):
    """The packages of others that a room's files import: all, or those that importing the file imports."""
    found = set()
    for file in files_of(room):
        nodes = list(ast.walk(ast.parse((ROOT / file).read_text(encoding="utf-8"))))
        if top_level:
            nodes = ast.parse((ROOT / file).read_text(encoding="utf-8")).body
        for node in nodes:
            if isinstance(node, ast.Import):
                found |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level:
                found.add(node.module.partition(".")[0])
    return found - set(sys.stdlib_module_names) - {room}


def test_the_engine_needs_numpy_alone():
    """course_lib imports NumPy and the standard library, and nothing else anywhere but in what old copies import."""
    modules = set()
    for file in files_of("course_lib"):
        if file != UPWARD:
            found, _ = modules_in((ROOT / file).read_text(encoding="utf-8"), file)
            modules |= {name.partition(".")[0] for name in found}

    assert modules - set(sys.stdlib_module_names) - {"course_lib"} == {"numpy", "IPython"}  # a line's words, if loaded


def test_importing_the_instruments_needs_numpy_alone():
    """At the top of backscope's files stand NumPy and the standard library; an adapter adds its library."""
    assert outside("backscope", top_level=True) == {"numpy", *LIBRARIES}


@pytest.mark.parametrize(
    "file, source",
    [
        ("course_lib/nn/calls.py", "import backscope"),
        ("course_lib/engine/ops.py", "def f():\n    from coursekit.judge import exercise"),
        ("course_lib/nn/calls.py", "from ... import coursekit"),
        ("course_lib/engine/ops.py", "import importlib\nimportlib.import_module(f'coursekit.{name}')"),
        ("course_lib/engine/ops.py", "__import__('backscope.graph')"),
        ("backscope/graph/reader.py", "import torch.nn"),
        ("backscope/graph/reader.py", "from course_lib.engine import graph"),
        ("backscope/events/watch.py", "try:\n    import course_lib\nexcept ImportError:\n    pass"),
        ("backscope/events/watch.py", "import sys\nsys.modules['torch'].Tensor"),
        ("backscope/events/watch.py", "import sys\nsys.modules.get('course_lib')"),
        ("backscope/adapters/torch.py", "import course_lib"),
        ("backscope/adapters/__init__.py", "def f():\n    import torch"),
        ("backscope/script/command.py", "CODE = 'import sys, torch; print(torch)'"),
        ("backscope/script/command.py", "CODE = f'''\nx = {1}\nfrom course_lib import nn\n'''"),
        ("backscope/graph/reader.py", "NAME = 'coursekit.judge.exercise'"),
        ("backscope/graph/reader.py", "from importlib import import_module as load\nload('course' + 'kit')"),
        ("backscope/graph/reader.py", "import importlib\nimportlib.import_module(name)"),
        ("backscope/graph/reader.py", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import coursekit"),
        ("coursekit/judge/prove.py", "import lessons.shared"),
        ("coursekit/judge/prove.py", "from importlib import util\nutil.find_spec('lessons')"),
        ("coursekit/notebook/card.py", "call = [sys.executable, '-m', 'tests.backscope.gallery']"),
        ("coursekit/notebook/card.py", "class A:\n    async def f(self):\n        import tests.libraries"),
        ("lessons/shared.py", "from tests.engine.facts import facts"),
        ("lessons/shared.py", "import tools.bench"),
        ("tools/site.py", "import tests.coursekit"),
        ("course.py", "import course_lib"),
    ],
)
def test_each_way_to_import_upwards_is_seen(file, source):
    """What breaks the floors is red, however it is written."""
    assert len(wrong_in(source, file)) >= 1


@pytest.mark.parametrize(
    "file, source",
    [
        ("course_lib/engine/ops.py", '"""Use it so:\n\nimport backscope\n"""\nimport numpy\nfrom .. import errors'),
        ("backscope/adapters/torch.py", "import torch\nfrom backscope.graph import reader"),
        ("backscope/explaining/rows.py", "ROW = 'Run it with `import torch`, or restart.'\nLIBRARY = 'course_lib'"),
        ("backscope/graph/reader.py", "import importlib\nimportlib.import_module(f'{__name__}.{part}')"),
        ("coursekit/judge/bounds.py", "ROOMS = ('course_lib', 'lessons')\nimport course_lib.testing"),
        ("lessons/07_version_counters/claims.py", "import coursekit\nfrom lessons.claims_kit import printed"),
    ],
)
def test_what_keeps_to_the_floors_is_left_alone(file, source):
    """Words in docstrings and sentences are no imports; downwards and sideways is allowed."""
    assert wrong_in(source, file) == []

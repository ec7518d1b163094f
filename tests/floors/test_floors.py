"""The shape of the engine: imports point down, files say what they are, functions stay small.

The floors are read from the table in course_lib/README.md, so that the map a learner reads is the one that is tested.
"""

import ast
import collections
import functools
import io
import itertools
import re
import statistics
import subprocess
import sys
import tokenize
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2] / "course_lib"
FOLDERS = ["arrays", "engine", "surface", "libraries", ".", "teach"]  # from the ground up
LIBRARIES = "autograd", "linalg", "nn", "optim", "random", "utils"  # PyTorch's, in the order of their use
FILES = sorted(path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*.py"))
KNOWN = frozenset(FILES)
STATEMENTS = ast.stmt | ast.excepthandler | ast.match_case  # where an import can stand
ENGINE = [name for name in FILES if not name.startswith("teach/")]
LONGEST = 60


def places():
    """{file: place in the reading order} as course_lib/README.md tells it."""
    found = {}
    for line in (ROOT / "README.md").read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) >= 5:
            for name in re.findall(r"`([\w/]+\.py)`", cells[2]):
                found[name] = len(found)
    return found


PLACES = places()


def file_of(module):
    """The file of a module of this package, or None."""
    base = module.removeprefix("course_lib").lstrip(".").replace(".", "/")
    files = (f"{base}.py", f"{base}/__init__.py".lstrip("/")) if module.split(".")[0] == "course_lib" else ()
    return next((file for file in files if file in KNOWN), None)


@functools.cache
def tree_of(name):
    """A file, parsed once for all tests."""
    return ast.parse((ROOT / name).read_text(encoding="utf-8"))


@functools.cache
def imports(name):
    """(file that is imported, True when inside a function) for each import of a file of this package."""
    package = ["course_lib", *Path(name).parts[:-1]]
    found, todo = [], collections.deque([(tree_of(name), False)])
    while todo:
        node, inside = todo.popleft()
        within = inside or isinstance(node, ast.FunctionDef)
        todo += [(each, within) for each in ast.iter_child_nodes(node) if isinstance(each, STATEMENTS)]
        modules = []
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            start = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*start, *([node.module] if node.module else [])])
            modules = [each if file_of(each) else module for each in (f"{module}.{a.name}" for a in node.names)]
        found += [(target, inside) for target in map(file_of, modules) if target]
    return found


def floor(name):
    """The floor of a file, from 0 at the ground. What stands in no folder is above the libraries."""
    folder = str(Path(name).parents[-2]) if "/" in name else "."
    return FOLDERS.index("libraries" if folder in LIBRARIES else folder)


def test_imports_point_down():
    """A file imports only what stands above it in the README's table, at its top and inside functions alike.

    Among PyTorch's libraries a file of a later one may import an earlier one, and an earlier one inside a function.
    """
    wrong = []
    for name, target, inside in ((file, *each) for file in FILES for each in imports(file)):
        if floor(target) != floor(name) or name == "__init__.py":
            allowed = floor(target) < floor(name)
        elif name in PLACES and target in PLACES:
            allowed = PLACES[target] < PLACES[name]
        else:
            order = [LIBRARIES.index(each.partition("/")[0]) if floor(each) == 3 else 0 for each in (target, name)]
            allowed = inside or order[0] <= order[1]
        if not allowed:
            wrong.append(f"{name} imports {target}")

    assert wrong == []


def test_the_map_names_every_engine_file_and_no_other():
    """Each file of arrays, engine and surface has its line in the README's table, and each line its file."""
    files = [name for name in FILES if name.startswith(("arrays/", "engine/", "surface/"))]

    assert sorted(PLACES) == [name for name in files if not name.endswith("__init__.py")]


def test_the_engine_imports_only_numpy_and_the_standard_library():
    """Nothing else has to be installed to compute."""
    outside = set()
    for name in ENGINE:
        for node in ast.walk(tree_of(name)):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and not node.level:
                names = [node.module]
            outside |= {n.split(".")[0] for n in names}

    assert outside - set(sys.stdlib_module_names) == {"course_lib", "numpy"}


def test_importing_loads_neither_the_other_rooms_nor_what_only_some_need():
    """`import course_lib` is cheap: no pictures, no plotting, no modules or optimizers until they are used."""
    code = (
        "import sys, course_lib; "
        "print([m for m in sys.modules if m.split('.')[:2] in (['course_lib', 'teach'], ['course_lib', 'nn'], "
        "['course_lib', 'optim']) or m in ('backscope', 'coursekit', 'matplotlib', 'torch')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT.parent)

    assert done.stdout.strip() == "[]"


def test_every_file_says_what_it_is_and_where_pytorch_keeps_it():
    """A file opens with a line that says what it is, and a line that names PyTorch's place for it."""
    for name in ENGINE:
        doc = ast.get_docstring(tree_of(name))

        assert (ROOT / name).read_text(encoding="utf-8").startswith('"""') and doc, f"{name} begins with its docstring"
        assert doc.splitlines()[0].endswith(".") or ":" in doc.splitlines()[0], name
        if name != "__init__.py":  # the package's own docstring is the map
            assert re.search(r"^PyTorch: \S", doc, re.MULTILINE), name


def test_no_function_is_long():
    """A function fits on a screen. Lines of code are counted, neither comments nor docstrings."""
    long = []
    for name in FILES:
        lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
        for node in ast.walk(tree_of(name)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                first = node.body[0].end_lineno if ast.get_docstring(node) else node.lineno - 1
                code = [line for line in lines[first : node.end_lineno] if line.strip() and line.strip()[0] != "#"]
                if len(code) > LONGEST:
                    long.append((name, node.name, len(code)))

    assert long == []


def public_functions(name):
    """The functions and methods of a file without an underscore in front, each with its class, if in one."""
    for node in tree_of(name).body:
        for function in node.body if isinstance(node, ast.ClassDef) else [node]:
            if isinstance(function, ast.FunctionDef) and not function.name.startswith("_"):
                yield function, isinstance(node, ast.ClassDef)


def test_public_functions_are_typed():
    """Each parameter of a public function has a type, but for self, cls, *args and **options. ruff asks for results."""
    untyped = []
    for name in ENGINE:
        for function, in_class in public_functions(name):
            parameters = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
            untyped += [f"{name}: {function.name}({p.arg})" for p in parameters[in_class:] if p.annotation is None]

    assert untyped == []


NO_VERBS = {"The", "A", "An", "One", "What", "How", "Where", "Those", "Whether", "Which", "True", "All", "Each"}


def test_docstrings_of_functions_begin_with_a_verb():
    """None begins with an article, a pronoun, What, How, Where, Those or Whether, or with the name of an error."""
    wrong = []
    for name in ENGINE:
        for node in ast.walk(tree_of(name)):
            if isinstance(node, ast.FunctionDef) and (doc := ast.get_docstring(node)):
                first = doc.split()[0].strip(",.:")
                wrong += [f"{name}: {node.name}"] if first in NO_VERBS or first.endswith("Error") else []

    assert wrong == []


# --- the size of what one reads in an evening ----------------------------------------------------------------

READ = [name for name in PLACES if name.startswith("engine/")]
BUDGET = 3500  # lines of the engine's files, blank ones too


@functools.cache
def prose_of(name):
    """The numbers of the lines that are docstrings or comments."""
    text, lines = (ROOT / name).read_text(encoding="utf-8"), set()
    for node in ast.walk(tree_of(name)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node):
            lines |= set(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            lines.add(token.start[0])
    whole = text.splitlines()
    return {number for number in lines if whole[number - 1].strip()}


def test_the_engine_is_read_in_an_evening():
    """The files of engine/ have at most 3,500 lines, and of those not blank 30 of 100 are docstrings or comments."""
    lines = [line for name in READ for line in (ROOT / name).read_text(encoding="utf-8").splitlines()]

    assert len(READ) > 10 and len(lines) <= BUDGET
    assert sum(len(prose_of(name)) for name in READ) / sum(1 for line in lines if line.strip()) >= 0.30


def test_functions_are_small():
    """Half of the engine's functions have at most eight lines of code."""
    sizes = []
    for name in READ:
        text = (ROOT / name).read_text(encoding="utf-8")
        prose, lines = prose_of(name), text.splitlines()
        for node in ast.walk(tree_of(name)):
            if isinstance(node, ast.FunctionDef):
                numbers = range(node.lineno + 1, node.end_lineno + 1)
                sizes.append(sum(1 for n in numbers if lines[n - 1].strip() and n not in prose))

    assert statistics.median(sizes) <= 8


def test_the_list_of_places_is_true():
    """Each `file.py`, `name` in the README's "Where is it?" is a function or a method of that file."""
    text = (ROOT / "README.md").read_text(encoding="utf-8").partition("## Where is it?")[2].partition("\n## ")[0]
    pairs = re.findall(r"`([\w/]+\.py)`, `([\w.]+)`", text)
    wrong = []
    for name, wanted in pairs:
        found = tree_of(name)
        for part in wanted.split("."):
            found = next((node for node in getattr(found, "body", ()) if getattr(node, "name", None) == part), None)
        if found is None:
            wrong.append((name, wanted))

    assert len(pairs) > 10 and wrong == []


LINK = re.compile(r"\[`([^`]+)`\]\(([\w/]+\.py)#L(\d+)\)")


def line_of(name, wanted):
    """The line of a class, a function or a note, the first of that name; 1 for a whole file."""
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    told = re.compile(rf"\s*(class|def) {re.escape(wanted)}\b|.*Note \[{re.escape(wanted)}\]")
    found = [number for number, line in enumerate(lines, 1) if told.match(line)]
    assert found or name.endswith("/" + wanted), f"{name} has no {wanted}"
    return found[0] if found else 1


def with_true_lines(text):
    """The README with the line of each link as it is now."""
    return LINK.sub(lambda link: f"[`{link[1]}`]({link[2]}#L{line_of(link[2], link[1])})", text)


def test_the_links_of_the_evening_lead_to_their_lines():
    """Each link into a file names the line of what it says. `python -m tests.floors.test_floors` sets them anew."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")

    assert len(LINK.findall(text)) > 30
    assert text == with_true_lines(text)


# --- two walks ---------------------------------------------------------------------------------------------


def walked(action):
    """The files of course_lib that are entered one after the other while `action` runs."""
    files = []

    def entered(frame, event, _):
        if event == "call" and "course_lib" in frame.f_code.co_filename:
            files.append(frame.f_code.co_filename)

    sys.setprofile(entered)
    try:
        action()
    finally:
        sys.setprofile(None)
    return files


def switches(files):
    return sum(one != other for one, other in itertools.pairwise(files))


def test_a_product_and_its_backward_pass_are_followed_with_few_turns_of_pages():
    """`x * w` changes the file at most 4 times, `loss.backward()` at most 8 times."""
    import course_lib as torch

    x, w = (torch.tensor([1.0, 2.0], requires_grad=True) for _ in range(2))
    (x * w).sum().backward()  # sources are written when first needed
    x.grad = w.grad = None
    loss = (x * w).sum()

    assert switches(walked(lambda: x * w)) <= 4
    assert switches(walked(loss.backward)) <= 8


def test_a_linear_layer_is_followed_with_few_turns_of_pages():
    """`Linear(x)` changes the file at most 12 times: module, layer, function, t, views, addmm, the product in NumPy."""
    import course_lib as torch

    layer, x = torch.nn.Linear(3, 2), torch.ones(4, 3)
    layer(x)  # sources are written when first needed

    assert switches(walked(lambda: layer(x))) <= 12


if __name__ == "__main__":
    README = ROOT / "README.md"
    README.write_text(with_true_lines(README.read_text(encoding="utf-8")), encoding="utf-8")

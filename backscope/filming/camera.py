"""Run a program and read the graph after each of its statements: frames that hold words and numbers, no tensor.

`ast` puts a call behind each simple statement, also inside loops, blocks and functions. No trace function is set, so a
debugger or a coverage tool keeps its own, and a statement of three lines is one frame.
"""

import ast
import contextlib
import copy
import io
import linecache
import os
import sys
import threading
import traceback
from collections import Counter
from dataclasses import dataclass
from types import CodeType, SimpleNamespace

from backscope.adapters import LIBRARIES
from backscope.filming import passes
from backscope.filming.passes import can_be_stepped
from backscope.graph.model import FREED, STALE, Graph, SavedSlot, link_inputs
from backscope.graph.reader import Reader
from backscope.pictures.draw import names_in
from backscope.stepping.step import one_line, without_frames

TICK, TURN, CAUGHT, BACKWARD, RETURNED = (f"__film_{what}__" for what in "tick turn caught backward returned".split())
FILE = "<film "  # how the names of programs begin
MOST = 40  # frames
MOST_STEPS = 10_000  # statements that run before a program is stopped: it may be a loop without an end
IN = "__in__"  # between a name and the function in which it means something else than outside
MOST_PRINTED = 200  # letters of what a line printed
ENGINE = os.path.join("engine", "backward.py")  # the file in which course_lib runs a pass
QUIET = (ast.Import, ast.ImportFrom, ast.Pass, ast.Break, ast.Continue, ast.Global, ast.Nonlocal)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
LOOPS = (ast.For, ast.AsyncFor, ast.While)


@dataclass
class Frame:
    """The state after one statement."""

    lines: tuple  # of the statement: first and last; (0, 0) before the first line
    title: str
    graph: Graph
    printed: str = ""
    error: str = ""  # what the statement raised
    culprit: tuple | None = None  # (key of a node, its slot, the lines that spoilt the slot, STALE or FREED)
    ran: tuple | None = None  # in a pass node by node: the key of the node that has just run
    says: tuple | None = None  # ... and its record: (recording, frame)


class Stopped(BaseException):
    """Ends a program that would go on and on. No `except Exception` of its own catches this."""


# --- the calls that are put into a program -------------------------------------------------------------------
#
# They find the camera here and not in the program's names: a function that a film has defined may live on, and be
# called long after the film.

_here = threading.local()


def camera_of(number) -> "Camera | None":
    """Return the camera that runs in this thread, when it is the one that put in the call."""
    camera = getattr(_here, "camera", None)
    return camera if camera is not None and camera.number == number else None


def tick(number, first, last, column, where, scope) -> None:
    """Note that a statement has run."""
    if camera := camera_of(number):
        camera.tick(first, last, column, where, scope)


def turn(number) -> None:
    """Note that a loop or a function begins its body once more."""
    if camera := camera_of(number):
        camera.turn()


def caught(number, where, scope) -> None:
    """Note that the program has caught an error."""
    if camera := camera_of(number):
        camera.caught(sys.exc_info()[1], where, scope)


def backward(number, first, last, where, scope, tensor, *args, **options) -> None:
    """Film a pass node by node: a frame for each."""
    camera = camera_of(number)
    if camera is None or not can_be_stepped(tensor) or (where and in_a_pass(sys._getframe(1))):
        return tensor.backward(*args, **options)
    return camera.backward(first, last, where, scope, tensor, *args, **options)


CALLS = {TICK: tick, TURN: turn, CAUGHT: caught, BACKWARD: backward}


# --- the program with these calls ----------------------------------------------------------------------------


class Script:
    """A program, parsed; and with the calls put in."""

    count = 0

    def __init__(self, text, enter, nodes, file=None, span=None):
        """Take the program. `span`: the first and the last line that have frames; all, if none are given."""
        Script.count += 1
        self.enter, self.nodes, self.span = enter, nodes, span
        self.file = file = file or f"{FILE}{Script.count}>"
        self.tree = ast.parse(text, file)
        every = list(ast.walk(self.tree))
        nodes = [node for node in every if self.within(getattr(node, "lineno", 0))] if span else every
        names = (
            node.id if isinstance(node, ast.Name) else node.arg for node in nodes if type(node) in (ast.Name, ast.arg)
        )
        self.names = list(dict.fromkeys(names))
        self.defines = any(isinstance(node, (*FUNCTIONS, ast.Lambda, ast.ClassDef)) for node in nodes)
        if self.defines and file.startswith(FILE):  # so that functions of the program have a source, as in a cell
            linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
        self.statements = {}  # line -> the statement that begins there
        for node in every:
            if isinstance(node, ast.stmt):
                self.statements.setdefault(node.lineno, node)

    def within(self, line) -> bool:
        """Return True for a line that has frames."""
        return self.span is None or self.span[0] <= line <= self.span[1]

    def made_here(self) -> set[str]:
        """Find names that the program gives before it uses them: what they meant before has nothing to do with it."""
        used, given = set(), set()
        for statement in self.tree.body:
            names = [node for node in ast.walk(statement) if isinstance(node, ast.Name)]
            changed = [statement.target] if isinstance(statement, ast.AugAssign) else []
            read = [node for node in [*names, *changed] if node in changed or not isinstance(node.ctx, ast.Store)]
            used |= {node.id for node in read if isinstance(node, ast.Name)} - given
            given |= {node.id for node in names if isinstance(node.ctx, ast.Store)}
        return given - used

    def compiled(self, number, function=None) -> CodeType:
        """Return the code to run; of a program that is one function, the function's definition."""
        self.number = number
        tree = copy.deepcopy(self.tree)
        if function is None:
            tree.body = self.body(tree.body, "")
        else:
            one = tree.body[0]
            one.decorator_list = []
            last = max(one.lineno, one.body[0].lineno - 1)
            one.body = self.body(one.body, "")
            begins = self.call(TICK, one, one.lineno, last, one.col_offset, "", "locals()")
            one.body.insert(docstring(one.body), begins)
        return compile(ast.fix_missing_locations(tree), self.file, "exec", dont_inherit=True)

    def call(self, name, at, *words) -> ast.Expr:
        """Return a statement that calls one of CALLS."""
        words = ", ".join(word if word == "locals()" else repr(word) for word in (self.number, *words))
        made = ast.parse(f"{name}({words})").body[0]
        for node in ast.walk(made):
            if hasattr(node, "lineno"):
                node.lineno = node.end_lineno = at.lineno
        return made

    def body(self, statements, where, quiet=False) -> list:
        """Statements with a call behind each simple one. `where`: the function they stand in; `quiet`: no frames."""
        found = []
        for one in statements:
            found += self.one(one, where, quiet)
        return found

    def one(self, one, where, quiet) -> list:
        constant = isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant)
        if isinstance(one, QUIET) or constant:
            return [one]
        compound = isinstance(one, (*FUNCTIONS, *LOOPS, ast.ClassDef)) or hasattr(one, "body") or hasattr(one, "cases")
        quiet = quiet or not compound and not self.within(one.lineno)
        if isinstance(one, FUNCTIONS):
            one.body = self.body(one.body, one.name, quiet or not self.enter)
            one.body.insert(docstring(one.body), self.call(TURN, one))
            return [one]
        if isinstance(one, ast.ClassDef):
            for each in one.body:
                if isinstance(each, FUNCTIONS):
                    self.one(each, where, quiet)
            return [one]
        tick = [] if quiet else [self.call(TICK, one, one.lineno, one.end_lineno, one.col_offset, where, "locals()")]
        if isinstance(one, LOOPS):
            inside = quiet or not self.enter
            one.body = [self.call(TURN, one), *self.body(one.body, where, inside)]
            one.orelse = self.body(one.orelse, where, inside)
            return [one, *(tick if inside else [])]
        if hasattr(one, "body") or hasattr(one, "cases"):
            self.block(one, where, quiet)
            return [one]
        if isinstance(one, ast.Return) and not quiet:
            kept = ast.Assign([ast.Name(RETURNED, ast.Store())], one.value or ast.Constant(None))
            one.value = ast.Name(RETURNED, ast.Load())
            return [ast.copy_location(kept, one), *tick, one]
        if self.nodes and not quiet:
            self.expand(one, where)
        return [one, *tick]

    def expand(self, one, where) -> None:
        """Have a statement `x.backward()` call BACKWARD in place of the method."""
        call = one.value if isinstance(one, ast.Expr) else None
        if isinstance(call, ast.Call) and getattr(call.func, "attr", "") == "backward":
            given = self.call(BACKWARD, one, one.lineno, one.end_lineno, where, "locals()").value
            call.func, call.args = given.func, [*given.args, call.func.value, *call.args]

    def block(self, one, where, quiet) -> None:
        """Follow an `if`, `with`, `try` or `match` inside. A `with` may catch an error, as `suppress` does."""
        for handler in getattr(one, "handlers", ()):
            told = [] if self.span else [self.call(CAUGHT, handler, where, "locals()")]
            handler.body = [*told, *self.body(handler.body, where, quiet)]
        for part in [one, *getattr(one, "cases", ())]:
            for name in ("body", "orelse", "finalbody"):
                if getattr(part, name, None):
                    setattr(part, name, self.body(getattr(part, name), where, quiet))
        if isinstance(one, (ast.With, ast.AsyncWith)) and not quiet and self.span is None:
            passes_on = ast.copy_location(ast.Raise(), one)
            body = [self.call(CAUGHT, one, where, "locals()"), passes_on]
            handler = ast.copy_location(ast.ExceptHandler(ast.Name("Exception", ast.Load()), None, body), one)
            one.body = [ast.copy_location(ast.Try(one.body, [handler], [], []), one)]


def in_a_pass(frame) -> bool:
    """Tell whether a library's backward pass has called the function of the program that this frame runs."""
    while frame is not None and not (frame.f_code.co_filename.startswith(FILE) and frame.f_code.co_name == "<module>"):
        if frame.f_code.co_name in ("_engine_run_backward", "run_backward") or frame.f_code.co_filename.endswith(
            ENGINE
        ):
            return True
        frame = frame.f_back
    return False


def docstring(body) -> int:
    """1 when a body begins with a docstring, else 0."""
    return int(isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant))


# --- running it ----------------------------------------------------------------------------------------------


class Printed(io.TextIOBase):
    """Standard output while the program runs: the first letters of what each line prints."""

    def __init__(self):
        self.kept, self.more = "", 0

    def write(self, text) -> int:
        room = max(0, MOST_PRINTED - len(self.kept))
        self.kept += text[:room]
        self.more += len(text) - len(text[:room])
        return len(text)

    def take(self) -> str:
        """Return what was printed since the last call."""
        text = self.kept.rstrip("\n") + (f"… and {self.more:,} more letters" if self.more else "")
        self.kept, self.more = "", 0
        return text


class Camera:
    """Runs a script and keeps a frame for each statement."""

    number = 0
    most_steps = MOST_STEPS

    def __init__(self, script):
        Camera.number += 1
        self.number = Camera.number
        self.script = script
        self.frames, self.error, self.notes = [], None, []
        self.times, self.left_out, self.steps = Counter(), 0, 0
        self.printed, self.fault = Printed(), None
        self.latest = None
        self.told = None  # the error that the last frame shows

    def run(self, scope, function=None, args=()) -> None:
        """Run the program with these names; a function, with these arguments."""
        if getattr(_here, "camera", None) is not None:
            raise RuntimeError("film() was called by a program that is being filmed; one film at a time.")
        code = self.script.compiled(self.number, function)
        hidden = {name: scope[name] for name in self.script.made_here() if name in scope} if function is None else {}
        self.hidden, self.scope, self.where = hidden, {} if function else scope, ""
        self.top = self.scope
        scope.update(CALLS)
        modes = Modes()
        _here.camera = self
        try:
            if function is None:
                self.shoot((0, 0), "before the first line")
            with contextlib.redirect_stdout(self.printed):
                exec(code, scope)
                if function:
                    scope[function](*args)
            self.last_of_many()
        except Stopped:
            self.notes.append(f"The program was stopped after {MOST_STEPS:,} statements: a loop without an end?")
        except (Exception, SystemExit) as error:
            self.failed(error)
        finally:
            _here.camera = None
            modes.set_back()
            self.scope = self.hidden = self.top = self.told = None
            if not self.script.defines:
                for name in CALLS:
                    scope.pop(name, None)

    def run_script(self, code, scope) -> None:
        """Run a script of which some lines are filmed. It prints, ends and raises as it would without a film."""
        self.hidden, self.where, self.most_steps = {}, "", float("inf")
        self.scope = self.top = scope
        scope.update(CALLS)
        _here.camera = self
        try:
            exec(code, scope)
            self.last_of_many()
        except Exception as error:
            lines, title = self.place(error)
            if self.script.within(lines[0]):
                self.latest = self
                self.shoot(lines, title, error)
            raise
        finally:
            _here.camera = None
            self.scope = self.hidden = self.top = None

    # --- called by the program ---

    def turn(self) -> None:
        self.steps += 1
        if self.steps > self.most_steps:
            raise Stopped

    def tick(self, first, last, column, where, scope) -> None:
        self.turn()
        self.told = None
        self.times[first, column] += 1
        times = self.times[first, column]
        again = f", time {times}" if times > 1 else ""
        if where and in_a_pass(sys._getframe(2)):
            return  # a hook, or the backward of a Function: a graph is not read while a pass runs through it
        self.scope, self.where = scope, where
        if not where:
            self.top = scope
        self.shoot((first, last), f"line {first}" + (f" in {where}" if where else "") + again)

    def caught(self, error, where, scope) -> None:
        self.turn()
        lines, title = self.place(error)
        self.scope, self.where = scope, where
        if not in_a_pass(sys._getframe(2)) and error is not self.told:
            self.told = error
            self.shoot(lines, title, error)

    def backward(self, first, last, where, scope, *given, **options) -> None:
        """Film a pass node by node: a frame for each."""
        self.scope, self.where = scope, where
        if not where:
            self.top = scope
        for name, graph, key, says in passes.frames_of(self, *given, **options):
            self.turn()
            self.shoot((first, last), f"line {first}, {name} has run", graph=graph, ran=key, says=says)

    # --- frames ---

    def shoot(self, lines, title, error=None, graph=None, **more) -> None:
        """Keep a frame, if there is room for one. `graph`: what it shows, when that is not to be read now."""
        if self.fault is not None:
            return
        if len(self.frames) >= MOST - 1 and self.latest is not self:
            self.left_out, self.latest = self.left_out + 1, (lines, title, error and one_line(error))
            return
        try:
            seen = Frame(lines, title, graph or self.read(), self.printed.take(), **more)
            statement = not seen.ran and error is None
            if statement and self.frames and self.frames[-1].ran and seen.graph == self.frames[-1].graph:
                return  # the statement of a pass whose last node was shown
            if not lines[0] and not seen.graph.values:
                return
            if error is not None:
                seen.error = one_line(error)
                if isinstance(error, RuntimeError):
                    seen.culprit = self.culprit(seen.graph, lines, str(error))
            self.frames.append(seen)
        except RecursionError:
            raise
        except Exception as fault:  # whatever a program's objects do when they are looked at, it must not end for that
            self.fault = one_line(fault)
            self.notes.append(f"The film ends before {title}: the tensors could not be read ({self.fault}).")

    def last_of_many(self) -> None:
        """Of a long run the last frame is shown, too."""
        if self.latest is not None:
            (lines, title, _), self.latest = self.latest, self
            self.left_out -= 1
            self.shoot(lines, title)

    def failed(self, error) -> None:
        """Add the last frame: what was raised, by which line, and which line is to blame."""
        lines, title = self.place(error)
        self.latest = self
        if error is self.told and self.frames[-1].error:
            self.frames.pop()  # it was told when it passed through a `with`
        self.shoot(lines, title, error)
        self.error = without_frames(error)

    def place(self, error) -> tuple:
        """Return (lines of the statement that raised, title)."""
        line = 0
        for frame, at in traceback.walk_tb(error.__traceback__):
            if frame.f_code.co_filename == self.script.file:
                line, self.scope = at, frame.f_locals
                self.where = "" if frame.f_code.co_name == "<module>" else frame.f_code.co_name
        one = self.script.statements.get(line)
        last = one.end_lineno if one is not None and not hasattr(one, "body") else line
        return (line, last), f"line {line} raises"

    # --- reading ---

    def read(self) -> Graph:
        """Return the graph behind everything that the program names, as it is now."""
        known, around, asked = self.named()
        if not asked:
            return Graph([], [], [], [])
        graph = Reader(asked, known, around).read()
        link_inputs(graph)
        self.name_freed_slots(graph)
        return graph

    def name_freed_slots(self, graph) -> None:
        """Name the slots of a custom Function of PyTorch's, which forgets their names once it has let go of them."""
        before = {
            node.key: node.slots for seen in self.frames[-1:] for node in seen.graph.nodes if node.key is not None
        }
        for node in graph.nodes:
            old = before.get(node.key, ())
            if len(node.slots) == 1 and node.slots[0].state == FREED and "tensors[0]" in [slot.name for slot in old]:
                node.slots = [SavedSlot(slot.name, FREED) for slot in old]

    def named(self) -> tuple:
        """Return ({id of a tensor: its names}, tensors, those that are asked for)."""
        found = {name: self.top[name] for name in self.script.names if name in self.top}
        found = {name: thing for name, thing in found.items() if self.hidden.get(name, self) is not thing}
        if self.scope is not self.top:
            for name in [name for name in self.script.names if name in self.scope]:
                other = name in found and found[name] is not self.scope[name]
                found[f"{name}{IN}{self.where}" if other else name] = self.scope[name]
        if RETURNED in self.scope:
            found["returned"] = self.scope[RETURNED]
        known, around = names_in(SimpleNamespace(f_locals=found, f_globals={}, f_code=SimpleNamespace(co_flags=0)))
        known = {key: [name.replace(IN, " in ") for name in names] for key, names in known.items()}
        asked = [t for t in around if not all(name.endswith(".grad") for name in known[id(t)])]
        return known, around, asked

    def culprit(self, graph, lines, message) -> tuple | None:
        """Return (key of a node, its slot, the lines that spoilt it, how): where the pass that a statement began fails.

        Of the nodes that it reaches and that keep what is stale or freed, the one made last: the engine comes to it
        first. The lines are those of the frame in which the slot ceased to be good.
        """
        statement = self.script.statements.get(lines[0])
        names = {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)} if statement else set()
        todo = [v.node for v in graph.values if v.node is not None and names & {v.name, *v.also}]
        for i in todo:
            todo += [f for _, f, _ in graph.nodes[i].edges if f is not None and f not in todo]
        word = FREED if "second time" in message else STALE
        bad = [(graph.nodes[i].key, slot.name) for i in todo if not graph.nodes[i].accumulates
               for slot in graph.nodes[i].slots if slot.state == word]  # fmt: skip
        if not bad:
            return None
        before = [(node.key, slot.name) for seen in self.frames[-1:] for node in seen.graph.nodes
                  for slot in node.slots if slot.state == word]  # fmt: skip
        key, slot = max([one for one in bad if one in before] or bad)  # the failing pass has itself freed what it ran
        for seen in self.frames:
            states = {s.name: s.state for node in seen.graph.nodes if node.key == key for s in node.slots}
            if states.get(slot) == word:
                return key, slot, seen.lines, word
        return key, slot, (0, 0), word


# --- modes ---------------------------------------------------------------------------------------------------


class Modes:
    """Grad mode, default dtype and anomaly mode of the imported libraries, to be set back."""

    def __init__(self):
        libraries = [sys.modules[name] for name in LIBRARIES if hasattr(sys.modules.get(name), "Tensor")]
        self.kept = []  # (what sets a mode, how it is set)
        for library in libraries:
            self.kept.append((library.set_grad_enabled, library.is_grad_enabled()))
            if hasattr(library, "set_default_dtype"):
                self.kept.append((library.set_default_dtype, library.get_default_dtype()))
        self.anomaly = [library.autograd.set_detect_anomaly(False) for library in libraries]
        self.leave_anomaly()

    def leave_anomaly(self) -> None:
        """Have anomaly mode as it was when it was switched off to be asked."""
        for guard in self.anomaly:
            guard.__exit__()

    def set_back(self) -> None:
        """Set what the program has changed back to what it was."""
        self.leave_anomaly()
        for put, mode in self.kept:
            put(mode)

"""Programs run on two libraries, compared statement by statement, and cut down. Used by test_random_programs.py.

After each statement both libraries must have raised the same error (type and text), shown hooks the same gradients,
given the same answers, and made tensors that look the same: see `Machine.facts`. Numbers may differ by rounding, and
by what a program makes of it: program_rounding.py tells which differences are that.

Where PyTorch itself leaves open what comes of a statement the comparison ends after it: which of equal elements
topk and an unstable sort of more than 16 put first (`ties`), what is read from memory that is being written to
(`overlaps`), and what the tables below name.
"""

import re
import warnings

from tests.engine.facts import attempt, describe, same, saved_by, value_of
from tests.engine.program_rounding import PUSHES, is_rounding, level, numbers_in, shake
from tests.engine.random_programs import BYTES_A_LINE, LEAVES, names_of, write_statement

# --- running it --------------------------------------------------------------------------------------------


class Machine:
    """One library, the tensors of a program on it, and what its hooks and questions have seen."""

    def __init__(self, torch):
        self.torch, self.log, self.noted = torch, [], []
        self.names = {**names_of(torch), "seen": self.seen, "note": self.note}

    def seen(self, grad, result=True):
        self.log.append(None if grad is None else value_of(grad))
        return grad if result else None

    def note(self, answer):
        """Keep an answer; the numbers in a text are rounded, as one in the last place may differ.

        -0 is written like 0, which it equals: in a product of matrices BLAS decides between them.
        """
        answer = answer if isinstance(answer, float | list | str) else repr(answer)
        if isinstance(answer, str):
            answer = re.sub(r"\d+\.\d{4,}|\d{7,}\.\d*", lambda match: f"{float(match[0]):.4g}", answer)
            answer = re.sub(r"-(0\.0*)(?![\d.])", r"\1", answer)
        self.noted.append(answer)

    def run(self, statement):
        """Run a statement; the text of the error it raised, or None."""
        try:
            exec(compiled(statement), self.names)
        except Exception as error:
            return describe(error)
        return None

    def answers(self):
        """What the machine has answered and its tensors hold, as far as numbers go."""
        tensors = {
            name: (attempt(lambda t=t: value_of(t)), attempt(lambda t=t: grad_of(t)))
            for name, t in self.tensors().items()
        }
        return self.log, self.noted, tensors

    def tensors(self):
        """{name: tensor} of the program's tensors."""
        found = {}
        for name, value in self.names.items():
            if name[0] == "r" and name[1:2].isdigit() and isinstance(value, self.torch.Tensor):
                found[name] = value
        return found

    def look(self, names):
        """Everything there is to see of some tensors: {name: facts}."""
        tensors, at = self.tensors(), {}
        for name, t in tensors.items():
            if t.numel():
                at.setdefault(t.untyped_storage().data_ptr(), []).append(name)
        return {name: self.facts(tensors[name], tensors, at) for name in names if name in tensors}

    def facts(self, t, tensors, at):
        """Everything there is to see of one tensor."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            node = attempt(lambda: t.grad_fn)
        broken = isinstance(node, str)
        base = t._base
        return {
            "value": attempt(lambda: value_of(t)),
            "version": attempt(lambda: t._version),
            "requires_grad": attempt(lambda: t.requires_grad),
            "is_leaf": attempt(lambda: t.is_leaf),
            "node": node if broken else node and node.name(),
            "saved": None if broken else saved_by(node, self.torch),
            "next": None if broken or not node else [(n and n.name(), i) for n, i in node.next_functions],
            "base": None if base is None else sorted(n for n, r in tensors.items() if r is base),
            "output_nr": attempt(lambda: t.output_nr),
            "retains_grad": attempt(lambda: t.retains_grad),
            "inference": t.is_inference(),
            "memory": at[t.untyped_storage().data_ptr()] if t.numel() else None,
            "strides": strides(t) if base is not None and t.numel() and base.is_contiguous() else None,
            "grad": attempt(lambda: grad_of(t)),
        }


_compiled = {}


def compiled(statement):
    code = _compiled.get(statement)
    if code is None:
        code = _compiled[statement] = compile(statement, "<random program>", "exec")
    return code


def strides(t):
    """A view's strides, as far as they matter: of dimensions longer than 1."""
    return [(n, step) for n, step in zip(t.shape, t.stride(), strict=True) if n > 1]


def grad_of(t):
    """What `.grad` holds."""
    g = t.grad
    return None if g is None else (value_of(g), g.requires_grad)


def shares_gradients(machine):
    """True when two tensors of PyTorch's share one `.grad` memory: its issue 34082, which we do not copy."""
    seen, tensors = {}, list(machine.tensors().values())
    others = [t for t in tensors if not t.is_inference()]
    for t in [*tensors, *{id(t._base): t._base for t in tensors if t._base is not None}.values()]:
        g = attempt(lambda t=t: t.grad)
        if isinstance(g, machine.torch.Tensor):
            if 0 in g.stride() and any(n > 1 and not step for n, step in zip(g.shape, g.stride(), strict=True)):
                return True
            key = g.untyped_storage()._cdata
            if seen.setdefault(key, id(g)) != id(g):
                return True
            if any(other is not g and other.untyped_storage()._cdata == key for other in others):
                return True
    return False


# --- what need not agree -----------------------------------------------------------------------------------

# PyTorch's text -> why ours may raise another error there: most often two things are wrong with the statement, and
# each library notices another one first.
OTHER_ERROR = {
    "sizes or types of a product": "addmv input tensors|have (the )?same dtype|Expected size for first two"
    "|size mismatch, got|must be a matrix|.dot. not implemented",
    "memory that overlaps": "unsupported operation: (some elements|more than one)",
    "places out of range": "index_add_\\(\\): Number of indices|source tensor shape must match"
    "|index is out of bounds for dimension with size 0|index \\d+ is out of bounds for dimension",
    "shapes that do not fit": "The expanded size of the tensor|shape mismatch: value tensor|doesn't match the broadcast"
    "|permute\\(sparse_coo\\)|returned an invalid gradient",
    "a type that the kernel does not take": "not implemented for|expected dtype .* for `end`|Boolean inputs"
    "|bool tensor is not supported|result type Long can't be cast",
    "a view that may not be used": "its base or another view of its base has been modified|A view was created in"
    "|you can only change requires_grad flags",
    "a write that is forbidden, of a value that does not fit": "leaf Variable that requires grad is being used",
    "inference tensors": "functions with out=... arguments|on inference tensor outside|increment_version expect"
    "|Inference tensors cannot be saved",
    "no dimension to go along": "expects at least a 1-dimensional|Dimension specified as 0|reduction dim|0-dim",
    "a general sentence in ours": "vector \\+ matrix|1D tensors expected|must be a 3D tensor|einsum\\(\\)|unflatten: "
    "|movedim: |meshgrid|narrow\\(\\)|diagonal dimensions|negative dimension|[Rr]epeats must|Index to scalar"
    "|selected index k|isn't allowed in a leading|setStorage|duplicate dims|inner\\(\\)|X1 and X2|t_\\(\\) expects",
    "None in place of a tensor": "NoneType|all inputs have to be Tensors",
    "a limit of register_multi_grad_hook": "_will_engine_execute_node",
}
# PyTorch's text -> why ours need not raise at all.
NO_ERROR = {
    "PyTorch's kernels take fewer types than NumPy": "not implemented for|Boolean inputs|support bool"
    "|bool tensor is not",
    "PyTorch is at a loss": "INTERNAL ASSERT|moved into the graph interior|NoneType",
    "PyTorch computes with inference tensors by writing to others": "functions with out=... arguments",
    "PyTorch's in-place operations let integers require grad": "Autograd not support dtype",
    "what a Function returns is checked more strictly": "returned an invalid gradient",
    "memory that overlaps in a way too hard to see": "unsupported operation: some elements",
    "a limit of register_multi_grad_hook": "_will_engine_execute_node",
}
# Either's text -> why the comparison ends.
NO_MORE = {
    "PyTorch may have written the part that fitted": "IndexError",
    "PyTorch may have written the part before the zero": "ZeroDivisionError",
    "PyTorch runs a node that has no derivative before all others": "derivative for aten::",
    "PyTorch has written when it refuses": "Inplace update to inference tensor",
    "PyTorch reads the first size of a target that has none": r"target batch_size \(0\)",
    "a tensor is half an inference tensor after `.data =`": "Inference tensors do not track version counter",
}
OTHER_ERROR, NO_ERROR, NO_MORE = (
    re.compile("|".join(patterns.values())) for patterns in (OTHER_ERROR, NO_ERROR, NO_MORE)
)


def may_differ(statement, ours, theirs):
    """True for two outcomes of a statement that are known to differ, or after which more may differ."""
    if NO_MORE.search(f"{ours} {theirs}"):
        return True
    if "saved_tensors_hooks" in statement:
        # PyTorch packs what an operation keeps before it finds out that the operation fails; and a recorded backward
        # pass is made of other operations than ours, which keep other tensors
        if theirs is not None or "create_graph" in statement or ".grad_fn(" in statement:
            return True
    if "inference_mode" in statement and ".data = " in statement:
        return True  # PyTorch's is then half an inference tensor
    if ours != theirs and "view size is not compatible" in f"{ours} {theirs}":
        return True  # results may be laid out in several ways
    if theirs is None:
        return False
    if ours is None:
        return NO_ERROR.search(theirs) is not None
    return ours != theirs and OTHER_ERROR.search(theirs) is not None


# --- the comparison ----------------------------------------------------------------------------------------


class Difference(Exception):
    """The libraries disagree about a program. `kind` says in which respect, `facts` shows both answers."""

    def __init__(self, statements, kind, facts):
        super().__init__("\n" + "\n".join(statements) + "\n" + facts)
        self.statements, self.kind, self.facts = list(statements), kind, facts


class Rounding(Exception):
    """The libraries' answers differ by rounding, and by what one statement makes of it."""


UNSTABLE = re.compile(r"\.(sort|argsort|topk)\((?!.*stable=True)")
TURNED_AND_READ = re.compile(r"(r\d+(?:_1)?)\.(?:T|mT|t|permute|transpose|swap\w+|movedim)\b.*\w_\(.*\b\1\b")

# What a statement does that matters for the rules below.
MARKS = {
    "inference": re.compile("inference"),
    "reshapes": re.compile(r"\.data = |set_\(|squeeze_\("),
    "uses a gradient": re.compile(r"r\w+\.grad(?! =)\b"),
    "holds a gradient": re.compile(r"= r\w+\.grad(\[|$)", re.M),
    "writes": re.compile(r"\w_\(|[-+*/%]= |\] = "),
    "other nodes": re.compile(r"create_graph|\.grad_fn\(|\] = "),
    "gradients": re.compile("grad|backward"),
    "overwrites a leaf": re.compile("Dirty"),  # PyTorch lets go of its accumulator: a later backward may abort Python
}


def relative(facts):
    """Facts in which version errors say how many writes too late, not the two versions."""
    if isinstance(facts, dict):
        return {name: relative(fact) for name, fact in facts.items()}
    if not isinstance(facts, str):
        return facts
    return re.sub(r"version (\d+); expected version (\d+)", lambda m: f"+{int(m[1]) - int(m[2])}", facts)


class Run:
    """A program that runs on both libraries, statement by statement."""

    def __init__(self, ours, theirs, levelled=False):
        self.ours, self.theirs, self.statements = Machine(ours), Machine(theirs), []
        self.levelled = levelled  # our floats are given the bits of PyTorch's after each statement
        self.marks = set()  # what the statements so far have done

    def step(self, statement, look=()):
        """Run a statement and compare. `look`: names to look at; all for None. False when the comparison ends here."""
        self.statements.append(statement)
        marks = {mark for mark, pattern in MARKS.items() if pattern.search(statement)}
        self.marks |= marks
        on_leaves = "overwrites a leaf" in marks and self.leaves_in(statement)
        before = self.dimensions_of_leaves() if "reshapes" in marks else {}
        errors = self.ours.run(statement), self.theirs.run(statement)
        if "uses a gradient" in self.marks:
            errors = tuple(relative(error) for error in errors)
        if may_differ(statement, *errors):
            return False
        forgotten = "overwrites a leaf" in marks and (on_leaves or errors[1])  # refused, it has lost its .grad
        if "inference" in self.marks and "gradients" in marks:
            return False  # PyTorch does not record what takes nothing but inference tensors; we ask each tensor
        if "inference" in self.marks and "detach views" in str(errors[1]):
            return False  # some results on inference tensors are views: see `comparable`
        if errors[0] != errors[1] and not str(errors[1]).startswith(f"{errors[0]} "):  # ours may stop after a sentence
            self.differ("error", *errors)
        if (
            self.lost(statement, marks)
            or before
            and any(n < before.get(name, 0) for name, n in self.dimensions_of_leaves().items())
        ):
            return False
        if "inputs=" in statement and len(self.ours.log) == len(self.theirs.log):
            # What nobody asked for PyTorch does not compute; hooks of nodes are told None.
            self.ours.log = [None if b is None else a for a, b in zip(self.ours.log, self.theirs.log, strict=True)]
        if not same(self.ours.log, self.theirs.log):
            self.differ("hooks saw", self.ours.log, self.theirs.log)
        if "_version" in statement and self.marks & {"inference", "uses a gradient"}:
            self.ours.noted = list(self.theirs.noted)  # see `comparable`
        if not same(self.ours.noted, self.theirs.noted):
            self.differ("answer", self.ours.noted[-1:], self.theirs.noted[-1:])
        if forgotten and errors[1] or not self.look(look) or forgotten:
            return False
        if self.levelled:
            level(self.ours, self.theirs)
        return True

    def leaves_in(self, statement):
        """The leaves that a statement names, no views: to ask one whether it is a leaf makes its node anew."""
        tensors = {name: t for name, t in self.theirs.tensors().items() if name in statement and t._base is None}
        return [name for name, t in tensors.items() if t.is_leaf]

    def dimensions_of_leaves(self):
        """{name: number of dimensions} of the leaves that require grad.

        When one gets fewer, PyTorch looks for more strides of it than there are (utils/grad_layout_contract.h).
        """
        tensors = {name: t for name, t in self.theirs.tensors().items() if t._base is None}  # asking views renews them
        return {name: t.dim() for name, t in tensors.items() if t.is_leaf and t.requires_grad}

    def lost(self, statement, marks):
        """True after a statement from which PyTorch does not recover, or whose outcome it leaves open."""
        if self.ties(statement):
            return True
        if any(t.requires_grad and not t.is_floating_point() for t in self.theirs.tensors().values()):
            return True  # its in-place operations let integers require grad
        if any(t.retains_grad and attempt(lambda t=t: t.output_nr) for t in self.theirs.tensors().values()):
            return True  # it keeps the number of a second output when that is overwritten, and may crash in backward
        if "gradients" in marks and shares_gradients(self.theirs):
            return True
        return "writes" in marks and self.overlaps(statement)

    def overlaps(self, statement):
        """True for a write to a tensor from another view of it: PyTorch may read what it has written already."""
        tensors = self.theirs.tensors()
        named = {name for name in re.findall(r"r\d+(?:_1)?", statement) if name in tensors and tensors[name].numel()}
        places = {tensors[name].untyped_storage().data_ptr() for name in named}
        return len(places) < len(named) or TURNED_AND_READ.search(statement) is not None

    def ties(self, statement):
        """True where PyTorch leaves open which of equal elements come first: topk, unstable sorts of more than 16."""
        if not UNSTABLE.search(statement):
            return False
        open_from = 2 if ".topk(" in statement else 17
        tensors = self.theirs.tensors()
        sorted_here = [
            value_of(tensors[name])[2]
            for name in re.findall(r"r\d+(?:_1)?", statement)
            if name in tensors and max(tensors[name].shape, default=0) >= open_from
        ]
        return any(len(set(numbers_in(values))) < len(numbers_in(values)) for values in sorted_here)

    def look(self, names=None):
        """Compare all that can be seen of some tensors, or of all. False when nothing more can be compared."""
        names = self.theirs.tensors() if names is None else names
        mine, theirs = self.ours.look(names), self.theirs.look(names)
        if mine.keys() != theirs.keys():
            self.differ("tensors", sorted(mine), sorted(theirs))
        tolerance = 1e-3 if any("torch.float32" in str(facts["value"]) for facts in mine.values()) else 1e-5
        for name in mine:
            a, b = self.comparable(mine[name]), self.comparable(theirs[name])
            if "unallocated storage" in str(b["grad"]):
                a["grad"] = b["grad"]  # PyTorch's zeros without memory, from sign's gradient, cannot be read
            if None in (a["strides"], b["strides"]):
                a["strides"] = b["strides"] = None  # results may be laid out in several ways
            if a != b and not same(a, b, rel=tolerance):
                key = next(k for k in a if not same(a[k], b[k], rel=tolerance))
                self.differ(key, a[key], b[key], f" of {name}")
        return True

    def comparable(self, facts):
        """The facts about a tensor that the two libraries must agree on."""
        if "inference" in self.marks:
            facts["version"] = None  # PyTorch counts some writes inside operations on inference tensors
            facts["base"] = facts["strides"] = None  # ... and shows some views
        if "uses a gradient" in self.marks:
            facts["saved"] = relative(facts["saved"])
        if "holds a gradient" in self.marks:
            facts["version"] = None  # PyTorch counts the engine's own writes to a gradient, and does other writes
        if facts["next"] and "other nodes" in self.marks:
            facts["next"] = None  # a recorded backward pass is made of other nodes; an assigned value may be reshaped
        elif facts["next"]:
            facts["next"] = [edge for edge in facts["next"] if edge[0]]
        return facts

    def made_of_last_places(self):
        """True when PyTorch's own answers to the last statement move as far when its floats are pushed a little."""
        pushed = []
        for places, seed in PUSHES:
            machine = Machine(self.theirs.torch)
            for statement in self.statements[:-1]:
                machine.run(statement)
            shake(machine, places, seed)
            machine.run(self.statements[-1])
            pushed.append(machine.answers())
        return is_rounding(self.ours.answers(), self.theirs.answers(), pushed)

    def differ(self, kind, ours, theirs, where=""):
        """Raise the Difference; Rounding if it is no more than that."""
        if self.levelled and kind in ("value", "grad", "hooks saw", "answer") and self.made_of_last_places():
            raise Rounding
        raise Difference(self.statements, kind, f"# {kind}{where}\n#   ours:  {ours}\n#   torch: {theirs}")


def but_for_rounding(compare):
    """compare(levelled): runs a program as it is and, if that shows a difference, so that roundings do not add up."""
    try:
        return compare(False)
    except Difference:
        try:
            return compare(True)
        except Rounding:
            return []


def run_random(data, ours, theirs):
    """Write a program from bytes and run it; Difference at the first disagreement. Returns the statements."""
    return but_for_rounding(lambda levelled: write_and_run(data, Run(ours, theirs, levelled)))


def write_and_run(data, run):
    """Write a program from bytes, statement by statement, and run it."""
    run.step("r0 = " + LEAVES[data[0] % len(LEAVES)])
    for number, at in enumerate(range(0, len(data) - BYTES_A_LINE + 1, BYTES_A_LINE), 1):
        chunk = data[at : at + BYTES_A_LINE]
        shapes = {name: t.shape for name, t in run.theirs.tensors().items()}
        statement = write_statement(chunk, number, shapes)
        look = None if chunk[4] % 4 == 0 else [f"r{number}", f"r{number}_1"]
        if not run.step(statement, look):
            return run.statements
    run.look()
    return run.statements


def replay(statements, ours, theirs, always_look=False):
    """Run a written program; Difference at the first disagreement."""

    def compare(levelled):
        run = Run(ours, theirs, levelled)
        for statement in statements:
            if not run.step(statement, None if always_look else ()):
                return
        run.look()

    but_for_rounding(compare)


def difference_of(statements, ours, theirs, kind):
    """The Difference that a program shows, if it is of this kind; None otherwise."""
    for always_look in (False, True):
        try:
            replay(statements, ours, theirs, always_look)
        except Difference as difference:
            if difference.kind == kind and "NameError" not in difference.facts:
                return difference
    return None


def shrink(difference, ours, theirs):
    """The shortest program found that shows the same kind of difference: statements are left out one by one."""
    best = difference_of(difference.statements, ours, theirs, difference.kind) or difference
    shorter = True
    while shorter:
        shorter = False
        for candidate in shorter_programs(best.statements):
            found = difference_of(candidate, ours, theirs, difference.kind)
            if found is not None:
                best, shorter = found, True
                break
    return best


def shorter_programs(statements):
    """The same program without one statement, or with a block in place of which one of its lines stands."""
    for i in reversed(range(len(statements))):
        yield statements[:i] + statements[i + 1 :]
    for i, statement in enumerate(statements):
        mode, *lines = statement.split("\n    ")
        for j in range(len(lines)):
            if len(lines) > 1:
                rest = lines[:j] + lines[j + 1 :]
                yield [*statements[:i], "\n    ".join([mode, *rest]), *statements[i + 1 :]]
        if lines:
            yield [*statements[:i], *lines, *statements[i + 1 :]]

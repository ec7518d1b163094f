"""From a row of the table to an operation: writes the Python source of `mul`, `mul_` and `MulBackward0`.

PyTorch: tools/autograd/gen_autograd_functions.py, gen_variable_type.py, torch/csrc/autograd/functions/utils.h.

Note [What an operation does, in order]
    row("exp(self)", "np.exp(self)", self="grad * result")      becomes, shortened:

    def exp(self):
        result = allocate(Tensor); result.array = np.exp(self.array)    # 1. compute; if need be, after promotion
        if state.recording <= 0:                                # 2. is anybody recording?
            return result
        self_edge = ...                                         # 3. where would a gradient go? nowhere: done
        result.node = node = ExpBackward0()                     # 4. record: edges, number,
        node.saved_result = SavedOutput.of(result)               #    and what the formulas will need, no more
        return result

    class ExpBackward0(Node):
        def apply(node, grad):
            result = ...                                        # 5. unpack, with the version check
            return (grad * result,)

Code that does this step by step for any row, looking the row up each time, takes 1.5 times as long (a chain of
products of one element). So each operation is written out, by the functions below, from the row: there is nothing in
the text that the row does not say. `print(source_of("exp"))` shows it whole, and its mirror image `exp_`, which writes
first and then gives self the new history.
"""

import re

from course_lib.arrays import dtypes
from course_lib.engine import arguments, grad_mode
from course_lib.engine.saved import pack_slots
from course_lib.engine.tensor import Tensor

state = grad_mode.state

UNIFORM = ("fill", "zero", "masked_fill", "masked_fill_tensor")  # elements may share a place
NAMED_IN_FULL = ("CopyBackwards", "NotImplemented")  # PyTorch writes these by hand, and their names show it

ROWS = {}  # name -> Row: the whole table, filled by the files called derivatives.py

# Note [Operations are written when first used]
# An operation's source is made from its row the first time somebody asks for it, and registered with linecache:
# `torch.exp??`, tracebacks and debuggers show it. Writing all of them at import would cost as much again as
# importing NumPy.


class Row:
    """One line of the table: how an operation computes, and how its gradients do.

    What engine/derivatives.py uses:

    schema    "name(self, other, dim=None)": parameters with a formula, or marked ": Tensor", are tensors; if the
              first operand is marked, none may be a number. ": dim" marks a dimension of self, counted from either end,
              ": Number" a number, Python's or NumPy's or in a tensor
    forward   an expression in NumPy; tensor parameters stand for their arrays
    formulas  parameter -> expression for its gradient, in `grad` and the other names. **The names an expression
              uses are what the node saves, and only if that expression will be needed**: tensors, `result`,
              numbers, and shapes written as `self_sym_sizes`
    names     how users reach it: "function" of torch, "method" of Tensor, "in_place" (mul_), operators ("__mul__")
    node      the node's name, when it is not the operation's name + Backward0
    keeps     names that are saved whichever formula is needed, and also if no formula asks for them: PyTorch's node
              does so, and shows them (`_saved_self` of gather)
    promotes  what brings the operands to one type, where that is not `promote`
    floating  integers become float32 first (sin, exp, division)
    elementwise   operands may be numbers, are promoted to a common type and broadcast: True, or their names;
                  left out, True for all but views and rows with several outputs
    broadcasts    these inputs may have other shapes and types than the result, so the engine must fit their gradients
    view      the result looks at self's memory; "multiple outputs" when there are several
    in_place  also make the variant that overwrites self (left out: when element-wise; "only": make nothing else)

    Only on the table's other pages, so skip it this evening:

    outputs   names of several results; only the first has a gradient, the others can be used in formulas
    of_tensor the row that takes over when the last argument, a number here, is a tensor
    In a schema ": new dim" marks the place of a dimension that self gets. In keeps "a with b" saves a for b's formula.
    """

    def __init__(
        self, schema, forward, /, *, names="", node=None, keeps=(), floating=False, elementwise=None, broadcasts=(),
        view=False, outputs=None, in_place=None, promotes="promote", of_tensor=None, **formulas
    ):
        self.name, _, schema = schema.removesuffix(")").partition("(")
        self.forward, self.formulas, self.outputs = forward, formulas, outputs
        self.floating, self.view, self.promotes, self.of_tensor = floating, view, promotes, of_tensor
        self.node = node or "".join(word.title() for word in self.name.split("_")) + "Backward0"
        if elementwise is None:
            elementwise = not view and outputs is None
        self.in_place = bool(elementwise) if in_place is None else in_place
        self.is_function, self.methods = "function" in names.split(), self.read_names(names.split())
        self.read_schema(schema.split(", "), elementwise)
        broadcasts = broadcasts or (self.operands if len(self.operands) > 1 else ())
        self.broadcasts = [p for p in self.formulas if p in broadcasts]
        self.read_formulas(keeps)

    def read_names(self, names: list) -> dict:
        """Return {method of Tensor: operation}: for mul {"mul_": "mul_", "__mul__": "mul", "__imul__": "mul_" ...}."""
        arguments.OPERATORS.update(self.name for name in names if name.startswith("__i"))
        methods = [self.name] * ("method" in names) + [self.name + "_"] * ("in_place" in names)
        operators = {name: self.name + "_" * name.startswith("__i") for name in names if name.startswith("__")}
        return {name: name for name in methods} | operators

    def read_schema(self, marked: list, elementwise: bool | tuple) -> None:
        """Find what the schema says of the parameters.

        parameters  as the function's own head has them, and `names`, without defaults
        dims        those that name a dimension, and `numbers`, those that are marked as numbers
        tensors     those that are tensors, and `operands`, those of them that may be numbers and are promoted
        """
        self.parameters = [re.sub(r": (Tensor|Number|int|dim|new dim)\b", "", p) for p in marked]
        self.names = [p.partition("=")[0] for p in self.parameters]
        self.dims = dict(p.split(": ") for p in marked if p.endswith((": dim", ": new dim")))
        self.tensors = [n for n, p in zip(self.names, marked, strict=True) if n in self.formulas or ": Tensor" in p]
        self.integers = [n for n, p in zip(self.names, marked, strict=True) if re.search(r": (int|dim|new dim)\b", p)]
        self.numbers = [n for n, p in zip(self.names, marked, strict=True) if ": Number" in p]
        self.operands = self.tensors if elementwise is True else list(elementwise or ())
        self.only_tensors = bool(self.operands) and f"{self.operands[0]}: Tensor" in marked

    def read_formulas(self, keeps: tuple) -> None:
        """Find what the formulas need of the node.

        wants      for each input, the names that its formula takes from the node
        saved      {name: the inputs whose formula needs it}, in the order in which backward unpacks: results last

        So for mul(self, other), whose formulas are self="grad * other" and other="grad * self", `wants` is {"self":
        ["other"], "other": ["self"]}, and `saved` {"other": ["self"], "self": ["other"]}: each factor for the other.
        """
        results = self.outputs or ("result",)
        geometry = {f"{p}_sym_{what}" for p in self.tensors for what in ("sizes", "strides")}
        known, names = {*self.names, *geometry, *results}, re.compile(r"(?<![\w.'])[a-zA-Z_]\w*")  # not those in quotes
        self.wants = {p: sorted(known.intersection(names.findall(f))) for p, f in self.formulas.items()}
        saved = {}
        for p, wanted in self.wants.items():
            for name in wanted:
                saved.setdefault(name, []).append(p)
        for name in keeps:
            name, _, user = name.partition(" with ")
            saved[name] = [user] if user else list(self.formulas)
        self.saved = dict(sorted(saved.items(), key=lambda item: (item[0] in results, item[0])))

    def is_saved_tensor(self, name: str) -> bool:
        """Return True for saved names that stand for tensors rather than numbers or shapes."""
        return name in self.tensors or name in (self.outputs or ("result",))


def row(schema: str, forward: str, /, **options) -> None:
    """Add a line to the table: see Row."""
    new = Row(schema, forward, **options)
    ROWS[new.name] = new


# --- writing the source ------------------------------------------------------------------------------------


def on_arrays(expression: str, tensors: list) -> str:
    """Return the forward expression with each tensor parameter replaced by the name of its array."""
    return re.sub(r"(?<![\w.])(" + "|".join(tensors) + r")\b(?!\s*=[^=])", r"\1_array", expression)


def write_node(row: Row) -> list:
    """Return the source of the node class: what it keeps, its formulas, and what it lets go.

    release() empties the slots of tensors only. Numbers and shapes stay: they cost nothing, and a node that keeps
    no tensor can run again.
    """
    slots = [f"saved_{name}" for name in row.saved] + ["input_metadata"] * bool(row.broadcasts)
    slots += ["output_count"] * (row.view == "multiple outputs")
    saved_tensors = tuple(name for name in row.saved if row.is_saved_tensor(name))
    text = [
        f"class {row.node}(Node):",
        *in_two_lines(f"    __slots__ = {tuple(slots)!r}"),
        f"    saved_names = {tuple(row.saved)!r}",
        f"    saved_tensor_names = {saved_tensors!r}",
    ]
    if row.view == "multiple outputs":
        text.append("    several_outputs = True")
    if len(row.formulas) > 1:
        text.append("    can_skip_inputs = True")
    if row.node in NAMED_IN_FULL:
        text += ["", "    def name(node):", f"        return 'torch::autograd::{row.node}'"]
    text += ["", *write_apply(row, "apply", arrays=True), "", *write_apply(row, "apply_to_tensors", arrays=False)]
    if saved_tensors:
        text += ["", "    def release(node):"]
        for name in saved_tensors:
            text += [f"        if node.saved_{name} is not None:", f"            node.saved_{name} = FREED"]
    return text


def write_apply(row: Row, method: str, arrays: bool) -> list:
    """Return the gradients of the inputs; on arrays, or on tensors when the backward pass itself is recorded.

    One formula becomes `return (formula,)`. Several become, for mul:

        self_edge, other_edge = edges or node.edges
        grad_self = grad_other = None
        ...                                      # unpack other, unpack self
        if self_edge:                            # only gradients that somebody waits for
            grad_self = grad * other
    """
    several = len(row.formulas) > 1
    grad = "grads" if row.view == "multiple outputs" else "grad, edges=None" if several else "grad"
    text = [f"    def {method}(node, {grad}):"]
    if several:
        edges = ", ".join(f"{p}_edge" for p in row.formulas)
        grads = " = ".join(f"grad_{p}" for p in row.formulas)
        text += [f"        {edges} = edges or node.edges", f"        {grads} = None"]
    for name in filter(row.is_saved_tensor, row.saved):  # all are unpacked, so that each one's version is checked
        if several:
            text += [f"        {name} = None", f"        if node.saved_{name} is not None:"]
        indent = "    " * (2 + several)  # one level deeper below the question that several formulas ask
        text += [indent + line for line in write_unpack(row, name, arrays)]
    for p, formula in sorted(row.formulas.items()):  # in PyTorch's order, which third derivatives show
        if arrays:
            formula = re.sub(r"\bt\((\w+)\)", r"\1.T", formula)  # spares a call
        indent = "        "
        if several:
            text.append(f"        if {p}_edge:")
            indent += "    "
        for name in row.wants[p]:
            if not row.is_saved_tensor(name):
                text.append(f"{indent}{name} = node.saved_{name}")
        text.append(f"{indent}grad_{p} = {formula}" if several else f"{indent}return ({formula},)")
    if several:
        text.append(f"        return {', '.join(f'grad_{p}' for p in row.formulas)}")
    return text


def write_unpack(row: Row, name: str, arrays: bool) -> list:
    """Fetch a saved tensor from the node, with the version check.

    What SavedVariable.unpack does stands in line for the case that all is well, which spares a call for each saved
    tensor. `kept.tensor` is None in a slot that was freed or packed by hooks; unpack() then does what is to be done.
    """
    if f"{name}=None" in row.parameters:
        array = ".array" if arrays else ""
        return [f"{name} = None if node.saved_{name} is None else node.saved_{name}.unpack(node){array}"]
    if not arrays:
        return [f"{name} = node.saved_{name}.unpack(node)"]
    return [
        f"kept = node.saved_{name}",
        f"{name} = kept.tensor",
        f"if {name} is None or {name}.node is not kept.history or (",
        f"    {name}.version is not None and {name}.version.value != kept.version",
        "):",
        f"    {name} = kept.unpack(node)",
        f"{name} = {name}.array",
    ]


def write_edges(row: Row) -> list:
    """Return where each input's gradient will go; None for one that wants none.

    For an ordinary result that is its node. Whatever is special has a `meta`: leaves, views, second outputs.
    """
    text = []
    for p in row.formulas:
        value = f"{p}.node if {p}.meta is None else {p}.meta.leaf_edge() or gradient_edge({p})"
        if f"{p}=None" in row.parameters:
            value = f"None if {p} is None else {value}"
        text += [f"{p}_edge = {value}"] if len(value) < 120 else [f"{p}_edge = (", f"    {value}", ")"]
    return text


def write_record(row: Row, overwriting: bool) -> list:
    """Make the node: edges, number, and what each needed formula wants saved. For in-place, up to the write.

    A name that only the formula of x wants is saved only if x has an edge: `x * c` with a constant c keeps c, for the
    gradient of x, and not x. An operation that overwrites self must keep a copy of what self was.
    """
    several = len(row.formulas) > 1
    text = [
        f"node = {row.node}()",
        "node.edges = (" + ", ".join(f"{p}_edge" for p in row.formulas) + ("," if not several else "") + ")",
        "node.sequence_nr = next_sequence_nr()",
        "node.hooks = node.visited = node.notes = None",
    ]
    for name, users in row.saved.items():
        if name in (row.outputs or ("result",)):
            continue
        needed = " or ".join(f"{p}_edge" for p in users) if len(users) < len(row.formulas) else ""
        if name.endswith("_sym_sizes") and name not in row.names:
            value, needed = f"{name.removesuffix('_sym_sizes')}_array.shape", ""
        elif name.endswith("_sym_strides"):
            value = f"strides_of({name.removesuffix('_sym_strides')}_array)"
        elif not row.is_saved_tensor(name):
            value, needed = name, ""
        elif overwriting and name == "self":
            value = "SavedVariable.of(copy_of(self))"
        else:
            if f"{name}=None" in row.parameters:
                needed = f"{name} is not None" + (f" and ({needed})" if needed else "")
            text += write_save(name, needed)
            continue
        absent = "()" if name.endswith("_sym_strides") else "None"
        text.append(f"node.saved_{name} = {value}" + (f" if {needed} else {absent}" if needed else ""))
    return text


def write_save(name: str, needed: str) -> list:
    """Save an input by reference: what SavedVariable.of does, in line."""
    save = [
        f"node.saved_{name} = kept = SavedVariable()",
        f"kept.tensor, kept.history = {name}, {name}.node",
        f"kept.version = 0 if {name}.version is None else {name}.version.value",
        f"if {name}.meta is not None and {name}.meta.inference:",
        "    raise RuntimeError(INFERENCE_SAVED)",
    ]
    if not needed:
        return save
    return [f"if {needed}:", *("    " + line for line in save), "else:", f"    node.saved_{name} = None"]


def write_results_kept(row: Row, overwriting: bool) -> list:
    """Save the results that formulas want, and note the forms of inputs that were broadcast or promoted.

    This comes last: in place, the result exists only after the write, and must be kept with the version it then has.
    """
    result = "self" if overwriting else "result"
    text = []
    for position, output in enumerate(row.outputs or ("result",)):
        if output in row.saved:  # of several results only the first has this node
            value = f"{'SavedVariable' if position else 'SavedOutput'}.of({output if row.outputs else result})"
            users = row.saved[output]
            needed = " or ".join(f"{p}_edge" for p in users)
            condition = f" if {needed} else None" if len(users) < len(row.formulas) else ""
            text.append(f"node.saved_{output} = {value}{condition}")
    return text + write_forms(row, result) if row.broadcasts else text


def write_forms(row: Row, result: str) -> list:
    """Set `input_metadata`, to which the engine brings gradients back; None for operands of one shape and type."""
    others = [p for p in row.broadcasts if p != result]
    if not others:
        return ["node.input_metadata = None"]
    form = "form({0}, {1}, promoted)" if len(row.broadcasts) > 1 else "({0}.array.shape, {0}.array.dtype)"
    forms = [form.format(p, result) if p in row.broadcasts else "None" for p in row.formulas]
    differ = (f"    {p}_edge and {p}.array.shape != shape or" for p in others)
    lines = [f"shape = {result}.array.shape", "if (", *differ, "    promoted", "):",
             f"    node.input_metadata = ({', '.join(forms)}{',' * (len(forms) == 1)})"]
    if others == row.tensors and len(others) == 2:  # most operands have one shape, and need no more than this question
        first, second = (f"{p}_array.shape" for p in others)
        lines = [f"if promoted or {first} != {second}:", *("    " + line for line in lines)]
    if len(row.operands) < 2:  # nothing has been promoted on the way in
        types = " is ".join(f"{p}.array.dtype" for p in (*others, result))
        lines.insert(0, f"promoted = not ({types})")
    return ["node.input_metadata = None", *lines]


def in_two_lines(line: str, longest: int = 150) -> list:
    """Break a long line of generated source after a comma."""
    if len(line) <= longest:
        return [line]
    at = line.rindex(", ", 0, longest) + 1
    return [line[:at], " " * line.index("'") + line[at:].lstrip()]


def write_operation(row: Row) -> list:
    """Return the source of the operation itself: Note [What an operation does, in order]."""
    gradients = "; ".join(f"d{p}: {formula}" for p, formula in row.formulas.items())
    described = row.forward + (f"   [{gradients}]" if gradients else "")
    text = [f"def {row.name}({', '.join(row.parameters)}):", f'    """{row.name}: {described}"""']
    text += arguments.write_arguments(row)
    forward = on_arrays(row.forward, row.tensors)
    results = row.outputs or ("result",)
    if row.view:
        return text + write_view_result(row, forward)
    if row.outputs:
        text += [f"    arrays = {forward}", f"    {', '.join(row.outputs)} = [new_tensor(array) for array in arrays]"]
    else:
        text.append("    result = allocate(Tensor)")
        if len(row.operands) > 1:
            text += ["    try:", f"        result.array = {forward}", "    except ValueError:",
                     f"        raise broadcast_error({', '.join(row.tensors)}) from None",
                     f"    if {row.operands[0]}_array.ndim > 1 and not {row.operands[0]}_array.flags.c_contiguous:",
                     f"        result.array = kernels.in_order_of({row.operands[0]}_array, result.array)"]
        else:
            text.append(f"    result.array = {forward}")
        if dtypes.NARROW:
            text.append("    result.array = dtypes.widened(result.array)")
        text.append("    result.node = result.version = result.meta = None")
    returned, several = ", ".join(results), len(results) > 1 and f"({', '.join(results)})"
    text += ["    recording = state.recording", "    if recording <= 0:",
             f"        return {several or returned} if recording == 0 else mark_inference({returned})"]
    if not row.formulas:
        return text + [f"    return {returned}"]
    text += ["    " + line for line in write_edges(row)]
    text += [f"    if {' and '.join(f'{p}_edge is None' for p in row.formulas)}:", f"        return {returned}"]
    body = write_record(row, overwriting=False)
    body[0] = f"{results[0]}.node = {body[0]}"
    text += ["    " + line for line in body + write_results_kept(row, overwriting=False)]
    return text + ["    if recording == 2:", f"        instrument(node, {results[0]})", f"    return {returned}"]


def write_view_result(row: Row, forward: str) -> list:
    """Return the last part of a view: results on self's memory, one node for all of them."""
    if row.view == "multiple outputs":
        text = [f"    arrays = {forward}",
                "    result = [make_view(self, array, 'multiple outputs') for array in arrays]"]
    else:
        text = [f"    result = make_view(self, {forward})"]
    # A view of a tensor made in inference mode has no history outside of the mode either, as in PyTorch.
    text += ["    recording = state.recording",
             "    if recording <= 0 or self.meta is not None and self.meta.inference is True:", "        return result",
             *("    " + line for line in write_edges(row)), "    if self_edge is None:", "        return result"]
    body = write_record(row, overwriting=False)
    if row.view == "multiple outputs":
        body += ["node.output_count = len(result)", "for number, part in enumerate(result):", "    part.node = node",
                 "    part.meta.output_nr, part.meta.edge_to_output = number, True"]
    else:
        body[0] = f"result.node = {body[0]}"
    text += ["    " + line for line in body]
    return text + ["    if recording == 2:", "        instrument(node, result)", "    return result"]


def write_in_place(row: Row) -> list:
    """Return the source of the variant that overwrites `self`.

    Its order matters: refuse what may not be written to, before anything happens; take the edges, which are those of
    the old value; keep what formulas want of the old value; write, which counts; then change the history, and only
    then keep the result.
    """
    name = row.name + "_"
    text = [f"def {name}({', '.join(row.parameters)}):", f'    """{name}: overwrites self by {row.forward}"""']
    recorded = " and self.array.dtype.kind == 'f'" if row.in_place == "only" else ""  # integers have no gradient
    wants, checked = " or ".join(f"requires_grad({p})" for p in row.formulas), recorded * (row.name == "copy")
    text += arguments.write_arguments(row, "_", [
        "    recording = state.recording", "    if self.meta is not None and (recording > 0 or self.meta.inference):",
        f"        check_in_place(self, recording > 0{checked} and ({wants}))",
    ])  # fmt: skip
    text += ["    tracked = False", f"    if recording > 0{recorded}:"]
    text += ["        " + line for line in write_edges(row)]
    text.append(f"        tracked = {' or '.join(f'{p}_edge is not None' for p in row.formulas)}")
    text.append("    if tracked:")
    text += ["        " + line for line in write_record(row, overwriting=True)]
    text += ["        if recording == 2 and state.saved_tensor_hooks:",
             "            pack_slots(node)  # hooks see what is kept before it is overwritten"]
    text += ["    " + line for line in write_overwriting(row)]
    text += ["    if tracked:", "        rebase_history(self, node)"]
    text += ["        " + line for line in write_results_kept(row, overwriting=True)]
    text += ["        if recording == 2:", "            instrument(node, self)"]
    return text + ["    return self"]


UFUNCS = {"self + other": "np.add", "kernels.subtract(self, other)": "np.subtract", "self * other": "np.multiply"}


def write_overwriting(row: Row) -> list:
    """Return the write itself: through a second array, or where self lies when nothing has to be fitted."""
    others = "".join(f", {t}" for t in row.tensors[1:])
    value = on_arrays(row.forward, row.tensors)
    if row.name in UNIFORM:
        others = ", uniform=True"
    elif row.name == "fill_tensor":
        others = ""  # the value may be one of self's own elements
    if len(row.operands) < 2:
        return [f"write(self, {value}{others})"]
    text = ["try:", f"    values = {value}", "except ValueError:",
            f"    raise broadcast_error({', '.join(row.tensors)}) from None", f"write(self, values{others})"]
    if row.forward not in UFUNCS:
        return text
    return ["if promoted or self_array.dtype is BOOL or not update(self, " + UFUNCS[row.forward] + ", other):",
            *("    " + line for line in text)]


# --- what generated code calls -----------------------------------------------------------------------------

def instrument(node: object, result: Tensor) -> None:
    """Do what a recorded operation does extra under saved-tensor hooks, anomaly mode or an instrument."""
    if state.saved_tensor_hooks:
        pack_slots(node, result)
    if state.anomaly:
        state.anomaly.note_node(node, result)
    for recorder in INSTRUMENTS:
        recorder(node, result)


INSTRUMENTS = []  # functions of (node, result), called for every node while recording is INSTRUMENTED

"""Programs that need real PyTorch: autocast, torch.compile, DDP, an LSTM, C++ functions by name, memory taken over.

Each is text, so that a lesson prints exactly what was run. HELPERS stand before them all.
"""

HELPERS = '''
import os

os.environ["TORCH_SHOW_CPP_STACKTRACES"] = "1"  # read once, when PyTorch raises its first error
os.environ["TORCH_CPP_LOG_LEVEL"] = "ERROR"
import re
import tempfile
import warnings

import torch

nn, F = torch.nn, torch.nn.functional


def listing(result, model=None):
    """One line for each node behind a result, the newest first: its name, and the nodes that its arrows lead to."""
    names = {id(p): name for name, p in model.named_parameters()} if model is not None else {}

    def called(node):
        if hasattr(node, "variable"):
            return names.get(id(node.variable), "a leaf")
        return "None" if node is None else node.name()

    met, waiting = [], [result.grad_fn]
    for node in waiting:
        if node is not None and node not in met and not hasattr(node, "variable"):
            met.append(node)
            waiting += [after for after, _ in node.next_functions]
    for node in sorted(met, key=lambda node: -node._sequence_nr()):
        print(f"{node.name():26} -> {', '.join(called(after) for after, _ in node.next_functions)}")


def functions_of(error):
    """The functions of autograd in the C++ part of an error's traceback, the one that raised first."""
    found = []
    for line in str(error).splitlines():
        frame = re.match(r"(?:frame )?#\\d+:? (?:void )?(torch::autograd::|THP)(.*)", line)
        if frame:
            prefix = "THP" if frame[1] == "THP" else ""
            body = re.sub(r"generated::|python::|VariableType::\\(anonymous namespace\\)::", "", frame[2])
            name = prefix + re.match(r"[\\w:]+?operator\\(\\)|[\\w:]+", body)[0]
            if not found or found[-1] != name:
                found.append(name)
    return found
'''

PROGRAMS = {
    "attention, two ways": """\
def saved_by(attention, time):
    sizes = {}

    def pack(tensor):
        if not tensor.is_leaf:  # as ledger(leaves=False)
            sizes[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    q, k, v = [torch.randn(1, 2, time, 4, requires_grad=True) * 1 for _ in range(3)]
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda packed: packed):
        result = attention(q, k, v)
    return f"{sum(sizes.values()):>9,} bytes", result.grad_fn.name()


def by_hand(q, k, v):
    time, size = q.shape[-2:]
    ahead = torch.ones(time, time).triu(1) == 1
    scores = q @ k.transpose(-2, -1) / size**0.5
    return scores.masked_fill(ahead, float("-inf")).softmax(-1) @ v


def by_the_kernel(q, k, v, **options):
    return F.scaled_dot_product_attention(q, k, v, is_causal=True, **options)


for time in (16, 64, 256, 1024):
    print(f"{time:4} places: {saved_by(by_hand, time)[0]} by hand, {saved_by(by_the_kernel, time)[0]} by the kernel")
for attention in (by_hand, by_the_kernel):
    print(f"{attention.__name__} ends in {saved_by(attention, 16)[1]}")
""",
    "attention, off the kernel": """\
def saved_by(attention, time=256):
    sizes = {}

    def pack(tensor):
        if not tensor.is_leaf:
            sizes[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    q, k, v = [torch.randn(1, 2, time, 4, requires_grad=True) * 1 for _ in range(3)]
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda packed: packed):
        attention(q, k, v)
    return f"{sum(sizes.values()):>9,} bytes"


def attend(**options):
    return lambda q, k, v: F.scaled_dot_product_attention(q, k, v, **options)


fixed, learned = torch.zeros(256, 256), torch.zeros(256, 256, requires_grad=True)
print("is_causal=True          ", saved_by(attend(is_causal=True)))
print("attn_mask=fixed         ", saved_by(attend(attn_mask=fixed)))
print("attn_mask=learned       ", saved_by(attend(attn_mask=learned)))
print("dropout_p=0.1           ", saved_by(attend(is_causal=True, dropout_p=0.1)))
many = nn.MultiheadAttention(8, 2, batch_first=True)
x = torch.ones(1, 6, 8)
for options in ({}, {"need_weights": False}):
    node = many(x, x, x, **options)[0].grad_fn
    met = [node]
    for node in met:
        met += [after for after, _ in node.next_functions if after is not None and after not in met]
    names = {node.name() for node in met}
    kernel = any("ScaledDotProduct" in name for name in names)
    print("nn.MultiheadAttention, called with", options or "no options", "- the kernel" if kernel else "- by hand")
q = torch.randn(1, 2, 4, 4, requires_grad=True)
(slope,) = torch.autograd.grad(attend()(q, q, q).sum(), q, create_graph=True)
try:
    slope.sum().backward()
except RuntimeError as error:
    print("a second derivative:", str(error).splitlines()[0])
""",
    "autocast": """\
net = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 2))
with torch.autocast("cpu", dtype=torch.bfloat16):
    scores = net(torch.randn(3, 4))
    loss = F.cross_entropy(scores, torch.tensor([0, 1, 0]))
listing(loss, net)
loss.backward()
print("scores:", scores.dtype, "- loss:", loss.dtype, "- gradient of a weight:", net[0].weight.grad.dtype)
""",
    "autocast, one layer twice": """\
layer = nn.Linear(4, 4)
with torch.autocast("cpu", dtype=torch.bfloat16):
    y = layer(layer(torch.randn(3, 4)))
listing(y, layer)
""",
    "autocast, and a write": """\
def factor(frozen=False):
    layer, x = nn.Linear(2, 2, bias=False).requires_grad_(not frozen), torch.ones(1, 2)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        before = layer(x)
        with torch.no_grad():
            layer.weight.mul_(10)
        after = layer(x)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        in_a_new_block = layer(x)
    return [round((each / before).float().mean().item(), 1) for each in (after, in_a_new_block)]


after, in_a_new_block = factor()
print("after the write:", after, "times as large")
print("after the write, the weight frozen:", factor(frozen=True)[0], "times as large")
print("in a new block:", in_a_new_block, "times as large")
layer, losses = nn.Linear(2, 2), []
optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
with torch.autocast("cpu", dtype=torch.bfloat16):
    for step in range(3):
        optimizer.zero_grad()
        loss = (layer(torch.ones(1, 2)) ** 2).sum()
        loss.backward()
        optimizer.step()
        losses.append(round(loss.item(), 4))
print("three steps of training in one block, the losses:", losses)
""",
    "compile": """\
net = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 2))
compiled = torch.compile(net, backend="aot_eager")
loss = compiled(torch.randn(3, 4)).sum()
listing(loss, net)
node = loss.grad_fn.next_functions[0][0]
print("it saves tensors of the shapes", [tuple(each.shape) for each in node.saved_tensors])
""",
    "compile, with a break": """\
layer = nn.Linear(4, 4)


def forward(x):
    h = torch.tanh(layer(x))
    print("half way")  # cannot be compiled
    return torch.tanh(layer(h))


listing(torch.compile(forward, backend="aot_eager")(torch.randn(3, 4)), layer)
""",
    "compile, and a write": """\
net = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 2))
loss = torch.compile(net, backend="aot_eager")(torch.randn(3, 4)).sum()
with torch.no_grad():
    net[2].weight.mul_(2)
try:
    loss.backward()
except RuntimeError as error:
    print(str(error).partition(" Hint")[0])
""",
    "compile, in two halves": """\
from functorch.compile import aot_function, default_partition, min_cut_rematerialization_partition


def forward(x):
    return x.sin().cos().sin().sum()


def operations(graph):
    return " ".join(node.target.__name__.partition(".")[0] for node in graph.graph.nodes if node.op == "call_function")


def shows(half):
    def compiler(graph, inputs):
        print(f"{half:9}", operations(graph))
        return graph

    return compiler


for partition in (default_partition, min_cut_rematerialization_partition):

    def cut(joint, inputs, **options):
        print("joint    ", operations(joint))
        return partition(joint, inputs, **options)

    print(f"\\n{partition.__name__}")
    y = aot_function(forward, shows("forward"), shows("backward"), cut)(torch.ones(3, requires_grad=True))
    print("saved tensors:", len(y.grad_fn.saved_tensors))
    y.backward()
""",
    "whose graph": """\
from torch.nn.parallel import DistributedDataParallel


def network(shared=False, frozen=False):
    first, second = nn.Linear(4, 4), nn.Linear(4, 4)
    first.requires_grad_(not frozen)
    return nn.Sequential(first, nn.Tanh(), first if shared else second)


class Broken(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = network()

    def forward(self, x):
        h = self.net[:2](x)
        print(end="")
        return self.net[2](h)


def autocast(net):
    def run(x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return net(x)

    return run


def compiled(net):
    return torch.compile(net, backend="aot_eager")


store = f"file://{tempfile.mkdtemp()}/store"
torch.distributed.init_process_group("gloo", init_method=store, rank=0, world_size=1)
programs = {
    "A": (network(), autocast),
    "B": (network(frozen=True), compiled),
    "C": (network(shared=True), autocast),
    "D": (Broken(), compiled),
    "E": (network(), lambda net: DistributedDataParallel(net, find_unused_parameters=True)),
    "F": (network(), compiled),
}
for letter, (net, around) in programs.items():
    print(f"\\n{letter}")
    listing(around(net)(torch.ones(3, 4)))
torch.distributed.destroy_process_group()
""",
    "DDP": """\
from torch.nn.parallel import DistributedDataParallel

store = f"file://{tempfile.mkdtemp()}/store"
torch.distributed.init_process_group("gloo", init_method=store, rank=0, world_size=1)
net = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 2))
for options in ({}, {"find_unused_parameters": True}):
    model = DistributedDataParallel(net, **options)
    print("with", options or "no options")
    listing(model(torch.randn(3, 4)).sum(), model)
torch.distributed.destroy_process_group()
""",
    "who raised it": """\
class Wrong(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, gives):
        ctx.gives = gives
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return ctx.gives


def freed(x):
    y = (x * x).sum()
    y.backward()
    y.backward()


def changed(x):
    h = x * 1
    y = h.sin().sum()
    h.mul_(2)
    y.backward()


def not_a_number(x):
    with torch.autograd.set_detect_anomaly(True):
        ((x * 0).sqrt() * 0).sum().backward()


def view_of_several(x):
    (x * 1).unbind()[0].mul_(2)


def inference(x):
    with torch.inference_mode():
        constant = torch.ones(2)
    x * constant


def packed(x):
    with torch.autograd.graph.saved_tensors_hooks(lambda tensor: tensor.mul_(2), lambda tensor: tensor):
        (x * 1).sin()


programs = {
    "freed": freed,
    "changed": changed,
    "a gradient of a wrong shape": lambda x: Wrong.apply(x, (torch.ones(3), None)).sum().backward(),
    "too many gradients": lambda x: Wrong.apply(x, (torch.ones(2), None, torch.ones(2))).sum().backward(),
    "not a number": not_a_number,
    "no history": lambda x: x.detach().sum().backward(),
    "a leaf written to": lambda x: x.add_(1),
    "one of several views": view_of_several,
    "an inference tensor": inference,
    "a pack that writes": packed,
}
warnings.simplefilter("ignore")
for name, program in programs.items():
    try:
        program(torch.tensor([1.0, 2.0], requires_grad=True))
    except RuntimeError as error:
        print(f"{name}: {', '.join(functions_of(error)[:5])}")
""",
    "eight errors": """\
class Two(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, gives, saves):
        ctx.gives = gives
        ctx.save_for_backward(saves)
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return ctx.gives


def looked_at_late(x):
    y = x.exp()
    y.sum().backward()
    y.grad_fn._saved_result


def overwritten_softmax(x):
    y = (x * 1).softmax(0)
    y += 1
    y.sum().backward()


def part_of_a_leaf(x):
    x[:1].clamp_(0, 1)


def root_of_zero(x):
    with torch.autograd.set_detect_anomaly(True):
        (x * 0).norm().mul(0).sqrt().sum().backward()


def not_used(x):
    torch.autograd.grad(x.sum(), torch.ones(2, requires_grad=True))


def inference_in_a_slot(x):
    with torch.inference_mode():
        mask = torch.ones(2)
    Two.apply(x, None, mask)


programs = {
    "A": looked_at_late,
    "B": overwritten_softmax,
    "C": part_of_a_leaf,
    "D": lambda x: Two.apply(x, torch.ones(2), x).sum().backward(),
    "E": lambda x: Two.apply(x, (torch.ones(5), None, None), x).sum().backward(),
    "F": root_of_zero,
    "G": not_used,
    "H": inference_in_a_slot,
}
warnings.simplefilter("ignore")
for name, program in programs.items():
    try:
        program(torch.tensor([1.0, 2.0], requires_grad=True))
    except RuntimeError as error:
        print(f"{name}: {functions_of(error)[0]}")
""",
    "handed again and again": """\
x, g, held = torch.ones(2, requires_grad=True), torch.ones(2, 1), []
for _ in range(6):
    x.view(2, 1).backward(g)
    held.append(x.grad[0].item())
print("x.grad after each pass:", held)
""",
    "handed to backward": """\
x, given = torch.ones(2, requires_grad=True), torch.ones(2, 1)
x.view(2, 1).backward(given)
x.view(2, 1).backward(given.clone())
print("given:", given.tolist(), "in the memory of x.grad:", given.data_ptr() == x.grad.data_ptr())
""",
    "handed to a + b": """\
a, b, given = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True), torch.ones(2)
a.register_hook(lambda grad: print("what arrives at a is the tensor `given` itself:", grad is given))
b.register_hook(lambda grad: print("what arrives at b is the tensor `given` itself:", grad is given))
(a + b).backward(given)
memories = {each.data_ptr() for each in (given, a.grad, b.grad)}
print("given, a.grad and b.grad lie in", len(memories), "memories")
""",
}

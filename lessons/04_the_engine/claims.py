"""The claims of lesson 04, the engine, on our engine and on real PyTorch."""


from lessons.claims_kit import nodes_behind, raises
from lessons.claims_kit import number as leaf


def watch(tensors):
    """The list to which the names of these tensors are added, each when its gradient is complete."""
    ran = []
    for name, tensor in tensors.items():
        tensor.register_hook(lambda grad, name=name: ran.append(name))
    return ran


def paths(node):
    """The number of ways along arrows from a node to leaves."""
    return sum(paths(to) for to, _ in node.next_functions) if node.next_functions else 1


def test_c04_1_nodes_by_themselves(torch):
    """A node of a built-in operation needs the gradients of its own results and what it saved, nothing else: called by
    itself, it gives the numbers that it gives in a pass, except that only the engine sums what broadcasting
    repeated."""

    def numbers_of(grads):
        return [each if each is None else each.tolist() for each in (grads if isinstance(grads, tuple) else (grads,))]

    a, b = torch.tensor([[0.5, 1.5], [2.0, 3.0]], requires_grad=True), leaf(torch, 0.75)
    row = torch.tensor([1.0, 2.0], requires_grad=True)
    alike = {
        "products": lambda: (a * a, a @ a, a / a, a * 3), "of one": lambda: (a.exp(), a.sqrt(), -a, a.log(), a.tanh()),
        "0-d": lambda: (b.sin(), b * b), "sums": lambda: (a.sum(), a.mean(0), a.cumsum(0)),
        "views": lambda: (a[0], a.t(), a.reshape(4), a[:, :1], row.expand(2, 2)),
        "rows": lambda: (a.softmax(1), a.relu()),
    }  # fmt: skip
    for made in alike.values():
        for result in made():
            seen = []
            result.grad_fn.register_hook(lambda grads, given, seen=seen: seen.append((numbers_of(grads), given[0])))
            (result * result).sum().backward(retain_graph=True)
            with torch.no_grad():
                assert numbers_of(result.grad_fn(seen[0][1])) == seen[0][0]
    for result in (a + row, a * b, a - row, torch.where(a > 1, a, b)):  # here an operand is repeated
        with torch.no_grad():
            alone = result.grad_fn(torch.ones(2, 2))
        row.grad = b.grad = None
        result.sum().backward(retain_graph=True)
        operand = row if row.grad is not None else b
        assert all(each.shape == (2, 2) for each in alone)
        assert torch.allclose(operand.grad.sum(), alone[1].sum()) and operand.grad.shape != (2, 2)


def test_c04_2_once_on_the_sum(torch):
    """In one pass of `backward()` each node behind the root runs once, on the sum of all that arrives, after every
    consumer behind the root has delivered."""
    x = leaf(torch, 2.0)
    h = x * x
    p, q = h.sqrt(), -h
    y = p + q
    ran, given = watch({"p": p, "q": q, "h": h, "x": x}), []
    h.grad_fn.register_prehook(lambda grads: given.append(grads[0].item()))
    y.backward()

    assert given == [0.25 - 1]
    assert ran == ["q", "p", "h", "x"]
    assert x.grad.item() == 1 - 2 * 2.0


def test_c04_3_newest_first(torch):
    """Of the nodes that are ready, the one made last runs first; an AccumulateGrad goes before all others."""
    u, v = leaf(torch, 3.0), leaf(torch, 5.0)
    a, b = u.exp(), u.sin()
    c = b.cos()
    s = a + c
    d = s * v
    ran = watch({"u": u, "v": v, "a": a, "b": b, "c": c, "s": s, "d": d})
    d.backward()

    assert ran == ["d", "v", "s", "c", "b", "a", "u"]


def test_c04_4_counted_from_the_root(torch):
    """A pass waits only for what is behind its root: an arrow to nothing is not counted, nor is a use of a result that
    is not behind the root."""
    x = leaf(torch, 2.0)
    h = x * x
    unused = h.exp()
    y = (h + 1) * 3
    assert y.grad_fn.next_functions[1][0] is None

    y.backward(retain_graph=True)
    assert x.grad.item() == 12.0
    assert unused.grad_fn not in nodes_behind(y)


def test_c04_5_first_arrival(torch):
    """`a = x*x; b = a+x; c = b*a; d = c+b; e = d*a` has the slope 316 at 2; running nodes on first arrival gives
    140."""
    x = leaf(torch, 2.0)
    a = x * x
    b = a + x
    c = b * a
    d = c + b
    e = d * a
    e.backward(retain_graph=True)
    assert x.grad.item() == 316.0

    assert paths(e.grad_fn) == 10  # from e to x, as the lesson counts
    grads, queue = {e.grad_fn: torch.tensor(1.0)}, [e.grad_fn]
    for node in queue:
        slopes = node(grads[node]) if node.next_functions else ()
        for (to, _), slope in zip(node.next_functions, slopes, strict=True):
            queue += [to] if to not in grads else []
            grads[to] = grads.get(to, 0.0) + slope
    assert grads[queue[-1]].item() == 140.0 and queue[-1].variable is x


def test_c04_6_paths_and_runs(torch):
    """Behind n doublings `h = h + h` lie 2ⁿ paths, and a pass runs n + 1 nodes."""
    for n in (1, 4, 9, 60):
        x, runs = leaf(torch, 1.0), []
        x.register_hook(runs.append)
        h = x
        for _ in range(n):
            h = h + h
            h.grad_fn.register_prehook(runs.append)
        h.backward()
        assert len(runs) == n + 1
        assert x.grad.item() == 2.0**n  # one for each path
        if n < 10:
            assert paths(h.grad_fn) == 2**n


def test_c04_7_half_a_pass(torch):
    """When a hook ends a pass half-way, leaves that the pass has reached keep their gradients, and the others get
    none."""
    early, late = leaf(torch, 2.0), leaf(torch, 3.0)
    h = late * late
    h.register_hook(lambda grad: 1 / 0)
    raises("division by zero", (h * early).backward, ZeroDivisionError)

    assert early.grad.item() == 9.0
    assert late.grad is None

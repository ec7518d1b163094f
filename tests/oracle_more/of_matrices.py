"""Every view with every write, every index with every value, every result kept."""

from kit import graph, kept, kind, leaf, program, raises, weighted

X = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]


@program
def printed_tensors(T):
    x = leaf(T, [1.0, 2.0])
    inf = float("inf")
    t = T.tensor
    with T.inference_mode():
        c = T.ones(1)
    vals = [
        t(1),
        t(1.0),
        t(True),
        t([]),
        t([[]]),
        t([1, 2]),
        t([1.5, 2]),
        t([1e10]),
        t([1e-10]),
        t([1.0, 1e5]),
        t([1e-5, 1.0]),
        t([inf, 1.0]),
        t([float("nan")]),
        t([-0.0]),
        t([1, 1000000]),
        t([[1.0, 2.0], [3.0, 4.0]]),
        t([[[1]]]),
        t([1.0], dtype=T.float64),
        t([1], dtype=T.float64),
        x,
        x * 2,
        x.sum(),
        x[0],
        x.detach(),
        x.t(),
        x.view(2, 1),
        x.unbind(0)[0],
        T.zeros(0, 3),
        T.arange(1001.0),
        T.arange(12.0).view(3, 4),
        T.zeros(2, 2, 2),
        t([0.1, 0.25, 0.33333333]),
        t([123456.789]),
        t([1234567.0]),
        t([0.00001234]),
        t([1.0, -1.0]),
        t([1.0, float("nan"), -inf]),
        T.nn.Parameter(t([1.0])),
        x.requires_grad_(),
        c,
        t([100000.0, 0.001]),
        t([99999999.0]),
        t(3.14159265),
        t(1e-8),
        t(12345678.0),
        t([True, False]),
        t(-5),
        t([0.5] * 3).double(),
        T.ones(3, 3) * 0.1,
        T.eye(3),
        t([2.0**24]),
        t([[0.0, 1e6], [1e-3, 1.0]]),
    ]
    return [repr(v) for v in vals] + [str(v) for v in vals[:5]]


@program
def printed_after(T):
    x = leaf(T, [1.0, 2.0])
    h = x * 2
    with T.no_grad():
        v = h[:1]
    h.mul_(2)
    y = x * 3
    w = y[:1]
    w.mul_(2)
    z = x * 1
    z.requires_grad_()
    (x * x).sum().backward()
    return [
        repr(v),
        repr(h),
        repr(w),
        repr(y),
        repr(x.grad),
        repr(z),
        repr((x * 1).detach_()),
        repr(T.Size([2, 3])),
        repr(x.shape),
        str(x.dtype),
        repr(x.device),
        repr(T.float32),
        str(T.float64),
        repr(x.max(0)),
        repr(x.sort()),
        repr([x]),
        repr({"a": x}),
        f"{x}",
        f"{x.sum()}",
        f"{x.sum().item():.3f}",
        repr(x.size()),
        repr(x.stride()),
        repr(T.tensor([1.0]).numpy()),
        repr(x.type()),
        repr(T.int64),
        repr(T.bool),
    ]


@program
def set_printoptions(T):
    out = []
    T.set_printoptions(precision=2)
    out.append(repr(T.tensor([1.23456, 2.0])))
    T.set_printoptions(sci_mode=True)
    out.append(repr(T.tensor([1.23456, 2.0])))
    T.set_printoptions(profile="default")
    T.set_printoptions(sci_mode=False)
    out.append(repr(T.tensor([1e-10, 2.0])))
    T.set_printoptions(profile="default", sci_mode=None)
    T.set_printoptions(threshold=5, edgeitems=2)
    out.append(repr(T.arange(10)))
    T.set_printoptions(linewidth=30)
    out.append(repr(T.arange(20.0)))
    T.set_printoptions(profile="default")
    out.append(repr(T.arange(3.0)))
    return out


@program
def view_writes_matrix(T):
    out = []
    views = {
        "sel": lambda y: y[0],
        "sl": lambda y: y[:, 1:],
        "t": lambda y: y.t(),
        "view": lambda y: y.view(6),
        "uns": lambda y: y.unsqueeze(0),
        "sq": lambda y: y.unsqueeze(0).squeeze(0),
        "diag": lambda y: y.diagonal(),
        "nar": lambda y: y.narrow(1, 0, 2),
        "perm": lambda y: y.permute(1, 0),
        "exp": lambda y: y.expand(2, 3),
        "step": lambda y: y[:, ::2],
        "sub": lambda y: y[1:][:, 1],
        "asst": lambda y: y.as_strided((2,), (1,)),
        "flat": lambda y: y.flatten(),
        "va": lambda y: y.view_as(T.ones(3, 2)),
        "tt": lambda y: y.t().t(),
        "mT": lambda y: y.mT,
        "T": lambda y: y.T,
        "swap": lambda y: y.swapaxes(0, 1),
        "mv": lambda y: y.movedim(0, 1),
        "det": lambda y: y.detach(),
        "unf": lambda y: y.unfold(1, 2, 1)[:, 0],
        "none": lambda y: y[None],
        "ell": lambda y: y[..., 0],
        "resh": lambda y: y.reshape(3, 2),
        "alias": lambda y: y[:],
    }
    ws = {
        "mul": lambda v: v.mul_(2),
        "add": lambda v: v.add_(1),
        "zero": lambda v: v.zero_(),
        "fill": lambda v: v.fill_(3.0),
        "exp": lambda v: v.exp_(),
        "copy": lambda v: v.copy_(T.ones(1)),
        "set": lambda v: v.__setitem__(0, 7.0),
        "sin": lambda v: v.sin_(),
        "relu": lambda v: v.relu_(),
        "clamp": lambda v: v.clamp_(0, 2.5),
        "div": lambda v: v.div_(2),
        "pow": lambda v: v.pow_(2),
        "neg": lambda v: v.neg_(),
        "maskedf": lambda v: v.masked_fill_(v > 3, 0.0),
    }
    for n, f in views.items():
        for m, w in ws.items():
            x = leaf(T, X)
            y = x * 2
            v = f(y)
            g = v.grad_fn and type(v.grad_fn).__name__
            e = raises(lambda: w(v))
            out.append(
                [
                    n,
                    m,
                    g,
                    e,
                    y._version,
                    v._version,
                    type(y.grad_fn).__name__,
                    v.grad_fn and type(v.grad_fn).__name__,
                    raises(lambda: weighted(T, y).backward(retain_graph=True)),
                    x.grad,
                    v,
                    raises(lambda: weighted(T, v).backward()) if v.requires_grad else 0,
                    x.grad,
                ]
            )
    return out


@program
def view_of_leaf_writes(T):
    out = []
    for f in (
        lambda x: x[0],
        lambda x: x.t(),
        lambda x: x.view(6),
        lambda x: x.detach(),
        lambda x: x.data,
        lambda x: x.unbind(0)[0],
        lambda x: x.split(1)[0],
        lambda x: x[:1],
        lambda x: x.expand(2, 2, 3),
        lambda x: x.diagonal(),
        lambda x: x.flatten(),
        lambda x: x.unsqueeze(0),
        lambda x: x.contiguous(),
        lambda x: x.reshape(6),
    ):
        for ng in (False, True):
            x = leaf(T, X)
            v = f(x)

            def go():
                if ng:
                    with T.no_grad():
                        v.mul_(2)
                else:
                    v.mul_(2)

            out.append([raises(go), x._version, v._version, x, v.requires_grad])
    return out


@program
def setitem_forms(T):
    out = []
    places = [
        0,
        -1,
        slice(0, 1),
        slice(None),
        (0, 1),
        (slice(None), 1),
        Ellipsis,
        (Ellipsis, 0),
        None,
        (None, 0),
        [0],
        [0, 1],
        ([0, 1], [1, 2]),
        slice(None, None, 2),
        (0, slice(1, None)),
        True,
    ]
    values = [5.0, lambda T: T.tensor(5.0), lambda T: T.ones(1), lambda T: leaf(T, 9.0), 3, True]
    for i in places:
        for v in values:
            x = leaf(T, X)
            y = x * 2
            val = v(T) if callable(v) else v
            e = raises(lambda: y.__setitem__(i, val))
            out.append(
                [
                    e,
                    y._version,
                    type(y.grad_fn).__name__,
                    y.detach(),
                    raises(lambda: weighted(T, y).backward()),
                    x.grad,
                    getattr(val, "grad", None) if isinstance(val, T.Tensor) else None,
                ]
            )
    for mk in (
        lambda T: T.tensor([0, 1]),
        lambda T: T.tensor([True, False]),
        lambda T: T.tensor([[True, False, True], [False, False, True]]),
        lambda T: T.tensor(0),
        lambda T: (T.tensor([0, 1]), T.tensor([1, 1])),
        lambda T: (slice(None), T.tensor([0, 2])),
        lambda T: (T.tensor([1, 1]), 0),
    ):
        for v in values:
            x = leaf(T, X)
            y = x * 2
            val = v(T) if callable(v) else v
            i = mk(T)
            e = raises(lambda: y.__setitem__(i, val))
            out.append(
                [e, y._version, type(y.grad_fn).__name__, y.detach(), raises(lambda: weighted(T, y).backward()), x.grad]
            )
    return out


@program
def getitem_forms(T):
    out = []
    places = [
        0,
        -1,
        2,
        -3,
        slice(0, 1),
        slice(None),
        (0, 1),
        (slice(None), 1),
        Ellipsis,
        (Ellipsis, 0),
        None,
        (None, 0),
        [0],
        [0, 1],
        [[0, 1], [1, 0]],
        ([0, 1], [1, 2]),
        slice(None, None, 2),
        slice(None, None, -1),
        (0, slice(1, None)),
        True,
        False,
        (0, 0, 0),
        "a",
        1.5,
        (1, None),
        slice(5, 9),
        [True, False],
        [True, False, True],
        (slice(None), [True, False, True]),
        [],
        ([],),
        slice(0, 0),
    ]
    for i in places:
        x = leaf(T, X)
        r = []
        e = raises(lambda: r.append(x[i]))
        if r:
            weighted(T, r[0]).backward()
        out.append(
            [
                repr(i),
                e[:2] if e and e[1] == "TypeError" else e,
                r and r[0].detach(),
                r and graph(r[0].grad_fn, 3),
                r and r[0]._is_view(),
                x.grad,
            ]
        )
    return out


@program
def version_of_everything(T):
    out = []
    for n, a in [
        ("add_", (1,)),
        ("sub_", (1,)),
        ("mul_", (2,)),
        ("div_", (2,)),
        ("pow_", (2,)),
        ("neg_", ()),
        ("abs_", ()),
        ("exp_", ()),
        ("sqrt_", ()),
        ("sin_", ()),
        ("tanh_", ()),
        ("sigmoid_", ()),
        ("relu_", ()),
        ("clamp_", (0, 1)),
        ("fill_", (1,)),
        ("zero_", ()),
        ("round_", ()),
        ("floor_", ()),
        ("reciprocal_", ()),
        ("t_", ()),
        ("unsqueeze_", (0,)),
        ("squeeze_", ()),
        ("transpose_", (0, 1)),
        ("requires_grad_", ()),
        ("detach_", ()),
        ("uniform_", ()),
        ("normal_", ()),
        ("clamp_min_", (0,)),
        ("copy_", ("x",)),
        ("masked_fill_", ("m", 0.0)),
        ("index_add_", (0, "i", "x")),
        ("scatter_add_", (0, "j", "x")),
        ("addcmul_", ("x", "x")),
        ("addcdiv_", ("x", "x")),
        ("lerp_", ("x", 0.5)),
        ("index_fill_", (0, "i", 1.0)),
        ("scatter_", (0, "j", 1.0)),
        ("index_copy_", (0, "i", "x")),
        ("set_", ("x",)),
    ]:
        t = T.tensor([[0.5, 0.6], [0.7, 0.8]])
        m = {
            "x": T.ones(2, 2) * 0.3,
            "m": t > 0.6,
            "i": T.tensor([0, 1]),
            "j": T.tensor([[0, 1], [1, 0]]),
            "p": T.tensor([0]),
            "q": T.ones(1),
        }
        e = raises(lambda: getattr(t, n)(*[m.get(k, k) if isinstance(k, str) else k for k in a]))
        out.append([n, e and e[:2], t._version])
    return out


@program
def saved_names_of_many(T):
    x = leaf(T, X)
    w = leaf(T, [[1.0, 2.0, 3.0]])
    c = T.ones(2, 3)
    F = T.nn.functional
    expressions = """
        x*w | x*c | c*x | x/w | x/c | c/x | x+w | x-w | x**2 | x**w | 2**x | x**c | x.exp() | x.log() | x.sqrt()
        | x.sin() | x.tanh() | x.sigmoid() | x.relu() | x.abs() | x.neg() | x.reciprocal() | x.sum() | x.sum(0)
        | x.mean() | x.mean(1) | x.max() | x.max(1)[0] | x.min(0)[0] | x.amax(1) | x.prod() | x.prod(0) | x.var()
        | x.std(0) | x.norm() | x.norm(dim=1) | x.logsumexp(1) | x.softmax(1) | x.log_softmax(0) | x.cumsum(0) | x@x.t()
        | x.mv(c[0]) | x[0].dot(x[1]) | x.t() | x[0] | x[:,1] | x[c>0] | x[T.tensor([0])] | x.view(6) | x.reshape(6)
        | x.expand(2,2,3) | x.repeat(2,1) | x.unsqueeze(0) | x.permute(1,0) | T.cat([x,x]) | T.stack([x,x])
        | T.where(x>1,x,c) | T.where(x>1,x,x*2) | x.clamp(0,1) | x.clamp(min=0) | T.maximum(x,w) | x.masked_fill(x>1,0.)
        | x.gather(1,T.tensor([[0],[1]])) | x.index_select(0,T.tensor([0])) | x.scatter_add(0,T.tensor([[0,0,0]]),w)
        | x.index_add(0,T.tensor([0]),w) | x.sort(1)[0] | x.topk(1)[0] | x.triu() | x.flip(0) | x.double() | x.clone()
        | F.mse_loss(x,c) | F.l1_loss(x,c) | F.cross_entropy(x,T.tensor([0,1])) | F.linear(x,w)
        | F.linear(x,w,T.ones(1)) | F.dropout(x,0.5) | F.gelu(x) | F.softplus(x) | F.leaky_relu(x) | F.silu(x)
        | F.elu(x) | F.layer_norm(x,(3,)) | F.embedding(T.tensor([0]),x) | F.nll_loss(x,T.tensor([0,1]))
        | F.binary_cross_entropy_with_logits(x,c) | T.lerp(x, c,0.3) | x.addcmul(x,c) | x.diagonal() | x.unbind(0)[0]
        | x.split(1)[0] | x.square() | x.rsqrt() | x.floor() | x.sign() | x.round() | T.ones(2,2).addmm(x,x.t())
        | T.outer(x[0],x[1]) | T.bmm(x[None],x.t()[None]) | x.inner(w) | F.conv1d(x[None],T.ones(1,2,1))
        | F.batch_norm(x,None,None,training=True) | F.huber_loss(x,c) | F.smooth_l1_loss(x,c) | F.kl_div(x,c)
        | F.normalize(x) | F.softmax(x,1) | F.logsigmoid(x) | F.one_hot(T.tensor([1])).float()*1
    """
    out = []
    for e in map(str.strip, expressions.split("|")):
        r = eval(e, {"x": x, "w": w, "c": c, "T": T, "F": F})
        if "dropout" in e:
            out.append([e, graph(r.grad_fn, 2), sorted(kept(T, r.grad_fn))])
            continue
        out.append([e, graph(r.grad_fn, 4), {k: v for k, v in kept(T, r.grad_fn).items()} if r.grad_fn else None])
    return out


@program
def dtype_promotion_of_results(T):
    out = []
    ts = {
        "b": T.tensor([True]),
        "i": T.tensor([2]),
        "f": T.tensor([2.0]),
        "d": T.tensor([2.0], dtype=T.float64),
        "i0": T.tensor(2),
        "f0": T.tensor(2.0),
        "d0": T.tensor(2.0, dtype=T.float64),
        "b0": T.tensor(True),
        "pi": 3,
        "pf": 1.5,
        "pb": True,
    }
    ops = {
        "add": lambda a, b: a + b,
        "sub": lambda a, b: a - b,
        "mul": lambda a, b: a * b,
        "div": lambda a, b: a / b,
        "pow": lambda a, b: a**b,
        "fd": lambda a, b: a // b,
        "mod": lambda a, b: a % b,
        "lt": lambda a, b: a < b,
        "eq": lambda a, b: a == b,
        "max": lambda a, b: T.maximum(a, b),
        "where": lambda a, b: T.where(T.tensor([True]), a, b),
        "cat": lambda a, b: T.cat([a, b]),
        "and": lambda a, b: a & b,
    }
    for n, f in ops.items():
        for k, a in ts.items():
            for m, b in ts.items():
                if not isinstance(a, T.Tensor) and not isinstance(b, T.Tensor):
                    continue
                r = []
                e = kind(lambda: r.append(f(a, b)))
                out.append([n, k, m, e, r])
    return out


@program
def gradients_of_promoted(T):
    out = []
    for da in ("float32", "float64"):
        for db in ("float32", "float64"):
            for f in (
                lambda a, b: a * b,
                lambda a, b: a + b,
                lambda a, b: a / b,
                lambda a, b: a**b,
                lambda a, b: T.where(a > b, a, b),
                lambda a, b: T.cat([a, b]),
                lambda a, b: T.stack([a, b]),
                lambda a, b: T.maximum(a, b),
            ):
                a, b = leaf(T, [1.0, 2.0], da), leaf(T, [3.0, 1.0], db)
                r = []
                e = raises(lambda: r.append(f(a, b)))
                if r:
                    r[0].sum().backward()
                out.append([e, r, a.grad, b.grad])
    return out


@program
def in_place_types(T):
    out = []
    for d in ("bool", "int64", "float32", "float64"):
        for n in ("add_", "mul_", "sub_", "div_", "pow_", "copy_", "fill_"):
            for v in (True, 2, 1.5, "f", "d", "i", "b"):
                t = T.ones(1).to(getattr(T, d))
                w = {"f": T.ones(1), "d": T.ones(1, dtype=T.float64), "i": T.tensor([2]), "b": T.tensor([True])}.get(
                    v, v
                )
                out.append([d, n, str(v), raises(lambda: getattr(t, n)(w)), t, t._version])
    return out

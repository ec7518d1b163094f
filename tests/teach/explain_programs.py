"""Programs that fail in ways people meet, for explain(): each leads to the row and the lesson named beside it.

Each is a function of the library and returns what should be given to explain() besides the error.
"""


def leaf(torch, *values):
    return torch.tensor(values or (1.0, 2.0), requires_grad=True)


def stale(torch, give):
    y = leaf(torch).exp()
    loss = (y * 2).sum()
    y.add_(1)
    give(loss)
    loss.backward()


def stale_parameter(torch, give):
    w = leaf(torch)
    loss = (w * w).sum()
    with torch.no_grad():
        w.sub_(0.1)
    give(loss)
    loss.backward()


def freed(torch, give):
    loss = (leaf(torch) ** 2).sum()
    loss.backward()
    give(loss)
    loss.backward()


def detached(torch, give):
    h = leaf(torch) * 2
    loss = (h * h).sum()
    h.detach_()
    give(loss)
    loss.backward()


def write_to_a_leaf(torch, give):
    x = leaf(torch)
    give(x)
    x.add_(1)


def write_to_a_view_of_a_leaf(torch, give):
    x = leaf(torch)
    v = x[0:1]
    give(v)
    v.add_(1)


def write_to_one_of_several_views(torch, give):
    y = leaf(torch) * 2
    a, b = y.unbind()
    give(a)
    a.mul_(2)


def backward_of_a_vector(torch, give):
    y = leaf(torch) * 2
    give(y)
    y.backward()


def backward_of_a_constant(torch, give):
    loss = (leaf(torch).detach() ** 2).sum()
    give(loss)
    loss.backward()


def unused_input(torch, give):
    x, z = leaf(torch), leaf(torch)
    y = (x * x).sum()
    give(y, z)
    torch.autograd.grad(y, z)


def hook_returns_a_number(torch, give):
    h = leaf(torch) * 2
    h.register_hook(lambda grad: 3)
    loss = h.sum()
    give(loss, h)
    loss.backward()


def function_without_backward(torch, give):
    class Half(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x / 2

    loss = Half.apply(leaf(torch)).sum()
    give(loss)
    loss.backward()


def function_returns_too_many(torch, give):
    class Half(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x / 2

        @staticmethod
        def backward(ctx, grad):
            return grad / 2, None, grad

    loss = Half.apply(leaf(torch)).sum()
    give(loss)
    loss.backward()


def wrong_gradient(torch, give):
    class Half(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x / 2

        @staticmethod
        def backward(ctx, grad):
            return grad

    torch.autograd.gradcheck(Half.apply, torch.ones(2, dtype=torch.float64, requires_grad=True))


def gradcheck_without_inputs(torch, give):
    torch.autograd.gradcheck(torch.sin, torch.ones(2, dtype=torch.float64))


def gradcheck_not_linear(torch, give):
    class Odd(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, grad):
            return grad + (grad == 0) * 1.0

    torch.autograd.gradcheck(Odd.apply, torch.ones(1, dtype=torch.float64, requires_grad=True))


def checkpoint_changes(torch, give):
    from importlib import import_module

    checkpoint = import_module(torch.__name__ + ".utils.checkpoint").checkpoint
    calls = []

    def layer(x):
        calls.append(1)
        return x.sin() if len(calls) == 1 else x[:1].sin()

    checkpoint(layer, leaf(torch), use_reentrant=False).sum().backward()


def checkpoint_of_a_constant(torch, give):
    from importlib import import_module

    checkpoint = import_module(torch.__name__ + ".utils.checkpoint").checkpoint
    x = leaf(torch)
    y = checkpoint(lambda x: x.detach() * 2, x, use_reentrant=True)
    y.sum().backward()


def optimizer_of_a_computed_tensor(torch, give):
    w = leaf(torch) * 0.01
    give(w)
    torch.optim.SGD([w], lr=0.1)


def optimizer_of_nothing(torch, give):
    torch.optim.SGD([], lr=0.1)


def optimizer_with_a_negative_rate(torch, give):
    torch.optim.SGD([leaf(torch)], lr=-1.0)


def layer_of_another_width(torch, give):
    torch.nn.Linear(3, 2)(torch.ones(4, 5))


def classes_of_another_batch(torch, give):
    torch.nn.functional.cross_entropy(torch.ones(3, 2), torch.tensor([0, 1]))


def loss_of_other_shapes(torch, give):
    torch.nn.functional.binary_cross_entropy(torch.ones(3, 1), torch.ones(3))


def convolution_of_other_channels(torch, give):
    torch.nn.Conv2d(3, 1, 1)(torch.ones(1, 2, 4, 4))


def normalise_one_sample(torch, give):
    torch.nn.BatchNorm1d(2)(torch.ones(1, 2))


def module_before_init(torch, give):
    class Net(torch.nn.Module):
        def __init__(self):
            self.layer = torch.nn.Linear(1, 1)

    Net()


def load_another_module(torch, give):
    torch.nn.Linear(2, 1).load_state_dict(torch.nn.Linear(3, 1).state_dict())


def embedding_out_of_range(torch, give):
    torch.nn.Embedding(3, 2)(torch.tensor([5]))


def dropout_of_more_than_everything(torch, give):
    torch.nn.Dropout(1.5)


def scheduler_first(torch, give):
    import warnings

    optimizer = torch.optim.SGD([leaf(torch)], lr=0.1)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        schedule.step()


def slot_hooks_too_late(torch, give):
    y = leaf(torch).exp()
    y.sum().backward()
    give(y)
    y.grad_fn._raw_saved_result.register_hooks(lambda t: t, lambda t: t)


def hessian_of_a_vector(torch, give):
    torch.autograd.functional.hessian(lambda x: x * 2, torch.ones(2))


def two_gradients_for_one_input(torch, give):
    layer = torch.nn.Linear(1, 1)
    layer.register_full_backward_hook(lambda module, grads, _: (grads[0], grads[0]))
    layer(torch.ones(1, 1, requires_grad=True)).sum().backward()


def nested_permission_to_write(torch, give):
    allow = torch.autograd.graph.allow_mutation_on_saved_tensors
    with allow(), allow():
        pass


def clip_what_is_not_finite(torch, give):
    w = leaf(torch)
    w.grad = torch.tensor([float("nan"), 1.0])
    torch.nn.utils.clip_grad_norm_([w], 1.0, error_if_nonfinite=True)


def dataset_without_items(torch, give):
    from importlib import import_module

    import_module(torch.__name__ + ".utils.data").Dataset()[0]


# program: (row, lesson, what is marked when the tensors are given)
EXPECTED = {
    stale: ("version", 7, "saved result = #1 of ExpBackward0 (node 1)"),
    stale_parameter: ("version", 7, "saved other = unnamed 1 of MulBackward0 (node 1)"),
    freed: ("freed", 6, "saved self of PowBackward0 (node 1)"),
    detached: ("saved detached", 9, "saved other = [2., 4.] of MulBackward0 (node 2)"),
    write_to_a_leaf: ("leaf", 7, "given[0]"),
    write_to_a_view_of_a_leaf: ("view of leaf", 8, "unnamed 1"),
    write_to_one_of_several_views: ("view of several", 8, "given[0]"),
    backward_of_a_vector: ("not a scalar", 3, "given[0]"),
    backward_of_a_constant: ("no history", 2, "given[0]"),
    unused_input: ("unused", 1, "given[1]"),
    hook_returns_a_number: ("hook type", 12, "given[1]"),
    function_without_backward: ("no backward", 11, ""),
    function_returns_too_many: ("gradient number", 11, "HalfBackward (node 1)"),
    wrong_gradient: ("gradcheck mismatch", 11, ""),
    gradcheck_without_inputs: ("gradcheck inputs", 11, ""),
    gradcheck_not_linear: ("gradcheck other", 11, ""),
    checkpoint_changes: ("checkpoint changed", 14, ""),
    checkpoint_of_a_constant: ("checkpoint", 14, ""),
    optimizer_of_a_computed_tensor: ("optimizer non-leaf", 5, "given[0]"),
    optimizer_of_nothing: ("optimizer arguments", 10, ""),
    optimizer_with_a_negative_rate: ("optimizer arguments", 10, ""),
    layer_of_another_width: ("matrix product", None, ""),
    classes_of_another_batch: ("loss shapes", None, ""),
    loss_of_other_shapes: ("loss shapes", None, ""),
    convolution_of_other_channels: ("convolution", None, ""),
    normalise_one_sample: ("normalisation", 10, ""),
    module_before_init: ("module", None, ""),
    load_another_module: ("module", None, ""),
    embedding_out_of_range: ("index", None, ""),
    dropout_of_more_than_everything: ("other value", None, ""),
    scheduler_first: ("scheduler order", 10, ""),
    hessian_of_a_vector: ("functional", 3, ""),
    two_gradients_for_one_input: ("module hooks", 12, ""),
    nested_permission_to_write: ("mutation allowed", 7, ""),
    clip_what_is_not_finite: ("norm not finite", 10, ""),
    dataset_without_items: ("not written", None, ""),
    slot_hooks_too_late: ("slot freed", 14, "saved result of ExpBackward0 (node 1)"),
}

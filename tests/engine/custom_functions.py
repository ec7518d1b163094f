"""Custom Functions of many kinds, written once for both libraries. Used by random_programs.py."""


def custom_functions(torch):
    """{name: Function class} on a library."""
    return {f.__name__: f for make in (plain_functions, dirty_functions, odd_functions) for f in make(torch)}


def plain_functions(torch):
    """Functions that keep, return and combine what most Functions do."""
    Function = torch.autograd.Function

    class Same(Function):
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    class Keep(Function):
        @staticmethod
        def forward(ctx, x, y):
            result = x * y
            ctx.save_for_backward(x, result, y)
            return result

        @staticmethod
        def backward(ctx, grad):
            x, result, y = ctx.saved_tensors
            return grad * y, grad * x

    class Two(Function):
        @staticmethod
        def forward(ctx, x):
            a, b = x * 2, x > 0
            ctx.save_for_backward(a)
            ctx.mark_non_differentiable(b)
            return x.exp(), a, b

        @staticmethod
        def backward(ctx, grad_exp, grad_twice, grad_none):
            return grad_exp * ctx.saved_tensors[0] + grad_twice

    class Part(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.size = x.shape
            return x[:1]

        @staticmethod
        def backward(ctx, grad):
            return grad.expand(ctx.size)

    class Own(Function):
        @staticmethod
        def forward(ctx, x):
            result = x.exp()
            ctx.save_for_backward(result)
            return result

        @staticmethod
        def backward(ctx, grad):
            return grad * ctx.saved_tensors[0]

    class Setup(Function):
        @staticmethod
        def forward(x, power):
            return x**power

        @staticmethod
        def setup_context(ctx, inputs, output):
            x, ctx.power = inputs
            ctx.save_for_backward(x)

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return grad * ctx.power * x ** (ctx.power - 1), None

    class Scale(Function):
        @staticmethod
        def forward(ctx, x, factor=2, shift=0):
            ctx.factor = factor
            return x * factor + shift

        @staticmethod
        def backward(ctx, grad):
            return grad * ctx.factor, None, None

    return Same, Keep, Two, Part, Own, Setup, Scale


def dirty_functions(torch):
    """Functions that write to their inputs."""
    Function = torch.autograd.Function

    class Dirty(Function):
        @staticmethod
        def forward(ctx, x):
            x.mul_(2)
            ctx.mark_dirty(x)
            return x

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    class DirtyTwo(Function):
        @staticmethod
        def forward(ctx, x, y=None):
            x.add_(1)
            ctx.mark_dirty(x)
            return x, x * 3

        @staticmethod
        def backward(ctx, grad, grad_three):
            return grad + grad_three * 3, None

    class DirtyKeep(Function):
        @staticmethod
        def forward(ctx, x):
            x.exp_()
            ctx.mark_dirty(x)
            ctx.save_for_backward(x)
            return x

        @staticmethod
        def backward(ctx, grad):
            return grad * ctx.saved_tensors[0]

    class DirtyView(Function):
        @staticmethod
        def forward(ctx, x):
            x[:1].mul_(2)
            ctx.mark_dirty(x)
            return x

        @staticmethod
        def backward(ctx, grad):
            grad = grad.clone()
            grad[:1] *= 2
            return grad

    return Dirty, DirtyTwo, DirtyKeep, DirtyView


def odd_functions(torch):
    """Functions with unusual outputs and gradients."""
    Function = torch.autograd.Function

    class Lazy(Function):  # no zeros for outputs nobody used
        @staticmethod
        def forward(ctx, x):
            ctx.set_materialize_grads(False)
            return x * 2, x * 3

        @staticmethod
        def backward(ctx, twice, three):
            return (0 if twice is None else twice * 2) + (0 if three is None else three * 3)

    class Fixed(Function):  # nothing to differentiate
        @staticmethod
        def forward(ctx, x):
            result = x * 2
            ctx.mark_non_differentiable(result)
            return result

        @staticmethod
        def backward(ctx, grad):
            return grad

    class Cut(Function):  # no gradient for the second input
        @staticmethod
        def forward(ctx, x, y):
            return x + y

        @staticmethod
        def backward(ctx, grad):
            return grad, None

    class Wide(Function):  # a gradient wider than the input
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, grad):
            return torch.stack([grad, grad])

    class Once(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x.sin()

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx, grad):
            return grad * ctx.saved_tensors[0].cos()

    class Both(Function):  # an input as it is beside a result
        @staticmethod
        def forward(ctx, x):
            return x, x * 2

        @staticmethod
        def backward(ctx, grad, grad_twice):
            return grad + 2 * grad_twice

    class Twin(Function):  # one tensor twice
        @staticmethod
        def forward(ctx, x):
            result = x * 2
            return result, result

        @staticmethod
        def backward(ctx, grad, other):
            return 2 * (grad + other)

    class Mixed(Function):  # an output that is no tensor
        @staticmethod
        def forward(ctx, x):
            return x * 2, 7

        @staticmethod
        def backward(ctx, grad, nothing):
            return grad * 2

    class Inner(Function):  # a graph inside forward, run in backward
        @staticmethod
        def forward(ctx, x):
            with torch.enable_grad():
                ctx.x = x.detach().requires_grad_()
                ctx.y = (ctx.x * ctx.x).sum()
            return ctx.y.detach()

        @staticmethod
        def backward(ctx, grad):
            (inner,) = torch.autograd.grad(ctx.y, ctx.x, retain_graph=True)
            return grad * inner

    return Lazy, Fixed, Cut, Wide, Once, Both, Twin, Mixed, Inner

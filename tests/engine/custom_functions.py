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

    return Same, Keep, Two, Part, Own


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
    """Functions that return an input beside a result, or one tensor twice."""
    Function = torch.autograd.Function

    class Both(Function):
        @staticmethod
        def forward(ctx, x):
            return x, x * 2

        @staticmethod
        def backward(ctx, grad, grad_twice):
            return grad + 2 * grad_twice

    class Twin(Function):
        @staticmethod
        def forward(ctx, x):
            result = x * 2
            return result, result

        @staticmethod
        def backward(ctx, grad, other):
            return 2 * (grad + other)

    return Both, Twin

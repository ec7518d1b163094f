"""The backward of a Function multiplies into what forward has saved; a second pass finds it changed."""

import torch


class Exp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        result = x.exp()
        ctx.save_for_backward(result)
        return result.clone()

    @staticmethod
    def backward(ctx, grad):
        (result,) = ctx.saved_tensors  # FAILED
        result *= grad  # WROTE
        return result


x = torch.zeros(3, requires_grad=True)
loss = Exp.apply(x).sum()  # SAVED
loss.backward(retain_graph=True)
loss.backward()

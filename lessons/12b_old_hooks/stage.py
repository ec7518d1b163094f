"""The beginning of part 12b."""

import warnings


def logged(torch):
    """Return what each kind of hook logs as the norm of a layer's input gradient; and the gradient itself."""

    class Layer(torch.nn.Module):
        def forward(self, x):
            return (x * 0.1).tanh()

    for kind in ("register_backward_hook", "register_full_backward_hook"):
        x, layer = torch.tensor([3.0, 4.0], requires_grad=True), Layer()
        getattr(layer, kind)(lambda module, came, went, kind=kind: print(f"{kind:27} {came[0].norm().item():.4f}"))
        with warnings.catch_warnings(action="ignore"):
            layer(x).sum().backward()
    print(f"{'the norm of x.grad':27} {x.grad.norm().item():.4f}")

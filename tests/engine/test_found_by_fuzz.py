"""What random programs found: one short program for each disagreement with PyTorch that there once was."""

import pytest
from program_comparison import replay

import course_lib

VECTOR = "r0 = torch.tensor([0.5, 1.5, -2.0], dtype=torch.float64, requires_grad=True)"
MATRIX = "r0 = torch.tensor([[0.5, 1.25, 2.0], [3.0, -1.5, 0.75]], dtype=torch.float64, requires_grad=True)"
FLOATS = "r1 = torch.tensor([1.0, 0.5, 3.0], requires_grad=True)"
TRUTHS = "r1 = torch.tensor([True, False, True])"
INTEGERS = "r1 = torch.tensor([1, 2, 0])"

# name -> statements, one a line; those of a block are indented
FOUND = {
    # --- gradients ---
    "a number of a wider type leaves the gradient's type alone": f"""
        r0 = torch.tensor(2.0, dtype=torch.float64)
        {FLOATS}
        (r0 * r1).sum().backward()
    """,
    "the same when the vector is overwritten": f"""
        r0 = torch.tensor(2.0, dtype=torch.float64)
        {FLOATS}
        r2 = r1 * 1
        r2.mul_(r0)
        r2.sum().backward()
    """,
    "masked_fill with a tensor passes it a gradient": f"""
        {VECTOR}
        r1 = torch.tensor(1.5, dtype=torch.float64, requires_grad=True)
        r2 = r0.masked_fill(r0 > 1, r1)
        r2.sum().backward()
    """,
    "masked_fill_ with a tensor passes it a gradient": f"""
        {VECTOR}
        r1 = torch.tensor(1.5, dtype=torch.float64, requires_grad=True)
        r2 = r0 * 1
        r2.masked_fill_(r2 > 1, r1)
        r2.sum().backward()
    """,
    "the largest of elements with NaN": f"""
        {VECTOR}
        r1 = r0.log()
        r1.max().backward()
    """,
    "the smallest along a dimension with NaN": f"""
        {MATRIX}
        r1 = r0.log()
        r1.amin(0).sum().backward()
    """,
    "the sign of NaN is 0": f"{VECTOR}\nr1 = r0.log().sign()",
    "a running product of one element has a constant gradient": f"""
        {MATRIX}
        r0[:1].cumprod(0).sum().backward(create_graph=True)
    """,
    "the product's gradient is made from the product": f"""
        {VECTOR}
        r1 = r0.prod()
        r0.data.mul_(2)
        r1.backward()
    """,
    "the running product's gradient is made from the product": f"""
        {VECTOR}
        r1 = r0.cumprod(0)
        r0.data.mul_(2)
        r1.sum().backward()
    """,
    "the variance of nothing has a constant gradient": """
        r0 = torch.zeros(2, 0, dtype=torch.float64, requires_grad=True)
        r1 = torch.autograd.grad(r0.var(), r0, create_graph=True)[0] * r0
    """,
    "an argument of a checkpoint overwritten before backward": f"""
        {VECTOR}
        r1 = r0 * 1
        r2 = checkpoint(lambda t: (t * 2).exp(), r1, use_reentrant=False)
        r1.add_(1)
        r2.sum().backward()
    """,
    "hooks on saved tensors are shown the arguments of a checkpoint": f"""
        {VECTOR}
        with torch.autograd.graph.saved_tensors_hooks(lambda t: seen(t).clone(), lambda t: seen(t)):
            r2 = checkpoint(lambda t: (t * 2).exp(), r0, use_reentrant=False)
        r2.sum().backward()
    """,
    "tensors saved on the CPU are not copied when they are there": f"""
        {VECTOR}
        with torch.autograd.graph.save_on_cpu():
            r1 = r0.sin()
        r0.detach().mul_(2)
        r1.sum().backward()
    """,
    "what was overwritten is noticed where no gradient arrives": f"""
        {MATRIX}
        r1 = r0.softmax(0)
        r1.add_(r0, alpha=2)
        r2 = Cut.apply(r0, r1)
        r2.sum().backward()
    """,
    "the first tensor without history is named": f"""
        {VECTOR}
        with torch.no_grad():
            r1 = r0[1:]
        torch.autograd.backward([r1, r0.detach()], [torch.ones_like(r1), None])
    """,
    "a power of truth values has no gradient": f"""
        {VECTOR}
        r1 = (r0 ** (r0 > 0)).sum()
        r1.backward(retain_graph=True)
        r1.backward(create_graph=True)
    """,
    "the gradient of logsigmoid is made from what was kept": f"""
        {VECTOR}
        r1 = F.logsigmoid(r0)
        r0.data.copy_(r1)
        r1.sum().backward()
    """,
    "the variance along a dimension of one element has a recorded gradient": f"""
        {MATRIX}
        r1 = r0[:1]
        r1.var(0).sum().backward(create_graph=True)
    """,
    "the variance along an empty dimension has a recorded gradient": """
        r0 = torch.zeros(0, dtype=torch.float64, requires_grad=True)
        r0.var(0).backward(create_graph=True)
    """,
    "the node of a deviation called by hand": """
        r0 = torch.zeros(2, 0, dtype=torch.float64, requires_grad=True)
        r1 = r0.std()
        r2 = r1.grad_fn(torch.ones_like(r1)).sum().double()
    """,
    "what has no derivative runs before all else": f"""
        {MATRIX}
        r1 = torch.zeros(2, 0, dtype=torch.float64, requires_grad=True)
        r2 = r1 // 2
        r3 = r0 * r0
        torch.autograd.backward([r2.sum(), r3.sum()])
    """,
    "a running product where what follows a zero is no number": """
        r0 = torch.tensor([[0.5, 1.0, -1.0], [2.0, -0.25, 0.0]], dtype=torch.float64, requires_grad=True)
        ((2 / r0).cos() * r0.cumprod(0)).sum().backward()
    """,
    "the largest of all elements passes NaN to no other": f"""
        {MATRIX}
        r0.max().std(0).backward(retain_graph=True)
        r1 = torch.autograd.grad(r0.max().var(0), r0, create_graph=True)[0].clone()
        r2 = torch.autograd.grad(r0.amax(0).std(1 - 1), r0)[0].clone()
    """,
    "the gradient of a stale view without elements is constant": """
        r0 = torch.zeros(2, 0, dtype=torch.float64, requires_grad=True)
        r1 = r0[..., None]
        with torch.no_grad():
            r1.zero_()
        (r1 / r1).backward(torch.ones_like(r1), create_graph=True)
        r2 = torch.autograd.grad((r1 * r1).sum(), r0, create_graph=True)[0].clone()
    """,
    "what has no derivative runs before a leaf that comes after it": f"""
        {VECTOR}
        r1 = torch.tensor([1.0, 0.5, 3.0], requires_grad=True) // 2
        r1.sub_(r0)
        r1.backward(torch.ones(3))
    """,
    "the gradient of the largest elements, of another number of dimensions": f"""
        {MATRIX}
        r1 = r0.topk(1).values
        r2 = r1.grad_fn(torch.ones(1, dtype=torch.float64))
    """,
    "the gradient of a write to an expanded part": """
        r0 = torch.tensor(1.5, dtype=torch.float64, requires_grad=True)
        r1 = (r0 * 1).expand(2, 3)
        r1[..., 0] = r1[..., 0]
        (r1 + r1).sum().backward()
    """,
    "an infinite gradient of a product with two zeros": """
        r0 = torch.tensor([0.0, -0.0, 2.0], dtype=torch.float64, requires_grad=True)
        r0.prod().reciprocal().backward(retain_graph=True)
        r1 = r0.prod()
        r2 = r1.grad_fn(r1.reciprocal()) * 1
        with torch.no_grad():
            r3 = r1.grad_fn(r1.reciprocal())
    """,
    "an infinite gradient of a norm that is zero": """
        r0 = torch.tensor([0.0, -0.0], dtype=torch.float64, requires_grad=True)
        r0.norm().reciprocal().backward()
        r1 = torch.autograd.grad(r0.norm().reciprocal(), r0, create_graph=True)[0].clone()
    """,
    "a vector's gradient from a matrix that took data of another type": """
        r0 = torch.tensor([[0.5, 1.0], [2.0, -0.25]], dtype=torch.float64, requires_grad=True)
        r1 = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
        r2 = r0.mv(r1)
        r0.data = r0.data.float()
        r2.sum().backward()
    """,
    "the gradient of a batch of matrices that took data of another type": """
        r0 = torch.tensor([[[0.5, 1.0], [2.0, -0.25]]], dtype=torch.float64, requires_grad=True)
        r1 = r0.detach().clone()
        r2 = torch.bmm(r1, r0)
        r1.data = r1.data.float()
        r2.sum().backward()
    """,
    "a saved tensor packed in inference mode": f"""
        {VECTOR}
        r1 = r0.erf()
        with torch.inference_mode():
            r1.grad_fn._raw_saved_self.register_hooks(pack, unpack)
        r1.backward(torch.ones_like(r1), create_graph=True)
    """,
    "elements picked from what took data of another type since": f"""
        {VECTOR}
        r1 = r0.masked_select(r0 > 0)
        r0.data = r0.data.float()
        r1.max().backward()
    """,
    "logsigmoid of what took data of another type since": f"""
        {VECTOR}
        r1 = r0 * 1
        r2 = F.logsigmoid(r1)
        r1.data = r1.data.float()
        r2.sum().backward()
    """,
    "an element of a wider type assigned by a mask": f"""
        {VECTOR}
        r1 = torch.arange(3.0)
        r1[r1 > r0] = r0[r1 > r0]
        r1.sum().backward()
        r2 = torch.arange(3.0)
        r2[r2 > 1] = r0[1]
        r2.sum().backward(create_graph=True)
    """,
    # --- tensors that change their form after their node was made ---
    "a leaf that got a dimension between two roots": """
        r0 = torch.zeros(0, dtype=torch.float64, requires_grad=True)
        r1 = Both.apply(r0)[0]
        with torch.no_grad():
            r0.unsqueeze_(0)
        torch.autograd.backward([r0.sum(), r0.sum()])
    """,
    "a leaf that took shorter data of another type after it was used": f"""
        {VECTOR}
        r1 = r0 + r0
        r2 = torch.tensor([1.0, 0.5, 3.0], requires_grad=True)
        r0.data = r2.view(-1)[1:]
        (r1 * 2).sum().backward()
    """,
    "the largest of a number that had a dimension": f"""
        {MATRIX}
        r1 = (r0[:1, 0] * 1).view(-1)
        r1.data = r1.data[0]
        r1.amax(0).backward(retain_graph=True)
        r1.amin(-1).backward(create_graph=True)
        r1.amin(0, True).backward()
    """,
    "a hook of a leaf that was given other memory in inference mode": f"""
        {VECTOR}
        r1 = r0.std()
        r1.grad_fn.next_functions[0][0].register_hook(lambda i, o: seen(o[0], 0))
        with torch.inference_mode():
            r0.set_(r0.detach())
        r0.sum().backward(inputs=[r0])
    """,
    "a tensor that took other data expects gradients as before": f"""
        {VECTOR}
        r1 = r0 * 2
        r1.data = r1.data.float()
        r2 = r1 * 3
        r2.sum().backward()
        r3 = r0[...]
        r3.data = r3.data.float()
        r3.expand(3, 3).max().backward()
    """,
    "a tensor that got a dimension in inference mode": f"""
        {MATRIX}
        r1 = r0.double()
        with torch.inference_mode():
            r1.unsqueeze_(0)
        r2 = torch.autograd.grad(r1.sum(), r1)[0].clone()
    """,
    "a leaf that was transposed after it was used": """
        r0 = torch.tensor([[1.5], [0.5]], dtype=torch.float64, requires_grad=True)
        r1 = F.l1_loss(r0, r0)
        with torch.inference_mode():
            r0.t_().mul_(2)
        r1.backward()
    """,
    "a leaf that was transposed after its gradient was computed": """
        r0 = torch.zeros(2, 0, dtype=torch.float64, requires_grad=True)
        (r0 * 3).sum().backward()
        with torch.inference_mode():
            r0.transpose_(0, -1)
        (r0 * r0).sum().backward()
    """,
    "a tensor that lost a dimension and was broadcast": """
        r0 = torch.tensor([[1.5], [0.5]], dtype=torch.float64, requires_grad=True)
        r1 = r0.max(0).values
        r1.data = r1.data[0]
        (r1 + r0.detach().T).sum().backward()
    """,
    "a saved tensor that took data of another shape": f"""
        {MATRIX}
        r1 = r0.sin()
        r0.data = torch.ones(4, 3, dtype=torch.float64)
        (r1 * r1).sum().backward()
    """,
    "a matrix that took data of another type after it was used": f"""
        {MATRIX}
        r1 = r0.T @ r0
        r0.data = r0.data.float()
        r1.max().backward()
    """,
    "a leaf without elements that got a dimension after it was used": """
        r0 = torch.zeros(0, dtype=torch.float64, requires_grad=True)
        r1 = torch.stack([r0, r0, r0], -1)
        r0.data = r1
        (r1 * r1).sum().backward()
    """,
    "a view that took data of another type and was overwritten": """
        r0 = torch.zeros(0, dtype=torch.float64, requires_grad=True)
        r1 = r0.unsqueeze(-1)
        r1.data = r1.data.float()
        with torch.no_grad():
            r1.abs_()
        (r1 * r1).sum().backward()
    """,
    "a leaf that got a dimension in place after it was used": f"""
        {VECTOR}
        r1 = F.l1_loss(r0, r0)
        with torch.no_grad():
            r0.unsqueeze_(0)
        (r0 * 3).sum().backward()
    """,
    "a leaf that got another type after it was used": f"""
        {MATRIX}
        r1 = r0 * 2
        r0.data = r0.data.float()
        r2 = torch.autograd.grad((r0 * 1).sum(), r0)[0].clone()
        r1.sum().backward()
    """,
    "a view that took other memory than its base": """
        r0 = torch.ones(3, dtype=torch.float64).requires_grad_()
        r1 = r0.expand(3, *r0.shape)
        r1.data = r1.detach() * 2
        with torch.no_grad():
            r0[torch.tensor([0, 1])] = 3.0
        (r1 * 3).sum().backward()
    """,
    # --- nodes ---
    "assigning a number fills": f"{MATRIX}\nr1 = r0 * 1\nr1[:] = 2.0\nr1.sum().backward()",
    "assigning a number to everything fills": f"{MATRIX}\nr1 = r0 * 1\nr1[...] = 5.",
    "assigning a number to one place copies": f"{MATRIX}\nr1 = r0.sum()\nr1[...] = 5.",
    "fill_ with a tensor": f"{MATRIX}\nr1 = r0 * 1\nr1.fill_(r0.sum())\nr1.sum().backward()",
    "chunk of an empty dimension": """
        r0 = torch.zeros(0, dtype=torch.float64, requires_grad=True)
        r1 = r0.chunk(2)[1]
    """,
    "squeeze of a number along a dimension": """
        r0 = torch.tensor(1.5, requires_grad=True)
        r1 = r0.squeeze(0)
    """,
    "squeeze_ along a dimension": f"{MATRIX}\nr1 = r0[:1] * 1\nr1.squeeze_(0)\nr1.sum().backward()",
    "floor division has no gradient": f"{VECTOR}\nr1 = r0 // 2\nr1.sum().backward()",
    "floor division in place has no gradient": f"{VECTOR}\nr1 = r0 * 1\nr1 //= 2\nr1.sum().backward()",
    "set_ has no gradient": f"{VECTOR}\nr1 = r0 * 1\nr1.set_(r0.detach().clone())\nr1.sum().backward()",
    "a stack times a vector is one product": f"""
        r0 = torch.tensor([[[0.5, 1.0, -1.0]], [[2.0, -0.25, 0.0]]], requires_grad=True)
        {FLOATS}
        r2 = r0 @ r1
        r3 = r1 @ r0.mT
        r2.sum().backward()
    """,
    "a matrix times a stack that requires no grad": """
        r0 = torch.tensor([[[0.5, 1.0]], [[2.0, -0.25]]])
        r1 = torch.tensor([[0.5], [1.5]], requires_grad=True)
        r2 = r1 @ r0
        r2.sum().backward()
    """,
    # --- writing ---
    "a write to a tensor without elements": "r0 = torch.zeros(2, 0)\nr0.add_(1)\nr0[:] = 2.0",
    "masked_fill_ of an expanded tensor": """
        r0 = torch.tensor([0.5, 2.0])
        r1 = r0.expand(3, 2)
        r1.masked_fill_(torch.tensor([[True, False], [False, False], [False, False]]), 7.0)
    """,
    "assigning by mask to an expanded tensor": """
        r0 = torch.tensor([0.5, 2.0])
        r1 = r0.expand(3, 2)
        r1[torch.tensor([[True, False], [False, False], [False, False]])] = 7.0
    """,
    "assigning an expanded tensor to itself": f"{VECTOR}\nr1 = r0.detach().expand(2, 3)\nr1[1:] = r1[1:]",
    "filling an expanded tensor with a tensor": """
        r0 = torch.ones(2)
        r0.expand(3, 2).fill_(torch.tensor(2.0))
    """,
    "adding a tensor seen in its own shape": """
        r0 = torch.tensor([[1.5], [0.5]])
        r1 = r0.expand(r0.shape)
        r0.add_(r1)
    """,
    "one value assigned by mask is converted": f"""
        {VECTOR}
        r1 = torch.tensor([1, 2, 0])
        r2 = r0 * 1
        r2[r2 > 1] = r1[r2 > 1]
    """,
    "out= under no_grad": f"""
        {VECTOR}
        r1 = torch.zeros(3, dtype=torch.float64)
        with torch.no_grad():
            torch.add(r0, r0, out=r1)
    """,
    "a view whose data was swapped": """
        r0 = torch.tensor([1.0, 0.5, 3.0], requires_grad=True)
        r1 = r0[2]
        r1.data = r1.detach() * 2
        with torch.no_grad():
            r0[0] = 5.
        r1.backward(torch.ones_like(r1))
    """,
    "requires_grad of a stale view from no_grad": f"""
        {VECTOR}
        with torch.no_grad():
            r1 = r0[1:]
            r0.add_(1)
        r1.requires_grad = False
        r1.requires_grad_()
    """,
    "a stale view can be printed": f"""
        {VECTOR}
        with torch.no_grad():
            r1 = r0[1:]
            r0.add_(1)
        note(repr(r1))
    """,
    "an integer view from no_grad may be written": f"""
        {FLOATS}
        r0 = torch.tensor([1, 2, 0])
        with torch.no_grad():
            r2 = r0[1:]
        r2[:] = r1[1:]
    """,
    "a view of truth values filled with a tensor that requires grad": f"""
        {VECTOR}
        r1 = torch.tensor([True, False, True]).split([1, 2])[1]
        r1[:1].fill_(r0.sum())
    """,
    "the version error of a detached input names its user": f"""
        {VECTOR}
        r1 = r0 * 1
        r2 = r1.sin()
        r1.add_(1)
        r1.detach_()
        r3 = r2.grad_fn._saved_self
    """,
    "a detached input is noticed before an overwritten one": f"""
        {VECTOR}
        r1 = r0 * 1
        r2 = r1.sin()
        r1.add_(1)
        r1.detach_()
        r2.sum().backward()
    """,
    # --- custom Functions ---
    "an argument left out before a keyword": f"{VECTOR}\nr1 = Scale.apply(r0, shift=1)",
    "an argument left out at the end": f"{VECTOR}\nr1 = Scale.apply(x=r0)\nr1.sum().backward()",
    "defaults with setup_context": f"{VECTOR}\nr1 = Setup.apply(power=3, x=r0)\nr1.sum().backward()",
    "the node of a Function cannot be called": f"{VECTOR}\nr1 = Own.apply(r0)\nr1.grad_fn(r0)",
    "one of two gradients is not enough": f"{MATRIX}\nr1 = r0.unbind()[0]\nr1.grad_fn(r0)",
    "an input handed out beside a result may not be written": f"""
        {VECTOR}
        r1 = r0 * 1
        r2 = Both.apply(r1)[0]
        r2.mul_(2)
    """,
    "an input handed out under no_grad may not be written": f"""
        {VECTOR}
        r1 = r0 * 1
        with torch.no_grad():
            r2 = Same.apply(r1)
        r2.mul_(2)
    """,
    "two outputs of an overwritten view": f"{VECTOR}\nr1 = r0.view(-1)\nr2 = DirtyTwo.apply(r1)[0]",
    "an overwritten view of a leaf from no_grad": f"""
        {VECTOR}
        with torch.no_grad():
            r1 = r0[1:]
        r2 = Dirty.apply(r1)
    """,
    "an overwritten integer is counted twice": f"""
        {INTEGERS}
        {VECTOR}
        r2 = DirtyTwo.apply(r1, r0)[1]
    """,
    "an overwritten input loses its gradient": f"""
        {VECTOR}
        r1 = r0.relu()
        r1.sum().backward(inputs=[r1])
        r2 = DirtyTwo.apply(r1)[1]
    """,
    "the version error of an overwritten view names the view's node": f"""
        {VECTOR}
        r1 = r0 * 1
        r2 = r1[:]
        r2.tanh_()
        with torch.no_grad():
            r2.fill_(1)
        r1.square().sum().backward()
    """,
    "saved tensors of a Function may be detached in place": f"""
        {VECTOR}
        r1 = r0 * 2
        r2 = Keep.apply(r0, r1)
        r1.detach_()
        r2.sum().backward()
    """,
    "the version error of an input does not say which output it was": f"""
        {MATRIX}
        r1 = r0.unbind()[1]
        r2 = (r1 * 1).sin() + r1.cos()
        with torch.no_grad():
            r0.add_(1)
        r3 = Two.apply(r0)[1]
        r4 = r3.sin()
        with torch.no_grad():
            r3.add_(1)
        r4.sum().backward()
    """,
    "an integer handed out as it is shares its memory": """
        r0 = torch.tensor(2.0) > 1
        with torch.no_grad():
            r1 = Both.apply(r0)[0]
    """,
    "a Function of a stale view, differentiated for what the view was overwritten with": f"""
        {VECTOR}
        r1 = (r0 * 1)[:, None]
        r2 = r1 * 3
        r1.view(-1)[1:].mul_(r2.view(-1)[1:])
        r3 = Twin.apply(r1)[1]
        r4 = torch.autograd.grad(r3, r2, torch.ones_like(r3))[0].clone()
    """,
    # --- hooks ---
    "one hook for any of several tensors, one of them plain": f"""
        {VECTOR}
        r1 = torch.ones(3, dtype=torch.float64)
        torch.autograd.graph.register_multi_grad_hook((r1, r0), lambda g: seen(g, 0), mode='any')
        (r0 * r1).sum().backward()
    """,
    "one hook for several tensors where backward begins": f"""
        {VECTOR}
        torch.autograd.graph.register_multi_grad_hook((r0, r0), lambda gs: [seen(g) for g in gs] and None)
        r0.backward(torch.ones_like(r0))
    """,
    "one hook for a view of a leaf from no_grad": f"""
        {VECTOR}
        with torch.no_grad():
            r1 = r0[1:]
        torch.autograd.graph.register_multi_grad_hook((r0, r1), lambda gs: [seen(g) for g in gs] and None)
    """,
    "a node's hook is shown no gradient that was not asked for": f"""
        {MATRIX}
        r1 = r0 * r0
        r1.grad_fn.register_hook(lambda i, o: seen(i[0], 0))
        r1.sum().backward(inputs=[r1], retain_graph=True)
        r1.sum().backward()
    """,
    "the gradient retained before a transposition in place": f"""
        {MATRIX}
        r1 = r0 * 2
        r1.retain_grad()
        r1.sum().backward(retain_graph=True)
        r1.t_()
        (r1 * r1).sum().backward()
    """,
    "one hook for leaves where autograd.grad begins": f"""
        {VECTOR}
        r1 = torch.ones(3, dtype=torch.float64).requires_grad_()
        torch.autograd.graph.register_multi_grad_hook((r0, r1), lambda gs: [seen(g) for g in gs] and None)
        r2 = torch.autograd.grad(r0, r0, torch.ones_like(r0))[0].clone()
        torch.autograd.grad(r0, r1, torch.ones_like(r0), allow_unused=True)
    """,
    "a hook that returns something where no gradient arrived": f"""
        {MATRIX}
        r1 = (r0 * 1).unbind()
        r1[0].register_hook(lambda g: 3)
        r1[1].sum().backward()
    """,
    "a hook on a node that leads nowhere": f"""
        {VECTOR}
        with torch.no_grad():
            r1 = r0[1:]
        r2 = r1[..., None]
        r2.grad_fn.register_hook(lambda i, o: seen(i[0], 0))
        r2.sum().backward()
    """,
    "a hook on a Function is shown all that it returned": f"""
        {VECTOR}
        r1 = Both.apply(r0)[0]
        r1.grad_fn.register_hook(lambda i, o: seen(i[0], 0))
        r1.sum().backward(inputs=[r1])
    """,
    "a leaf that hooks packed is a leaf when it was saved": f"""
        {VECTOR}
        with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
            r1 = checkpoint(lambda t: (t * 2).exp(), r0, use_reentrant=False)
            r2 = r0.sin()
        r0.detach_()
        note(r2.grad_fn._saved_self.requires_grad)
        r3 = r1.grad_fn._saved_result
    """,
    "a view that requires grad by its base only, packed by hooks": f"""
        {VECTOR}
        with torch.no_grad():
            r1 = r0[-1]
        with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
            r2 = checkpoint(lambda t: (t * 2).exp(), r1, use_reentrant=False)
            r3 = r1.sin()
        note(r3.grad_fn._saved_self.requires_grad)
    """,
    "a stale view may not be given hooks": f"""
        {VECTOR}
        r1 = r0.chunk(2)[0]
        r2 = r1.max()
        r0.detach().t_()
        r2.grad_fn._raw_saved_self.register_hooks(pack, unpack)
    """,
    # --- inference mode ---
    "inference tensors that require grad": f"""
        {VECTOR}
        with torch.inference_mode():
            r1 = r0 * 2
            r1.requires_grad_()
            r2 = torch.nn.Parameter(r0 * 3)
        r3 = r1.repeat(2, 1)
        r4 = r1 @ r2
        r5 = r1 * 2
        r6 = r1 + torch.ones(3, dtype=torch.float64)
        r7 = r1.exp()
        r8 = r2.t()
        r9 = torch.cat([r1, r2])
        r10 = torch.cat([r1, torch.ones(3, dtype=torch.float64)])
        r11 = r1[torch.tensor([0])]
        r1.backward(torch.ones(3, dtype=torch.float64))
        r7.sum().backward()
    """,
    "numbers that are inference tensors": """
        r0 = torch.tensor(2.0, dtype=torch.float64, requires_grad=True)
        with torch.inference_mode():
            r1 = torch.nn.Parameter(r0 * 3)
        r2 = r1.cumsum(0)
        r3 = r1.cumprod(0)
        r4 = r1.max(0).values
        r5 = r1.min(-1).values
        r6 = r1.topk(1).values
        (r2 * r3 * r4 * r5 * r6).backward()
    """,
    "inference tensors stacked or repeated, and overwritten": """
        with torch.inference_mode():
            r0 = torch.zeros(0) * 2
            r1 = torch.nn.Parameter(torch.ones(3) * 1)
        r2 = torch.stack([r0, r0])
        r2.mul_(torch.ones(2, 0, requires_grad=True))
        r3 = torch.stack([r1, r1])
        r3.add_(torch.ones(2, 3, requires_grad=True))
        r4 = r1.repeat(2, 1)
        r4.add_(torch.ones(2, 3, requires_grad=True))
        r5 = torch.stack([r1[0], r1[1]])
        r5.add_(torch.ones(2, requires_grad=True))
    """,
    "copies of inference tensors": f"""
        {VECTOR}
        with torch.inference_mode():
            r1 = (r0 * 2).requires_grad_()
            r2 = torch.ones(2, 3).t() * 2
            r12 = r2.contiguous()
        r13 = r12.contiguous()
        r3 = r1.clone()
        r4 = r1.float()
        r5 = r2.contiguous()
        r6 = r2.reshape(-1)
        r7 = 1 - r1
        r8 = r1 % 2
        r9 = r1 // 2
        r10 = r1.sort(0).values
        r11 = r1[:1].flip(0)
        r1.detach_()
    """,
    "a Function in inference mode with recording on": f"""
        {VECTOR}
        r1 = r0 * 1
        with torch.inference_mode():
            torch.set_grad_enabled(True)
            r2 = Cut.apply(r0, r1)
            r3 = Same.apply(r1)
            r4 = Dirty.apply(r1)
            r5 = Own.apply(r0)
            r6 = Lazy.apply(r0)[0]
        r7 = r6.select(0, 1)
        r8 = r6 + torch.ones(3, dtype=torch.float64)
        r9 = torch.ones(3, dtype=torch.float64).add_(r6)
        r10 = Cut.apply(r6, r6)
        r6.sum().backward()
        r6.backward(torch.ones(3, dtype=torch.float64))
    """,
    "the largest elements in inference mode": f"""
        {MATRIX}
        with torch.inference_mode():
            r1 = r0.max(0).indices
    """,
    "views of a view from inference mode": f"""
        {MATRIX}
        r1 = r0 * 1
        with torch.inference_mode():
            r2 = r1.view(2, 3)
        r3 = r2.unbind()[0]
        r3.mul_(2)
    """,
    "detach_ in inference mode": f"""
        {VECTOR}
        with torch.inference_mode():
            r0.detach_()
    """,
    ".data of an inference tensor": f"""
        {VECTOR}
        with torch.inference_mode():
            r1 = r0 * 2
        r2 = r1.data
        r1.data = torch.ones(3, dtype=torch.float64)
    """,
    "copies and parameters made in inference mode": f"""
        {VECTOR}
        with torch.inference_mode():
            r1 = copy.deepcopy(r0)
            r2 = torch.nn.Parameter(r0 * 2)
    """,
    "NumPy of what requires grad under no_grad": f"""
        {VECTOR}
        with torch.no_grad():
            note(r0.numpy().tolist())
    """,
    # --- values and refusals ---
    "the copy of a tensor was written to once": f"{VECTOR}\nr1 = copy.deepcopy(r0)",
    "lerp is computed from the nearer end": "r0 = torch.tensor([-0.0])\nr1 = 1 / torch.lerp(r0, r0, 0.5)",
    "relu keeps the sign of zero": "r0 = torch.tensor([-0.0])\nr1 = 1 / r0.relu()",
    "a remainder keeps the sign of zero": "r0 = torch.tensor([-0.0, 4.0, -4.0, 3.0, -3.0])\nr1 = 1 / (r0 % 2)",
    "a Parameter in a text is shown as a Parameter": "r0 = torch.nn.Parameter(torch.tensor(0.5))\nnote(f'{r0}')",
    "integers to large powers": "r0 = torch.tensor([0, 3, 64, 63, -1])\nr1 = 2 ** r0\nr2 = True ** r0",
    "integers to negative powers": "r0 = torch.tensor([1, -1, 2, 0])\nr1 = r0 ** torch.tensor([-3, -3, -1, -2])",
    "truths to the power of truths: sizes first": f"{TRUTHS}\nr2 = r1 ** r1[::2]",
    "truths squared are integers": f"{TRUTHS}\nr2 = r1.square()\nr3 = torch.add(r1, r1, alpha=3)",
    "matmul that folds says which sizes do not fit": "r0 = torch.ones(3)\nr1 = torch.ones(2, 1, 3)\nr2 = r0 @ r1",
    "matmul of nothing with a stack": "r0 = torch.ones(2, 0)\nr1 = torch.ones(2, 1, 3)\nr2 = r0 @ r1",
    "a sum over one dimension twice": f"{MATRIX}\nr1 = r0.sum((0, -2))",
    "places of columns lie in rows": "r0 = torch.ones(2, 3)\nr1 = r0[:, torch.tensor([0, 0])]\nr2 = r1.view(-1)",
    "a reduction lies in rows": f"{MATRIX}\nr1 = r0.expand(2, 2, 3).permute(0, 2, 1).amax(0)\nr2 = r1.reshape(-1)",
    "a running sum lies in rows": f"{MATRIX}\nr1 = r0.t().cumsum(0)\nr2 = r1.view(-1)",
    "softmax lies in rows": f"{MATRIX}\nr1 = r0.t().softmax(0)\nr2 = r1.view(-1)",
    "tensors joined lie in rows": f"{MATRIX}\nr1 = torch.cat([r0.t(), r0.t()])\nr2 = r1.view(-1)",
    "integers too small for infinity": f"{INTEGERS}\nr2 = 2 / r1\nr1.masked_fill_(r1 > 1, r2.sum())",
    "a changed slot may be given hooks": f"""
        {VECTOR}
        r1 = r0.sin()
        with torch.no_grad():
            r0.add_(1)
        r1.grad_fn._raw_saved_self.register_hooks(pack, unpack)
    """,
    "a changed result may be given hooks": f"""
        {VECTOR}
        r1 = r0.sigmoid()
        with torch.no_grad():
            r1.add_(1)
        r1.grad_fn._raw_saved_result.register_hooks(pack, unpack)
    """,
    "a tensor like an expanded one lies in rows": """
        r0 = torch.ones(2, 1).expand(2, 3)
        r1 = torch.empty_like(r0).fill_(2)
        r2 = r1.view(-1)
    """,
    "softmax of no truth values": """
        r0 = torch.zeros(2, 0) > 1
        r1 = r0.softmax(0)
        r2 = r0.log_softmax(-1)
        r3 = r0 @ r0.T
    """,
    "of equal elements topk takes those that PyTorch takes": """
        r0 = torch.tensor([0.0, -0.0, 2.0, 0.0, -0.0, 2.0])
        r1 = r0.topk(1).indices
        r2 = r0.topk(5).indices
    """,
    "the gradient of a transposed matrix lies as that matrix does": f"""
        {MATRIX}
        r1 = r0.transpose(0, -1)
        r2 = torch.autograd.grad([r1.sum(), r1.sum()], r0)[0].clone()
        r3 = r2.T.contiguous()
    """,
    "the smallest of zeros": """
        r0 = torch.tensor([0.0, -0.0, 2.0])
        r1 = 1 / r0.amin(0)
        r2 = 1 / r0.min()
        r3 = 1 / (-r0).amax()
        r4 = 1 / (-r0).max()
        r5 = 1 / torch.maximum(r0, -r0)
        r6 = 1 / torch.minimum(r0, -r0)
    """,
    "a running sum begins with zero": "r0 = torch.tensor([-0.0, -0.0])\nr1 = 1 / r0.cumsum(0)",
    "places of ordered elements lie as those do": f"""
        {MATRIX}
        r1 = r0.t().sort(0).indices
        r2 = r1.t().view(-1)
        r3 = r0.sort(0, True).indices.t().view(-1)
        r4 = r0.nonzero().t().view(-1)
    """,
    "a dimension of one element is stepped over as before": """
        r0 = torch.tensor([[1, 2, 0], [0, 1, -1]])
        r1 = r0.T
        r1.unsqueeze_(0)
        r2 = r1.sort(-1, descending=True).values
        r3 = F.linear(r2, r0, r0.sum(-1))
    """,
    "elements in order lie as before": f"{MATRIX}\nr1 = r0.t().sort(0).values\nr2 = r1.reshape(-1)",
    "elements in reverse order lie as before": f"{MATRIX}\nr1 = r0.t().flip(0)\nr2 = r1.reshape(-1)",
    "filled by a mask lies in rows": f"{MATRIX}\nr1 = r0.t().masked_fill(r0.t() > 1, 0.5)\nr2 = r1.reshape(-1)",
    "converted and expanded lies in rows": """
        r0 = torch.ones(3).expand(2, 3).double()
        r1 = r0.contiguous()
        r2 = torch.ones(3).expand(2, 3).erf()
        r3 = r2.contiguous()
    """,
    "linear of a vector with gaps": f"""
        {VECTOR}
        r1 = r0[::2]
        r2 = torch.ones(4, 2, dtype=torch.float64, requires_grad=True)
        r3 = F.linear(r1, r2, r2.sum(-1))
        r3.sum().backward()
    """,
    "integers expanded and rounded lie in rows": """
        r0 = torch.tensor([1, 2, 0]).expand(2, 3)
        r1 = r0.round()
        r2 = r1.contiguous()
        r3 = r0.exp()
        r4 = r3.contiguous()
    """,
    "the larger of a tensor and a Parameter": f"{VECTOR}\nr1 = torch.maximum(r0, torch.nn.Parameter(r0.detach() * 2))",
    "an expanded column shares its memory": f"""
        {MATRIX}
        r1 = r0.t()[1]
        r2 = r1.expand(r1.shape)
        r3 = r1.expand(3, 2)[0]
        note(r2.untyped_storage().data_ptr() == r0.untyped_storage().data_ptr())
    """,
    "zeros that PyTorch keeps without memory": f"""
        {VECTOR}
        r1 = torch.autograd.grad(r0.abs().sum(), r0, create_graph=True)[0].clone()
        r1.sum().backward(inputs=[r0])
    """,
    "a view that may not be written to, and truth values": f"""
        {VECTOR}
        r1 = r0.split([1, 2])[1]
        r1.sub_(r0[1:] > 0)
    """,
    "what has no derivative is reached without a gradient": f"""
        {VECTOR}
        r1 = DirtyTwo.apply(r0 * 1, r0 // 2)[1]
        r1.sum().backward()
    """,
    "elu of what is no number": """
        r0 = torch.tensor([-1.5, 2.0], dtype=torch.float64, requires_grad=True)
        r1 = F.elu(r0 ** r0)
        r2 = r1.grad_fn(torch.ones_like(r1)) * 1
    """,
    "a transposed matrix times another": f"{MATRIX}\nr1 = r0.detach().t() * r0.reshape(3, 2)\nr2 = r1.reshape(-1)",
    "batches of truth values": f"""
        {MATRIX}
        r1 = torch.ones(2, 2, 3) > 0
        r2 = r1 @ r0.unsqueeze(-1)
    """,
    "batches of nothing have the second one's type": """
        r0 = torch.ones(2, 3, 0) > 0
        r1 = r0 @ torch.ones(2, 0, 4)
        r2 = torch.ones(2, 3, 0) @ (torch.ones(2, 0, 4) > 0)
    """,
    # --- seldom operations ---
    "seldom operations have nodes of their own": f"""
        {VECTOR}
        {MATRIX.replace("r0", "r1")}
        r2 = r1.roll((1, 2), (0, 1))
        r3 = r1[:, :2].trace()
        r4 = torch.diag(r1, 1)
        r5 = torch.diag(r0)
        r8 = torch.kthvalue(r1, 2, 0).values
        r9 = F.pad(r1, (1, -1, 0, 2), value=0.5)
        r10 = r0.clamp_min(r0 * 2)
        r11 = r1.div(r0, rounding_mode='floor')
        r11.div_(r0, rounding_mode='trunc')
        r12 = F.kl_div(r0, r0.exp())
        r13 = F.kl_div(r0, r0)
        (r2.sum() + r3 + r4.sum() + r5.sum() + r8.sum() + r9.sum() + r10.sum() + r12).backward()
    """,
    "seldom operations of one element or none": """
        r0 = torch.tensor(2.0, requires_grad=True)
        r1 = torch.zeros(2, 0, requires_grad=True)
        r2 = r0.movedim(0, -1)
        r3 = r0[None, None]
        r4 = torch.vstack([r3[0], r3[0]])
        r5 = r0.repeat_interleave(2)
        r6 = r1.repeat_interleave(2, 0)
        r8 = r1.inner(r1)
        r9 = r0.nonzero()
        r10 = torch.tensordot(torch.ones(2, 2), torch.ones(1, 2), 1)
        r12 = r1.roll(1, 0)
        r13 = torch.kthvalue(r0, 1, 0).values
        r14 = F.layer_norm(r1, r1.shape[-1:])
    """,
    "integers limited by a fraction, and other types of limits": f"""
        {INTEGERS}
        r2 = r1.clamp_min(0.5)
        r3 = (r1 > 0).clamp_max(1)
        r6 = F.threshold(r1, 0.5, 0.0)
    """,
    "the gradient of an angle at the origin": """
        r0 = torch.tensor([0.0, -0.0, 2.0], dtype=torch.float64, requires_grad=True)
        r1 = torch.atan2(r0, -r0)
        r1.sum().backward(create_graph=True)
        r2 = 1 / r0.grad
    """,
    "the root of a negative zero, as a power": """
        r0 = torch.tensor([0.0, -0.0, 2.0], dtype=torch.float64, requires_grad=True)
        r1 = 1 / r0.pow(0.5)
        r0.pow(0.5).sum().backward(retain_graph=True)
        r2 = torch.autograd.grad(r0.pow(0.5).sum(), r0, create_graph=True)[0].clone()
        r3 = 1 / torch.tensor(-0.0).pow(0.5)
    """,
    "the product of one zero has a constant gradient": """
        r0 = torch.zeros(2, 1, dtype=torch.float64, requires_grad=True)
        r0.prod(-1, True).sum().backward(create_graph=True)
    """,
    "seldom operations on inference tensors": f"""
        {VECTOR}
        with torch.inference_mode():
            r1 = torch.nn.Parameter(r0 * 2)
            r7 = torch.nn.Parameter(torch.zeros(0) * 1)
        r2 = torch.fmod(r1, 2)
        r3 = r1.detach().floor_divide(r1)
        r4 = torch.diag(r1)
        r5 = F.pad(r1, (1, 1))
        r6 = r7.roll(1, 0)
        (r2 + r4.sum() + r5.sum()).sum().backward()
    """,
    "truth values in losses and products": f"""
        {VECTOR}
        r1 = r0 > 0
        F.mse_loss(r1, r0).backward(create_graph=True)
        r2 = r1[::2].inner(r1[::2])
        r3 = torch.fmod(r1.repeat(2, 1), r1[:2])
        r4 = torch.logaddexp(r0, r1)
        r4.sum().backward()
    """,
    "the version error of a view that a Function overwrote names the Function": f"""
        {MATRIX}
        r1 = (r0 * 1)[-1:]
        r2 = DirtyKeep.apply(r1)
        r2[..., 0] = r2[..., 0]
        r1.sum().backward()
    """,
    "values with one dimension more, assigned at places": f"""
        {MATRIX}
        r1 = torch.tensor([[[0.5, 1.0, -1.0]], [[2.0, -0.25, 0.0]]], dtype=torch.float64, requires_grad=True)
        r2 = r0 * 1
        r2[torch.tensor([0])] = r1[:1] * 2
        (r2 * r2).sum().backward(retain_graph=True)
        (r2 * r2).sum().backward(create_graph=True)
    """,
    "zeros limited by zeros keep their sign": """
        r0 = torch.tensor([0.0, -0.0, 2.0], dtype=torch.float64, requires_grad=True)
        r1 = 1 / r0[:, None].clamp(min=r0)
        r2 = 1 / r0[:, None].clamp(max=r0)
        r3 = 1 / r0.clamp(-r0, -r0)
        r4 = 1 / r0.clamp_min(-r0)
        r5 = 1 / r0.clamp_max(-r0)
    """,
    "what has no derivative leads to what requires grad only": f"""
        {INTEGERS}
        {VECTOR}
        r2 = r1.floor_divide(r0)
        r2.grad_fn.next_functions[0][0].register_hook(lambda i, o: seen(o[0], 0))
        note(len(r2.grad_fn.next_functions))
    """,
    "what layer_norm keeps of infinite elements": """
        r0 = torch.tensor([[1.0, float('-inf'), 2.0], [3.0, -1.5, 0.75]], requires_grad=True)
        r1 = F.layer_norm(r0, (3,))
        r1[1].sum().backward()
    """,
    "what layer_norm makes lies in rows": f"""
        {MATRIX}
        r1 = F.layer_norm(r0.t(), (2,))
        r2 = r1.view(-1)
    """,
    "a table without columns": """
        r0 = torch.zeros(2, 0, dtype=torch.float64, requires_grad=True)
        r1 = F.embedding(torch.tensor([0, 1]), r0)
        F.mse_loss(r1, r1).backward()
    """,
    "truth values in products, and the median of none": """
        r0 = torch.ones(2, 1) > 0
        r1 = r0.inner(r0)
        r2 = r0.T.addmm(r0.T, r0)
        r3 = torch.zeros(0, 2).long().median()
        r4 = (torch.zeros(0) > 0).median()
    """,
    "the saved tensors of a cosine in order": f"""
        {MATRIX}
        with torch.autograd.graph.saved_tensors_hooks(lambda t: seen(t).clone(), lambda t: seen(t)):
            r1 = F.cosine_similarity(r0, r0 * 2, 1)
    """,
    "sizes of matrices of two types": f"""
        {MATRIX}
        r1 = r0 @ (r0 > 0)
        r2 = (r0 > 0) @ (r0 > 0)
        r3 = torch.zeros(2, 0, requires_grad=True).median()
        r3.backward(create_graph=True)
        r4 = torch.zeros(0).scatter_add(0, torch.zeros(0).long(), torch.zeros(1, 0))
    """,
    "a diagonal is overwritten as one view": f"""
        {MATRIX}
        with torch.no_grad():
            r1 = r0[:1]
        r1.diagonal().fill_(1.0)
    """,
    "targets of a loss, asked for before its input": f"""
        {INTEGERS}
        r2 = F.cross_entropy(r1, r1)
        r3 = F.cross_entropy(torch.zeros(0) > 1, torch.tensor([0, 1]))
        r4 = F.cross_entropy(r1, torch.tensor([1]))
    """,
    "the cosine of the angle between tensors of several shapes": """
        r0 = torch.tensor([[0.25, 2.0, 0.0], [1.0, 3.0, 0.0]], dtype=torch.float64, requires_grad=True)
        r1 = torch.tensor(2.0, dtype=torch.float64, requires_grad=True)
        r2 = F.cosine_similarity(r1, r0, 0)
        r3 = F.cosine_similarity(r0.detach() > 1, r0, 1)
        (r2.sum() + r3.sum()).backward()
    """,
    "more of what seldom operations refuse": f"""
        {INTEGERS}
        r2 = F.layer_norm(torch.ones(3), (3,), torch.tensor(1.0))
        r3 = F.cosine_similarity(r1, r1, 0)
        r4 = F.batch_norm(r1[None], None, None, training=True)
        r5 = F.binary_cross_entropy(torch.ones(3), 2 * torch.ones(3))
        r6 = F.binary_cross_entropy_with_logits(r1, torch.ones(3))
        r7 = (r1 > 0).clamp(r1 > 0, r1 > 0)
        r19 = torch.fmod(r1 > 0, 2)
        r21 = F.binary_cross_entropy(torch.ones(3), torch.ones(3, dtype=torch.float64))
        r22 = F.nll_loss(torch.ones(2, 1, 2, 2), r1[:2])
        r12 = torch.logical_and(r1, r1[:2])
        r13 = r1.hypot(r1[:2])
        r14 = (r1 > 0).trace()
        r15 = F.huber_loss(r1, torch.ones(3))
        r16 = F.binary_cross_entropy_with_logits(torch.ones(3), r1)
        r17 = F.binary_cross_entropy_with_logits(torch.ones(3), r1 > 0)
        r18 = torch.ones(3, 2).index_copy_(0, torch.tensor([0]), torch.ones(1, 3))
        r8 = F.smooth_l1_loss(r1 > 0, r1 > 0)
        r9 = r1.mean((0, -1))
        r11 = torch.ones(2, 3).t().ravel()
    """,
    "what seldom operations refuse": f"""
        {INTEGERS}
        r2 = r1.hypot(r1)
        r4 = (r1 > 0).median()
        r7 = F.layer_norm(r1, (3,))
        r8 = F.smooth_l1_loss(r1, r1)
        r10 = F.nll_loss(torch.ones(3), r1)
        r11 = F.pad(torch.ones(3), (1, 1, 1, 1))
        r12 = (r1 > 0).div(r1 > 0, rounding_mode='floor')
        r13 = torch.tensor(1.0).topk(2)
        r14 = (r1 > 0).clamp_min(True)
    """,
    "hooks on the slot of a tensor that was detached in place": """
        r0 = torch.tensor(1.5, dtype=torch.float64, requires_grad=True)
        r1 = r0 * 2
        r2 = torch.cosh(r1)
        r1.detach_()
        r2.grad_fn._raw_saved_self.register_hooks(pack, unpack)
        r2.backward()
        r3 = r0 * 2
        r4 = torch.cosh(r3)
        r3.detach_().requires_grad_()
        r4.grad_fn._raw_saved_self.register_hooks(pack, unpack)
        r4.backward()
    """,
    "truth values of shapes that do not fit, divided": """
        r0 = torch.tensor([True, False, True])
        r1 = r0[r0 > 1]
        r2 = r0.div(r1, rounding_mode='floor')
    """,
    "roots are refused in their order": """
        r0 = torch.zeros(0, dtype=torch.float64, requires_grad=True)
        with torch.inference_mode():
            r1 = r0.cumsum(-1)
        with torch.no_grad():
            r2 = r0.swapaxes(0, -1)
        with torch.inference_mode():
            r0.exp_()
        torch.autograd.backward([r1.sum(), r2], [None, torch.ones_like(r2)])
    """,
    "the node of scatter_add called by hand": """
        r0 = torch.tensor([0.0, -0.0, 2.0], dtype=torch.float64, requires_grad=True)
        r1 = r0.view(-1).scatter_add(0, torch.tensor([0, 0]), r0.view(-1))
        r2 = r1.grad_fn(torch.ones_like(r1))[1]
        r1.sum().backward()
    """,
    "inner of two types": """
        r0 = torch.tensor([[0.5, 1.25, 2.0], [3.0, -1.5, 0.75]], dtype=torch.float64, requires_grad=True)
        r2 = r0.t()[1]
        r4 = r2.ne(r2).inner(r2)
    """,
    "truth values against numbers in a loss, its node called by hand": """
        r0 = torch.tensor([True, False, True])
        r1 = torch.tensor([0.0, -0.0, 2.0], dtype=torch.float64, requires_grad=True)
        r2 = F.smooth_l1_loss(r0, r1)
        r3 = [g.detach() for g in r2.grad_fn(torch.ones_like(r2)) if g is not None][-1]
        r2.backward()
    """,
    "tensordot asks for dimensions before types": """
        r0 = torch.tensor(0.5, requires_grad=True)
        r1 = torch.tensor([[0.5, 1.0], [2.0, -0.25]], dtype=torch.float64, requires_grad=True)
        r2 = torch.tensordot(r1, r0, 1)
        r3 = torch.tensordot(r1, r1, -1)
        r4 = torch.tensordot(r1, r1, torch.tensor([[0], [1]]))
        r5 = torch.tensordot(r1, r1, torch.tensor(2))
        r4.sum().backward()
    """,
    "the spread of numbers whose squares overflow": """
        r0 = torch.tensor([[1e21, 2.0], [-1e21, 4.0]], requires_grad=True)
        r1 = r0.std(0, keepdim=True)
        r2 = r0.var()
        r3 = r0[:, 1].var(0)
    """,
    "truth values of shapes that do not fit, their remainder": """
        r0 = torch.tensor([True, False, True])
        r1 = torch.tensor([True, False]).remainder(r0)
    """,
    "losses of mixed types": f"""
        {FLOATS}
        {VECTOR}
        r2 = F.huber_loss(r1, r0)
        r3 = F.huber_loss(r1, r0, reduction='none')
        r4 = F.binary_cross_entropy_with_logits(r0, r1)
        r5 = F.binary_cross_entropy_with_logits(r0, r1, reduction='none')
        r6 = F.binary_cross_entropy_with_logits(r1, r0, r0.detach(), reduction='none', pos_weight=r0.detach())
        r7 = F.binary_cross_entropy(r1.sigmoid(), r1.sigmoid(), torch.tensor([1, 2, 0]))
        (r4 + r5.sum() + r6.sum() + r7).backward()
    """,
    **{
        f"{loss} of an input and a target of two types": f"""
        {VECTOR}
        {FLOATS}
        r2 = F.{loss}(r0, r1)
        r2.backward()
        r3 = F.{loss}(r0, r1.long())
        r3.backward()
        r4 = F.{loss}(r1, r0 > 0)
        r4.backward()
        r5 = F.{loss}(r0.long(), r1)
        r5.backward()
    """
        for loss in ("huber_loss", "smooth_l1_loss", "mse_loss")
    },
    "slopes of losses of what is no number": """
        r0 = torch.tensor([1.0, float('nan'), -2.0, float('inf')], requires_grad=True)
        r1 = torch.tensor([0.5, 0.5, -2.0, float('inf')])
        (F.smooth_l1_loss(r0, r1, beta=0.5) + F.huber_loss(r0, r1, delta=0.5)).backward()
        r2 = torch.autograd.grad(F.smooth_l1_loss(r0, r1, beta=0.5), r0, create_graph=True)[0].clone()
        r3 = torch.autograd.grad(F.huber_loss(r0, r1, delta=0.5), r0, create_graph=True)[0].clone()
        r4 = torch.autograd.grad(F.l1_loss(r0, r1) + F.mse_loss(r0, r1), r0, create_graph=True)[0].clone()
    """,
    "places in falling order, of one row": """
        r0 = torch.tensor([[2.0, 0.25, 1.0]], dtype=torch.float64)
        r1 = r0.sort(0, True).indices
        r2 = r1.t().view(-1)
        r3 = r0.t().sort(-1, True).indices
        r4 = r3.t().view(-1)
        r5 = r0.flip(0).view(-1)
    """,
    "second derivatives of a trace, and of mse_loss of two types": f"""
        {MATRIX}
        {FLOATS}
        r2 = torch.autograd.grad(r0.trace() ** 2, r0, create_graph=True)[0].clone()
        (r2 * r2).sum().backward()
        r3, r4 = [
            g.clone() for g in torch.autograd.grad(F.mse_loss(r0, r1.expand(2, 3)) ** 2, [r0, r1], create_graph=True)]
        r5, r6 = [g.clone() for g in torch.autograd.grad((r3 * r3).sum() + (r4 * r4).sum(), [r0, r1])]
    """,
    "second derivatives of losses at infinite elements": """
        r0 = torch.tensor([0.5, float('inf'), 1.0, float('nan')], dtype=torch.float64, requires_grad=True)
        r1 = torch.tensor([1.0, 0.5, 3.0, 1.0], dtype=torch.float64, requires_grad=True)
        r2 = F.huber_loss(r0, r1, reduction='none')
        r3 = F.smooth_l1_loss(r0, r1, reduction='none', beta=0.75)
        (r2 * r2 + r3 * r3).sum().backward(create_graph=True)
        r5 = torch.autograd.grad((r0.grad * r0.grad).sum(), r0, retain_graph=True)[0].clone()
        r6 = torch.autograd.grad((r0.grad * r0.grad).sum(), r1, retain_graph=True)[0].clone()
        r7 = torch.autograd.grad((r1.grad * r1.grad).sum(), r1, retain_graph=True)[0].clone()
    """,
    "the gradient of a running product is made from what was kept, up to the first zero": """
        r0 = torch.tensor([[0.5, 1.0, -1.0], [2.0, -0.25, -1.0], [-1.0, 2.0, 0.0]], requires_grad=True)
        r1 = r0.cumprod(-1)
        r0.data += 1
        r1.sum().backward()
        r2 = 1 / r0.grad
    """,
    "hooks of a leaf's node that no gradient reaches": f"""
        {VECTOR}
        r1 = r0 * 2
        r1.grad_fn.register_prehook(lambda o: (None,))
        r1.grad_fn.next_functions[0][0].register_hook(lambda i, o: seen(o[0], 0))
        r0.register_post_accumulate_grad_hook(lambda p: seen(p.grad, 0))
        r1.backward(torch.ones_like(r1))
    """,
    "logits that took data of another shape": f"""
        {MATRIX}
        r1 = r0 * 1
        r2 = F.binary_cross_entropy_with_logits(r1, r0.detach().sigmoid())
        r1.data = r1.data[0]
        r2.backward(retain_graph=True)
        r2.backward(create_graph=True)
    """,
    "an element out of range is refused in the order of elements": """
        r0 = torch.tensor([0.5, 2.0, 0.5], dtype=torch.float64)
        r1 = torch.tensor([2.0, 0.5, 0.5], dtype=torch.float64)
        r2 = F.binary_cross_entropy(r0, r1)
        r3 = F.binary_cross_entropy(r1, r0)
        r4 = F.binary_cross_entropy(r0.expand(2, 3).t(), torch.stack([r1 / 2, r1], 1))
        r5 = F.binary_cross_entropy(torch.stack([r1 / 2, r1]).t(), torch.stack([r1, r1 / 2], 1))
        r6 = F.binary_cross_entropy(r0 > 0, r1)
        r7 = F.binary_cross_entropy(r0.long(), r1)
        r8 = F.binary_cross_entropy(r0.long(), r1.long())
    """,
    "the slopes of binary_cross_entropy at its ends": f"""
        r0 = torch.tensor([0.0, 1.0, 0.5], dtype=torch.float64)
        {VECTOR.replace("r0", "r1")}
        r2 = F.binary_cross_entropy(r0, r1.sigmoid(), reduction='none')
        r2[2:].sum().backward(retain_graph=True)
        r2.sum().backward()
    """,
    "weights that require grad, or do not fit": f"""
        {VECTOR}
        r1 = r0.detach().sigmoid()
        r2 = F.binary_cross_entropy(r1, r1, r0)
        r3 = F.binary_cross_entropy_with_logits(r1, r1, r0)
        r4 = F.binary_cross_entropy_with_logits(r1, r1, pos_weight=r0)
        r5 = F.nll_loss(r1.expand(2, 3), torch.tensor([0, 1]), r0)
        r6 = F.cross_entropy(r1.reshape(1, 3, 1, 1), torch.tensor([[[0]]]), r0)
        with torch.no_grad():
            r7 = F.binary_cross_entropy(r1, r1, r0)
        r8 = F.binary_cross_entropy(r1, r1, r1[:2])
        r9 = F.binary_cross_entropy(r1, r1, r1.expand(2, 3))
        r10 = F.binary_cross_entropy_with_logits(r1, r1, r1[:2])
        r11 = F.binary_cross_entropy_with_logits(r1, r1, r1.expand(2, 3))
        r12 = F.binary_cross_entropy_with_logits(r1, r1, pos_weight=r1 > 0)
        r13 = F.binary_cross_entropy_with_logits(r1, r1, pos_weight=r1[:2])
        r14 = F.binary_cross_entropy_with_logits(r1, r1, pos_weight=r1.expand(2, 3))
    """,
    "targets that do not fit, in the order of refusals": f"""
        {VECTOR}
        {MATRIX.replace("r0", "r1")}
        r2 = F.nll_loss(r0, r1)
        r3 = F.cross_entropy(r0, r1.long())
        r4 = F.nll_loss(r1[..., None], r1[:, :1])
        r10 = F.cross_entropy(r1[..., None, None], r1[..., None])
        r11 = F.cross_entropy(r1[..., None, None], r1[..., None].long())
        r12 = F.cross_entropy(r1[..., None, None], r1[..., None].long(), r0.detach()[:2])
        r13 = F.cross_entropy(r1[..., None], r1[:, :1].long(), r0.detach()[:2])
    """,
    "nodes of losses": f"""
        {VECTOR}
        r3 = F.kl_div(r0[0], r0.detach().exp(), reduction='batchmean')
        r4 = F.cross_entropy(r0, r0.detach().softmax(0))
        r5 = F.cross_entropy(r0[:0], r0[:0])
        (r3 + r4).backward()
    """,
    "a quotient of integers in addcdiv": f"""
        {VECTOR}
        {INTEGERS}
        r2 = r0.addcdiv(r1, r1)
        r3 = r1.addcdiv(r1, r1)
        r4 = r1.addcdiv(r1 > 0, r1 > 0)
        r5 = r0.expand(2, 3).addcdiv(r1[:2], r1 > 0)
        r6 = r1.addcdiv(r0.detach(), r1)
        r1.addcdiv_(r0.detach(), r1)
        r7 = r0.addcdiv(r0, r1)
        r7.sum().backward()
        r8 = r0.addcdiv(r0, r1 > 0)
        r8.sum().backward(create_graph=True)
    """,
    "the gradient edge of a leaf in inference mode": f"""
        {VECTOR}
        r1 = r0 * 1
        with torch.inference_mode():
            r2 = torch.nn.Parameter(r0 * 1)
            note(torch.autograd.graph.get_gradient_edge(r1).node is r1.grad_fn)
        note(torch.autograd.graph.get_gradient_edge(r2).node)
    """,
    "the maker of a diagonal's copy is named in full": f"""
        {MATRIX}
        r1 = torch.diag(r0)
        r2 = r1.sin()
        with torch.no_grad():
            r1.add_(1)
        r2.sum().backward()
    """,
    "a write to a view of memory that was exchanged for less": f"""
        {MATRIX}
        r1 = r0 * 1
        r2 = r1[1]
        r1.data = r1.data[0, :1]
        r2.mul_(2)
        r1.sum().backward(retain_graph=True)
        r1.sum().backward(create_graph=True)
    """,
    "index_fill_ of expanded tensors": f"""
        {VECTOR}
        r1 = r0.detach().expand(2, 3)
        r2 = r0.detach()[:, None].expand(3, 2)
        r1.index_fill_(0, torch.tensor([], dtype=torch.long), 5.0)
        r2.index_fill_(0, torch.tensor([1]), 6.0)
        r1.index_fill_(0, torch.tensor([1]), 7.0)
        r3 = (r0 * 1).expand(2, 3)
        r3.index_fill_(0, torch.tensor([0]), 0.5)
        (r3 * r3).sum().backward()
    """,
    "index_fill_ of a number": """
        r0 = torch.tensor(2.0, requires_grad=True)
        r1 = (r0 * 1).index_fill_(0, torch.tensor([0]), 0.5)
        r2 = r0 * 1
        r2.index_fill_(0, torch.tensor([], dtype=torch.long), 0.5)
        (r1 + r2).backward()
    """,
    "the places of elements that are not zero lie in columns": """
        r0 = torch.tensor([[0.5, 0.0], [0.0, 2.0]])
        r1 = r0.nonzero()
        r2 = r0[:1].nonzero()
        r3 = r0[0].nonzero()
        r2.T.add_(r2[:, :1])
        r3.T.add_(r3)
        r1.T.add_(r1)
        r4 = r1.view(-1)
    """,
    "the base of a write is not asked for": f"""
        {VECTOR}
        {VECTOR.replace("r0", "r1")}
        r2 = (r0 * 1).expand(2, 3)
        r2[torch.tensor([0])] = r1[:1] * 2
        r3 = torch.autograd.grad((r2 * r2).sum(), r1, retain_graph=True)[0].clone()
        r4 = torch.autograd.grad((r2 * r2).sum(), r1, create_graph=True)[0].clone()
        r5 = torch.autograd.grad((r2 * r2).sum(), r0)[0].clone()
    """,
    "hooks on the slot of what was a leaf": f"""
        {VECTOR}
        r1 = torch.tensor([0.25, 2.0, -1.0], dtype=torch.float64)
        r2 = r1.remainder(r0)
        r3 = r1 * r0
        r1.div_(r0)
        r2.grad_fn._raw_saved_self.register_hooks(pack, unpack)
        r3.grad_fn._raw_saved_self.register_hooks(pack, unpack)
        r3.sum().backward()
    """,
    "hooks on the slot of a view that may be used no more": f"""
        {MATRIX}
        r1 = r0 * 1
        with torch.no_grad():
            r2 = r1[1]
        r3 = r2.sin()
        r4 = r1[1].sin()
        r1.sigmoid_()
        r3.grad_fn._raw_saved_self.register_hooks(pack, unpack)
        r4.grad_fn._raw_saved_self.register_hooks(pack, unpack)
        (r3 + r4).sum().backward()
    """,
    "layer_norm of what took data of another type": f"""
        {MATRIX}
        r1 = r0 * 1
        r2 = F.layer_norm(r1, (3,), r0[0])
        r1.data = r1.data.float()
        r2.sum().backward(retain_graph=True)
        r2.sum().backward(create_graph=True)
    """,
    "truth values of shapes that do not fit, divided and rounded down": """
        r0 = torch.tensor([True, False, True])
        r1 = r0.floor_divide(r0[torch.tensor([[0, 1], [1, 0]])])
        r2 = r0.floor_divide(r0)
    """,
    "nothing scattered from a source of one": f"""
        {VECTOR}
        r1 = torch.zeros(0, dtype=torch.float64).scatter_add(0, torch.zeros(0).long(), r0[:1])
        r2 = torch.zeros(2, 0, dtype=torch.float64).scatter_add(0, torch.zeros(1, 0).long(), r0[:1])
        r3 = torch.zeros(0, dtype=torch.float64).scatter(0, torch.zeros(0).long(), r0[:1])
        (r1.sum() + r2.sum() + r3.sum()).backward()
    """,
    "padding gives rows, and cutting keeps columns": """
        r0 = torch.tensor([[1.0, 0.5, 3.0], [-1.0, 2.0, 0.25]]).nonzero()
        r1 = F.pad(r0, (1, 1)).contiguous()
        r2 = F.pad(r0, (1, 1))
        r3 = r2.contiguous()
        r4 = F.pad(r0, (0, 0))
        r5 = r4.T.contiguous()
    """,
    "elements picked by rows, times a matrix that does not fit": f"""
        {MATRIX}
        r1 = r0.detach()[None].clone()[:, torch.tensor([0, 0])]
        r2 = F.linear(r1, r0.detach().view(3, -1))
    """,
    "the sign of zero": """
        r0 = torch.tensor([0.0, -0.0, 2.0], dtype=torch.float64, requires_grad=True)
        r1 = 1 / F.layer_norm(r0.detach() * torch.tensor([1.0, 1.0, 0.0]), (3,))
        r2 = 1 / torch.autograd.grad(-(r0 ** r0).sum(), r0)[0]
        r3 = 1 / torch.autograd.grad(r0.norm(p=3), r0)[0]
        r5 = 1 / r0[1].sum()
        r6 = 1 / r0[1].mean()
    """,
    "an infinite gradient of a power, and of norms": """
        r0 = torch.tensor([0.0, 2.0, -0.5], dtype=torch.float64, requires_grad=True)
        r1 = torch.tensor([0.0, 1.5, 2.0], dtype=torch.float64, requires_grad=True)
        ((r0 ** r1).sum() * float('inf')).backward()
        r2 = torch.autograd.grad(r0.norm(p=3) * float('inf'), r0)[0].clone()
        r3 = torch.autograd.grad(r0.norm(p=1.5) * float('inf'), r0, create_graph=True)[0].clone()
        r4 = torch.autograd.grad(r0.norm(p=0.5), r0, create_graph=True)[0].clone()
        r4.sum().backward()
        r5 = torch.autograd.grad((r0 * 0).norm(p=3), r0)[0].clone()
    """,
    "roots of minus infinity": """
        r0 = torch.tensor([float('nan'), float('inf'), -float('inf'), -0.0], dtype=torch.float64, requires_grad=True)
        r1 = torch.tensor([[1.5], [0.5]], dtype=torch.float64, requires_grad=True)
        r2 = r0 ** r1
        r3 = r0 ** r1[1, 0]
        r4 = r0 ** 0.5
        (r2.sum() + r3.sum() + r4.sum()).backward()
        r5 = r0.norm(float('inf'))
        r6 = torch.autograd.grad(r5, r0, create_graph=True)[0].clone()
        r7 = torch.autograd.grad(r0[1:].norm(float('inf'), 0), r0)[0].clone()
    """,
    "gradients of remainders, in the type of the result": f"""
        r0 = torch.tensor(1.5, dtype=torch.float64, requires_grad=True)
        r1 = torch.tensor([0.1, -1.0, 0.25], requires_grad=True)
        (torch.fmod(r0, r1) + r0.remainder(r1)).sum().backward()
        (torch.fmod({INTEGERS.removeprefix("r1 = ")}, r1) + (r0 - 1).remainder(r1)).sum().backward(create_graph=True)
        r2 = torch.tensor([float('inf'), -2.0, 3.0], dtype=torch.float64, requires_grad=True)
        r3 = torch.tensor([2.0, float('inf'), float('nan')], dtype=torch.float64, requires_grad=True)
        (r2.remainder(r3) + torch.fmod(r2, r3)).sum().backward()
    """,
    "the cosine of the angle to a parameter made in inference mode": f"""
        {VECTOR}
        with torch.inference_mode():
            r1 = torch.nn.Parameter(r0 * 1)
        r2 = F.cosine_similarity(r1, r0[0], 0)
        r3 = F.cosine_similarity(r0.detach()[1], r1, 0)
        r4 = F.cosine_similarity(r0, r0.expand(2, 3), 0)
        r4.sum().backward()
        r5 = F.cosine_similarity(r1, r0, 0)
    """,
    "class numbers, and log probabilities of integers": """
        r0 = torch.tensor([[1, 2, 0], [0, 1, -1]])
        r1 = F.nll_loss(r0, torch.tensor([2, 0]))
        r2 = F.nll_loss(r0 > 0, torch.tensor([2, 7]))
        r3 = F.nll_loss(r0[..., None, None], torch.tensor([[[2]], [[0]]]))
        r4 = F.cross_entropy(torch.zeros(0, 2) > 0, torch.zeros(0).long())
    """,
    "a clone of an expanded tensor lies in rows": f"{VECTOR}\nr1 = r0[:, None].expand(3, 2).clone()\nr2 = r1.view(-1)",
}


def statements_of(text):
    """The statements of a program: a line that is indented further belongs to the one before."""
    statements, margin = [], " " * 8
    for line in text.splitlines():
        line = line.removeprefix(margin)
        if line.startswith("    ") and line.strip():
            statements[-1] += "\n" + line
        elif line.strip():
            statements.append(line)
    return statements


@pytest.mark.parametrize("always_look", [False, True], ids=["look at the end", "look after each statement"])
@pytest.mark.parametrize("name", FOUND)
@pytest.mark.filterwarnings("ignore")
def test_agrees_with_pytorch(name, always_look, real_torch):
    """Errors, values, versions, flags, nodes and saved tensors are PyTorch's, at the end or after every statement."""
    replay(statements_of(FOUND[name]), course_lib, real_torch, always_look)

"""The vocabulary of random programs, second page: operations and habits that programs know now and then.

Read as the first page, random_programs.py. What is left out, and why: overlapping windows that are written to
(PyTorch leaves open what comes of it), saved tensors of decompositions (det, inv), and which of equal elements
kthvalue and median along a dimension choose. Unstable sorts (sort, argsort, topk) are compared up to 16 elements: of
more PyTorch leaves open which of equal ones comes first (`ties` in program_comparison.py).
"""

VALUES = """
    torch.atan(a) | torch.sinh(a) | torch.cosh(a) | a.tan() | torch.asin(a) | torch.acos(a) | torch.log2(a)
    torch.log10(a) | a.ceil() | torch.fmod(a, 2) | torch.fmod(a, b) | a.remainder(b) | a.hypot(b) | torch.atan2(a, b)
    torch.logaddexp(a, b) | a.clamp_min(0.5) | a.clamp_max(1) | a.clamp(min=b) | a.clip(0, 1) | torch.nan_to_num(a)
    a.roll(1, 0) | a.movedim(0, -1) | a.unflatten(0, (1, -1)) | a.tile(2) | a.ravel() | a.reshape_as(b)
    a.scatter(0, torch.zeros_like(a[:1]).long(), 0.5) | torch.diag(a) | a.trace() | a.median() | a.addmm(a, b)
    a.bmm(b) | torch.tensordot(a, b, 1) | a.inner(b) | torch.logical_and(a, b) | a.isnan() | a.ne(b) | a.le(b)
    torch.hstack([a, b]) | torch.vstack([a, b]) | a.sum_to_size(3) | a.repeat_interleave(2, 0) | a.all() | a.any()
    a.argmin(0) | a.argsort(0) | a.nonzero() | a.div(b, rounding_mode='floor') | a.div(2, rounding_mode='trunc')
    a.floor_divide(b) | a.pow(0.5) | a.sub(b, alpha=2) | ~a | a.logical_not() | a.std(0, keepdim=True) | a.amax()
    a.amax((0, -1)) | a.sum(0, True) | a.prod(-1, True) | a.var(correction=0) | a.var(-1, keepdim=True)
    a.norm(1) | a.norm(2, 0) | a.norm(float('inf')) | a.norm(p=3) | a.mean((0, -1), True)
    a.sort(0, True).indices | a.topk(2, 0).values | a.topk(1, largest=False).values
    a.gather(0, torch.zeros_like(a[:1]).long()) | a.cumsum(-1) | a.cumprod(-1) | a.logsumexp((0, -1))
    a.softmax(-1) | a.log_softmax(0) | a.all(0) | a.any(-1) | F.binary_cross_entropy(a.sigmoid(), b.sigmoid())
    F.cross_entropy(a, torch.tensor([0, 1])) | F.nll_loss(a.log_softmax(-1), torch.tensor([1, 0]))
    F.smooth_l1_loss(a, b) | F.layer_norm(a, a.shape[-1:], eps=0.1) | F.normalize(a, dim=0) | F.pad(a, (1, 1))
    F.pad(a, (0, -1)) | F.embedding(torch.tensor([0, 1]), a) | F.threshold(a, 0.5, 0.0) | F.kl_div(a, b)
    F.mse_loss(a, b, reduction='sum') | F.l1_loss(a, b, reduction='none') | F.softplus(a, beta=2)
    F.leaky_relu(a, 0.1) | F.elu(a, alpha=0.5) | torch.linalg.norm(a) | torch.linalg.vector_norm(a)
    a.new_ones(3).requires_grad_() | a.new_full((2,), 1.5) | torch.as_tensor(a)
    torch.full((3,), 2.0).requires_grad_() | torch.linspace(0, 1, 3).to(a) | torch.scalar_tensor(2.0).to(a)
    torch.autograd.functional.vjp(lambda t: t * t, a, torch.ones_like(a))[1].clone() | a[..., None, 0] | a[-1:]
    a[0, ...] | a[[1, 0]] | a[torch.tensor([True, False])] | a[None, None] | a[k:, None] | a[..., ::2]
    a[torch.tensor(0)] | a[:, [0, 1]] | a[torch.tensor([[0, 1], [1, 0]])] | a[0:0] | a[1, 1:]
    checkpoint(lambda t: t.sin() * t, a, use_reentrant=False) | checkpoint(lambda t: t.exp(), a, use_reentrant=True)
    F.huber_loss(a, b) | F.huber_loss(a, b, reduction='none') | F.binary_cross_entropy_with_logits(a, b.sigmoid())
    F.binary_cross_entropy_with_logits(a, b) | F.binary_cross_entropy(a, b) | F.cosine_similarity(a, b, 0)
    F.cosine_similarity(a, b, -1) | a.addcdiv(a, b) | b.addcdiv(a, b, value=2)
    F.kl_div(a, b, reduction='batchmean') | a.sort(stable=True, dim=0).indices | F.smooth_l1_loss(a, b, beta=0.5)
    F.cross_entropy(a, b.softmax(-1)) | F.nll_loss(a, b) | (a * b).sum(0) | a.mul(b).add(1).exp().mean() | a.T @ a
    (a - a.mean()).square().mean()
"""
CHANGES = """
    a.floor_() | a.round_() | a.index_copy_(0, torch.tensor([0]), b[:1])
    a.scatter_(0, torch.zeros_like(a[:1]).long(), 0.5) | a.scatter_add_(0, torch.zeros_like(a[:1]).long(), b[:1])
    a.pow_(b) | a.pow_(0.5) | a //= 2 | a %= 2 | a.masked_fill_(a > b, 0.0) | a.sub_(1) | a.sub_(b, alpha=2)
    a.div_(b, rounding_mode='floor') | a.copy_(b.expand_as(a)) | a.fill_(b[0]) | a.swapaxes(0, -1).mul_(2)
    a.movedim(0, -1).add_(1) | a.ravel().mul_(2) | a.unflatten(0, (1, -1)).mul_(2) | a.permute(1, 0).copy_(b)
    a.index_put_((torch.tensor([0, 0]),), b[:1] * 2, accumulate=True) | a[:, 0] = b[0] | a[:, None] = 1.0
    a[::2] *= 2 | a[..., -1] = 0 | a[0, 1] = b.sum() | a[torch.tensor([0]), torch.tensor([k])] = 1.0 | a[-1] -= b[-1]
    a[k:k + 1].zero_() | a[0] **= 2 | torch.optim.Adam([a], lr=0.5).step() | torch.optim.AdamW([a], lr=0.5).step()
    torch.optim.RMSprop([a], lr=0.5).step() | torch.optim.Adagrad([a], lr=0.5).step()
    torch.nn.utils.clip_grad_norm_([a, b], 0.5) | torch.nn.init.zeros_(a) | torch.nn.init.constant_(a, 0.5)
    a.exp().sum().backward() | (a ** 3).sum().backward(create_graph=True) | a.var().backward() | a.prod().backward()
    a.norm().backward() | a.cumsum(0).sum().backward() | a.sort(0).values[0].sum().backward()
    torch.cat([a, b]).sum().backward() | torch.stack([a, b]).prod().backward() | (a @ b).sum().backward()
    F.mse_loss(a, b).backward() | a.T.sum().backward() | a[a > 0].sum().backward()
    torch.autograd.backward([a.sum(), b], [None, torch.ones_like(b)])
    torch.autograd.backward(a, inputs=[b], grad_tensors=torch.ones_like(a))
    torch.autograd.backward([a, a], [torch.ones_like(a), torch.ones_like(a)])
    a.grad_fn.register_prehook(lambda o: (None,)) | a.grad_fn.register_hook(lambda i, o: (None,) * len(i))
    a.grad_fn; a.register_hook(lambda g: torch.zeros_like(g)) | a.grad_fn; a.register_hook(lambda g: g.double())
    a.grad_fn; a.register_hook(lambda g: g + b.detach())
    a.grad_fn; h = a.register_hook(seen); a.register_hook(seen); h.remove() | a.untyped_storage() | a.data.zero_()
    a.addcdiv_(b, b) | a.index_fill_(0, torch.tensor([0]), 0.5)
    a.expand(2, 3).index_fill_(0, torch.tensor([1]), 2.0) | F.huber_loss(a, b).backward()
    F.cosine_similarity(a, b, 0).sum().backward() | a.nonzero().T.add_(1)
    F.binary_cross_entropy_with_logits(a, b).backward() | a.data[0] = 1.0 | a.data += 1 | a.grad.data.mul_(2)
    a.grad.requires_grad_() | a.detach_().requires_grad_()
"""
QUESTIONS = """
    a.grad_fn._saved_self.shape | a.grad_fn._saved_exponent | a.grad_fn._saved_mask | a.grad_fn._saved_other
    a.grad_fn._saved_result | a.stride() and 0 | a.ndim | a.nelement() | a.is_nonzero() | a.any() | a.all() | a > b
    a.grad_fn._saved_mat2 | a.retains_grad | a._is_view() | a._base is None | a.grad_fn.metadata | a.grad_fn.name()
    a.grad_fn.next_functions[0][0].name() | a.grad_fn._saved_self.requires_grad | a.grad_fn._saved_self.is_leaf
    a.grad_fn._saved_self is a.grad_fn._saved_self | a.isnan().any() | a.sum().item() | int(a) | a.grad is None
    torch.is_tensor(a) | bool((a == b).all()) | torch.equal(a, b) | torch.result_type(a, b) | a.size() | a.device
    a.layout | isinstance(a, torch.nn.Parameter) | a.__repr__() | str(a) | hash(a) == hash(b) | a is b
    a.grad_fn == b.grad_fn | torch.autograd.graph.get_gradient_edge(a).output_nr
    torch.autograd.graph.get_gradient_edge(a).node is b.grad_fn
"""

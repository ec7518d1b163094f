"""What lesson 17 begins with."""


def story(torch, group=None):
    """The gradient of a weight in a module that is called twice before backward: in one process, or on each rank."""

    class Scaled(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.w = torch.nn.Parameter(torch.ones(1))
            self.register_buffer("size", torch.ones(1))

        def forward(self, x):
            self.size = x.abs().mean(dim=0, keepdim=True)
            return self.w * x / self.size

    module, results = Scaled(), []
    for x in [[8.0, 24.0], [2.0, 6.0]][group is not None and group.rank == 0]:
        if group:
            group.broadcast(module.size)
        results.append(module(torch.tensor([x])))
    sum(results).sum().backward()
    if group:
        group.all_reduce(module.w.grad)
        module.w.grad /= group.world_size
    print("one machine: " if group is None else f"rank {group.rank} of {group.world_size}:", module.w.grad)

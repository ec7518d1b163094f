"""The story that lesson 17 begins with, and its turns in a picture."""

from coursekit import grids


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


def turns():
    """Draw what each rank of the story does, turn by turn. Colours: an input, the broadcast, the all-reduce."""
    rows = [["rank 0", "F 2", "sends 2", "F 6", "B", "sum / 2"], ["rank 1", "F 8", "gets 2", "F 24", "B", "sum / 2"]]
    papers = [[None, 0, 1, 0, 0, 2]] * 2
    return grids(["time → (F: forward of an input, B: backward)", rows], colours=[papers])

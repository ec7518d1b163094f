"""The stage of lesson 14: the two trainings of the story, and their memory."""

import warnings
import weakref

from backscope.memory.ledger import ledger
from backscope.pictures.chart import chart


def trainings(torch, network, ways, ask_ledger=False, steps=60):
    """Train an encoder and a head once for each way to call the encoder; print what came of it, return the losses."""
    lines = {}
    for name, encoded in ways.items():
        encoder, head, samples = network()
        target, before, losses = samples[:, :1] * samples[:, 1:2], encoder[0].weight.detach().clone(), []
        optimizer = torch.optim.Adam([*encoder.parameters(), *head.parameters()], lr=0.01)
        with warnings.catch_warnings(), ledger(leaves=False) as held:
            warnings.simplefilter("ignore")  # lost among the lines of a log
            for _ in range(steps):
                optimizer.zero_grad()
                loss = ((head(encoded(encoder, samples)) - target) ** 2).mean()
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
        moved = (encoder[0].weight - before).abs().max().item()
        print(f"{name}: loss {losses[0]:.4f}, at the end {losses[-1]:.4f}; "
              f"the first weights have moved by up to {moved:.2g}"
              + (f"; {held.peak:,} bytes saved at the peak" if ask_ledger else ""))  # fmt: skip
        lines[name] = dict(enumerate(losses, 1))
    return chart({"loss, step by step": lines}, across="step", up="loss")


def peaks(torch, network, pieces):
    """Print the bytes of the encoder's activations at the peak, cut into so many checkpoints (0: none of them).

    The ledger sees what nodes save, and this form of a checkpoint keeps its tensors elsewhere. So each activation is
    noted until its memory is let go.
    """
    checkpoint = torch.utils.checkpoint.checkpoint
    for count in pieces:
        encoder, head, h = network()
        alive, counts = set(), []

        def noted(part, given, result, alive=alive, counts=counts):
            memory = result.untyped_storage()  # PyTorch's object for the memory; ours has the array in it
            alive.add(number := len(counts))
            weakref.finalize(getattr(memory, "array", memory), alive.discard, number)
            counts.append(len(alive))

        for part in encoder[1::2]:
            part.register_forward_hook(noted)
        length = len(encoder) // count if count else 0
        for i in range(0, len(encoder), length) if count else ():
            # without early_stop=False a second run would end before the hook of its last module
            h = checkpoint(encoder[i : i + length], h, use_reentrant=False, early_stop=False)
        loss = head(h if count else encoder(h)).sum()
        del h
        loss.backward()
        said = f"checkpoints: {count}" if count else "as usual"
        print(f"{said}: {max(counts) * 256 * 16 * 4:,} bytes of activations at the peak")

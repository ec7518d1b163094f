"""The healthy scripts of the folder beside this file, and broken and doubtful ones: a healthy one with a change.

A mark such as `# SAVED` or `# DOUBT words` stands in the line that the explanation has to name.
"""

from pathlib import Path

HEALTHY = Path(__file__).with_name("healthy")
SILENT = Path(__file__).with_name("silent")  # programs that train wrongly, after public reports
CLEAR, BACKWARD, STEP = "    optimizer.zero_grad()\n", "    loss.backward()\n", "    optimizer.step()\n"
LOSS = "    loss = model(x).pow(2).mean()\n"
FAILED = (BACKWARD, "    loss.backward()  # FAILED\n")

CHANGED = {  # kind -> name -> the healthy script, and what is changed in it
    "broken": {
        # The discriminator steps between the generator's forward and its backward pass.
        "gan_order": (
            "gan",
            ("    loss = bce(critic(fake), torch.ones(4, 1))\n", ""),
            ("    opt_d.z", "    loss = bce(critic(fake), torch.ones(4, 1))  # SAVED\n    opt_d.z"),
            ("    opt_d.step()\n", "    opt_d.step()  # CHANGED\n"),
            FAILED,
        ),
        # Attention weights are masked in place, after the softmax.
        "transformer_mask": (
            "transformer",
            ("mT, dim=-1)\n", "mT, dim=-1)  # SAVED\n"),
            ("weights = weights.masked_fill(mask, 0.0)\n", "weights.masked_fill_(mask, 0.0)  # CHANGED\n"),
            FAILED,
        ),
        # The state is carried from one batch to the next, with its history.
        "lstm_state": (
            "lstm",
            ("    state = tuple(part.detach() for part in state)\n", ""),
            ("4), state)\n", "4), state)  # BUILT\n"),
            FAILED,
        ),
        # A residual network adds in place to what a sigmoid has saved.
        "resnet_gate": (
            "resnet",
            ("self.batch_norm(self.conv(x))\n", "torch.sigmoid(self.batch_norm(self.conv(x)))  # SAVED\n"),
            ("out += x\n", "out += x  # CHANGED\n"),
            FAILED,
        ),
        # What comes out of a checkpointed block is changed in place.
        "checkpointed_chain": (
            "checkpointed",
            (CLEAR, "    p = torch.softmax(h, -1)  # SAVED\n    p.clamp_(min=0.1)  # CHANGED\n"),
            ("(h.sum() + h.square().sum()).backward()\n", "p.log().mean().backward()  # FAILED\n"),
        ),
        # Weights are averaged in place under no_grad, while a loss that has saved them still waits for backward().
        "ema_update": (
            "averaged",
            ("model[0].requires_grad_(False)\n", ""),
            (
                "mean()\n" + BACKWARD,
                "mean()  # SAVED\n    with torch.no_grad():\n"
                "        for s, p in zip(shadow.parameters(), model.parameters(), strict=True):\n"
                "            p.lerp_(s, 0.1)  # CHANGED\n    loss.backward()  # FAILED\n",
            ),
        ),
        # A Function has saved its input, which is written to afterwards: its own backward() cannot use it.
        "function_input": (
            "own_function",
            ("ctx.saved_tensors\n", "ctx.saved_tensors  # FAILED\n"),
            ("y = Square.apply(x)\n", "h = x.exp()\ny = Square.apply(h)  # SAVED\nh += 1  # CHANGED\n"),
        ),
        # A Function writes to its input inside of forward: the line that wrote stands there, and not at apply().
        "function_writes": (
            "own_function",
            ("return x * x\n", "x.clamp_(-1, 1)  # CHANGED\n        return x\n"),
            ("y = Square.apply(x)\n", "h = x.exp()  # SAVED\n"),
            ("y.sum().backward(retain_graph=True)\n", "Square.apply(h).sum().backward()  # FAILED\n"),
        ),
        # A rollout is stored in one tensor, step by step, while earlier steps are still needed.
        "rollout": (
            "plain",
            (
                LOSS,
                "    states = torch.ones(4, 5, 1)\n    for t in range(3):\n"
                "        states[t + 1] = model(x) * states[t]  # SAVED CHANGED\n    loss = states[-1].sum()\n",
            ),
            FAILED,
        ),
        # Two losses over one encoder: the second backward pass needs what the first one has freed.
        "two_losses": (
            "plain",
            (LOSS, "    code = model[:2](x)  # BUILT\n    loss = model[2](code).mean()\n"),
            (BACKWARD, "    loss.backward()  # FIRST\n    code.pow(2).mean().backward()  # FAILED\n"),
        ),
        # A detector's biases are to start higher: written through a view of a parameter. From a public issue.
        "detector_biases": (
            "plain",
            ("optimizer =", "b = model[0].bias.view(2, 4)\nb[:, 3] += 0.5  # FAILED\noptimizer ="),
        ),
    },
    "doubtful": {
        # The gradients are cleared between backward() and step(), by setting them to None or to zero.
        "cleared_too_early": (
            "plain",
            (STEP, "    optimizer.zero_grad()  # DOUBT a step has used them: the optimizer steps in line 14\n" + STEP),
        ),
        "zeroed_too_early": (
            "plain",
            (STEP, "    optimizer.zero_grad(set_to_none=False)  # DOUBT the optimizer steps in line 14\n" + STEP),
        ),
        # Weights are clipped through .data between forward and backward: no counter moves.
        "data_clip": (
            "plain",
            (CLEAR, "    for p in model.parameters():\n        p.data.clamp_(-1, 1)  # DOUBT\n" + CLEAR),
        ),
        # The loss has lost its history, and somebody made the error go away by telling it to require grad.
        "loss_by_assignment": (
            "plain",
            (
                "mean()\n",
                "mean()\n    loss = torch.tensor(loss.item())\n    loss.requires_grad_()  # DOUBT no gradient reaches "
                "model.0.weight, model.0.bias, model.2.weight, model.2.bias\n",
            ),
        ),
        # The gradients are never cleared: each step uses the sum of all before it.
        "never_cleared": ("plain", (CLEAR, ""), (STEP, "    optimizer.step()  # DOUBT\n")),
        # The last layer works on a detached copy: the body before it never gets a gradient.
        "never_reached": (
            "plain",
            (
                LOSS,
                "    loss = model[2](torch.tensor(model[:2](x).tolist())).pow(2).mean()  # DOUBT "
                "no gradient has ever reached model.0.weight, model.0.bias\n",
            ),
        ),
        # A scale is computed once, before the loop; retain_graph=True silences the error, and its gradient stays old.
        "retained_scale": (
            "plain",
            ("optimizer =", "log_scale = nn.Parameter(torch.zeros(1))\nscale = log_scale.exp()  # DOUBT\noptimizer ="),
            ("(model.parameters(),", "([log_scale, *model.parameters()],"),
            ("model(x)", "(model(x) * scale)"),
            (BACKWARD, "    loss.backward(retain_graph=True)\n"),
        ),
        # The rows of .data are written to: views, which share its counter, and not the one that is compared.
        "data_rows": (
            "plain",
            (
                LOSS,
                "    h = torch.exp(model(x))\n    for row in h.data:\n"
                "        row.div_(2)  # DOUBT div_ wrote through .data to a tensor that ExpBackward0 had saved\n"
                "    loss = h.log().mean()\n",
            ),
        ),
        # The loss is wrapped anew: backward() begins and ends there. Two parameters of the optimizer have no name.
        "new_leaf": (
            "plain",
            ("(model.parameters(),", "([*model.parameters(), *nn.Linear(4, 8).parameters()],"),
            ("mean()\n", "mean()\n    loss = torch.autograd.Variable(loss.data, requires_grad=True)\n"),
            (
                BACKWARD,
                "    loss.backward()  # DOUBT at a tensor that has no history, because it was made with "
                "requires_grad=True: it reaches no parameter, and no gradient reaches model.0.weight, model.0.bias, "
                "model.2.weight, model.2.bias, parameter 4 (8×4), parameter 5 (8)\n",
            ),
        ),
        # A batch norm runs in eval mode, and then in training mode, before backward(): its statistics have moved.
        "two_modes": (
            "plain",
            ("nn.Tanh()", "nn.BatchNorm1d(8)"),
            (
                LOSS,
                "    clean = model.eval()(x)\n"
                "    noisy = model.train()(x + 1)  # DOUBT that NativeBatchNormBackward0 had saved in eval mode\n"
                "    loss = (clean - noisy).pow(2).mean()\n",
            ),
        ),
    },
}


def scripts(kind):
    """{name: source} of the scripts that are "broken", "doubtful" or "healthy"."""
    found = {path.stem: path.read_text(encoding="utf-8") for path in sorted(HEALTHY.glob("*.py"))}
    if kind == "healthy":
        return found
    reported = {path.stem: path.read_text(encoding="utf-8") for path in sorted(SILENT.glob("*.py"))}
    more = reported if kind == "doubtful" else {}
    return {name: changed(found, *what) for name, what in CHANGED[kind].items()} | more


def changed(healthy, name, *changes):
    """The source of a healthy script with these changes, of which each finds its place."""
    source = healthy[name]
    for old, new in changes:
        assert source.count(old) == 1, (name, old)
        source = source.replace(old, new)
    return source

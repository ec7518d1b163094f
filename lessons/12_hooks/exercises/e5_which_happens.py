"""Exercise 12.5: which happens?"""

from coursekit.judge.exercise import Mistake
from coursekit.judge.table import WhichHappens, happens
from lessons.shared import flat, leaf, near

PROGRAMS = {  # letter -> (program, the x.grad that is wanted)
    "A": ("x.register_hook(print); y = x * 3", [3.0, 3.0]),
    "B": ("x.register_hook(lambda g: g.norm()); y = x * 3", [3.0, 3.0]),
    "C": ("h = x * 3; h.register_hook(lambda g: g.mul_(0)); y = (h + x) * 2", [2.0, 2.0]),
    "D": ("h = x * 1; h.register_hook(lambda g: g.clamp(max=1)); h.mul_(10); y = h * 1", [10.0, 10.0]),
    "E": ("h = x.detach() * 3; h.register_hook(print); y = h + x", [1.0, 1.0]),
    "F": ("x.register_post_accumulate_grad_hook(lambda p: p.grad.mul_(c)); y = x * 3", [0.0, 3.0]),
    "G": ("with x.register_hook(lambda g: g * c): y = x * 3", [0.0, 3.0]),
    "H": ("h = x * 3; r = h * 1; r.register_hook(lambda g: -g); y = h * 2 + r", [3.0, 3.0]),
}


def what_happens(torch, letter):
    """Run a program, then backward, and say which of the four outcomes it has."""
    program, wanted = PROGRAMS[letter]
    space = {"torch": torch, "x": leaf(torch, [1.0, 2.0]), "c": torch.tensor([0.0, 1.0]), "print": lambda *a: None}
    steps = program, "y.sum().backward()"
    return happens(steps, space, lambda s: near(flat(s["x"].grad), wanted), (RuntimeError, TypeError))


EXERCISE = WhichHappens(
    id="12.5", title="Which happens?", minutes=7, difficulty=2, puzzles=(20,),
    question="Each program, then `y.sum().backward()`: fine, raises now, raises at backward, or silently wrong?\n\n"
    + "\n".join(f"- {letter}: `{program}`, wanted {wanted}" for letter, (program, wanted) in PROGRAMS.items()),
    hints=(
        "Ask of each: is the hook still there when the pass comes by, on which value does it stand, and what does it "
        "return?",
        "A lambda returns its last value. What do print, g.norm() and p.grad.mul_(c) give back?",
        "C: who else was sent the tensor that this hook is given?",
    ),
    why="print returns None (A); a number is no gradient for two (B), and mul_ returns p.grad, where nothing may come "
    "back (F): both are seen when the hook is called. E is refused at registration. C writes into a gradient that the "
    "addition sent to x as well, D stands on the old value, G is gone before the pass. H has a tensor of its own.",
    right={"A": "fine", "B": "raises at backward", "C": "silently wrong", "D": "silently wrong", "E": "raises now",
           "F": "raises at backward", "G": "silently wrong", "H": "fine"},
    measure=what_happens,
    shown="you know when a hook is called, on which value, and what becomes of what it returns.",
    mistakes=(
        Mistake("print returns", "A: print returns None, and None leaves the gradient as it is.",
                {"A": ("silently wrong", "raises at backward")}),
        Mistake("before y", "A: x takes a hook before anything is computed with it. The hook waits for a pass.",
                {"A": "raises now"}),
        Mistake("only a look", "B: that lambda does not only look. It returns the norm, and what is returned takes "
                "the gradient's place.", {"B": "fine"}),
        Mistake("a number for two", "B: one number cannot stand for two; a hook's result is compared with the "
                "gradient's shape.", {"B": "silently wrong"}),
        Mistake("checked early", "B: at registration nobody knows what the hook will return. It is seen when the "
                "pass calls it.", {"B": "raises now"}),
        Mistake("the branch alone", "C: mul_ writes into the gradient itself, and the addition has sent the same "
                "tensor to x.", {"C": "fine"}),
        Mistake("a guard on gradients", "C: the version check of lesson 07 is about saved tensors, and a gradient is "
                "none. A write is refused only where one number is repeated in memory, as behind a sum().",
                {"C": "raises at backward"}),
        Mistake("mul_ now", "C: mul_ stands in the hook. It runs when the pass calls the hook, not in this line.",
                {"C": "raises now"}),
        Mistake("the new h", "D: the hook was registered before the edit, so it gets the gradient of the old value, "
                "10, and cuts it to 1.", {"D": "fine"}),
        Mistake("edits break hooks", "D: an edit after the registration is allowed, and recorded. The hook stays "
                "with the old value.", {"D": ("raises at backward", "raises now")}),
        Mistake("plain hooks", "E: h comes from x.detach() and requires no grad. A hook on it would never be called, "
                "and is refused.", {"E": "fine"}),
        Mistake("plain waits", "E: it is refused earlier, in the line that registers the hook.",
                {"E": "raises at backward"}),
        Mistake("plain is silent", "E: it is not silent. A tensor that requires no grad takes no hook.",
                {"E": "silently wrong"}),
        Mistake("lambda returns", "F: mul_ returns p.grad, and the lambda hands it on. A post-accumulate hook may "
                "not return it.", {"F": "fine"}),
        Mistake("parameter unchanged", "F: something is returned here. Nothing is silent about that: the pass asks "
                "for None.", {"F": "silently wrong"}),
        Mistake("checked early too", "F: what a hook returns is known when it is called, in the pass.",
                {"F": "raises now"}),
        Mistake("gone before", "G: the with statement ends with that line, and the hook with it. The pass comes "
                "later.", {"G": "fine"}),
        Mistake("gone is no error", "G: a hook that was taken away is not missed by anybody.",
                {"G": "raises at backward"}),
        Mistake("a hook in a with", "G: register_hook gives a handle, and a handle may stand in a with statement: "
                "the line runs.", {"G": "raises now"}),
        Mistake("r takes a hook", "H: r is a result, but it requires grad, and every tensor that requires grad takes "
                "a hook.", {"H": "raises now"}),
        Mistake("both reversed", "H: r is a tensor of its own. Its hook turns round what comes from r, and h * 2 "
                "sends 2 as ever: 3 times 2 - 1.", {"H": ("silently wrong", "raises at backward")}),
    ),
)  # fmt: skip

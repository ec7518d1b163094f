"""Exercise 10c.2: diagnose."""

from coursekit.judge.exercise import Exercise, Mistake, correct, not_yet
from coursekit.judge.table import judged_rows
from lessons.training import tables_but

CURES = {
    "A": "hand over the missing parameters",
    "B": "load the optimizer's state",
    "C": "all backwards before any step",
    "D": "zero_grad() with None",
    "E": "once an epoch",
    "F": "eval()",
    "G": "train()",
    "H": "copy the state",
}
WRONG_CURES = {
    ("A", "copy the state"): "copied for new",
    ("A", "load the optimizer's state"): "a state for a stranger",
    ("A", "train()"): "mode for new",
    ("A", "eval()"): "mode for new",
    ("A", "zero_grad() with None"): "None for new",
    ("B", "copy the state"): "copied for resumed",
    ("B", "train()"): "mode for resumed",
    ("B", "eval()"): "mode for resumed",
    ("B", "once an epoch"): "rate for resumed",
    ("C", "zero_grad() with None"): "cleared for order",
    ("C", "copy the state"): "copied for order",
    ("D", "copy the state"): "copied for drift",
    ("D", "hand over the missing parameters"): "handed over for drift",
    ("D", "eval()"): "mode for drift",
    ("D", "train()"): "mode for drift",
    ("E", "load the optimizer's state"): "state for rate",
    ("E", "zero_grad() with None"): "cleared for rate",
    ("E", "hand over the missing parameters"): "handed over for rate",
    ("E", "train()"): "mode for rate",
    ("E", "eval()"): "mode for rate",
    ("F", "train()"): "modes exchanged",
    ("G", "eval()"): "modes exchanged",
    ("F", "zero_grad() with None"): "cleared for mode",
    ("G", "copy the state"): "copied for mode",
    ("G", "load the optimizer's state"): "state for mode",
    ("H", "load the optimizer's state"): "state for copy",
    ("H", "eval()"): "mode for copy",
    ("H", "train()"): "mode for copy",
    ("H", "once an epoch"): "rate for copy",
    ("D", "once an epoch"): "rate for drift",
    ("A", "a smaller rate"): "slower for new",
    ("B", "a smaller rate"): "slower for resumed",
    ("D", "a smaller rate"): "slower for drift",
    ("E", "a smaller rate"): "slower for rate",
    ("B", "retain_graph=True"): "retained for resumed",
    ("C", "retain_graph=True"): "retained for order",
    ("A", "retain_graph=True"): "retained for new",
}


def plain(cure):
    """The same for all spellings of a cure."""
    return " ".join(cure.replace("'", "").replace("’", "").replace("()", "").lower().split())


CURES_OF_NONE = ("a smaller rate", "retain_graph=True")
PLAIN = {plain(cure): cure for cure in (*CURES.values(), *CURES_OF_NONE)}


def check(answer, torch):
    if not isinstance(answer, dict):
        return not_yet("Keep the dictionary, and put a cure in the place of each None.")
    waiting = [letter for letter in CURES if answer.get(letter) is None]
    if waiting:
        return not_yet(f"There is no answer yet for {', '.join(waiting)}.")
    tidy = {letter: plain(str(answer[letter])) for letter in CURES}
    strange = [letter for letter, said in tidy.items() if said not in PLAIN]
    if strange:
        return not_yet(f"For {', '.join(strange)}, choose one of: {'; '.join(sorted(PLAIN.values()))}.")
    wrong = {letter: PLAIN[said] for letter, said in tidy.items() if PLAIN[said] != CURES[letter]}
    named = {letter: WRONG_CURES[letter, said] for letter, said in wrong.items() if (letter, said) in WRONG_CURES}
    shown = "eight reports that come in every week, and you need one look for each."
    return judged_rows(list(wrong), list(CURES), named, "are right") or correct(shown)


cures_but = tables_but("cures", CURES)

EXERCISE = Exercise(
    id="10c.2", kind="diagnose", title="Diagnose", minutes=5, difficulty=2, puzzles=(8, 13),
    question="Eight bug reports; choose the cure of each, out of ten.",
    name="cures", starter="cures = {" + ", ".join(f'"{letter}": None' for letter in CURES) + "}",
    hints=(
        "Ask of each report: what does not change although it should, or changes although it should not? Who writes "
        "that?",
        "Two reports are about modes: in one the first mode is missing, in the other the way back.",
        "For E, compute how often the rate has been divided after fifty batches.",
    ),
    solution=f"cures = {CURES!r}",
    why="A: the optimizer holds what it was given. B: momentum and averages start again. C: a step between two "
    "backward passes. D: gradients of zero with momentum or decay. E: the scheduler runs with every batch. F and G: "
    "one mode forgotten, and the way back. H: a state that shares the model's memory.",
    alternatives=(f"cures = dict({', '.join(f'{k}={v!r}' for k, v in reversed(CURES.items()))})",),
    mistakes=(
        Mistake("copied for new", "A: nothing was lost here. The encoder has never been stepped; who would have had "
                "to know of it?", cures_but("A", "copy the state")),
        Mistake("a state for a stranger", "A: the optimizer cannot remember anything of tensors that it was never "
                "given.", cures_but("A", "load the optimizer's state")),
        Mistake("mode for new", "A: modes change what layers compute. The gradients are there; who reads them?",
                cures_but("A", "train()")),
        Mistake("None for new", "A: the encoder does get gradients, and they may stay. Nobody reads them.",
                cures_but("A", "zero_grad() with None")),
        Mistake("copied for resumed", "B: the weights are right, by the reporter's own comparison. What else did the "
                "earlier job carry along?", cures_but("B", "copy the state")),
        Mistake("mode for resumed", "B: a wrong mode would not become right by itself within a few hundred steps.",
                cures_but("B", "train()")),
        Mistake("rate for resumed", "B: what recovers by itself is not the schedule. Something builds up again that "
                "had been lost.", cures_but("B", "once an epoch")),
        Mistake("cleared for order", "C: clearing writes to no parameter. The message speaks of a weight that was "
                "written to too early.", cures_but("C", "zero_grad() with None")),
        Mistake("copied for order", "C: copying the weights would silence it and take the gradient at weights that "
                "are no longer used.", cures_but("C", "copy the state")),
        Mistake("copied for drift", "D: the drift comes from steps with gradients of zero. Why are there gradients "
                "at all?", cures_but("D", "copy the state")),
        Mistake("handed over for drift", "D: the optimizer has the encoder's parameters; it even moves them when it "
                "should not.", cures_but("D", "hand over the missing parameters")),
        Mistake("mode for drift", "D: a mode changes what a layer computes. It is step() that moves these weights.",
                cures_but("D", "eval()")),
        Mistake("rate for drift", "D: a smaller rate makes the drift slower. It is the gradients of zero that let a "
                "step move them.", cures_but("D", "once an epoch")),
        Mistake("rate for copy", "H: a rate decides how far the weights move from epoch to epoch. What was put into "
                "the list does not stay behind at all.", cures_but("H", "once an epoch")),
        Mistake("state for rate", "E: nothing was restarted. Count how often the rate has been divided by then.",
                cures_but("E", "load the optimizer's state")),
        Mistake("cleared for rate", "E: for fifty batches the loop works. What becomes smaller and smaller meanwhile?",
                cures_but("E", "zero_grad() with None")),
        Mistake("handed over for rate", "E: for fifty batches everything moves, so the optimizer has its parameters.",
                cures_but("E", "hand over the missing parameters")),
        Mistake("mode for rate", "E: modes have no counter that runs out after fifty batches. A schedule has.",
                cures_but("E", "train()")),
        Mistake("modes exchanged", "F and G: a batch that matters for one picture is train mode; missing dropout is "
                "eval mode. Which call ends which?", cures_but("F", "train()")),
        Mistake("cleared for mode", "F: predictions need no gradients. What does batch norm use in train mode?",
                cures_but("F", "zero_grad() with None")),
        Mistake("copied for mode", "G: validation has changed the model's mode, not its weights.",
                cures_but("G", "copy the state")),
        Mistake("state for mode", "G: the optimizer has lost nothing. Which call before the validation is still in "
                "force?", cures_but("G", "load the optimizer's state")),
        Mistake("state for copy", "H: what is averaged are the model's states. Is each still the one of its epoch?",
                cures_but("H", "load the optimizer's state")),
        Mistake("mode for copy", "H: a mode changes no weight. Why are the three equal, and which weights are they?",
                cures_but("H", "eval()")),
        Mistake("slower for new", "A: however small or large the rate is, a step that is never made moves nothing.",
                cures_but("A", "a smaller rate")),
        Mistake("slower for resumed", "B: before the job ended, the same rate made no bump. What was there then?",
                cures_but("B", "a smaller rate")),
        Mistake("slower for drift", "D: a smaller rate makes the encoder drift more slowly, and everything learn more "
                "slowly. Why is there a step of it at all?", cures_but("D", "a smaller rate")),
        Mistake("slower for rate", "E: compute the rate after fifty batches. Is it too large?",
                cures_but("E", "a smaller rate")),
        Mistake("retained for resumed", "B: a restart keeps no graph, and needs none: each round builds its own.",
                cures_but("B", "retain_graph=True")),
        Mistake("retained for order", "C: a retained graph keeps its slots. The error is about a weight in a slot that "
                "was written to.", cures_but("C", "retain_graph=True")),
        Mistake("retained for new", "A: a backward pass that ran has brought the gradients. Who should read them?",
                cures_but("A", "retain_graph=True")),
    ),
    check=check,
)  # fmt: skip

"""Exercises with a table: the outcomes of "which happens", the cures of bug reports, how both are judged."""

from coursekit.judge.exercise import almost, correct, not_yet

WORDS = ("fine", "raises now", "raises at backward", "silently wrong")


def happens(steps, space, right, refused=RuntimeError):
    """Run statements in `space`, one after the other, and say which of WORDS it is.

    A statement with a backward pass in it raises "at backward", any other "now"; `right(space)` looks at the end.
    """
    for step in steps:
        try:
            exec(step, space)
        except refused:
            return "raises at backward" if ".backward(" in step or "autograd.grad(" in step else "raises now"
    return "fine" if right(space) else "silently wrong"


def check_table(answer, letters, measure, mistakes, shown):
    """Compare a learner's {letter: outcome} with what `measure(letter)` finds by running each program.

    mistakes: {(letter, wrong outcome): name of the mistake}; shown: what a right table proves.
    """
    if not isinstance(answer, dict):
        return not_yet("Keep the dictionary, and put one of the four phrases in the place of each None.")
    waiting = [letter for letter in letters if answer.get(letter) is None]
    if waiting:
        return not_yet(f"There is no answer yet for {', '.join(waiting)}.")
    answer = {letter: tidy(said) for letter, said in answer.items()}
    strange = [letter for letter in letters if answer[letter] not in WORDS]
    if strange:
        return not_yet(f"For {', '.join(strange)}, choose one of: {'; '.join(WORDS)}.")
    wrong = [(letter, answer[letter]) for letter in letters if answer[letter] != measure(letter)]
    named = {letter: mistakes[letter, said] for letter, said in wrong if (letter, said) in mistakes}
    return judged_rows([letter for letter, _ in wrong], letters, named, "are right") or correct(shown)


def judged_rows(wrong, rows, named, are_right):
    """The verdict on a table of which the rows `wrong` are not right; None when there are none.

    named: {row: name of its mistake}. One wrong row is `almost` when its mistake has a name. Where there are several,
    their count comes first; and a table that is half wrong is not almost right.
    """
    if not wrong:
        return None
    right = len(rows) - len(wrong)
    count = f"{right} of {len(rows)} {are_right.replace('are ', 'is ', 1) if right == 1 else are_right}. "
    look = next((row for row in wrong if row in named), wrong[0])
    if look not in named or 2 * len(wrong) > len(rows):
        return not_yet(f"{count}Look again at {look}.")
    return almost(named[look], count if len(wrong) > 1 else "")


def check_cures(answer, torch, cures, symptoms, mistakes, choices, read, kind="change"):
    """Judge a learner's {letter: cure} by running the program of each report with its cure.

    symptoms[letter](torch, cure) is true while the report still holds; read(text) is equal for all spellings of a
    choice; mistakes: {(letter, wrong cure): name of the mistake}.
    """
    if not isinstance(answer, dict) or any(not isinstance(answer.get(letter), str) for letter in cures):
        return not_yet(f"Put {kind}, as text, in the place of each None.")
    spelled = {read(choice): choice for choice in choices}
    given = {letter: spelled.get(read(answer[letter])) for letter in cures}
    strange = [letter for letter, cure in given.items() if cure is None]
    if strange:
        return not_yet(f"For {', '.join(strange)}, choose one of: {', '.join(choices)}.")
    wrong = [letter for letter, cure in given.items() if symptoms[letter](torch, cure)]
    named = {letter: mistakes[letter, given[letter]] for letter in wrong if (letter, given[letter]) in mistakes}
    shown = f"each report is gone with your cure: we ran all {len(cures)} with it."
    return judged_rows(wrong, list(cures), named, "reports are gone with your cure") or correct(shown)


def tidy(said):
    """ "Fine" and " fine " mean what they look like; what is not text stays as it is."""
    return " ".join(said.lower().split()) if isinstance(said, str) else said


def outcome_table(name, table, changes=()):
    """Source text of a table of outcomes, with some of them changed."""
    inside = ", ".join(f'"{letter}": "{outcome}"' for letter, outcome in {**table, **dict(changes)}.items())
    return f"{name} = {{{inside}}}\n"

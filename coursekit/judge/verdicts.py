"""Judge a prediction aloud below the next cell, where the answer can be seen, and before it is explained."""

import sys

from coursekit.notebook.card import show_card

waiting = {}  # exercise id: the card with its verdict
at_the_end = {}  # {text: what shows it} for the end of the cell that is running
made_now = False  # whether the cell that is running made one of the predictions
left_out = False  # whether L.run found no program, because a cell above was left out


def after_the_next_cell(ident, card) -> bool:
    """Show this card when the next cell without a prediction has run. False where no cells are run at all."""
    global made_now
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if shell is None:
        return False
    listen(shell)
    waiting[ident] = card
    made_now = True
    return True


def once_in_this_cell(card) -> None:
    """Show this at the end of the cell that is running, once, however many calls ask; at once where no cells are."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if shell is None:
        show_card(card)
    else:
        listen(shell)
        at_the_end[card.text] = card


def listen(shell) -> None:
    """Have `show_waiting` called after each cell from now on."""
    if not waiting and not at_the_end:
        shell.events.register("post_run_cell", show_waiting)


def show_waiting(ran) -> None:
    """Called by the notebook after each cell, as long as something waits; ran says how the cell ended."""
    global made_now, left_out
    if made_now:
        made_now = False
        return
    runs = "L.run(" in (getattr(getattr(ran, "info", None), "raw_cell", None) or "")
    if runs:
        left_out = isinstance(ran.error_in_exec, NameError)
    if left_out:
        return  # the program was not run yet, so the answer was not seen
    for card in [*waiting.values(), *at_the_end.values()]:
        show_card(card)
    waiting.clear()
    at_the_end.clear()
    sys.modules["IPython"].get_ipython().events.unregister("post_run_cell", show_waiting)

"""When a prediction is judged aloud: below the next cell, where the answer can be seen."""

import sys

from coursekit.notebook.card import show_card

waiting = {}  # exercise id: the card with its verdict
made_now = False  # whether the cell that is running made one of them


def after_the_next_cell(ident, card):
    """Show this card when the next cell without a prediction has run. False where no cells are run at all."""
    global made_now
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if shell is None:
        return False
    if not waiting:
        shell.events.register("post_run_cell", show_waiting)
    waiting[ident] = card
    made_now = True
    return True


def show_waiting(_):
    """Called by the notebook after each cell, as long as a verdict waits."""
    global made_now
    if made_now:
        made_now = False
        return
    for card in waiting.values():
        show_card(card)
    waiting.clear()
    sys.modules["IPython"].get_ipython().events.unregister("post_run_cell", show_waiting)

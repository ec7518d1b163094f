"""When a prediction is judged aloud: below the next cell, where the answer can be seen, and before it is explained."""

import sys

from coursekit.notebook.card import show_card

waiting = {}  # exercise id: the card with its verdict
explanations = []  # texts in Markdown for the end of the cell that is running
made_now = False  # whether the cell that is running made one of the predictions


def after_the_next_cell(ident, card):
    """Show this card when the next cell without a prediction has run. False where no cells are run at all."""
    global made_now
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if shell is None:
        return False
    listen(shell)
    waiting[ident] = card
    made_now = True
    return True


def explain_after_this_cell(text):
    """Show this Markdown, if there is any, at the end of the cell that is running: once, however many calls ask."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if shell is not None and text and text not in explanations:
        listen(shell)
        explanations.append(text)


def listen(shell):
    """Have `show_waiting` called after each cell from now on."""
    if not waiting and not explanations:
        shell.events.register("post_run_cell", show_waiting)


def show_waiting(_):
    """Called by the notebook after each cell, as long as a verdict or an explanation waits."""
    global made_now
    if made_now:
        made_now = False
        return
    from IPython.display import Markdown, display

    for card in waiting.values():
        show_card(card)
    for text in explanations:
        display(Markdown(text))
    waiting.clear()
    explanations.clear()
    sys.modules["IPython"].get_ipython().events.unregister("post_run_cell", show_waiting)

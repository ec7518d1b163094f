"""A second stack for passes that are nested too deeply for one.

PyTorch: torch/csrc/autograd/engine.cpp (add_thread_pool_task, reentrant_thread_init).

Note [A pass inside a pass]
A hook, or the backward of a custom Function, may call backward() in the middle of a pass. Each such level stands on the
stack of the one that called it, and a stack is short: Python's ends at about 150 levels. So after MAX_DEPTH of them the
next goes on in a thread with a stack of its own, as in PyTorch. The caller waits for it: no two passes run at the same
time because of this.
"""

import contextvars
import threading

from course_lib.engine.grad_mode import state

MAX_DEPTH = 60  # passes inside of one another on one stack
NO_THREAD = (
    "backward() was called inside of backward() too many times: no further thread could be started for the next level. "
    "Each level waits for the one inside of it; let the passes follow one another instead."
)


def on_another_stack(evaluate, task):
    """evaluate(task) in a new thread, in which the same things are switched on as in this one.

    RuntimeError when the system gives no more threads.
    """
    settings, errors = dict(state.__dict__), []
    task.depth = 0

    def work():
        state.__dict__.update(settings)
        try:
            evaluate(task)
        except BaseException as error:
            errors.append(error)
        state.__dict__.update(saved_tensor_hooks=[], task=None)  # nothing that the thread leaves behind holds them

    thread = threading.Thread(target=contextvars.copy_context().run, args=(work,), daemon=True)
    try:
        thread.start()
    except RuntimeError as error:
        raise RuntimeError(NO_THREAD) from error
    thread.join()
    if errors:
        raise errors.pop()

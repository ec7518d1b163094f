"""Several processes that run one function, each with its rank, and talk through this one: for lesson 17.

PyTorch has torch.distributed for this (and torchrun, which starts the processes). Here the process that starts them
carries every message, so that it sees at once when one of them is gone.
"""

import contextlib
import inspect
import json
import os
import queue
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
START = 120  # seconds for all processes to import what they need; their own time begins after that
GRACE = 2  # seconds that a worker waits longer, before it ends by itself
CHILD = "from coursekit.notebook.processes import be_a_worker; be_a_worker()"


def processes(function, torch, *given, world_size=2, seconds=10) -> list | None:
    """Run `function(torch, group, *given)` in processes of their own and print what they printed, rank by rank.

    What is given, and what the function returns, are lists, dictionaries, numbers and texts. Returns the list of what
    it returned in each, or None if it returned nothing. No process is left when this returns or raises. RuntimeError
    says which rank ended too early, or that time is up: `seconds` begin when all processes have started.
    """
    if sys.platform == "emscripten":
        raise RuntimeError("a browser starts no processes, so this cell needs the course on your own machine: README.")
    job = {"source": textwrap.dedent(inspect.getsource(function)), "name": function.__name__, "seconds": seconds,
           "library": torch.__name__, "world_size": world_size, "given": given}  # fmt: skip
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    workers = []
    try:
        for rank in range(world_size):
            workers.append(
                subprocess.Popen(
                    [sys.executable, "-c", CHILD], env=environment, text=True, stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                )
            )  # fmt: skip
            tell(workers[rank], {**job, "rank": rank})
        done = carry_messages(workers, seconds)
    finally:
        for worker in workers:
            worker.kill()
        for worker in workers:
            worker.wait()
            with contextlib.suppress(OSError):  # a last line that nobody read
                worker.stdin.close()
            worker.stdout.close()
    print("".join(done[rank]["text"] for rank in sorted(done)), end="")
    returned = [done[rank]["returned"] for rank in sorted(done)]
    return None if returned == [None] * world_size else returned


def carry_messages(workers, seconds) -> dict:
    """Pass messages on until all are done; {rank: its last message, with what it printed and returned}."""
    arrived, done, waiting, post, starting = queue.Queue(), {}, {}, {}, set(range(len(workers)))
    end = time.monotonic() + START
    for rank, worker in enumerate(workers):
        threading.Thread(target=listen, args=(rank, worker.stdout, arrived), daemon=True).start()
    while len(done) < len(workers):
        try:
            rank, message = arrived.get(timeout=max(0, end - time.monotonic()))
        except queue.Empty:
            late = ", ".join(f"rank {rank}" for rank in range(len(workers)) if rank not in done)
            if starting:
                late = ", ".join(f"rank {rank}" for rank in sorted(starting))
            ended = "started" if starting else "ended"
            raise RuntimeError(f"time is up, and {late} had not {ended}; all were stopped.") from None
        if message is None:
            if rank not in done:
                workers[rank].wait()
                raise RuntimeError(f"rank {rank} ended before it was done; the others were stopped.")
        elif message["what"] == "ready":
            starting.discard(rank)
            if not starting:
                end = time.monotonic() + seconds
                for worker in workers:
                    tell(worker, "go")
        elif message["what"] == "done":
            done[rank] = message
        elif message["what"] == "error":
            raise RuntimeError(f"rank {rank} raised {message['text']}; the others were stopped.")
        elif message["what"] == "send":
            post.setdefault((rank, message["to"]), []).append(message["values"])
        else:
            waiting[rank] = message
        answer_whoever_can_go_on(workers, waiting, post)
    return done


def answer_whoever_can_go_on(workers, waiting, post) -> None:
    """Let a receiver go on when there is post for it; a sum or a broadcast when every rank has called it."""
    for rank, message in list(waiting.items()):
        letters = post.get((message.get("of"), rank))
        if message["what"] == "receive" and letters:
            tell(workers[rank], waiting.pop(rank) and letters.pop(0))
    kinds = {message["what"] for message in waiting.values()}
    if len(waiting) == len(workers) and len(kinds) == 1 and kinds != {"receive"}:
        values = [waiting.pop(rank)["values"] for rank in range(len(workers))]
        result = values[0] if kinds == {"broadcast"} else [sum(column) for column in zip(*values, strict=True)]
        for worker in workers:
            tell(worker, result)


def tell(worker, message) -> None:
    """Write one line to a worker; one that is gone is noticed by whoever listens to it."""
    with contextlib.suppress(OSError):
        worker.stdin.write(json.dumps(message) + "\n")
        worker.stdin.flush()


def listen(rank, stream, arrived) -> None:
    """Put a worker's messages into the queue, and None when it has ended."""
    try:
        for line in stream:
            arrived.put((rank, json.loads(line)))
    except ValueError:  # closed, or killed in the middle of a line
        pass
    arrived.put((rank, None))


class Group:
    """The group of workers, as one of them knows it: its rank, how many there are, and how to talk to them."""

    def __init__(self, rank, world_size, stream):
        self.rank, self.world_size, self.stream = rank, world_size, stream

    def all_reduce(self, tensor) -> None:
        """Write into `tensor` the sum over all ranks. As in PyTorch, no version counter counts it."""
        self.exchange(tensor, what="all_reduce", values=numbers_of(tensor))

    def broadcast(self, tensor) -> None:
        """Write into `tensor` the numbers of rank 0. As in PyTorch, no version counter counts it."""
        self.exchange(tensor, what="broadcast", values=numbers_of(tensor))

    def send(self, tensor, to) -> None:
        """Send the numbers of `tensor` to another rank, and go on at once."""
        self.post(what="send", to=to, values=numbers_of(tensor))

    def receive(self, tensor, of) -> None:
        """Wait for numbers from another rank, and write them into `tensor`."""
        self.exchange(tensor, what="receive", of=of)

    def exchange(self, tensor, **message) -> None:
        self.post(**message)
        line = sys.stdin.readline()
        if not line:
            os._exit(1)  # the process that carries the messages is gone
        into = tensor.data
        into.copy_(into.new_tensor(json.loads(line)).reshape(tensor.shape))

    def post(self, **message) -> None:
        self.stream.write(json.dumps(message) + "\n")
        self.stream.flush()


def numbers_of(tensor) -> list:
    """Return the numbers of a tensor in one list."""
    return tensor.detach().reshape(-1).tolist()


def be_a_worker() -> None:
    """Live as a worker: read the job, say that it is ready, wait for all to be so, run the job, say what came out.

    It ends by itself when its time has been over for GRACE seconds.
    """
    import importlib
    import io

    stream, sys.stdout = sys.stdout, io.StringIO()
    job = json.loads(sys.stdin.readline())
    group = Group(job["rank"], job["world_size"], stream)
    space = {"torch": importlib.import_module(job["library"]), "os": os, "time": time}
    group.post(what="ready")
    if not sys.stdin.readline():
        os._exit(1)  # the process that carries the messages is gone
    # When nobody is left who could end it. Whoever is left gets to say first that time is up.
    clock = threading.Timer(job["seconds"] + GRACE, os._exit, (1,))
    clock.daemon = True
    clock.start()
    try:
        exec(job["source"], space)
        returned = space[job["name"]](space["torch"], group, *job["given"])
        group.post(what="done", text=sys.stdout.getvalue(), returned=returned)
    except Exception as error:
        group.post(what="error", text=f"{type(error).__name__}: {str(error).splitlines()[0]}")

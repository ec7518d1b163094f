"""Processes of lesson 17 talk to each other, and end whatever happens."""

import os
import subprocess
import time
import types

import pytest

import course_lib
from coursekit.notebook import processes as module
from coursekit.notebook.processes import processes

pytestmark = pytest.mark.check  # processes that wait for one another


@pytest.fixture
def started(monkeypatch):
    """Every process that is started, to ask afterwards whether it is gone."""
    found, popen = [], subprocess.Popen

    def noted(*args, **options):
        found.append(popen(*args, **options))
        return found[-1]

    monkeypatch.setattr(module.subprocess, "Popen", noted)
    yield found
    assert len(found) == 2
    assert all(each.returncode is not None for each in found)


def talk(torch, group, *given):
    total, mine = torch.tensor([1.0 + group.rank]), torch.tensor([[5.0 + group.rank]])
    version = total._version
    group.all_reduce(total)
    group.broadcast(mine)
    if group.rank == 0:
        group.send(torch.tensor([7.0]), to=1)
    else:
        group.receive(mine, of=0)
    print(group.rank, group.world_size, total.tolist(), mine.tolist(), total._version - version)
    return {"rank": group.rank, "given": given}


def says_nothing(torch, group):
    group.all_reduce(torch.ones(1))


def one_is_killed(torch, group):
    if group.rank == 1:
        os.kill(os.getpid(), 9)
    group.all_reduce(torch.ones(1))


def one_never_ends(torch, group):
    while group.rank == 1:
        pass
    group.all_reduce(torch.ones(1))


def one_raises(torch, group):
    if group.rank == 1:
        raise ValueError("no data")
    group.all_reduce(torch.ones(1))


def test_they_talk(started, capsys):
    """Sums, broadcasts and letters arrive, no version counter counts them, and what was printed and returned comes
    rank by rank."""
    given = [0.5, "text"]
    assert processes(talk, course_lib, *given, seconds=60) == [{"rank": rank, "given": given} for rank in (0, 1)]

    assert capsys.readouterr().out == "0 2 [3.0] [[5.0]] 0\n1 2 [3.0] [[7.0]] 0\n"


@pytest.mark.parametrize(
    "function, sentence",
    [
        (one_is_killed, "rank 1 ended before it was done; the others were stopped"),
        (one_never_ends, "time is up, and rank 0, rank 1 had not ended; all were stopped"),
        (one_raises, "rank 1 raised ValueError: no data; the others were stopped"),
    ],
)
def test_they_end(started, function, sentence):
    """A worker that is killed, hangs or raises gives a sentence within ten seconds, and no process is left."""
    begun = time.monotonic()
    with pytest.raises(RuntimeError, match=sentence):
        processes(function, course_lib, seconds=1)

    assert time.monotonic() - begun < 10


@pytest.fixture
def slow_import(monkeypatch, tmp_path):
    """A library whose import takes two seconds."""
    text = "import time\ntime.sleep(2)\nfrom course_lib import *\n"
    (tmp_path / "slow_library.py").write_text(text, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    return types.SimpleNamespace(__name__="slow_library")


def test_time_begins_when_all_have_started(started, slow_import):
    """An import that takes longer than the time of the function is waited for."""
    assert processes(says_nothing, slow_import, seconds=1.5) is None


def test_a_worker_alone_ends():
    """A worker whose starter has gone ends by itself."""
    worker = subprocess.Popen(
        [module.sys.executable, "-c", module.CHILD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    job = {"source": "def f(torch, group):\n    while True: pass\n", "name": "f", "seconds": 1, "given": []}
    module.tell(worker, {**job, "library": "math", "rank": 0, "world_size": 1})
    module.tell(worker, "go")
    worker.stdin.close()
    try:
        assert worker.wait(9) == 1
    finally:
        worker.kill()
        worker.wait()
        worker.stdout.close()


def test_a_browser_says_that_it_starts_none(monkeypatch):
    """There the cell says what it would need, and nothing hangs."""
    monkeypatch.setattr(module.sys, "platform", "emscripten")

    with pytest.raises(RuntimeError, match="a browser starts no processes"):
        processes(talk, None)

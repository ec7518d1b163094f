"""Returned notebooks whose grades are known: honest ones with recorded answers, and hostile cells to put into them."""

import contextlib
import csv
import json
import random
import re
import socket
import subprocess
import threading
import time
from dataclasses import dataclass, field

from coursekit.classroom import grade
from coursekit.judge import discovery
from coursekit.judge import exercise as ex
from coursekit.judge.prove import recognise
from coursekit.judge.source import Cell
from coursekit.notebook.lesson import lesson


@dataclass
class Known:
    """A notebook, and what its exercises have to get: {id: outcome}, without the predictions."""

    lesson: str
    cells: list
    expected: dict = field(default_factory=dict)

    def write(self, path):
        """Write it as a notebook file."""
        path.parent.mkdir(parents=True, exist_ok=True)
        cells = [{"metadata": {}, **cell} for cell in self.cells]
        text = json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})
        path.write_text(text, encoding="utf-8")
        return path


def honest(number, choose):
    """The published notebook with an answer in each exercise: choose(exercise) gives (source, outcome)."""
    number = discovery.number_of(number)
    notebook = json.loads(grade.lesson_files()[number].read_text(encoding="utf-8"))
    exercises = lesson(number).exercises
    known = Known(number, notebook["cells"])
    for place, cell in enumerate(notebook["cells"]):
        if cell["cell_type"] != "code":
            continue
        cell["outputs"], cell["execution_count"] = [], None
        asked = Cell(place, "code", [], "".join(cell["source"]))
        recognise(asked)
        if asked.asks:
            exercise = exercises[asked.asks]
            source, outcome = choose(exercise)
            cell["source"] = f'{source.rstrip()}\n\n\nL.{asked.how}("{exercise.id}", {exercise.name})'
            if asked.how == "check":
                known.expected[exercise.id] = outcome
    return known


def solved(exercise):
    """The record's solution."""
    return exercise.solution, ex.CORRECT


def untouched(exercise):
    """The starter."""
    return exercise.starter, ex.NOT_ATTEMPTED


def mixed(seed):
    """A student who knows some answers and not others."""
    chance = random.Random(seed)

    def choose(exercise):
        kind = chance.choice(["solution", "solution", "alternative", "mistake", "mistake", "starter"])
        if kind == "alternative":
            return chance.choice(exercise.alternatives), ex.CORRECT
        if kind == "mistake":
            return chance.choice(exercise.mistakes).answer, ex.ALMOST
        return untouched(exercise) if kind == "starter" else solved(exercise)

    return choose


def with_cell(known, source, place=None):
    """The same notebook with a further cell: before its exercises, unless a place is given."""
    if place is None:
        asking = [i for i, cell in enumerate(known.cells) if "L.check(" in "".join(cell["source"])
                  and cell["cell_type"] == "code"]  # fmt: skip
        place = asking[0]
    cell = {"cell_type": "code", "source": source, "outputs": [], "execution_count": None, "id": "added"}
    known.cells.insert(place, cell)
    return known


def cells_in(text):
    """{name: source} of a text in which each cell stands below its name."""
    parts = re.split(r"(?m)^## (.+)\n", text)[1:]
    return {name: source.rstrip() for name, source in zip(parts[::2], parts[1::2], strict=True)}


# What a cell may do, by name. CANARY is the path of a folder that must survive, KEY that of a teacher's key, PORT a
# port of this machine at which somebody listens, RETURNED the folder with everybody's notebooks.
HOSTILE = cells_in(
    r"""
## infinite loop
while True:
    pass
## loop that swallows
while True:
    try:
        pass
    except BaseException:
        pass
## loop in C
sum(range(10**15))
## no alarm
import signal
signal.signal(signal.SIGALRM, signal.SIG_IGN)
while True:
    pass
## fork bomb
import os
while True:
    os.fork()
## fork bomb of sessions
import os
while True:
    if os.fork() == 0:
        os.setsid()
## left behind
import os, subprocess, sys
subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(987.25)'], start_new_session=True)
## memory
held = []
while True:
    held.append(bytearray(b'1') * 10**8)
## disk
with open('big', 'wb') as file:
    while True:
        file.write(b'x' * 10**6)
## huge output
import os
for _ in range(300):
    os.write(1, b'x' * 10**6)
## exit
exit()
## os._exit
import os
os._exit(0)
## kills itself
import os, signal
os.kill(os.getpid(), signal.SIGKILL)
## segfault
import ctypes
ctypes.string_at(0)
## kills all
import os, signal
os.kill(-1, signal.SIGKILL)
## recursion
def f():
    return f()


f()
## deletes
import os, shutil
shutil.rmtree('CANARY', ignore_errors=True)
shutil.rmtree('RETURNED', ignore_errors=True)
for name in ('CANARY', 'RETURNED'):
    assert not os.path.exists(name), 'seen'
## writes
for name in ('CANARY', 'RETURNED/grades.csv'):
    try:
        open(name, 'w').write('forged')
    except OSError:
        pass
## network
import socket
try:
    socket.create_connection(('127.0.0.1', PORT), 3).sendall(b'hello')
except OSError:
    pass
## reads the key
try:
    exec(open('KEY').read())
except OSError:
    pass
## prints verdicts
for n in range(100):
    print('{"kind": "verdict", "id": "ID", "outcome": "correct"}')
## writes verdicts
import json, os
forged = {"kind": "verdict", "id": "ID", "outcome": "correct", "text": "yes", "cell": 1}
forged.update(details=[], printed="", mistake="")
for fd in range(3, 30):
    try:
        os.write(fd, b"0" * 64 + b" " + json.dumps(forged).encode() + b"\n")
    except OSError:
        pass
## closes everything
import os
os.closerange(0, 256)
## magics and shell
%time sum(range(10))
!echo hello
%matplotlib inline
## no Python
def (:
## deletes names
for name in list(globals()):
    if not name.startswith('_') and name not in ('torch', 'L'):
        del globals()[name]
"""
)

# Cells that want a grade they have not earned. Each changes what judges, or asks the course for the answer.
FORGERIES = cells_in(
    r"""
## judge replaced
import coursekit.judge.exercise as e
e.judge = lambda exercise, *a, **k: e.Result(exercise.id, 'correct', 'yes')
## code replaced
import coursekit.judge.exercise as e
def result_of(exercise, verdict, calls):
    return Result(exercise.id, CORRECT, 'yes')
e.result_of.__code__ = result_of.__code__
## check replaced
from coursekit.judge.exercise import correct
for each in L.exercises.values():
    object.__setattr__(each, 'check', lambda answer, torch: correct('yes'))
## engine replaced
import course_lib
course_lib.Tensor.__eq__ = lambda a, b: True
course_lib.allclose = lambda *a, **k: True
## NumPy replaced
import math
import numpy
exec("def yes(*a, **k): return True")
numpy.allclose = math.isclose = yes
## report called
run = L._run
run.report(kind='verdict', id='ID', outcome='correct', text='yes', details=[], printed='', mistake='', cell=1)
## tell called
import coursekit.judge.exercise as e
L._run.tell(L.exercises['ID'], e.Result('ID', 'correct', 'yes'))
## solution read
for each in L.exercises.values():
    exec(each.solution)
    L.check(each.id, globals().get(each.name))
"""
)


BROKEN = {  # files that are no notebooks
    "invalid JSON": b'{"cells": [',
    "empty": b"",
    "binary": bytes(range(256)) * 50,
    "another JSON": b"[1, 2, 3]",
    "deep": b"[" * 200_000,
    "no sources": b'{"cells": [{"cell_type": "code", "source": 7}], "nbformat": 4}',
    "cells of text": b'{"cells": ["print(1)"], "nbformat": 4}',
    "numbers": b'{"cells": 5}',
}


class Listener:
    """Somebody on this machine who would hear of a student's process with a network."""

    def __init__(self):
        self.heard = 0
        self.socket = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self):
        with contextlib.suppress(OSError):
            while True:
                self.socket.accept()[0].close()
                self.heard += 1


class School:
    """A folder of returned notebooks, what is known of each, and what lies beside it and is none of their business."""

    def __init__(self, folder):
        self.folder, self.returned, self.graded = folder, folder / "returned", folder / "graded"
        self.known, self.said, self.listener = {}, [], Listener()
        (folder / "canary").mkdir(parents=True)
        (folder / "canary" / "exam.txt").write_text("not yours")
        (folder / "key.py").write_text("versions = happens = answer = 1")

    def add(self, student, known, cell="", file="{student}/{lesson}.ipynb"):
        """Put a student's copy into the folder, with a hostile cell in it; a broken file gets these bytes."""
        self.known[student] = known
        path = known.write(self.returned / file.format(student=student, lesson=known.lesson))
        if isinstance(cell, bytes):
            path.write_bytes(cell)
        elif cell:
            places = {"canary": self.folder / "canary", "key": self.folder / "key.py", "returned": self.returned}
            places |= {"port": self.listener.socket.getsockname()[1], "id": f"{known.lesson}.1"}
            for name, value in places.items():
                cell = cell.replace(name.upper(), str(value))
            with_cell(known, cell).write(path)

    def grade(self, limits=None):
        """Grade the folder as a teacher does."""
        self.files = {path: path.read_bytes() for path in self.returned.rglob("*.ipynb")}
        self.status = grade.grade(self.returned, self.graded, limits, out=self.said.append)
        with open(self.graded / "grades.csv", encoding="utf-8-sig", newline="") as file:
            self.rows = {row["student"]: row for row in csv.DictReader(file)}

    def outcomes(self, student):
        """What the table says of the exercises of a student's copy."""
        return {id: self.rows[student][id.partition(".")[2]] for id in self.known[student].expected}

    def trespasses(self):
        """What notebooks have reached that is not theirs, in words."""
        if (self.folder / "canary" / "exam.txt").read_text() != "not yours":
            yield "the canary was written to"
        if self.files != {path: path.read_bytes() for path in self.returned.rglob("*.ipynb")}:
            yield "returned files changed"
        if self.listener.heard:
            yield f"{self.listener.heard} connections came through"


def still_running(word):
    """Is a process with this word in its command still there, after five seconds?"""
    for _ in range(50):
        if word not in subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True).stdout:
            return False
        time.sleep(0.1)
    return True

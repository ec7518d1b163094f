"""Whose code is this? Four places decide it by where a file lies, and each is asked about all four rooms."""

import os
import subprocess
import sys
import tempfile
import types

import pytest

import course_lib
from backscope import step, watch
from course_lib.autograd.anomaly_mode import is_engine_file
from coursekit import rooms
from coursekit.classroom import worker
from coursekit.judge import bounds
from coursekit.judge.discovery import exercises_module

ROOT = rooms.ROOT
OTHERS = [  # files of a learner's
    str(ROOT / "my_course" / "my_engine.py"),
    str(ROOT / "lessons_of_mine" / "train.py"),
    str(ROOT.parent / "course_lib" / "engine.py"),
    "<ipython-input-3-0123456789ab>",
    os.path.join(tempfile.gettempdir(), "ipykernel_7", "1234.py"),
    "<stdin>",
]


def function_in(file):
    """A function whose code says that it comes from this file."""
    space = {}
    exec(compile("def function(): pass", file, "exec"), space)
    return space["function"]


def files_in(room):
    """The files of a room's modules that are loaded here: some in each."""
    exercises_module(7)
    modules = [module for module in list(sys.modules.values()) if isinstance(module, types.ModuleType)]
    own = [module for module in modules if module.__name__.partition(".")[0] == room]
    return [module.__file__ for module in own if getattr(module, "__file__", None)]  # a folder alone has no file


@pytest.mark.parametrize("room", rooms.ROOMS)
def test_a_room_is_the_courses(room):
    """A loop that is stopped, and a notebook that is graded, take its files for the course's own."""
    files = files_in(room)

    assert files and (ROOT / room).is_dir()
    assert [file for file in files if bounds.is_somebody_elses(function_in(file).__code__)] == []
    assert [file for file in files if worker.from_a_cell(function_in(file))] == []


def test_what_the_engine_writes_is_the_courses():
    """An operation that course_lib generated is not stopped, and no cell's."""
    operation = type((course_lib.ones(2, requires_grad=True) * 2).grad_fn).apply

    assert operation.__code__.co_filename.startswith("<course_lib ")
    assert not bounds.is_somebody_elses(operation.__code__) and not worker.from_a_cell(operation)


@pytest.mark.parametrize("file", OTHERS)
def test_a_learners_file_is_the_learners(file):
    """Also below the clone, and in folders whose names begin as a room's do, or are a room's elsewhere."""
    function = function_in(file)

    assert bounds.is_somebody_elses(function.__code__)
    assert worker.from_a_cell(function)
    assert not is_engine_file(file)


def test_each_function_of_the_rooms_is_ours():
    """The classroom's search through the engine for what a cell has replaced finds nothing before a cell has run."""
    assert worker.patched_engine() == ""
    modules = [each for name, each in list(sys.modules.items()) if name.partition(".")[0] in rooms.ROOMS]
    functions = [f for module in modules for f in vars(module).values() if isinstance(f, types.FunctionType)]

    assert len(functions) > 1000
    assert [f.__qualname__ for f in functions if worker.from_a_cell(f)] == []


@pytest.mark.parametrize("room", rooms.ROOMS)
def test_only_the_engines_files_are_the_engines(room):
    """The line that anomaly mode names can stand in an instrument, in the judge or in a lesson, not in the engine."""
    assert {is_engine_file(file) for file in files_in(room)} == {room == "course_lib"}


def test_an_operation_in_an_instrument_is_told_by_the_learners_line(torch):
    """watch() names the line that calls step(), and none inside of step()."""
    w = torch.ones(2, requires_grad=True)
    loss = (w * w).exp().sum()
    with watch() as log:
        step(loss, create_graph=True)
    places = {where.partition(" line ")[0] for _, _, _, where in log.only("saved").lines}

    assert places == {os.path.basename(__file__)}


def test_a_script_is_told_by_its_own_lines(real_torch):
    """`python -m backscope` passes over PyTorch, Python, course_lib and itself, and over nothing of the script's."""
    from backscope.script.places import CHOSEN, OWN
    from backscope.script.recorder import Recorder

    recorder = Recorder(real_torch)
    passed_over = [real_torch.nn.__file__, os.__file__, *files_in("course_lib"), *files_in("backscope")]

    assert [file for file in passed_over if recorder.rank(file) in (OWN, CHOSEN)] == []
    assert [file for file in OTHERS[:4] if recorder.rank(file) != OWN] == []


def test_a_clone_behind_a_link_is_still_the_courses(tmp_path):
    """Lessons are found by path, and that path is the one by which the other rooms were imported."""
    link = tmp_path / "course"
    link.symlink_to(ROOT, target_is_directory=True)
    code = """
from coursekit.judge import bounds
from coursekit.judge.discovery import exercises_module
exercise = exercises_module(7).EXERCISES[-1]
print(exercise.check.__code__.co_filename, bounds.is_somebody_elses(exercise.check.__code__))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path,
                          env={**os.environ, "PYTHONPATH": str(link)})  # fmt: skip

    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(str(link / "lessons")) and done.stdout.endswith(" False\n")

"""progress.py: one small file that is never half written, and never a reason to stop."""

import json
import os
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest

from coursekit.notebook import progress as module
from coursekit.notebook.progress import Progress, location


@pytest.fixture
def path(tmp_path):
    return tmp_path / "course_progress.json"


def tries(entry):
    entry["tries"] = entry.get("tries", 0) + 1


def quiet(path):
    """A Progress whose sentences are collected."""
    said = []
    return Progress(path, said.append), said


def test_an_entry_is_kept_in_the_file(path):
    """What one notebook writes, the next one reads; looking writes nothing, and no lock stays behind."""
    assert Progress(path).entry("07.1") == {} and not path.exists()
    Progress(path).change("07.1", tries)
    Progress(path).change("07.1", tries)

    assert Progress(path).entry("07.1") == {"tries": 2}
    assert os.listdir(path.parent) == [path.name]
    assert json.loads(path.read_text()) == {"format": 2, "exercises": {"07.1": {"tries": 2}}}


def test_the_place_is_the_current_folder_or_what_the_environment_says(tmp_path, monkeypatch):
    """course_progress.json in the notebook's folder; COURSE_PROGRESS names another file or folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COURSE_PROGRESS", raising=False)
    assert location() == Path.cwd() / "course_progress.json"

    monkeypatch.setenv("COURSE_PROGRESS", " ")
    assert location() == Path.cwd() / "course_progress.json"

    monkeypatch.setenv("COURSE_PROGRESS", str(tmp_path / "mine.json"))
    assert location() == tmp_path / "mine.json"

    monkeypatch.setenv("COURSE_PROGRESS", str(tmp_path))
    assert location() == tmp_path / "course_progress.json"


@pytest.mark.parametrize(
    "text",
    ["", "not json", "[1, 2]", '{"exercises": 5}', '{"exercises": {"07.1": 3}}', '{"a": 1}', "[" * 50_000, b"\xff\xfe"],
    ids=["empty", "words", "list", "number", "entry", "keys", "deep", "bytes"],
)  # fmt: skip
def test_a_broken_file_is_kept_beside_a_new_one(text, path):
    """A file that cannot be understood is moved, with a sentence, and never lost or overwritten."""
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    before = path.read_bytes()
    progress, said = quiet(path)
    progress.change("07.1", tries)

    kept = path.with_name("course_progress.broken-1.json")
    assert kept.read_bytes() == before
    assert Progress(path).entry("07.1") == {"tries": 1}
    sentence = f"(Your progress file could not be understood. It is kept as {kept.name}; a new one is begun.)"
    assert said == [sentence]


def test_a_file_that_cannot_be_written_is_announced_once(tmp_path):
    """No folder, a folder in its place: a sentence, once, and the lesson's progress stays in memory."""
    progress, said = quiet(tmp_path / "missing" / "course_progress.json")
    progress.change("07.1", tries)
    progress.change("07.1", tries)

    assert progress.entry("07.1") == {"tries": 2}
    assert len(said) == 1
    assert "could not be written to course_progress.json: No such file or directory" in said[0]

    (tmp_path / "folder.json").mkdir()
    progress, said = quiet(tmp_path / "folder.json")
    progress.change("07.1", tries)
    assert progress.entry("07.1") == {"tries": 1}
    assert said


def test_a_read_only_folder_is_announced(path, monkeypatch):
    """A course installed where the learner may not write still works, and does not wait for a lock."""

    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(module.os, "open", refuse)
    monkeypatch.setattr(module.Path, "write_text", refuse)
    progress, said = quiet(path)
    begun = time.monotonic()
    progress.change("07.1", tries)

    assert time.monotonic() - begun < 3
    assert progress.entry("07.1") == {"tries": 1}
    assert len(said) == 1
    assert "Permission denied" in said[0]


def test_a_second_broken_file_does_not_replace_the_first(path):
    """Each broken file gets a number of its own."""
    for text in ("first", "second"):
        path.write_text(text)
        quiet(path)[0].change("07.1", tries)

    assert path.with_name("course_progress.broken-1.json").read_text() == "first"
    assert path.with_name("course_progress.broken-2.json").read_text() == "second"


def test_keys_that_we_do_not_know_are_kept(path):
    """An entry written by a newer course keeps its fields."""
    path.write_text('{"format": 2, "exercises": {"07.1": {"new": [1]}, "17.4": {"x": null}}}')
    Progress(path).change("07.1", tries)

    assert json.loads(path.read_text())["exercises"] == {"07.1": {"new": [1], "tries": 1}, "17.4": {"x": None}}


def test_what_could_not_be_written_is_written_later(tmp_path):
    """When the folder comes back, nothing of this session is lost."""
    folder = tmp_path / "later"
    progress, _ = quiet(folder / "course_progress.json")
    progress.change("07.1", tries)
    folder.mkdir()
    progress.change("07.2", tries)

    assert Progress(folder / "course_progress.json").entry("07.1") == {"tries": 1}


def test_a_crash_while_writing_leaves_the_old_file(path, monkeypatch):
    """The file is replaced in one step: until then the old one stands."""
    Progress(path).change("07.1", tries)
    monkeypatch.setattr(module.os, "replace", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left")))
    progress, said = quiet(path)
    progress.change("07.1", tries)
    monkeypatch.undo()

    assert Progress(path).entry("07.1") == {"tries": 1}
    assert os.listdir(path.parent) == [path.name]
    assert "No space left" in said[0]


def many_changes(path, exercise_id, times):
    progress = Progress(path)
    for _ in range(times):
        progress.change(exercise_id, tries)
        progress.change("shared", tries)


def test_notebooks_open_at_once_do_not_lose_each_others_entries(path):
    """Three kernels write at the same time; every single change is in the file afterwards."""
    with ProcessPoolExecutor(3) as pool:
        list(pool.map(many_changes, [path] * 3, ["07.1", "07.2", "07.3"], [15] * 3))

    entries = json.loads(path.read_text())["exercises"]
    assert {key: entry["tries"] for key, entry in entries.items()} == {
        "07.1": 15,
        "07.2": 15,
        "07.3": 15,
        "shared": 45,
    }


def test_a_lock_left_by_a_dead_process_is_removed(path, monkeypatch):
    """A kernel that was killed while it held the lock does not stop the others."""
    monkeypatch.setattr(module, "LOCK_PATIENCE", 0.1)
    lock = path.with_name(path.name + ".lock")
    lock.touch()
    os.utime(lock, (time.time() - 60,) * 2)
    begun = time.monotonic()
    Progress(path).change("07.1", tries)

    assert time.monotonic() - begun < 2
    assert Progress(path).entry("07.1") == {"tries": 1}
    assert not lock.exists()

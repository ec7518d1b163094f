"""The learner's folder: every way in which work could get lost, each with a test of its own."""

import datetime
import json
import os
import threading
from unittest.mock import Mock

import pytest

from coursekit.cli import files, terminal, workspace

TODAY = datetime.date(2026, 3, 9)
FULL = OSError(28, "No space left on device")


@pytest.fixture
def copies(tmp_path):
    """Two published lessons, and a learner who has not begun."""
    lessons = tmp_path / "notebooks"
    lessons.mkdir()
    (lessons / "00_start_here.ipynb").write_bytes(b'{"lesson": 0}\n')
    (lessons / "07_version_counters.ipynb").write_bytes(b'{"lesson": 7}\n')
    return workspace.Copies(lessons, tmp_path / "my_course")


NAME = "07_version_counters.ipynb"
NEW = "07_version_counters.new.ipynb"
KEPT = "07_version_counters.kept-2026-03-09.ipynb"


def publish(copies, name, text):
    (copies.lessons / name).write_bytes(text)


def write(copies, name, text):
    (copies.mine / name).write_bytes(text)


def read(copies, name):
    return (copies.mine / name).read_bytes()


def told(copies):
    """An update as (lessons added, lessons whose new edition came)."""
    news = copies.update(TODAY)
    return news.added, sorted(news.renewed + list(news.offered))


def everything_in(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def lesson(source="1", outputs=(), **metadata):
    cell = {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": list(outputs), "source": [source]}
    text = json.dumps({"cells": [cell], "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}, indent=1)
    return (text + "\n").encode()


def test_what_tells_an_answer_is_not_in_a_copy(copies):
    """Cells with the tag `tells` are taken out: L.run shows them once the prediction is made."""
    told = {"cell_type": "markdown", "metadata": {"tags": ["tells"]}, "source": ["It is 8."]}
    kept = {"cell_type": "markdown", "metadata": {}, "source": ["What is it?"]}
    publish(copies, NAME, json.dumps({"cells": [kept, told], "nbformat": 4}).encode())

    assert [kept] == json.loads(copies.published()[NAME])["cells"]


def test_copies_begin_without_outputs(copies):
    """A copy asks before it tells: the published outputs and execution counts are taken out, nothing else."""
    cell = {"cell_type": "code", "execution_count": 3, "outputs": [{"text": "the answer"}], "source": "ü = 1"}
    words = {"cell_type": "markdown", "source": "Predict"}
    publish(copies, NAME, json.dumps({"cells": [words, cell], "nbformat": 4}).encode())
    copies.update()

    fresh = json.loads(read(copies, NAME))
    assert {"cells": [words, {**cell, "execution_count": None, "outputs": []}], "nbformat": 4} == fresh


def test_an_appendix_keeps_its_pictures(copies):
    """From 90 up a notebook asks nothing, so its copy begins as it was published."""
    publish(copies, "90_gallery.ipynb", lesson(outputs=["a picture"]))
    copies.update()

    assert lesson(outputs=["a picture"]) == read(copies, "90_gallery.ipynb")


@pytest.mark.parametrize("name", [NAME, "90_gallery.ipynb"])
def test_new_outputs_alone_are_not_announced(copies, name):
    """A lesson or an appendix whose outputs were made anew, its cells unchanged, is not called changed."""
    publish(copies, name, lesson(outputs=["old picture"]))
    copies.update()
    publish(copies, name, lesson(outputs=["new picture"]))

    assert ([], []) == told(copies)
    publish(copies, name, lesson("2", outputs=["new picture"]))
    assert ([], [name]) == told(copies)


def test_a_lesson_that_is_not_there_is_copied(copies):
    """All at the first open, later a new one and one that the learner has deleted; old work stays."""
    added, changed = told(copies)

    assert (["00_start_here.ipynb", NAME], []) == (added, changed)
    assert copies.published() == {name: read(copies, name) for name in added}

    write(copies, "00_start_here.ipynb", b"my work")
    publish(copies, "08_views.ipynb", b"views")
    (copies.mine / NAME).unlink()

    assert ([NAME, "08_views.ipynb"], []) == told(copies)
    assert b"my work" == read(copies, "00_start_here.ipynb")


def everything_below(folder):
    return sorted(path.read_bytes() for path in folder.rglob("*.ipynb"))


def test_a_copy_that_nobody_wrote_in_is_renewed(copies):
    """An untouched copy becomes the new edition; what it was is moved aside, not deleted."""
    copies.update()
    publish(copies, NAME, b"second edition")
    news = copies.update(TODAY)

    assert ([NAME], {}) == (news.renewed, news.offered)
    assert b"second edition" == read(copies, NAME)
    assert b'{"lesson": 7}\n' in everything_below(copies.mine / ".jupyter" / "earlier")
    assert ([], []) == told(copies)


def test_a_new_edition_is_offered_as_a_file_beside_edits(copies):
    """Once, beside the copy; a deleted offer does not come again, a third edition takes an untouched one's place."""
    copies.update()
    write(copies, NAME, b"my work")
    publish(copies, NAME, b"second edition")

    assert {NAME: NEW} == copies.update(TODAY).offered
    assert (b"my work", b"second edition") == (read(copies, NAME), read(copies, NEW))

    publish(copies, NAME, b"third edition")
    copies.update(TODAY)
    assert (b"my work", b"third edition") == (read(copies, NAME), read(copies, NEW))

    (copies.mine / NEW).unlink()
    assert {} == copies.update(TODAY).offered
    assert not (copies.mine / NEW).exists()


def test_an_offer_that_was_written_in_is_the_learners_too(copies):
    """A learner who goes on in the offered file keeps it: the next edition gets another name."""
    copies.update()
    write(copies, NAME, b"my work")
    publish(copies, NAME, b"second edition")
    copies.update(TODAY)
    write(copies, NEW, b"more work")
    publish(copies, NAME, b"third edition")

    assert {NAME: "07_version_counters.new-2.ipynb"} == copies.update(TODAY).offered
    assert b"more work" == read(copies, NEW)


def test_a_save_in_the_moment_of_renewal_is_not_lost(copies, monkeypatch):
    """What JupyterLab saves between the look and the move is given back; what it saves after the move stays."""
    rename = os.rename
    for moment in ("before", "after"):
        copies.reset("07", TODAY)
        publish(copies, NAME, f"edition {moment}".encode())

        def move(source, target, moment=moment):
            if moment == "before":
                write(copies, NAME, b"saved before")
            rename(source, target)
            if moment == "after":
                write(copies, NAME, b"saved after")

        monkeypatch.setattr(os, "rename", move)
        copies.update(TODAY)
        monkeypatch.setattr(os, "rename", rename)

        assert f"saved {moment}".encode() == read(copies, NAME)


def test_nothing_that_was_ever_written_is_lost(copies, monkeypatch):
    """Through random editions, edits, saves, deletions of manifests and resets, every text a learner wrote is there."""
    monkeypatch.setattr(os, "fsync", lambda handle: None)  # nobody pulls the plug here
    random = __import__("random").Random(7)
    written = set()
    for step in range(200):
        act = random.choice(["publish", "update", "write", "write offer", "forget", "reset"])
        if act == "publish":
            publish(copies, NAME, f"edition {random.randrange(4)}".encode())
        elif act == "forget" and copies.mine.exists():
            (copies.mine / workspace.MANIFEST).unlink(missing_ok=True)
        elif act == "reset":
            copies.reset("07", TODAY)
        elif act == "update":
            copies.update(TODAY)
        elif copies.mine.exists():
            there = sorted(copies.mine.glob("07*.ipynb"))
            there = [path for path in there if path.read_bytes().startswith((b"edition", b"{"))]
            if there:
                text = f"work {step}".encode()
                random.choice(there).write_bytes(text)
                written.add(text)

    assert len(written) > 20
    assert written <= set(everything_below(copies.mine))


HOME = "home.ipynb"
TABLE = {"text/plain": "00  ....\n01  ....", "text/html": "<table></table>"}


def shown_at_home(copies):
    return json.loads(read(copies, HOME))["cells"][0]["outputs"]


def test_home_shows_its_table_before_anybody_has_run_a_cell(copies):
    """The table is there with the copy, made anew when it has changed, and is nobody's work: a new edition comes."""
    publish(copies, HOME, lesson("home()"))
    copies.update(TODAY)
    assert copies.show_home(TABLE, TODAY)
    assert not copies.show_home(TABLE, TODAY)
    (output,) = shown_at_home(copies)
    assert TABLE == {kind: "".join(lines) for kind, lines in output["data"].items()}

    assert copies.show_home({"text/plain": "01  ####"}, TODAY)
    assert {"text/plain": ["01  ####"]} == shown_at_home(copies)[0]["data"]
    publish(copies, HOME, lesson("home() "))
    assert [HOME] == copies.update(TODAY).renewed


def test_a_home_that_was_run_is_made_anew_and_one_that_was_written_in_stays(copies):
    """What running a cell leaves is only an output; a cell that the learner changed or added makes the file theirs."""
    publish(copies, HOME, lesson("home()"))
    copies.update(TODAY)
    write(copies, HOME, lesson("home()", outputs=[{"output_type": "stream", "name": "stdout", "text": "old"}]))
    assert copies.show_home(TABLE, TODAY)
    assert "display_data" == shown_at_home(copies)[0]["output_type"]

    for mine in (lesson("home()  # mine"), b"no notebook"):
        write(copies, HOME, mine)
        assert not copies.show_home(TABLE, TODAY)
        assert mine == read(copies, HOME)
    (copies.mine / HOME).unlink()
    assert not copies.show_home(TABLE, TODAY)


def test_what_lab_saves_into_home_meanwhile_is_not_lost(copies, monkeypatch):
    """A save between the look and the move is given back."""
    publish(copies, HOME, lesson("home()"))
    copies.update(TODAY)
    rename = os.rename

    def move(source, target):
        write(copies, HOME, b"saved just now")
        rename(source, target)

    monkeypatch.setattr(os, "rename", move)
    assert not copies.show_home(TABLE, TODAY)
    assert b"saved just now" == read(copies, HOME)


def test_metadata_is_no_change_of_a_lesson_and_no_work_of_a_learner(copies):
    """What programs write about a notebook is neither announced nor taken for an edit."""
    publish(copies, NAME, lesson())
    copies.update()
    publish(copies, NAME, lesson(language_info={"name": "python"}))
    assert ([], []) == told(copies)

    write(copies, NAME, lesson(language_info={"version": "3.99"}))
    publish(copies, NAME, lesson("2"))
    assert [NAME] == copies.update(TODAY).renewed


def test_a_copy_names_the_python_of_its_kernel(copies):
    """JupyterLab changes nothing on opening a copy whose language_info is what the kernel says."""
    publish(copies, NAME, lesson(language_info={"name": "python", "version": "3.11.0"}))
    copies.python = "3.13.5"
    copies.update()

    assert {"name": "python", "version": "3.13.5"} == json.loads(read(copies, NAME))["metadata"]["language_info"]


@pytest.mark.parametrize(
    "edited, changed, end",
    [(False, False, ([], {})), (True, False, ([], {})), (False, True, ([NAME], {})), (True, True, ([], {NAME: NEW}))],
)
def test_the_manifest_of_an_older_course_is_understood(copies, edited, changed, end):
    """Its digests held the metadata of 0.8.0: changes are told, edits seen, and new metadata is neither."""
    old = lesson(**workspace.FIRST_METADATA)
    copies.update()
    write(copies, NAME, lesson("mine") if edited else lesson(language_info={"version": "9"}))
    write(copies, workspace.MANIFEST, json.dumps({"format": 1, "made_from": {NAME: files.digest(old)}}).encode())
    publish(copies, NAME, lesson("2" if changed else "1", language_info={"version": "3.11.0"}))
    news = copies.update(TODAY)

    assert end == (news.renewed, news.offered)


@pytest.mark.parametrize("damage", [b"", b'{"made_from": {"07', b"[]", b'{"made_from": 3}', b"\xff\xfe"])
def test_a_damaged_manifest_costs_nothing(copies, damage):
    """A manifest that cannot be read is made anew; no copy is overwritten and nothing false is announced."""
    copies.update()
    write(copies, NAME, b"my work")
    write(copies, workspace.MANIFEST, damage)

    assert ([], []) == told(copies)
    assert b"my work" == read(copies, NAME)

    publish(copies, NAME, b"second edition")
    assert ([], [NAME]) == told(copies)


def test_death_between_copies_and_manifest_is_harmless(copies, monkeypatch):
    """When the first open dies before it writes the manifest, the next one completes it."""
    monkeypatch.setattr(copies, "write_manifest", Mock(side_effect=KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        copies.update()
    monkeypatch.undo()

    assert ([], []) == told(copies)
    publish(copies, "00_start_here.ipynb", b"second edition")
    assert ([], ["00_start_here.ipynb"]) == told(copies)


def test_a_full_disk_leaves_no_half_copy(copies, monkeypatch):
    """When writing fails half way there is no copy and no debris, and the next open makes it."""
    monkeypatch.setattr(os, "fsync", Mock(side_effect=FULL))
    with pytest.raises(OSError, match="No space left"):
        copies.update()
    assert {} == everything_in(copies.mine)
    monkeypatch.undo()

    assert 2 == len(copies.update().added)


def test_a_full_disk_leaves_the_old_manifest_whole(copies, monkeypatch):
    """A manifest that could not be replaced is the one from before, and still readable."""
    copies.update()
    before = everything_in(copies.mine)
    monkeypatch.setattr(os, "replace", Mock(side_effect=FULL))
    with pytest.raises(OSError, match="No space left"):
        copies.write_manifest({"made_from": {"00_start_here.ipynb": "other"}})

    assert before == everything_in(copies.mine)


@pytest.mark.parametrize("links", [True, False], ids=["hard links", "no hard links"])
def test_writing_a_new_file_refuses_one_that_exists(tmp_path, monkeypatch, links):
    """A copy that appears at the last moment is not overwritten, on disks with and without hard links."""
    if not links:
        monkeypatch.setattr(os, "link", Mock(side_effect=PermissionError(1, "Operation not permitted")))
    files.write_new(tmp_path / "a.ipynb", b"first")
    with pytest.raises(FileExistsError):
        files.write_new(tmp_path / "a.ipynb", b"second")

    assert {"a.ipynb": b"first"} == everything_in(tmp_path)


def test_two_opens_at_once_make_whole_copies(copies):
    """Two terminals that open the course together each find every lesson whole, made by one of them."""
    publish(copies, "05_leaf_accumulation.ipynb", b"x" * 3_000_000)
    results = []
    threads = [threading.Thread(target=lambda: results.append(copies.update())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert 4 == len(results)
    assert 3 == sum(len(news.added) for news in results)
    assert copies.published() == {name: read(copies, name) for name in copies.published()}
    assert [workspace.MANIFEST, *copies.published()] == sorted(everything_in(copies.mine))


def test_a_file_in_the_way_is_named(copies):
    """When my_course is a file, the message names it and says what to do; the file stays."""
    copies.mine.write_text("mine")
    with pytest.raises(terminal.UserError, match=r"my_course is a file.*\n.*Rename"):
        copies.update()

    assert "mine" == copies.mine.read_text()


def test_a_clone_without_lessons_says_so(copies):
    """An empty notebooks folder is reported, and no learner's folder is made."""
    for path in copies.lessons.iterdir():
        path.unlink()
    with pytest.raises(terminal.UserError, match="no lessons in"):
        copies.update()

    assert not copies.mine.exists()


def test_reset_starts_afresh_and_keeps_the_old_file_beside_it(copies):
    """After a reset the lesson is as published, each old one stands beside it, and no change is announced."""
    copies.update()
    publish(copies, NAME, b"second edition")
    kept = []
    for text in (b"one", b"two", b"three"):
        write(copies, NAME, text)
        kept.append(copies.reset("07", TODAY))

        assert b"second edition" == read(copies, NAME)
        assert ([], []) == told(copies)

    assert (NAME, KEPT) == kept[0]
    assert [b"one", b"two", b"three"] == [read(copies, name) for _, name in kept]


def test_reset_that_dies_has_lost_nothing(copies, monkeypatch):
    """If the reset dies after keeping the old file, that file is whole and so is the learner's lesson."""
    copies.update()
    write(copies, NAME, b"my work")
    monkeypatch.setattr(workspace, "write_whole", Mock(side_effect=KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        copies.reset("07", TODAY)

    assert b"my work" == read(copies, NAME) == read(copies, KEPT)


@pytest.mark.parametrize("wanted", ["7", "07", "07_version_counters", NAME, "my_course/07_version_counters.ipynb"])
def test_a_lesson_can_be_called_by_any_of_its_names(copies, wanted):
    """Number, name, file name and path all mean the lesson."""
    assert NAME == copies.find(wanted)


def test_a_part_is_found_by_its_number(copies):
    """7b and 07b mean the part, and 7 its lesson."""
    for name in (NAME, "07b_the_hunt.ipynb"):
        publish(copies, name, lesson())

    assert ["07b_the_hunt.ipynb"] * 2 + [NAME] == [copies.find(wanted) for wanted in ("7b", "07b", "7")]


@pytest.mark.parametrize("wanted", ["17", "version", "", "007"])
def test_an_unknown_lesson_lists_those_there_are(copies, wanted):
    """What is not a lesson's name is refused with the list of lessons, and changes nothing."""
    with pytest.raises(terminal.UserError, match=r"(?s)no lesson.*00_start_here.*07_version_counters"):
        copies.reset(wanted, TODAY)
    assert not copies.mine.exists()

"""Keep what a learner has done so far: one small JSON file beside the lessons.

The file is `course_progress.json` in the folder the notebook runs in, or whatever the environment variable
COURSE_PROGRESS names (a file, or a folder for it). Deleting it forgets everything and harms nothing.

Every change re-reads the file, changes one entry and replaces the file in one step, under a lock: two
notebooks open at once keep each other's entries, and a crash leaves the old file or the new one, never half.
Nothing here raises: a file that cannot be read is moved aside, one that cannot be written is announced, and
the lesson goes on with what it has in memory.
"""

import contextlib
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path

from coursekit.judge.moved import carried_over

NAME = "course_progress.json"
FORMAT = 2  # 1 had the numbers of 0.9.0; see judge/moved.py
LOCK_PATIENCE = 2.0  # seconds; a lock older than this was left behind by a process that died


def location() -> Path:
    """Return where the progress file is, or will be, for a notebook that runs in the current folder."""
    chosen = os.environ.get("COURSE_PROGRESS", "").strip()
    path = Path(chosen).expanduser() if chosen else Path.cwd() / NAME
    return path / NAME if path.is_dir() else path.absolute()


class Progress:
    """The entries of one progress file; `say` gets a sentence when the file cannot be used."""

    def __init__(self, path=None, say=print):
        self.path = Path(path) if path is not None else location()
        self.say = say
        self.said = set()
        self.unsaved = {}  # entries that could not be written

    def entry(self, exercise_id) -> dict:
        """Return what is known about one exercise: a dict, empty when nothing is."""
        return {**self.read().get(exercise_id, {}), **self.unsaved.get(exercise_id, {})}

    def change(self, exercise_id, change) -> dict:
        """Give `change` the newest entry (a dict, to be changed in place) and write it. Returns the entry."""
        with self.locked():
            entries = self.read()
            entry = {**entries.get(exercise_id, {}), **self.unsaved.get(exercise_id, {})}
            change(entry)
            entries.update(self.unsaved)
            entries[exercise_id] = entry
            try:
                self.write(entries)
                self.unsaved = {}
            except (OSError, ValueError) as error:
                self.unsaved[exercise_id] = entry
                self.say_once(
                    f"(Your progress could not be written to {self.path.name}: {reason(error)}. "
                    "The lesson goes on; what you do now is forgotten when this notebook is closed.)"
                )
        return entry

    def read(self) -> dict:
        """Return all entries of the file. A broken file is moved aside, with a sentence, and counts as empty."""
        try:
            text = self.path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return {}
        except UnicodeDecodeError:
            return self.move_aside()
        except OSError as error:
            self.say_once(f"(Your progress file {self.path.name} could not be read: {reason(error)}.)")
            return {}
        try:
            file = json.loads(text)
            exercises = file["exercises"]
            if all(isinstance(entry, dict) for entry in exercises.values()):
                return exercises if file.get("format") == FORMAT else carried_over(exercises)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            pass
        return self.move_aside()

    def write(self, entries) -> None:
        """Replace the file in one step by one that holds these entries."""
        text = json.dumps({"format": FORMAT, "exercises": dict(sorted(entries.items()))}, indent=1)
        temporary = self.path.with_name(f"{self.path.name}.{os.getpid()}.tmp")
        try:
            temporary.write_text(text + "\n", encoding="utf-8")
            os.replace(temporary, self.path)
        except BaseException:
            with contextlib.suppress(OSError):
                temporary.unlink()
            raise

    def move_aside(self) -> dict:
        """Keep the broken file under a new name beside the old one."""
        for number in range(1, 1000):
            kept = self.path.with_name(f"{self.path.stem}.broken-{number}{self.path.suffix}")
            if not kept.exists():
                break
        try:
            os.replace(self.path, kept)
        except FileNotFoundError:
            return {}
        except OSError as error:
            self.say_once(f"(Your progress file {self.path.name} is damaged: {reason(error)}.)")
            return {}
        self.say_once(
            f"(Your progress file could not be understood. It is kept as {kept.name}; a new one is begun.)"
        )
        return {}

    @contextlib.contextmanager
    def locked(self) -> Iterator:
        """Hold the lock file, so that another notebook's change does not come between reading and writing.

        Written by hand, and not with filelock: a lesson runs with NumPy alone, in the browser, too.
        """
        lock = self.path.with_name(self.path.name + ".lock")
        held, begun = False, time.monotonic()
        while not held and time.monotonic() - begun < 2 * LOCK_PATIENCE:
            try:
                os.close(os.open(lock, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
                held = True
            except FileExistsError:
                with contextlib.suppress(OSError):
                    if time.time() - lock.stat().st_mtime > LOCK_PATIENCE:
                        lock.unlink()
                time.sleep(0.01)
            except PermissionError:
                if os.name != "nt" or time.monotonic() - begun > LOCK_PATIENCE:
                    break  # a folder that cannot be written to; write() will say so
                time.sleep(0.01)  # on Windows: a lock that is just being removed
            except OSError:
                break
        try:
            yield
        finally:
            if held:
                with contextlib.suppress(OSError):
                    lock.unlink()

    def say_once(self, sentence) -> None:
        if sentence not in self.said:
            self.said.add(sentence)
            self.say(sentence)


def reason(error) -> str | None:
    """Give the reason in the system's words, without the path, which would differ from machine to machine."""
    return getattr(error, "strerror", None) or str(error)

"""Grading a folder of returned notebooks: one fenced process for each, several at a time, and nothing lost.

Each notebook's cells go to a worker behind a keeper. What comes back is read within bounds and believed only where its
seal fits. A cell that ends its process, or hangs, is left out in a second and third run: the others still count.
"""

import collections
import contextlib
import csv
import json
import os
import queue
import secrets
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from concurrent import futures
from dataclasses import dataclass, field
from pathlib import Path

from coursekit.classroom import pages, returned, worker
from coursekit.judge import exercise as ex
from coursekit.judge.discovery import lesson_numbers, number_in
from coursekit.judge.moved import new_number
from coursekit.notebook.lesson import lesson, normal
from coursekit.rooms import ROOMS

ROOT = Path(__file__).resolve().parents[2]
WINDOWS = os.name == "nt"
SECONDS = 120  # for one run of one notebook; lessons take one to six
CELL_SECONDS = 30  # for one cell; a cell of the course takes at most two
QUIET = 30  # further seconds without a word from the worker, after which it is no longer waited for
MEMORY_MB, DISK_MB, PROCESSES = 2048, 64, 24
RUNS = 3  # a cell that ends the process is left out in the next one
MOST_SENT = 4 * 1024 * 1024  # bytes of one run's records; an honest notebook sends 30,000
NOT_JUDGED = "not judged"
NOT_READ, NOT_GRADED = "not read", "not graded"  # of a whole notebook: nothing is known of its answers
OUTCOMES = (ex.CORRECT, ex.ALMOST, ex.NOT_YET, ex.ERROR, ex.NOT_ATTEMPTED, NOT_JUDGED)
RANKS = {outcome: place for place, outcome in enumerate((ex.NOT_ATTEMPTED, NOT_JUDGED, *ex.OUTCOMES[1:]))}
ENDED = {
    "time": "it was stopped after {seconds} seconds",
    "quiet": "it gave no sign for {quiet:g} seconds and was stopped",
    "memory": "it took more than {memory} MB of memory and was stopped",
    "processes": "it started more than {processes} processes and was stopped, with all of them",
    "flood": "it wrote without end to where the verdicts go and was stopped",
}


@dataclass
class Answer:
    """The outcome of one exercise in one student's lesson."""

    id: str
    outcome: str = ex.NOT_ATTEMPTED
    text: str = ""
    details: list = field(default_factory=list)
    printed: str = ""
    mistake: str = ""
    said: str | None = None  # of a prediction: the value, in words
    source: str = ""  # of the student's cell
    asked: int = 0  # how many times it was judged


@dataclass
class Graded:
    """One student's lesson, from one returned file or more."""

    student: str
    lesson: str
    answers: dict = field(default_factory=dict)  # exercise id: Answer
    files: list = field(default_factory=list)
    notes: list = field(default_factory=list)  # for the teacher: what happened on the way
    problem: str = ""  # why nothing could be judged
    unread: bool = False  # the file itself could not be read

    @property
    def missing(self) -> str:
        """The word that stands where the outcomes would stand; '' when there are some."""
        return "" if not self.problem else NOT_READ if self.unread else NOT_GRADED

    def count(self, outcome) -> int:
        """Count the exercises with this outcome, without the predictions."""
        return sum(each.outcome == outcome for each in self.answers.values() if ".p" not in each.id)


@dataclass
class Limits:
    """The resources that one notebook may use."""

    seconds: int = SECONDS
    cell: float = CELL_SECONDS
    quiet: float = QUIET
    memory: int = MEMORY_MB
    disk: int = DISK_MB
    processes: int = PROCESSES


# ------------------------------------------------------------------------------------------------ the lessons


def lesson_files() -> dict:
    """Return {number: path of the published notebook} for all lessons with exercises."""
    paths = {number_in(path.name): path for path in sorted((ROOT / "notebooks").glob("[0-8][0-9]*_*.ipynb"))}
    return {number: paths[number] for number in lesson_numbers() if number in paths}


def askers(path) -> dict[str, str]:
    """Return {cell id: exercise id} of a published notebook: by these a cell is known whose last line is gone."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    found = {}
    for cell in cells:
        asked = worker.ASKS.findall("".join(cell["source"])) if cell["cell_type"] == "code" else []
        if len(asked) == 1:
            found[cell.get("id")] = asked[0]
    return found


# --------------------------------------------------------------------------------------------- one notebook


@dataclass
class Ran:
    """The result of one run of a worker."""

    records: list = field(default_factory=list)
    ended: str = ""  # "end", or a key of ENDED, or how the process died
    foreign: int = 0  # lines that did not carry the seal
    refused: str = ""


class Grader:
    """Runs notebooks behind the best fence that this system gives."""

    def __init__(self, limits=None, fence=None):
        self.limits, self.stopping = limits or Limits(), threading.Event()
        self.quiet = self.limits.cell + self.limits.quiet  # seconds of silence that a run may have
        self.slots = queue.SimpleQueue()
        for slot in range(256):
            self.slots.put(slot)
        self.refused = ""
        self.fence = fence or self.best_fence()

    def best_fence(self) -> str:
        """Find the best fence by trying: "namespaces", "limits" or "time only"."""
        if WINDOWS:
            return "time only"
        if sys.platform == "linux":
            ran = self.run({"lesson": lesson_numbers()[0], "cells": [], "skip": []}, "namespaces")
            if ran.ended == "end" and ran.records:
                return "namespaces"
            self.refused = ran.refused or f"a first try ended with: {ran.ended}"
        return "limits"

    def run(self, job, fence=None) -> Ran:
        """Run one job in a process of its own. Never raises for what the process does."""
        slot = self.slots.get()
        scratch = tempfile.mkdtemp(prefix="course-grading-")
        try:
            return self.run_in(scratch, job, fence or self.fence, slot)
        finally:
            remove(scratch)
            self.slots.put(slot)

    def run_in(self, scratch, job, fence, slot) -> Ran:
        key = secrets.token_bytes(32)
        process = subprocess.Popen(
            self.command(scratch, fence, slot), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL if fence == "time only" else subprocess.PIPE, cwd=scratch,
            env=self.environment(scratch) if fence == "time only" else None, start_new_session=not WINDOWS,
        )  # fmt: skip
        ran, arrived = Ran(), queue.SimpleQueue()
        job = {**job, "cell_seconds": self.limits.cell, "key": key.hex()}
        helpers = [
            threading.Thread(target=feed, args=(process.stdin, job), daemon=True),
            threading.Thread(target=listen, args=(process.stdout, arrived), daemon=True),
        ]
        for each in helpers:
            each.start()
        try:
            stopped = self.follow(arrived, key, ran)
        finally:
            report = end(process, fence)
        for each, stream in zip(helpers, (process.stdin, process.stdout), strict=True):
            each.join(timeout=2)
            if not each.is_alive():
                with contextlib.suppress(OSError):
                    stream.close()
        said = told_by_keeper(report)
        ran.refused = said.get("refused", "")
        ran.ended = stopped or said.get("ended") or (f"exit {process.returncode}" if process.returncode else "end")
        return ran

    def follow(self, arrived, key, ran) -> str:
        """Read records until the process is silent or through; why it was stopped, or ''."""
        over, sent, text = time.monotonic() + self.limits.seconds + 5, 0, b""
        silent = time.monotonic() + self.quiet
        while True:
            try:
                part = arrived.get(timeout=0.5)
            except queue.Empty:
                now = time.monotonic()
                if self.stopping.is_set() or now > min(silent, over):
                    return "stopped" if self.stopping.is_set() else "quiet" if now > silent else "time"
                continue
            silent = time.monotonic() + self.quiet
            if not part:
                return ""
            sent += len(part)
            if sent > MOST_SENT:
                return "flood"
            *lines, text = (text + part).split(b"\n")
            for line in lines:
                record = believed(line, key, len(ran.records))
                if record is None:
                    ran.foreign += 1
                else:
                    ran.records.append(record)
                    if record["kind"] == "end":
                        return ""

    def command(self, scratch, fence, slot) -> list[str]:
        """Return the command line: the keeper with its instructions, and the worker as its command."""
        start = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from coursekit.classroom import worker"
        work = [sys.executable, "-P", "-c", start + "; worker.main()"]
        if fence == "time only":
            return work
        spec = {
            "fence": fence, "scratch": scratch, "root": scratch, "slot": slot, "environment": self.environment(scratch),
            "visible": visible(), "seconds": self.limits.seconds, "memory": self.limits.memory << 20,
            "disk": self.limits.disk << 20, "processes": self.limits.processes,
        }  # fmt: skip
        return [sys.executable, "-I", "-S", str(Path(__file__).with_name("keeper.py")), json.dumps(spec), "--", *work]

    def environment(self, scratch) -> dict:
        """Return variables by which a student's process knows nothing of the teacher's settings, keys and folders."""
        kept = ("PATH", "LANG", "LC_ALL", "SYSTEMROOT", "SystemRoot", "LD_LIBRARY_PATH", "VIRTUAL_ENV", "CONDA_PREFIX")
        found = {name: os.environ[name] for name in kept if name in os.environ}
        for name in ("HOME", "USERPROFILE", "TMPDIR", "TEMP", "TMP", "IPYTHONDIR", "MPLCONFIGDIR", "COURSE_PROGRESS"):
            found[name] = scratch
        for library in ("OMP", "OPENBLAS", "MKL"):
            found[f"{library}_NUM_THREADS"] = "1"
        return {**found, "MPLBACKEND": "agg", "PYTHONUTF8": "1", "PYTHONDONTWRITEBYTECODE": "1",
                "PYTHONPATH": os.pathsep.join(packages())}  # fmt: skip


def packages() -> list:
    """Return the folders that packages are imported from here, for a process with another home."""
    return [each for each in sys.path if each.endswith(("site-packages", "dist-packages")) and os.path.isdir(each)]


def visible() -> list:
    """List what a fenced process may read beside the system: Python, packages, the course's code."""
    wanted = [sys.prefix, sys.base_prefix, sys.exec_prefix, os.path.realpath(sys.executable), *packages()]
    wanted += [str(ROOT / room) for room in ROOMS]
    wanted += [os.path.dirname(shutil.which("dot") or "")]
    real = {os.path.realpath(each) for each in wanted if each} | {each for each in wanted if each}
    # A folder may be shown whole, or nothing of it would be hidden: never the root or a home.
    real -= {"/", os.path.expanduser("~"), str(ROOT)}
    return sorted(each for each in real if not each.startswith(("/usr/", "/bin/", "/lib/")))


def feed(stream, job) -> None:
    """Hand the job over, however slowly it is taken."""
    with contextlib.suppress(OSError, ValueError):
        stream.write(json.dumps(job).encode("ascii") + b"\n")
        stream.close()


def listen(stream, arrived) -> None:
    """Pass on what a process writes; b"" at the end."""
    with contextlib.suppress(OSError, ValueError):
        while part := stream.read1(65536):
            arrived.put(part)
    arrived.put(b"")


def believed(line, key, number) -> dict | None:
    """Return the record in a line, if its seal fits; else None."""
    mark, _, text = line.rstrip(b"\r").partition(b" ")  # Windows ends lines in two characters
    with contextlib.suppress(ValueError):
        if secrets.compare_digest(mark.decode("ascii"), worker.seal(key, number, text.decode("ascii"))):
            return json.loads(text)
    return None


def end(process, fence) -> bytes:
    """End a process and all that it has started; what the keeper said on the way."""
    report = b""
    if fence == "time only":
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=1)
        if WINDOWS and process.poll() is None:
            subprocess.run(["taskkill", "/F", "/T", "/PID", str(process.pid)], capture_output=True)
        process.kill()
    else:
        with contextlib.suppress(subprocess.TimeoutExpired):  # it was told to end, and is given a moment
            process.wait(timeout=0.5)
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=10)
        process.kill()
        with contextlib.suppress(OSError, ValueError):
            report = process.stderr.read(65536)
            process.stderr.close()
    process.wait()
    return report


def told_by_keeper(report) -> dict:
    """Return the keeper's lines as one dictionary."""
    said = {}
    for line in report.decode("utf-8", "replace").splitlines():
        with contextlib.suppress(ValueError):
            said.update(json.loads(line))
    return said


def remove(folder) -> None:
    """Remove a scratch folder, whatever was done to its rights."""
    for path, folders, _ in os.walk(folder):
        for each in folders:
            with contextlib.suppress(OSError):
                os.chmod(os.path.join(path, each), 0o700)
    shutil.rmtree(folder, ignore_errors=True)


# --------------------------------------------------------------------------------------- one student's lesson


def grade_copy(grader, copy, file) -> Graded:
    """Grade each exercise of one returned notebook. Never raises for what is in it."""
    graded = Graded(copy.student, copy.lesson, files=[copy.name])
    exercises = lesson(copy.lesson, edition=copy.edition).exercises if copy.lesson is not None else {}
    graded.answers = {id: Answer(id) for id in exercises}
    if copy.problem:
        graded.problem, graded.unread = copy.problem, True
        return graded
    asks = {} if copy.edition else askers(file)
    cells = [{"source": cell["source"], "asks": asks.get(cell["id"], "")} for cell in copy.cells]
    skip, records = [], []
    for _ in range(RUNS):
        ran = grader.run({"lesson": copy.lesson, "edition": copy.edition, "cells": cells, "skip": skip})
        records += ran.records
        graded.notes += notes_on(ran)
        at = max((record["cell"] for record in ran.records if record["kind"] == "cell"), default=None)
        if any(record["kind"] == "end" for record in ran.records) or at is None or grader.stopping.is_set():
            break
        skip.append(at)
        graded.notes.append(f"While code cell {at + 1} ran, {how_it_ended(ran.ended, grader.limits)}. "
                            "The other cells were run without it.")  # fmt: skip
        for id in named_in(cells[at], exercises):
            merge(graded.answers[id], ended_here(id, ran.ended, grader.limits))
    else:
        graded.notes.append(f"After {RUNS} runs the rest of the notebook was left.")
    if not any(record["kind"] == "cell" for record in records) and cells:
        graded.problem = f"its process could not begin: {how_it_ended(ran.ended, grader.limits)}."
    for record in records:
        if record["kind"] == "verdict" and record["id"] in graded.answers:
            merge(graded.answers[record["id"]], answer_of(record, cells))
    complete(graded, cells)
    if copy.edition:  # from here on by the numbers of today
        graded.answers = {new_number(id): answer for id, answer in graded.answers.items()}
        for id, answer in graded.answers.items():
            answer.id = id
    graded.notes = list(dict.fromkeys(graded.notes))
    if grader.stopping.is_set():
        graded.notes.append("The grading was stopped while this notebook ran.")
    return graded


def notes_on(ran) -> list[str]:
    """Tell a teacher about a run, in sentences."""
    asked = collections.defaultdict(list)
    for record in ran.records:
        if record["kind"] == "note":
            asked[record["what"]].append(record["id"])
    said = [f"The notebook {what} {', '.join(ids)}." for what, ids in asked.items()]
    replaced = next((record for record in ran.records if record["kind"] == "replaced"), None)
    if replaced:
        said.append(f"The notebook replaces `{replaced['what']}` in code cell {replaced['cell'] + 1}. What it asks "
                    "from there on is not judged; the verdicts before it stand.")  # fmt: skip
    stopped = [record for record in ran.records if record["kind"] == "error"]
    said += [f"Code cell {record['cell'] + 1} stops: {record['text'].splitlines()[0]}" for record in stopped[:3]]
    if stopped[3:]:
        said.append(f"{counted(len(stopped) - 3, 'further cell')} stop as well.")
    if ran.foreign:
        said.append("Something wrote to where the verdicts go. What it wrote does not carry our seal and was not read.")
    return said


def how_it_ended(ended, limits) -> str:
    """Return the words for how a process came to its end."""
    if ended in ENDED:
        return ENDED[ended].format(seconds=limits.seconds, memory=limits.memory, processes=limits.processes,
                                   quiet=limits.cell + limits.quiet)  # fmt: skip
    return f"the process ended ({ended})" if ended != "end" else "the process ended itself"


def ended_here(id, ended, limits) -> Answer:
    """Return the answer of an exercise whose cell has ended its process."""
    return Answer(id, ex.ERROR, f"its cell does not come to the check: {how_it_ended(ended, limits)}.")


def named_in(cell, exercises) -> set:
    """Return the exercises that a cell asks."""
    found = [*worker.ASKS.findall(cell["source"]), cell["asks"]]
    return {id for id in map(normal, found) if id in exercises}


def answer_of(record, cells) -> Answer:
    """Make an Answer of a verdict's record."""
    cell = record.get("cell")
    source = cells[cell]["source"] if isinstance(cell, int) and 0 <= cell < len(cells) else ""
    return Answer(record["id"], record["outcome"], record["text"], record["details"], record["printed"],
                  record["mistake"], record.get("said"), source, 1)  # fmt: skip


def merge(known, new) -> None:
    """Keep the better of two verdicts on one exercise; of equals the first one."""
    asked = known.asked + new.asked
    if RANKS[new.outcome] > RANKS[known.outcome] or not known.text:
        for name, value in vars(new).items():
            setattr(known, name, value)
    known.asked = asked


def complete(graded, cells) -> None:
    """Say of every exercise that was not judged why it was not."""
    present = set().union(*(named_in(cell, graded.answers) for cell in cells)) if cells else set()
    for answer in graded.answers.values():
        if not answer.text:
            answer.text = "nothing was changed." if answer.id in present else "this notebook has no cell that asks it."
        elif answer.outcome == ex.NOT_ATTEMPTED:
            answer.text = "nothing was changed."


def together(parts) -> Graded:
    """Join one student's lesson from several returned files: for each exercise the better verdict."""
    first, *others = parts
    for other in others:
        if first.problem and not other.problem:
            first, other = other, first
        for id, answer in other.answers.items():
            if id in first.answers:
                merge(first.answers[id], answer)
        first.files += other.files
        first.notes += [f"{', '.join(other.files)}: {other.problem}"] if other.problem else other.notes
    first.files.sort()
    return first


# -------------------------------------------------------------------------------------------------- all of them


class Bar:
    """The progress of the grading: a line that is renewed in a terminal, a line every ten seconds elsewhere."""

    WIDTH = 30

    def __init__(self, total, out=None):
        self.total, self.done, self.out = total, 0, out or sys.stderr
        self.began = self.spoke = time.monotonic()

    def step(self, name) -> None:
        """Count one more that is done."""
        self.done += 1
        now, live = time.monotonic(), self.out.isatty()
        if not live and now - self.spoke < 10 and self.done < self.total:
            return
        self.spoke = now
        filled = self.WIDTH * self.done // self.total
        left = (now - self.began) / self.done * (self.total - self.done)
        line = f"[{'#' * filled}{'.' * (self.WIDTH - filled)}] {self.done} of {self.total}, {left:.0f} s left  {name}"
        if live:
            print("\r" + line[:100].ljust(100), end="\n" if self.done == self.total else "", file=self.out, flush=True)
        else:
            print(line.rstrip(), file=self.out, flush=True)


def grade_all(copies, grader, bar, workers) -> tuple:
    """Grade the copies, `workers` at a time: a list of Graded, and whether it was interrupted."""
    files, results, interrupted = lesson_files(), {}, False
    with futures.ThreadPoolExecutor(workers) as pool:
        waiting = {pool.submit(grade_copy, grader, copy, files.get(copy.lesson)): copy for copy in copies}
        try:
            for done in futures.as_completed(waiting):
                copy = waiting[done]
                results[copy.name] = done.result() if done.exception() is None else failed(copy, done.exception())
                bar.step(copy.name)
        except KeyboardInterrupt:
            interrupted = True
            grader.stopping.set()
            pool.shutdown(wait=True, cancel_futures=True)
    for copy in copies:
        if copy.name not in results:
            results[copy.name] = failed(copy, "the grading was stopped before it")
    by_student = collections.defaultdict(list)
    for copy in copies:
        by_student[copy.student, copy.lesson].append(results[copy.name])
    return [together(parts) for parts in by_student.values()], interrupted


def failed(copy, why) -> Graded:
    """Tell of a copy that we could not grade: never lost, never a crash."""
    graded = Graded(copy.student, copy.lesson, files=[copy.name])
    graded.problem = why if isinstance(why, str) else f"grading it failed, which is our mistake: {why!r}"
    graded.answers = {id: Answer(id) for id in (lesson(copy.lesson).exercises if copy.lesson is not None else {})}
    return graded


def in_order(graded) -> tuple:
    """By student, then by lesson; a file that is no lesson comes first."""
    return graded.student.casefold(), graded.student, graded.lesson or ""


def changed_files(copies) -> list:
    """List the returned files that are no longer as they were when grading began."""
    return [copy.name for copy in copies
            if copy.digest and returned.read(copy.path, copy.name).digest != copy.digest]  # fmt: skip


def write_csv(path, all_graded) -> None:
    """Write a row for each student and lesson: the sums, then each exercise and prediction."""
    numbers = sorted({column(id, each) for each in all_graded for id in each.answers}, key=in_columns)
    head = ["student", "lesson", "exercises", *(outcome for outcome in OUTCOMES), "predictions noted"]
    with open(path, "w", encoding="utf-8-sig", newline="") as file:  # with its mark, so that spreadsheets read names
        rows = csv.writer(file)
        rows.writerow([*head, *numbers, "files", "remarks"])
        for each in all_graded:
            lesson_name = each.lesson or ""
            said = {column(id, each): answer.said or "" if ".p" in id else each.missing or answer.outcome
                    for id, answer in each.answers.items()}  # fmt: skip
            sums = [*map(each.count, OUTCOMES),
                    sum(answer.said is not None and answer.outcome != ex.NOT_ATTEMPTED
                        for id, answer in each.answers.items() if ".p" in id)]  # fmt: skip
            sums = [sum(".p" not in id for id in each.answers), *([""] * len(sums) if each.missing else sums)]
            first = [f"{each.missing.capitalize()}: {each.problem}"] if each.missing else []
            remarks = "\n".join([*first, *each.notes])  # a line each
            row = [each.student, lesson_name, *sums, *(said.get(number, "") for number in numbers)]
            row += ["; ".join(each.files), remarks]
            rows.writerow([harmless(cell) for cell in row])


def column(id, graded) -> str:
    """Name an exercise's column: its number; the whole id where an old copy asks what is in another lesson today."""
    lesson_name, _, number = id.partition(".")
    return number if lesson_name == graded.lesson else id


def in_columns(name) -> tuple:
    """Exercises before predictions, each in their order."""
    lesson_name, _, number = name.rpartition(".")
    return lesson_name, number.startswith("p"), int(number.strip("p"))


def harmless(cell) -> str:
    """Return text that no spreadsheet takes for a formula."""
    text = str(cell)
    return "'" + text if text[:1] in ("=", "+", "-", "@", "\t", "\r") else text


def new_folder(wanted) -> Path:
    """Make a folder that was not there before: `wanted`, or the same with a number."""
    for number in range(1, 1000):
        path = wanted if number == 1 else wanted.with_name(f"{wanted.name}-{number}")
        try:
            path.mkdir(parents=True)
            return path
        except FileExistsError:
            continue
    raise FileExistsError(wanted)


def grade(folder, to=None, limits=None, workers=None, fence=None, out=print) -> int:
    """Grade a folder; returns its exit status. What was recognised is said before anything runs."""
    folder = Path(folder)
    if not folder.is_dir():
        out(f"There is no folder {folder}. Name the folder with what was returned: one folder for each student, or "
            "files such as NAME_07.ipynb.")  # fmt: skip
        return 1
    titles = {number: path.stem for number, path in lesson_files().items()}
    found = returned.look(folder, titles)
    tell_what_was_found(found, folder, out)
    if not found.copies:
        return 1
    grader = Grader(limits, fence)
    out(FENCES[grader.fence])
    if grader.refused:
        out(f"(Namespaces were tried: {grader.refused}.)")
    target = new_folder(Path(to) if to else folder.resolve().with_name(folder.resolve().name + "-graded"))
    began = time.monotonic()
    bar = Bar(len(found.copies))
    all_graded, interrupted = grade_all(found.copies, grader, bar, workers or os.cpu_count() or 2)
    all_graded.sort(key=in_order)
    write_csv(target / "grades.csv", all_graded)
    pages.write(target, all_graded, found, FENCES[grader.fence])
    out(f"{len(found.copies)} notebooks in {time.monotonic() - began:.0f} s. Open {target / 'index.html'}; "
        f"the table is {target / 'grades.csv'}.")  # fmt: skip
    if changed := changed_files(found.copies):
        out(f"Careful: these returned files changed while they were graded: {', '.join(changed[:5])}.")
    if interrupted:
        out("It was stopped: the notebooks that were not reached say so in the table.")
    return 130 if interrupted else 0


FENCES = {
    "namespaces": "Each notebook runs in a space of its own: it sees Python, the course and a scratch folder, no "
                  "network and no other process, and whatever it starts ends with it.",
    "limits": "Each notebook runs in a process of its own, with limits on time, memory and processes. This system "
              "gives no fence around files and network: a hostile notebook could read and write what you can.",
    "time only": "Each notebook runs in a process of its own, with a limit on time; this system has no limits on "
                 "memory, files and network. A hostile notebook could read and write what you can.",
}  # fmt: skip


def tell_what_was_found(found, folder, out) -> None:
    """Print what was recognised in the folder, and what was not."""
    students = {copy.student for copy in found.copies}
    lessons = sorted({copy.lesson for copy in found.copies if copy.lesson is not None})
    numbers = ", ".join(lessons) or "none"
    notebooks, owners = counted(len(found.copies), "notebook"), counted(len(students), "student")
    out(f"{folder}: {notebooks} of {owners}; lessons: {numbers}.")
    if found.nameless:
        out(f"Some file names tell no student, so they count as {folder.resolve().name}'s. Put each student's files in "
            "a folder of their own, or a name before the lesson: NAME_07.ipynb.")  # fmt: skip
    unread = [copy for copy in found.copies if copy.problem]
    for copy in unread[:5]:
        out(f"  not readable: {copy.name}: {copy.problem}")
    for name, why in found.others[:5]:
        out(f"  left out: {name}: {why}")
    more = len(unread[5:]) + len(found.others[5:])
    if more:
        out(f"  and {more} more, listed in the report.")


def counted(number, word) -> str:
    """Count in words: "1 notebook", "3 notebooks"."""
    return f"{number} {word}" if number == 1 else f"{number} {word}s"

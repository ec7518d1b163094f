"""JupyterLab: its port, its command line, its start and its end."""

import contextlib
import dataclasses
import datetime
import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
import webbrowser
from collections.abc import Mapping, Sequence
from pathlib import Path

from coursekit.cli import paths
from coursekit.cli.environment import Environment
from coursekit.cli.files import can_write_below, write_whole
from coursekit.cli.terminal import UserError, echo, tail, this_command
from coursekit.cli.workspace import FIRST_LESSON, HOME, Copies

DEFAULT_PORT = 8888
NOTE = "server.json"  # in .jupyter of the learner's folder: where the server keeps the files that say who it is
LAB = Path(__file__).with_name("lab")  # laid out as Jupyter's folder of settings: labconfig/, custom/


def own_folders(folder: str | Path) -> dict[str, str]:
    """Return the environment variables that keep Jupyter and IPython out of the reader's home.

    A home may be read-only, or hold settings and start-up files that make lessons behave in other ways.
    """
    folder = Path(folder)
    places = {
        "JUPYTER_CONFIG_DIR": "config", "JUPYTER_DATA_DIR": "data", "JUPYTER_RUNTIME_DIR": "runtime",
        "JUPYTERLAB_SETTINGS_DIR": "config/lab/user-settings", "IPYTHONDIR": "ipython",
    }
    # Its list of the system's fonts takes seconds to make: shared with other projects where that can be.
    homes = [os.path.join(os.path.expanduser("~"), each) for each in (".cache", ".config")]
    if "MPLCONFIGDIR" not in os.environ and not all(map(can_write_below, homes)):
        places["MPLCONFIGDIR"] = "matplotlib"
    return {name: str(folder / place) for name, place in places.items()}


def jupyter_settings(copies: Copies) -> dict[str, str]:
    """Return the environment variables that Jupyter runs with, here and whenever it is asked something."""
    return dict(os.environ, JUPYTER_PREFER_ENV_PATH="1", **own_folders(copies.mine / ".jupyter"))


def trust(environment: Environment, copies: Copies, names: Sequence[str]) -> None:
    """Let JupyterLab show these notebooks' HTML at once, as `jupyter trust` does."""
    if names:
        command = [str(environment.python), "-m", "nbformat.sign"] + [str(copies.mine / name) for name in names]
        done = subprocess.run(command, env=jupyter_settings(copies), stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if done.returncode != 0:
            echo("  The lessons could not be marked as trusted. If a picture is missing in JupyterLab:\n"
                "  View > Activate Command Palette > Trust Notebook. Why:")
            echo(tail(done.stdout.decode("utf-8", "replace")))


HOME_TABLE = "import json; from coursekit import home; print(json.dumps(home()._repr_mimebundle_()))"


def refresh_home(environment: Environment, copies: Copies) -> list[str]:
    """Fill in the table of lessons in the learner's home.ipynb, as far as they are now. Return what was written."""
    try:
        done = subprocess.run(
            [str(environment.python), "-c", HOME_TABLE], cwd=copies.mine, env=with_root(jupyter_settings(copies)),
            stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
        shown = json.loads(done.stdout.decode("utf-8").splitlines()[-1])
    except (OSError, ValueError, IndexError, subprocess.TimeoutExpired):
        return []  # the table comes when its cell is run
    return [HOME] if copies.show_home(shown, datetime.date.today()) else []


def port_is_free(port: int) -> bool:
    """Try whether a server could listen on 127.0.0.1:port now."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as trial:
        if paths.WINDOWS:
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)
        else:
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True


def check_port(asked: int | None) -> None:
    """Refuse a port that was asked for and cannot be had. Without a wish JupyterLab finds one itself."""
    if asked is None:
        return
    if not 1 <= asked <= 65535:
        raise UserError(f"There is no port {asked}: ports are numbers from 1 to 65535.")
    if not port_is_free(asked):
        raise UserError(
            f"Port {asked} on 127.0.0.1 is taken (or not allowed): another program listens there,\n"
            "perhaps another copy of this course. Stop that with Ctrl-C, or choose another port:\n"
            f"    {this_command()} open --port {asked + 1 if asked < 65535 else 8888}"
        )


def with_root(settings: Mapping[str, str]) -> dict[str, str]:
    """Add the course's folder to what can be imported, for a process with these variables."""
    return dict(settings, PYTHONPATH=os.pathsep.join(filter(None, [str(paths.ROOT), settings.get("PYTHONPATH")])))


def lab_command(environment: Environment, port: int | None, copies: Copies) -> list[str]:
    """Write JupyterLab's command line. Its root is the course's folder, so that a lesson can link to the engine."""
    command = [
        str(environment.python), "-m", "jupyterlab", "--no-browser",
        "--ServerApp.ip=127.0.0.1",
        f"--ServerApp.port={port or DEFAULT_PORT}",
        f"--ServerApp.port_retries={0 if port else 50}",
        "--ServerApp.base_url=/",
        f"--ServerApp.root_dir={paths.ROOT}",
        f"--ServerApp.preferred_dir={copies.mine}",
        "--ServerApp.answer_yes=True",
        "--ContentsManager.pre_save_hook=coursekit.cli.save_hook.keep_metadata",
        f"--LabApp.default_url={first_page(copies)}",
        # Which tabs were open stays with this course, apart from the reader's other projects.
        "--LabApp.workspaces_dir={}".format(copies.mine / ".jupyter" / "workspaces"),
    ]
    if (LAB / "custom").is_dir():
        command.append("--LabApp.custom_css=True")
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        command.append("--allow-root")
    return command


def first_page(copies: Copies) -> str:
    """Return the address, on the server, of the notebook to begin with: the one last used, else lesson 00."""
    for opened in (last_shown(copies), last_written(copies), copies.mine / FIRST_LESSON):
        if opened is not None and opened.is_file():
            return "/lab/tree/" + urllib.parse.quote(opened.relative_to(paths.ROOT).as_posix())
    return "/lab/tree/" + copies.mine.relative_to(paths.ROOT).as_posix()


def last_shown(copies: Copies) -> Path | None:
    """Find the notebook of the learner's folder that was in front when JupyterLab last noted its tabs."""
    notes = (copies.mine / ".jupyter" / "workspaces").glob("*.jupyterlab-workspace")
    try:
        newest = max(notes, key=os.path.getmtime)
        layout = json.loads(newest.read_text(encoding="utf-8"))["data"]["layout-restorer:data"]
        kind, _, path = layout["main"]["current"].partition(":")
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    shown = paths.ROOT / path
    mine = kind == "notebook" and shown.suffix == ".ipynb" and copies.mine in shown.parents and ".." not in shown.parts
    return shown if mine else None


def last_written(copies: Copies) -> Path | None:
    """Find the copy that was written to last, of those that are not as they were made."""
    known = copies.read_manifest()["contents"]
    written = [path for path in copies.mine.glob("*.ipynb") if not copies.holds(path.name, known.get(path.name))]
    written = [path for path in written if ".kept-" not in path.name]
    return max(written, key=os.path.getmtime, default=None)


@dataclasses.dataclass(frozen=True)
class Running:
    """A JupyterLab that runs: the port it listens on, and the token it asks for."""

    port: int
    token: str

    def address(self, page: str) -> str:
        """Return the address of a page, as it can be given to a browser."""
        return f"http://127.0.0.1:{self.port}{page}?token={self.token}"

    def answers(self, patience: float = 2) -> bool:
        """Ask whether a Jupyter server that knows this token listens on this port."""
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}/api/status", headers={"Authorization": "token " + self.token})
        direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # never through a proxy
        try:
            with direct.open(request, timeout=patience) as reply:
                return reply.status == 200
        except (OSError, urllib.error.URLError):
            return False


def find_running(copies: Copies) -> Running | None:
    """Find the JupyterLab that a `make open` of this folder has started, if it still answers."""
    try:
        runtime = Path(json.loads((copies.mine / ".jupyter" / NOTE).read_text(encoding="utf-8"))["runtime"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return running_in(runtime)


def running_in(runtime: Path) -> Running | None:
    """Read who answers from the files that Jupyter servers leave in their runtime folder."""
    for path in runtime.glob("jpserver-*.json"):
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            found = json.loads(path.read_text(encoding="utf-8"))
            running = Running(int(found["port"]), str(found["token"]))
            if running.answers():
                return running
    return None


class Lab:
    """A JupyterLab that this process has started, and ends."""

    def __init__(self, environment: Environment, copies: Copies, port: int | None) -> None:
        # Its files hold the token. They must be private, which some disks cannot do: not in the learner's folder.
        self.runtime = Path(tempfile.mkdtemp(prefix="course-jupyter-"))
        self.note = copies.mine / ".jupyter" / NOTE
        self.log = copies.mine / ".jupyter" / "server.log"
        settings = dict(jupyter_settings(copies), JUPYTER_RUNTIME_DIR=str(self.runtime))
        settings["JUPYTER_TOKEN"] = secrets.token_hex(16)
        help_after_a_restart(Path(settings["IPYTHONDIR"]))
        write_lab_settings(Path(settings["JUPYTER_CONFIG_DIR"]))
        write_first_workspace(copies.mine / ".jupyter" / "workspaces")
        write_whole(self.note, json.dumps({"runtime": str(self.runtime)}).encode("utf-8"))
        with open(self.log, "wb") as output:
            self.process = subprocess.Popen(
                lab_command(environment, port, copies), cwd=paths.ROOT, env=with_root(settings),
                stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                start_new_session=not paths.WINDOWS,
            )

    def stop(self) -> None:
        """End JupyterLab and its kernels, and forget where it was."""
        stop(self.process)
        shutil.rmtree(self.runtime, ignore_errors=True)
        with contextlib.suppress(OSError):
            self.note.unlink()


def stop(server: subprocess.Popen) -> None:
    """End JupyterLab and its kernels; by force if it does not listen."""
    if server.poll() is None:
        if not paths.WINDOWS:
            server.terminate()
        try:
            server.wait(timeout=10)
        except (subprocess.TimeoutExpired, KeyboardInterrupt):  # slow, or a second Ctrl-C
            server.kill()
            server.wait()


def open_browser(url: str) -> bool:
    """Open the reader's browser where there is a screen. Return whether one was started."""
    if sys.platform.startswith("linux") and not (
        os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY") or os.environ.get("WSL_DISTRO_NAME")
    ):
        return False  # a text browser would take this terminal over
    try:
        return webbrowser.open(url)
    except webbrowser.Error:
        return False


def wait_until_ready(process: subprocess.Popen, runtime: Path, log: Path, patience: float = 90) -> Running:
    """Wait until the server that keeps its files in `runtime` answers. Return where."""
    began = spoke = time.monotonic()
    while (running := running_in(runtime)) is None:
        now = time.monotonic()
        if process.poll() is not None or now - began > patience:
            words = log.read_text(encoding="utf-8", errors="replace")
            raise UserError(
                f"JupyterLab did not start. Its last words ({log}):\n{tail(words)}\n"
                f"{this_command()} doctor looks for the cause.")
        if now - spoke >= 3:
            spoke = now
            echo(f"  {now - began:3.0f} s")
        time.sleep(0.1)
    return running


def write_lab_settings(folder: Path) -> None:
    """Lay the course's settings for JupyterLab, all files of coursekit/cli/lab, into its folder of settings.

    They are defaults: what a reader chooses in JupyterLab's own menus stands above them.
    """
    for path in sorted(LAB.rglob("*.*")):
        copy = folder / path.relative_to(LAB)
        copy.parent.mkdir(parents=True, exist_ok=True)
        write_whole(copy, path.read_bytes())


def write_first_workspace(folder: Path) -> None:
    """Have JupyterLab open the table of contents at its left the first time; later it is as the reader left it."""
    if not any(folder.glob("*.jupyterlab-workspace")):
        folder.mkdir(parents=True, exist_ok=True)
        first = Path(__file__).with_name("first_workspace.json").read_bytes()
        write_whole(folder / "default-37a8.jupyterlab-workspace", first)


def help_after_a_restart(folder: Path) -> None:
    """Have every kernel load what says, after a restart, which cells have to be run again."""
    profile = folder / "profile_default"
    profile.mkdir(parents=True, exist_ok=True)
    extension = "coursekit.notebook.kernel_start"
    (profile / "ipython_kernel_config.py").write_text(
        f"c.InteractiveShellApp.extensions = [{extension!r}]\n", encoding="utf-8")


def stop_when_the_terminal_goes() -> None:
    """Have the end of the terminal end the server, too, as Ctrl-C does; but not under nohup."""
    def interrupted(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, interrupted)

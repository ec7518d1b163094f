"""How JupyterLab is started, and what is said when it cannot be."""

import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

import pytest

from coursekit.cli import paths, save_hook, server, terminal, workspace
from coursekit.cli.environment import Environment
from tests.opened import ADDRESS, environment, open_course, run_course


@pytest.fixture
def taken():
    """A port of 127.0.0.1 on which somebody listens."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield listener.getsockname()[1]


def test_a_taken_port_is_named_with_a_way_out(taken):
    """Asking for a port in use says which, who it may be, and how to choose another."""
    with pytest.raises(terminal.UserError, match=rf"Port {taken} .*taken(?s:.*)Ctrl-C(?s:.*)--port \d+"):
        server.check_port(taken)


@pytest.mark.parametrize("number", [0, -1, 65536])
def test_what_is_no_port_is_refused(number):
    """Numbers outside 1 to 65535 are refused with the range."""
    with pytest.raises(terminal.UserError, match="1 to 65535"):
        server.check_port(number)


@pytest.fixture
def command(tmp_path, monkeypatch):
    """JupyterLab's command line, when asked for: for a folder with a first lesson, in the course's own environment."""
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    mine = tmp_path / "my_course"
    mine.mkdir()
    (mine / workspace.FIRST_LESSON).write_text("{}")
    environment = Environment(sys.executable, "venv", sys.prefix, ours=True)
    return lambda port=8899: server.lab_command(environment, port, workspace.Copies(tmp_path / "notebooks", mine))


def test_the_server_listens_only_on_this_machine(command):
    """JupyterLab is bound to 127.0.0.1, and to the port that was asked for; its token is not for others to list."""
    words = command()

    assert "--ServerApp.ip=127.0.0.1" in words
    assert "--ServerApp.port=8899" in words
    assert "--ServerApp.port_retries=0" in words
    assert "--LabApp.default_url=/lab/tree/my_course/00_start_here.ipynb" in words
    assert {"--ServerApp.port=8888", "--ServerApp.port_retries=50"} <= set(command(None))
    assert not [word for word in words if "token" in word.partition("=")[0].lower()]


def show(mine, path):
    """What JupyterLab writes down of its tabs, with this notebook in front."""
    folder = mine / ".jupyter" / "workspaces"
    folder.mkdir(parents=True, exist_ok=True)
    layout = {"data": {"layout-restorer:data": {"main": {"current": f"notebook:{path}"}}}}
    (folder / "default-37a8.jupyterlab-workspace").write_text(json.dumps(layout))


def test_the_first_time_the_contents_are_open(command, tmp_path):
    """A workspace is written where there is none; it names no notebook, and one that is there stays as it is."""
    copies = workspace.Copies(tmp_path / "notebooks", tmp_path / "my_course")
    folder = copies.mine / ".jupyter" / "workspaces"
    server.write_first_workspace(folder)
    (written,) = folder.iterdir()

    assert "toc" in json.loads(written.read_text())["data"]["layout-restorer:data"]["left"]["current"]
    assert server.last_shown(copies) is None

    written.write_text("mine")
    server.write_first_workspace(folder)
    assert "mine" == written.read_text()


def test_the_lesson_last_used_is_opened_again(command, tmp_path):
    """The notebook that was in front; without Lab's notes the one written to last; never one of another folder."""
    copies = workspace.Copies(tmp_path / "notebooks", tmp_path / "my_course")
    (copies.mine / "07_version_counters.ipynb").write_text("work")
    os.utime(copies.mine / workspace.FIRST_LESSON, (1, 1))
    assert "/lab/tree/my_course/07_version_counters.ipynb" == server.first_page(copies)

    (copies.mine / "my notes.ipynb").write_text("{}")
    show(copies.mine, "my_course/my notes.ipynb")
    assert "/lab/tree/my_course/my%20notes.ipynb" == server.first_page(copies)

    os.utime(copies.mine / "my notes.ipynb", (1, 1))
    for path in ("my_course/gone.ipynb", "notebooks/07_version_counters.ipynb", "../elsewhere.ipynb"):
        show(copies.mine, path)
        assert "/lab/tree/my_course/07_version_counters.ipynb" == server.first_page(copies)


def test_saving_a_published_lesson_keeps_its_metadata(tmp_path, monkeypatch):
    """Looking at notebooks/07 in JupyterLab changes no file that git tracks; a learner's copy is saved as it is."""
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "notebooks" / "07_x.ipynb").write_text('{"metadata": {"version": "3.11.0"}}')
    models = [{"type": "notebook", "content": {"metadata": {"version": "9"}}} for _ in range(2)]
    save_hook.keep_metadata(model=models[0], path="notebooks/07_x.ipynb", contents_manager=None)
    save_hook.keep_metadata(model=models[1], path="my_course/07_x.ipynb", contents_manager=None)

    assert ["3.11.0", "9"] == [model["content"]["metadata"]["version"] for model in models]


def test_lab_gets_the_courses_settings_and_keeps_the_readers(tmp_path):
    """Each file of coursekit/cli/lab is laid into Jupyter's folder of settings at each start; no other changes."""
    for _ in range(2):
        server.write_lab_settings(tmp_path)
        (tmp_path / "labconfig" / "mine.json").write_text("mine")
    written = json.loads((tmp_path / "labconfig" / "default_setting_overrides.json").read_text())

    assert {"fetchNews": "false", "checkForUpdates": False} == written["@jupyterlab/apputils-extension:notification"]
    assert "mine" == (tmp_path / "labconfig" / "mine.json").read_text()


@pytest.mark.parametrize("user, allowed", [(0, True), (1000, False)])
def test_root_is_allowed_only_when_root(command, monkeypatch, user, allowed):
    """--allow-root is given to root and to nobody else."""
    monkeypatch.setattr(os, "geteuid", lambda: user, raising=False)

    assert allowed == ("--allow-root" in command())


def test_a_server_that_dies_is_quoted(tmp_path):
    """When JupyterLab ends before it answers, its last words and the doctor are in the message."""
    log = tmp_path / "server.log"
    dying = [sys.executable, "-c", "import sys; sys.exit('no module named jupyterlab')"]
    with open(log, "wb") as output:
        process = subprocess.Popen(dying, stdout=output, stderr=output)
    with pytest.raises(terminal.UserError, match=r"(?s)did not start.*no module named jupyterlab.*doctor"):
        server.wait_until_ready(process, tmp_path, log)


def test_a_server_that_hangs_is_given_up(tmp_path):
    """A server that never answers ends the wait, and stop() ends the server."""
    log = tmp_path / "server.log"
    log.write_text("thinking")
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    with pytest.raises(terminal.UserError, match="thinking"):
        server.wait_until_ready(process, tmp_path, log, patience=0.2)
    server.stop(process)

    assert process.poll() is not None


def test_somebody_elses_server_does_not_count_as_ours(taken, tmp_path):
    """A port that accepts connections but does not know our token is not ready, nor is a note that cannot be read."""
    copies = workspace.Copies(tmp_path / "notebooks", tmp_path)
    (tmp_path / ".jupyter").mkdir()
    assert not server.Running(taken, "token").answers(patience=0.3)
    for note in ("", "[]", '{"runtime": 3}', '{"runtime": "gone"}', json.dumps({"runtime": str(tmp_path)})):
        (tmp_path / "jpserver-1.json").write_text('{"port": 1, "token": "old"}')
        (tmp_path / "jpserver-2.json").write_text("{")
        (tmp_path / ".jupyter" / server.NOTE).write_text(note)

        assert server.find_running(copies) is None


@pytest.fixture
def opened(clone, tmp_path):
    """`course.py open --no-browser` in a clone: (process, base address, token)."""
    (clone / "course_lib").mkdir()
    (clone / "course_lib" / "__init__.py").write_text("")
    process, *found = open_course(clone, tmp_path)
    yield process, *found
    process.terminate()
    process.wait(30)


def get(address, token=None):
    """The status that a request gets, redirections not followed by their own status."""
    headers = {"Authorization": f"token {token}"} if token else {}
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with direct.open(urllib.request.Request(address, headers=headers), timeout=10) as reply:
            return reply.status
    except urllib.error.HTTPError as error:
        with error:
            return error.code


def said(address, token):
    """The text that a request gets."""
    request = urllib.request.Request(address, headers={"Authorization": f"token {token}"})
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=10) as reply:
        return reply.read().decode()


def test_open_for_real(opened, clone):
    """The printed address answers; without the token nothing is given; the end of course.py ends the server.

    A second open of the folder shows the same server and starts none; one that is stopped is not found any more.
    """
    process, base, page, token = opened
    port = int(base.rpartition(":")[2])

    assert "/lab/tree/my_course/00_start_here.ipynb" == page
    assert 200 == get(f"{base}{page}?token={token}")
    assert 200 == get(f"{base}/api/contents/my_course/00_start_here.ipynb", token)
    assert 403 == get(f"{base}/api/contents/my_course/00_start_here.ipynb")
    settings = json.loads(said(f"{base}/lab/api/settings/@jupyterlab/apputils-extension:notification", token))
    assert "false" == settings["schema"]["properties"]["fetchNews"]["default"]
    assert not server.port_is_free(port)

    second = run_course(clone, "open", "--no-browser", COURSE_PYTHON=sys.executable)
    assert 0 == second.returncode
    assert f"The course is open already:  {base}{page}?token={token}" in second.stdout
    assert "press Ctrl-C in the terminal where it was started" in second.stdout

    process.terminate()

    assert 0 == process.wait(30)
    assert server.port_is_free(port)
    assert server.find_running(workspace.Copies(clone / "notebooks", clone / "my_course")) is None


@pytest.mark.check
def test_two_opens_at_one_moment_start_one_server(clone, tmp_path, opened_words):
    """Two terminals open the folder together: the second waits for the first, and both name one address."""
    first, second = opened_words(2)
    assert first == second


@pytest.fixture
def opened_words(clone, tmp_path):
    """Start so many opens at once; their addresses. All are ended afterwards."""
    (clone / "course_lib").mkdir()
    (clone / "course_lib" / "__init__.py").write_text("")
    processes = []

    def start(number):
        environ = environment(COURSE_PYTHON=sys.executable, PYTHONPATH=str(clone))
        words = [sys.executable, "-u", "course.py", "open", "--no-browser"]
        logs = [tmp_path / f"log-{each}" for each in range(number)]
        for log in logs:
            with open(log, "wb") as output:
                processes.append(subprocess.Popen(words, cwd=clone, env=environ, stdout=output, stderr=output))
        end = time.monotonic() + 90
        while time.monotonic() < end and not all(ADDRESS.search(log.read_text()) for log in logs):
            time.sleep(0.1)
        return [ADDRESS.search(log.read_text()).group() for log in logs]

    yield start
    for process in processes:
        process.terminate()
    for process in processes:
        process.wait(30)

"""The table of commands, and what each one does."""

import argparse
import datetime
import os
import sys
import time
from collections.abc import Callable, Sequence

from coursekit.cli import server, terminal
from coursekit.cli.checks import command_check, command_test, command_test_browser, run
from coursekit.cli.doctor import examine
from coursekit.cli.environment import find_environment, python_version
from coursekit.cli.files import only_one, refusal
from coursekit.cli.install import ensure_environment, repair
from coursekit.cli.server import (
    Lab,
    Running,
    check_port,
    find_running,
    first_page,
    open_browser,
    refresh_home,
    stop_when_the_terminal_goes,
    trust,
    wait_until_ready,
)
from coursekit.cli.terminal import UserError, echo, this_command
from coursekit.cli.workspace import Copies, UpdateReport, catch_up, learner_copies, write_start


def command_open(options: argparse.Namespace) -> int:
    """Start JupyterLab on the learner's copies and wait for its end; show the one that runs, if one does."""
    copies = learner_copies()
    if running := find_running(copies):
        return show_running(running, copies, options)
    check_port(options.port)
    environment = ensure_environment(["dev"])
    if environment.ours and python_version(environment) is None:
        repair(environment)
    copies = learner_copies(environment)
    written = update_copies(copies)
    stop_when_the_terminal_goes()
    with only_one(copies.mine / ".jupyter" / "starting.lock", "Another terminal is opening the course"):
        if running := find_running(copies):
            return show_running(running, copies, options)
        echo("Starting JupyterLab ...")
        lab = Lab(environment, copies, options.port)
        try:
            trust(environment, copies, written + refresh_home(environment, copies))
            running = wait_until_ready(lab.process, lab.runtime, lab.log)
        except BaseException:
            lab.stop()
            raise
    try:
        if options.port is None and running.port != server.DEFAULT_PORT:
            echo(f"Port {server.DEFAULT_PORT} is taken (by another copy of the course?): using {running.port}.")
        show(running, copies, options)
        echo(f"Your lessons are in {copies.mine}.")
        echo("Press Ctrl-C here to stop.")
        # In short steps, so that Ctrl-C is also heard on Windows.
        while lab.process.poll() is None:
            time.sleep(0.2)
        echo("JupyterLab has stopped.")
    except KeyboardInterrupt:
        echo(f"\nStopping. Your work is in {copies.mine}.")
    finally:
        lab.stop()
    return 0


def show(running: Running, copies: Copies, options: argparse.Namespace, words: str = "The course is open") -> None:
    """Print the address to begin at, and open it in the reader's browser."""
    url = running.address(first_page(copies))
    echo(f"{words}:  {url}")
    if not options.no_browser and not open_browser(url):
        echo("No browser was started: copy the address above into one on this machine.")


def show_running(running: Running, copies: Copies, options: argparse.Namespace) -> int:
    """Show the server that runs for this folder already, instead of starting a second one."""
    environment = find_environment(os.environ)
    copies = learner_copies(environment)
    trust(environment, copies, update_copies(copies))
    show(running, copies, options, "The course is open already")
    echo("To stop it, press Ctrl-C in the terminal where it was started, or choose File > Shut Down in JupyterLab.")
    return 0


def update_copies(copies: Copies) -> list[str]:
    """Bring the learner's folder up to date and say what came. Return the names of the notebooks that were written."""
    news = copies.update()
    write_start(copies)
    announce(copies, news)
    return news.written


def announce(copies: Copies, news: UpdateReport) -> None:
    """Say which lessons came, which were renewed, and where new editions lie."""
    if news.added and len(news.added) == len(copies.published()):
        echo(f"Your own copies of the lessons are in {copies.mine}: write in them as you like.")
    elif news.added:
        echo("New in your folder: {}.".format(", ".join(news.added)))
    if news.renewed:
        echo("New editions, in the place of copies you had not written in: {}.".format(", ".join(news.renewed)))
    if news.offered:
        echo("You have written in these lessons, so they stay as they are. Their new editions are beside them:")
        for file in news.offered.values():
            echo(f"  my_course/{file}")
        number = min(news.offered)[:2]
        echo(f"  {this_command()} reset {number}  puts that one in the place of yours, and keeps yours beside it.")


def command_setup(options: argparse.Namespace) -> int:
    """Make .venv and the copies, without opening anything."""
    extras = ["dev"] + [extra for extra in ("torch", "browser", "docs", "lite") if getattr(options, extra)]
    if options.torch:
        echo("Real PyTorch is large: on Linux pip may choose a build of several gigabytes (with CUDA).")
    environment = ensure_environment(extras)
    copies = learner_copies(environment)
    trust(environment, copies, update_copies(copies) + refresh_home(environment, copies))
    echo("Ready: {} ({}).".format(environment.home, ", ".join(extras)))
    return 0


def command_notebooks(options: argparse.Namespace) -> int:
    """Build the notebooks from their sources."""
    environment = ensure_environment(["dev", "docs"])
    return run([str(environment.python), "tools/build_notebooks.py"] + options.arguments)


def command_site(options: argparse.Namespace) -> int:
    """Build the course as a site to read."""
    environment = ensure_environment(["dev", "docs"])
    return run([str(environment.python), "tools/site.py"] + options.arguments)


def command_handout(options: argparse.Namespace) -> int:
    """Write what a class gets."""
    environment = ensure_environment(["dev"])
    words = ["--lessons", options.lessons, "--to", os.path.abspath(options.to)]
    return run([str(environment.python), "-m", "coursekit.classroom", "handout"] + words)


def command_grade(options: argparse.Namespace) -> int:
    """Grade a folder of returned notebooks."""
    environment = ensure_environment(["dev"])
    words = [os.path.abspath(options.folder), "--seconds", str(options.seconds)]
    words += ["--to", os.path.abspath(options.to)] if options.to else []
    words += ["--at-once", str(options.at_once)] if options.at_once else []
    return run([str(environment.python), "-m", "coursekit.classroom", "grade"] + words, patient=True)


def command_lite(options: argparse.Namespace) -> int:
    """Build the course for the browser."""
    environment = ensure_environment(["dev", "lite"])
    return run([str(environment.python), "tools/lite.py"] + options.arguments)


def command_doctor(options: argparse.Namespace) -> int:
    """Print what the doctor finds. Status 1: the course cannot open."""
    findings = examine()
    for each in findings:
        echo(str(each))
    gaps = [each.subject for each in findings if each.state == "gap"]
    echo("Not ready: {}. Follow the arrows from the top.".format(", ".join(gaps)) if gaps
        else f"Ready: {this_command()} open")
    return 1 if gaps else 0


def command_reset(options: argparse.Namespace) -> int:
    """Start one lesson afresh, the old copy kept beside it."""
    environment = find_environment(os.environ)
    copies = learner_copies(environment)
    if options.lesson is None:
        how = f"make reset L=07  or  {this_command()} reset 07"
        raise UserError(f"Which lesson? Say  {how}. The lessons are:\n{copies.listed()}")
    name, kept = copies.reset(options.lesson, datetime.date.today())
    if environment.python.exists():
        trust(environment, copies, [name])
    echo(f"my_course/{name} is new.")
    if kept:
        echo(f"What you had is beside it: my_course/{kept}")
    echo("If the lesson is open in JupyterLab: File > Reload Notebook from Disk.")
    return 0


def command_my_engine(options: argparse.Namespace) -> int:
    """Write the beginning of my_engine.py, or the engine as it is after a lesson."""
    copies = learner_copies()
    if options.lesson is None:
        if write_start(copies):
            echo("my_course/my_engine.py is new: a box around an array. Lesson 00 says what to write into it.")
        else:
            echo("my_course/my_engine.py is there already, and stays as it is. To write what you have missed:\n"
                f"    {this_command()} my-engine --catch-up 05")
        return 0
    kept = catch_up(copies, options.lesson, datetime.date.today())
    echo(f"my_course/my_engine.py is now the engine as it is after lesson {int(options.lesson):02d}.")
    if kept:
        echo(f"What you had is beside it: my_course/{kept}")
    return 0


def command_help(options: argparse.Namespace) -> int:
    """Print the table of commands."""
    parser().print_help(terminal.out or sys.stdout)
    return 0


def parser() -> argparse.ArgumentParser:
    """Build the table of commands."""
    top = argparse.ArgumentParser(
        prog=this_command(), formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Autograd, seen from the inside: the course's commands (also as `make COMMAND`).",
        epilog="An active conda environment, or a Python named by COURSE_PYTHON=path, is used as it is.",
    )
    commands = top.add_subparsers(dest="command", metavar="COMMAND")

    def add(name: str, action: Callable[[argparse.Namespace], int], words: str) -> argparse.ArgumentParser:
        command = commands.add_parser(name, help=words, description=words)
        command.set_defaults(action=action)
        return command

    opening = add("open", command_open, "start the course in JupyterLab, on your own copies of the lessons")
    opening.add_argument("--no-browser", action="store_true", help="only print the address")
    opening.add_argument("--port", type=int, help="on 127.0.0.1 (default: the first free one from 8888)")
    resetting = add("reset", command_reset, "start one lesson afresh, your copy kept beside it (make reset L=07)")
    resetting.add_argument("lesson", metavar="NN", nargs="?", help="the lesson's number, such as 07")
    engine = add("my-engine", command_my_engine, "write the beginning of the engine that you build, my_engine.py")
    engine.add_argument("--catch-up", dest="lesson", metavar="NN",
                        help="write what lessons 00 to NN build; a file that is there is kept under another name")
    add("doctor", command_doctor, "say what is there, what is missing, and what to do about it")
    testing = add("test", command_test, "run every test and every notebook (further words go to pytest)")
    checking = add("check", command_check, "all of CI: lint, tests, and the proof of each exercise")
    only = checking.add_mutually_exclusive_group()
    only.add_argument("--json", action="store_true", help="only the proof; print its counts as JSON")
    only.add_argument("--no-tests", action="store_true", help="all but the tests")
    browsing = add("test-browser", command_test_browser, "drive the course in headless Chromium")
    building = add("notebooks", command_notebooks, "build notebooks/*.ipynb from lessons/")
    publishing = add("site", command_site, "the course as a site to read, in build/site")
    handing = add("handout", command_handout, "for a class: notebooks without answers, a key, slides")
    handing.add_argument("--lessons", metavar="1-9", default="all", help="such as 1-9 or 0,3,5-7 (default: all)")
    handing.add_argument("--to", metavar="FOLDER", default="handout", help="a new folder (default: handout)")
    grading = add("grade", command_grade, "grade a folder of returned notebooks: a table, and a page for each student")
    grading.add_argument("folder", metavar="FOLDER",
                         help="one folder for each student, or files such as NAME_07.ipynb; it is only read")
    grading.add_argument("--to", metavar="FOLDER", help="a new folder for the results (default: FOLDER-graded)")
    grading.add_argument("--seconds", type=int, default=120, help="that one notebook may take (default: 120)")
    grading.add_argument("--at-once", type=int, metavar="N", help="notebooks at a time (default: one a processor)")
    in_browser = add("lite", command_lite, "the course for the browser, in build/lite (--pyodide FOLDER: all of it)")
    setting_up = add("setup", command_setup, "make .venv and your copies, without opening anything")
    setting_up.add_argument("--torch", action="store_true", help="with real PyTorch, to compare with")
    setting_up.add_argument("--browser", action="store_true", help="with what test-browser needs")
    setting_up.add_argument("--docs", action="store_true", help="with what building the site needs")
    setting_up.add_argument("--lite", action="store_true", help="with what building the course for the browser needs")
    add("help", command_help, "print this")
    for command in (testing, browsing, building, publishing, in_browser):
        command.set_defaults(arguments=[], takes_more=True)
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command. Return its exit status; what is in the way is said in a sentence."""
    for stream in (sys.stdout, sys.stderr):  # a console that cannot print a folder's name must not stop us
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    top = parser()
    options, more = top.parse_known_args(sys.argv[1:] if arguments is None else arguments)
    if more and not getattr(options, "takes_more", False):
        top.error("not understood: {}".format(" ".join(more)))
    if more:
        options.arguments = more
    if options.command is None:
        return command_help(options)
    terminal.out = sys.stderr if getattr(options, "json", False) else None
    try:
        return options.action(options)
    except UserError as problem:
        print(f"\n{problem}", file=sys.stderr)
        return 1
    except BrokenPipeError:  # whoever read our words has gone, as `| head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        print(f"\n{refusal(error)}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nStopped. Running the same command again is safe.", file=sys.stderr)
        return 130
    finally:
        terminal.out = None

"""`python -m coursekit.classroom handout|grade`: what `course.py handout` and `course.py grade` run."""

import argparse
import sys

from coursekit.classroom import grade, handout


def parser() -> argparse.ArgumentParser:
    """Return the two commands and their words."""
    top = argparse.ArgumentParser(prog="coursekit.classroom")
    commands = top.add_subparsers(dest="command", required=True)
    handing = commands.add_parser("handout")
    handing.add_argument("--lessons", default="all")
    handing.add_argument("--to", default="handout")
    grading = commands.add_parser("grade")
    grading.add_argument("folder")
    grading.add_argument("--to")
    grading.add_argument("--seconds", type=int, default=grade.SECONDS)
    grading.add_argument("--memory", type=int, default=grade.MEMORY_MB)
    grading.add_argument("--at-once", type=int)
    return top


def main(arguments=None) -> int:
    """Run a command; its exit status."""
    options = parser().parse_args(arguments)
    if not grade.lesson_files():
        print("There are no lessons beside course_lib. Run this in a clone of the course.")
        return 1
    if options.command == "handout":
        return handout.handout(options.lessons, options.to)
    limits = grade.Limits(seconds=options.seconds, memory=options.memory)
    return grade.grade(options.folder, options.to, limits, options.at_once)


if __name__ == "__main__":
    sys.exit(main())

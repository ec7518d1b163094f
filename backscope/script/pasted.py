"""A traceback that is only text: pasted by somebody, or held in the message of an error that a child process raised."""

import re
from dataclasses import dataclass

BEGIN = "Traceback (most recent call last):"
FRAME = re.compile(r'^\s*File "(?P<file>[^"]+)", line (?P<line>\d+)(?:, in (?P<function>.+))?$')
CELL = re.compile(r"^\s*(?:File )?(?P<file>\S+?):(?P<line>\d+), in (?P<function>\S+?)\(")  # as a notebook prints it
ERROR = re.compile(r"^(?P<kind>(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Warning|Interrupt)): ?(?P<message>.*)$")


@dataclass
class Pasted:
    """A pasted text, as read: which error, with which words, raised through which lines (outermost first)."""

    kind: str
    message: str
    frames: list  # (file, line, function, source)


def read(text):
    """The last error of a text, with the frames of its traceback; without any the text itself is the message."""
    lines = text.strip("\n").splitlines()
    lines = [re.sub(r"^(\s*(\[rank\d+\]:|E  |\|))+ ?", "", line) for line in lines]  # torchrun, pytest, log viewers
    begins = [at for at, line in enumerate(lines) if BEGIN in line]
    after = lines[begins[-1] + 1 :] if begins else lines
    frames, message, kind = [], [], ""
    for at, line in enumerate(after):
        if found := FRAME.match(line) or CELL.match(line):
            code = after[at + 1].strip() if at + 1 < len(after) else ""
            frames.append((found["file"], int(found["line"]), found["function"] or "", code))
            message, kind = [], ""
        elif not kind and (found := ERROR.match(line.strip())):
            kind, message = found["kind"].rpartition(".")[2], [found["message"]]
        elif kind:
            message.append(line)
    if not kind:
        return Pasted("Error", text.strip(), frames)
    return Pasted(kind, "\n".join(message).strip(), frames)


def inner(message):
    """The error that a message passes on: of mp.spawn, of a DataLoader's worker, of a replica. None for any other."""
    found = read(message) if BEGIN in message else None
    return found if found is not None and found.frames else None

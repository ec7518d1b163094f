"""Files that are written whole or not at all, and a lock."""

import contextlib
import errno
import hashlib
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from coursekit.cli import paths
from coursekit.cli.terminal import echo


def write_whole(path: Path, data: bytes) -> None:
    """Write bytes so that `path` is, at every moment, either what it was or all of `data`."""
    temporary = write_beside(path, data)
    try:
        os.replace(str(temporary), str(path))
    except BaseException:
        temporary.unlink()
        raise


def write_new(path: Path, data: bytes) -> None:
    """Write a file that must not exist yet: FileExistsError, and nothing touched, when it does."""
    temporary = write_beside(path, data)
    try:
        if paths.WINDOWS:
            os.rename(str(temporary), str(path))  # refuses to overwrite there
            return
        try:
            os.link(str(temporary), str(path))  # refuses to overwrite here
            return
        except OSError:
            taken = os.path.lexists(str(path))
        if taken:
            raise FileExistsError(str(path))
        os.replace(str(temporary), str(path))  # a disk without hard links
    finally:
        if temporary.exists():
            temporary.unlink()


def write_beside(path: Path, data: bytes) -> Path:
    """Write bytes to a new hidden file in the folder of `path`, on the disk before it is returned."""
    handle, name = tempfile.mkstemp(prefix="." + path.name + ".", suffix=".part", dir=str(path.parent))
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, 0o644)  # mkstemp makes it private; a lesson is an ordinary file
    except BaseException:
        os.unlink(name)
        raise
    return Path(name)


def digest(data: bytes) -> str:
    """Return the SHA-256 of some bytes, as text."""
    return hashlib.sha256(data).hexdigest()


@contextlib.contextmanager
def only_one(path: Path, words: str) -> Iterator[None]:
    """Let one process at a time in; the others say that they wait. The system frees it if we die.

    Written by hand, and not with filelock: the first lock is taken before anything is installed.
    """
    path.parent.mkdir(exist_ok=True)
    with open(path, "a+b") as file:
        waiting = False
        while not try_lock(file):
            if not waiting:
                echo(f"{words}: waiting for it ...")
            waiting = True
            time.sleep(0.5)
        yield


def try_lock(file: BinaryIO) -> bool:
    """Take the lock of an open file. False: another process has it."""
    try:
        if paths.WINDOWS:
            import msvcrt

            file.seek(0)
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno not in (errno.EACCES, errno.EAGAIN, errno.EDEADLK)  # others: a disk that knows no locks
    return True


def can_write_below(path: str | Path) -> bool:
    """Tell whether files can be made in this folder, once it is made."""
    path = Path(path)
    while not path.exists() and path != path.parent:
        path = path.parent
    return path.is_dir() and os.access(str(path), os.W_OK | os.X_OK)


def refusal(error: OSError) -> str:
    """Say in a sentence what the system refused and what to do about it."""
    place = Path(error.filename2 or error.filename or ".")
    if isinstance(error, IsADirectoryError):
        return f"{place} is a folder, where the course needs a file: rename it, then run the same command again."
    if isinstance(error, FileExistsError | NotADirectoryError):
        file = next((each for each in (place, *place.parents) if each.is_file()), place)
        return f"{file} is a file, where the course needs a folder: rename it, then run the same command again."
    if isinstance(error, PermissionError) or error.errno == errno.EROFS:
        here = place if place.exists() else place.parent
        return f"{here} may not be written to ({error.strerror}): clone the course into a folder of your own."
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"The disk is full ({place.parent}): make room, then run the same command again; nothing is lost."
    return f"The system refused: {error}.\nIs the disk full, or the folder not yours?"

"""The keeper: starts one process that runs a student's code, fences it in, watches it, and leaves nothing of it alive.

Run as a script, once for each notebook, with Python's standard library only: `keeper.py SPEC -- COMMAND`. Records go
from the command's stdout to ours; what ended it is one line of JSON on our stderr, which the command does not have.

On Linux the command sees a root of its own (namespaces): Python, the course and a scratch folder, no network, no other
processes; when it is over, the kernel ends whatever it has started. Where namespaces are refused, and on macOS, limits
and the hunt for descendants are left. Windows has no keeper: grade.py ends the process and its children there.
"""

import contextlib
import ctypes
import json
import os
import platform
import resource
import signal
import sys
import time

LINUX = platform.system() == "Linux"
LOOK = 0.03  # seconds between two looks at what the process does
NEWNS, NEWIPC, NEWUSER, NEWPID, NEWNET = 0x00020000, 0x08000000, 0x10000000, 0x20000000, 0x40000000
MS_NOSUID, MS_NODEV, MS_BIND, MS_REC, MS_PRIVATE = 2, 4, 4096, 16384, 1 << 18
MNT_DETACH, AT_FDCWD, AT_RECURSIVE, ATTR_RDONLY, MOUNT_SETATTR = 2, -100, 0x8000, 1, 442
PR_SET_PDEATHSIG, PR_CAPBSET_DROP, PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS = 1, 24, 36, 38
SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/etc/ld.so.cache",
          "/etc/fonts", "/etc/passwd", "/etc/group", "/etc/localtime", "/etc/alternatives", "/etc/mime.types",
          "/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")  # fmt: skip
SCRATCH = "/scratch"  # what a student's process calls its folder behind the fence
SPARE_ID = 60000  # a user nobody has, when the teacher is root: as root, limits on processes do not bind


class Refused(Exception):
    """The system does not give what a fence is made of."""


def libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def call(name, *arguments) -> None:
    """Call a function of the C library; Refused with its words when it fails."""
    converted = [each.encode() if isinstance(each, str) else each for each in arguments]
    if getattr(libc(), name)(*converted) == -1:
        raise Refused(f"{name}: {os.strerror(ctypes.get_errno())}")


# ------------------------------------------------------------------------------------------------- the fence


def unshare() -> None:
    """Children from here on have process numbers of their own. Who is not root is made so, within these spaces only."""
    user, group = os.getuid(), os.getgid()
    if user == 0:
        call("unshare", NEWPID)
        return
    call("unshare", NEWPID | NEWUSER)
    for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)


def new_root(spec) -> None:
    """Make a root that holds Python, the course and the scratch folder, read-only but for the last."""
    call("unshare", NEWNS | NEWIPC | NEWNET)  # here, since the keeper's own root must stay where it is
    call("mount", None, "/", None, MS_REC | MS_PRIVATE, None)
    root = spec["root"]
    call("mount", "tmpfs", root, "tmpfs", MS_NOSUID | MS_NODEV, "size=1m,mode=755")
    for path in (*SYSTEM, *spec["visible"]):
        bind(path, root)
    os.makedirs(root + "/proc", exist_ok=True)
    with contextlib.suppress(Refused):  # in some containers; Python does without
        call("mount", "proc", root + "/proc", "proc", MS_NOSUID | MS_NODEV, None)
    os.makedirs(root + SCRATCH)
    if not os.path.exists(root + "/tmp"):
        os.symlink(SCRATCH[1:], root + "/tmp")
    read_only(root)
    size = f"size={spec['disk']},nr_inodes=10k,mode=1777"
    call("mount", "tmpfs", root + SCRATCH, "tmpfs", MS_NOSUID | MS_NODEV, size)
    os.chdir(root)
    call("pivot_root", ".", ".")
    call("umount2", ".", MNT_DETACH)
    os.chdir(SCRATCH)


def bind(path, root) -> None:
    """Show a file or folder of the system under the new root; a link stays a link."""
    place = root + path
    if not os.path.lexists(path) or os.path.lexists(place):
        return
    os.makedirs(os.path.dirname(place), exist_ok=True)
    if os.path.islink(path):
        os.symlink(os.readlink(path), place)
        return
    if os.path.isdir(path):
        os.makedirs(place, exist_ok=True)
    else:
        with open(place, "w"):
            pass
    call("mount", path, place, None, MS_BIND | MS_REC, None)


def read_only(root) -> None:
    """Let nothing below `root` be written to from here on."""
    wanted = (ctypes.c_uint64 * 4)(ATTR_RDONLY, 0, 0, 0)
    call("syscall", MOUNT_SETATTR, AT_FDCWD, root, AT_RECURSIVE, wanted, ctypes.sizeof(wanted))


def give_up_rights(spec) -> None:
    """Give up every right of root's, so that no program can give one back."""
    if os.getuid() == 0:
        os.setgroups([])
        os.setresgid(*[SPARE_ID + spec["slot"]] * 3)
        for right in range(64):
            libc().prctl(PR_CAPBSET_DROP, right, 0, 0, 0)
        os.setresuid(*[SPARE_ID + spec["slot"]] * 3)
    call("prctl", PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)


def set_limits(spec) -> None:
    """Limits that the kernel keeps for each process: memory, size of files, open files, number of processes."""
    wanted = {"RLIMIT_AS": 2 * spec["memory"], "RLIMIT_FSIZE": spec["disk"], "RLIMIT_CORE": 0, "RLIMIT_NOFILE": 256,
              "RLIMIT_CPU": spec["seconds"] + 5, "RLIMIT_NPROC": 2 * spec["processes"] + running_now()}  # fmt: skip
    for name, most in wanted.items():
        if hasattr(resource, name):
            number = getattr(resource, name)
            hard = resource.getrlimit(number)[1]
            most = most if hard == resource.RLIM_INFINITY else min(most, hard)
            with contextlib.suppress(ValueError, OSError):  # macOS refuses some
                resource.setrlimit(number, (most, most))


def running_now() -> int:
    """Count the threads that the user has already: on some systems the limit counts them all."""
    if not LINUX:
        return 1000  # a desktop has hundreds; the watch below is what counts there
    count = 0
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError):
                if os.stat("/proc/" + name).st_uid == os.getuid():
                    count += len(os.listdir(f"/proc/{name}/task"))
    return count


# ---------------------------------------------------------------------------------------------- the two children


def start(spec, command) -> tuple:
    """Start the command behind the best fence there is: (its first process, "namespaces" or "limits")."""
    if spec["fence"] == "namespaces":
        unshare()
        return fork(lambda: be_first_process(spec, command)), "namespaces"
    if LINUX:
        call("prctl", PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)  # orphans become ours, and are found
    return fork(lambda: be_command(spec, command)), "limits"


def fork(work) -> int:
    """Start a child that does `work` and ends; return its number."""
    child = os.fork()
    if child:
        return child
    try:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        work()
    except BaseException as error:
        print(json.dumps({"refused": f"{type(error).__name__}: {error}"}), file=sys.stderr, flush=True)
    finally:
        os._exit(126)


def be_first_process(spec, command) -> None:
    """Process 1 of the new space: prepares it, starts the command, and takes all others along when that has ended."""
    call("prctl", PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    new_root(spec)
    child = fork(lambda: be_command(spec, command))
    silence()
    while True:
        ended, status = os.wait()
        if ended == child:
            os._exit(os.waitstatus_to_exitcode(status) & 0xFF)


def be_command(spec, command) -> None:
    """Become the command, within its limits, with nothing open but stdin and stdout."""
    os.setsid()
    if LINUX:
        call("prctl", PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)  # whoever kills the keeper ends with it
    if spec["fence"] == "namespaces":
        give_up_rights(spec)
    else:
        os.chdir(spec["scratch"])
    set_limits(spec)
    environment = dict(spec["environment"])
    if spec["fence"] == "namespaces":
        environment.update({name: SCRATCH for name in environment if environment[name] == spec["scratch"]})
    silence()
    os.closerange(3, 256)
    os.execve(command[0], command, environment)


def silence() -> None:
    """stderr is the keeper's alone."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)


# -------------------------------------------------------------------------------------------------- the watch


def watch(child, spec) -> str:
    """Wait for the first process, and end everything when it takes too much: what ended it, in a word or two."""
    asked = []
    signal.signal(signal.SIGTERM, lambda *_: asked.append(True))
    over = time.monotonic() + spec["seconds"]
    reason = None
    while reason is None:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            reason = ended_by(status)
            break
        family = descendants(os.getpid())
        if asked:
            reason = "stopped"
        elif time.monotonic() > over:
            reason = "time"
        elif len(family) > spec["processes"]:
            reason = "processes"
        elif sum(map(memory_of, family)) > spec["memory"]:
            reason = "memory"
        else:
            time.sleep(LOOK)
    end_all(child)
    return reason


def ended_by(status) -> str:
    """Say how a process has ended by itself."""
    code = os.waitstatus_to_exitcode(status)
    return "end" if code == 0 else f"signal {-code}" if code < 0 else f"exit {code}"


def descendants(parent) -> set[int]:
    """Return the numbers of all processes that come from `parent`."""
    found, waiting = [], [parent]
    while waiting and len(found) < 2000:
        each = waiting.pop()
        children = children_of(each)
        found += children
        waiting += children
    return found


def children_of(process) -> list:
    try:
        with open(f"/proc/{process}/task/{process}/children") as file:
            return [int(word) for word in file.read().split()]
    except OSError:
        return []


def memory_of(process) -> int:
    """Bytes of memory that a process has to itself."""
    try:
        with open(f"/proc/{process}/statm") as file:
            words = file.read().split()
        return (int(words[1]) - int(words[2])) * resource.getpagesize()
    except (OSError, ValueError, IndexError):
        return 0


def end_all(child) -> None:
    """Kill the first process, its group and all descendants, until there is none left."""
    for _ in range(200):
        family = descendants(os.getpid())
        for each in (child, *family):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(each, signal.SIGKILL)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child, signal.SIGKILL)  # on macOS this is what finds the others
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        if not descendants(os.getpid()):
            return
        time.sleep(0.005)


def main() -> None:
    """Run the command named after `--` as the first argument asks."""
    spec, command = json.loads(sys.argv[1]), sys.argv[3:]
    try:
        child, fence = start(spec, command)
    except (Refused, OSError) as error:
        print(json.dumps({"refused": str(error)}), file=sys.stderr, flush=True)
        return
    os.dup2(os.open(os.devnull, os.O_RDWR), 0)
    reason = watch(child, spec)
    print(json.dumps({"ended": reason, "fence": fence}), file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()

"""Run a program somebody's model wrote, in processes of its own with limits.

Everywhere: a separate interpreter without site packages, environment or input, in an empty folder; limits on time, on
the memory of each process and of all together, on their number and on the size of a file. It passes only if it comes to
its last line: then a random word goes to a guard, which is on no command line and in nothing the program is told, so
what writes blindly to every open file does not pass. Whatever it has started ends with it, also what left its group: on
Linux the guard adopts it.

The guard looks fifty times a second at how many processes there are, on Linux, and ends them all where they are more
than 32. What forks faster than that is held by Linux itself to about 256, unless the user is root, whom no such limit
binds: there it lasts as long as the time limit where there are namespaces, and without them it may outlive the guard.

Where Linux lets a process have namespaces of its own (user, pid, mount, net), which `isolated()` tells: no network, no
sight of other processes, and no file outside the folder can be written; files that the user may read it can read.
Elsewhere files of the user can be written, too, and the network is there.

What does not hold anywhere: program and tests share an interpreter, so one that was written against this file can find
the word in it and claim to have passed, as one can that returns what equals everything. It is no prison: run untrusted
models in a container.
Nothing runs unless `passes` is called, and the benchmarks call it only when code execution was asked for.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
from functools import cache

SECONDS = 5
MEMORY = 1 << 30  # bytes: of address space of each process, and in use by all of them
PROCESSES = 32
TASKS = 256  # processes and threads beside those that the user has already, where the system counts them
FILE_SIZE = 1 << 20

# What runs the program: it limits itself first, and a limit once lowered cannot be raised again. What it says last is
# heard by the guard, and by nobody else.
_PROGRAM = """
import os, resource, sys
end = os.dup(0)
with open(0, "rb", closefd=False) as told:
    *limits, word = told.readline().split()
    seconds, memory, size, tasks = map(int, limits)
    program = told.read().decode()
os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
for kind, limit in (
    (resource.RLIMIT_CPU, seconds), (resource.RLIMIT_AS, memory), (resource.RLIMIT_FSIZE, size),
    (resource.RLIMIT_CORE, 0),
):
    resource.setrlimit(kind, (limit, limit))
if tasks:
    before = resource.getrlimit(resource.RLIMIT_NPROC)
    try:
        resource.setrlimit(resource.RLIMIT_NPROC, (tasks, before[1]))
        if not (child := os.fork()):
            os._exit(0)
        os.waitpid(child, 0)
        resource.setrlimit(resource.RLIMIT_NPROC, (tasks, tasks))
    except (OSError, ValueError):  # it counts others, too, that are not seen from here
        resource.setrlimit(resource.RLIMIT_NPROC, before)
exec(compile(program, "program", "exec"), {"__name__": "__main__"})
os.write(end, word)
os._exit(0)
"""

# The guard: gives up what it can, starts the program, watches all that comes of it, and tells how it ended.
_GUARD = """
import ctypes, os, select, signal, socket, sys, time
verdict, seconds, memory, size, most, more = map(int, sys.argv[1:7])
linux = sys.platform == "linux"
libc = ctypes.CDLL(None, use_errno=True) if linux else None
user, group = os.getuid(), os.getgid()
NEW = 0x10000000 | 0x20000000 | 0x00020000 | 0x40000000 | 0x08000000  # user, pid, mount, net, ipc

def isolate():
    if libc.unshare(NEW):
        return False
    for name, text in (("setgroups", "deny"), ("uid_map", f"0 {user} 1"), ("gid_map", f"0 {group} 1")):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)
    return True

def read_only():
    # All that is mounted, then a small place to write to.
    class Attributes(ctypes.Structure):
        _fields_ = [(name, ctypes.c_uint64) for name in ("set", "clear", "propagation", "namespace")]
    private = Attributes(1, 0, 1 << 18, 0)  # MOUNT_ATTR_RDONLY, MS_PRIVATE
    if libc.mount(None, b"/", None, 0x4000 | (1 << 18), None):
        return False
    if libc.syscall(442, -100, b"/", 0x8000, ctypes.byref(private), ctypes.sizeof(private)):
        return False
    work = os.getcwd().encode()
    if libc.mount(b"work", work, b"tmpfs", 6, b"size=16m,mode=0700"):
        return False
    libc.mount(b"proc", b"/proc", b"proc", 14, None)
    os.chdir(work)
    return True

def below():
    # Every process that comes of this one, and the memory they use.
    parents, pages = {}, {}
    for name in os.listdir("/proc") if linux else ():
        if name.isdecimal():
            try:
                with open(f"/proc/{name}/stat") as file:
                    fields = file.read().rpartition(")")[2].split()
                parents[int(name)], pages[int(name)] = int(fields[1]), int(fields[21])
            except (OSError, IndexError):
                pass
    found, new = set(), {os.getpid()}
    while new:
        new = {each for each, parent in parents.items() if parent in new} - found
        found |= new
    return found, sum(pages.get(each, 0) for each in found) * os.sysconf("SC_PAGE_SIZE")

def tasks():
    # The user's processes and threads, and as many more as are allowed; 0 where nobody tells.
    count = 0
    for name in os.listdir("/proc") if linux else ():
        try:
            if name.isdecimal() and os.stat(f"/proc/{name}").st_uid == user:
                count += len(os.listdir(f"/proc/{name}/task"))
        except OSError:
            pass
    return count and count + more

def watch():
    word = os.urandom(16).hex().encode()
    if linux:
        libc.prctl(36, 1, 0, 0, 0)  # what is orphaned below comes here
    ours, theirs = socket.socketpair()
    child = os.fork()
    if not child:
        os.dup2(theirs.fileno(), 0)
        os.closerange(3, 4096)
        os.setsid()
        os.execv(sys.executable, [sys.executable, "-I", "-S", "-c", PROGRAM])
    theirs.close()
    ours.sendall(f"{seconds} {memory} {size} {allowed} ".encode() + word + b"\\n" + program)
    ours.shutdown(socket.SHUT_WR)
    last, code, until = b"", None, time.monotonic() + seconds + 1
    while code is None and time.monotonic() < until:
        if select.select([ours], [], [], 0.02)[0] and len(last) <= len(word):
            last += ours.recv(len(word)) or b" " * len(word)
        elif len(last) > len(word):
            time.sleep(0.02)
        done, status = os.waitpid(child, os.WNOHANG)
        code = os.waitstatus_to_exitcode(status) if done else None
        processes, used = below()
        if len(processes) > most or used > memory:
            break
    if select.select([ours], [], [], 0)[0]:
        last += ours.recv(len(word))
    passed = code == 0 and last.strip() == word
    try:
        os.killpg(child, signal.SIGKILL)
    except OSError:
        pass
    for _ in range(100):
        left = below()[0]
        for each in left:
            try:
                os.kill(each, signal.SIGKILL)
            except OSError:
                pass
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
            time.sleep(0.01)
        except OSError:
            break
    return passed

program = sys.stdin.buffer.read()
allowed = tasks()
if linux and isolate():
    child = os.fork()  # the first of its kind: with it everything of this pid namespace ends
    if child:
        os.waitpid(child, 0)
        os._exit(0)
    libc.prctl(1, 9, 0, 0, 0)  # ends with the guard
    os.write(verdict, b"i" if read_only() else b"")
os.write(verdict, b"p" if watch() else b"f")
os._exit(0)
"""


def passes(program: str, seconds: int = SECONDS, memory: int = MEMORY) -> bool:
    """Whether a program runs to its last line without an error within its limits.

    >>> passes("assert 1 + 1 == 2"), passes("assert 1 + 1 == 3")
    (True, False)
    """
    return run(program, seconds, memory).endswith(b"p")


@cache
def isolated() -> bool:
    """Whether this system gives the program namespaces of its own."""
    return run("", SECONDS, MEMORY).startswith(b"i")


def run(program: str, seconds: int, memory: int) -> bytes:
    """What the guard tells of a program: i if it had namespaces, then p if it passed, or f."""
    verdict, told = os.pipe()
    with tempfile.TemporaryDirectory() as folder:
        limits = [str(number) for number in (told, seconds, memory, FILE_SIZE, PROCESSES, TASKS)]
        guard = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", f"PROGRAM = {_PROGRAM!r}\n{_GUARD}", *limits],
            cwd=folder,
            env={},
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(told,),
            start_new_session=True,
        )
        os.close(told)
        try:
            with contextlib.suppress(subprocess.TimeoutExpired):
                guard.communicate(program.encode("utf-8", "replace"), timeout=seconds + 3)
        finally:
            kill_all(guard)
        with open(verdict, "rb") as pipe:
            return pipe.read()


def kill_all(child: subprocess.Popen[bytes]) -> None:
    """The guard and whatever is in its group; what it watches ends with it where it has a pid namespace."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()

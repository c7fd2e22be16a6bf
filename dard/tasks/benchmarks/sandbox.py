"""Run a program somebody's model wrote, in a process of its own with limits.

Promises: a separate interpreter without site packages, environment or input, in an empty folder, with limits on time,
memory and file size, and without a network where the system lets a process give it up (Linux with user namespaces);
when it ends or time is up, its whole process group is killed. Nothing runs unless `passes` is called, and the
benchmarks call it only when code execution was asked for.
Does not know: how to keep a program from reading files. Run untrusted models in a container.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

SECONDS = 5
MEMORY = 1 << 30  # bytes of address space
FILE_SIZE = 1 << 20

# The child limits itself before it reads the program; a limit once lowered cannot be raised again, and a process in
# a network of its own cannot come back.
_CHILD = """
import ctypes, resource, sys
if sys.platform == "linux":
    ctypes.CDLL(None).unshare(0x10000000 | 0x40000000)  # CLONE_NEWUSER, CLONE_NEWNET
seconds, memory, size = map(int, sys.argv[1:4])
source, verdict, word = sys.argv[4:]
del sys.argv[1:]
for kind, most in (
    (resource.RLIMIT_CPU, seconds),
    (resource.RLIMIT_AS, memory),
    (resource.RLIMIT_FSIZE, size),
    (resource.RLIMIT_CORE, 0),
):
    resource.setrlimit(kind, (most, most))
with open(source, encoding="utf-8") as file:
    program = file.read()
exec(compile(program, "program", "exec"), {"__name__": "__main__"})
with open(verdict, "w") as file:
    file.write(word)
"""


def passes(program: str, seconds: int = SECONDS, memory: int = MEMORY) -> bool:
    """Whether a program runs to its last line without an error within its limits.

    >>> passes("assert 1 + 1 == 2"), passes("assert 1 + 1 == 3")
    (True, False)
    """
    word = secrets.token_hex(16)  # an exit code can be had without reaching the tests; this word cannot
    with tempfile.TemporaryDirectory() as folder:
        source, verdict, work = (Path(folder) / name for name in ("program.py", "verdict", "work"))
        source.write_text(program, encoding="utf-8", errors="replace")
        work.mkdir()
        limits = [str(number) for number in (seconds, memory, FILE_SIZE)]
        child = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _CHILD, *limits, str(source), str(verdict), word],
            cwd=work,
            env={},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(timeout=seconds + 1)
        finally:
            kill_all(child)
        return verdict.exists() and verdict.read_text() == word


def kill_all(child: subprocess.Popen[bytes]) -> None:
    """The child and whatever it has started in its group."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()

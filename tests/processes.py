"""Programs as processes of their own that start at once.

Each is forked from a server that has imported the command line, which takes an interpreter half a second. In all else
it is a process like any other: with a session, memory and files of its own, and there to be killed.
"""

import atexit
import contextlib
import ctypes
import io
import multiprocessing
import os
import resource
import signal
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection

_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(
    [
        *("lycosa.cli", "lycosa.cli.crawl", "lycosa.cli.refresh", "lycosa_peers.cli.peer", "lycosa_lab.cli.world"),
        *("lycosa.run.control", "lycosa.run.live"),  # and what a crawl imports on its way
        *("numpy.ma", "protego", "pycld2", "resiliparse.parse.encoding"),
    ]
)


@atexit.register
def _end() -> None:
    """No process outlives the tests."""
    for process in multiprocessing.active_children():
        process.kill()


class Process:
    """A Python program that runs; as much of `subprocess.Popen` as tests need, its outputs as text.

    `before` is called within the new process, before the program.
    """

    def __init__(
        self,
        program: str,
        *arguments: object,
        env: Mapping[str, str] | None = None,
        before: Callable[[], None] | None = None,
    ):
        (out, its_out), (err, its_err) = (_CONTEXT.Pipe(duplex=False) for _ in range(2))
        words = [str(each) for each in arguments]
        given = (program, words, dict(os.environ if env is None else env), before, its_out, its_err)
        self._process = _CONTEXT.Process(target=_run, args=given)
        self._process.start()
        assert self._process.pid is not None
        self.pid: int = self._process.pid
        self.stdout, self.stderr = _text_of(out), _text_of(err)
        its_out.close()
        its_err.close()

    def poll(self) -> int | None:
        """How it has ended, a signal as its negative number; None while it runs."""
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        self._process.join(timeout)
        code = self.poll()
        if code is None:
            raise TimeoutError("the process has not ended")
        return code

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """What it says until it ends, or is killed because time is up."""
        with ThreadPoolExecutor(2) as readers:
            said = [readers.submit(_rest_of, stream) for stream in (self.stdout, self.stderr)]
            try:
                out, err = (each.result(timeout) for each in said)
            except TimeoutError:
                self.kill()
                raise
        self.wait()
        return out, err

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def without_the_rights_of_root() -> None:
    """From here on the permissions of files count for root as well."""
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)  # the version of what follows, and this process
    sets = (ctypes.c_uint32 * 6)()  # effective, permitted and inheritable capabilities, the lower 32 and the upper
    ctypes.CDLL(None).capget(header, sets)
    for kind in range(3):
        sets[kind] &= ~0b110  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
    ctypes.CDLL(None).capset(header, sets)


def with_files_no_larger_than(size: int) -> None:
    """From here on no file can grow beyond so many bytes."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def _text_of(pipe: Connection) -> io.TextIOWrapper:
    """What comes out of a pipe; closes the pipe."""
    number = os.dup(pipe.fileno())
    pipe.close()
    return io.TextIOWrapper(io.FileIO(number), encoding="utf-8")


def _rest_of(stream: io.TextIOWrapper) -> str:
    if stream.closed:
        return ""
    with stream:
        return stream.read()


def _run(
    program: str,
    arguments: list[str],
    environment: dict[str, str],
    before: Callable[[], None] | None,
    out: Connection,
    err: Connection,
) -> None:
    """In the new process: what `python -c` does."""
    os.setsid()
    for number, pipe in ((1, out), (2, err)):
        os.dup2(pipe.fileno(), number)
        pipe.close()
    sys.stdout = io.TextIOWrapper(io.BufferedWriter(io.FileIO(1, "w", closefd=False)), encoding="utf-8")
    sys.stderr = io.TextIOWrapper(
        io.FileIO(2, "w", closefd=False), encoding="utf-8", errors="backslashreplace", write_through=True
    )
    os.environ.clear()
    os.environ.update(environment)
    sys.path[:0] = filter(None, environment.get("PYTHONPATH", "").split(os.pathsep))
    sys.argv[:] = ["-c", *arguments]
    if before is not None:
        before()
    exec(compile(program, "<string>", "exec"), {"__name__": "__main__"})

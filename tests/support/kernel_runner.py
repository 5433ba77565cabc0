"""Runs programs in child processes, with TensorFlow's own kernels or this library's.

A program of V3 ops is plain data (see `programs`): a list of steps, each a dict with the key "op"
and the arguments of that op as NumPy arrays, so that it can be pickled, printed and shrunk. A
worker also calls functions of the tests, and runs what `python` runs. Three processes take part:

    caller  --control socket-->  nursery (imports TensorFlow once, runs no op)
       |                            | fork, a few milliseconds each
       `------- data socket ---->  worker (runs programs, may die; see `worker`)

A worker that dies or hangs costs one fork, not one import. Results are sent step by step, so that
the outcomes of all steps before the end of a worker are known.
"""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import os
import pathlib
import pickle
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

Step = dict[str, Any]
Program = list[Step]

_ROOT = pathlib.Path(__file__).resolve().parents[2]
MODES = ("eager", "function", "session")
# A machine that is much slower than those of CI gets this many times as long.
PATIENCE = float(os.environ.get("TAG_PATIENCE", "1"))
STEP_TIMEOUT_S = 60.0
_START_TIMEOUT_S = 180.0


@dataclasses.dataclass(frozen=True)
class Zeros:
    """An input without elements whose shape NumPy cannot represent; Sessions do not support it."""

    shape: tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class Output:
    """An input that is the first output of an earlier step."""

    step: int


@dataclasses.dataclass(frozen=True)
class Value:
    """A step that succeeded; `outputs` holds every output that is not a handle."""

    outputs: tuple[np.ndarray, ...]


@dataclasses.dataclass(frozen=True)
class Error:
    """A step that raised; `kind` is the name of the exception class."""

    kind: str
    message: str


@dataclasses.dataclass(frozen=True)
class Died:
    """The process ended here. `signal` is None if it ended with an exit code."""

    signal: int | None
    code: int | None = None


@dataclasses.dataclass(frozen=True)
class Hung:
    """No result arrived within `seconds`, so the process was killed."""

    seconds: float


@dataclasses.dataclass(frozen=True)
class NotRun:
    """Not run: an earlier step ended the program, or the handle that it needs was never made."""


Outcome = Value | Error | Died | Hung | NotRun


def send(sock: socket.socket, message: object) -> None:
    body = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
    sock.sendall(struct.pack("<Q", len(body)) + body)


def receive(sock: socket.socket, timeout: float | None = None) -> Any:
    """Returns one message.

    Raises:
      EOFError: The other process has closed the socket, or has ended.
      TimeoutError: Part of the message did not arrive in `timeout` seconds.
    """
    size = struct.unpack("<Q", _receive_bytes(sock, 8, timeout))[0]
    return pickle.loads(_receive_bytes(sock, size, timeout))


def _receive_bytes(sock: socket.socket, count: int, timeout: float | None) -> bytes:
    deadline = None if timeout is None else time.monotonic() + PATIENCE * timeout
    chunks = bytearray()
    while len(chunks) < count:
        left = None if deadline is None else max(0.0, deadline - time.monotonic())
        if not select.select([sock], [], [], left)[0]:
            raise TimeoutError
        try:
            chunk = sock.recv(count - len(chunks))
        except ConnectionResetError:
            chunk = b""
        if not chunk:
            raise EOFError
        chunks += chunk
    return bytes(chunks)


class Runner:
    """Runs programs on one kind of kernels; restarts its worker when a program kills it.

    Args:
      library: None for TensorFlow's own kernels; "enable" to call `tensor_array_grad.enable()` in
        the nursery; else the path of an op library to load.
      gpu: Make the GPU visible to the children, so that TensorFlow places ops on it if it can. Each
        worker loads TensorFlow itself, because CUDA does not work in the fork of a process that has
        looked for GPUs.
      env: Environment variables to add to (or, with None, remove from) the child's.
      step_timeout: Seconds without a result after which a step counts as hung.
    """

    def __init__(
        self,
        library: str | None = None,
        gpu: bool = False,
        env: dict[str, str | None] | None = None,
        step_timeout: float = STEP_TIMEOUT_S,
    ):
        self._library = library
        self.gpu = gpu
        self._timeout = step_timeout
        self._worker: socket.socket | None = None
        self._worker_pid = 0
        self._unanswered = False  # a call was started whose result was not received
        self._pending: deque[tuple[str, Program]] = deque()
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - open as long as the runner
        self._control, theirs = socket.socketpair()
        self._controlled = threading.Lock()  # held from a message on `_control` to its answer
        environment = dict(os.environ, TF_CPP_MIN_LOG_LEVEL="3")
        if library is None:
            environment["TENSOR_ARRAY_GRAD"] = "off"  # enable() then keeps stock's kernels
        if not gpu:
            environment["CUDA_VISIBLE_DEVICES"] = "-1"
        # The child imports what this process imports, installed or not.
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
        for key, value in (env or {}).items():
            environment.pop(key, None)
            if value is not None:
                environment[key] = value
        with theirs:
            self._nursery = subprocess.Popen(
                [
                    *(sys.executable, "-m", "tests.support.worker"),
                    *(str(theirs.fileno()), library or "", "late" if gpu else "early"),
                ],
                pass_fds=[theirs.fileno()],
                env=environment,
                cwd=_ROOT,
                stderr=self._log,
            )
        self._ready = False
        self._is_nursery_shared = False

    def another(self) -> Runner:
        """A runner with a worker of its own, which the same process makes.

        It must not be used after this runner was closed.
        """
        with self._controlled:
            self._wait_for_nursery()
        made = copy.copy(self)
        made._is_nursery_shared = True
        made._worker, made._unanswered, made._pending = None, False, deque()
        return made

    def log(self) -> str:
        """Returns what the children have written to their standard error."""
        self._log.seek(0)
        return self._log.read().decode(errors="replace")

    def __enter__(self) -> Runner:
        return self

    def __exit__(self, *unused: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the worker and, unless it is another runner's, the nursery."""
        if self._worker is not None:
            self._worker.close()
            self._worker = None
        if self._is_nursery_shared:
            return
        self._control.close()
        try:
            self._nursery.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self._nursery.kill()
        self._log.close()

    def run(self, program: Program, mode: str = "eager") -> list[Outcome]:
        """Returns one outcome for each step of `program`."""
        return next(self.run_all([program], mode))

    def run_all(self, programs: Iterable[Program], mode: str = "eager") -> Iterator[list[Outcome]]:
        """Yields the outcomes of each program, in order."""
        for program in programs:
            yield self._run_one(program, mode)

    def run_fresh(self, program: Program, mode: str = "eager") -> list[Outcome]:
        """As `run`, in a process that runs nothing else."""
        self._drop_worker()
        try:
            return self._run_one(program, mode)
        finally:
            self._drop_worker()

    def call(
        self,
        function: str,
        *args: object,
        timeout: float = 300.0,
        environment: Mapping[str, str] | None = None,
    ) -> Any:
        """Calls "module:function" with `args` in a fresh process and returns its result.

        `environment` is added to the process's environment variables. TENSOR_ARRAY_GRAD=on enables
        the library.

        Returns Died or Hung instead if the process ended before it answered or did not answer in
        `timeout` seconds, and Error if the function raised.
        """
        self._drop_worker()
        worker = self._worker_socket()
        send(worker, ("call", function, args, dict(environment or {})))
        try:
            return receive(worker, timeout)
        except (EOFError, TimeoutError) as gone:
            return self._end_of_worker(gone, timeout)
        finally:
            self._drop_worker()

    def start_call(self, function: str, *args: object) -> None:
        """Starts a call of "module:function" in the worker; `finish_call` returns the result.

        Unlike `call`, it uses the worker that other programs use, and keeps it.
        """
        self._end_unanswered_call()
        self._unanswered = True
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # `finish_call` reports it
            send(self._worker_socket(), ("call", function, args, {}))

    def finish_call(self, timeout: float = 240.0) -> Any:
        """Returns the result of the call that `start_call` started, in the form that `call` has.

        The default timeout is shorter than that of a test, so that a test which takes too long
        reports Hung.
        """
        try:
            result = receive(self._worker_socket(), timeout)
        except (EOFError, TimeoutError) as gone:
            result = self._end_of_worker(gone, timeout)
        self._unanswered = False
        return result

    def _end_unanswered_call(self) -> None:
        """Kills the worker if a test ended before `finish_call`: its answer is of no later call."""
        if self._unanswered and self._worker is not None:
            os.kill(self._worker_pid, signal.SIGKILL)
            self._wait_for_worker()
        self._unanswered = False

    def python(
        self,
        arguments: Sequence[str],
        environment: Mapping[str, str],
        stdin: str = "",
        timeout: float = 180.0,
        fork_children: bool = False,
        imported: bool = True,
    ) -> subprocess.CompletedProcess[str]:
        """Runs `python arguments...` in a fresh process, in which TensorFlow is imported already.

        Threads may call it at the same time. `worker.run_python` says how the process differs from
        a new interpreter.

        Args:
          arguments: A script, `-m module` or `-c code`, and its arguments.
          environment: The environment variables of the process.
          stdin: Its standard input.
          timeout: Seconds after which it is killed.
          fork_children: Whether the interpreters that it starts are forks of it too. These start
            new interpreters.
          imported: Whether `tensorflow` is in `sys.modules`. Otherwise only its submodules are, so
            that `import tensorflow` finds, loads and executes the package, in milliseconds.

        Raises:
          subprocess.TimeoutExpired: It was killed.
        """
        with contextlib.ExitStack() as stack:
            streams = [stack.enter_context(tempfile.TemporaryFile()) for _ in range(3)]
            streams[0].write(stdin.encode())
            streams[0].seek(0)
            pid, ours = self._fork()
            stack.enter_context(ours)
            options = (
                list(arguments),
                dict(environment),
                str(pathlib.Path.cwd()),
                fork_children,
                imported,
            )
            send(ours, ("python", *options))
            socket.send_fds(ours, [b"f"], [stream.fileno() for stream in streams])
            done, _, _ = select.select([ours], [], [], PATIENCE * timeout)  # readable at its end
            if not done:
                os.kill(pid, signal.SIGKILL)
            status = os.waitstatus_to_exitcode(self._wait(pid))
            for stream in streams:
                stream.seek(0)
            output, errors = (stream.read().decode(errors="replace") for stream in streams[1:])
        if not done:
            raise subprocess.TimeoutExpired(list(arguments), timeout, output, errors)
        return subprocess.CompletedProcess(list(arguments), status, output, errors)

    def restart(self) -> None:
        """Ends the worker; the next program or call gets a new one."""
        self._drop_worker()
        self._worker = None

    def submit(self, program: Program, mode: str = "eager") -> None:
        """Sends `program` to the worker; `collect` returns its outcomes.

        Some tens of programs may be submitted before the first is collected.
        """
        self._end_unanswered_call()
        self._worker_socket()
        self._pending.append((mode, program))
        self._send_to_worker(mode, program)

    def collect(self) -> list[Outcome]:
        """Returns the outcomes of the program that was submitted first."""
        _, program = self._pending.popleft()
        outcomes: list[Outcome] = []
        try:
            while len(outcomes) < len(program):
                outcomes.extend(receive(self._worker_socket(), self._timeout))
        except (EOFError, TimeoutError) as gone:
            outcomes.append(self._end_of_worker(gone, self._timeout))
            for mode, later in self._pending:
                self._send_to_worker(mode, later)
        outcomes.extend([NotRun()] * (len(program) - len(outcomes)))
        return outcomes

    def _run_one(self, program: Program, mode: str) -> list[Outcome]:
        self.submit(program, mode)
        return self.collect()

    def _send_to_worker(self, mode: str, program: Program) -> None:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # `collect` reports it
            send(self._worker_socket(), (mode, program))

    def _end_of_worker(self, gone: Exception, timeout: float) -> Outcome:
        """How the worker ended; `gone` is the failure to receive. Kills a worker that hangs."""
        hung = isinstance(gone, TimeoutError)
        if hung:
            os.kill(self._worker_pid, signal.SIGKILL)
        status = self._wait_for_worker()
        if hung:
            return Hung(timeout)
        if os.WIFSIGNALED(status):
            return Died(os.WTERMSIG(status))
        return Died(None, os.WEXITSTATUS(status))

    def _wait_for_worker(self) -> int:
        assert self._worker is not None
        self._worker.close()
        self._worker = None
        return self._wait(self._worker_pid)

    def _wait(self, pid: int) -> int:
        """Waits until the worker `pid` has ended; returns its status as `os.waitpid` does."""
        with self._controlled:
            send(self._control, ("wait", pid))
            return receive(self._control, 60.0)

    def _wait_for_nursery(self) -> None:
        """Waits until TensorFlow is imported. Requires: `_controlled` is held."""
        if not self._ready:
            receive(self._control, _START_TIMEOUT_S)
            self._ready = True

    def _fork(self) -> tuple[int, socket.socket]:
        """Starts a worker; returns its number and the socket to it."""
        ours, theirs = socket.socketpair()
        with self._controlled, theirs:
            self._wait_for_nursery()
            send(self._control, ("fork",))
            socket.send_fds(self._control, [b"f"], [theirs.fileno()])
            return receive(self._control, 60.0), ours

    def _drop_worker(self) -> None:
        if self._worker is not None:
            self._worker.shutdown(socket.SHUT_RDWR)
            self._wait_for_worker()

    def _worker_socket(self) -> socket.socket:
        if self._worker is None:
            self._worker_pid, self._worker = self._fork()
        return self._worker


def needs(step: Step) -> list[int]:
    """The steps whose handles or values `step` uses."""
    reference = step.get("array", [])
    handles = [reference] if isinstance(reference, int) else reference
    needed = [] if isinstance(handles, str) else list(handles)
    value = step.get("value")
    return [*needed, value.step] if isinstance(value, Output) else needed

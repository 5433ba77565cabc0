"""The child processes behind `kernel_runner`: a nursery that forks workers, and the workers."""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import os
import pathlib
import re
import runpy
import signal
import socket
import subprocess
import sys
import threading
import time
import traceback
import types
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import IO, Any, NoReturn

import numpy as np

from tests.support import memory
from tests.support.kernel_runner import (
    Error,
    NotRun,
    Outcome,
    Output,
    Program,
    Step,
    Value,
    Zeros,
    needs,
    receive,
    send,
)


def _nursery(control: socket.socket, library: str, load: str) -> None:
    memory.collect_rarely()
    if load == "early":
        _load(library)
        with contextlib.suppress(ImportError):
            importlib.import_module("pytest")  # test modules import it, which takes 80 ms
        gc.collect()
        gc.freeze()  # a collection in a fork would write to, and so copy, every object
    send(control, "ready")
    while True:
        try:
            command, *args = receive(control)
        except EOFError:
            os._exit(0)  # nothing has to be cleaned up, and a normal exit takes TensorFlow seconds
        if command == "wait":
            send(control, os.waitpid(args[0], 0)[1])
            continue
        _, (descriptor,), _, _ = socket.recv_fds(control, 1, 1)
        pid = os.fork()
        if pid == 0:
            control.close()
            if load == "late":
                _load(library)
            _worker(socket.socket(fileno=descriptor))
        os.close(descriptor)
        send(control, pid)


def _load(library: str) -> None:
    import tensorflow as tf

    tf.get_logger().setLevel("ERROR")
    tf.debugging.disable_traceback_filtering()  # it costs more than the op that failed
    if library == "enable":
        import tensor_array_grad

        tensor_array_grad.enable()
    elif library:
        tf.load_op_library(library)


def _worker(data: socket.socket) -> None:
    """Runs programs and calls until the caller closes the socket; never returns."""
    code = 0
    try:
        runs = 0
        while True:
            mode, *rest = receive(data)
            if mode == "call":
                send(data, _call(*rest))
                continue
            if mode == "python":
                _, streams, _, _ = socket.recv_fds(data, 1, 3)
                run_python(*rest, streams)
            for outcomes in _RUN[mode](rest[0]):
                send(data, outcomes)
            runs += 1
            if runs % 64 == 0:
                _forget_eager_arrays()
    except EOFError:
        pass
    except BaseException as problem:
        print(f"tests.support.worker: failed: {problem!r}", file=sys.stderr, flush=True)
        code = 70
    os._exit(code)


def _call(function: str, args: Sequence[object], environment: dict[str, str]) -> object:
    module, name = function.split(":")
    try:
        os.environ.update(environment)
        if environment.get("TENSOR_ARRAY_GRAD") == "on":
            importlib.import_module("tensor_array_grad")
        return getattr(importlib.import_module(module), name)(*args)
    except Exception as error:
        return Error(type(error).__name__, str(error))


def run_python(
    arguments: list[str],
    environment: dict[str, str],
    folder: str,
    fork_children: bool,
    imported: bool,
    streams: Sequence[int],
) -> NoReturn:
    """Does in this process, in which TensorFlow is imported, what `python arguments...` does.

    `-m tensor_array_grad` in front of a program enables the library, as a new interpreter
    would that finds TENSOR_ARRAY_GRAD=on in its environment. These differ from a new interpreter:
    TensorFlow's log level and what else TensorFlow reads from the environment when it is imported,
    `sys.flags`, the entries at the end of `sys.path`, and the other modules in `sys.modules`.
    Unless `fork_children`, interpreters that the program starts have the library only if pip
    installed it.
    """
    for stream, descriptor in enumerate(streams):
        os.dup2(descriptor, stream)
    os.chdir(folder)
    environment = dict(environment)
    if arguments[:2] == _LIBRARY and arguments[2:3] not in ([], ["compare"]):
        arguments = arguments[2:]
        environment["TENSOR_ARRAY_GRAD"] = "on"
    os.environ.clear()
    os.environ.update(environment)
    sys.path[:0] = ["", *filter(None, environment.get("PYTHONPATH", "").split(os.pathsep))]
    subprocess.Popen = _Fork if fork_children else _POPEN  # type: ignore[assignment, misc]
    if not imported:
        del sys.modules["tensorflow"]
    status = 1
    try:
        status = _status_of(lambda: _run_main(arguments))
        threading._shutdown()  # type: ignore[attr-defined] # waits for the threads
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        # A normal exit takes TensorFlow most of a second. Meanwhile the other workers of a cluster
        # fetch what they need of this one for the last sum.
        if "TF_CONFIG" in os.environ:
            time.sleep(1.0)
        os._exit(status)


def _run_main(arguments: list[str]) -> None:
    # What the .pth file of the package does when an interpreter starts.
    sys.modules.pop("_tensor_array_grad_startup", None)
    importlib.import_module("_tensor_array_grad_startup")
    first, *rest = arguments
    if first == "-c":
        sys.argv = ["-c", *rest[1:]]
        main = types.ModuleType("__main__")
        sys.modules["__main__"] = main
        exec(compile(rest[0], "<string>", "exec"), vars(main))
    elif first == "-m":
        sys.argv = rest
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    else:
        sys.argv = arguments
        sys.path[0] = str(pathlib.Path(first).resolve().parent)
        runpy.run_path(first, run_name="__main__")


def _status_of(main: Callable[[], None]) -> int:
    """Runs `main`; returns the exit status that Python would have, and prints what it would."""
    try:
        main()
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return end.code or 0
        print(end.code, file=sys.stderr)
        return 1
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


_POPEN = subprocess.Popen
_LIBRARY = ["-m", "tensor_array_grad"]


class _Fork:
    """In place of `subprocess.Popen`: an interpreter that is a fork of this process.

    Attributes:
      pid: The number of its process.
      returncode: Its exit status, set by the caller or by `poll` and `wait`.
    """

    returncode: int | None = None

    def __init__(
        self,
        command: list[str],
        stdin: int | None = None,
        stdout: IO[bytes] | None = None,
        stderr: IO[bytes] | None = None,
        env: Mapping[str, str] | None = None,
        start_new_session: bool = False,
    ) -> None:
        assert command[0] == sys.executable, command
        assert stdin in (None, subprocess.DEVNULL), stdin
        assert not any(isinstance(stream, int) for stream in (stdout, stderr)), (stdout, stderr)
        sys.stdout.flush()
        sys.stderr.flush()
        self.pid = os.fork()
        if self.pid == 0:
            if start_new_session:
                os.setsid()
            for name in [n for n in sys.modules if n.partition(".")[0] == "tensor_array_grad"]:
                del sys.modules[name]  # the program imports it from its own PYTHONPATH
            # The end of this process is not the end of its parent's temporary folders.
            weakref.finalize._registry.clear()  # type: ignore[attr-defined]
            nothing = os.open(os.devnull, os.O_RDONLY)
            streams = (nothing, *(s.fileno() if s else n for n, s in ((1, stdout), (2, stderr))))
            environment = dict(os.environ if env is None else env)
            run_python(command[1:], environment, str(pathlib.Path.cwd()), True, True, streams)

    def poll(self) -> int | None:
        """The exit status, or None if the process has not ended."""
        return self._waited(os.WNOHANG)

    def wait(self) -> int | None:
        """Waits until the process has ended; returns its exit status."""
        return self._waited(0)

    def kill(self) -> None:
        """Ends the process."""
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)

    def _waited(self, options: int) -> int | None:
        if self.returncode is None:
            pid, status = os.waitpid(self.pid, options)
            self.returncode = os.waitstatus_to_exitcode(status) if pid else None
        return self.returncode


def _forget_eager_arrays() -> None:
    """Frees the arrays that stock's kernels keep for ever in eager mode."""
    from tensorflow.python.eager import context

    context.context().clear_kernel_cache()


def _eager(program: Program) -> Iterator[list[Outcome]]:
    made: list[Any] = []
    for step in program:
        builder = _Builder(made, lambda array, dtype: _constant(array, dtype))
        outputs, outcome = None, NotRun()
        if builder.has_inputs(step):
            try:
                outputs = builder.build(step, None)
                outcome = Value(tuple(_as_array(t) for t in outputs if _is_data(t)))
            except Exception as error:
                outcome = Error(type(error).__name__, str(error))
        made.append(outputs)
        yield [outcome]


def _session(program: Program) -> Iterator[list[Outcome]]:
    import tensorflow as tf

    graph = tf.Graph()
    feeds: dict[Any, np.ndarray] = {}

    def feed(array: np.ndarray, dtype: str) -> Any:
        # TensorFlow does not add a control dependency to an op if one of the op's inputs was made
        # under the same dependency. A placeholder that is fed does not wait for its control
        # inputs, so the placeholder is made without control inputs.
        with graph.control_dependencies(None):
            placeholder = tf.compat.v1.placeholder(dtype, shape=None)
        feeds[placeholder] = array
        return placeholder

    with graph.as_default():
        steps, problem = _build_in_order(program, feed)
        session = tf.compat.v1.Session(graph=graph)

    def run(count: int) -> list[tuple[np.ndarray, ...]]:
        fetches = [[t for t in outputs if _is_data(t)] for outputs in steps[:count]]
        values, _ = session.run([fetches, operations[:count]], feed_dict=feeds)
        return [tuple(_as_array(v) for v in row) for row in values]

    operations = [graph.get_operation_by_name(f"s{k}") for k in range(len(steps))]
    with session:
        yield _graph_outcomes(program, len(steps), problem, run)


def _function(program: Program) -> Iterator[list[Outcome]]:
    import tensorflow as tf

    def run(count: int) -> list[tuple[np.ndarray, ...]]:
        fed = [pair for step in program[:count] for pair in _inputs(step)]
        fed = [(array, dtype) for array, dtype in fed if not isinstance(array, Output)]
        arrays = [_constant(array, dtype) for array, dtype in fed]
        specs = [tf.TensorSpec(None, dtype) for _, dtype in fed]

        @tf.function(input_signature=specs, autograph=False)
        def body(*args: Any) -> Any:
            values = iter(args)
            steps, problem = _build_in_order(program[:count], lambda *_: next(values))
            state["built"], state["problem"] = len(steps), problem
            return [[t for t in outputs if _is_data(t)] for outputs in steps]

        return [tuple(_as_array(v) for v in row) for row in body(*arrays)]

    state: dict[str, Any] = {"built": 0, "problem": None}
    run_first = []
    error: Exception | None = None
    try:
        run_first = run(len(program))
    except Exception as caught:
        error = caught

    def replay(count: int) -> list[tuple[np.ndarray, ...]]:
        if count == state["built"]:
            if error is not None:
                raise error
            return run_first
        return run(count)

    built, problem = state["built"], state["problem"]
    yield _graph_outcomes(program, built, problem, replay)


_RUN = {"eager": _eager, "session": _session, "function": _function}


def _graph_outcomes(
    program: Program, built: int, problem: Outcome | None, run: Any
) -> list[Outcome]:
    """Outcomes of a graph whose first `built` steps could be built, up to the first failure."""
    outcomes: list[Outcome]
    try:
        outcomes = [Value(row) for row in run(built)]
        if problem is not None:
            outcomes.append(problem)
    except Exception as error:
        failed = _failed_step(error)
        if failed is None:
            outcomes = [Error(type(error).__name__, str(error))]
        else:
            outcomes = [Value(row) for row in run(failed)] if failed else []
            outcomes.append(Error(type(error).__name__, str(error)))
    return outcomes + [NotRun()] * (len(program) - len(outcomes))


def _failed_step(error: Exception) -> int | None:
    found = re.findall(r"[Nn]ode[: ]+'?(?:[\w.]+/)*s(\d+)\b", str(error))
    return int(found[0]) if found else None


def _build_in_order(program: Program, feed: Any) -> tuple[list[Any], Outcome | None]:
    """Builds one node `s<k>` per step, with a control dependency on the node before it."""
    import tensorflow as tf

    made: list[Any] = []
    builder = _Builder(made, feed)
    last: Any = []
    for k, step in enumerate(program):
        try:
            with tf.control_dependencies(last):
                outputs = builder.build(step, f"s{k}")
        except Exception as error:
            return made, Error(type(error).__name__, str(error))
        made.append(outputs)
        last = [tf.compat.v1.get_default_graph().get_operation_by_name(f"s{k}")]
    return made, None


def _is_data(tensor: Any) -> bool:
    return tensor.dtype.name not in ("resource", "variant")


def _as_array(tensor: Any) -> np.ndarray:
    value = tensor.numpy() if hasattr(tensor, "numpy") else tensor
    return np.asarray(value, dtype=object) if isinstance(value, (bytes, str)) else np.asarray(value)


def _constant(array: Any, dtype: str) -> Any:
    import tensorflow as tf

    if isinstance(array, Zeros):
        return tf.raw_ops.Fill(dims=array.shape, value=tf.zeros([], dtype))
    return tf.constant(array, dtype=dtype, shape=np.shape(array))


# The NumPy inputs of each op, with their dtypes ("T" is the dtype of the step), in the order in
# which they are fed.
_INPUTS = {
    "V3": [("size", "int32")],
    "Write": [("index", "int32"), ("value", "T"), ("flow", "float32")],
    "Read": [("index", "int32"), ("flow", "float32")],
    "Gather": [("indices", "int32"), ("flow", "float32")],
    "Scatter": [("indices", "int32"), ("value", "T"), ("flow", "float32")],
    "Split": [("value", "T"), ("lengths", "int64"), ("flow", "float32")],
    "Concat": [("flow", "float32")],
    "Size": [("flow", "float32")],
    "Close": [],
    "Grad": [("flow", "float32")],
    "GradWithShape": [("flow", "float32"), ("prefix", "int32")],
}
_ATTRIBUTES = {
    "Read": ["dtype"],
    "Gather": ["dtype", "element_shape"],
    "Concat": ["dtype", "element_shape_except0"],
    "Grad": ["source"],
    "GradWithShape": ["source"],
}
_RAW_NAMES = {"flow": "flow_in", "prefix": "shape_to_prepend"}
_OP_NAMES = {"GradWithShape": "GradWithShape"}
_NO_FLOW = np.float32(0.0)


def _inputs(step: Step) -> list[tuple[np.ndarray, str]]:
    """The arrays that `step` feeds; an absent flow is a zero."""
    return [
        (
            step.get(name, _NO_FLOW) if name == "flow" else step[name],
            step["dtype"] if dtype == "T" else dtype,
        )
        for name, dtype in _INPUTS[step["op"]]
    ]


def _empty(handle: Any) -> Any:
    import tensorflow as tf

    return tf.reshape(tf.stack([handle])[:0], [0, 2])


def _variable(handle: Any) -> Any:
    import tensorflow as tf

    return tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=[], shared_name="a_variable")


def _table(handle: Any) -> Any:
    import tensorflow as tf

    return tf.raw_ops.HashTableV2(key_dtype=tf.int64, value_dtype=tf.int64, shared_name="a_table")


# Tensors that are not the handle of an array: an empty one, and handles of other resources.
_ODD_HANDLES = {"empty": _empty, "variable": _variable, "table": _table}


def _copied(tensor: Any) -> Any:
    """`tensor` in a buffer that no other tensor shares, so that an op may reuse the buffer."""
    import tensorflow as tf

    flat = tf.reshape(tensor, [-1])
    return tf.reshape(tf.gather(flat, tf.range(tf.size(flat))), tf.shape(tensor))


class _Builder:
    """Turns a step into a call of `tf.raw_ops`, the same in all modes.

    Args:
      made: The outputs of each earlier step; None for a step that failed.
      feed: Makes a tensor from an array and the name of a dtype.
    """

    def __init__(self, made: list[Any], feed: Any):
        self._made = made
        self._feed = feed

    def has_inputs(self, step: Step) -> bool:
        """Whether every handle and value that `step` uses was made."""
        return all(self._made[k] is not None for k in needs(step))

    def build(self, step: Step, name: str | None) -> list[Any]:
        """Calls the op of `step`; the first output of a creating op is its handle."""
        import tensorflow as tf

        raw, op = tf.raw_ops, step["op"]
        inputs = [self._input(step, array, dtype) for array, dtype in _inputs(step)]
        if op == "V3":
            return list(
                raw.TensorArrayV3(
                    size=inputs[0],
                    dtype=step["dtype"],
                    element_shape=_shape(step),
                    dynamic_size=step.get("dynamic", False),
                    clear_after_read=step.get("clear", True),
                    identical_element_shapes=step.get("identical", False),
                    tensor_array_name=step.get("name", ""),
                    **_named(name),
                )
            )
        arguments = dict(handle=self._handle(step["array"]), **_named(name))
        if op == "Close":
            raw.TensorArrayCloseV3(**arguments)
            return []
        names = [_RAW_NAMES.get(key, key) for key, _ in _INPUTS[op]]
        arguments.update(zip(names, inputs, strict=True))
        for key in _ATTRIBUTES.get(op, []):
            arguments[key] = _shape(step) if "shape" in key else step[key]
        out = getattr(raw, f"TensorArray{_OP_NAMES.get(op, op + 'V3')}")(**arguments)
        return list(out) if isinstance(out, (tuple, list)) else [out]

    def _input(self, step: Step, array: Any, dtype: str) -> Any:
        if isinstance(array, Output):
            return self._made[array.step][0]
        tensor = self._feed(array, dtype)
        return _copied(tensor) if step.get("copied") and array is step.get("value") else tensor

    def _handle(self, reference: int | list[int] | str) -> Any:
        """A handle, hidden from shape inference.

        Args:
          reference: The step that made it; a list of steps for a vector; or a key of _ODD_HANDLES.
        """
        import tensorflow as tf

        if isinstance(reference, str):
            handle = _ODD_HANDLES[reference](self._made[0][0])
        elif isinstance(reference, int):
            handle = self._made[reference][0]
        else:
            handle = tf.stack([self._made[k][0] for k in reference])
        if tf.executing_eagerly():
            return handle
        return tf.compat.v1.placeholder_with_default(handle, None)


def _named(name: str | None) -> dict[str, str]:
    return {} if name is None else {"name": name}


def _shape(step: Step) -> Any:
    import tensorflow as tf

    shape = step.get("element_shape")
    return tf.TensorShape(None if shape is None else [None if d < 0 else d for d in shape])


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        _nursery(socket.socket(fileno=int(sys.argv[1])), *sys.argv[2:])

"""Programs whose loops have critical sections, for `locked_loops_test.py`.

Each function runs in a process of its own, on stock or with the library. A program that waits for
ever ends with that process.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from typing import Any

import tensorflow as tf
from tensorflow.python.eager import cancellation

import tensor_array_grad

v1 = tf.compat.v1
N = 20


class Counters:
    """Two critical sections, each of which guards a variable.

    In eager mode, TensorFlow gives all sections the same mutex, without a name.
    """

    def __init__(self) -> None:
        self.sections = [tf.CriticalSection(name=name) for name in ("first", "second")]
        self.counts = [tf.Variable(0.0), tf.Variable(0.0)]

    def add(self, which: int, step: Any = 1.0) -> Any:
        """Adds `step` to a count in its section; returns the count before."""
        count = self.counts[which]

        def change() -> Any:
            before = count.read_value()
            with tf.control_dependencies([count.assign(before + step)]):
                return tf.identity(before)

        return self.sections[which].execute(change)

    @contextlib.contextmanager
    def locked(self, which: int = 0) -> Any:
        """Holds the lock of a section."""
        lock = [tf.raw_ops.MutexLock(mutex=self.sections[which]._handle)]
        try:
            yield
        finally:
            lock.clear()


def _sum(body: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The function of n that adds body(0) ... body(n - 1) in a loop."""

    def add(i: Any, total: Any) -> Any:
        return i + 1, total + body(i)

    def loop(n: Any) -> Any:
        return tf.while_loop(lambda i, _: i < n, add, (0, 0.0))[1]

    return tf.function(loop)


def _in_order(*adds: Callable[[], Any]) -> Any:
    """The sum of what `adds` return; each begins after the one before has ended."""
    total = tf.constant(0.0)
    for add in adds:
        with tf.control_dependencies([total]):
            total = total + add()
    return total


def _nested(c: Counters) -> Callable[[Any], Any]:
    return _sum(lambda i: _sum(lambda _: c.add(0))(tf.cast(i, tf.int32) % 3))


# Each makes a function of the number of iterations; its loops use the sections of a Counters.
PROGRAMS: dict[str, Callable[[Counters], Any]] = {
    "a_section": lambda c: _sum(lambda _: c.add(0)),
    "what_an_iteration_adds": lambda c: _sum(lambda i: c.add(0, tf.cast(i, tf.float32))),
    "in_a_branch": lambda c: _sum(
        lambda i: tf.cond(i % 3 == 1, lambda: c.add(0, 2.0), lambda: tf.cast(i, tf.float32))
    ),
    "in_both_branches": lambda c: _sum(
        lambda i: tf.cond(i % 3 == 1, lambda: c.add(0, 2.0), lambda: c.add(1))
    ),
    "one_after_the_other": lambda c: _sum(
        lambda _: _in_order(lambda: c.add(0), lambda: c.add(0, 3.0), lambda: c.add(1))
    ),
    "an_inner_loop": _nested,
}


def _found(values: list[Any], counters: Counters) -> tuple[list[Any], dict[str, int], int]:
    """The values and counts, the reasons of loops left, and how often a loop ran in one kernel."""
    found = [value.numpy() for value in [*values, *counters.counts]]
    status = tensor_array_grad.status()
    return found, dict(status.loops_left), status.counters.get("loops.runs", 0)


def compute(name: str) -> tuple[list[Any], dict[str, int], int]:
    """What two calls of a program compute."""
    counters = Counters()
    function = PROGRAMS[name](counters)
    return _found([function(N), function(3)], counters)


def contend(threads: int, calls: int, inter_op: int) -> tuple[list[Any], dict[str, int], int]:
    """The same loop in several threads at once: no count is lost."""
    tf.config.threading.set_inter_op_parallelism_threads(inter_op)
    counters = Counters()
    function = _sum(lambda _: counters.add(0))
    n = tf.constant(N)
    function(n)

    def work() -> None:
        for _ in range(calls):
            function(n)

    workers = [threading.Thread(target=work) for _ in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return _found([], counters)


class _Waiting:
    """A call of a function in another thread, which waits for a lock that this thread has."""

    def __init__(self, function: Callable[[], Any]) -> None:
        self._function = function
        self.result: Any = None
        self._thread = threading.Thread(target=self._call)
        self._thread.start()

    def _call(self) -> None:
        try:
            self.result = self._function().numpy()
        except tf.errors.OpError as error:
            self.result = type(error).__name__

    def still_waits(self) -> bool:
        """Whether the call has not ended after a while."""
        self._thread.join(0.3)
        return self._thread.is_alive()

    def end(self) -> Any:
        self._thread.join()
        return self.result


def wait_for_another_step(inter_op: int) -> tuple[list[Any], dict[str, int], int]:
    """While the loop waits for a lock, another step gets the threads that it needs."""
    tf.config.threading.set_inter_op_parallelism_threads(inter_op)
    counters = Counters()
    function = _sum(lambda _: counters.add(0))
    other = _sum(lambda i: tf.sqrt(tf.cast(i, tf.float32)))
    with counters.locked():
        call = _Waiting(lambda: function(N))
        waits = call.still_waits()
        value = other(N)
        waits = waits and call.still_waits()
    result = call.end()
    found, left, runs = _found([value], counters)
    return [*found, waits, result], left, runs


def cancel() -> tuple[list[Any], dict[str, int], int]:
    """A call that is cancelled while its loop waits fails, and gives nothing up or keeps it."""
    counters = Counters()
    function = _sum(lambda _: counters.add(0))
    n = tf.constant(N)
    function(n)
    manager = cancellation.CancellationManager()
    cancelable = manager.get_cancelable_function(function.get_concrete_function(n))
    with counters.locked():
        call = _Waiting(lambda: cancelable(n))
        waits = call.still_waits()
        manager.start_cancel()
        error = call.end()
    found, left, runs = _found([function(n)], counters)
    return [*found, waits, error], left, runs


def fail() -> tuple[list[Any], dict[str, int], int]:
    """An error in a section ends the loop and gives the lock up."""
    counters = Counters()

    def change(i: Any) -> Any:
        with tf.control_dependencies([tf.debugging.assert_less(i, 5, message="too far")]):
            return counters.counts[0].assign_add(1.0)

    function = _sum(lambda i: counters.sections[0].execute(lambda: tf.identity(change(i))))
    try:
        function(N)
        error = "none"
    except tf.errors.InvalidArgumentError as raised:
        error = str(raised).partition("too far")[1]
    counters.counts[0].assign(0.0)
    found, left, runs = _found([function(5)], counters)
    return [*found, error], left, runs


def in_a_session() -> tuple[list[Any], dict[str, int], int]:
    """The loop of a Session."""
    with tf.Graph().as_default(), v1.Session() as session:
        section = tf.CriticalSection(name="section")
        count = v1.get_variable("count", initializer=0.0, use_resource=True)

        def change() -> Any:
            with tf.control_dependencies([count.assign_add(1.0)]):
                return count.read_value()

        total = tf.while_loop(
            lambda i, _: i < N, lambda i, s: (i + 1, s + section.execute(change)), (0, 0.0)
        )[1]
        session.run(v1.global_variables_initializer())
        values = [session.run(total), session.run(total)]
    status = tensor_array_grad.status()
    return values, dict(status.loops_left), status.counters.get("loops.runs", 0)

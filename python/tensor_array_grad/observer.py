"""`explain()`: observes the loops of this process."""

from __future__ import annotations

import dataclasses
import threading
import time
from collections.abc import Iterable, Mapping
from typing import Any

import tensorflow as tf

from tensor_array_grad import _advice, _loader, _where, drop_in
from tensor_array_grad.explained import Loop, Loops, Place

# A loop that takes less of the time, and fewer seconds, gets no advice for its kernels: that may be
# the time of a first call.
_MATTERS, _LONG = 0.05, 0.5


class explain:
    """Observes the loops that run in a `with` statement, and explains them.

    Enables the library if it is not enabled. Functions that are traced already are explained, too;
    what the executor did is then not measured, and inner loops are not shown by themselves.
    Observing takes a few nanoseconds per run of a loop, and in the executor one small op per
    iteration. It changes no value. It may be nested, and used by several threads at the same time.

    Raises:
      LoadError: As `enable()`.
      RuntimeError: The library is switched off.

    Examples:
      >>> import tensor_array_grad
      >>> with tensor_array_grad.explain() as loops:
      ...     pass  # the program
      >>> print(loops.rows)
      ()
    """

    _lock = threading.Lock()
    _entered = 0

    def __enter__(self) -> Loops:
        drop_in.enable()
        if not drop_in.is_enabled():
            raise RuntimeError("tensor_array_grad is switched off: there is nothing to explain")
        self._bind = _loader.bind()
        self._before = {loop.id: (loop, _where.of(loop)) for loop in self._bind.loops()}
        with explain._lock:
            explain._entered += 1
            self._bind.set_locator(_where.locate)
            self._bind.watch_loops(True)
        self._start = time.monotonic()
        self._loops = Loops()
        return self._loops

    def __exit__(self, *_: object) -> None:
        self._loops.seconds = time.monotonic() - self._start
        with explain._lock:
            explain._entered -= 1
            if explain._entered == 0:
                self._bind.watch_loops(False)
                drop_in.locate_for_log(self._bind)
        self._loops.threads = threads()
        self._loops.rows = _rows(self._bind.loops(), self._before, self._loops.seconds)


def threads() -> int:
    """How many independent ops TensorFlow runs at the same time, at most as many as processors.

    The configuration of a Session does not count.
    """
    asked = tf.config.threading.get_inter_op_parallelism_threads()
    return int(_loader.bind().executor_threads(asked))


def loops_so_far() -> tuple[Loop, ...]:
    """The loops that have run in this process. Requires: the library is loaded."""
    loops = _loader.bind().loops()
    unknown = {loop.id: (None, _where.of(loop)) for loop in loops}
    return _rows(loops, unknown, sum(loop.seconds + loop.executor_seconds for loop in loops))


def _rows(loops: Iterable[Any], before: Mapping[int, Any], seconds: float) -> tuple[Loop, ...]:
    """The loops that ran since `before`, by time.

    Args:
      loops: The loops now.
      before: By id, the loops that existed when their graphs were not watched yet: what they had
        done then, or None to count from the beginning; and where they are.
      seconds: The time of which the shares are.
    """
    where = {}
    found: dict[tuple[Any, ...], list[Any]] = {}
    for loop in loops:
        earlier, where[loop.id] = before.get(loop.id) or (None, _where.of(loop))
        outer = where.get(loop.outer)
        since = _Since(loop, earlier)
        if since.runs or since.iterations or not since.measured:
            name = "" if where[loop.id].file else loop.name
            why = _advice.reason_and_remedy(loop.left)[0] if loop.left else ""
            found.setdefault((where[loop.id], str(outer or ""), why, name), []).append(since)
    rows = [_row(where, inside, each, seconds) for (where, inside, *_), each in found.items()]
    return tuple(sorted(rows, key=lambda row: -row.seconds))


class _Since:
    """What a loop did since an earlier time."""

    def __init__(self, loop: Any, earlier: Any) -> None:
        def since(name: str) -> Any:
            return getattr(loop, name) - getattr(earlier, name, 0)

        self.loop = loop
        self.measured = not loop.left or loop.is_watched
        self.two_threads, self.handed_back = since("two_threads"), since("handed_back")
        self.passed_on, self.passed_by = since("passed_on"), since("passed_by")
        passed = self.passed_on + self.passed_by
        self.runs = since("executor_runs") if loop.left else since("runs") + passed
        self.iterations = since("iterations") + since("executor_iterations")
        self.seconds = since("seconds") + since("executor_seconds")


def _row(where: _where.Where, inside: str, parts: list[_Since], seconds: float) -> Loop:
    """The row of all graphs with the same loop."""
    loop = parts[0].loop

    def total(name: str) -> Any:
        return sum(getattr(part, name) for part in parts)

    time, iterations, runs = total("seconds"), total("iterations"), total("runs")
    back = total("handed_back") + total("passed_on")
    runs_in = "one kernel, two threads" if total("two_threads") else "one kernel"
    share = time / max(seconds, 1e-9)
    ms = 1e3 * time / max(1, iterations)
    reason, advice, heaviest = "", [], ""
    if loop.left:
        runs_in = "executor"
        reason, remedy = _advice.reason_and_remedy(loop.left)
        advice += [remedy] * bool(remedy)
    elif back:
        runs_in = "executor, estimated faster"
        slowest = max((part.loop for part in parts), key=lambda each: each.heaviest_share)
        reason = _advice.why_handed_back(back, runs, slowest.gain)
        line = _where.line_of(slowest.heaviest)
        heaviest = f"{slowest.heaviest_share:.0%} of an iteration is {slowest.heaviest_type}"
        heaviest += f" ({line})" if line else ""
    elif total("passed_by"):
        reason = _advice.why_passed_by(total("passed_by"), runs)
        if total("passed_by") > runs / 2:
            runs_in = "executor"
    matters = share > _MATTERS and time > _LONG
    advice += _advice.remedies(where, heaviest, 0 if loop.left else ms, matters)
    return Loop(
        **{field.name: getattr(where, field.name) for field in dataclasses.fields(Place)},
        name=loop.name,
        inside=inside,
        runs=runs,
        iterations=iterations,
        seconds=time,
        share=share,
        measured=all(part.measured for part in parts),
        runs_in=runs_in,
        reason=reason,
        gradient=_advice.of_gradient(where),
        advice=tuple(advice),
    )

"""Loops with critical sections run in one kernel, without a deadlock and with stock's values."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

from tests.loops import locked_loops
from tests.support import child

# Runs one function of `locked_loops` in a process of its own, and prints the repr of its result. No
# run is measured and handed back: how many run in one kernel must not depend on the time.
_PROGRAM = """
import sys
import numpy
import tensor_array_grad
from tensor_array_grad import _loader
from tests.loops import locked_loops
from tests.support.hand_back import NEVER
if sys.argv[1] == "ours":
    tensor_array_grad.enable()
    _loader.bind().set_hand_back_after(NEVER)
function, *arguments = sys.argv[2:]
values, left, runs = getattr(locked_loops, function)(
    *[int(a) if a.isdigit() else a for a in arguments])
values = [v.tolist() if isinstance(v, numpy.generic | numpy.ndarray) else v for v in values]
print(repr((values, left, runs)))
"""

Result = tuple[list[Any], dict[str, int], int]


@functools.cache
def _run(side: str, *call: str) -> Result:
    done = child.succeeded(child.python("-c", _PROGRAM, side, *call))
    return eval(done.stdout.splitlines()[-1], {"nan": np.nan})


@pytest.mark.parametrize("name", locked_loops.PROGRAMS)
def test_values_and_counts_are_stocks(name: str) -> None:
    values, left, runs = _run("ours", "compute", name)
    assert values == _run("stock", "compute", name)[0]
    if name == "an_inner_loop":
        assert left == {"a lock in an inner loop": 2}  # of two traces
        assert runs > 2
    else:
        assert (left, runs) == ({}, 2)


@pytest.mark.parametrize("inter_op", ["1", "2"])
def test_no_count_of_threads_that_contend_is_lost(inter_op: str) -> None:
    values, left, runs = _run("ours", "contend", "6", "20", inter_op)
    assert (values, left) == ([(6 * 20 + 1) * locked_loops.N, 0.0], {})
    assert runs == 6 * 20 + 1


@pytest.mark.parametrize("inter_op", ["1", "2"])
def test_a_loop_that_waits_occupies_no_thread(inter_op: str) -> None:
    values, left, _ = _run("ours", "wait_for_another_step", inter_op)
    assert (values, left) == (_run("stock", "wait_for_another_step", inter_op)[0], {})
    assert values[-2] is True, "the loop did not wait"


def test_a_wait_can_be_cancelled() -> None:
    values, left, runs = _run("ours", "cancel")
    assert values == _run("stock", "cancel")[0]
    assert values[-2:] == [True, "CancelledError"]
    assert (left, runs) == ({}, 3)


def test_an_error_gives_the_lock_up() -> None:
    values, left, runs = _run("ours", "fail")
    assert values == _run("stock", "fail")[0]
    assert values[-1] == "too far"
    assert (left, runs) == ({}, 2)


def test_a_session_runs_the_loop_in_one_kernel() -> None:
    values, left, runs = _run("ours", "in_a_session")
    assert values == _run("stock", "in_a_session")[0]
    assert (left, runs) == ({}, 2)

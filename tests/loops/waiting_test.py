"""Loops with which a queue or a function of Python waits end as they do on stock."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.kernel_runner import Runner

# Why the executor runs the loop of each program; "": it runs in one kernel.
_WAIT = "ops may wait for each other"
_REASONS = {
    "enqueue_the_counter": _WAIT,
    "enqueue_the_counter_in_a_session": _WAIT,
    "run_in_parts": _WAIT,
    "python_of_two_iterations": _WAIT,
    "two_of_python": _WAIT,
    "environment": "",
    "element_of_a_dataset": "",
}


@pytest.mark.parametrize(("program", "reason"), _REASONS.items())
def test_the_loop_ends_as_on_stock(ours: Runner, stocks: Runner, program: str, reason: str) -> None:
    got, left = ours.call(f"tests.loops.waiting_programs:{program}")
    want, _ = stocks.call(f"tests.loops.waiting_programs:{program}")
    np.testing.assert_array_equal(got, want)
    assert left == ({reason: 1} if reason else {})

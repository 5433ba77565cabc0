"""Loops with which a queue or a function of Python waits end as they do on stock."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.kernel_runner import Runner

# Why the executor runs how many loops of each program; {}: they run in one kernel.
_WAIT = "ops may wait for each other"
_REASONS = {
    "enqueue_the_counter": {_WAIT: 1},
    "enqueue_what_the_second_loop_counts": {_WAIT: 1},
    "enqueue_the_counter_in_a_session": {_WAIT: 1},
    "run_in_parts": {_WAIT: 1},
    "python_of_two_iterations": {_WAIT: 1},
    "python_of_two_iterations_of_an_inner_loop": {_WAIT: 2},
    "two_of_python": {_WAIT: 1},
    "environment": {},
    "log_of_a_recurrence": {},
    "element_of_a_dataset": {},
}


@pytest.mark.parametrize(("program", "reasons"), _REASONS.items())
def test_the_loop_ends_as_on_stock(
    ours: Runner, stocks: Runner, program: str, reasons: dict[str, int]
) -> None:
    got, left = ours.call(f"tests.loops.waiting_programs:{program}")
    want, _ = stocks.call(f"tests.loops.waiting_programs:{program}")
    np.testing.assert_array_equal(got, want)
    assert left == reasons

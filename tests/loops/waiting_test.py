"""Loops with which a queue or a function of Python waits end as they do on stock."""

from __future__ import annotations

import numpy as np
import pytest

from tests.loops.waiting_programs import IN_ONE_KERNEL, LEFT
from tests.support.kernel_runner import Runner

_HERE = "tests.loops.waiting_programs:"


@pytest.mark.parametrize("program", [*LEFT, "exits_that_leave_at_once"])
def test_the_executor_runs_a_loop_that_must_not_wait(
    ours: Runner, stocks: Runner, program: str
) -> None:
    got, left = ours.call(f"{_HERE}{program}")
    want, _ = stocks.call(f"{_HERE}{program}")
    np.testing.assert_array_equal(got, want)
    reason = "ops may wait for each other" if program in LEFT else "unsupported frame"
    assert left == {reason: 1}


@pytest.mark.parametrize("program", IN_ONE_KERNEL)
def test_one_kernel_runs_a_loop_whose_order_is_known(
    ours: Runner, stocks: Runner, program: str
) -> None:
    got, left = ours.call(f"{_HERE}{program}")
    want, _ = stocks.call(f"{_HERE}{program}")
    np.testing.assert_array_equal(got, want)
    assert left == {}

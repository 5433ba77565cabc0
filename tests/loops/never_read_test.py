"""Loops with lists that they push to and never read give stock's values and stock's errors."""

from __future__ import annotations

import numpy as np
import pytest

from tests.loops.never_read_programs import STEPS
from tests.support import kernel_runner

PROGRAMS = ["pushed_alone", "pushed_beside_a_gradient"]
PAIRS = [2] * STEPS


def both(ours, stocks, program, bound, sizes):
    name = f"tests.loops.never_read_programs:{program}"
    return ours.call(name, bound, sizes), stocks.call(name, bound, sizes)


@pytest.mark.parametrize("program", PROGRAMS)
def test_pushes_that_fit_give_stocks_values(ours, stocks, program):
    for bound in (STEPS, -1):
        got, want = both(ours, stocks, program, bound, PAIRS)
        assert np.ravel(got[0] if isinstance(got, tuple) else got) == STEPS
        assert got == want


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize(
    ("bound", "sizes", "message"),
    [
        (3, PAIRS, "Tried to push item into a full list list size: 3 max_num_elements: 3"),
        (STEPS, [2, 2, 2, 3, 2], "Tried to append a tensor with incompatible shape to a list."),
    ],
    ids=["one_too_many", "another_shape"],
)
def test_a_push_that_the_list_refuses_raises_stocks_error(
    ours, stocks, program, bound, sizes, message
):
    for error in both(ours, stocks, program, bound, sizes):
        assert isinstance(error, kernel_runner.Error), error
        assert error.kind == "InvalidArgumentError"
        assert message in error.message
        assert "TensorListPushBack" in error.message


def test_a_push_for_no_reader_does_not_change_the_order_of_a_sum(ours, stocks):
    program = "tests.loops.never_read_programs:summed_beside_a_push"
    want = stocks.call(program)
    assert len(want) == 1
    assert ours.call(program) == want

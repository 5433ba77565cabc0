"""Compares derivatives with those of stock, in another process, and with central differences.

A method is a way to differentiate a program (tf2_programs.py). The sweep has all programs with the
plainest method, a few programs with every method, and the second derivatives of programs that found
faults. All programs with all methods take about ten minutes:
`TAG_FULL_MATRIX=1 pytest --sweep tests/lists/tf2_matrix_test.py`.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable

import numpy as np
import pytest
import tensorflow as tf

import tensor_array_grad
from tests.lists import tf2_programs
from tests.lists.tf2_programs import METHODS, PROGRAMS, SHAPE
from tests.support.kernel_runner import Runner

tensor_array_grad.enable()

ATTEMPT = "tests.lists.tf2_programs:attempt"

# Stock's first derivatives of these programs are wrong, because an index occurs twice. The programs
# are compared with differences only.
WRONG_IN_STOCK = {
    "gather_with_repeats",
    "gather_with_repeats_in_loop",
    "scatter_with_repeats",
    "scatter_with_repeats_in_loop",
}

# In pfor, stock swaps two axes of the rows that it gathers.
WRONG_UNDER_PFOR = {"scatter_into_array"}

WITH_EVERY_METHOD = ["two_term_recurrence", "gather_with_repeats_in_loop"]
SECOND_ORDER = ["read_loop", "cond_around_read", "dynamic_size", "split_and_concat", "forked"]


def _selected() -> list[str]:
    if os.environ.get("TAG_FULL_MATRIX") == "1":
        return [f"{program}/{method}" for program in PROGRAMS for method in METHODS]
    plain = [f"{program}/tape_inside" for program in PROGRAMS]
    methods = [f"{program}/{method}" for program in WITH_EVERY_METHOD for method in METHODS]
    second = [f"{program}/jacobian_with_pfor" for program in WRONG_UNDER_PFOR]
    second += [f"{program}/hvp_inside" for program in SECOND_ORDER]
    return sorted({*plain, *methods, *second})


class Differences:
    """Derivatives of one program by central differences."""

    def __init__(self, name: str) -> None:
        program = PROGRAMS[name]
        self.x, self.v = (np.asarray(value) for value in tf2_programs.inputs())
        self._value = tf.function(program)
        self._gradient = tf.function(lambda x: tf2_programs._gradient(program, x))
        self._hvp = tf.function(lambda x: tf2_programs._hvp(program, x, tf.constant(self.v)))

    def value(self) -> float:
        return float(self._value(tf.constant(self.x)))

    def gradient(self, x: np.ndarray) -> np.ndarray:
        units = np.eye(x.size).reshape(-1, *SHAPE)
        slopes = [self._along(self._value, x, unit) for unit in units]
        return np.reshape(slopes, SHAPE)

    def second(self) -> np.ndarray:
        return self._along(self._gradient, self.x, self.v)

    def third(self) -> np.ndarray:
        return self._along(self._hvp, self.x, self.v)

    @staticmethod
    def _along(function: Callable, x: np.ndarray, step: np.ndarray) -> np.ndarray:
        h = 1e-5
        ahead, behind = function(tf.constant(x + h * step)), function(tf.constant(x - h * step))
        return np.asarray(ahead - behind) / (2 * h)


differences = functools.cache(Differences)


def expected(program: str, method: str) -> list[np.ndarray]:
    """What `method` should return, from central differences of derivatives one order lower."""
    d = differences(program)
    if method.startswith("hvp"):
        return [d.second()]
    if method == "third_order":
        return [d.third()]
    g = d.gradient(d.x)
    both = [g, 2 * d.value() * g]
    return {
        "persistent_inside": both,
        "persistent_outside": both,
        "two_tapes": [g, g],
        "gradients_three_times": [g, g, g],
        "in_nested_function": [g + d.gradient(2 * d.x)] if method == "in_nested_function" else [],
        "in_while_loop": [g + d.gradient(d.x + d.v)] if method == "in_while_loop" else [],
        "forward_mode": [np.sum(g * d.v)],
        "jacobian_with_pfor": [np.stack(both)],
        "jacobian_without_pfor": [np.stack(both)],
    }.get(method, [g])


@pytest.mark.parametrize("case", _selected())
@pytest.mark.sweep(6)
def test_derivative_is_that_of_stock_and_of_differences(stocks: Runner, case: str) -> None:
    program, method = case.split("/")
    stocks.start_call(ATTEMPT, case)
    ours, theirs = tf2_programs.attempt(case), stocks.finish_call()
    assert isinstance(theirs, dict), theirs
    if "error" in ours:
        assert ours == theirs  # an error is correct only if stock raises it too
        return
    for got, want in zip(ours.values(), expected(program, method), strict=True):
        np.testing.assert_allclose(got, want, atol=1e-6 * max(1.0, np.abs(want).max()))
    wrong = program in WRONG_IN_STOCK or (
        method.endswith("with_pfor") and program in WRONG_UNDER_PFOR
    )
    if not wrong and "error" not in theirs:
        for name, got in ours.items():
            np.testing.assert_allclose(got, theirs[name], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("program", sorted(WRONG_IN_STOCK))
def test_stock_is_still_wrong_if_an_index_occurs_twice(
    stocks: Runner, expect_of_stock: Callable[[bool, str], None], program: str
) -> None:
    # If not, TensorFlow has corrected its gradient functions, and those here can be removed.
    theirs = stocks.call(ATTEMPT, f"{program}/tape_inside")
    assert isinstance(theirs, dict), theirs
    d = differences(program)
    error = np.abs(theirs["0"] - d.gradient(d.x)).max()
    expect_of_stock(error > 1e-3, f"{program}: stock's gradient is right")

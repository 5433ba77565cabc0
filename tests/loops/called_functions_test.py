"""Loops that call functions run in one kernel, with stock's values."""

from __future__ import annotations

import ast
import re

import numpy as np
import pytest

from tests.loops.called_functions import INLINED, NOT_INLINED, PROGRAMS, N
from tests.support import child
from tests.support.hand_back import NEVER
from tests.support.kernel_runner import Runner

_HERE = "tests.loops.called_functions:"


@pytest.mark.parametrize("hand_back_after", [NEVER, 2])
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.sweep(3)
def test_the_loops_run_in_one_kernel_with_stocks_values(
    ours: Runner, stocks: Runner, name: str, hand_back_after: int
) -> None:
    got, counted = ours.call(f"{_HERE}compute", name, hand_back_after)
    want, _ = stocks.call(f"{_HERE}compute", name)
    assert counted.pop("rewritten") >= 1
    assert (counted.pop("handed_back") > 0) == (hand_back_after < N)
    inlined = counted.pop("inlined_calls")
    if hand_back_after == NEVER:  # or else some functions are never called
        assert (inlined > 0) == (name not in NOT_INLINED)
        assert inlined == INLINED.get(name, inlined)
    assert counted == {}
    for one, other in zip(got, want, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    ("program", "package"), [("train_a_layer", "tf_keras"), ("gibbs", "tensorflow_probability")]
)
def test_loops_of_other_libraries_run_in_one_kernel(
    ours: Runner, stocks: Runner, program: str, package: str
) -> None:
    pytest.importorskip(package)
    got, left = ours.call(f"{_HERE}{program}")
    want, _ = stocks.call(f"{_HERE}{program}")
    assert left == {}
    for one, other in zip(got, want, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)


def test_a_dataset_may_run_the_loop(ours: Runner, stocks: Runner) -> None:
    got, left = ours.call(f"{_HERE}in_a_dataset")
    assert left == {}
    np.testing.assert_array_equal(got, stocks.call(f"{_HERE}in_a_dataset")[0])


# Prints what all programs compute if the executor has one thread for kernels.
_ONE_THREAD = """
import tensorflow as tf
tf.config.threading.set_inter_op_parallelism_threads(1)
from tests.loops import called_functions
import tensor_array_grad
tensor_array_grad.enable()
found = {name: called_functions.compute(name)[0] for name in called_functions.PROGRAMS}
found["in_a_dataset"] = called_functions.in_a_dataset()[0]
assert tensor_array_grad.status().loops_left == {}, tensor_array_grad.status().loops_left
print({name: [value.tolist() for value in values] for name, values in found.items()})
"""


def test_one_thread_is_enough(stocks: Runner) -> None:
    done = child.python("-c", _ONE_THREAD)
    assert done.returncode == 0, done.stderr
    want = {name: stocks.call(f"{_HERE}compute", name)[0] for name in PROGRAMS}
    want["in_a_dataset"] = stocks.call(f"{_HERE}in_a_dataset")[0]
    as_lists = {name: [value.tolist() for value in values] for name, values in want.items()}
    assert ast.literal_eval(done.stdout) == as_lists


def _without_names(message: str) -> str:
    """Without the numbers in names of functions, and the line that names RunLoop."""
    return re.sub(r"\n\t \[\[\S+_in_one_kernel/_\d+\]\]|__\w+|\d+", "", message)


def test_an_error_of_a_function_is_stocks(ours: Runner, stocks: Runner) -> None:
    before, message, after = ours.call(f"{_HERE}compute_and_fail")
    want_before, want_message, want_after = stocks.call(f"{_HERE}compute_and_fail")
    assert (before, after) == (want_before, want_after) == (3.0, 3.0)
    assert "too large" in message
    assert _without_names(message) == _without_names(want_message)


def test_the_error_of_an_inlined_function_is_stocks(ours: Runner, stocks: Runner) -> None:
    got = ours.call(f"{_HERE}fail_in_an_inlined_function")
    want = stocks.call(f"{_HERE}fail_in_an_inlined_function")
    for one, other in zip(got, want, strict=True):
        assert "Error: " in other
        assert _without_names(one) == _without_names(other)


@pytest.mark.parametrize("threads", [1, 4])
def test_a_long_first_run_does_not_wait_for_the_second(
    ours: Runner, stocks: Runner, threads: int
) -> None:
    got, counters = ours.call(f"{_HERE}one_long_run", threads)
    want, _ = stocks.call(f"{_HERE}one_long_run", threads)
    np.testing.assert_array_equal(got, want)
    assert counters["loops.inlined_calls"] == 3  # of `outer`, then of `inner` in it, twice


def test_an_error_ends_a_loop_beside_it(ours: Runner, stocks: Runner) -> None:
    message = ours.call(f"{_HERE}fail_beside_a_loop_without_end")
    assert "Input is not invertible" in message
    want = stocks.call(f"{_HERE}fail_beside_a_loop_without_end")
    assert _without_names(message).split("[[")[0] == _without_names(want).split("[[")[0]


def test_a_dead_result_is_stocks_error(ours: Runner, stocks: Runner) -> None:
    got, want = ours.call(f"{_HERE}dead_results"), stocks.call(f"{_HERE}dead_results")
    for one, other in zip(got, want, strict=True):
        assert "does not match declared output type" in one
        assert _without_names(one) == _without_names(other)


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        ("take_from_a_queue", "a called function may wait"),
        ("call_a_function_in_python", "a called function may wait"),
        ("with_an_executor_of_one_thread", "a called function may wait"),
    ],
)
def test_these_calls_stay_in_the_executor(
    ours: Runner, stocks: Runner, program: str, reason: str
) -> None:
    value, left = ours.call(f"{_HERE}{program}")
    np.testing.assert_array_equal(value, stocks.call(f"{_HERE}{program}")[0])
    assert set(left) == {reason}

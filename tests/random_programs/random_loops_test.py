"""Random programs with loops give the same results with the library and on stock."""

from __future__ import annotations

import collections
import functools

import numpy as np
import pytest

from tests.random_programs import random_loops
from tests.random_programs.random_loops import LoopProgram, Ran, Tally, random_loop
from tests.support import kernel_runner

# Each of these occurs in at least one of the first _COVERED_BY programs.
# fmt: off
_FEATURES = [
    "while_loop", "autograph", "for_range", "depth_2", "depth_3", "inner_count_varies",
    "zero_iterations", "cond", "cond_in_loop", "branch_in_branch", "switch_case", "switch_in_loop",
    "early_exit", "ends_by_data", "counts_down", "step_of_two", "swapped", "rotated", "invariant",
    "captured_returned", "loop_in_taken_branch", "loop_in_untaken_branch", "maximum_iterations",
    "only_maximum_iterations", "parallel_iterations_1", "parallel_iterations_2",
    "parallel_iterations_10", "array_fixed", "array_dynamic", "array_clear_after_read",
    "array_kept", "array_unstack", "array_scatter", "array_read", "array_write", "array_stack",
    "array_gather", "array_concat", "array_split", "array_recurrence", "array_write_in_branch",
    "array_list", "array_v3", "array_of_float16", "array_of_float32", "array_of_float64",
    "array_of_bfloat16", "array_of_complex64", "array_of_complex128", "array_of_int32",
    "array_of_int64", "array_of_bool", "array_of_string", "raw_list", "scan", "map_fn", "foldl",
    "foldr", "variable", "variable_read", "variable_assigned", "shape_changes", "shape_invariants",
    "dtype_float16", "dtype_float32", "dtype_float64", "dtype_bfloat16", "dtype_complex64",
    "dtype_complex128", "dtype_int32", "dtype_int64", "dtype_bool", "dtype_string",
    "numpy_function", "py_function", "called", "called_with_a_loop", "custom_gradient", "assert",
    "not_inlined", "not_inlined_with_a_loop", "drawn", "drawn_in_a_function", "mode_dataset",
    "error_division", "error_range", "error_reshape", "error_assert", "mode_value",
    "mode_tape_inside", "mode_tape_outside", "mode_gradients", "mode_second_order",
    "mode_hessian_vector", "mode_jacobian", "mode_session_v1", "mode_session_v2",
]
# fmt: on
_COVERED_BY = 400  # programs, enough for the rarest feature


@pytest.fixture(scope="module")
def pair(stocks):
    with random_loops.Pair(stock=stocks.another()) as started:
        yield started


# Every 14th number: the programs of a stride are as mixed as those of a range. The command line of
# random_loops runs more of them.
@pytest.mark.parametrize("first", [140, 0, 280, 420])
@pytest.mark.sweep(2)
def test_random_loops_give_the_results_of_stock(pair, capfd, first):
    tally = random_loops.compare(pair, range(first, first + 98, 14), quiet=True)
    out = capfd.readouterr().out
    assert tally.differences == 0, out
    assert tally.programs == 7
    assert tally.values > 25
    assert tally.unbuilt == 0, tally.unexpected


def test_the_programs_cover_every_kind_of_loop():
    counts = collections.Counter()
    for seed in range(_COVERED_BY):
        counts.update(random_loop(seed).features)
    assert [feature for feature in _FEATURES if not counts[feature]] == []
    assert counts["error"] < 0.15 * _COVERED_BY


def test_a_program_is_a_function_of_its_number():
    again = random_loop.__wrapped__(3)
    assert again == random_loop(3)
    assert again.text != random_loop(4).text


def _program() -> LoopProgram:
    return random_loop(3)


def _ran(**changes: object) -> Ran:
    results = {
        "values": [np.array([1.0, np.nan])],
        "gradients": [np.array([0.0])],
        "effects": [np.array(3)],
    }
    return Ran(**{**results, **changes})


def test_a_value_that_stock_loses_is_accepted_if_it_is_right():
    lost = Ran(error=("InvalidArgumentError", "Retval[0] does not have value"))
    tally = Tally()
    assert tally.add(_program(), _ran(), lost, unoptimised=_ran) == []
    assert (tally.repaired, tally.differences) == (1, 0)
    wrong = functools.partial(_ran, effects=[np.array(4)])
    assert len(tally.add(_program(), _ran(), lost, unoptimised=wrong)) == 1


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({}, []),
        ({"values": [np.array([1.0, -np.nan])]}, []),
        ({"gradients": [np.array([-0.0])]}, []),
        ({"values": [np.array([-1.0, np.nan])]}, ["values[0]"]),
        ({"values": [np.array([1.0, np.nan], np.float32)]}, ["values[0]"]),
        ({"values": []}, ["values"]),
        ({"gradients": [np.array([1e-300])]}, ["gradients[0]"]),
        ({"effects": [np.array(4)]}, ["effects[0]"]),
        ({"error": ("InvalidArgumentError", "division by zero")}, ["error"]),
        ({"unbuilt": "ValueError"}, ["building"]),
    ],
)
def test_a_different_result_is_a_difference(changes, found):
    lines = Tally().add(_program(), _ran(**changes), _ran())
    assert [line.split(":")[0] for line in lines] == found


def test_a_zero_of_another_sign_is_a_difference_in_values_but_not_in_gradients():
    got, want = np.array([-0.0]), np.array([0.0])
    assert not random_loops.same_value(got, want)
    assert random_loops.same_gradient(got, want)


def _of(*gradients: list[float]) -> Ran:
    return Ran(gradients=[np.array(gradient) for gradient in gradients])


@pytest.mark.parametrize(
    ("got", "given"),
    [
        (_of([1.0, 2.0]), True),
        (_of([1.5, 2.0]), True),  # the elements come from different runs
        (_of([1.0, 2.5]), True),
        (_of([1.0, 3.0]), False),
        (_of([np.nan, 2.0]), False),
    ],
)
def test_stock_gives_a_gradient_if_it_gives_each_element_in_some_run(got, given):
    runs = [_of([1.0, 2.0]), _of([1.5, 2.5])]
    assert random_loops.given_by(got, runs) is given


@pytest.mark.parametrize(
    ("got", "given"),
    [
        (Ran(values=[np.array([1.0, np.nan])]), True),
        (Ran(values=[np.array([1.0, -np.nan])]), True),
        (Ran(values=[np.array([-1.0, np.nan])]), False),
        (Ran(values=[np.array([1.0, np.nan], np.float32)]), False),
        (Ran(values=[np.array([1.0])]), False),
        (Ran(values=[]), False),
        (Ran(values=[np.array([1.0, np.nan])], error=("ValueError", "")), False),
        (Ran(values=[np.array([1.0, np.nan])], effects=[np.array(1)]), False),
    ],
)
def test_stock_gives_a_value_if_it_gives_its_bits(got, given):
    assert random_loops.given_by(got, [Ran(values=[np.array([1.0, np.nan])])]) is given


@pytest.mark.parametrize(
    "run",
    [
        kernel_runner.Died(11),
        kernel_runner.Hung(1.0),
        Ran(gradients=[np.array([1.0])]),
        Ran(values=[np.array([1.0])], unbuilt="ValueError"),
    ],
)
def test_a_stock_run_that_ends_in_another_way_gives_no_result(run):
    assert not random_loops.given_by(Ran(values=[np.array([1.0])]), [run])


def test_an_error_is_stocks_if_one_of_its_runs_ends_with_it():
    one, other = (Ran(error=("InvalidArgumentError", f"Stack {name} is empty")) for name in "ab")
    assert random_loops.given_by(other, [one, other])
    assert not random_loops.given_by(other, [one, one])
    assert not random_loops.given_by(other, [_of([1.0]), other])
    assert not random_loops.given_by(other, [kernel_runner.Hung(1.0), other])
    assert not random_loops.given_by(_of([1.0]), [one, _of([1.0])])


def test_zeros_and_strings_are_compared_with_runs_of_stock():
    zero, text = np.array([0.0]), np.array([b"a"], object)
    assert not random_loops.given_by(Ran(values=[-zero]), [Ran(values=[zero])])
    assert random_loops.given_by(Ran(gradients=[-zero]), [Ran(gradients=[zero])])
    assert random_loops.given_by(Ran(values=[text]), [Ran(values=[text.copy()])])
    assert not random_loops.given_by(Ran(values=[text]), [Ran(values=[text + b"b"])])


def test_a_result_that_differs_is_accepted_only_if_another_run_of_stock_gives_it():
    for again, found in (([1.5], []), ([2.5], ["value"])):
        tally = Tally()
        lines = tally.add(
            _program(),
            Ran(values=[np.array([1.5])]),
            Ran(values=[np.array([1.0])]),
            stock_again=lambda values=again: [Ran(values=[np.array(values)])],
        )
        assert [line.split("s[")[0] for line in lines] == found
        assert tally.unsteady == (not found)


def test_last_bits_of_gradients_may_differ_if_loops_in_the_executor_give_the_same_bits():
    tally = Tally()
    got = _of([np.nextafter(1.0, 2)])
    assert tally.add(_program(), got, _of([1.0]), without_loops=lambda: got) == []
    assert (tally.rounded, tally.unsteady) == (1, 0)
    assert len(tally.add(_program(), got, _of([1.0]), without_loops=lambda: _of([1.0]))) == 1
    assert len(tally.add(_program(), _of([1.1]), _of([1.0]), without_loops=lambda: _of([1.1]))) == 1


def test_last_bits_that_differ_are_accepted_only_if_another_run_of_the_library_gives_stocks():
    got, want = _of([np.nextafter(1.0, 2.0)]), _of([1.0])
    tally = Tally()
    assert tally.add(_program(), got, want, ours_again=lambda: [got, want]) == []
    assert (tally.reordered, tally.differences) == (1, 0)
    assert len(tally.add(_program(), got, want, ours_again=lambda: [got])) == 1
    assert len(tally.add(_program(), _of([1.1]), want, ours_again=lambda: [want])) == 1

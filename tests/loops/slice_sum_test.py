"""Gradients of indexing in loops equal stock's. Their cost is proportional to the rows read."""

from __future__ import annotations

import numpy as np
import pytest

from tests.loops import slice_programs

RUN = "tests.loops.slice_programs:gradients_of_each"
COUNT = "tests.loops.slice_programs:counted"
SLICES = ["index", "index_from_the_end", "range", "new_axis_and_ellipsis", "number", "slice"]
# The programs that read a number of rows that does not depend on the size of x.
LINEAR = [
    *SLICES,
    "gather",
    "gather_repeated",
    "gather_matrix",
    "gather_nd",
    "gather_nd_numbers",
    "two",
    "overlapping",
    "in_a_branch",
    "in_a_branch_alone",
    "in_nested_branches",
    "in_a_case",
    "two_in_a_branch",
    "in_a_branch_and_outside",
    "gathered_in_a_branch",
    "gathered_in_the_other_branch",
    "through_a_function",
]

# Those of them whose gradient TF1 sums in the loop. It keeps the rows of gathers.
LINEAR_IN_TF1 = [*SLICES, "gather_nd_numbers", "two", "in_a_branch_alone"]

MOST_ROWS = 3  # the most rows that one iteration of these programs adds to a gradient


@pytest.fixture(scope="module")
def known():
    """The gradients that were computed before, of the library and of stock."""
    return {}


@pytest.mark.parametrize(
    ("dtype", "method"),
    [("float32", method) for method in slice_programs.METHODS]
    + [(dtype, "inside") for dtype in slice_programs.DTYPES if dtype != "float32"],
)
@pytest.mark.parametrize("third", range(3))
@pytest.mark.sweep(4)
def test_gradients_equal_those_of_stock(ours, stocks, known, dtype, method, third):
    # The first gradient from a tape that is used twice is the one that `outside` computes.
    run, count = ("twice_from_one_tape", 1) if method == "outside" else (method, None)
    names = list(slice_programs.READS)[third::3]
    if (dtype, run, third) not in known:
        ours.start_call(RUN, names, dtype, run)
        stocks.start_call(RUN, names, dtype, run)
        known[dtype, run, third] = ours.finish_call(), stocks.finish_call()
    got, want = known[dtype, run, third]
    assert list(got) == names, got
    for name, wanted in want.items():
        for one, other in zip(got[name][:count], wanted[:count], strict=True):
            assert one.dtype == other.dtype
            # Zeros may differ in sign: the library adds no zeros outside of a slice.
            np.testing.assert_array_equal(one, other, err_msg=name)


@pytest.mark.parametrize("dtype", slice_programs.DTYPES)
def test_zeros_inside_of_a_slice_have_the_sign_of_stock(ours, stocks, dtype):
    run = "tests.loops.slice_programs:sums_of_negative_zeros"
    ours.start_call(run, dtype)
    stocks.start_call(run, dtype)
    got, want = ours.finish_call(), stocks.finish_call()
    assert isinstance(got, dict), got
    assert {name: zeros.tobytes() for name, zeros in got.items()} == {
        name: zeros.tobytes() for name, zeros in want.items()
    }


@pytest.mark.parametrize("name", LINEAR)
@pytest.mark.sweep(3)
def test_at_most_one_tensor_is_copied_per_loop(ours, name):
    steps = 200
    once, twice = (ours.call(COUNT, name, n, timeout=120) for n in (steps, 2 * steps))
    row = slice_programs.WIDTH * 4
    for counts, n in ((once, steps), (twice, 2 * steps)):
        assert counts["slice_sums.in_place"] >= n - 1
        assert counts["slice_sums.copied_bytes"] <= (n + 2) * row
        assert counts["slice_sums.rows"] <= MOST_ROWS * n


# TensorFlow folds no constants of 100 KiB or more, such as the numbers of 25,600 rows.
@pytest.mark.parametrize("conditionals", [1, 2, 3])
@pytest.mark.parametrize("is_known", [True, False])
@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize("rows", [100, 25_599, 25_600, 100_000])
@pytest.mark.sweep(5)
def test_a_branch_without_a_lookup_adds_no_row_per_row_of_the_table(
    ours, conditionals, rows, dtype, is_known
):
    run = "tests.loops.slice_programs:lookup_in_a_branch"
    gradient, counts = ours.call(run, conditionals, rows, dtype, is_known, timeout=120)
    want = np.zeros((rows, 4), np.float32)
    want[rows - 1], want[1] = 1.25, 0.5
    np.testing.assert_array_equal(gradient, want)
    assert counts["slice_sums.rows"] == 5


@pytest.mark.parametrize("method", ["session_v1", "session_v1_unknown_shape"])
@pytest.mark.parametrize("name", LINEAR_IN_TF1)
@pytest.mark.sweep(3)
def test_at_most_one_tensor_is_copied_per_loop_of_tf1(ours, name, method):
    steps, calls = 200, 2
    row = slice_programs.WIDTH * 4
    for n in (steps, 2 * steps):
        counts = ours.call(f"{COUNT}_in_tf1", name, n, method, timeout=120)
        assert counts["slice_sums.in_place"] >= calls * (n - 1)
        assert counts["slice_sums.copied_bytes"] <= calls * (n + 2) * row
        assert counts["slice_sums.rows"] <= calls * MOST_ROWS * n


@pytest.mark.parametrize("dtype", slice_programs.DTYPES)
def test_sums_of_other_shapes_are_those_of_add(ours, stocks, dtype):
    run = "tests.loops.slice_programs:sums_of_other_shapes"
    ours.start_call(run, dtype)
    stocks.start_call(run, dtype)
    (got, replaced), (want, _) = ours.finish_call(), stocks.finish_call()
    assert got == want
    assert replaced > 0
    # Grappler orders the operands of Add. slice_adder_test.cc has the errors of both orders.
    for form in ("after", "before", "after a branch", "before a sum"):
        assert want[f"Pad {form} [4]"] == ["Incompatible shapes: [2,3] vs. [4]"]


@pytest.mark.parametrize("name", ["index", "two", "gather_repeated", "in_a_branch"])
def test_calls_from_several_threads_share_no_sum(ours, name):
    run = "tests.loops.slice_programs:from_several_threads"
    steps, threads = 60, 6
    calls, added_in_place = ours.call(run, name, steps, threads, timeout=120)
    assert len(calls) == 5 * threads
    assert added_in_place >= steps * len(calls)
    for together, alone in calls:
        for one, other in zip(together, alone, strict=True):
            np.testing.assert_array_equal(one, other)


def test_the_gradient_of_lookups_in_a_table_takes_linear_time(ours, stocks):
    run, steps = "tests.loops.slice_programs:looked_up", 200
    got, counts = ours.call(run, [0, 3, 0], steps, timeout=120)
    want, _ = stocks.call(run, [0, 3, 0], steps, timeout=120)
    np.testing.assert_array_equal(got, want)
    assert counts["slice_sums.in_place"] >= steps - 1
    assert counts["slice_sums.copied_bytes"] <= got.nbytes

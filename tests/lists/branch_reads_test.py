"""Gradients of reads in branches: stock's bits and linear work, also on stock's list kernels."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest

from tests.lists.branch_reads import PROGRAMS
from tests.support.kernel_runner import Runner

_HERE = "tests.lists.branch_reads:"
N = 24
ROW_BYTES = 16
# A loop in a branch has a sum of its own, which is a list with several elements.
LINEAR = sorted(PROGRAMS.keys() - {"in_a_loop_of_a_branch", "outside_of_a_loop", "second_order"})

DTYPES_OF = ("in_both_branches", "twice_in_a_branch")


@pytest.fixture(scope="module")
def on_stocks_kernels() -> Iterator[Runner]:
    with Runner("enable", env={"TENSOR_ARRAY_GRAD_KERNELS": "off"}) as runner:
        yield runner


@pytest.mark.parametrize(
    ("name", "dtype"),
    [(name, "float32") for name in PROGRAMS]
    + [(name, dtype) for name in DTYPES_OF for dtype in ("float64", "complex64", "bfloat16")],
)
@pytest.mark.sweep(2)
def test_values_and_gradients_are_stocks(
    ours: Runner, stocks: Runner, on_stocks_kernels: Runner, name: str, dtype: str
) -> None:
    runners = (ours, on_stocks_kernels, stocks)
    for runner in runners:
        runner.start_call(_HERE + "compute", name, N, dtype)
    mine, kept, want = (runner.finish_call() for runner in runners)
    for got in (mine, kept):
        for one, other in zip(got, want, strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("name", LINEAR)
def test_an_iteration_sums_a_few_rows_on_stocks_kernels(
    on_stocks_kernels: Runner, name: str
) -> None:
    n = 80
    assert 0 < on_stocks_kernels.call(_HERE + "bytes_of_sums", name, n) <= 4 * n * ROW_BYTES


def test_without_the_library_it_sums_all_rows(
    stocks: Runner, expect_of_stock: Callable[[bool, str], None]
) -> None:
    n = 80
    summed = stocks.call(_HERE + "bytes_of_sums", "in_one_branch", n)
    expect_of_stock(summed > n * n / 2 * ROW_BYTES, f"stock summed only {summed:,} bytes")

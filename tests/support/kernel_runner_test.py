"""Tests of `kernel_runner`: an answer belongs to one call, and stock stays stock."""

from __future__ import annotations

from tests.support.kernel_runner import Runner


def test_an_answer_that_nothing_received_is_not_the_answer_to_the_next_call(stocks: Runner) -> None:
    stocks.start_call("operator:add", 1, 2)
    stocks.start_call("operator:add", 3, 4)
    assert stocks.finish_call() == 7


def test_enable_keeps_stocks_kernels_in_a_runner_of_stock(stocks: Runner) -> None:
    results = []
    for function in ("enable", "is_enabled"):  # in the same worker
        stocks.start_call(f"tensor_array_grad:{function}")
        results.append(stocks.finish_call())
    stocks.restart()
    assert results == [None, False]

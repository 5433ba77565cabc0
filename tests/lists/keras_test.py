"""Keras, the loop functions and TensorFlow's wrappers return what they return on stock."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import tensor_array_grad
from tests.lists import tf2_workloads
from tests.support.stock_cases import StockCases

tensor_array_grad.enable()

CASES = list(tf2_workloads.WORKLOADS)


@pytest.fixture(scope="module")
def stock(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StockCases]:
    """The results of the workloads on stock, by name."""
    cases = StockCases("tests.lists.tf2_workloads", CASES, tmp_path_factory.mktemp("stock"))
    yield cases
    cases.close()


@pytest.mark.parametrize("case", CASES)
def test_workload_returns_what_stock_returns(stock, case):
    ours, theirs = tf2_workloads.attempt(case), stock(case)
    assert "error" not in theirs, theirs["text"]
    assert ours.keys() == theirs.keys(), ours.get("text")
    for name, got in ours.items():
        np.testing.assert_allclose(got, theirs[name], rtol=2e-5, atol=2e-6, err_msg=name)

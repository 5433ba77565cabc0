"""Keras, the loop functions and TensorFlow's wrappers return what they return on stock."""

from __future__ import annotations

import numpy as np
import pytest

import tensor_array_grad
from tests.lists import tf2_workloads
from tests.support.kernel_runner import Runner

tensor_array_grad.enable()


@pytest.mark.parametrize("case", list(tf2_workloads.WORKLOADS))
@pytest.mark.sweep(3)
def test_workload_returns_what_stock_returns(stocks: Runner, case: str) -> None:
    stocks.start_call("tests.lists.tf2_workloads:attempt", case)
    ours, theirs = tf2_workloads.attempt(case), stocks.finish_call()
    assert isinstance(theirs, dict), theirs
    assert "error" not in theirs, theirs["text"]
    assert ours.keys() == theirs.keys(), ours.get("text")
    for name, got in ours.items():
        np.testing.assert_allclose(got, theirs[name], rtol=2e-5, atol=2e-6, err_msg=name)

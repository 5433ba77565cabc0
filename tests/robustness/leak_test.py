"""Arrays are freed with their handles, in each mode and also after errors."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

import tensor_array_grad
from tests.robustness import leak
from tests.support import kernel_runner
from tests.support.memory import resident_bytes

_CALLS = 800
raw = tf.raw_ops


@pytest.mark.parametrize("mode", kernel_runner.MODES)
def test_many_calls_leave_no_array_and_grow_no_more_than_calls_without_arrays(ours, mode):
    grown, errors, left = ours.call("tests.robustness.leak:measure", mode, True, _CALLS)
    control, control_errors, _ = ours.call("tests.robustness.leak:measure", mode, False, _CALLS)
    assert errors == control_errors >= _CALLS / leak.PER_RUN / 5
    assert left == 0
    # One leaked element per call would be 13 MB.
    assert grown < control + 5e6, f"{grown:,} bytes with arrays, {control:,} without"


def test_the_measurement_detects_the_leak_of_stock(stocks, expect_of_stock):
    """Checks the measurement itself."""
    grown = stocks.call("tests.robustness.leak_test:grow_eagerly", 600)
    expect_of_stock(grown > 600 * leak.WORDS * 4 / 2, f"stock leaked only {grown:,} bytes")


def grow_eagerly(calls: int) -> int:
    value = tf.ones([leak.WORDS])
    before = resident_bytes()
    for _ in range(calls):
        handle, flow = raw.TensorArrayV3(size=1, dtype=tf.float32)
        raw.TensorArrayWriteV3(handle=handle, index=0, value=value + 1.0, flow_in=flow)
    return resident_bytes() - before


def _bytes() -> int:
    return tensor_array_grad.status().bytes_alive


def test_closing_frees_the_elements_at_once_while_a_handle_exists():
    before = _bytes()
    handle, flow = raw.TensorArrayV3(size=2, dtype=tf.float32)
    raw.TensorArrayScatterV3(
        handle=handle, indices=[0, 1], value=np.ones([2, 100000], np.float32), flow_in=flow
    )
    assert _bytes() - before >= 800000
    raw.TensorArrayCloseV3(handle=handle)
    assert _bytes() == before


def test_reading_with_clear_frees_the_element():
    before = _bytes()
    handle, flow = raw.TensorArrayV3(size=1, dtype=tf.float32)
    raw.TensorArrayWriteV3(handle=handle, index=0, value=tf.ones([1000]), flow_in=flow)
    assert _bytes() - before >= 4000
    raw.TensorArrayReadV3(handle=handle, index=0, flow_in=flow, dtype=tf.float32)
    assert _bytes() == before

"""The typed ops have the arguments and results of `tf.raw_ops`, and check the rank of a prefix."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
import tensorflow as tf

from tensor_array_grad import raw_ops

OPS = ("TensorArrayGradV3", "TensorArrayGradWithShape")


@pytest.mark.parametrize("op", OPS)
def test_the_arguments_are_those_of_tensorflow(op):
    ours = inspect.signature(getattr(raw_ops, op)).parameters
    stock = inspect.signature(getattr(tf.raw_ops, op)).parameters
    assert list(ours) == list(stock)
    assert {k: v.default for k, v in ours.items()} == {k: v.default for k, v in stock.items()}


@pytest.mark.parametrize("op", OPS)
def test_the_result_is_a_named_tuple_like_that_of_tensorflow(op):
    handle, flow = tf.raw_ops.TensorArrayV3(size=2, dtype=tf.float32)
    extra = {"shape_to_prepend": [3]} if op == "TensorArrayGradWithShape" else {}
    ours = getattr(raw_ops, op)(handle=handle, flow_in=flow, source="a", **extra)
    stock = getattr(tf.raw_ops, op)(handle=handle, flow_in=flow, source="a", **extra)
    assert type(ours).__name__ == type(stock).__name__ == op
    assert (
        ours._fields == stock._fields == ("grad_handle", "flow_out") == raw_ops.GradOutput._fields
    )
    assert ours.grad_handle.dtype == tf.resource
    assert ours.flow_out.dtype == tf.float32


def summed_writes(values):
    """Writes each row of `values` to slot 0 of a gradient array, and reads the slot."""
    handle, flow = tf.raw_ops.TensorArrayV3(size=1, dtype=values.dtype)
    grad, flow = raw_ops.TensorArrayGradV3(handle, flow, "gradients")
    for row in range(values.shape[0]):
        flow = tf.raw_ops.TensorArrayWriteV3(handle=grad, index=0, value=values[row], flow_in=flow)
    return tf.raw_ops.TensorArrayReadV3(handle=grad, index=0, flow_in=flow, dtype=values.dtype)


def test_writes_to_the_gradient_array_are_summed_in_each_mode(mode, counted):
    values = np.arange(12.0).reshape(4, 3)
    np.testing.assert_array_equal(mode(summed_writes)(values), values.sum(axis=0))
    assert counted["kernels.TensorArrayGradV3"] == 1
    assert counted["kernels.TensorArrayWriteV3"] == 4


def zeros_with_prefix(prefix):
    handle, flow = tf.raw_ops.TensorArrayV3(size=1, dtype=tf.float32, element_shape=[2])
    grad, flow = raw_ops.TensorArrayGradWithShape(handle, flow, prefix, "gradients")
    return tf.raw_ops.TensorArrayReadV3(handle=grad, index=0, flow_in=flow, dtype=tf.float32)


@pytest.mark.parametrize("prefix", [[], [4], [3, 0], [1, 5]])
def test_the_prefix_precedes_the_forward_shape_in_each_mode(mode, prefix):
    got = mode(zeros_with_prefix)(np.array(prefix, np.int32))
    np.testing.assert_array_equal(got, np.zeros([*prefix, 2], np.float32))


@pytest.mark.parametrize("prefix", [3, [[3]]])
def test_a_prefix_that_is_no_vector_is_refused_in_each_mode(mode, prefix):
    refused = tf.errors.InvalidArgumentError
    with pytest.raises(refused, match=r"shape_to_prepend must be a vector, got a tensor of shape"):
        mode(zeros_with_prefix)(np.array(prefix, np.int32))


def test_the_argument_name_is_the_name_of_the_op_in_the_graph():
    with tf.Graph().as_default():
        handle, flow = tf.raw_ops.TensorArrayV3(size=1, dtype=tf.float32)
        grad, _ = raw_ops.TensorArrayGradV3(handle, flow, "s", name="mine")
        assert grad.op.name == "mine"
        assert grad.op.type == "TensorArrayGradV3"
        assert grad.op.get_attr("source") == b"s"

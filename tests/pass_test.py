"""The graph pass: what it rewrites, what it leaves, and that results do not depend on it."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf

import tensor_array_grad

tensor_array_grad.enable()

REWRITES = "graph.accumulate"
N = 6


def read_loop(x):
    array = tf.TensorArray(tf.float64, N, clear_after_read=False).unstack(x)

    def body(i, h):
        return i + 1, tf.tanh(h + array.read(i))

    return tf.while_loop(lambda i, h: i < N, body, (0, x[0]))[1]


def reads_unrolled(x):
    array = tf.TensorArray(tf.float64, N, clear_after_read=False).unstack(x)
    return sum(array.read(i) ** (i + 1) for i in (0, 2, 2, 5))


def read_in_a_branch(x):
    array = tf.TensorArray(tf.float64, N, clear_after_read=False).unstack(x)

    def body(i, h):
        return i + 1, h + tf.cond(i < 3, lambda: array.read(i), lambda: h)

    return tf.while_loop(lambda i, h: i < N, body, (0, x[0]))[1]


def gradient_of(program, enabled=True):
    """The gradient at a fixed point, of a function traced and first run under that switch."""

    @tf.function
    def gradient(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(program(x) ** 2)
        return tape.gradient(y, x)

    with tensor_array_grad.graph_pass(enabled):
        return gradient(tf.constant(np.random.default_rng(2).normal(size=(N, 2)))).numpy()


def test_the_gradient_of_a_read_in_a_loop_is_rewritten_once(counted):
    gradient_of(read_loop)
    assert counted[REWRITES] == 1  # one place in the graph of the loop's body
    assert counted["kernels.TensorArrayGrad>ListAccumulate"] == N
    assert counted["kernels.TensorListSetItem"] == counted["kernels.TensorListReserve"] == 0


def test_reads_outside_a_loop_become_a_chain(counted):
    gradient_of(reads_unrolled)
    assert counted[REWRITES] == 2  # of three elements one is what the others are added to


@pytest.mark.parametrize("program", [read_loop, reads_unrolled, read_in_a_branch])
def test_results_do_not_depend_on_the_pass(program):
    np.testing.assert_allclose(
        gradient_of(program), gradient_of(program, enabled=False), rtol=1e-15
    )


def test_switched_off_nothing_is_rewritten(counted):
    gradient_of(read_loop, enabled=False)
    assert counted[REWRITES] == 0
    assert counted["kernels.TensorListSetItem"] == N


def test_the_context_puts_back_what_was_set_before():
    with tensor_array_grad.graph_pass(False):
        with tensor_array_grad.graph_pass(True):
            assert tensor_array_grad.status().graph_pass
        assert not tensor_array_grad.status().graph_pass
    assert tensor_array_grad.status().graph_pass


def test_a_function_that_ran_already_stays_as_it_was(counted):
    @tf.function
    def gradient(x):
        return tf.gradients(tf.reduce_sum(read_loop(x)), x)[0]

    x = tf.ones([N, 2], tf.float64)
    with tensor_array_grad.graph_pass(False):
        gradient(x)
    gradient(x)
    assert counted[REWRITES] == 0


def _add_one_element_list(base, num_elements, dtype=tf.float32, shape=(), index=0, use_twice=False):
    """AddN of `base` and a list with a one at `index`; returns the stack of the sum."""
    shape = tf.constant(shape, tf.int32)
    handle = tf.raw_ops.TensorListReserve(
        element_shape=shape, num_elements=num_elements, element_dtype=dtype
    )
    item = tf.ones(shape, dtype)
    handle = tf.raw_ops.TensorListSetItem(input_handle=handle, index=index, item=item)
    total = tf.raw_ops.AddN(inputs=[base, handle])
    if use_twice:
        total = tf.raw_ops.AddN(inputs=[total, handle])
    return tf.raw_ops.TensorListStack(
        input_handle=total, element_shape=shape, element_dtype=dtype, num_elements=-1
    )


def _base(size=3, shape=()):
    return tf.raw_ops.TensorListFromTensor(
        tensor=tf.fill([size, *shape], 5.0), element_shape=tf.constant(shape, tf.int32)
    )


def _run(enabled, length=3, **options):
    # The list comes in as an argument, so that nothing is known of it before the function runs.
    @tf.function(input_signature=[tf.TensorSpec([], tf.variant), tf.TensorSpec([], tf.int32)])
    def function(base, num_elements):
        return _add_one_element_list(base, num_elements, **options)

    with tensor_array_grad.graph_pass(enabled):
        return function(_base(), tf.constant(length))


def test_a_sum_written_by_hand_is_rewritten_too(counted):
    np.testing.assert_array_equal(_run(True), [6, 5, 5])
    assert counted[REWRITES] == 1


def test_a_list_with_another_consumer_is_left_alone(counted):
    np.testing.assert_array_equal(_run(True, use_twice=True), [7, 5, 5])
    assert counted[REWRITES] == 0


ERRORS = {
    "another length": {"length": 4},
    "another type": {"dtype": tf.int32},
    "another element shape": {"shape": (2,)},
    "an index past the end": {"index": 3},
    "a negative index": {"index": -1},
    "a negative length": {"length": -1},
}


@pytest.mark.parametrize("what", list(ERRORS))
def test_an_error_is_the_same_error_after_a_rewrite(counted, what):
    def message(enabled):
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"element|list") as raised:
            _run(enabled, **ERRORS[what])
        said = raised.value.message
        assert "in _add_one_element_list" in said  # the line of Python that made the op
        lines = [line for line in said.splitlines() if "File" not in line]
        sentence = next(line for line in lines if re.search("element|lists? ", line))
        return sorted(sentence.split())  # AddN's operands have no order of their own

    rewritten = message(True)
    assert counted[REWRITES] == 1
    assert rewritten == message(False)


def test_a_function_compiled_by_xla_is_not_touched(counted):
    @tf.function(jit_compile=True)
    def gradient(x):
        return tf.gradients(tf.reduce_sum(reads_unrolled(x)), x)[0]

    x = tf.constant(np.random.default_rng(2).normal(size=(N, 2)))
    got = gradient(x)
    assert counted[REWRITES] == 0
    want = np.zeros((N, 2))
    for i in (0, 2, 2, 5):
        want[i] += (i + 1) * x.numpy()[i] ** i
    np.testing.assert_allclose(got, want, rtol=1e-12)


LOGGED = """
import tensorflow as tf
import tensor_array_grad
tensor_array_grad.enable()
@tf.function
def gradient(x):
    array = tf.TensorArray(tf.float32, 2, clear_after_read=False).unstack(x)
    return tf.gradients(array.read(0) + array.read(1) + array.stack()[0], x)[0]
gradient(tf.ones([2]))
"""


@pytest.mark.parametrize(("wanted", "lines"), [("1", 2), ("0", 0)])
def test_rewrites_are_logged_by_node_name_on_demand(wanted, lines):
    ran = subprocess.run(
        [sys.executable, "-c", LOGGED],
        env={**os.environ, "TENSOR_ARRAY_GRAD_LOG": wanted},
        capture_output=True,
        text=True,
        check=True,
    )
    logged = [line for line in ran.stderr.splitlines() if "tensor_array_grad: accumulate:" in line]
    assert len(logged) == lines
    assert all("TensorListSetItem" in line and " -> " in line for line in logged)

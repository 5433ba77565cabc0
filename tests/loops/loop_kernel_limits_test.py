"""Loops that look eligible but must not run in one kernel, and loops that need special care."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

import tensor_array_grad

tensor_array_grad.enable()


def run_v1(build):
    """Fetches what `build` returns, in a graph and session of TF1."""
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        tf.compat.v1.disable_control_flow_v2()
        try:
            fetched = build()
        finally:
            tf.compat.v1.enable_control_flow_v2()
        session.run(tf.compat.v1.global_variables_initializer())
        return session.run(fetched)


def test_a_loop_that_reads_a_ref_variable_is_left_to_the_executor(counted):
    def build():
        with tf.compat.v1.variable_scope("v"):
            variable = tf.compat.v1.get_variable(
                "x", initializer=np.float32([1.0, 2.0]), use_resource=False
            )
        return tf.compat.v1.while_loop(
            lambda i, _: i < 6, lambda i, s: (i + 1, s * 2.0 + variable._ref()), [0, tf.zeros([2])]
        )[1]

    np.testing.assert_array_equal(run_v1(build), [63.0, 126.0])
    assert counted["loops.left.ref type"] >= 1


def test_a_loop_with_a_print_that_counts_its_lines_is_left_to_the_executor(counted):
    def build():
        def body(i):
            return tf.compat.v1.Print(i, [i], first_n=1) + 1

        return tf.compat.v1.while_loop(lambda i: i < 3, body, [0])

    assert run_v1(build) == 3
    assert counted["loops.left.private state or unknown side effects"] >= 1


def test_adding_a_scalar_to_a_vector_by_add_n_in_a_loop_raises_the_error_of_stock(counted):
    @tf.function(input_signature=[tf.TensorSpec(None, tf.float32), tf.TensorSpec(None, tf.float32)])
    def function(x, y):
        def body(i, h):
            return i + 1, tf.ensure_shape(tf.raw_ops.AddN(inputs=[h, y]), None)

        shapes = (tf.TensorShape([]), tf.TensorShape(None))
        return tf.while_loop(lambda i, _: i < 3, body, (0, x), shape_invariants=shapes)[1]

    np.testing.assert_array_equal(function([1.0, 2.0], [3.0, 4.0]), [10.0, 14.0])
    with pytest.raises(tf.errors.InvalidArgumentError, match="must have the same size"):
        function([1.0, 2.0], 3.0)
    assert counted["loops.runs"] >= 2


def test_side_effects_deep_in_a_condition_happen_once_per_evaluation(counted):
    asked = tf.Variable(0)

    @tf.function
    def function(n):
        def condition(i):
            for _ in tf.range(2):
                for _ in tf.range(2):
                    asked.assign_add(1)
            return i < n

        i = 0
        while condition(i):
            i += 1
        return i

    assert function(tf.constant(3)).numpy() == 3
    assert asked.numpy() == 4 * 2 * 2
    assert counted["loops.left.condition with side effects"] >= 1


def test_a_value_of_many_readers_is_not_overwritten_by_one_that_reads_it_twice():
    readers = 70  # more than MarkLastReaders (cc/compile/readers.cc) compares in pairs

    @tf.function
    def function(x):
        def body(i, x):
            x = x + 1.0
            total = tf.add_n([x[k] for k in range(readers)])
            with tf.control_dependencies([total]):
                rows = tf.range(tf.size(x))[::-1, None]
                return i + 1, tf.raw_ops.ScatterNdNonAliasingAdd(input=x, indices=rows, updates=x)

        return tf.while_loop(lambda i, _: i < 3, body, (0, x))[1]

    # Each iteration adds one to every element, and then the reversed vector to the vector.
    np.testing.assert_array_equal(function(tf.ones([2000])), np.full(2000, 22.0, np.float32))

"""Sums and stacks of equal tensors in loops and branches have the values of eager mode.

TensorFlow's arithmetic optimizer makes them depend on the wrong output of a Switch, so that stock
returns an empty tensor, or raises an error in a Session.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import tensor_array_grad

tensor_array_grad.enable()

v1 = tf.compat.v1
X = np.array([[1.0, 2.0], [3.0, 4.0]], np.float32)

Body = Callable[[Any], Any]


def twice(a: Any) -> Any:
    return a * 1 + a


SUMS: dict[str, Body] = {
    "product_with_1": twice,
    "reshape": lambda a: tf.reshape(a, [2, 2]) + a,
    "add_n": lambda a: tf.add_n([a * 1.0, a, a]),
    "slice": lambda a: a[:] + a,
    "four": lambda a: (a * 1.0 + a) + (a + a * 1.0),
    "scaled": lambda a: (a * 1.0 + a) / 4.0,
    "dense": lambda a: tf.nn.relu(tf.matmul(a * 1.0 + a, [[1.0, 2.0], [3.0, 4.0]]) + 1.0) / 9.0,
    "two": lambda a: (a * 1.0 + a) + tf.exp(-(a + tf.reshape(a, [2, 2]))),
}
STACKS: dict[str, Body] = {
    "stack": lambda a: tf.reduce_sum(tf.stack([a * 1.0, a]), 0) * [[1.0, 0.5], [0.2, 1.0]],
    "stacked_columns": lambda a: tf.reshape(tf.stack([a * 1.0, a], 1), [4, 2])[1:3] * 0.5,
}


def loop(body: Body, x: Any, n: Any = 3) -> Any:
    return tf.while_loop(lambda i, _: i < n, lambda i, a: (i + 1, body(a)), (0, x))[1]


def nested(x: Any) -> Any:
    return loop(lambda a: loop(twice, a, 2) * 0.3, x)


def conditional(body: Body) -> Body:
    return lambda x: tf.cond(tf.reduce_sum(x) > 0.0, lambda: body(x), lambda: x * 5.0)


def both(x: Any) -> Any:
    return tf.cond(tf.reduce_sum(x) > 0.0, lambda: twice(x), lambda: x + x * 1.0)


def case(x: Any) -> Any:
    branches = [lambda: x * 3.0, lambda: twice(x), lambda: x * 5.0, lambda: x + x * 1.0]
    return tf.switch_case(tf.cast(tf.abs(x[1, 0]), tf.int32), branches)


def branch_in_a_loop(x: Any) -> Any:
    return loop(conditional(twice), x)


def scan(x: Any) -> Any:
    return tf.scan(lambda a, _: twice(a), x)


PROGRAMS: dict[str, Body] = {
    **{f"loop_{name}": lambda x, f=f: loop(f, x) for name, f in {**SUMS, **STACKS}.items()},
    **{f"cond_{name}": conditional(f) for name, f in {**SUMS, **STACKS}.items()},
    **{f.__name__: f for f in (nested, both, case, branch_in_a_loop, scan)},
}


def gradient(program: Body, x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = program(x)
    return tape.gradient(y, x)


@pytest.mark.parametrize("in_one_kernel", [True, False])
@pytest.mark.parametrize("name", PROGRAMS)
def test_values_and_gradients_are_those_of_eager_mode(name: str, in_one_kernel: bool) -> None:
    program = PROGRAMS[name]
    with tensor_array_grad.loops_in_one_kernel(in_one_kernel):
        for x in (tf.constant(X), tf.constant(-X)):
            found = tf.function(program)(x), tf.function(lambda x: gradient(program, x))(x)
            np.testing.assert_allclose(found[0], program(x), rtol=1e-6)
            np.testing.assert_allclose(found[1], gradient(program, x), rtol=1e-6)


@pytest.mark.parametrize("n", [0, 1, 7])
@pytest.mark.parametrize(
    "dtype", [tf.float16, tf.bfloat16, tf.float64, tf.int32, tf.int64, tf.complex64]
)
def test_a_sum_of_any_dtype_is_repaired(dtype: tf.DType, n: int) -> None:
    run = tf.function(lambda x: loop(twice, x, n))
    assert run(tf.constant([1, 3], dtype)).numpy().tolist() == [2**n, 3 * 2**n]


def test_repairs_are_counted_and_the_loop_runs_in_one_kernel(counted: Any) -> None:
    tf.function(lambda x: loop(twice, x))(X)
    assert counted["graph.sum_of_equals"] == 1
    assert counted["loops.runs"] == 1
    tf.function(lambda x: loop(STACKS["stack"], x))(X)
    assert counted["graph.stack_of_equals"] == 2  # the Tile and the Reshape
    assert counted["loops.runs"] == 2


def test_without_the_graph_pass_the_loop_has_no_value(counted: Any) -> None:
    with tensor_array_grad.graph_pass(False):
        assert tf.function(lambda x: loop(twice, x))(X).shape == [0]
    assert counted["graph.sum_of_equals"] == 0


def test_a_layer_predicts() -> None:
    class Cell(tf.keras.layers.Layer):  # type: ignore[misc]
        state_size = output_size = 2

        def call(self, x: Any, states: Any) -> Any:
            return twice(states[0] + x), [twice(states[0])]

    model = tf.keras.Sequential([tf.keras.layers.RNN(Cell(), return_sequences=True)])
    x = np.ones([1, 3, 2], np.float32)
    np.testing.assert_array_equal(model.predict(x, verbose=0), [[[2.0, 2.0]] * 3])


SESSION_SUMS: dict[str, tuple[Body, int]] = {
    "two": (lambda a: a + a, 2),
    "three": (lambda a: tf.add_n([a, a, a]), 3),
    "product_with_1": (twice, 2),
    "reshape": (lambda a: tf.reshape(a, [2]) + a, 2),
}


@pytest.mark.parametrize("v2", [False, True])
@pytest.mark.parametrize("name", SESSION_SUMS)
def test_sessions_have_the_values_of_the_program(name: str, v2: bool) -> None:
    f, n = SESSION_SUMS[name]
    was_enabled = v1.control_flow_v2_enabled()
    (v1.enable_control_flow_v2 if v2 else v1.disable_control_flow_v2)()
    try:
        with tf.Graph().as_default(), v1.Session() as session:
            x = v1.placeholder(tf.float32, [2])
            in_loop = v1.while_loop(lambda i, _: i < 2, lambda i, a: (i + 1, f(a)), (0, x))[1]
            in_branch = v1.cond(x[0] > 0.0, lambda: f(x), lambda: x * 5.0)
            in_both = v1.cond(x[0] > 0.0, lambda: f(x), lambda: f(x))
            values = [in_loop, in_branch, in_both]
            slopes = [tf.gradients(y, x)[0] for y in values]
            for fed in (np.array([1.0, 2.0]), np.array([-1.0, 2.0])):
                factors = [n * n, n if fed[0] > 0 else 5, n]
                for y, slope, factor in zip(values, slopes, factors, strict=True):
                    np.testing.assert_array_equal(session.run(y, {x: fed}), factor * fed)
                    np.testing.assert_array_equal(session.run(slope, {x: fed}), [factor] * 2)
    finally:
        (v1.enable_control_flow_v2 if was_enabled else v1.disable_control_flow_v2)()

"""Numeric checks of tf.gradients through TF1 TensorArrays, which use the V3 ops.

First-order gradients are compared with central differences of the value. Hessian-vector products,
as tf.gradients of tf.gradients, are compared with central differences of the first-order gradient.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from tests.support import modes

SIZES = [0, 1, 7]
WIDTH = 3


def new_array(size: Any, **attributes: Any) -> tf.TensorArray:
    defaults = {"dtype": tf.float64, "size": size, "element_shape": [WIDTH]}
    return tf.TensorArray(**{**defaults, **attributes})


def bend(x: tf.Tensor) -> tf.Tensor:
    """A function whose second derivative is not constant."""
    return tf.sin(x) * x * x


def read_each(x):
    array = new_array(x.shape[0]).unstack(bend(x))
    return [bend(array.read(i)) for i in range(x.shape[0])]


def read_one_many_times(x):
    array = new_array(x.shape[0], clear_after_read=False).unstack(bend(x))
    return [bend(array.read(i)) * (k + 1) for k in range(3) for i in range(x.shape[0])]


def read_only_the_even(x):
    array = new_array(x.shape[0]).unstack(bend(x))
    return [bend(array.read(i)) for i in range(0, x.shape[0], 2)]


def write_each_and_stack(x):
    array = new_array(x.shape[0])
    for i in range(x.shape[0]):
        array = array.write(i, bend(x[i]))
    return bend(array.stack())


def write_each_and_read_backwards(x):
    array = new_array(0, dynamic_size=True)
    for i in range(x.shape[0]):
        array = array.write(i, bend(x[i]))
    return [bend(array.read(i)) for i in reversed(range(x.shape[0]))]


def stack_what_was_unstacked(x):
    return bend(new_array(x.shape[0]).unstack(bend(x)).stack())


def gather_some(x):
    array = new_array(x.shape[0]).unstack(bend(x))
    return bend(array.gather(list(range(x.shape[0]))[::-2]))


def gather_one_twice(x):
    array = new_array(x.shape[0], clear_after_read=False).unstack(bend(x))
    indices = [i for i in range(x.shape[0]) for _ in range(2)]
    return bend(array.gather(tf.constant(indices, tf.int32)))


def gather_and_read_and_stack(x):
    array = new_array(x.shape[0], clear_after_read=False).unstack(bend(x))
    reads = [bend(array.read(i)) for i in range(x.shape[0])]
    order = tf.constant(list(range(x.shape[0])), tf.int32)
    return [*reads, bend(array.gather(order)), bend(array.stack()) * 2.0]


def scatter_backwards(x):
    order = tf.range(x.shape[0])[::-1]
    return bend(new_array(x.shape[0]).scatter(order, bend(x)).stack())


def split_and_concat(x):
    lengths = _lengths(x.shape[0])
    array = new_array(len(lengths), element_shape=[None, WIDTH], infer_shape=False)
    return bend(array.split(bend(x), lengths).concat())


def split_and_read(x):
    lengths = _lengths(x.shape[0])
    array = new_array(len(lengths), element_shape=[None, WIDTH], infer_shape=False)
    array = array.split(bend(x), lengths)
    return [bend(array.read(i)) for i in range(len(lengths))]


def write_each_and_concat(x):
    lengths = _lengths(x.shape[0])
    array = new_array(len(lengths), element_shape=[None, WIDTH], infer_shape=False)
    start = 0
    for i, length in enumerate(lengths):
        array = array.write(i, bend(x[start : start + length]))
        start += length
    return bend(array.concat())


def _lengths(rows: int) -> list[int]:
    """Unequal pieces, one of them empty."""
    return {0: [0], 1: [0, 1], 7: [2, 0, 4, 1]}[rows]


def loop_that_reads_and_writes(x):
    inputs = new_array(x.shape[0]).unstack(bend(x))
    outputs = new_array(x.shape[0])
    done = tf.while_loop(
        lambda i, *_: i < x.shape[0],
        lambda i, state, out: (i + 1, tf.tanh(state + inputs.read(i)), out.write(i, state)),
        (0, tf.zeros([WIDTH], x.dtype), outputs),
    )
    return [done[1], bend(done[2].stack())]


STRAIGHT = [
    read_each, read_one_many_times, read_only_the_even, write_each_and_stack,
    write_each_and_read_backwards, stack_what_was_unstacked, gather_some, gather_one_twice,
    gather_and_read_and_stack, scatter_backwards, split_and_concat, split_and_read,
    write_each_and_concat,
]  # fmt: skip


def weighted_loss(results: Any) -> tf.Tensor:
    """The sum of `bend` of every element of every result, each with a weight of its own."""
    rng = np.random.default_rng(1)
    total = tf.zeros([], tf.float64)
    for result in tf.nest.flatten(results):
        flat = bend(tf.reshape(result, [-1]))
        total += tf.reduce_sum(flat * tf.constant(rng.normal(size=64))[: tf.size(flat)])
    return total


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("program", [*STRAIGHT, loop_that_reads_and_writes])
def test_the_gradient_equals_the_numeric_gradient(program, n):
    x = np.random.default_rng(n).normal(size=(n, WIDTH))
    step = 1e-5
    # One graph is fed with each element moved up and down, because building graphs takes longest.
    with tf.Graph().as_default(), modes.tf1_control_flow():
        at = tf.compat.v1.placeholder(tf.float64, x.shape)
        loss = weighted_loss(program(at))
        (slope,) = tf.gradients(loss, [at], unconnected_gradients="zero")
        numeric = np.zeros_like(x)
        with tf.compat.v1.Session() as session:
            value = session.make_callable(loss, [at])
            for element in np.ndindex(*x.shape):
                moved = np.zeros_like(x)
                moved[element] = step
                numeric[element] = (value(x + moved) - value(x - moved)) / (2 * step)
            exact = session.run(slope, {at: x})
    assert exact.shape == (n, WIDTH)
    np.testing.assert_allclose(exact, numeric, rtol=1e-5, atol=1e-6)
    assert n == 0 or np.abs(exact).max() > 1e-2


def hessian_vector_products(
    program: Callable[..., Any], x: np.ndarray, v: np.ndarray, step: float = 1e-5
) -> tuple[np.ndarray, np.ndarray]:
    """The product by two tf.gradients, and by central differences of one tf.gradients."""
    with tf.Graph().as_default(), modes.tf1_control_flow():
        at = tf.compat.v1.placeholder(tf.float64, x.shape)
        (slope,) = tf.gradients(weighted_loss(program(at)), [at], unconnected_gradients="zero")
        (product,) = tf.gradients(tf.reduce_sum(slope * v), [at], unconnected_gradients="zero")
        with tf.compat.v1.Session() as session:
            exact = session.run(product, {at: x})
            up, down = (session.run(slope, {at: x + sign * step * v}) for sign in (1, -1))
    return exact, (up - down) / (2 * step)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("program", STRAIGHT)
@pytest.mark.sweep(2)
def test_the_gradient_of_the_gradient_is_the_hessian_vector_product(program, n):
    rng = np.random.default_rng(n + 100)
    x, v = rng.normal(size=(2, n, WIDTH))
    exact, numeric = hessian_vector_products(program, x, v)
    assert exact.shape == (n, WIDTH)
    np.testing.assert_allclose(exact, numeric, rtol=1e-5, atol=1e-6)
    assert n == 0 or np.abs(exact).max() > 1e-2


SCOPES = {  # the scope and the name of the first tf.gradients call, and those of the second
    "gradients in front": (("plain", None), ("gradients_penalty/gradients", None)),
    "gradients in both": (("a/gradients", None), ("a/gradients", None)),
    "names of the calls": (("plain", "first"), ("gradients_penalty", "second")),
    "one scope": (("gradients_penalty", "first"), ("gradients_penalty", "second")),
    "a dot for a slash": (("gradients_a/b.c", None), ("gradients_a/b/c", None)),
}


@pytest.mark.parametrize("scopes", SCOPES.values(), ids=list(SCOPES))
@pytest.mark.parametrize("program", [gather_and_read_and_stack, write_each_and_concat])
@pytest.mark.sweep(3)
def test_the_names_of_scopes_and_calls_do_not_matter(program, scopes):
    rng = np.random.default_rng(0)
    x, v = rng.normal(size=(2, 7, WIDTH))
    with tf.Graph().as_default(), modes.tf1_control_flow():
        at = tf.constant(x)
        of = weighted_loss(program(at))
        for scope, name in scopes:
            with tf.name_scope(scope):
                (found,) = tf.gradients(of, [at], name=name or "gradients")
            of = tf.reduce_sum(found * v)
        with tf.compat.v1.Session() as session:
            product = session.run(found)
    exact, _ = hessian_vector_products(program, x, v)
    np.testing.assert_allclose(product, exact, rtol=1e-12)


def test_the_second_derivative_in_elements_that_were_written_one_by_one():
    with tf.Graph().as_default(), modes.tf1_control_flow():
        a, b = tf.constant(2.0), tf.constant(3.0)
        y = tf.TensorArray(tf.float32, 2).write(0, a).write(1, b).stack()
        slopes = tf.gradients(y**3, [a, b])
        curves = tf.gradients(slopes, [a, b])
        with tf.compat.v1.Session() as session:
            assert session.run([slopes, curves]) == [[12.0, 27.0], [12.0, 18.0]]


def test_the_second_derivative_in_a_tensor_and_then_in_the_input_of_the_array():
    with tf.Graph().as_default(), modes.tf1_control_flow():
        x = tf.constant([2.0])
        y = tf.TensorArray(tf.float32, 1).unstack(x).read(0)
        curve = tf.gradients(tf.gradients(y**3, y), x)
        with tf.compat.v1.Session() as session:
            assert session.run(curve)[0].tolist() == [12.0]  # stock: 0


def test_gradients_that_a_tape_computes_in_a_graph():
    def cubes(a):
        return tf.reduce_sum(tf.TensorArray(tf.float32, 2).unstack(a).stack() ** 3)

    with tf.Graph().as_default(), modes.tf1_control_flow():
        a = tf.constant([2.0, 3.0])
        (recomputed,) = tf.gradients(tf.recompute_grad(cubes)(a), a)
        with tf.name_scope("gradients"), tf.GradientTape() as tape:
            tape.watch(a)
            loss = cubes(a)
        with tf.name_scope("gradients"):
            taped = tape.gradient(loss, a)
        with tf.compat.v1.Session() as session:
            slopes = session.run([recomputed, taped])
    np.testing.assert_array_equal(slopes, [[12.0, 27.0]] * 2)


def test_gradients_that_call_tensorflows_own_functions_add_to_the_same_array():
    def square(flow):
        array = tf.TensorArray(tf.float32, handle=handle, flow=flow)
        return array.read(0) ** 2

    with tf.Graph().as_default(), modes.tf1_control_flow():
        x = tf.constant([3.0])
        array = tf.TensorArray(tf.float32, 1, clear_after_read=False).unstack(x)
        handle = array.handle
        (recomputed,) = tf.gradients(tf.recompute_grad(square)(array.flow), x)
        with tf.compat.v1.Session() as session:
            assert session.run(recomputed).tolist() == [6.0]


def test_the_second_derivative_of_a_linear_use_is_zero():
    x, v = np.random.default_rng(0).normal(size=(2, 4, WIDTH))
    with tf.Graph().as_default(), modes.tf1_control_flow():
        at = tf.compat.v1.placeholder(tf.float64, x.shape)
        loss = tf.reduce_sum(new_array(4).unstack(at).stack() * 2.0)
        (slope,) = tf.gradients(loss, [at])
        (product,) = tf.gradients(tf.reduce_sum(slope * v), [at], unconnected_gradients="zero")
        with tf.compat.v1.Session() as session:
            got_slope, got_product = session.run([slope, product], {at: x})
    np.testing.assert_array_equal(got_slope, np.full_like(x, 2.0))
    np.testing.assert_array_equal(got_product, np.zeros_like(x))


def test_an_array_used_by_two_losses_keeps_their_gradients_apart():
    x = np.random.default_rng(0).normal(size=(3, WIDTH))
    with tf.Graph().as_default(), modes.tf1_control_flow():
        at = tf.compat.v1.placeholder(tf.float64, x.shape)
        array = new_array(3, clear_after_read=False).unstack(at)
        first = tf.reduce_sum(array.read(0) ** 2)
        second = tf.reduce_sum(array.read(0) ** 3 + array.read(2))
        slopes = [tf.gradients(loss, [at])[0] for loss in (first, second)]
        with tf.compat.v1.Session() as session:
            one, two = session.run(slopes, {at: x})
    want = np.zeros_like(x)
    want[0] = 2 * x[0]
    np.testing.assert_allclose(one, want, rtol=1e-12)
    want[0], want[2] = 3 * x[0] ** 2, 1.0
    np.testing.assert_allclose(two, want, rtol=1e-12)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_gradients_in_16_bit_dtypes_approximate_those_in_float64(dtype):
    x = np.linspace(-1, 1, 6).reshape(2, WIDTH)

    def slope(kind: str) -> np.ndarray:
        with tf.Graph().as_default(), modes.tf1_control_flow():
            at = tf.compat.v1.placeholder(tf.float64, x.shape)
            array = new_array(2, dtype=kind, clear_after_read=False).unstack(tf.cast(at, kind))
            loss = tf.reduce_sum(array.read(0) * array.read(1)) + tf.reduce_sum(array.stack())
            with tf.compat.v1.Session() as session:
                return session.run(tf.gradients(loss, [at])[0], {at: x})

    np.testing.assert_allclose(slope(dtype), slope("float64"), rtol=2e-2)

"""Gradients of list ops that stock computes wrongly, and of random programs."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

import tensor_array_grad
from tensor_array_grad import _tf_private, gradients_list
from tests.lists.random_programs import random_program
from tests.support import child

tensor_array_grad.enable()

SCALES = tf.constant([1.0, 10.0, 100.0], tf.float64)
X = np.array([1.0, 2.0, 3.0])


def _unstacked(x):
    return tf.TensorArray(tf.float64, 3, clear_after_read=False).unstack(x)


def gathered(x, indices):
    return tf.reduce_sum(_unstacked(x).gather(indices) * SCALES)


def gathered_cubes(x, indices):
    return tf.reduce_sum(_unstacked(x**3).gather(indices) ** 2 * SCALES)


def scattered_cubes(x, indices):
    return tf.reduce_sum(_unstacked(x * x).scatter(indices, x**3).stack() ** 2 * SCALES)


def gathered_in_loop(x, indices):
    """Three times gathered_cubes: the two iterations add it with weights 1 and 2."""
    array = _unstacked(x**3)

    def body(i, total):
        rows = array.gather(indices)
        return i + 1, total + tf.cast(i, tf.float64) * tf.reduce_sum(rows**2 * SCALES)

    return tf.while_loop(lambda i, t: i < 3, body, (1, tf.constant(0.0, tf.float64)))[1]


def without_arrays(name, indices):
    """The same function of x in plain tensors, whose gradients TensorFlow gets right."""

    def gather(x):
        return tf.reduce_sum(tf.gather(x**3, indices) ** 2 * SCALES)

    def scatter(x):
        last = {index: position for position, index in enumerate(indices)}
        rows = [x[last[i]] ** 3 if i in last else x[i] * x[i] for i in range(3)]
        return tf.reduce_sum(tf.stack(rows) ** 2 * SCALES)

    return {"gathered_cubes": gather, "scattered_cubes": scatter}[name]


def derivative(function, order):
    """The gradient of the directional derivative of order `order` - 1 along (1, 2, 3)."""
    if order == 0:
        return function

    def gradient(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = derivative(function, order - 1)(x)
            if order > 1:
                y = tf.reduce_sum(y * tf.constant([1.0, 2.0, 3.0], tf.float64))
        return tape.gradient(y, x)

    return gradient


def test_gather_of_a_repeated_index_sums_its_gradients():
    gradient = tf.function(derivative(lambda x: gathered(x, [0, 0, 2]), 1))
    np.testing.assert_array_equal(gradient(tf.constant(X)), [11.0, 0.0, 100.0])


def test_gather_with_indices_known_only_at_run_time_sums_its_gradients():
    @tf.function
    def gradient(x, indices):
        return derivative(lambda x: gathered(x, indices), 1)(x)

    for indices, want in [
        ([0, 0, 2], [11, 0, 100]),
        ([1, 1, 1], [0, 111, 0]),
        ([2, 1, 0], [100, 10, 1]),
    ]:
        got = gradient(tf.constant(X), tf.constant(indices))
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize("indices", [[0, 0, 2], [2, 1, 2], [1, 1, 1], [2, 0, 1]])
@pytest.mark.parametrize("program", [gathered_cubes, scattered_cubes])
@pytest.mark.sweep(2)
def test_gradients_of_repeated_indices_are_right_for_every_order(program, indices, constant, order):
    @tf.function
    def run(x, at):
        return derivative(lambda x: program(x, indices if constant else at), order)(x)

    want = derivative(without_arrays(program.__name__, indices), order)(tf.constant(X))
    got = run(tf.constant(X), tf.constant(indices))
    np.testing.assert_allclose(got, want, rtol=1e-12)


@pytest.mark.parametrize("order", [1, 2])
def test_gradients_of_repeated_indices_are_right_inside_a_loop(order):
    def run(indices_of):
        function = derivative(lambda x: gathered_in_loop(x, indices_of(x)), order)
        return tf.function(function)(tf.constant(X))

    want = 3.0 * derivative(without_arrays("gathered_cubes", [0, 0, 2]), order)(tf.constant(X))
    at_run_time = run(lambda x: tf.constant([0, 0, 2]) + tf.cast(x[0] * 0.0, tf.int32))
    np.testing.assert_allclose(at_run_time, want, rtol=1e-12)
    np.testing.assert_allclose(run(lambda x: tf.constant([0, 0, 2])), want, rtol=1e-12)


def test_gather_sums_its_gradients_for_a_tape_outside_the_function():
    function = tf.function(gathered)
    x = tf.constant(X)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = function(x, tf.constant([0, 0, 2]))
    np.testing.assert_array_equal(tape.gradient(y, x), [11.0, 0.0, 100.0])


def test_the_raw_gather_sums_its_gradients_in_eager_mode():
    x = tf.constant(X)
    scalar = tf.constant([], tf.int32)
    with tf.GradientTape() as tape:
        tape.watch(x)
        handle = tf.raw_ops.TensorListFromTensor(tensor=x, element_shape=scalar)
        rows = tf.raw_ops.TensorListGather(
            input_handle=handle,
            indices=[0, 0, 2],
            element_shape=scalar,
            element_dtype=tf.float64,
        )
        y = tf.reduce_sum(rows * SCALES)
    np.testing.assert_array_equal(tape.gradient(y, x), [11.0, 0.0, 100.0])


@pytest.mark.parametrize("op", ["TensorListScatter", "TensorListScatterV2"])
def test_an_overwritten_row_of_a_new_list_has_no_gradient(op):
    @tf.function
    def run(x, indices):
        more = {"num_elements": 3} if op == "TensorListScatterV2" else {}
        scalar = tf.constant([], tf.int32)
        with tf.GradientTape() as tape:
            tape.watch(x)
            handle = getattr(tf.raw_ops, op)(
                tensor=x, indices=indices, element_shape=scalar, **more
            )
            rows = tf.raw_ops.TensorListStack(
                input_handle=handle, element_shape=scalar, element_dtype=tf.float64
            )
            y = tf.reduce_sum(rows * SCALES[: tf.shape(rows)[0]])
        return tape.gradient(y, x)

    np.testing.assert_array_equal(run(tf.constant(X), tf.constant([0, 1, 1])), [1.0, 0.0, 10.0])


def test_an_overwritten_row_has_no_gradient_even_if_its_successor_has_an_infinite_one():
    @tf.function
    def run(x, indices):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(tf.sqrt(_unstacked(x).scatter(indices, x * 0.0).stack()[:1]))
            z = y + tf.reduce_sum(x)
        return tape.gradient(z, x, unconnected_gradients="zero")

    got = run(tf.constant(X), tf.constant([0, 0, 1]))
    assert got[0] == 1.0  # x[0] * 0 was overwritten by x[1] * 0


@pytest.mark.parametrize("dtype", [tf.float16, tf.bfloat16, tf.float32, tf.complex64])
def test_gather_sums_gradients_of_every_differentiable_dtype(dtype):
    @tf.function
    def gradient(x, indices):
        with tf.GradientTape() as tape:
            tape.watch(x)
            rows = tf.TensorArray(dtype, 3).unstack(x).gather(indices)
            y = tf.reduce_sum(tf.math.real(rows * tf.cast(SCALES, dtype)))
        return tape.gradient(y, x)

    got = gradient(tf.cast(X, dtype), tf.constant([0, 0, 2]))
    np.testing.assert_array_equal(tf.cast(got, tf.complex64), [11, 0, 100])


def test_gather_sums_gradients_of_rows_of_any_shape():
    @tf.function
    def gradient(x, indices):
        with tf.GradientTape() as tape:
            tape.watch(x)
            rows = tf.TensorArray(tf.float64, 3).unstack(x).gather(indices)
            y = tf.reduce_sum(rows * tf.reshape(SCALES, [3, 1, 1]))
        return tape.gradient(y, x)

    got = gradient(tf.ones([3, 2, 4], tf.float64), tf.constant([0, 0, 2]))
    np.testing.assert_array_equal(
        got, np.broadcast_to(np.reshape([11, 0, 100], [3, 1, 1]), (3, 2, 4))
    )


def test_a_gather_of_nothing_has_a_gradient_of_zeros():
    @tf.function
    def gradient(x, indices):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(_unstacked(x).gather(indices)) + tf.reduce_sum(x)
        return tape.gradient(y, x)

    np.testing.assert_array_equal(gradient(tf.constant(X), tf.zeros([0], tf.int32)), np.ones(3))


@pytest.mark.parametrize("pfor", [True, False])
def test_jacobian_of_a_gather_sums_rows_of_repeated_indices(pfor):
    @tf.function
    def jacobian(x, indices):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = _unstacked(x**3).gather(indices) * SCALES
        return tape.jacobian(y, x, experimental_use_pfor=pfor)

    got = jacobian(tf.constant(X), tf.constant([0, 0, 2]))
    np.testing.assert_allclose(got, [[3, 0, 0], [30, 0, 0], [0, 0, 2700]])


@pytest.mark.parametrize("pfor", [True, False])
@pytest.mark.parametrize("rows", [3, 5])  # as many as there are outputs, and another number
def test_jacobian_of_a_scatter_has_the_axis_of_the_outputs_first(pfor, rows):
    indices = [4, 0, 3, 1, 2][:rows]

    @tf.function
    def jacobian(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            array = tf.TensorArray(tf.float64, 5, element_shape=[2])
            y = array.scatter(indices, x * x).stack()
            y = tf.stack([y[0, 0], y[3, 1], y[4, 0]])
        return tape.jacobian(y, x, experimental_use_pfor=pfor)

    x = np.arange(1.0, 2.0 * rows + 1).reshape(rows, 2)
    want = np.zeros((3, rows, 2))
    for output, (element, column) in enumerate([(0, 0), (3, 1), (4, 0)]):
        row = indices.index(element)
        want[output, row, column] = 2 * x[row, column]
    np.testing.assert_array_equal(jacobian(tf.constant(x)), want)


def test_gradients_of_a_vectorized_map_over_indices_are_summed():
    @tf.function
    def run(x, many):
        return tf.vectorized_map(lambda at: derivative(lambda x: gathered(x, at), 1)(x), many)

    got = run(tf.constant(X), tf.constant([[0, 0, 2], [1, 1, 1], [0, 1, 2]]))
    np.testing.assert_array_equal(got, [[11, 0, 100], [0, 111, 0], [1, 10, 100]])


@pytest.mark.parametrize("seed", range(25))
@pytest.mark.sweep(3)
def test_random_program_has_the_gradient_that_eager_mode_gives(seed):
    program = random_program(seed)
    x = tf.constant(np.random.default_rng(seed).normal(size=(5, 2)))
    eager = derivative(program, 1)(x)  # eager arrays are Python lists and use no list op
    np.testing.assert_allclose(tf.function(derivative(program, 1))(x), eager, atol=1e-9)


def test_gradients_of_gather_and_scatter_consist_of_stock_ops():
    @tf.function
    def run(x, indices):
        both = gathered_cubes(x, indices) + scattered_cubes(x, indices)
        return tf.gradients(both, x)[0]

    graph = run.get_concrete_function(
        tf.TensorSpec([3], tf.float64), tf.TensorSpec([3], tf.int32)
    ).graph
    assert [op.type for op in graph.get_operations() if op.type.startswith("TensorArrayGrad")] == []


STOCK_SIDE = """
import sys
import numpy as np
import tensorflow as tf
model = tf.saved_model.load(sys.argv[1])
x, indices = tf.constant([1.0, 2.0, 3.0], tf.float64), tf.constant([0, 0, 2])
np.savez(sys.argv[2], value=model.value(x, indices), gradient=model.gradient(x, indices))
assert "tensor_array_grad" not in sys.modules
"""


def test_a_saved_model_with_gradients_runs_in_stock_tensorflow(tmp_path):
    module = tf.Module()
    signature = [tf.TensorSpec([3], tf.float64), tf.TensorSpec([3], tf.int32)]
    module.value = tf.function(gathered_in_loop, input_signature=signature)
    module.gradient = tf.function(
        lambda x, indices: derivative(lambda x: gathered_in_loop(x, indices), 1)(x),
        input_signature=signature,
    )
    x, indices = tf.constant(X), tf.constant([0, 0, 2])
    value, gradient = module.value(x, indices), module.gradient(x, indices)
    tf.saved_model.save(module, str(tmp_path / "model"))
    paths = (str(tmp_path / "model"), str(tmp_path / "out.npz"))
    child.code(STOCK_SIDE, *paths, TENSOR_ARRAY_GRAD="off")
    stock = np.load(tmp_path / "out.npz")
    np.testing.assert_allclose(stock["value"], value, rtol=1e-12)
    np.testing.assert_allclose(stock["gradient"], gradient, rtol=1e-12)


@pytest.mark.parametrize("op", sorted(gradients_list.REPLACED))
def test_the_gradient_registry_returns_our_function(op):
    # Fails if TensorFlow moves the registry that _tf_private accesses.
    found = _tf_private.gradient_function(op)
    assert getattr(found, "func", found).__module__ == gradients_list.__name__


def test_installing_again_changes_nothing():
    before = _tf_private.gradient_function("TensorListGather")
    gradients_list.install()
    assert _tf_private.gradient_function("TensorListGather") is before

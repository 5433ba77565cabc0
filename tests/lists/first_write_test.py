"""A write that is proven to be the first to its slot keeps the gradient of the list as it is."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from tests.lists.first_write_programs import FIRST, MIXED, noted_proofs
from tests.support import child

_COMPUTE = "tests.lists.first_write_programs:compute"
# XLA ends the process when it compiles the gradient of an array that grows, and has no kernel for
# the list of a branch that is not taken.
_REFUSED_BY_XLA = (
    "growing",
    "continued_in_a_branch",
    "a_square_of_rows_with_a_largest_number_of_iterations",
)


@pytest.mark.parametrize(
    "jit", [pytest.param(False, id=""), pytest.param(True, id="jit", marks=pytest.mark.sweep(7))]
)
@pytest.mark.parametrize("name", [*FIRST, *MIXED])
def test_gradients_equal_stocks_and_only_first_writes_are_proven(ours, stocks, name, jit):
    if jit and name in _REFUSED_BY_XLA:
        pytest.skip("stock's XLA cannot compile it")
    for runner in (ours, stocks):
        runner.start_call(_COMPUTE, name, jit)
    (got, proven), (want, _) = ours.finish_call(), stocks.finish_call()
    for mine, theirs in zip(got, want, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-6, atol=1e-7)
    if name in FIRST:
        assert proven
        assert all(proven)
    else:
        assert sorted(proven) == sorted(MIXED[name][1])


def test_a_session_can_feed_the_first_index_of_a_loop():
    v1 = tf.compat.v1
    with tf.Graph().as_default(), v1.Session() as session:
        x, begin = v1.placeholder(tf.float32, [2]), tf.constant(1)
        array = tf.TensorArray(tf.float32, 2).write(0, x[0])
        _, array = tf.while_loop(
            lambda i, _: i < 2, lambda i, a: (i + 1, a.write(i, x[1] * 3.0)), (begin, array)
        )
        (gradient,) = tf.gradients(tf.reduce_sum(array.stack()), x)
        assert session.run(gradient, {x: [1.0, 2.0]}).tolist() == [1.0, 3.0]
        assert session.run(gradient, {x: [1.0, 2.0], begin: 0}).tolist() == [0.0, 6.0]


def test_a_pruned_function_can_feed_the_first_index_of_a_loop():
    v1 = tf.compat.v1

    def gradient(x):
        begin = tf.identity(1, name="begin")
        array = tf.TensorArray(tf.float32, 2).write(0, x[0])
        _, array = tf.while_loop(
            lambda i, _: i < 2, lambda i, a: (i + 1, a.write(i, x[1] * 3.0)), (begin, array)
        )
        return tf.gradients(tf.reduce_sum(array.stack()), x)[0]

    wrapped = v1.wrap_function(gradient, [tf.TensorSpec([2])])
    begin = wrapped.graph.get_tensor_by_name("begin:0")
    pruned = wrapped.prune([wrapped.inputs[0], begin], wrapped.outputs[0])
    x = tf.constant([1.0, 2.0])
    assert pruned(x, tf.constant(1)).numpy().tolist() == [1.0, 3.0]
    assert pruned(x, tf.constant(0)).numpy().tolist() == [0.0, 6.0]


def test_an_index_behind_many_ops_is_not_proven_and_no_error():
    @tf.function(autograph=False)
    def gradient(x):
        def body(i, array):
            index = i
            for _ in range(700):
                index = tf.identity(index)
            return i + 1, array.write(index, x[i])

        with tf.GradientTape() as tape:
            tape.watch(x)
            array = tf.TensorArray(tf.float32, 3)
            _, array = tf.while_loop(lambda i, _: i < 3, body, (0, array))
            y = tf.reduce_sum(array.stack() * [1.0, 2.0, 3.0])
        return tape.gradient(y, x)

    with noted_proofs() as proven:
        assert gradient(tf.ones([3])).numpy().tolist() == [1.0, 2.0, 3.0]
    assert proven == [False]


_TRAIN_ON_STOCK = """
import sys
import numpy as np
import tensorflow as tf
model = tf.saved_model.load(sys.argv[1])
losses = [model.step(tf.ones([5, 2])).numpy() for _ in range(3)]
np.savez(sys.argv[2], losses=losses, weights=model.weights.numpy())
assert "tensor_array_grad" not in sys.modules
"""


def test_a_saved_model_with_kept_lists_trains_on_stock(tmp_path):
    module = tf.Module()
    module.weights = tf.Variable([0.5, 0.25])

    @tf.function(input_signature=[tf.TensorSpec([5, 2])])
    def step(x):
        with tf.GradientTape() as tape:
            hidden = tf.scan(lambda a, b: tf.tanh(a * module.weights + b), x)
            loss = tf.reduce_sum(hidden**2)
        module.weights.assign_sub(0.1 * tape.gradient(loss, module.weights))
        return loss

    module.step = step
    with noted_proofs() as proven:
        step.get_concrete_function()
    assert proven
    assert all(proven)
    tf.saved_model.save(module, str(tmp_path / "model"))
    losses = [step(tf.ones([5, 2])).numpy() for _ in range(3)]
    paths = (str(tmp_path / "model"), str(tmp_path / "out.npz"))
    child.code(_TRAIN_ON_STOCK, *paths, TENSOR_ARRAY_GRAD="off")
    stock = np.load(tmp_path / "out.npz")
    np.testing.assert_allclose(stock["losses"], losses, rtol=1e-6)
    np.testing.assert_allclose(stock["weights"], module.weights, rtol=1e-6)

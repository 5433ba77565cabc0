"""Work grows in proportion to the number of iterations. Work is counted, not timed.

Work is what the library counts: kernel calls, nodes of lists that are copied and elements that are
visited. If the number of iterations is doubled, these counts grow by a factor of 2.0 if the cost is
linear, and of 4.0 for a flat list that is copied in each iteration.
"""

from __future__ import annotations

from collections.abc import Callable

import keras
import pytest
import tensorflow as tf

import tensor_array_grad

tensor_array_grad.enable()

N = 400  # 2 N is still below the 1,024 elements at which the tree gets another level
WIDTH = 2
LIMIT = 2.2

PROGRAMS: dict[str, Callable] = {}


def _program(function: Callable) -> Callable:
    PROGRAMS[function.__name__] = function
    return function


def _array(size, dynamic: bool = False) -> tf.TensorArray:
    return tf.TensorArray(
        tf.float32, size, dynamic_size=dynamic, clear_after_read=False, element_shape=[WIDTH]
    )


def _length(x):
    return tf.shape(x)[0]


def _loop(n, body, start):
    return tf.while_loop(lambda i, *_: i < n, body, start)


@_program
def reading(x):
    array = _array(_length(x)).unstack(x)
    return _loop(_length(x), lambda i, h: (i + 1, tf.tanh(h + array.read(i))), (0, x[0]))[1]


@_program
def writing(x):
    # Does not read x[i], because without the graph pass the gradient of each x[i] costs O(n).
    def body(i, h, array):
        h = tf.tanh(h * 1.01)
        return i + 1, h, array.write(i, h)

    return _loop(_length(x), body, (0, x[0], _array(_length(x))))[2].stack()


@_program
def reading_two_and_writing(x):
    array = _array(_length(x)).write(0, x[0]).write(1, x[1])

    def body(i, array):
        return i + 1, array.write(i, tf.tanh(array.read(i - 1) + array.read(i - 2)))

    return _loop(_length(x), body, (2, array))[1].stack()


@_program
def reading_and_writing_apart(x):
    def body(i, h, array):
        h = h + array.read(i)  # no data edge orders this read and the write
        return i + 1, h, array.write(i, tf.sin(h))

    loop = _loop(_length(x), body, (0, x[0], _array(_length(x)).unstack(x)))
    return loop[1] + tf.reduce_sum(loop[2].stack(), 0)


@_program
def nested_loops(x):
    def body(i, array):
        total = tf.while_loop(
            lambda j, s: j < 3,
            lambda j, s: (j + 1, s + array.read(i - 1 - j)),
            (0, tf.zeros([WIDTH])),
        )[1]
        return i + 1, array.write(i, tf.tanh(total))

    return _loop(_length(x), body, (3, _array(_length(x)).unstack(x)))[1].stack()


@_program
def gathering(x):
    array = _array(_length(x)).unstack(x)

    def body(i, h):
        return i + 1, tf.tanh(h + tf.reduce_sum(array.gather(tf.stack([i, i - 1, i])), 0))

    return _loop(_length(x), body, (1, x[0]))[1]


@_program
def scattering(x):
    def body(i, h, array):
        h = tf.tanh(h * 1.01)
        return i + 1, h, array.scatter(tf.stack([i - 1, i]), tf.stack([h, 2.0 * h]))

    return _loop(_length(x), body, (1, x[0], _array(_length(x)).unstack(x)))[2].stack()


@_program
def cond_around_read(x):
    array = _array(_length(x)).unstack(x)

    def body(i, h):
        step = tf.cond(tf.equal(i % 3, 0), lambda: h, lambda: array.read(i))
        return i + 1, tf.tanh(h + step)

    return _loop(_length(x), body, (0, x[0]))[1]


@_program
def cond_around_write(x):
    def body(i, h, array):
        h = tf.tanh(h * 1.01)
        return i + 1, h, tf.cond(tf.equal(i % 3, 0), lambda: array, lambda: array.write(i, h))

    return _loop(_length(x), body, (0, x[0], _array(_length(x)).unstack(x)))[2].stack()


@_program
def dynamic_size(x):
    def body(i, h, array):
        h = tf.tanh(h * 1.01)
        return i + 1, h, array.write(i, h)

    return _loop(_length(x), body, (0, x[0], _array(0, dynamic=True)))[2].stack()


@_program
def scan(x):
    return tf.scan(lambda a, row: tf.tanh(a + row), x)


@_program
def map_fn(x):
    return tf.map_fn(tf.tanh, x)


def _gradient(program: Callable, x, weights=()):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(tf.square(program(x)))
    return tape.gradient(y, [x, *weights], unconnected_gradients="zero")


def _work(counted, function: Callable, n: int) -> dict[str, int]:
    """What one call with n iterations adds to the counters."""
    before = counted.all()
    function(tf.random.stateless_normal([n, WIDTH], [1, n]))
    after = counted.all()
    return {name: after[name] - before.get(name, 0) for name in after}


def _least_work(counted, function: Callable, n: int) -> dict[str, int]:
    """The least that one of three calls adds to each counter.

    Two threads may run the ops of an iteration in an order in which a list is still shared when it
    is written. That copies one more path of the list.
    """
    calls = [_work(counted, function, n) for _ in range(3)]
    # pool.bytes counts memory and not work: each new thread takes a span from the pool.
    names = calls[-1].keys() - {"pool.bytes"}
    return {name: min(call.get(name, 0) for call in calls) for name in names}


def _assert_linear(counted, function: Callable) -> None:
    traced = tf.function(function, input_signature=[tf.TensorSpec([None, WIDTH])])
    _work(counted, traced, N)  # the first call does work that later calls do not repeat
    once, twice = _least_work(counted, traced, N), _least_work(counted, traced, 2 * N)
    ours = [work for name, work in once.items() if name.startswith(("kernels.", "loops.iter"))]
    assert sum(ours) > N / 2, "the loop did not run on this library's kernels"
    # 16 allows for a few calls outside of the loop; one more call per iteration would add N.
    grown = {
        name: (once.get(name, 0), work)
        for name, work in twice.items()
        if work > LIMIT * once.get(name, 0) + 16
    }
    assert grown == {}
    assert sum(twice.values()) < LIMIT * sum(once.values())


@pytest.mark.parametrize("name", list(PROGRAMS))
@pytest.mark.parametrize("rewritten", [True, False], ids=["rewritten", "as_traced"])
def test_gradient_cost_doubles_with_the_iterations(counted, name, rewritten):
    with tensor_array_grad.graph_pass(rewritten):
        _assert_linear(counted, lambda x: _gradient(PROGRAMS[name], x))


@pytest.mark.parametrize("name", ["reading", "reading_two_and_writing", "scan"])
def test_hessian_vector_product_cost_doubles_with_the_iterations(counted, name):
    def product(x):
        return _gradient(lambda x: _gradient(PROGRAMS[name], x)[0], x)

    _assert_linear(counted, product)


@pytest.mark.parametrize("to_input", [True, False], ids=["to_input", "to_weights"])
@pytest.mark.parametrize("kind", ["SimpleRNN", "LSTM", "GRU"])
def test_keras_layer_cost_doubles_with_the_steps(counted, kind, to_input):
    layer = getattr(keras.layers, kind)(3, return_sequences=True)
    layer.build([1, None, WIDTH])
    weights = [weight.value for weight in layer.trainable_variables]

    def gradient(x):
        if to_input:
            return _gradient(lambda x: layer(x[None]), x, weights)
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(tf.square(layer(x[None])))
        return tape.gradient(y, weights)

    _assert_linear(counted, gradient)

"""Programs of TF2 users that work on arrays: Keras, loop functions, and TensorFlow's wrappers.

Each workload returns arrays. keras_test compares those of the library with those of stock.
"""

from __future__ import annotations

from collections.abc import Callable

import keras
import numpy as np
import tensorflow as tf

Workload = Callable[[], list]
WORKLOADS: dict[str, Workload] = {}

STEPS, WIDTH = 12, 3


def _workload(function: Workload) -> Workload:
    WORKLOADS[function.__name__] = function
    return function


def _series(*shape: int) -> tf.Tensor:
    return tf.constant(np.random.default_rng(3).normal(size=shape), tf.float32)


def _gradients(function: Callable, x: tf.Tensor, weights: list) -> list:
    @tf.function
    def run(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(tf.square(function(x)))
        return [y, *tape.gradient(y, [x, *weights])]

    return run(x)


# ---- Keras --------------------------------------------------------------------------------------
def _layer(layer: keras.layers.Layer) -> list:
    x = _series(2, STEPS, WIDTH)
    layer(x)
    return _gradients(layer, x, [weight.value for weight in layer.trainable_variables])


def _keras_layers() -> None:
    """Adds workloads for each kind of layer: returning sequences or not, backwards, unrolled."""
    for kind in ("SimpleRNN", "LSTM", "GRU"):
        for options in (
            {},
            {"return_sequences": True},
            {"go_backwards": True, "return_sequences": True},
            {"unroll": True, "return_sequences": True},
        ):

            def workload(kind: str = kind, options: dict = options) -> list:
                keras.utils.set_random_seed(5)
                return _layer(getattr(keras.layers, kind)(4, **options))

            name = "_".join([kind, *options])
            WORKLOADS[name] = workload


_keras_layers()


@_workload
def bidirectional():
    keras.utils.set_random_seed(5)
    return _layer(keras.layers.Bidirectional(keras.layers.LSTM(4, return_sequences=True)))


@_workload
def masked():
    keras.utils.set_random_seed(5)
    x = _series(2, STEPS, WIDTH).numpy()
    x[0, 5:] = 0.0
    x[1, 9:] = 0.0
    model = keras.Sequential(
        [keras.layers.Masking(), keras.layers.GRU(4, return_sequences=True), keras.layers.LSTM(3)]
    )
    model(x)
    weights = [weight.value for weight in model.trainable_variables]
    return _gradients(model, tf.constant(x), weights)


@_workload
def stacked_cells():
    keras.utils.set_random_seed(5)
    cells = [keras.layers.LSTMCell(4), keras.layers.GRUCell(3)]
    return _layer(keras.layers.RNN(cells, return_sequences=True))


@_workload
def conv_lstm():
    keras.utils.set_random_seed(5)
    x, layer = _series(1, 4, 5, 5, 2), keras.layers.ConvLSTM2D(2, 3)
    layer(x)
    return _gradients(layer, x, [weight.value for weight in layer.trainable_variables])


@_workload
def time_distributed():
    keras.utils.set_random_seed(5)
    return _layer(keras.layers.TimeDistributed(keras.layers.Dense(4)))


def _fit(jit_compile: bool | str) -> list:
    keras.utils.set_random_seed(5)
    model = keras.Sequential(
        [
            keras.layers.SimpleRNN(4, return_sequences=True),
            keras.layers.LSTM(4),
            keras.layers.Dense(1),
        ]
    )
    model.compile("sgd", "mse", jit_compile=jit_compile)
    x = _series(16, STEPS, WIDTH)
    history = model.fit(
        x, tf.reduce_sum(x, [1, 2]), batch_size=8, epochs=2, verbose=0, shuffle=False
    )
    return [history.history["loss"], model.predict(x, verbose=0), *model.get_weights()]


@_workload
def fit_without_jit():
    return _fit(False)


@_workload
def fit_with_jit_auto():
    return _fit("auto")


@_workload
def fit_with_jit():
    return _fit(True)


# ---- loop functions -----------------------------------------------------------------------------
@_workload
def scan():
    return _gradients(
        lambda x: tf.scan(lambda a, row: tf.tanh(a + row), x), _series(STEPS, WIDTH), []
    )


@_workload
def scan_backwards():
    return _gradients(
        lambda x: tf.scan(lambda a, row: tf.tanh(a * row), x, reverse=True),
        _series(STEPS, WIDTH),
        [],
    )


@_workload
def map_fn():
    return _gradients(
        lambda x: tf.map_fn(lambda row: tf.tanh(row) * row[0], x), _series(STEPS, WIDTH), []
    )


@_workload
def nested_map_fn():
    def inner(row):
        return tf.map_fn(lambda value: tf.sin(value) * row[1], row)

    return _gradients(lambda x: tf.map_fn(inner, x), _series(STEPS, WIDTH), [])


@_workload
def ragged_map_fn():
    def run(values):
        ragged = tf.RaggedTensor.from_row_lengths(values, [3, 0, 5, 4])
        return tf.map_fn(
            lambda row: tf.tanh(row) * tf.reduce_sum(row),
            ragged,
            fn_output_signature=tf.RaggedTensorSpec([None], tf.float32, 0),
        ).flat_values

    return _gradients(run, _series(STEPS), [])


@_workload
def foldl_and_foldr():
    def run(x):
        left = tf.foldl(lambda a, row: tf.tanh(a + row), x)
        right = tf.foldr(lambda a, row: tf.tanh(a - row), x)
        return left + 2.0 * right

    return _gradients(run, _series(STEPS, WIDTH), [])


# ---- wrappers -----------------------------------------------------------------------------------
def _recurrence(x: tf.Tensor) -> tf.Tensor:
    """A loop that reads from one array and writes to another."""
    source = tf.TensorArray(tf.float32, STEPS).unstack(x)

    def body(i, h, out):
        h = tf.tanh(h + source.read(i))
        return i + 1, h, out.write(i, h)

    start = (0, tf.zeros_like(x[0]), tf.TensorArray(tf.float32, STEPS))
    # XLA needs the maximum number of iterations.
    loop = tf.while_loop(lambda i, *_: i < STEPS, body, start, maximum_iterations=STEPS)
    return loop[2].stack()


@_workload
def jit_compiled():
    x = _series(STEPS, WIDTH)

    @tf.function(jit_compile=True)
    def run(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(tf.square(_recurrence(x)))
        return y, tape.gradient(y, x)

    return list(run(x))


@_workload
def jit_compiled_inside_a_function():
    inner = tf.function(
        lambda x: tf.gradients(tf.reduce_sum(_recurrence(x) ** 2), x)[0], jit_compile=True
    )
    return [tf.function(lambda x: inner(x) + _recurrence(x))(_series(STEPS, WIDTH))]


@_workload
def recomputed():
    return _gradients(tf.recompute_grad(_recurrence), _series(STEPS, WIDTH), [])


@_workload
def not_lowered():
    """The loop as one While node, which calls its condition and body once per iteration."""
    with tf.Graph().as_default() as graph:
        x = tf.constant(_np_series())
        tf.identity(tf.gradients(tf.reduce_sum(_recurrence(x) ** 2), x)[0], "gradient")
        definition = graph.as_graph_def()
    for node in definition.node:
        if "While" in node.op:
            node.attr["_lower_using_switch_merge"].b = False
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        (gradient,) = tf.import_graph_def(definition, return_elements=["gradient:0"])
        return [session.run(gradient)]


@_workload
def switch_case():
    def run(x):
        source = tf.TensorArray(tf.float32, STEPS, clear_after_read=False).unstack(x)
        branches = [
            lambda: source.read(1),
            lambda: source.read(2) * source.read(3),
            lambda: tf.reduce_sum(source.stack(), 0),
        ]
        return tf.stack([tf.switch_case(tf.constant(i), branches) for i in range(3)])

    return _gradients(run, _series(STEPS, WIDTH), [])


@_workload
def in_a_dataset():
    data = tf.data.Dataset.from_tensor_slices(_series(4, STEPS, WIDTH))
    return [tf.stack(list(data.map(lambda x: _gradients(_recurrence, x, [])[1], 2)))]


@_workload
def mirrored():
    strategy = tf.distribute.MirroredStrategy(["CPU:0"])
    x = _series(STEPS, WIDTH)
    with strategy.scope():
        scale = tf.Variable(1.5)

    @tf.function
    def step(x):
        def replica(x):
            with tf.GradientTape() as tape:
                y = tf.reduce_sum(tf.square(_recurrence(x * scale)))
            return tape.gradient(y, scale)

        return strategy.reduce("sum", strategy.run(replica, (x,)), axis=None)

    return [step(x)]


@_workload
def hessian():
    @tf.function
    def run(x):
        return tf.hessians(tf.reduce_sum(tf.square(_recurrence(x))), x)

    return run(_series(STEPS, WIDTH))


@_workload
def batch_jacobian():
    @tf.function
    def run(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.transpose(_recurrence(tf.transpose(x)))
        return tape.batch_jacobian(y, x)

    return [run(_series(WIDTH, STEPS))]


@_workload
def vectorized_map():
    @tf.function
    def run(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(tf.square(tf.vectorized_map(_recurrence, x)))
        return tape.gradient(y, x)

    return [run(_series(4, STEPS, WIDTH))]


@_workload
def in_a_session():
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        x = tf.constant(_np_series())
        y = tf.function(_recurrence)(x)
        return [session.run(tf.gradients(tf.reduce_sum(y * y), x)[0])]


def _np_series() -> np.ndarray:
    return np.random.default_rng(3).normal(size=(STEPS, WIDTH)).astype(np.float32)


def attempt(case: str) -> dict[str, np.ndarray]:
    """Runs a workload.

    Returns:
      Its results, under "0", "1", ..; or, if it raises, the name of the error under "error", and
      the message under "text".
    """
    try:
        return {str(i): np.asarray(value) for i, value in enumerate(WORKLOADS[case]())}
    except Exception as error:
        return {"error": np.array(type(error).__name__), "text": np.array(str(error)[:500])}

"""Loops that call functions which TensorFlow does not inline.

The callers decide which kernels run. A function with `api_implements` or `jit_compile=True`
stays a call.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from concurrent import futures
from typing import Any

import numpy as np
import tensorflow as tf

N = 6
PROGRAMS: dict[str, Callable[[Any], Any]] = {}
_VARIABLES: dict[str, tf.Variable] = {}  # a function may not make one each time it is traced


def _program(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    PROGRAMS[function.__name__] = function
    return function


def _called(function: Callable[..., Any]) -> Callable[..., Any]:
    attributes = {"api_implements": f"{function.__name__}_of_this_test"}
    return tf.function(function, autograph=False, experimental_attributes=attributes)


def _loop(step: Callable[[Any, Any], Any], x: Any) -> Any:
    def body(i: Any, h: Any) -> Any:
        return i + 1, step(i, h)

    return tf.while_loop(lambda i, _: i < N, body, (0, x), parallel_iterations=1)[1]


def _cell(h: Any) -> Any:
    return tf.tanh(h * 1.5 + tf.constant([0.1, 0.2]))


@_program
def in_the_body(x: Any) -> Any:
    cell = _called(_cell)
    return _loop(lambda _, h: cell(h), x)


@_program
def many_times(x: Any) -> Any:
    # TensorFlow keeps one instance of the function for all of its calls.
    cell = _called(_cell)

    def step(i: Any, h: Any) -> Any:
        for _ in range(5):
            h = cell(h)
        return tf.cond(i > N, lambda: cell(cell(h)), lambda: h)

    return _loop(step, x)


@_program
def beside_one_that_is_too_large(x: Any) -> Any:
    table = np.linspace(0.0, 1.0, 5 << 20, dtype=np.float32)  # 20 MiB
    cell = _called(_cell)
    large = _called(lambda i, h: h + tf.constant(table)[i * 1000])
    return _loop(lambda i, h: cell(large(i, cell(h))), x)


@_program
def in_a_branch(x: Any) -> Any:
    cell = _called(_cell)
    return _loop(lambda i, h: tf.cond(tf.equal(i % 2, 0), lambda: cell(h), lambda: h * 0.9), x)


@_program
def of_a_function(x: Any) -> Any:
    inner = _called(_cell)
    outer = _called(lambda h: inner(h) + 0.5 * inner(h * 2.0))
    return _loop(lambda _, h: outer(h), x)


@_program
def of_a_function_whose_inner_call_is_special(x: Any) -> Any:
    # TensorFlow specialises the inner function: one result is not used, one argument is constant.
    inner = _called(lambda h, a: (h * 2.0 + a, h + 1.0))
    outer = _called(lambda h: inner(h, tf.constant(0.25))[0] + 1.0)
    cell = _called(_cell)
    return _loop(lambda _, h: outer(h) * 0.1 + cell(h), x)


@_program
def one_after_another(x: Any) -> Any:
    cells = [_called(lambda h, k=k: _cell(h) * (0.1 * k)) for k in range(N)]
    return _loop(lambda i, h: tf.switch_case(i, [lambda cell=cell: cell(h) for cell in cells]), x)


@_program
def with_a_branch(x: Any) -> Any:
    cell = _called(
        lambda i, h: tf.cond(
            tf.reduce_sum(h) > 0.5, lambda: _cell(h), lambda: h + tf.cast(i, h.dtype)
        )
    )
    return _loop(cell, x)


@_program
def with_a_loop(x: Any) -> Any:
    cell = _called(
        lambda h: tf.while_loop(lambda j, _: j < 3, lambda j, g: (j + 1, _cell(g)), (0, h))[1]
    )
    return _loop(lambda _, h: cell(h), x)


@_program
def with_an_array(x: Any) -> Any:
    def scanned(h: Any) -> Any:
        return tf.scan(lambda a, b: tf.tanh(a + b), tf.stack([h, h * 0.5]))[-1]

    cell = _called(scanned)
    return _loop(lambda _, h: cell(h), x)


@_program
def with_constants_only(x: Any) -> Any:
    step = _called(lambda: tf.constant([0.25, 0.5]))
    return _loop(lambda i, h: tf.cond(i > 2, lambda: h * step(), lambda: h + 1.0), x)


@_program
def that_does_not_depend_on_the_loop(x: Any) -> Any:
    cell = _called(_cell)
    return _loop(lambda _, h: h * 0.5 + cell(x), x)


@_program
def that_assigns(x: Any) -> Any:
    variable = _VARIABLES["assigned"]
    variable.assign(tf.zeros([2]))

    def add(h: Any) -> Any:
        variable.assign_add(h)
        return variable * 0.5

    step = _called(add)
    return _loop(lambda i, h: tf.cond(tf.equal(i % 2, 0), lambda: step(h), lambda: h + 1.0), x)


@_program
def that_draws(x: Any) -> Any:
    step = _called(lambda h: h * 0.5 + tf.random.stateless_normal([2], tf.cast(h * 99, tf.int32)))
    return _loop(lambda _, h: step(h), x)


@_program
def in_a_late_branch(x: Any) -> Any:
    cell = _called(_cell)
    return _loop(lambda i, h: tf.cond(i > 3, lambda: cell(h), lambda: cell(h + 1.0) * 0.5), x)


@_program
def twice_as_deep(x: Any) -> Any:
    cell = _called(_cell)

    def inner(h: Any) -> Any:
        return tf.while_loop(lambda j, _: j < 2, lambda j, g: (j + 1, cell(g) + cell(x)), (0, h))[1]

    return _loop(lambda _, h: inner(h), x)


@_program
def with_an_array_as_argument(x: Any) -> Any:
    rows = tf.TensorArray(tf.float32, N).unstack(tf.stack([x * float(k) for k in range(N)]))
    # A function cannot take a TensorArray, so it gets the list.
    read = _called(
        lambda i, flow: tf.raw_ops.TensorListGetItem(
            input_handle=flow, index=i, element_shape=[2], element_dtype=tf.float32
        )
    )
    return _loop(lambda i, h: h * 0.5 + read(i, rows.flow), x)


@_program
def with_text(x: Any) -> Any:
    step = _called(lambda i: tf.strings.length(tf.strings.join([tf.strings.as_string(i), "abc"])))
    return _loop(lambda i, h: h * 0.5 + tf.cast(step(i * 30), h.dtype), x)


@_program
def beside_a_seeded_op(x: Any) -> Any:
    tf.random.set_seed(4)
    cell = _called(_cell)
    return _loop(lambda _, h: cell(h) + tf.random.normal([2], seed=6), x)


@_program
def beside_a_function_that_draws(x: Any) -> Any:
    tf.random.set_seed(5)
    cell, draw = _called(_cell), _called(lambda: tf.random.normal([2], seed=7))
    return _loop(lambda _, h: cell(h) + draw(), x)


@_program
def beside_a_stateless_call_that_draws(x: Any) -> Any:
    tf.random.set_seed(7)
    cell = _called(_cell)
    draw = _called(lambda h: h * 0.5 + tf.random.normal([2], seed=3))
    concrete = draw.get_concrete_function(tf.TensorSpec([2]))

    def step(_: Any, h: Any) -> Any:
        drawn = tf.raw_ops.PartitionedCall(
            args=[tf.stop_gradient(h)], Tout=[tf.float32], f=concrete
        )
        return cell(h) + tf.stop_gradient(drawn[0])

    return _loop(step, x)


@_program
def beside_a_sum_of_three(x: Any) -> Any:
    cell = _called(_cell)
    return _loop(lambda _, h: tf.add_n([h, cell(h) * 1e-8, cell(h * 1e8)]) * 0.3, x)


@_program
def that_draws_with_a_seed(x: Any) -> Any:
    tf.random.set_seed(3)
    step = _called(lambda h: h * 0.5 + tf.random.normal([2], seed=5))
    return _loop(lambda i, h: step(h) + step(h * 2.0), x)


@_program
def compiled_by_xla(x: Any) -> Any:
    cell = tf.function(_cell, autograph=False, jit_compile=True)
    return _loop(lambda _, h: cell(h), x)


@_program
def recomputed_for_the_gradient(x: Any) -> Any:
    cell = tf.recompute_grad(_cell)
    return _loop(lambda _, h: cell(h), x)


@_program
def with_parts_that_do_not_depend_on_each_other(x: Any) -> Any:
    def heavy(h: Any) -> Any:
        wide = tf.ones([300, 300]) * h[0] * 1e-3
        parts = [tf.linalg.matmul(wide + float(k), wide, name="part") for k in range(4)]
        return h * 0.5 + 1e-6 * tf.reduce_sum(tf.add_n(parts))

    step = _called(heavy)
    return _loop(lambda _, h: step(h), x)


@_program
def with_an_unlowered_branch(x: Any) -> Any:
    (positive, negative) = (
        tf.function(branch).get_concrete_function(tf.TensorSpec([2]))
        for branch in (_cell, lambda h: h + 0.25)
    )

    def step(i: Any, h: Any) -> Any:
        return tf.raw_ops.StatelessIf(
            cond=tf.equal(i % 2, 0),
            input=[h],
            Tout=[tf.float32],
            output_shapes=[[2]],
            then_branch=positive,
            else_branch=negative,
        )[0]

    return tf.stop_gradient(_loop(step, x)) + x


def compute(name: str, hand_back_after: int = -1) -> tuple[list[np.ndarray], dict[str, int]]:
    """Values and gradients of calls of a program, and with the library where its loops ran."""

    @tf.function(autograph=False)
    def both(x: Any) -> list[Any]:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = PROGRAMS[name](x)
        return [y, tape.gradient(y, x)]

    _VARIABLES["assigned"] = tf.Variable(tf.zeros([2]))
    x = tf.constant([0.3, 0.4])
    if "tensor_array_grad" not in sys.modules:
        return [value.numpy() for _ in range(3) for value in both(x)], {}
    from tests.support.hand_back import hand_back

    with hand_back(hand_back_after):
        values = [value.numpy() for _ in range(3) for value in both(x)]
    counters = sys.modules["tensor_array_grad"].status().counters
    counted = {
        name: counters.get(f"loops.{name}", 0)
        for name in ("rewritten", "handed_back", "inlined_calls")
    }
    return values, {**counted, **_loops_left()}


def in_a_dataset() -> tuple[list[np.ndarray], dict[str, int]]:
    """The results of a loop that a dataset runs in parallel."""
    data = tf.data.Dataset.from_tensors([0.3, 0.4]).repeat(20)
    mapped = data.map(PROGRAMS["with_a_loop"], num_parallel_calls=4)
    return list(mapped.as_numpy_iterator()), _loops_left()


def train_a_layer() -> tuple[list[np.ndarray], dict[str, int]]:
    """Steps of a training loop with an LSTM of tf-keras, whose weights it returns."""
    import tf_keras

    tf_keras.utils.set_random_seed(3)
    layer, x = tf_keras.layers.LSTM(4), tf.random.stateless_normal([2, 7, 3], [1, 2])
    layer(x)

    @tf.function
    def train() -> None:
        for _ in tf.range(5):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(layer(x) ** 2)
            gradients = tape.gradient(loss, layer.trainable_variables)
            for variable, gradient in zip(layer.trainable_variables, gradients, strict=True):
                variable.assign_sub(0.1 * gradient)

    train()
    return [variable.numpy() for variable in layer.trainable_variables], _loops_left()


def gibbs() -> tuple[list[np.ndarray], dict[str, int]]:
    """The chain of a Gibbs sampler, with TensorFlow Probability's sampler of Gamma."""
    import tensorflow_probability as tfp

    @tf.function
    def chain() -> Any:
        mean, means = tf.constant(0.0), tf.TensorArray(tf.float32, 20)
        for i in tf.range(20):
            seeds = tfp.random.split_seed(tf.stack([i, 1]), 2)
            precision = tfp.distributions.Gamma(3.0, 1.0 + 0.1 * mean**2).sample(seed=seeds[0])
            scale = 1.0 / tf.sqrt(precision + 1.0)
            mean = tfp.distributions.Normal(0.5, scale).sample(seed=seeds[1])
            means = means.write(i, mean)
        return means.stack()

    return [chain().numpy()], _loops_left()


def _loops_left() -> dict[str, int]:
    library = sys.modules.get("tensor_array_grad")
    return {} if library is None else dict(library.status().loops_left)


# How many calls are inlined, in the loop and in that of its gradient.
INLINED = {"many_times": 7 + 7, "beside_one_that_is_too_large": 2 + 3}
# The programs of whose calls none is inlined: what is called, or another node of the loop, has
# state, or its rounding depends on which values share their buffers.
NOT_INLINED = {
    "that_assigns",
    "beside_a_sum_of_three",
    "compiled_by_xla",
    "recomputed_for_the_gradient",  # TensorFlow itself inlines it
    "with_parts_that_do_not_depend_on_each_other",
    "with_an_unlowered_branch",
}


def one_long_run(threads: int) -> tuple[list[np.ndarray], dict[str, int]]:
    """The results of first calls, at the same time, of a loop of 2,000 iterations."""
    inner = _called(lambda h: tf.tanh(h * 1.01))
    outer = _called(lambda h: inner(h) + 0.1 * inner(h * 2.0))

    @tf.function
    def run(h: Any, n: Any) -> Any:
        for _ in tf.range(n):
            h = outer(h)
        return h

    run(tf.zeros([2]), 0)
    with futures.ThreadPoolExecutor(threads) as pool:
        starts = [tf.constant([0.1 * k, 0.3]) for k in range(threads)]
        results = list(pool.map(lambda h: run(h, 2_000).numpy(), starts))
    library = sys.modules.get("tensor_array_grad")
    return results, {} if library is None else dict(library.status().counters)


def fail_in_an_inlined_function() -> list[str]:
    """The errors of loops in which a function fails in the fourth iteration."""
    inverse = _called(lambda h: tf.linalg.inv(h))
    gathered = _called(lambda i: tf.gather(tf.constant([1.0, 2.0, 3.0]), i))
    outer = _called(lambda i: gathered(i) * 2.0)
    steps: list[Callable[[Any], Any]] = [
        lambda i: inverse(tf.reshape(3.0 - tf.cast(i, tf.float32), [1, 1]))[0, 0],
        gathered,
        outer,
        lambda i: tf.reshape(gathered(0), [tf.maximum(i - 1, 1)])[0],
    ]
    errors = []
    for step in steps:

        @tf.function
        def run(n: Any, step: Callable[[Any], Any] = step) -> Any:
            def body(i: Any, h: Any) -> Any:
                return i + 1, h + step(i)

            start = (0, tf.constant(0.0))
            return tf.while_loop(lambda i, _: i < n, body, start, parallel_iterations=1)[1]

        run(3)
        try:
            errors.append(str(run(6).numpy()))
        except tf.errors.OpError as error:
            errors.append(f"{type(error).__name__}: {error}")
    return errors


def compute_and_fail() -> list[float | str]:
    """The results of a loop that calls a function which fails for 3, and its error."""

    def failing(h: Any) -> Any:
        with tf.control_dependencies([tf.debugging.assert_less(h, 3.0, message="too large")]):
            return h + 1.0

    step = _called(failing)

    @tf.function
    def run(n: Any) -> Any:
        h = tf.constant(0.0)
        for _ in tf.range(n):
            h = step(h)
        return h

    results: list[float | str] = [float(run(tf.constant(3)))]
    try:
        run(tf.constant(9))
    except tf.errors.InvalidArgumentError as error:
        results.append(str(error))
    return [*results, float(run(tf.constant(3)))]


def take_from_a_queue() -> tuple[float, dict[str, int]]:
    """The sum of what a loop takes from a queue in a function, and where loops were left."""
    queue = tf.queue.FIFOQueue(10, tf.float32, shapes=[[]])
    take = _called(lambda h: h + queue.dequeue())

    @tf.function
    def run() -> Any:
        h = tf.constant(0.0)
        for _ in tf.range(4):
            h = take(h)
        return h

    for value in (1.0, 2.0, 3.0, 4.0):
        queue.enqueue(value)
    return float(run()), _loops_left()


def call_a_function_in_python() -> tuple[float, dict[str, int]]:
    """What a loop computes whose function calls another one in Python, and where loops were left.

    The inner function needs a thread of the pool while Python has another one.
    """
    inner = tf.function(lambda a: tf.tanh(a) + 0.1)
    inner(tf.constant(0.5))

    def in_python(h: Any) -> Any:
        result = tf.numpy_function(lambda a: inner(tf.constant(a)).numpy(), [h], tf.float32)
        return tf.ensure_shape(result, [])

    step = _called(in_python)

    @tf.function
    def run(h: Any, n: Any) -> Any:
        for _ in tf.range(n):
            h = step(h)
        return h

    for _ in range(5):
        result = float(run(tf.constant(0.3), tf.constant(100)))
    return result, _loops_left()


def fail_beside_a_loop_without_end() -> str:
    """The error of a function with a loop that ends when another node fails."""

    def fail(h: Any) -> Any:
        singular = tf.reduce_sum(tf.linalg.inv(tf.zeros([300, 300]) + h * 0.0))
        endless = tf.while_loop(lambda h: h < 1e9, lambda h: tf.sin(h) + 0.1, (h,))[0]
        return endless + singular

    step = _called(fail)

    @tf.function
    def run(h: Any) -> Any:
        for _ in tf.range(3):
            h = step(h)
        return h

    try:
        return str(run(tf.constant(0.3)))
    except tf.errors.InvalidArgumentError as error:
        return str(error)


def dead_results() -> list[str]:
    """The errors of loops that use what a function returns from the side that is not taken."""
    side = _called(lambda h, p: tf.raw_ops.Switch(data=h, pred=p)[0])
    uses: list[Callable[[Any], Any]] = [
        lambda i: tf.strings.length(side(tf.strings.as_string(i), i > 3)),
        lambda i: tf.reduce_sum(side(i + tf.constant([1, 2]), i > 3)),
        lambda i: side(i, i > 3) + i,
    ]
    errors = []
    for use in uses:

        @tf.function
        def run(use: Callable[[Any], Any] = use) -> Any:
            return _loop(lambda i, h: h + tf.cast(use(i), tf.float32), tf.constant([0.1, 0.2]))

        try:
            errors.append(str(run().numpy()))
        except tf.errors.InternalError as error:
            errors.append(str(error))
    return errors


def with_an_executor_of_one_thread() -> tuple[float, dict[str, int]]:
    """A loop that calls a function, which calls another one and has an executor of its own."""
    from tensorflow.python.eager import context

    inner = _called(lambda h: tf.tanh(h) + 0.1)
    outer = _called(lambda h: inner(h) * 0.5)

    def step(_: Any, h: Any) -> Any:
        with context.function_executor_type("SINGLE_THREADED_EXECUTOR"):
            return outer(h)

    result = tf.function(lambda: _loop(step, tf.constant(0.3)))()
    return float(result), _loops_left()

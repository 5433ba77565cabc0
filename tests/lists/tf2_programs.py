"""Programs that use tf.TensorArray in a tf.function, and the ways to differentiate them.

The matrix test runs them with the library in its own process, and on stock in another one.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import tensorflow as tf

# A program is a smooth function from [5, 3] float64 to a scalar. A method differentiates it at x,
# and may do so in the direction v.
Program = Callable[[tf.Tensor], tf.Tensor]
Method = Callable[[Program, tf.Tensor, tf.Tensor], list[tf.Tensor]]

SHAPE = (5, 3)
N = SHAPE[0]
PROGRAMS: dict[str, Program] = {}
METHODS: dict[str, Method] = {}


def _program(function: Program) -> Program:
    PROGRAMS[function.__name__] = function
    return function


def _method(function: Method) -> Method:
    METHODS[function.__name__] = function
    return function


def inputs() -> tuple[tf.Tensor, tf.Tensor]:
    """The point at which programs are differentiated, and a direction."""
    random = np.random.default_rng(7)
    return (
        tf.constant(random.normal(size=SHAPE) * 0.6),
        tf.constant(random.normal(size=SHAPE)),
    )


def _array(
    size: int | tf.Tensor = N, dynamic: bool = False, infer_shape: bool = True
) -> tf.TensorArray:
    return tf.TensorArray(
        tf.float64,
        size=size,
        dynamic_size=dynamic,
        clear_after_read=False,
        element_shape=[3] if infer_shape else None,
        infer_shape=infer_shape,
    )


def _unstacked(x: tf.Tensor) -> tf.TensorArray:
    return _array().unstack(x)


def _scalar(value: tf.Tensor) -> tf.Tensor:
    """A sum of squares with a weight for each place, so that it changes if values are swapped."""
    flat = tf.reshape(value, [-1])
    weights = tf.sin(tf.cast(tf.range(tf.size(flat)), tf.float64) + 1.0)
    return tf.reduce_sum(weights * flat * flat)


ZERO = np.zeros(3)


# ---- programs ------------------------------------------------------------------------------------
@_program
def read_loop(x):
    array = _unstacked(x)
    return _scalar(
        tf.while_loop(
            lambda i, h: i < N,
            lambda i, h: (i + 1, tf.tanh(h * 1.1 + array.read(i))),
            (0, tf.constant(ZERO)),
        )[1]
    )


@_program
def write_loop(x):
    def body(i, array):
        return i + 1, array.write(i, tf.tanh(x[i] * tf.cast(i + 1, tf.float64)))

    return _scalar(tf.while_loop(lambda i, a: i < N, body, (0, _array()))[1].stack())


@_program
def read_and_write(x):
    source = _unstacked(x)

    def body(i, h, out):
        h = tf.tanh(h + source.read(i))
        return i + 1, h, out.write(i, h * 2.0)

    loop = tf.while_loop(lambda i, h, o: i < N, body, (0, tf.constant(ZERO), _array()))
    return _scalar(loop[2].stack())


@_program
def two_term_recurrence(x):
    array = _array().write(0, x[0]).write(1, x[1])

    def body(i, array):
        return i + 1, array.write(i, tf.tanh(array.read(i - 1) + 0.5 * array.read(i - 2) * x[i]))

    return _scalar(tf.while_loop(lambda i, a: i < N, body, (2, array))[1].stack())


@_program
def reads_all_previous(x):
    def body(i, array):
        total = tf.while_loop(
            lambda j, s: j < i,
            lambda j, s: (j + 1, s + array.read(j)),
            (0, tf.constant(ZERO)),
        )[1]
        return i + 1, array.write(i, tf.tanh(x[i] + 0.4 * total))

    return _scalar(tf.while_loop(lambda i, a: i < N, body, (1, _array().write(0, x[0])))[1].stack())


@_program
def one_element_many_times(x):
    array = _unstacked(x)
    loop = tf.while_loop(
        lambda i, h: i < 4,
        lambda i, h: (i + 1, tf.tanh(h + array.read(2))),
        (0, tf.constant(ZERO)),
    )
    return _scalar(loop[1])


@_program
def gather_stack_and_read(x):
    array = _unstacked(tf.tanh(x))
    gathered = array.gather(tf.constant([3, 1]))
    return _scalar(gathered) + _scalar(array.stack()) + _scalar(array.read(4))


@_program
def gather_in_loop(x):
    array = _unstacked(x)
    loop = tf.while_loop(
        lambda i, h: i < N - 1,
        lambda i, h: (i + 1, tf.tanh(h + tf.reduce_sum(array.gather([i, i + 1]), 0))),
        (0, tf.constant(ZERO)),
    )
    return _scalar(loop[1])


@_program
def gather_with_repeats(x):
    return _scalar(_unstacked(x).gather(tf.constant([0, 0, 2, 4, 2])))


@_program
def gather_with_repeats_in_loop(x):
    array = _unstacked(x)

    def body(i, h):
        rows = array.gather(tf.stack([i, 2, i, 0]))
        return i + 1, tf.tanh(h + _scalar(rows) * rows[0])

    return _scalar(tf.while_loop(lambda i, h: i < 3, body, (0, tf.constant(ZERO)))[1])


@_program
def scatter_with_repeats(x):
    return _scalar(_unstacked(x * x).scatter(tf.constant([1, 3, 1, 0, 3]), x).stack())


@_program
def scatter_with_repeats_in_loop(x):
    def body(i, array):
        rows = tf.tanh(x[:3] + tf.cast(i, tf.float64))
        return i + 1, array.scatter(tf.stack([i, i + 1, i]), rows)

    return _scalar(tf.while_loop(lambda i, a: i < 3, body, (0, _unstacked(x)))[1].stack())


@_program
def cond_around_read(x):
    array = _unstacked(x)

    def body(i, h):
        step = tf.cond(tf.equal(i % 2, 0), lambda: array.read(i), lambda: 0.5 * h)
        return i + 1, tf.tanh(h + step)

    return _scalar(tf.while_loop(lambda i, h: i < N, body, (0, tf.constant(ZERO)))[1])


@_program
def cond_around_write(x):
    def body(i, array):
        write = tf.equal(i % 2, 0)
        return i + 1, tf.cond(write, lambda: array.write(i, tf.tanh(x[i])), lambda: array)

    array = tf.while_loop(lambda i, a: i < N, body, (0, _unstacked(x * x)))[1]
    return _scalar(array.stack())


@_program
def dynamic_size(x):
    def body(i, array):
        return i + 1, array.write(i, tf.tanh(x[i]))

    array = _array(0, dynamic=True)
    return _scalar(tf.while_loop(lambda i, a: i < N, body, (0, array))[1].stack())


@_program
def overwritten(x):
    array = _unstacked(x)
    first = array.read(1)
    array = array.write(1, tf.tanh(x[3]) * first)
    return _scalar(array.stack()) + _scalar(first)


@_program
def forked(x):
    base = _unstacked(x)
    left = base.write(0, tf.tanh(x[1]))
    right = base.write(0, x[2] * x[3])
    return _scalar(left.stack()) + _scalar(right.stack()) + _scalar(base.read(0))


@_program
def scatter_into_array(x):
    array = _array().scatter(tf.constant([4, 2, 0, 1, 3]), tf.tanh(x))
    return _scalar(array.stack()) + _scalar(array.read(2))


@_program
def split_and_concat(x):
    array = tf.TensorArray(tf.float64, 3, infer_shape=False, clear_after_read=False)
    array = array.split(tf.tanh(x), [2, 0, 3])
    return _scalar(array.concat()) + _scalar(tf.reshape(array.read(2), [3, 3]))


@_program
def unwritten_elements(x):
    array = _array().write(1, x[1]).write(3, tf.tanh(x[0]))
    return _scalar(array.stack()) + _scalar(array.read(4)) + _scalar(array.read(3))


@_program
def array_made_in_loop(x):
    def body(i, h):
        array = _array(2).write(0, x[i]).write(1, h)
        return i + 1, tf.tanh(_scalar(array.stack()) * array.read(0))

    return _scalar(tf.while_loop(lambda i, h: i < N, body, (0, tf.constant(ZERO)))[1])


@_program
def two_loops(x):
    source = _unstacked(x)
    _, middle = tf.while_loop(
        lambda i, a: i < N,
        lambda i, a: (i + 1, a.write(i, tf.tanh(source.read(i)))),
        (0, _array()),
    )
    loop = tf.while_loop(
        lambda i, h: i < N,
        lambda i, h: (i + 1, tf.tanh(h + middle.read(N - 1 - i) * source.read(i))),
        (0, tf.constant(ZERO)),
    )
    return _scalar(loop[1])


@_program
def parallel_iterations(x):
    source = _unstacked(x)
    loop = tf.while_loop(
        lambda i, a: i < N,
        lambda i, a: (i + 1, a.write(i, tf.tanh(source.read(i)))),
        (0, _array()),
        parallel_iterations=4,
    )
    return _scalar(loop[1].stack())


@_program
def lagged_read(x):
    source = _unstacked(x)

    def body(i, h):
        return i + 1, tf.tanh(h + source.read(tf.maximum(i - 2, 0)) * source.read(i))

    return _scalar(tf.while_loop(lambda i, h: i < N, body, (0, tf.constant(ZERO)))[1])


@_program
def autograph_for(x):
    out = _array()
    state = tf.constant(ZERO)
    for i in tf.range(N):
        state = tf.tanh(state + x[i])
        out = out.write(i, state)
    return _scalar(out.stack())


@_program
def int_array(x):
    order = tf.TensorArray(tf.int32, N, clear_after_read=False).unstack([3, 0, 2, 4, 1])
    array = _unstacked(x)

    def body(i, h):
        return i + 1, tf.tanh(h + array.read(order.read(i)))

    return _scalar(tf.while_loop(lambda i, h: i < N, body, (0, tf.constant(ZERO)))[1])


@_program
def unused_loop_variables(x):
    def body(i, h, carried, idle):
        return i + 1, tf.tanh(h + x[i]), carried, idle.write(i, h)

    start = (0, tf.constant(ZERO), _unstacked(x), _array())
    loop = tf.while_loop(lambda i, *_: i < N, body, start)
    return _scalar(loop[1]) + _scalar(loop[2].read(1))


@_program
def identity(x):
    array = _unstacked(x).identity()
    return _scalar(array.write(0, x[4]).identity().stack()) + _scalar(array.read(0))


@_program
def unrolled(x):
    array, h = _unstacked(x), tf.constant(ZERO)
    for i in range(N):
        h = tf.tanh(h + array.read(i))
        array = array.write(i, h)
    return _scalar(array.stack())


@_program
def nested_function(x):
    @tf.function
    def inner(flow, i):
        array = tf.TensorArray(tf.float64, flow=flow)
        return array.write(i, tf.tanh(tf.ensure_shape(array.read(i), [3]))).flow

    flow = _unstacked(x).flow
    for i in range(3):
        flow = inner(flow, tf.constant(i))
    return _scalar(tf.ensure_shape(tf.TensorArray(tf.float64, flow=flow).stack(), SHAPE))


@_program
def custom_gradient(x):
    @tf.custom_gradient
    def doubled(a):
        return 2.0 * a, lambda d: 2.0 * d

    array = _unstacked(x)
    loop = tf.while_loop(
        lambda i, h: i < N,
        lambda i, h: (i + 1, tf.tanh(h + doubled(array.read(i)))),
        (0, tf.constant(ZERO)),
    )
    return _scalar(loop[1])


@_program
def indexed_slices(x):
    source = _unstacked(tf.gather(x, [4, 0, 0, 2, 1]))
    loop = tf.while_loop(
        lambda i, h: i < N,
        lambda i, h: (i + 1, tf.tanh(h + source.read(i) * tf.gather(x, i))),
        (0, tf.constant(ZERO)),
    )
    return _scalar(loop[1])


@_program
def stop_gradient(x):
    array = _unstacked(x)
    frozen = _unstacked(tf.stop_gradient(tf.identity(array.stack())) * 1.0)
    return _scalar(array.read(1)) + 0.0 * _scalar(frozen.read(1))


# ---- methods -------------------------------------------------------------------------------------
def _gradient(function: Program, x: tf.Tensor) -> tf.Tensor:
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = function(x)
    return tape.gradient(y, x, unconnected_gradients="zero")


@_method
def tape_inside(program, x, v):
    del v
    return [tf.function(lambda x: _gradient(program, x))(x)]


@_method
def tape_outside(program, x, v):
    del v
    return [_gradient(tf.function(program), x)]


@_method
def persistent_inside(program, x, v):
    del v

    @tf.function
    def run(x):
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = program(x)
            z = y * y
        return tape.gradient(y, x), tape.gradient(z, x)

    return list(run(x))


@_method
def persistent_outside(program, x, v):
    del v
    function = tf.function(program)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = function(x)
        z = y * y
    return [tape.gradient(y, x), tape.gradient(z, x)]


@_method
def two_tapes(program, x, v):
    del v

    @tf.function
    def run(x):
        with tf.GradientTape() as one, tf.GradientTape() as two:
            one.watch(x)
            two.watch(x)
            y = program(x)
        return one.gradient(y, x), two.gradient(y, x)

    return list(run(x))


@_method
def gradients_three_times(program, x, v):
    del v

    @tf.function
    def run(x):
        y = program(x)
        return [tf.gradients(y, x)[0] for _ in range(3)]

    return run(x)


@_method
def in_nested_function(program, x, v):
    del v
    inner = tf.function(lambda x: _gradient(tf.function(program), x))
    return [tf.function(lambda x: inner(x) + inner(2.0 * x))(x)]


@_method
def in_while_loop(program, x, v):
    @tf.function
    def run(x):
        def body(i, total):
            return i + 1, total + _gradient(program, x + tf.cast(i, tf.float64) * v)

        return tf.while_loop(lambda i, t: i < 2, body, (0, tf.zeros_like(x)))[1]

    return [run(x)]


def _hvp(program: Program, x: tf.Tensor, v: tf.Tensor) -> tf.Tensor:
    return _gradient(lambda x: tf.reduce_sum(v * _gradient(program, x)), x)


@_method
def hvp_inside(program, x, v):
    return [tf.function(lambda x: _hvp(program, x, v))(x)]


@_method
def hvp_outside(program, x, v):
    return [_hvp(tf.function(program), x, v)]


@_method
def hvp_by_gradients(program, x, v):
    @tf.function
    def run(x):
        first = tf.gradients(program(x), x)[0]
        return tf.gradients(tf.reduce_sum(v * first), x, unconnected_gradients="zero")[0]

    return [run(x)]


@_method
def third_order(program, x, v):
    @tf.function
    def run(x):
        return _gradient(lambda x: tf.reduce_sum(v * _hvp(program, x, v)), x)

    return [run(x)]


@_method
def forward_mode(program, x, v):
    function = tf.function(program)
    with tf.autodiff.ForwardAccumulator(x, v) as accumulator:
        y = function(x)
    return [accumulator.jvp(y)]


def _jacobian(program: Program, x: tf.Tensor, pfor: bool) -> list[tf.Tensor]:
    @tf.function
    def run(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = program(x)
            both = tf.stack([y, y * y])
        return tape.jacobian(both, x, experimental_use_pfor=pfor)

    return [run(x)]


@_method
def jacobian_with_pfor(program, x, v):
    del v
    return _jacobian(program, x, True)


@_method
def jacobian_without_pfor(program, x, v):
    del v
    return _jacobian(program, x, False)


# ---- running -------------------------------------------------------------------------------------
def attempt(case: str) -> dict[str, np.ndarray]:
    """Runs `program/method`.

    Returns:
      The results of the method, under "0", "1", ..; or, if it raises, the name of the error, under
      "error".
    """
    program, method = case.split("/")
    try:
        values = METHODS[method](PROGRAMS[program], *inputs())
    except Exception as error:
        return {"error": np.array(type(error).__name__)}
    return {str(i): np.asarray(value) for i, value in enumerate(values)}

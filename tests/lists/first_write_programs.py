"""Programs that write arrays in loops, each with whether its writes are the first to their slots.

Every program takes x, [ROWS, WIDTH], and returns what depends on it. `FIRST` has programs in which
every write is proven to be the first to its slot; `MIXED` says for each write of the text, in its
order, whether it is one.
"""

from __future__ import annotations

import contextlib
import unittest.mock
from collections.abc import Callable, Iterator
from typing import Any

import keras
import tensorflow as tf

from tensor_array_grad import _first_write, _tf_private, gradients_list

ROWS, WIDTH = 6, 3
Program = Callable[[Any], Any]

FIRST: dict[str, Program] = {}
MIXED: dict[str, tuple[Program, tuple[bool, ...]]] = {}


def first(program: Program) -> Program:
    FIRST[program.__name__] = program
    return program


def mixed(*which: bool) -> Callable[[Program], Program]:
    def add(program: Program) -> Program:
        MIXED[program.__name__] = program, which
        return program

    return add


def array(size: Any = ROWS, shape: Any = None, dynamic: bool = False) -> tf.TensorArray:
    return tf.TensorArray(
        tf.float32, size, element_shape=shape, dynamic_size=dynamic, clear_after_read=False
    )


# ---- each write is the first


@first
def scan(x):
    return tf.scan(lambda a, b: a * b + b, x)


@first
def scan_with_an_initializer(x):
    return tf.scan(lambda a, b: a * b + b, x, initializer=tf.ones([WIDTH]))


@first
def scan_backwards(x):
    return tf.scan(lambda a, b: a * b + b, x, reverse=True)


@first
def map_fn(x):
    return tf.map_fn(tf.tanh, x)


@first
def forwards(x):
    a = array()
    for i in tf.range(ROWS):
        a = a.write(i, tf.tanh(x[i]))
    return a.stack()


@first
def backwards(x):
    a = array()
    for i in tf.range(ROWS - 1, -1, -1):
        a = a.write(i, tf.tanh(x[i]))
    return a.stack()


@first
def from_a_tensor(x):
    n = tf.shape(x)[0]
    a = array(n)
    for i in tf.range(n - 1, -1, -1):
        a = a.write(i, tf.tanh(x[i]))
    return a.stack()


@first
def two_of_four_rows(x):
    a = array()
    for i in tf.range(0, ROWS, 2):
        a = a.write(i, tf.tanh(x[i]))
        a = a.write(i + 1, tf.sin(x[i]))
    return a.stack()


@first
def odd_before_even(x):
    a = array(2 * ROWS)
    for i in tf.range(ROWS):
        a = a.write(2 * i + 1, tf.tanh(x[i]))
        a = a.write(2 * i, tf.sin(x[i]))
    return a.stack()


@first
def growing(x):
    a = array(0, dynamic=True)
    for i in tf.range(tf.shape(x)[0]):
        a = a.write(i, tf.tanh(x[i]))
    return a.stack()


@first
def two_arrays(x):
    a, b = array(), array()
    for i in tf.range(ROWS):
        a = a.write(i, tf.tanh(x[i]))
        b = b.write(ROWS - 1 - i, tf.sin(x[i]))
    return a.stack() * b.stack()


@first
def one_of_two_branches(x):
    a = array(shape=[WIDTH])
    for i in tf.range(ROWS):
        if i % 3 == 0:
            a = a.write(i, tf.tanh(x[i]))
    return a.stack()


@first
def both_branches(x):
    a = array()
    for i in tf.range(ROWS):
        if i % 2 == 0:
            a = a.write(i, tf.tanh(x[i]))
        else:
            y = tf.sin(x[i])
            a = a.write(i, y)
    return a.stack()


@first
def rows_that_are_kept(x):
    a, k = array(shape=[WIDTH]), tf.constant(0)
    for i in tf.range(ROWS):
        if tf.reduce_sum(x[i]) > 0.0:
            a = a.write(k, tf.tanh(x[i]))
            k += 1
    return a.stack()


@first
def a_square(x):
    a = array(ROWS * WIDTH)
    for i in tf.range(ROWS):
        for j in tf.range(WIDTH):
            a = a.write(i * WIDTH + j, tf.tanh(x[i, j]))
    return a.stack()


@first
def a_square_with_a_counter(x):
    a, k = array(ROWS * WIDTH), tf.constant(0)
    for i in tf.range(ROWS):
        for j in tf.range(WIDTH):
            a = a.write(k, tf.tanh(x[i, j]))
            k += 1
    return a.stack()


@first
def a_square_backwards(x):
    a = array(ROWS * WIDTH)
    for i in tf.range(ROWS - 1, -1, -1):
        for j in tf.range(WIDTH - 1, -1, -1):
            a = a.write(i * WIDTH + j, tf.tanh(x[i, j]))
    return a.stack()


@first
def a_square_of_rows_that_are_left_early(x):
    a = array(ROWS * WIDTH, [])
    for i in tf.range(ROWS):
        for j in tf.range(WIDTH):
            if x[i, j] > 0.9:
                break
            a = a.write(i * WIDTH + j, tf.tanh(x[i, j]))
    return a.stack()


@first
def a_square_of_rows_with_a_largest_number_of_iterations(x):
    def row(i, a):
        _, a = tf.while_loop(
            lambda j, _: j < WIDTH,
            lambda j, a: (j + 1, a.write(i * WIDTH + j, tf.tanh(x[i, j]))),
            (0, a),
            maximum_iterations=ROWS,
        )
        return i + 1, a

    return tf.while_loop(lambda i, _: i < ROWS, row, (0, array(ROWS * WIDTH)))[1].stack()


@first
def a_new_array_in_each_iteration(x):
    s = 0.0
    for i in tf.range(ROWS):
        a = array(WIDTH)
        for j in tf.range(WIDTH):
            a = a.write(j, tf.tanh(x[i, j]))
        s += tf.reduce_sum(a.stack() ** 2)
    return s


@first
def continued_by_another_loop(x):
    n = tf.shape(x)[0]
    a = array(3 * n)
    for i in tf.range(n):
        a = a.write(i, tf.tanh(x[i]))
    for i in tf.range(n):
        a = a.write(n + i, tf.sin(x[i]))
    for i in tf.range(2 * n, 3 * n):
        a = a.write(i, tf.cos(x[i - 2 * n]))
    return a.stack()


@first
def continued_in_a_branch(x):
    a = array()
    for i in tf.range(ROWS // 2):
        a = a.write(i, tf.tanh(x[i]))
    if tf.reduce_sum(x) > -100.0:
        for i in tf.range(ROWS // 2, ROWS):
            a = a.write(i, tf.sin(x[i]))
    return a.stack()


@first
def left_early(x):
    a = array(shape=[WIDTH])
    for i in tf.range(ROWS):
        if tf.reduce_sum(x[i]) > 3.0:
            break
        a = a.write(i, tf.tanh(x[i]))
    return a.stack()


@first
def with_omissions(x):
    a = array(shape=[WIDTH])
    for i in tf.range(ROWS):
        if i % 3 == 1:
            continue
        a = a.write(i, tf.tanh(x[i]))
    return a.stack()


@first
def a_recurrence_through_the_array(x):
    a = array().write(0, x[0])
    for i in tf.range(1, ROWS):
        a = a.write(i, tf.tanh(x[i]) * a.read(i - 1))
    return a.stack()


@mixed()
def without_a_loop(x):
    a = array()
    for i in [3, 0, 5, 1, 4, 2]:
        a = a.write(i, tf.tanh(x[i]))
    return a.stack()


@first
def read_before_it_is_written(x):
    s = tf.zeros([WIDTH])
    a = array(shape=[WIDTH])
    for i in tf.range(ROWS):
        s += a.read(i)
        a = a.write(i, tf.tanh(x[i]) + s)
    return a.stack()


def keras_layer(name: str, backwards: bool, masked: bool) -> Program:
    layers: list[Any] = []

    def program(x):
        if not layers:
            layers.append(
                getattr(keras.layers, name)(
                    4, return_sequences=True, go_backwards=backwards, kernel_initializer="ones",
                    recurrent_initializer="identity",
                )
            )  # fmt: skip
        mask = tf.reduce_sum(x, -1)[None] > 0.0 if masked else None
        return layers[0](x[None], mask=mask)

    return program


for _name in ("SimpleRNN", "LSTM", "GRU"):
    for _backwards in (False, True):
        for _masked in (False, True):
            _parts = [_name, *["backwards"] * _backwards, *["masked"] * _masked]
            FIRST["_".join(_parts)] = keras_layer(_name, _backwards, _masked)


# ---- not each write is the first


@mixed(False)
def a_counter_that_wraps_around(x):
    a, k = array(3, [WIDTH]), tf.constant(0)
    for i in tf.range(ROWS):
        a = a.write(k, tf.tanh(x[i]))
        k += 2**30
        k += 2**30
        k += 2**30
        k += 2**30
    return a.stack()


@mixed(False)
def a_step_of_a_dimension(x):
    a, k = array(3, [WIDTH]), tf.constant(0)
    wide = tf.zeros([0, 65537])
    for i in tf.range(ROWS):
        a = a.write(k, tf.tanh(x[i]))
        k += 1 + 65535 * tf.size(wide[:0], tf.int32) + 65535 * tf.shape(wide)[1]
    return a.stack()


@mixed(False)
def one_slot(x):
    a = array(1)
    for i in tf.range(ROWS):
        a = a.write(0, tf.tanh(x[i]))
    return a.stack()


@mixed(False)
def around(x):
    a = array(4)
    for i in tf.range(ROWS):
        a = a.write(i % 4, tf.tanh(x[i]))
    return a.stack()


@mixed(True, False)
def the_same_slots_again(x):
    a = array()
    for i in tf.range(ROWS):
        a = a.write(i, tf.tanh(x[i]))
    for i in tf.range(ROWS):
        a = a.write(i, tf.sin(x[i]))
    return a.stack()


@mixed(False)
def the_same_slots_in_each_outer_iteration(x):
    a = array(WIDTH)
    for i in tf.range(ROWS):
        for j in tf.range(WIDTH):
            a = a.write(j, tf.tanh(x[i, j]))
    return a.stack()


@mixed(False)
def rows_that_overlap(x):
    a = array(2 * (ROWS - 1) + WIDTH)
    for i in tf.range(ROWS):
        for j in tf.range(WIDTH):
            a = a.write(2 * i + j, tf.tanh(x[i, j]))
    return a.stack()


@mixed(False)
def to_and_fro(x):
    a, k = array(3, [WIDTH]), tf.constant(1)
    for i in tf.range(ROWS):
        a = a.write(k, tf.tanh(x[i]))
        if i % 2 == 0:
            k += 1
        else:
            k -= 1
    return a.stack()


@mixed(False)
def steps_from_the_data(x):
    a, k = array(), tf.constant(0)
    for i in tf.range(ROWS):
        a = a.write(k, tf.tanh(x[i]))
        k += tf.cast(x[i, 0] > 0.0, tf.int32)
    return a.read(0)


@mixed(False)
def an_array_that_is_full(x):
    a = array().unstack(x * 2.0)
    for i in tf.range(ROWS):
        a = a.write(i, tf.tanh(x[i]) * a.read(i))
    return a.stack()


@mixed(False, True)
def the_next_slot_as_well(x):
    a = array(ROWS + 1)
    for i in tf.range(ROWS):
        a = a.write(i, tf.tanh(x[i]))
        a = a.write(i + 1, tf.sin(x[i]))
    return a.stack()


@mixed(True, True, False)
def either_of_two_arrays(x):
    a, b = array(), array()
    for i in tf.range(ROWS):
        a = a.write(i, tf.tanh(x[i]))
        b = b.write(i, tf.sin(x[i]))
    if tf.reduce_sum(x) > -100.0:
        a = b
    for i in tf.range(2):
        a = a.write(i, tf.cos(x[i]))
    return a.stack()


@mixed(False)
def arrays_that_change_places(x):
    a, b = array(3, [WIDTH]), array(3, [WIDTH])
    for i in tf.range(ROWS):
        a = a.write(i // 2, tf.tanh(x[i]))
        a, b = b, a
    return a.stack() + b.stack()


@mixed(True, False)
def a_slot_twice_in_an_iteration(x):
    a = array()
    for i in tf.range(ROWS):
        a = a.write(i, tf.tanh(x[i]))
        a = a.write(i, tf.sin(x[i]))
    return a.stack()


# ---- integers wrap around

_MOST = 2**31 - 1


def unknown(number: int) -> tf.Tensor:
    """`number`, but the proof does not know which number it is."""
    return tf.maximum(number, tf.constant(-(2**31)))


@mixed(False)
def an_end_that_wraps(x):
    def body(k, m, t, a):
        a = tf.cond(k >= 0, lambda: a.write(k, x[t]), lambda: a)
        return m + 1, tf.where(t == 0, -1, 5), t + 1, a

    start = (0, tf.constant(_MOST), 0, array(1, [WIDTH]))
    return tf.while_loop(lambda k, m, t, a: k < m, body, start, maximum_iterations=3)[3].stack()


@mixed(False)
def large_steps(x):
    def body(k, d, t, a):  # k: 0, d, 2 * d + 2, 3 * d + 6, 4 * d + 12, which is 2**32
        a = tf.cond(k == 0, lambda: a.write(k, x[t]), lambda: a)
        return k + d, d + 2, t + 1, a

    def condition(k, d, t, a):
        return (d > 0) & (t < 6)

    start = (0, unknown(2**30 - 3), 0, array(1, [WIDTH]))
    return tf.while_loop(condition, body, start, maximum_iterations=8)[3].stack()


@mixed(False)
def large_steps_in_a_branch(x):
    def body(k, d, t, a):
        def taken():
            return k + d, tf.cond(k == 0, lambda: a.write(k, x[t]), lambda: a)

        k, a = tf.cond(t >= 0, taken, lambda: (k, a))
        return k, d - 2, t + 1, a

    def condition(k, d, t, a):
        return (d > 0) & (t < 6)

    start = (0, unknown(2**30 + 3), 0, array(1, [WIDTH]))
    return tf.while_loop(condition, body, start, maximum_iterations=8)[3].stack()


@mixed(False, False)
def a_condition_that_wraps(x):
    c = unknown(_MOST - 1)

    def body(k, p, t, a):  # p + c is -2**31 in the first iteration
        a = tf.cond(t == 0, lambda: a.write(p, x[0]), lambda: a.write(k - c, x[t]))
        return k + 1, tf.maximum(p, 1), t + 1, a

    start = (c, 2, 0, array(4, [WIDTH]))
    return tf.while_loop(
        lambda k, p, t, a: (p + c <= k) & (t < 4), body, start, maximum_iterations=8
    )[3].stack()


@mixed(False, False)
def a_condition_of_more_bits(x):
    def before(m, k):
        return tf.cast(m, tf.int64) < tf.cast(k, tf.int64) + 2**32

    def body(k, m, a):
        far = k + _MOST + _MOST + 2  # k
        a = tf.cond(k == 0, lambda: a.write(m, x[0]), lambda: a.write(far, x[k]))
        return k + 1, tf.maximum(m, 1), a

    start = (0, 2, array(4, [WIDTH]))
    return tf.while_loop(lambda k, m, a: before(m, k) & (k < 4), body, start, maximum_iterations=8)[
        2
    ].stack()


@mixed(False, True)
def a_dimension_behind_a_limit(x):
    m, s = unknown(_MOST), tf.shape(tf.zeros([0, unknown(_MOST - 1)]))[1]
    a = counted_from(x, 0, m)
    return tf.cond(x[0, 0] > -9.0, lambda: a.write(m + s + 3, x[3]), lambda: a).stack()


def counted_from(x: Any, start: Any, end: Any) -> tf.TensorArray:
    """An array whose slots 0, 1 and 2 a loop writes that counts from `start`, at most to `end`."""
    return tf.while_loop(
        lambda k, t, a: (k < end) & (t < 3),
        lambda k, t, a: (k + 1, t + 1, a.write(k - start, x[t])),
        (start, 0, array(3, [WIDTH])),
        maximum_iterations=8,
    )[2]


def written_where_it_can_be(x: Any, index: Any, steps: int, a: tf.TensorArray) -> tf.TensorArray:
    """`a` after writes to `index`, `index` + 1 and so on, of which negative ones are left out."""

    def body(j: Any, a: tf.TensorArray) -> Any:
        i = index + j
        return j + 1, tf.cond(i >= 0, lambda: a.write(i, x[3 + j]), lambda: a)

    return tf.while_loop(lambda j, _: j < steps, body, (0, a), maximum_iterations=8)[1]


@mixed(False, True)
def from_the_smallest_integer_to_an_unknown_one(x):
    m = unknown(_MOST)
    return written_where_it_can_be(x, m + _MOST + 2, 1, counted_from(x, -_MOST, m)).stack()


@mixed(False, True)
def from_the_smallest_integer_to_a_known_one(x):
    start, end = unknown(-(2**31)), 2**30
    a = counted_from(x, start, end)
    return written_where_it_can_be(x, tf.constant(end) + _MOST + 1 + end, 1, a).stack()


@mixed(False, True)
def a_dimension_behind_a_limit_and_a_loop(x):
    m, s = unknown(_MOST), tf.shape(tf.zeros([0, unknown(_MOST - 1)]))[1]
    return written_where_it_can_be(x, m + s + 2, 3, counted_from(x, 0, m)).stack()


@mixed(False, True)
def twice_a_dimension(x):
    n = tf.shape(tf.zeros([0, unknown(_MOST - 1)]))[1]
    return written_where_it_can_be(x, 2 * n + 2, 3, counted_from(x, 0, n)).stack()


@mixed(False, True)
def factors_of_more_bits(x):
    m = unknown(-715_827_883)
    end = tf.cast(3 * m, tf.int64) - tf.cast(2 * m, tf.int64)
    a = tf.while_loop(
        lambda k, _: (tf.cast(k, tf.int64) < end) & (k < 3),
        lambda k, a: (k + 1, a.write(k, x[k])),
        (0, array(3, [WIDTH])),
        maximum_iterations=8,
    )[1]
    return written_where_it_can_be(x, m + 715_827_884, 1, a).stack()


@contextlib.contextmanager
def noted_proofs() -> Iterator[list[bool]]:
    """A list that grows by the result of each proof for a write in a loop or a branch."""
    proven: list[bool] = []

    def noted(list_: tf.Tensor, index: tf.Tensor) -> bool:
        first = _first_write.is_first_write(list_, index)
        if _tf_private.control_flow_op(list_.graph) is not None:
            proven.append(first)
        return first

    with unittest.mock.patch.object(gradients_list, "is_first_write", noted):
        yield proven


def compute(name: str, jit: bool) -> tuple[list[Any], list[bool]]:
    """Runs a program with its gradient.

    Returns:
      The result and the gradient; and for each write whether it was proven to be the first, in the
      order of the proofs, which is not that of the text.
    """
    program = FIRST.get(name) or MIXED[name][0]

    @tf.function(jit_compile=jit)
    def both(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = program(x)
            loss = tf.reduce_sum(tf.cast(y, tf.float32) ** 2)
        return y, tape.gradient(loss, x)

    x = tf.reshape(tf.sin(tf.range(float(ROWS * WIDTH)) * 3.0), [ROWS, WIDTH])
    with noted_proofs() as proven:
        y, gradient = both(x)
    return [y.numpy(), gradient.numpy()], proven

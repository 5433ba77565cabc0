"""Loops whose variables are plain tensors, not arrays: functions of float64 [N, 2]."""

from __future__ import annotations

import tensorflow as tf

N = 6


def power_iteration(x):
    def body(i, h):
        return i + 1, tf.tanh(tf.linalg.matvec(x[:2], h) + x[2])

    return tf.while_loop(lambda i, _: i < N, body, (0, x[0]))[1]


def swapped_variables(x):
    def body(i, a, b):
        return i + 1, b, tf.tanh(a * 0.5 + x[i])

    _, a, b = tf.while_loop(lambda i, *_: i < N, body, (0, x[0], x[1]))
    return a - 2.0 * b


def rotated_variables(x):
    def body(i, a, b, c):
        return i + 1, b, c, a

    # After a multiple of 3 iterations, each variable would have its first value again.
    _, a, b, c = tf.while_loop(lambda i, *_: i < N - 2, body, (0, x[0], x[1], x[2]))
    return a + 2.0 * b + 3.0 * c


def switch_of_three(x):
    branches = [lambda h, k=k: tf.tanh(h * (k + 1.0)) + x[k] for k in range(3)]

    def body(i, h):
        calls = [lambda branch=branch: branch(h) for branch in branches]
        return i + 1, tf.switch_case(tf.convert_to_tensor(i % 4), calls)

    return tf.while_loop(lambda i, _: i < N, body, (0, x[0]))[1]


def switch_in_a_branch(x):
    def body(i, h):
        def chosen():
            calls = [lambda: h * x[1], lambda: tf.sin(h), lambda: h]
            return tf.switch_case(tf.convert_to_tensor(i % 3), calls)

        return i + 1, tf.cond(i % 2 == 0, chosen, lambda: h * 0.5 + x[0])

    return tf.while_loop(lambda i, _: i < N, body, (0, x[0]))[1]


def three_loops_deep(x):
    def innermost(k, h):
        return k + 1, tf.tanh(h * 0.9 + x[k])

    def middle(i, j, h):
        h = tf.while_loop(lambda k, _: k < j, innermost, (0, h))[1]
        return i, j + 1, h * x[j] + x[i]

    def outer(i, h):
        return i + 1, tf.while_loop(lambda i, j, _: j < i, middle, (i, 0, h))[2]

    return tf.while_loop(lambda i, _: i < 4, outer, (0, x[0]))[1]


def inner_loop_of_zero_iterations(x):
    def inner(j, h):
        return j + 1, h * x[j] + 100.0

    def body(i, h):
        # The condition reads -i, which is never positive.
        return i + 1, tf.while_loop(lambda j, _: j < -i, inner, (0, tf.sin(h)))[1] + x[i]

    return tf.while_loop(lambda i, _: i < N, body, (0, x[0]))[1]


def inner_loop_that_sometimes_runs(x):
    def inner(j, h):
        return j + 1, tf.tanh(h + x[j])

    def body(i, h):
        count = tf.where(i % 2 == 0, 0, i)
        return i + 1, tf.while_loop(lambda j, _: j < count, inner, (0, h))[1] * 1.25

    return tf.while_loop(lambda i, _: i < N, body, (0, x[0]))[1]


def strings_that_grow(x):
    def body(i, word, h):
        word = tf.strings.join([word, tf.strings.as_string(i)])
        return i + 1, word, h * 0.5 + tf.cast(tf.strings.length(word), h.dtype) * x[i]

    _, word, h = tf.while_loop(lambda i, *_: i < N, body, (0, tf.constant("a"), x[0]))
    return h + tf.cast(tf.strings.to_hash_bucket_fast(word, 7), h.dtype)


def strings_that_are_swapped(x):
    def body(i, one, other, h):
        h = h + tf.where(one == "minus", -x[i], x[i])
        return i + 1, other, one, h

    start = (0, tf.constant("plus"), tf.constant("minus"), x[0])
    return tf.while_loop(lambda i, *_: i < N, body, start)[3]


def exit_by_value(x):
    def body(i, h):
        return i + 1, h + tf.abs(x[i])

    i, h = tf.while_loop(lambda i, h: (i < N) & (tf.reduce_sum(h) < 4.0), body, (0, x[0]))
    return h * tf.cast(i, h.dtype)


def exit_from_a_branch(x):
    def body(i, h, found):
        found = tf.cond(i == 3, lambda: tf.constant(True), lambda: found)
        return i + 1, tf.where(found, h, tf.tanh(h + x[i])), found

    start = (0, x[0], tf.constant(False))
    return tf.while_loop(lambda i, _, found: tf.logical_not(found), body, start)[1]


def counts_down(x):
    def body(i, h):
        return i - 1, tf.tanh(h * x[i]) + x[i]

    end, h = tf.while_loop(lambda i, _: i >= 0, body, (N - 1, x[0]))
    return h * tf.cast(end, h.dtype)


def counts_down_by_twos_in_64_bits(x):
    def body(i, h):
        return i - 2, h * 0.75 + tf.gather(x, i - 1)

    start = (tf.constant(N, tf.int64), x[0])
    return tf.while_loop(lambda i, _: i > 0, body, start)[1]


def condition_without_a_counter(x):
    def body(h, size):
        h = tf.tanh(h * 0.5)
        return h, tf.reduce_sum(h * h)

    return tf.while_loop(lambda h, size: size > 1e-2, body, (x[0], tf.reduce_sum(x[0] ** 2)))[0]


def loops_that_feed_each_other(x):
    def step(by):
        return lambda i, a, b: (i + 1, tf.tanh(a + by * b), b * x[i])

    def loop(count, by, a, b):
        return tf.while_loop(lambda i, *_: i < count, step(by), (0, a, b))

    count, a, b = loop(2, 0.5, x[0], x[1])
    _, b, a = loop(count + 1, 0.25, b, a)
    return loop(count, 2.0, a, b)[1]


def a_vector_that_grows(x):
    def body(i, g):
        return i + 1, tf.concat([g, tf.tanh(x[i]) * tf.reduce_sum(g)], 0)

    shapes = (tf.TensorShape([]), tf.TensorShape([None]))
    start = (0, x[0])
    return tf.while_loop(lambda i, _: i < 4, body, start, shape_invariants=shapes)[1]


def variables_of_many_types(x):
    def body(i, small, half, whole, z, flag, h):
        small = tf.tanh(small * 0.5 + tf.cast(x[i], small.dtype))
        half = tf.cast(small, half.dtype) - half
        whole = (whole * 3 + tf.cast(i, whole.dtype)) % 11
        z = z * tf.constant(0.5 + 0.5j, z.dtype) + tf.cast(h, z.dtype)
        h = h * 0.5 + tf.where(flag, tf.math.imag(z), tf.math.real(z))
        return i + 1, small, half, whole, z, ~flag, h + tf.cast(whole, h.dtype)

    start = (
        *(0, tf.cast(x[0], tf.float32), tf.cast(x[1], tf.float16), tf.constant(2, tf.int64)),
        *(tf.cast(x[2], tf.complex128), tf.reduce_sum(x * x) > 0.0, x[3]),
    )
    _, small, half, whole, z, _, h = tf.while_loop(lambda i, *_: i < N, body, start)
    parts = (small, half, whole, tf.math.real(z), h)
    return tf.add_n([tf.cast(part, x.dtype) * tf.ones([2], x.dtype) for part in parts])


PLAIN_LOOPS = [
    power_iteration,
    swapped_variables,
    rotated_variables,
    switch_of_three,
    switch_in_a_branch,
    three_loops_deep,
    inner_loop_of_zero_iterations,
    inner_loop_that_sometimes_runs,
    strings_that_grow,
    strings_that_are_swapped,
    exit_by_value,
    exit_from_a_branch,
    counts_down,
    counts_down_by_twos_in_64_bits,
    condition_without_a_counter,
    loops_that_feed_each_other,
    a_vector_that_grows,
    variables_of_many_types,
]

"""Loops over arrays, and all loops that tests run (LOOPS): functions of float64 [N, 2]."""

from __future__ import annotations

import tensorflow as tf

from tests.loops.plain_loop_programs import PLAIN_LOOPS, N


def unstacked(x):
    return tf.TensorArray(tf.float64, N, clear_after_read=False).unstack(x)


def read_loop(x, n=N):
    array = unstacked(x)

    def body(i, h):
        return i + 1, tf.tanh(2.0 * h + array.read(i))

    return tf.while_loop(lambda i, h: i < n, body, (0, x[0]))[1]


def no_step(x):
    return read_loop(x, n=0)


def recurrence(x):
    array = tf.TensorArray(tf.float64, N, clear_after_read=False).write(0, x[0]).write(1, x[1])

    def body(i, array):
        return i + 1, array.write(i, tf.tanh(array.read(i - 1)) * array.read(i - 2) + x[i])

    return tf.while_loop(lambda i, _: i < N, body, (2, array))[1].stack()


def linear_recurrence(x):
    array = tf.TensorArray(tf.float64, N, clear_after_read=False).write(0, x[0]).write(1, x[1])

    def body(i, array):
        return i + 1, array.write(i, 0.5 * array.read(i - 1) + 0.25 * array.read(i - 2))

    return tf.while_loop(lambda i, _: i < N, body, (2, array))[1].stack()


def branch_in_the_body(x):
    array = unstacked(x)

    def body(i, h):
        return i + 1, h * 0.9 + tf.cond(i % 3 == 0, lambda: array.read(i), lambda: h * 3.0)

    return tf.while_loop(lambda i, h: i < N, body, (0, x[0]))[1]


def nested(x):
    array = unstacked(x)

    def inner(j, h):
        return j + 1, tf.tanh(h * 1.5 + array.read(j))

    def body(i, h):
        return i + 1, tf.while_loop(lambda j, h: j < i, inner, (0, h + array.read(i)))[1]

    return tf.while_loop(lambda i, h: i < N, body, (0, x[0]))[1]


def loop_in_a_branch(x, taken=True):
    # The sign is computed at run time. Tracing would drop a branch that is known to be not taken.
    sign = tf.reduce_sum(x * x) if taken else -tf.reduce_sum(x * x)
    return tf.cond(sign > 0, lambda: read_loop(x), lambda: x[1] * 5.0)


def loop_in_a_branch_not_taken(x):
    return loop_in_a_branch(x, taken=False)


def recurrence_in_a_branch(x, taken=True):
    positive = tf.reduce_sum(x * x) > 0
    return tf.cond(positive == taken, lambda: recurrence(x), lambda: x * 2.0)


def recurrence_in_a_branch_not_taken(x):
    return recurrence_in_a_branch(x, taken=False)


def loop_in_a_branch_of_a_loop(x):
    def body(i, h):
        return i + 1, tf.cond(i % 2 == 0, lambda: h + read_loop(x + h), lambda: h * 2.0)

    return tf.while_loop(lambda i, h: i < N, body, (0, x[0]))[1]


def mapped(x):
    return tf.map_fn(lambda row: tf.tanh(row * 3.0) + 1.0, x)


def scanned(x):
    return tf.scan(lambda h, row: tf.tanh(h * 0.5 + row), x)


def invariant_read_afterwards(x):
    array = unstacked(x)

    def body(i, array, scale, h):
        return i + 1, array, scale, h * scale + array.read(i)

    loop = (0, array, tf.reduce_mean(x), x[0])
    _, array, scale, h = tf.while_loop(lambda i, *_: i < N, body, loop)
    return h * scale + array.read(2)


def write_in_a_branch(x):
    array = tf.TensorArray(tf.float64, N, element_shape=[2]).unstack(tf.zeros_like(x))

    def body(i, h, array):
        h = tf.sin(h) * x[i]
        return i + 1, h, tf.cond(i % 2 == 0, lambda: array.write(i, h * h), lambda: array)

    return tf.while_loop(lambda i, *_: i < N, body, (0, x[0], array))[2].stack()


def loop_in_a_loop(x):
    def body(i, h):
        def inner(j, h):
            return j + 1, tf.tanh(h * x[j])

        return i + 1, tf.while_loop(lambda j, _: j < i, inner, (0, h))[1] * tf.cos(h)

    return tf.while_loop(lambda i, _: i < N, body, (0, x[0]))[1]


def loop_of_no_step(x):
    return tf.while_loop(lambda h: False, lambda h: tf.tanh(h) * tf.sin(h), (x,))[0]


def one_step_at_a_time(x):
    def body(i, h):
        return i + 1, tf.tanh(h * x[i]) * tf.exp(-h)

    return tf.while_loop(lambda i, _: i < N, body, (0, x[0]), parallel_iterations=1)[1]


def reads_one_step_at_a_time(x):
    array = unstacked(x)

    def body(i, h):
        return i + 1, tf.tanh(2.0 * h + array.read(i))

    return tf.while_loop(lambda i, h: i < N, body, (0, x[0]), parallel_iterations=1)[1]


def a_number_of_steps_known_at_run_time(x):
    n = tf.cast(tf.reduce_sum(x * 0) + N, tf.int32)

    def body(i, h):
        return i + 1, tf.tanh(h * x[i]) * tf.exp(-h)

    return tf.while_loop(lambda i, _: i < n, body, (0, x[0]), maximum_iterations=n)[1]


def an_early_end(x):
    def body(i, h, done):
        h = tf.tanh(h * x[i]) * tf.exp(-h)
        return i + 1, h, i >= 2

    return tf.while_loop(lambda i, _, done: (i < N) & ~done, body, (0, x[0], False))[1]


def a_step_with_side_effects(x):
    def body(i, h):
        with tf.control_dependencies([tf.debugging.assert_less(i, N)]):
            return i + 1, tf.tanh(h * x[i]) * tf.exp(-h)

    return tf.while_loop(lambda i, _: i < N, body, (0, x[0]))[1]


def intermediates_of_many_types(x):
    def body(i, h, words):
        by_word = tf.cast(tf.strings.length(words), tf.float64)
        return i + 1, tf.where(h > 0.0, h * by_word, tf.abs(h) + x[i]), words + "x"

    return tf.while_loop(lambda i, *_: i < N, body, (0, x[0], tf.constant("x")))[1]


def two_loops_of_one_gradient(x):
    return recurrence(recurrence(x) * 0.5) + read_loop(x)


def reads_in_both_branches(x):
    array, other = unstacked(x), unstacked(tf.sin(x))

    def body(i, h):
        by_parity = tf.cond(i % 2 == 0, lambda: array.read(i), lambda: other.read(N - 1 - i))
        return i + 1, tf.tanh(h + by_parity)

    return tf.while_loop(lambda i, h: i < N, body, (0, x[0]))[1]


def reads_if_not(x):
    array = unstacked(x)

    def body(i, h):
        return i + 1, h * 0.5 + tf.cond(i > 2, lambda: tf.zeros_like(h), lambda: array.read(i))

    return tf.while_loop(lambda i, h: i < N, body, (0, x[0]))[1]


def reads_out_of_bounds_in_no_branch(x):
    array = unstacked(x)

    def body(i, h):
        at = i - 2
        return i + 1, h * 0.5 + tf.cond(at >= 0, lambda: array.read(at), lambda: h)

    return tf.while_loop(lambda i, h: i < N, body, (0, x[0]))[1]


def reads_that_fall_back(x):
    array, other = unstacked(x), unstacked(tf.sin(x))

    def body(i, h):
        first = tf.cond(i % 2 == 0, lambda: array.read(i), lambda: h)
        second = tf.cond(i % 3 == 0, lambda: first, lambda: other.read(i))
        return i + 1, tf.tanh(first * h + second)

    return tf.while_loop(lambda i, h: i < N, body, (0, x[0]))[1]


def reads_past_the_end_in_a_branch(x, n=N):
    array = unstacked(x)

    def body(i, h):
        return i + 1, h + tf.cond(i % 2 == N % 2, lambda: array.read(i), lambda: h)

    return tf.while_loop(lambda i, h: i < n, body, (0, x[0]))[1]


def several_reads_in_a_branch(x):
    array = unstacked(x)

    def body(i, h):
        both = tf.cond(i % 2 == 0, lambda: array.read(i) + 3.0 * array.read(0), lambda: h)
        return i + 1, h * 0.5 + both + array.read(i)

    return tf.while_loop(lambda i, h: i < N, body, (0, x[0]))[1]


def a_branch_that_computes(x):
    array = unstacked(x)

    def body(i, h):
        return i + 1, tf.cond(h[0] > 0, lambda: tf.sin(array.read(i)) * h, lambda: h + 0.7)

    return tf.while_loop(lambda i, h: i < N, body, (0, x[0]))[1]


def branches_in_branches(x):
    array = unstacked(x)

    def body(i, h):
        def inner():
            return tf.cond(i % 3 == 0, lambda: array.read(i), lambda: array.read(1) * h)

        return i + 1, tf.tanh(h + tf.cond(i % 2 == 0, inner, lambda: array.read(0)))

    return tf.while_loop(lambda i, h: i < N, body, (0, x[0]))[1]


def a_branch_of_many(x):
    array = unstacked(x)
    reads = [lambda k=k: array.read(k) for k in range(3)]

    def body(i, h):
        return i + 1, h * 0.5 + tf.switch_case(tf.convert_to_tensor(i % 3), reads)

    return tf.while_loop(lambda i, h: i < N, body, (0, x[0]))[1]


def elements_of_unknown_shape_in_a_branch(x):
    array = tf.TensorArray(tf.float64, N, clear_after_read=False, infer_shape=False)
    for i in range(N):
        array = array.write(i, x[i, : 1 + i % 2])

    def body(i, h):
        return i + 1, h + tf.cond(i % 2 == 0, lambda: tf.reduce_sum(array.read(i)), lambda: h)

    return tf.while_loop(lambda i, h: i < N, body, (0, x[0, 0]))[1]


def counters_of_many_kinds(x):
    array = unstacked(x)

    def body(i, j, k, wide, odd, h):
        h = h * tf.cast(j * k, h.dtype) + array.read(i) * tf.cast(wide, h.dtype)
        return i + 1, 1 + j, k + 2, wide + 1, tf.where(odd > 2, odd, odd + 1), h

    start = (0, 0, 0, tf.constant(0, tf.int64), 0, x[0])
    _, j, k, wide, odd, h = tf.while_loop(lambda i, *_: i < N, body, start)
    return h * tf.cast(j + k + odd, h.dtype) + tf.cast(wide, h.dtype)


def a_counter_that_begins_and_ends_elsewhere(x):
    array = unstacked(x)

    def body(i, h):
        return i + 1, tf.tanh(h * 0.5 + array.read(i))

    end, h = tf.while_loop(lambda i, h: i < N, body, (2, x[0]))
    return h * tf.cast(end, h.dtype)


def copies_of_what_never_changes(x):
    def body(i, c, d, h):
        return i + 1, c, c, h * d[0] + array.read(i) * c[1]

    array = unstacked(x)
    _, c, d, h = tf.while_loop(lambda i, *_: i < N, body, (0, x[0], x[1], x[2]))
    return h * d + c


def two_names_of_one_array(x):
    def body(i, a, b, h):
        return i + 1, a, a, h + a.read(i) + b.read(i)

    start = (0, unstacked(x), unstacked(x * 2.0), x[0])
    return tf.while_loop(lambda i, *_: i < N, body, start)[3]


def counters_that_follow_each_other(x):
    array = unstacked(x)

    def body(i, k, m, before, h):
        return i + 1, k + 1, m + 1, k + 1, tf.tanh(h + array.read(m)) * tf.cast(before, h.dtype)

    _, k, m, before, h = tf.while_loop(lambda i, *_: i < N, body, (0, 0, 0, 7, x[0]))
    return h * tf.cast(k + m + before, h.dtype)


def counters_that_double(x):
    array = unstacked(x)

    def body(i, p, q, h):
        return i + 1, p + q, q + q, h * 0.5 + array.read(i)

    _, p, q, h = tf.while_loop(lambda i, *_: i < N, body, (0, 1, 1, x[0]))
    return h * tf.cast(p + 3 * q, h.dtype)


def what_follows_from_the_step(x):
    array = unstacked(x)

    def body(i, h):
        weight = tf.cast(i, h.dtype)
        read = tf.cond((i % 3 == 1) | (i > N - 2), lambda: array.read(i), lambda: h * 0.0)
        return i + 1, h * 0.5 + read * weight

    return tf.while_loop(lambda i, h: i < N, body, (0, x[0]))[1]


def steps_counted_from_elsewhere(x):
    array = unstacked(x)

    def body(i, j, wide, h):
        read = array.read(i) * tf.cast(j, h.dtype) + array.read(N - 1 - i)
        return i + 1, j + 1, wide + 1, h * 0.5 + read * tf.cast(wide, h.dtype)

    start = (1, -3, tf.constant(10**10, tf.int64), x[0])
    _, j, wide, h = tf.while_loop(lambda i, *_: i < N, body, start)
    return h * tf.cast(j, h.dtype) + tf.cast(wide, h.dtype)


def reads_from_a_row_known_at_run_time(x):
    array = unstacked(x)
    first = tf.argmax(x[:, 0], output_type=tf.int32)

    def body(i, h):
        return i + 1, h * 0.5 + array.read(i)

    return tf.while_loop(lambda i, h: i < N, body, (first, x[0]))[1]


def fewer_steps_than_asked(x):
    array = unstacked(x)

    def body(i, h):
        return i + 1, h * 0.5 + array.read(i) * tf.cast(i, h.dtype)

    few = tf.shape(x)[0] - 2
    return tf.while_loop(lambda *_: True, body, (0, x[0]), maximum_iterations=few)[1]


def scanned_backwards(x):
    return tf.scan(lambda h, row: h * 0.5 + row, x, reverse=True)


def of_the_length_of_an_array(x):
    array = unstacked(x)

    def body(i, h):
        part = tf.cast(i, h.dtype) / tf.cast(array.size(), h.dtype)
        return i + 1, h * 0.5 + array.read(i) * part

    return tf.while_loop(lambda i, h: i < array.size(), body, (0, x[0]))[1]


def a_gradient_of_a_gradient(x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(what_follows_from_the_step(x) ** 3) + tf.reduce_sum(scanned_backwards(x))
    return tape.gradient(y, x)


LOOPS = [
    read_loop,
    no_step,
    recurrence,
    linear_recurrence,
    branch_in_the_body,
    nested,
    loop_in_a_branch,
    loop_in_a_branch_not_taken,
    recurrence_in_a_branch,
    recurrence_in_a_branch_not_taken,
    loop_in_a_branch_of_a_loop,
    mapped,
    scanned,
    invariant_read_afterwards,
    write_in_a_branch,
    loop_in_a_loop,
    loop_of_no_step,
    one_step_at_a_time,
    reads_one_step_at_a_time,
    a_number_of_steps_known_at_run_time,
    an_early_end,
    a_step_with_side_effects,
    intermediates_of_many_types,
    two_loops_of_one_gradient,
    reads_in_both_branches,
    reads_if_not,
    reads_out_of_bounds_in_no_branch,
    reads_that_fall_back,
    reads_past_the_end_in_a_branch,
    several_reads_in_a_branch,
    a_branch_that_computes,
    branches_in_branches,
    a_branch_of_many,
    elements_of_unknown_shape_in_a_branch,
    counters_of_many_kinds,
    a_counter_that_begins_and_ends_elsewhere,
    copies_of_what_never_changes,
    two_names_of_one_array,
    counters_that_follow_each_other,
    counters_that_double,
    what_follows_from_the_step,
    steps_counted_from_elsewhere,
    reads_from_a_row_known_at_run_time,
    fewer_steps_than_asked,
    scanned_backwards,
    of_the_length_of_an_array,
    a_gradient_of_a_gradient,
    *PLAIN_LOOPS,
]

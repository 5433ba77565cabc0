"""Loops that run in one kernel: numbers of iterations, kinds of loop variables, and contexts."""

from __future__ import annotations

import pathlib

import numpy as np
import pytest
import tensorflow as tf

import tensor_array_grad
from tests.loops import loop_programs as loops
from tests.loops import plain_loop_programs as plain
from tests.loops.loop_kernel_test import (
    a_point,
    assert_same,
    left,
    results_of,
    results_without_the_kernel,
    with_gradient,
)
from tests.loops.loop_programs import N
from tests.support import child
from tests.support.hand_back import AS_MEASURED, hand_back

EVERY = [AS_MEASURED, *range(N + 2)]


def same_for_every_hand_back(program, *arguments):
    """Compares a function, handed back after each number of iterations, with the stock loop.

    Returns the results of the stock loop.
    """
    want = results_without_the_kernel(tf.function(program, autograph=False), *arguments)
    function = tf.function(program, autograph=False)
    for after in EVERY:
        with hand_back(after):
            assert_same(results_of(function, *arguments), want, f"handed back after {after}")
    return want


# ---- numbers of iterations


@pytest.mark.parametrize("program", [loops.no_step, loops.loop_of_no_step])
def test_a_loop_of_zero_iterations_returns_its_initial_values(counted, program):
    want = results_without_the_kernel(with_gradient(program))
    function = with_gradient(program)
    for after in (AS_MEASURED, 0, 1):
        with hand_back(after):
            assert_same(results_of(function), want)
    assert counted["loops.iterations"] == 0


def test_a_loop_in_a_branch_that_is_not_taken_runs_no_op(counted):
    calls = []

    def called(i):
        calls.append(int(i))
        return np.float64(0)

    def program(x, taken):
        def body(i, h):
            zero = tf.ensure_shape(tf.numpy_function(called, [i], tf.float64), [])
            return i + 1, tf.tanh(h) + zero

        def loop():
            return tf.while_loop(lambda i, _: i < N, body, (0, x))[1]

        return tf.cond(taken, loop, lambda: x)

    function = tf.function(program, autograph=False)
    x = tf.constant([0.5, 1.0], tf.float64)
    for after in EVERY:
        with hand_back(after):
            assert_same(results_of(function, x, tf.constant(False)), [x])
    assert calls == []
    assert counted["loops.iterations"] == 0
    results_of(function, x, tf.constant(True))
    assert calls == list(range(N))


@pytest.mark.parametrize("most", [0, 1, 3, N, N + 3])
def test_maximum_iterations_limits_the_number_of_iterations(most):
    def program(x, most):
        step = lambda i, h: (i + 1, tf.tanh(h + 1.0))  # noqa: E731 - shorter than a function
        return tf.while_loop(lambda i, _: i < N, step, (0, x), maximum_iterations=most)

    got = same_for_every_hand_back(program, tf.zeros([2]), tf.constant(most))
    assert got[0] == min(most, N)


# ---- kinds of loop variables


def test_strings_are_loop_variables():
    def program(word):
        def body(i, one, other):
            return i + 1, other, tf.strings.join([one, tf.strings.as_string(i)])

        start = (0, word, tf.constant(["b", ""]))
        return tf.while_loop(lambda i, *_: i < 5, body, start)

    got = same_for_every_hand_back(program, tf.constant(["a", "long enough to be on the heap"]))
    assert got[2].tolist() == [b"a024", b"long enough to be on the heap024"]


def test_a_resource_is_a_loop_variable():
    one, other = (tf.Variable(value, dtype=tf.float64) for value in (0.0, 100.0))

    @tf.function(autograph=False)
    def function(x):
        def body(i, this, that, h):
            with tf.control_dependencies([h]):
                add = tf.raw_ops.AssignAddVariableOp(resource=this, value=tf.cast(i, tf.float64))
            with tf.control_dependencies([add]):
                now = tf.raw_ops.ReadVariableOp(resource=this, dtype=tf.float64)
            return i + 1, that, this, h * 0.5 + now

        start = (0, one.handle, other.handle, x)
        return tf.while_loop(lambda i, *_: i < N, body, start)[3]

    x = tf.constant(1.0, tf.float64)
    wants = None
    for after in EVERY:
        one.assign(0.0)
        other.assign(100.0)
        with hand_back(after):
            got = [*results_of(function, x), one.numpy(), other.numpy()]
        assert got[1:] == [0.0 + 2.0 + 4.0, 100.0 + 1.0 + 3.0 + 5.0], after
        wants = wants or got
        assert got == wants, after


def test_variants_are_loop_variables():
    def program(x):
        raw = tf.raw_ops
        empty = raw.EmptyTensorList(
            element_shape=tf.constant([2]), max_num_elements=-1, element_dtype=tf.float64
        )

        def body(i, this, that):
            row = x[i] + tf.cast(raw.TensorListLength(input_handle=this), x.dtype)
            return i + 1, that, raw.TensorListPushBack(input_handle=this, tensor=row)

        _, one, other = tf.while_loop(lambda i, *_: i < N, body, (0, empty, empty))
        return [
            raw.TensorListStack(
                input_handle=each, element_shape=tf.constant([2]), element_dtype=tf.float64
            )
            for each in (one, other)
        ]

    got = same_for_every_hand_back(program, tf.constant(a_point()))
    assert [rows.shape for rows in got] == [(3, 2), (3, 2)]


def test_an_optional_is_a_loop_variable():
    def program(x):
        def body(i, held):
            value = held.get_value()
            return i + 1, tf.experimental.Optional.from_value(tf.tanh(value + 1.0))

        start = (0, tf.experimental.Optional.from_value(x))
        return tf.while_loop(lambda i, _: i < N, body, start)[1].get_value()

    same_for_every_hand_back(program, tf.constant(a_point()))


@pytest.mark.parametrize(
    "dtype", ["float16", "bfloat16", "float32", "complex64", "complex128", "int8", "uint64", "bool"]
)
def test_every_dtype_is_a_loop_variable(dtype):
    def program(x):
        def body(i, h, other):
            return i + 1, other, tf.where(i % 2 == 0, h, tf.reverse(other, [0]))

        return tf.while_loop(lambda i, *_: i < 5, body, (0, x, tf.reverse(x, [0])))

    same_for_every_hand_back(program, tf.cast(tf.constant([0, 1, 1]), dtype))


# ---- contexts


def test_a_loop_in_a_dataset_map_has_the_results_of_stock(counted):
    def elements():
        rows = tf.data.Dataset.from_tensor_slices(a_point())
        doubled = rows.map(lambda row: plain.power_iteration(a_point() * row), num_parallel_calls=4)
        return list(doubled.as_numpy_iterator())

    with tensor_array_grad.loops_in_one_kernel(False):
        want = elements()
    assert counted["loops.runs"] == 0
    for after in EVERY:
        with hand_back(after):
            assert_same(elements(), want)


_SAVE = """
import sys
import numpy as np, tensorflow as tf
import tensor_array_grad
tensor_array_grad.enable()
sys.path.insert(0, sys.argv[2])
from tests.loops import loop_programs as loops
from tests.loops import plain_loop_programs as plain
class Model(tf.Module):
    @tf.function(input_signature=[tf.TensorSpec([6, 2], tf.float64)])
    def __call__(self, x):
        y = plain.power_iteration(x) + loops.recurrence(x) + loops.scanned(x)
        return y, tf.gradients(y, x)[0]
model = Model()
y, gradient = model(tf.ones([6, 2], tf.float64))
tf.saved_model.save(model, sys.argv[1])
counters = tensor_array_grad.status().counters
print(counters.get("loops.runs", 0), y.numpy().tolist() + gradient.numpy().tolist())
"""
_LOAD = """
import sys
import tensorflow as tf
model = tf.saved_model.load(sys.argv[1])
y, gradient = model(tf.ones([6, 2], tf.float64))
print(0, y.numpy().tolist() + gradient.numpy().tolist())
"""


def test_a_saved_model_has_only_stock_ops_and_runs_without_the_library(tmp_path: pathlib.Path):
    root = str(pathlib.Path(__file__).resolve().parents[2])
    runs, saved = child.code(_SAVE, str(tmp_path), root).stdout.split(maxsplit=1)
    _, loaded = child.code(_LOAD, str(tmp_path)).stdout.split(maxsplit=1)
    assert int(runs) >= 1
    np.testing.assert_allclose(eval(loaded), eval(saved), rtol=1e-14)
    assert b"TensorArrayGrad>" not in (tmp_path / "saved_model.pb").read_bytes()


def test_a_loop_compiled_by_xla_does_not_run_in_one_kernel(counted):
    def compiled():
        return tf.function(plain.power_iteration, jit_compile=True, autograph=False)

    want = results_without_the_kernel(compiled())
    assert_same(results_of(compiled()), want)
    assert counted["loops.runs"] == 0


@pytest.mark.parametrize("after", [AS_MEASURED, 0, 2, N + 1])
def test_a_loop_that_calls_python_has_the_gradient_of_stock(after):
    def program(x):
        def body(i, h):
            # Stock has no gradient of py_function in a loop: it keeps one tape for all iterations.
            called = tf.py_function(lambda a: tf.sin(a) * 2.0, [tf.stop_gradient(h)], tf.float64)
            return i + 1, tf.tanh(h + tf.stop_gradient(tf.ensure_shape(called, [2]))) + x[i]

        return tf.while_loop(lambda i, _: i < N, body, (0, x[0]))[1]

    want = results_without_the_kernel(with_gradient(program))
    function = with_gradient(program)
    with hand_back(after):
        assert_same(results_of(function), want)


def test_a_loop_in_a_python_function_may_run_inside_an_iteration_of_another_loop(counted):
    inner = tf.function(plain.power_iteration, autograph=False)

    def program(x):
        def body(i, h):
            called = tf.numpy_function(lambda a: inner(tf.constant(a)).numpy(), [x + h], tf.float64)
            return i + 1, tf.ensure_shape(called, [2])

        return tf.while_loop(lambda i, _: i < 3, body, (0, x[0]))[1]

    same_for_every_hand_back(program, tf.constant(a_point()))
    assert counted["loops.runs"] + left(counted) >= 1


def test_an_autograph_loop_with_break_and_continue_has_the_results_of_stock():
    def program(x):
        h = x[0]
        for i in tf.range(N):
            if i == 1:
                continue
            if i == 4:
                break
            h = tf.tanh(h + x[i])
        return h

    x = tf.constant(a_point())
    want = results_without_the_kernel(tf.function(program), x)
    function = tf.function(program)
    for after in EVERY:
        with hand_back(after):
            assert_same(results_of(function, x), want, f"handed back after {after}")

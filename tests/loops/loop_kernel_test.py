"""Loops that run in one kernel: results, effects, errors and cancellation are those of stock.

`hand_back(k)` hands each loop back after k iterations, and the stock loop runs the rest. The values
and effects of the k iterations in the kernel must be those of the first k iterations of the stock
loop.
"""

from __future__ import annotations

import ctypes
import os
import re
import threading
import time

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.eager import cancellation

import tensor_array_grad
from tensor_array_grad import _command
from tests.loops import loop_programs as loops
from tests.loops import plain_loop_programs as plain
from tests.loops.loop_programs import N
from tests.support import child, kernel_runner, modes
from tests.support.hand_back import AS_MEASURED, hand_back
from tests.support.threads import in_parallel

v1 = tf.compat.v1

if not _command.switched_off():
    tensor_array_grad.enable()


def a_point():
    return np.random.default_rng(2).normal(size=(N, 2))


def with_gradient(program):
    """A function of x that returns the value of `program` and the gradient of its squares."""

    @tf.function(autograph=False)
    def function(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = program(x)
            loss = tf.reduce_sum(y**2)
        return y, tape.gradient(loss, x, unconnected_gradients="zero")

    return function


def results_of(function, *arguments):
    """Calls `function` and returns its results as arrays."""
    arguments = arguments or (tf.constant(a_point()),)
    return [tf.convert_to_tensor(t).numpy() for t in tf.nest.flatten(function(*arguments))]


def results_without_the_kernel(function, *arguments):
    """Calls `function` with stock loops. Requires: it has not been called yet."""
    with tensor_array_grad.loops_in_one_kernel(False):
        return results_of(function, *arguments)


def assert_same(got, want, where=""):
    for one, other in zip(got, want, strict=True):
        np.testing.assert_array_equal(one, other, err_msg=where)


def left(counted):
    """How many loops were examined and left to the executor."""
    return sum(n for name, n in counted.all().items() if name.startswith("loops.left."))


# ---- results

# Loops that the library has no reason to leave to the executor.
RUN = [
    loops.read_loop,
    loops.recurrence,
    loops.scanned,
    loops.mapped,
    loops.nested,
    loops.branch_in_the_body,
    *plain.PLAIN_LOOPS,
]
NOT_TAKEN = [loops.loop_in_a_branch_not_taken, loops.recurrence_in_a_branch_not_taken]


@pytest.mark.parametrize("program", loops.LOOPS)
@pytest.mark.sweep(3)
def test_values_and_gradients_do_not_depend_on_the_kernel(counted, program):
    want = results_without_the_kernel(with_gradient(program))
    assert counted["loops.runs"] == 0
    assert_same(results_of(with_gradient(program)), want)
    if program not in NOT_TAKEN:
        assert counted["loops.runs"] + left(counted) >= 1


@pytest.mark.parametrize("number", [1, 7])
def test_a_first_call_compiles_each_loop_once_for_its_kernel(counted, number):
    @tf.function(autograph=False)
    def gradient(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x
            for _ in range(number):
                y = tf.while_loop(lambda i, _: i < 3, lambda i, h: (i + 1, tf.tanh(h)), (0, y))[1]
        return tape.gradient(y, x)

    for _ in range(2):
        gradient(tf.ones([2]))
        assert counted["loops.rewritten"] == 2 * number  # the loops and their backward loops
        assert counted["loops.prepared"] == 2 * number


@pytest.mark.parametrize("program", RUN)
def test_a_loop_runs_in_one_kernel(counted, program):
    results_of(with_gradient(program))
    assert counted["loops.prepared"] >= 1
    assert counted["loops.runs"] >= 1
    assert counted["loops.iterations"] >= 1


def test_the_switch_is_a_call_and_a_context_manager_and_nests(counted):
    with tensor_array_grad.loops_in_one_kernel(False):
        with tensor_array_grad.loops_in_one_kernel(True):
            results_of(with_gradient(plain.power_iteration))
        assert counted["loops.runs"] >= 1
        before = counted["loops.runs"]
        results_of(with_gradient(plain.power_iteration))
        assert counted["loops.runs"] == before
    tensor_array_grad.loops_in_one_kernel(False)
    try:
        results_of(with_gradient(plain.power_iteration))
        assert counted["loops.runs"] == before
    finally:
        tensor_array_grad.loops_in_one_kernel(True)


def test_the_environment_switches_loops_in_one_kernel_off():
    done = child.code(
        """
        import tensor_array_grad, tensorflow as tf
        tensor_array_grad.enable()
        loop = tf.function(lambda x: tf.while_loop(lambda h: h < 9.0, lambda h: h * 2.0, (x,))[0])
        print(loop(tf.constant(1.0)).numpy(),
              tensor_array_grad.status().counters.get("loops.runs", 0))
        """,
        TENSOR_ARRAY_GRAD_LOOPS="off",
    )
    assert done.stdout.split() == ["16.0", "0"]


# ---- handing back

SHORT = [
    plain.power_iteration,
    loops.read_loop,
    loops.recurrence,
    loops.scanned,
    loops.nested,
    loops.branch_in_the_body,
    plain.swapped_variables,
    plain.rotated_variables,
    plain.switch_of_three,
    plain.three_loops_deep,
    plain.inner_loop_that_sometimes_runs,
    plain.strings_that_grow,
    plain.counts_down,
    plain.a_vector_that_grows,
    loops.copies_of_what_never_changes,
]


@pytest.mark.parametrize("program", SHORT)
def test_handing_back_after_any_iteration_changes_nothing(counted, program):
    want = results_without_the_kernel(with_gradient(program))
    function = with_gradient(program)
    results_of(function)
    for after in range(N + 2):
        runs, iterations = counted["loops.runs"], counted["loops.iterations"]
        back = counted["loops.handed_back"]
        with hand_back(after):
            assert_same(results_of(function), want, f"handed back after {after}")
        runs, back = counted["loops.runs"] - runs, counted["loops.handed_back"] - back
        assert runs >= 1
        if after == 0:
            assert counted["loops.iterations"] == iterations
            assert back == runs
        elif after > N:  # more iterations than any of these loops has
            assert back == 0
        elif after == 1:
            assert back >= 1
    assert_same(results_of(function), want)


def eight_chains(iterations=80):
    """A function whose loop is handed back, and its argument.

    Each chain goes on in the next variable, so that no second thread can run a part of them.

    The kernels of an iteration take about 5 ms on one thread, and each runs on one thread only. Two
    threads of the executor take half of that, so even an inaccurate measurement leads to a
    hand-back.
    """

    @tf.function(autograph=False)
    def function(x):
        def step(i, first, *others):
            return (i + 1, *(tf.linalg.inv(h) + x for h in (*others, first)))

        return tf.while_loop(lambda i, *_: i < iterations, step, (0, *(x * k for k in range(1, 9))))

    return function, tf.eye(128, dtype=tf.float64) + 1e-3


two_cores = pytest.mark.skipif(
    len(os.sched_getaffinity(0)) < 2, reason="with one thread no loop is handed back"
)


@two_cores
def test_a_measured_hand_back_holds_for_the_next_run(counted):
    want = results_without_the_kernel(*eight_chains())
    function, x = eight_chains()
    with hand_back(AS_MEASURED):
        for runs in (1, 1, 2, 2, 2):  # the choice of a run holds for the next one, then for more
            assert_same(results_of(function, x), want)
            assert counted["loops.runs"] == counted["loops.handed_back"] == runs
    assert 0 < counted["loops.iterations"] < 80 * 3


@two_cores
@pytest.mark.parametrize("iterations", [1, 2])
def test_the_executor_gets_a_short_loop_of_heavy_kernels_side_by_side(counted, iterations):
    want = results_without_the_kernel(*eight_chains(iterations))
    function, x = eight_chains(iterations)
    with hand_back(AS_MEASURED):
        for _ in range(12):
            assert_same(results_of(function, x), want)
    assert counted["loops.runs"] < 12  # it had the others from the beginning


@two_cores
@pytest.mark.parametrize(("threads", "handed_back"), [("1", "0"), ("2", "1")])
def test_the_number_of_threads_may_come_from_the_environment(threads, handed_back):
    run = """
import tensor_array_grad
from tests.loops.loop_kernel_test import eight_chains
tensor_array_grad.enable()
function, x = eight_chains()
function(x)
print(tensor_array_grad.counters()["loops.handed_back"])
"""
    done = child.python("-c", run, TF_NUM_INTEROP_THREADS=threads)
    assert done.stdout.strip() == handed_back, done.stderr


def allocated_bytes():
    """The number of bytes in use in the heaps of the C library."""

    class Information(ctypes.Structure):  # of mallinfo2(3); the eighth number is uordblks
        _fields_ = [("numbers", ctypes.c_size_t * 10)]

    mallinfo2 = ctypes.CDLL(None).mallinfo2
    mallinfo2.restype = Information
    return mallinfo2().numbers[7]


# For tests of buffers that the kernels of a loop have freed. Such buffers must be given back,
# because the executor cannot use them.
measures_memory = pytest.mark.skipif(
    not hasattr(ctypes.CDLL(None), "mallinfo2"), reason="needs glibc 2.33"
)


@measures_memory
def test_a_loop_that_is_handed_back_gives_its_free_buffers_back(counted):
    function = with_gradient(lambda x: loops.recurrence(tf.tile(x, [1, 5_000])))
    want = results_of(function)  # N elements of 80 kB, and as many gradients
    kept = allocated_bytes()
    with hand_back(2):
        assert_same(results_of(function), want)
    assert counted["loops.handed_back"] > 0
    assert allocated_bytes() < kept - 2 * 80_000


@two_cores
@measures_memory
def test_a_loop_that_is_left_to_the_executor_gives_free_buffers_back(counted):
    other = with_gradient(lambda x: loops.recurrence(tf.tile(x, [1, 5_000])))
    function, x = eight_chains()
    with hand_back(AS_MEASURED):
        results_of(function, x)
        assert counted["loops.handed_back"] == 1
        results_of(other)
        runs, kept = counted["loops.runs"], allocated_bytes()
        results_of(function, x)
    assert counted["loops.runs"] == runs
    assert allocated_bytes() < kept - 2 * 80_000


def test_handing_back_a_loop_of_tf1_over_v3_arrays_changes_nothing(counted):
    with tf.Graph().as_default(), modes.tf1_control_flow():
        x = v1.placeholder(tf.float64, [N, 2])
        y = loops.read_loop(x) + loops.recurrence(x)[-1]
        fetches = [y, tf.gradients(tf.reduce_sum(y**2), x)[0]]
        feed = {x: a_point()}
        with tensor_array_grad.loops_in_one_kernel(False), v1.Session() as session:
            want = session.run(fetches, feed)
        assert counted["loops.runs"] == 0
        with v1.Session() as session:
            assert_same(session.run(fetches, feed), want)
            assert counted["loops.runs"] + left(counted) >= 1
            for after in range(N + 2):
                with hand_back(after):
                    assert_same(session.run(fetches, feed), want, f"handed back after {after}")


def test_handing_back_after_any_iteration_does_not_change_a_second_derivative():
    want = results_without_the_kernel(with_gradient(loops.a_gradient_of_a_gradient))
    function = with_gradient(loops.a_gradient_of_a_gradient)
    for after in range(N + 2):
        with hand_back(after):
            assert_same(results_of(function), want, f"handed back after {after}")


# ---- effects


def loop_that_calls(call, n=N, **options):
    """A function whose loop makes `call(i)` in each iteration, one after the other."""

    @tf.function(autograph=False)
    def function(h):
        def body(i, h):
            with tf.control_dependencies([h]):
                done = call(i)
            with tf.control_dependencies([done]):
                return i + 1, h * 0.5 + 1.0

        return tf.while_loop(lambda i, _: i < n, body, (0, h), **options)[1]

    return function


@pytest.mark.parametrize("options", [{}, {"parallel_iterations": 1}, {"maximum_iterations": 4}])
def test_a_variable_is_assigned_once_in_each_iteration(options):
    variable = tf.Variable(0.0, dtype=tf.float64)
    count = options.get("maximum_iterations", N)

    def call(i):
        # The result depends on the order of the iterations.
        return variable.assign(variable * 2.0 + tf.cast(i, tf.float64) + 1.0)

    want = 0.0
    for i in range(count):
        want = want * 2.0 + i + 1.0
    function = loop_that_calls(call, **options)
    for after in [AS_MEASURED, *range(N + 2)]:
        variable.assign(0.0)
        with hand_back(after):
            results_of(function, tf.ones([2]))
        assert variable.numpy() == want, after


def test_a_function_of_python_is_called_once_in_each_iteration():
    calls = []

    def called(i):
        calls.append(int(i))
        return np.int32(0)

    function = loop_that_calls(lambda i: tf.numpy_function(called, [i], tf.int32))
    for after in [AS_MEASURED, *range(N + 2)]:
        calls.clear()
        with hand_back(after):
            results_of(function, tf.ones([2]))
        assert calls == list(range(N)), after


@pytest.mark.parametrize("after", [AS_MEASURED, 0, 1, 3, N + 1])
def test_seeded_random_numbers_are_those_of_stock(after):
    def calls(enabled):
        tf.random.set_seed(5)

        @tf.function(autograph=False)
        def function(h):
            def body(i, h):
                with tf.control_dependencies([h]):
                    drawn = tf.random.uniform([2], seed=3)
                return i + 1, h * 0.5 + drawn

            return tf.while_loop(lambda i, _: i < N, body, (0, h))[1]

        with tensor_array_grad.loops_in_one_kernel(enabled), hand_back(after):
            # If the first call drew one number too many, those of the second call would differ.
            return [results_of(function, tf.ones([2])) for _ in range(2)]

    assert_same(calls(True), calls(False))


# ---- errors


def divides(x, at):
    def body(i, h):
        return i + 1, tf.tanh(h * x[i]) + tf.cast(12 // (i - at), h.dtype)

    return tf.while_loop(lambda i, _: i < N, body, (0, x[0]))[1]


def reads_past_the_end(x, at):
    array = loops.unstacked(x)

    def body(i, h):
        return i + 1, h * 0.5 + array.read(i + N - at)

    return tf.while_loop(lambda i, _: i <= at, body, (0, x[0]))[1]


def asserts(x, at):
    def body(i, h):
        with tf.control_dependencies([tf.debugging.assert_none_equal(i, at)]):
            return i + 1, h * 0.5 + x[i]

    return tf.while_loop(lambda i, _: i < N, body, (0, x[0]))[1]


def error_of(function):
    """The class of the error, its text without the lines that vary, and the nodes that it names.

    The lines left out quote Python source or contain the number of a function.
    """
    with pytest.raises(tf.errors.OpError, match=r"zero|list|assertion") as raised:
        results_of(function)
    text = raised.value.message
    lines = [x for x in text.splitlines() if not re.search(r'File "|\[\[|^    ', x)]
    return raised.type, lines, re.findall("{{node [^}]*}}", text)


@pytest.mark.parametrize("at", [0, 2, N - 1])
@pytest.mark.parametrize("program", [divides, reads_past_the_end, asserts])
def test_an_error_in_an_iteration_is_the_error_of_stock(program, at):
    def fails(x):
        return program(x, at)

    with tensor_array_grad.loops_in_one_kernel(False):
        want = error_of(tf.function(fails, autograph=False))
    assert want[2], "stock's message names no node"
    function = tf.function(fails, autograph=False)
    for after in [AS_MEASURED, *range(N + 2)]:
        with hand_back(after):
            assert error_of(function) == want, after


def test_a_function_works_again_after_an_error():
    @tf.function(autograph=False)
    def function(x, at):
        return divides(x, at)

    x = tf.constant(a_point())
    want = results_without_the_kernel(tf.function(divides, autograph=False), x, tf.constant(-1))
    for _ in range(3):
        with pytest.raises(tf.errors.InvalidArgumentError, match="ivision by zero"):
            function(x, tf.constant(2))
        assert_same(results_of(function, x, tf.constant(-1)), want)


# ---- cancellation: in a child process, because a loop that is not cancelled never ends


def endless(x):
    return tf.while_loop(lambda h: h < 2.0, tf.tanh, (x,))[0]


def in_a_session_with_a_timeout():
    with tf.Graph().as_default(), v1.Session() as session:
        y = endless(v1.placeholder_with_default(1.0, []))
        options = v1.RunOptions(timeout_in_ms=500)
        try:
            session.run(y, options=options)
        except tf.errors.OpError as error:
            return type(error).__name__


def by_a_cancellation_manager():
    manager = cancellation.CancellationManager()
    signature = [tf.TensorSpec([], tf.float32)]
    concrete = tf.function(endless, input_signature=signature).get_concrete_function()
    function = manager.get_cancelable_function(concrete)
    timer = threading.Timer(0.5, manager.start_cancel)
    timer.start()
    try:
        function(tf.constant(1.0))
    except tf.errors.OpError as error:
        return type(error).__name__


def by_an_error_beside_it():
    def fails(_):
        time.sleep(0.5)
        raise ValueError("beside the loop")

    @tf.function(autograph=False)
    def function(x):
        return endless(x), tf.numpy_function(fails, [x], tf.float32)

    try:
        function(tf.constant(1.0))
    except tf.errors.OpError as error:
        return "beside the loop" in error.message


@pytest.mark.parametrize(
    ("cancel", "want"),
    [
        ("in_a_session_with_a_timeout", "DeadlineExceededError"),
        ("by_a_cancellation_manager", "CancelledError"),
        ("by_an_error_beside_it", True),
    ],
)
def test_an_endless_loop_can_be_cancelled(ours, cancel, want):
    assert ours.call(f"tests.loops.loop_kernel_test:{cancel}", timeout=60.0) == want


def test_the_endless_loop_does_not_end_without_cancellation(ours):
    got = ours.call("tests.loops.loop_kernel_test:_run_endless", timeout=3.0)
    assert isinstance(got, kernel_runner.Hung)


def _run_endless():
    return float(tf.function(endless)(tf.constant(1.0)))


# ---- threads


@pytest.mark.parametrize("after", [AS_MEASURED, 2])
@pytest.mark.parametrize("program", [plain.power_iteration, loops.recurrence, loops.nested])
def test_many_threads_may_call_one_function(program, after):
    inputs = [tf.constant(a_point() * (k + 1.0)) for k in range(8)]
    without = with_gradient(program)
    wants = [results_without_the_kernel(without, x) for x in inputs]
    function = with_gradient(program)
    with hand_back(after):
        results_of(function)
        many = in_parallel(lambda k: [results_of(function, inputs[k]) for _ in range(10)])
    for repeats, want in zip(many, wants, strict=True):
        assert not isinstance(repeats, Exception), repeats
        for got in repeats:
            assert_same(got, want)

"""Loops under the graph pass: results, run counts and errors do not depend on it."""

from __future__ import annotations

import functools
import re
import time

import keras
import numpy as np
import pytest
import tensorflow as tf

import tensor_array_grad
from tests.loops import loop_programs as loops
from tests.loops.loop_programs import N, recurrence
from tests.support import child

tensor_array_grad.enable()


# How many rewrites each rule makes in a program's graph.
REWRITES = {
    "accumulate_into_list": {
        loops.read_loop: 1,
        loops.recurrence: 2,
        loops.scanned: 2,
        loops.reads_if_not: 1,
        loops.reads_out_of_bounds_in_no_branch: 1,
    },
    "slice_sum": {loops.read_loop: 1, loops.recurrence: 3, loops.scanned: 0},
    "recompute": {
        loops.what_follows_from_the_step: 3,
        loops.steps_counted_from_elsewhere: 4,
        loops.fewer_steps_than_asked: 4,
        loops.scanned_backwards: 3,
        loops.of_the_length_of_an_array: 4,
        loops.mapped: 2,
        loops.recurrence: 0,
    },
    "loop_stack": {loops.recurrence: 11, loops.an_early_end: 6, loops.scanned: 2},
}


def gradient_of(program, enabled=True, wrap=tf.function):
    """Value and gradient at a fixed point, traced and first run with the graph pass on or off."""

    @wrap
    def gradient(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = program(x)
            loss = tf.reduce_sum(y**2)
        return y, tape.gradient(loss, x)

    with tensor_array_grad.graph_pass(enabled):
        x = tf.constant(np.random.default_rng(2).normal(size=(N, 2)))
        return [tf.convert_to_tensor(t).numpy() for t in gradient(x)]


rewritten = functools.cache(gradient_of)


@pytest.mark.parametrize("program", loops.LOOPS)
@pytest.mark.sweep(3)
def test_values_and_gradients_do_not_depend_on_the_pass(counted, program):
    without = gradient_of(program, enabled=False)
    assert all(counted[f"graph.{rule}"] == 0 for rule in REWRITES)
    for got, want in zip(rewritten(program), without, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-15)


@pytest.mark.parametrize("program", loops.LOOPS)
@pytest.mark.sweep(2)
def test_values_and_gradients_are_those_of_eager_mode(program):
    eager = gradient_of(program, wrap=lambda function: function)
    for got, want in zip(rewritten(program), eager, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-12)


@pytest.fixture
def optimizer(request):
    """Switches off some of TensorFlow's own rewrites, which change graphs before the pass runs."""
    tf.config.optimizer.set_experimental_options(request.param)
    yield
    tf.config.optimizer.set_experimental_options(
        {option: not value for option, value in request.param.items()}
    )


@pytest.mark.parametrize(
    ("optimizer", "program"),
    [({"disable_meta_optimizer": True}, program) for program in loops.LOOPS]
    + [
        ({option: False}, program)
        for option in ("constant_folding", "arithmetic_optimization")
        for program in (loops.counters_that_double, loops.branches_in_branches, loops.recurrence)
    ],
    indirect=["optimizer"],
)
@pytest.mark.sweep(5)
def test_the_pass_changes_no_result_if_optimizers_of_tensorflow_are_off(optimizer, program):
    for got, want in zip(gradient_of(program), gradient_of(program, enabled=False), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-14)


@pytest.mark.parametrize(
    ("rule", "program", "rewrites"),
    [(rule, *expected) for rule, programs in REWRITES.items() for expected in programs.items()],
)
def test_each_rule_makes_the_expected_number_of_rewrites(counted, rule, program, rewrites):
    gradient_of(program)
    assert counted[f"graph.{rule}"] == rewrites


def test_a_read_in_a_branch_adds_to_the_gradient_in_one_op(counted):
    with tensor_array_grad.loops_in_one_kernel(False):  # a small op there, which is not counted
        gradient_of(loops.reads_if_not)
    assert counted["kernels.TensorArrayGrad>ListAccumulateLike"] == 3  # of N iterations
    for op in ("SetItem", "Reserve"):
        assert counted[f"kernels.TensorList{op}"] == 0


@pytest.mark.parametrize(
    "program",
    [loops.what_follows_from_the_step, loops.scanned_backwards, loops.fewer_steps_than_asked],
)
def test_values_that_follow_from_the_number_of_the_iteration_are_not_kept(counted, program):
    gradient_of(program)
    for op in (
        "TensorListPushBack",
        "TensorListPopBack",
        "TensorArrayGrad>PushLoopStack",
        "TensorArrayGrad>PopLoopStack",
    ):
        assert counted[f"kernels.{op}"] == 0, op


def test_a_loop_without_a_list_is_left_alone(counted):
    @tf.function
    def power(x):
        return tf.while_loop(lambda i, h, y: i < N, lambda i, h, y: (i + 1, h * y, y), (0, x, x))[1]

    power(tf.constant(1.5))
    assert all(counted[f"graph.{rule}"] == 0 for rule in REWRITES)


# ---- what runs, and how often


def _loop_that_calls(call, n=N):
    """A function whose loop over a list calls `call` once per iteration, with constant inputs."""

    @tf.function
    def function(x, n):
        array = loops.unstacked(x)

        def body(i, h):
            return i + 1, tf.ensure_shape(h + array.read(i) + call(), [2])

        return tf.while_loop(lambda i, h: i < n, body, (0, tf.zeros_like(x[0])))[1]

    return lambda: function(tf.ones([N, 2], tf.float64), tf.constant(n)).numpy()


@pytest.mark.parametrize("n", [0, 1, N])
def test_a_call_with_only_constant_inputs_runs_once_per_iteration(n):
    calls = []

    def called(value):
        calls.append(int(value))
        return np.float64(value)

    call = _loop_that_calls(lambda: tf.numpy_function(called, [7], tf.float64), n)
    np.testing.assert_array_equal(call(), [8.0 * n] * 2)
    assert calls == [7] * n


@pytest.mark.parametrize("n", [0, 1, N])
def test_an_op_with_several_constant_inputs_runs_once_per_iteration(n):
    calls = []

    def called(*values):
        calls.append([int(value) for value in values])
        return np.float64(0)

    variable = tf.Variable([0.0, 0.0, 0.0], dtype=tf.float64)

    def effects():
        variable.scatter_nd_add([[1]], [tf.constant(1.0, tf.float64)])
        variable[2].assign(5.0)
        return tf.numpy_function(called, [7, 8], tf.float64)

    _loop_that_calls(effects, n)()
    assert calls == [[7, 8]] * n
    np.testing.assert_array_equal(variable, [0.0, n, 5.0 if n else 0.0])


def _lists_by_hand(push, step, n, most=N):
    """Runs a loop that pushes a value per iteration, and one that pops them, the last one first.

    The first loop has n iterations and pushes `push(i, array)`. The second loop has at most `most`
    iterations and updates h, which begins as 0, to `step(value, h)`. Returns h.
    """

    @tf.function
    def function(n, most):
        array = tf.TensorArray(tf.float32, 5).unstack(tf.ones([5]))
        empty = tf.raw_ops.EmptyTensorList(
            element_shape=tf.constant([], tf.int32), max_num_elements=-1, element_dtype=tf.int32
        )

        def ahead(i, held):
            return i + 1, tf.raw_ops.TensorListPushBack(input_handle=held, tensor=push(i, array))

        def back(j, held, h):
            held, value = tf.raw_ops.TensorListPopBack(
                input_handle=held, element_shape=-1, element_dtype=tf.int32
            )
            return j + 1, held, step(tf.ensure_shape(value, []), h)

        steps, held = tf.while_loop(lambda i, _: i < n, ahead, (0, empty))
        return tf.while_loop(lambda j, *_: (j < steps) & (j < most), back, (0, held, 0))[2]

    return function(tf.constant(n), tf.constant(most)).numpy()


@pytest.mark.parametrize(
    ("push", "want"),
    [(lambda i, _: i, 210), (lambda i, _: 2 * i + 1, 531), (lambda i, _: i % 2, 10)],
)
def test_popped_values_of_a_counter_are_recomputed(counted, push, want):
    assert _lists_by_hand(push, lambda value, h: h * 10 + value, 3) == want
    assert counted["graph.recompute"] == 1
    assert _lists_by_hand(push, lambda value, h: h * 10 + value, 3, most=2) == want // 10


@pytest.mark.parametrize("n", [0, 1, 3])
def test_an_op_fed_by_a_popped_loop_constant_runs_once_per_iteration(counted, n):
    variable = tf.Variable(0)

    def adds(value, h):
        variable.assign_add(value)
        return h + 1

    def length(_, array):
        return tf.raw_ops.TensorListLength(input_handle=array.flow)

    assert _lists_by_hand(length, adds, n) == n
    assert variable.numpy() == 5 * n
    assert _lists_by_hand(length, lambda value, _: value, n) == (5 if n else 0)
    assert counted["graph.recompute"] == 2


def test_a_counter_with_a_control_input_that_has_side_effects_is_kept():
    variable = tf.Variable(0)

    @tf.function
    def function(n):
        def body(i, waiting, array):
            with tf.control_dependencies([variable.assign_add(i + 1)]):
                waiting += 1
            return i + 1, waiting, array.write(i, waiting)

        array = tf.TensorArray(tf.int32, 3)
        return tf.while_loop(lambda i, *_: i < n, body, (0, 0, array))[2].stack()

    np.testing.assert_array_equal(function(tf.constant(3)), [1, 2, 3])
    assert variable.numpy() == 6


@pytest.mark.parametrize("most", [2, 3])
def test_a_failing_iteration_is_an_error_even_if_its_value_is_not_popped(most):
    with pytest.raises(tf.errors.InvalidArgumentError, match="ivision by zero"):
        _lists_by_hand(lambda i, _: 12 // i, lambda value, h: h + value, 3, most)


def test_a_loop_of_zero_iterations_does_not_compute_its_invariant_values(counted):
    def by_the_size(x):
        array = tf.TensorArray(tf.float64, 0, dynamic_size=True, element_shape=[2]).unstack(x)

        def body(i, h):
            return i + 1, (h + array.read(i)) * tf.cast(6 // array.size(), h.dtype)

        return tf.while_loop(lambda i, _: i < array.size(), body, (0, tf.ones([2], x.dtype)))[1]

    @tf.function(input_signature=[tf.TensorSpec([None, 2], tf.float64)])
    def gradient(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = by_the_size(x)
        return y, tape.gradient(y, x)

    value, grad = gradient(tf.zeros([0, 2], tf.float64))
    np.testing.assert_array_equal(value, [1.0, 1.0])
    assert grad.shape == (0, 2)
    value, grad = gradient(tf.zeros([2, 2], tf.float64))
    np.testing.assert_array_equal(value, [9.0, 9.0])
    np.testing.assert_array_equal(grad, [[9.0, 9.0], [3.0, 3.0]])
    assert counted["graph.recompute"] >= 1


@pytest.mark.parametrize("optimizer", [{}, {"constant_folding": False}], indirect=True)
def test_an_op_with_several_constant_inputs_runs_only_in_the_branch_taken(optimizer):
    calls = []

    def called(*values):
        calls.append([int(value) for value in values])
        return np.float64(0)

    @tf.function
    def function(x):
        array = loops.unstacked(x)

        def taken():
            return tf.ensure_shape(tf.numpy_function(called, [7, 8], tf.float64), [])

        def body(i, h):
            return i + 1, h + array.read(i) + tf.cond(i % 2 == 0, taken, lambda: h[0] * 0.0)

        return tf.while_loop(lambda i, h: i < N, body, (0, x[0]))[1]

    function(tf.ones([N, 2], tf.float64)).numpy()
    assert calls == [[7, 8]] * (N // 2)


@pytest.mark.parametrize("optimizer", [{}, {"constant_folding": False}], indirect=True)
def test_side_effects_in_a_branch_follow_those_before_the_branch(optimizer):
    variable = tf.Variable(1.0, dtype=tf.float64)

    def doubles(_):
        time.sleep(0.02)
        return np.float64(2.0)

    @tf.function
    def function(x):
        array = loops.unstacked(x)

        def body(i, h):
            by = tf.ensure_shape(tf.numpy_function(doubles, [i], tf.float64), [])
            variable.assign(variable * by)

            def taken():
                variable.assign_add(h[0] * 0.0 + tf.cast(i, tf.float64) + 1.0)
                return h

            tf.cond(i % 2 == 0, taken, lambda: h)
            return i + 1, h * 0.5 + array.read(i)

        return tf.while_loop(lambda i, h: i < N, body, (0, x[0]))[1]

    function(tf.ones([N, 2], tf.float64)).numpy()
    want = 1.0
    for i in range(N):
        want = want * 2.0 + (i + 1.0 if i % 2 == 0 else 0.0)
    assert variable.numpy() == want


@pytest.mark.parametrize("n", [0, 1, N])
def test_a_variable_is_changed_once_per_iteration(n):
    variable = tf.Variable(0.0, dtype=tf.float64)
    _loop_that_calls(lambda: variable.assign_add(2.0), n)()
    assert variable.numpy() == 2.0 * n


def test_a_seeded_op_gives_the_same_numbers_on_every_call():
    def two_calls(enabled):
        tf.random.set_seed(5)
        with tensor_array_grad.graph_pass(enabled):
            call = _loop_that_calls(lambda: tf.random.uniform([2], seed=3, dtype=tf.float64))
            return [call(), call()]  # an additional run of the op would change the second call

    # Iterations run in parallel, so a sum may add the numbers of a call in another order.
    np.testing.assert_allclose(two_calls(True), two_calls(False), rtol=1e-14)


def test_ops_after_a_loop_see_all_side_effects_of_its_iterations(counted):
    variable = tf.Variable(0.0, dtype=tf.float64)

    @tf.function
    def function(x):
        array = loops.unstacked(x)

        def body(i, array, scale):
            variable.assign_add(array.read(i)[0])
            return i + 1, array, scale

        _, array, scale = tf.while_loop(lambda i, *_: i < N, body, (0, array, x[0, 0]))
        return variable.read_value() * scale + array.read(0)[0]

    assert function(tf.fill([N, 2], tf.constant(2.0, tf.float64))).numpy() == 2.0 * N * 2.0 + 2.0
    assert counted["loops.runs"] >= 1


@pytest.mark.parametrize("reader", ["nothing", "a folded node"])
def test_a_variable_that_arrives_last_and_starts_no_node_does_not_stop_the_loop(counted, reader):
    read = (
        (lambda _: 0.0)
        if reader == "nothing"
        else (lambda late: tf.cast(tf.size(late), late.dtype))
    )
    steps = 40  # more than parallel_iterations, so later iterations wait for the end of the first

    @tf.function
    def function(x):
        array = tf.TensorArray(tf.float64, steps).unstack(x)
        late = tf.ensure_shape(tf.numpy_function(_come_late, [x], tf.float64), [steps])

        def body(i, h, late):
            return i + 1, h + array.read(i) + read(late), late

        _, h, late = tf.while_loop(lambda i, *_: i < steps, body, (0, x[0], late))
        return h, late

    x = np.arange(float(steps))
    h, late = function(x)
    np.testing.assert_allclose(h, x.sum() + steps * read(x))
    np.testing.assert_array_equal(late, x)
    assert counted["loops.runs"] >= 1


def _come_late(x):
    time.sleep(0.2)
    return x


@pytest.mark.parametrize("program", [loops.read_loop, loops.reads_past_the_end_in_a_branch])
def test_an_error_in_an_iteration_is_the_same_with_and_without_the_pass(program):
    def message(enabled):
        with (
            tensor_array_grad.graph_pass(enabled),
            pytest.raises(tf.errors.InvalidArgumentError, match="list") as raised,
        ):
            gradient_of(lambda x: program(x, n=N + 1), enabled)
        said = raised.value.message
        assert f"Trying to access element {N} in a list with {N} elements" in said
        # Drops the lines that quote this test, and those with the number of the function.
        of_step = [
            line for line in said.splitlines() if not re.search("rewritten_loops_test|Op:", line)
        ]
        return of_step, re.findall("{{node [^}]*}}", said)

    assert message(True) == message(False)


TWO_DEVICES = """
import numpy as np
import tensorflow as tf
import tensor_array_grad
cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
tensor_array_grad.enable()
def program(x, n):
    with tf.device("CPU:0"):
        array = tf.TensorArray(tf.float64, 6, clear_after_read=False).unstack(x)
        scale = tf.reduce_mean(x)
    def body(i, h, scale):
        with tf.device("CPU:0"):
            y = array.read(i) * scale
        with tf.device("CPU:1"):
            return i + 1, tf.tanh(h * 1.5 + y) + 2.0 * scale, scale
    _, h, scale = tf.while_loop(lambda i, h, scale: i < n, body, (0, x[0], scale))
    return h * scale
def results(enabled, n):
    @tf.function
    def function(x):
        y = program(x, n)
        return y, tf.gradients(y, x)[0]
    with tensor_array_grad.graph_pass(enabled):
        x = np.random.default_rng(1).normal(size=(6, 2))
        return [t.numpy() for t in function(tf.constant(x))]
for n in 0, 6:
    for got, want in zip(results(True, n), results(False, n)):
        np.testing.assert_allclose(got, want, rtol=1e-13)
left = tensor_array_grad.status().loops_left
print("left", left["another device takes part"] > 0)
"""


def test_a_loop_over_two_devices_gives_the_same_results():
    ran = child.code(TWO_DEVICES, CUDA_VISIBLE_DEVICES="")  # both devices are CPUs
    assert ran.stdout.splitlines()[-1] == "left True"


# ---- Keras


@pytest.mark.parametrize("layer", ["SimpleRNN", "LSTM", "GRU"])
def test_a_keras_layer_trains_alike_with_and_without_the_pass(counted, layer):
    def weights(enabled):
        keras.utils.set_random_seed(4)
        model = keras.Sequential([getattr(keras.layers, layer)(3), keras.layers.Dense(1)])
        model.compile("sgd", "mse", jit_compile=False)
        x = np.random.default_rng(3).normal(size=(8, N, 2)).astype(np.float32)
        with tensor_array_grad.graph_pass(enabled):
            model.fit(x, x[:, 0, :1], batch_size=4, epochs=2, verbose=0, shuffle=False)
        return model.get_weights()

    for got, want in zip(weights(True), weights(False), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-6)
    assert counted["loops.runs"] >= 1


def serve(address):
    """Makes this process a worker; called in a child process."""
    tf.distribute.Server({"worker": [address]}, "worker", 0, protocol="grpc")
    return tensor_array_grad.is_enabled()


def on_a_worker(address):
    """The gradient of a loop that a function places on a worker; called in a child process."""
    tf.config.experimental_connect_to_host(address, job_name="worker")

    @tf.function
    def gradient(x):
        with tf.device("/job:worker/replica:0/task:0/device:CPU:0"):
            return tf.gradients(tf.reduce_sum(recurrence(x) ** 2), x)[0]

    return gradient(tf.ones([N, 2], tf.float64)).numpy().tolist()


def test_a_loop_in_another_process_gets_only_stock_ops(ours, stocks):
    """The other process may not have the library."""
    (address,) = child.free_addresses(1)
    stocks.start_call("tests.loops.rewritten_loops_test:serve", address)
    try:
        assert stocks.finish_call() is False
        got = ours.call("tests.loops.rewritten_loops_test:on_a_worker", address, timeout=180.0)
    finally:
        stocks.restart()
    with tensor_array_grad.graph_pass(False):
        want = tf.function(lambda x: tf.gradients(tf.reduce_sum(recurrence(x) ** 2), x)[0])(
            tf.ones([N, 2], tf.float64)
        )
    np.testing.assert_allclose(got, want, rtol=1e-14)

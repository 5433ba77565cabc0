"""The graph pass: what it rewrites, what it leaves as it is, and that results are the same."""

from __future__ import annotations

import re

import numpy as np
import pytest
import tensorflow as tf

import tensor_array_grad
from tests.loops.loop_programs import N, read_loop, recurrence
from tests.support import child
from tests.support.memory import resident_bytes

tensor_array_grad.enable()

REWRITES = "graph.accumulate_into_list"
PACKED = "graph.loop_stack"


def reads_unrolled(x):
    array = tf.TensorArray(tf.float64, N, clear_after_read=False).unstack(x)
    return sum(array.read(i) ** (i + 1) for i in (0, 2, 2, 5))


def read_in_a_branch(x):
    array = tf.TensorArray(tf.float64, N, clear_after_read=False).unstack(x)

    def body(i, h):
        return i + 1, h + tf.cond(i < 3, lambda: array.read(i), lambda: h)

    return tf.while_loop(lambda i, h: i < N, body, (0, x[0]))[1]


def gradient_of(program, enabled=True):
    """The gradient of `program` at a fixed point, traced and run with the pass on or off."""

    @tf.function
    def gradient(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(program(x) ** 2)
        return tape.gradient(y, x)

    with tensor_array_grad.graph_pass(enabled):
        return gradient(tf.constant(np.random.default_rng(2).normal(size=(N, 2)))).numpy()


def test_the_gradient_of_a_read_in_a_loop_is_rewritten_once(counted):
    with tensor_array_grad.loops_in_one_kernel(False):  # the interpreter calls no kernel for these
        gradient_of(read_loop)
    assert counted[REWRITES] == 1  # counted per place in the graph, not per iteration
    assert counted["kernels.TensorArrayGrad>ListAccumulate"] == N
    assert counted["kernels.TensorListSetItem"] == counted["kernels.TensorListReserve"] == 0


def test_gradients_of_three_elements_read_outside_a_loop_take_two_rewrites(counted):
    gradient_of(reads_unrolled)
    assert counted[REWRITES] == 2  # two of the three elements are added to the list of the third


@pytest.mark.parametrize("program", [reads_unrolled, read_in_a_branch])
def test_results_do_not_depend_on_the_pass(program):
    np.testing.assert_allclose(
        gradient_of(program), gradient_of(program, enabled=False), rtol=1e-15
    )


def test_lists_that_a_loop_keeps_for_its_gradient_become_one_stack(counted):
    with tensor_array_grad.loops_in_one_kernel(False):  # the interpreter calls no kernel for these
        gradient_of(recurrence)
    assert counted[PACKED] == 11
    steps = N - 2
    for op in ("PushLoopStack", "PopLoopStack"):
        assert counted[f"kernels.TensorArrayGrad>{op}"] == steps
    assert counted["kernels.TensorListPushBack"] == counted["kernels.TensorListPopBack"] == 0


def nodes_run(program, enabled):
    """How many nodes the executor runs for the gradient of `program`."""
    with tensor_array_grad.graph_pass(enabled), tf.Graph().as_default():
        x = tf.compat.v1.placeholder(tf.float64, [N, 2])
        gradient = tf.function(lambda x: tf.gradients(program(x), x)[0])(x)
        with tf.compat.v1.Session() as session:
            options = tf.compat.v1.RunOptions(trace_level=tf.compat.v1.RunOptions.FULL_TRACE)
            trace = tf.compat.v1.RunMetadata()
            session.run(gradient, {x: np.ones([N, 2])}, options=options, run_metadata=trace)
    return sum(len(device.node_stats) for device in trace.step_stats.dev_stats)


@pytest.mark.parametrize(("program", "share"), [(read_loop, 0.75), (recurrence, 0.6)])
def test_the_executor_runs_far_fewer_nodes_with_the_pass(program, share):
    assert nodes_run(program, True) < share * nodes_run(program, False)


def test_two_backward_loops_of_one_forward_loop_are_independent(counted):
    """Each of the two backward loops pops all elements of the lists of the forward loop."""

    def gradients(x):
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = recurrence(x)
            z = tf.reduce_sum(y * y)
            w = tf.reduce_sum(tf.exp(y))
        return tape.gradient(z, x) + tape.gradient(w, x)

    x = tf.constant(np.random.default_rng(2).normal(size=(N, 2)))
    got = tf.function(gradients)(x)
    with tensor_array_grad.graph_pass(False):
        want = tf.function(gradients)(x)
    np.testing.assert_allclose(got, want, rtol=1e-15)


def test_a_hessian_vector_product_does_not_depend_on_the_pass():
    def product(x):
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = tf.reduce_sum(recurrence(x) ** 2)
            along = tf.reduce_sum(inner.gradient(y, x) * tf.cos(x))
        return outer.gradient(along, x)

    x = tf.constant(np.random.default_rng(2).normal(size=(N, 2)))
    got = tf.function(product)(x)
    with tensor_array_grad.graph_pass(False):
        want = tf.function(product)(x)
    np.testing.assert_allclose(got, want, rtol=1e-13, atol=1e-15)


def test_what_a_loop_keeps_for_its_gradient_is_freed_when_an_iteration_fails(counted):
    @tf.function
    def gradient(x):
        def body(i, h):
            with tf.control_dependencies([tf.debugging.assert_less(i, 3)]):
                return i + 1, tf.tanh(h * x[i]) * tf.exp(-h)

        y = tf.while_loop(lambda i, _: i < N, body, (0, x[0]))[1]
        return tf.gradients(y, x)[0]

    x = tf.ones([4, 50_000], tf.float64)
    kept = 3 * x[0].shape[0] * 8  # bytes of one of the kept values in 3 iterations
    growth = []
    for _ in range(30):
        with pytest.raises(tf.errors.InvalidArgumentError, match="assert"):
            gradient(x)
        growth.append(resident_bytes())
    assert counted[PACKED] > 0
    assert growth[-1] - growth[9] < 10 * kept


def test_nothing_is_rewritten_when_the_pass_is_off(counted):
    with tensor_array_grad.loops_in_one_kernel(False):
        gradient_of(read_loop, enabled=False)
    assert counted[REWRITES] == 0
    assert counted["kernels.TensorListSetItem"] == N


def test_the_graph_pass_context_restores_the_previous_setting():
    with tensor_array_grad.graph_pass(False):
        with tensor_array_grad.graph_pass(True):
            assert tensor_array_grad.status().graph_pass
        assert not tensor_array_grad.status().graph_pass
    assert tensor_array_grad.status().graph_pass


def test_a_function_that_first_ran_without_the_pass_is_not_rewritten(counted):
    @tf.function
    def gradient(x):
        return tf.gradients(tf.reduce_sum(read_loop(x)), x)[0]

    x = tf.ones([N, 2], tf.float64)
    with tensor_array_grad.graph_pass(False):
        gradient(x)
    gradient(x)
    assert counted[REWRITES] == 0


def _add_one_element_list(
    base, num_elements, dtype=tf.float32, shape=(), index=0, use_twice=False, like=None
):
    """Adds a list with a one at `index` to `base` with AddN; returns the stack of the sum."""
    shape = size = tf.constant(shape, tf.int32)
    if like is not None:
        size = tf.raw_ops.TensorListElementShape(input_handle=like, shape_type=tf.int32)
        num_elements = tf.raw_ops.TensorListLength(input_handle=like)
    handle = tf.raw_ops.TensorListReserve(
        element_shape=size, num_elements=num_elements, element_dtype=dtype
    )
    item = tf.ones(shape, dtype)
    handle = tf.raw_ops.TensorListSetItem(input_handle=handle, index=index, item=item)
    total = tf.raw_ops.AddN(inputs=[base, handle])
    if use_twice:
        total = tf.raw_ops.AddN(inputs=[total, handle])
    return tf.raw_ops.TensorListStack(
        input_handle=total, element_shape=shape, element_dtype=dtype, num_elements=-1
    )


def _base(size=3, shape=()):
    return tf.raw_ops.TensorListFromTensor(
        tensor=tf.fill([size, *shape], 5.0), element_shape=tf.constant(shape, tf.int32)
    )


def _run(enabled, length=3, like=False, **options):
    # The lists are arguments, so that their lengths and shapes are not known during tracing.
    variant, number = tf.TensorSpec([], tf.variant), tf.TensorSpec([], tf.int32)

    @tf.function(input_signature=[variant, number, variant])
    def function(base, num_elements, other):
        return _add_one_element_list(base, num_elements, like=other if like else None, **options)

    with tensor_array_grad.graph_pass(enabled):
        other = _base(length, options.get("shape", ())) if like else _base()
        return function(_base(), tf.constant(length), other)


def test_a_sum_of_raw_list_ops_is_rewritten(counted):
    np.testing.assert_array_equal(_run(True), [6, 5, 5])
    assert counted[REWRITES] == 1


def test_a_sum_with_a_list_shaped_like_another_computes_no_element_shape(counted):
    np.testing.assert_array_equal(_run(True, like=True), [6, 5, 5])
    assert counted[REWRITES] == counted["kernels.TensorArrayGrad>ListAccumulateLike"] == 1
    assert counted["kernels.TensorListElementShape"] == 0


def test_a_list_with_another_consumer_is_left_alone(counted):
    np.testing.assert_array_equal(_run(True, use_twice=True), [7, 5, 5])
    assert counted[REWRITES] == 0


ERRORS = {
    "another length": {"length": 4},
    "another type": {"dtype": tf.int32},
    "another element shape": {"shape": (2,)},
    "an index past the end": {"index": 3},
    "a negative index": {"index": -1},
    "a negative length": {"length": -1},
    "like a list of another length": {"like": True, "length": 4},
    "like a list of another type": {"like": True, "dtype": tf.int32},
    "like a list of another element shape": {"like": True, "shape": (2,)},
    "like a list, an index past the end": {"like": True, "index": 3},
    "like a list, a negative index": {"like": True, "index": -1},
}


@pytest.mark.parametrize("what", list(ERRORS))
def test_an_error_is_the_same_error_after_a_rewrite(counted, what):
    def message(enabled):
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"element|list") as raised:
            _run(enabled, **ERRORS[what])
        said = raised.value.message
        assert "in _add_one_element_list" in said  # the line of Python that made the op
        lines = [line for line in said.splitlines() if "File" not in line]
        sentence = next(line for line in lines if re.search("element|lists? ", line))
        return sorted(sentence.split())  # the order of AddN's operands may differ

    rewritten = message(True)
    assert counted[REWRITES] == 1
    assert rewritten == message(False)


def test_a_function_compiled_by_xla_is_not_touched(counted):
    @tf.function(jit_compile=True)
    def gradient(x):
        return tf.gradients(tf.reduce_sum(reads_unrolled(x)), x)[0]

    x = tf.constant(np.random.default_rng(2).normal(size=(N, 2)))
    got = gradient(x)
    assert counted[REWRITES] == 0
    want = np.zeros((N, 2))
    for i in (0, 2, 2, 5):
        want[i] += (i + 1) * x.numpy()[i] ** i
    np.testing.assert_allclose(got, want, rtol=1e-12)


LOGGED = """
import tensorflow as tf
import tensor_array_grad
tensor_array_grad.enable()
@tf.function
def gradient(x):
    array = tf.TensorArray(tf.float32, 2, clear_after_read=False).unstack(x)
    return tf.gradients(array.read(0) + array.read(1) + array.stack()[0], x)[0]
gradient(tf.ones([2]))
"""


@pytest.mark.parametrize(("level", "lines"), [("2", 2), ("1", 0), ("0", 0)])
def test_rewrites_are_logged_on_demand(level, lines):
    ran = child.code(LOGGED, TENSOR_ARRAY_GRAD_LOG=level)
    logged = re.findall("^tensor_array_grad: (.*)$", ran.stderr, re.MULTILINE)
    by_node = [line for line in logged if line.startswith("accumulate_into_list: ")]
    assert len(by_node) == lines
    assert all("TensorListSetItem" in line and " -> " in line for line in by_node)
    summary = [line for line in logged if line not in by_node]
    assert summary == ([] if level == "0" else ["outside of loops: accumulate_into_list 2"])


MISSED = """
import tensorflow as tf
import tensor_array_grad
tensor_array_grad.enable()
def gradient_of(read):
    @tf.function
    def gradient(x):
        step = lambda i, total: (i + 1, total + read(x, i))
        with tf.device("CPU:0"):  # the rule has no GPU kernels
            return tf.gradients(tf.while_loop(lambda i, _: i < 5, step, [0, 0.0])[1], x)[0]
    gradient(tf.ones([7]))
def read_converted(x, i):
    return tf.cast(tf.cast(x, tf.float64)[i], tf.float32)
"""
REMARK = (
    r"the gradient of an index is made as a tensor of full size and added as a whole, because "
    r"`(\S*Cast\S*)` changes it before it is added"
)


@pytest.mark.parametrize("level", ["3", "2", "1"])
def test_missed_rewrites_and_programs_are_logged_on_demand(level):
    ran = child.code(MISSED + "gradient_of(read_converted)", TENSOR_ARRAY_GRAD_LOG=level)
    line = rf"^tensor_array_grad: slice_sum missed \S+StridedSliceGrad in loop \S+: {REMARK}$"
    assert len(re.findall(line, ran.stderr, re.MULTILINE)) == (level != "1")
    program = r"^tensor_array_grad: program of \S+\nloop 0 by \S+\ncondition:\n  \S+ \d+ \d+ -> "
    programs = re.findall(program, ran.stderr, re.MULTILINE)
    loops = ran.stderr.count(": runs in one kernel\n")  # with a GPU, not all
    assert loops > 0
    assert len(programs) == (loops if level == "3" else 0)
    # No small op computes this one.
    called = re.search(r"^  call \S+/Cast_grad/Cast ", ran.stderr, re.MULTILINE)
    assert bool(called) == (level == "3")


def test_explain_says_what_a_rule_did_not_do():
    ran = child.code(
        MISSED
        + """
for read in (read_converted, lambda x, i: x[i]):
    with tensor_array_grad.explain() as loops:
        gradient_of(read)
    (backward,) = [row for row in loops.rows if row.order == 1]
    print(*backward.gradient, sep="|")
"""
    )
    missed, done = ran.stdout.splitlines()
    assert re.search(REMARK, missed)
    assert "slice_sum" not in missed
    assert re.search(r"linear: gradients of indexing are added in place \(slice_sum\)", done)

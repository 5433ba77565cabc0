"""Kernels, gradient functions, the graph pass and loops in one kernel can be active apart."""

from __future__ import annotations

import shutil

import pytest

import tensor_array_grad
from tests.support import child

_PARTS = ("kernels", "gradient functions", "graph pass", "loops in one kernel")


def report() -> tuple[list[str], dict[str, int], list[float]]:
    """The parts that are active, what was counted, and a gradient that uses all of them."""
    import tensorflow as tf

    import tensor_array_grad

    @tf.function
    def gradient(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            read = tf.TensorArray(tf.float32, 8, clear_after_read=False).unstack(x)
            written = tf.TensorArray(tf.float32, 8)
            for i in tf.range(8):
                written = written.write(i, read.read(i) * x[i])
            y = tf.reduce_sum(written.stack())
        return tape.gradient(y, x)

    found = gradient(tf.range(8.0)).numpy().tolist()
    page = tensor_array_grad.status()
    assert tensor_array_grad.is_enabled()
    assert page.problems == ()
    assert tuple(page.parts) == _PARTS
    assert all(f"{name}: " in str(page) for name in _PARTS)
    return [name for name, part in page.parts.items() if part.active], page.counters, found


@pytest.mark.parametrize(
    ("variable", "off"),
    [
        ("TENSOR_ARRAY_GRAD_KERNELS", "kernels"),
        ("TENSOR_ARRAY_GRAD_LOOPS", "loops in one kernel"),
        (None, None),
    ],
)
def test_one_part_is_switched_off_and_the_others_are_active(stocks, variable, off):
    environment = {"TENSOR_ARRAY_GRAD": "on"} | ({variable: "off"} if variable else {})
    run = "tests.package.parts_test:report"
    active, counters, gradient = stocks.call(run, environment=environment)
    assert active == [part for part in _PARTS if part != off]
    assert gradient == [2.0 * i for i in range(8)]
    assert (counters.get("kernels.TensorListFromTensor", 0) > 0) == (off != "kernels")
    assert (counters["loops.runs"] > 0) == (off != "loops in one kernel")
    assert counters["graph.accumulate_into_list"] == counters["graph.slice_sum"] == 1


def sum_of_lists_with_different_values() -> str:
    """The error of a sum of two lists whose elements have different shapes."""
    import tensorflow as tf

    ops = tf.raw_ops

    def one(value):
        made = ops.TensorListReserve(element_shape=-1, num_elements=2, element_dtype=tf.float32)
        return ops.TensorListSetItem(input_handle=made, index=0, item=value)

    @tf.function
    def total(x):
        summed = ops.AddN(inputs=[one(x), one(x[0])])
        return ops.TensorListGetItem(
            input_handle=summed, index=0, element_shape=-1, element_dtype=tf.float32
        )

    try:
        return f"no error: {total(tf.ones([3]))}"
    except tf.errors.InvalidArgumentError:
        return "InvalidArgumentError"


def read_behind_an_assertion() -> str:
    """The error of an addition to an element out of range, after an assertion that says so."""
    import tensorflow as tf

    v1 = tf.compat.v1
    with tf.Graph().as_default(), v1.Session() as session:
        index, x = v1.placeholder(tf.int32, []), tf.ones([2])
        reserve = tf.raw_ops.TensorListReserve
        lists = [
            reserve(element_shape=[2], num_elements=2, element_dtype=tf.float32) for _ in range(2)
        ]
        first = tf.raw_ops.TensorListSetItem(input_handle=lists[0], index=0, item=x)
        with tf.control_dependencies([v1.Assert(index < 2, ["the index is", index])]):
            second = tf.raw_ops.TensorListSetItem(input_handle=lists[1], index=index, item=x)
        length = tf.raw_ops.TensorListLength(input_handle=tf.raw_ops.AddN(inputs=[first, second]))
        try:
            return str(session.run(length, {index: 5}))
        except tf.errors.InvalidArgumentError as error:
            return error.message


def sums_that_may_be_dead() -> list[int]:
    """Lengths of lists, each from a Merge with a sum that is dead, though what it adds is live.

    The index is out of range, so that a sum which ran would raise an error.
    """
    import tensorflow as tf

    v1, ops = tf.compat.v1, tf.raw_ops

    def one(shape, length):
        made = ops.TensorListReserve(
            element_shape=shape, num_elements=length, element_dtype=tf.float32
        )
        return ops.TensorListSetItem(input_handle=made, index=9, item=[1.0, 2.0])

    lengths = []
    with tf.Graph().as_default(), v1.Session() as session:
        p, held = v1.placeholder(tf.bool, []), v1.placeholder(tf.float32, [2, 2])
        whole = ops.TensorListFromTensor(tensor=held, element_shape=[2])
        otherwise, taken = ops.Switch(data=whole, pred=p)
        _, size = ops.Switch(data=2, pred=p)
        shape = ops.TensorListElementShape(input_handle=taken, shape_type=tf.int32)
        for added in (one(shape, ops.TensorListLength(input_handle=taken)), one([2], size)):
            summed = ops.AddN(inputs=[whole, added])
            merged, _ = ops.Merge(inputs=[summed, otherwise])
            length = ops.TensorListLength(input_handle=merged)
            lengths.append(int(session.run(length, {p: False, held: [[1.0, 2.0]] * 2})))
    return lengths


def test_a_sum_on_stocks_kernels_raises_stocks_errors(stocks):
    environment = {"TENSOR_ARRAY_GRAD": "on", "TENSOR_ARRAY_GRAD_KERNELS": "off"}
    name = "tests.package.parts_test:sum_of_lists_with_different_values"
    assert stocks.call(name, environment=environment) == "InvalidArgumentError"
    name = "tests.package.parts_test:read_behind_an_assertion"
    found = stocks.call(name, environment=environment)
    assert "assertion failed: [the index is] [5]" in found


def test_a_sum_on_stocks_kernels_is_dead_if_stocks_is(stocks):
    name = "tests.package.parts_test:sums_that_may_be_dead"
    assert stocks.call(name) == [2, 2]
    environment = {"TENSOR_ARRAY_GRAD": "on", "TENSOR_ARRAY_GRAD_KERNELS": "off"}
    assert stocks.call(name, environment=environment) == [2, 2]


def test_a_second_copy_is_refused_if_the_first_one_keeps_stocks_kernels(tmp_path):
    other = tmp_path / "libother.so"
    shutil.copy(tensor_array_grad.library_path(), other)
    program = (
        "import tensorflow as tf, tensor_array_grad as t\n"
        f"tf.load_op_library(t.library_path()); tf.load_op_library({str(other)!r})\n"
        "print(tf.function(lambda: tf.while_loop(lambda i: i < 5, lambda i: i + 1, [0]))()[0])\n"
    )
    done = child.python("-c", program, TENSOR_ARRAY_GRAD_KERNELS="off")
    assert "tf.Tensor(5," in done.stdout, done.stderr
    assert "has already replaced TensorArrayGrad>RunLoop" in done.stderr


def test_that_stocks_kernels_are_kept_is_logged_once_and_is_no_error():
    program = "import tensor_array_grad as t; t.enable(); t.enable(); print(t.status())"
    done = child.python("-c", program, TENSOR_ARRAY_GRAD_KERNELS="off")
    assert done.returncode == 0, done.stderr
    reason = "TENSOR_ARRAY_GRAD_KERNELS=off in the environment: stock kernels are kept"
    logged = [line for line in done.stderr.splitlines() if line.startswith("tensor_array_grad ")]
    assert logged == [f"tensor_array_grad replaces no kernels: {reason}"]
    assert f"kernels: not active ({reason})" in done.stdout

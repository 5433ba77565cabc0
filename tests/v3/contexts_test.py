"""V3 arrays in every context in which TensorFlow runs kernels.

Each function below runs in a child process, so that a crash fails one test and not the test run.
"""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.framework import function
from tensorflow.python.ops import functional_ops

from tests.support import kernel_runner

raw = tf.raw_ops
v1 = tf.compat.v1


def sum_by_gradient_array(x: tf.Tensor) -> tf.Tensor:
    """Returns x + 2x. Reads x from a new array and sums it in the gradient array of that array."""
    handle, flow = raw.TensorArrayV3(size=1, dtype=tf.float32)
    flow = raw.TensorArrayWriteV3(handle=handle, index=0, value=x, flow_in=flow)
    read = raw.TensorArrayReadV3(handle=handle, index=0, flow_in=flow, dtype=tf.float32)
    return sum_into(handle, flow, read)


def sum_into(handle: tf.Tensor, flow: tf.Tensor, x: tf.Tensor, source: str = "g") -> tf.Tensor:
    """Returns x + 2x, summed in the gradient array of `handle`."""
    grad, flow = raw.TensorArrayGradV3(handle=handle, flow_in=flow, source=source)
    flow = raw.TensorArrayWriteV3(handle=grad, index=0, value=x, flow_in=flow)
    flow = raw.TensorArrayWriteV3(handle=grad, index=0, value=2 * x, flow_in=flow)
    return raw.TensorArrayReadV3(handle=grad, index=0, flow_in=flow, dtype=tf.float32)


def hidden(handle: tf.Tensor) -> tf.Tensor:
    """The handle, without the static shape that eager handles have and shape functions refuse."""
    return v1.placeholder_with_default(handle, None)


def in_a_dataset_map() -> Any:
    data = tf.data.Dataset.range(20).map(lambda i: sum_by_gradient_array(tf.cast(i, tf.float32)))
    return [float(x) for x in data]


def in_a_parallel_dataset_map() -> Any:
    data = tf.data.Dataset.range(200)
    data = data.map(lambda i: sum_by_gradient_array(tf.cast(i, tf.float32)), num_parallel_calls=8)
    return [float(x) for x in data]


def captured_by_a_dataset_map() -> Any:
    """The map finds the gradient array of the caller's array.

    Stock looks for it in the wrong container.
    """
    handle, _ = raw.TensorArrayV3(size=1, dtype=tf.float32)

    def use(i: tf.Tensor) -> tf.Tensor:
        grad, flow = raw.TensorArrayGradV3(handle=hidden(handle), flow_in=0.0, source="g")
        x = tf.cast(i, tf.float32)
        return raw.TensorArrayWriteV3(handle=grad, index=0, value=x, flow_in=flow)

    for _ in tf.data.Dataset.range(5).map(use):
        pass
    grad, flow = raw.TensorArrayGradV3(handle=handle, flow_in=0.0, source="g")
    return float(raw.TensorArrayReadV3(handle=grad, index=0, flow_in=flow, dtype=tf.float32))


def in_map_defun() -> Any:
    """MapDefun runs kernels without a step container, which crashes stock."""

    sum_by = tf.function(sum_by_gradient_array, input_signature=[tf.TensorSpec([], tf.float32)])
    concrete = sum_by.get_concrete_function()
    mapped = raw.MapDefun(
        arguments=[tf.range(4, dtype=tf.float32)], captured_inputs=[],
        output_types=[tf.float32], output_shapes=[[]], f=concrete,
    )  # fmt: skip
    return mapped[0].numpy().tolist()


def in_remote_call() -> Any:
    """RemoteCall runs kernels without a step container, which crashes stock."""
    with tf.Graph().as_default():

        @function.Defun(tf.float32)
        def body(x: tf.Tensor) -> tf.Tensor:
            return sum_by_gradient_array(x)

        result = functional_ops.remote_call(
            args=[tf.constant(3.0)], Tout=[tf.float32], f=body, target="/cpu:0"
        )
        with v1.Session() as session:
            return float(session.run(result)[0])


def in_a_batch_function() -> Any:
    batched = tf.nondifferentiable_batch_function(
        num_batch_threads=1, max_batch_size=4, batch_timeout_micros=1000
    )(sum_by_gradient_array)
    return batched(tf.constant([1.0, 2.0])).numpy().tolist()


def in_a_nested_function_that_is_not_inlined() -> Any:
    @tf.function(experimental_attributes={"_noinline": True})
    def inner(handle: tf.Tensor, x: tf.Tensor) -> tf.Tensor:
        return sum_into(hidden(handle), tf.constant(0.0), x)

    @tf.function
    def outer(x: tf.Tensor) -> tf.Tensor:
        handle, _ = raw.TensorArrayV3(size=1, dtype=tf.float32)
        return inner(handle, x)

    return float(outer(tf.constant(3.0)))


def _functional_graph(build: Any) -> float:
    with tf.Graph().as_default():
        result = build()
        with v1.Session() as session:
            return float(session.run(result))


def in_a_functional_if() -> Any:
    def build() -> tf.Tensor:
        @function.Defun(tf.float32)
        def then(x: tf.Tensor) -> tf.Tensor:
            return sum_by_gradient_array(x)

        @function.Defun(tf.float32)
        def otherwise(x: tf.Tensor) -> tf.Tensor:
            return tf.identity(x)

        predicate = v1.placeholder_with_default(True, [])
        return functional_ops.If(predicate, [tf.constant(3.0)], then, otherwise)[0]

    return _functional_graph(build)


def in_a_functional_while() -> Any:
    def build() -> tf.Tensor:
        @function.Defun(tf.float32, func_name="condition")
        def condition(x: tf.Tensor) -> tf.Tensor:
            return x < 50.0

        @function.Defun(tf.float32, func_name="body")
        def body(x: tf.Tensor) -> tf.Tensor:
            return sum_by_gradient_array(x)

        return functional_ops.While([v1.placeholder_with_default(1.0, [])], condition, body)[0]

    return _functional_graph(build)


def in_a_functional_for() -> Any:
    def build() -> tf.Tensor:
        @function.Defun(tf.int32, tf.float32)
        def body(i: tf.Tensor, x: tf.Tensor) -> tf.Tensor:
            return sum_by_gradient_array(x)

        limits = [v1.placeholder_with_default(n, []) for n in (0, 4, 1)]
        return functional_ops.For(*limits, [tf.constant(1.0)], body)[0]

    return _functional_graph(build)


def in_a_functional_for_of_constants() -> Any:
    """The session folds the loop while it prepares its graph, without a step container."""

    def build() -> tf.Tensor:
        @function.Defun(tf.int32, tf.float32)
        def body(i: tf.Tensor, x: tf.Tensor) -> tf.Tensor:
            return sum_by_gradient_array(x)

        return functional_ops.For(0, 4, 1, [tf.constant(1.0)], body)[0]

    return _functional_graph(build)


def in_while_v2_over_a_captured_handle() -> Any:
    @tf.function
    def run() -> tf.Tensor:
        handle, _ = raw.TensorArrayV3(size=1, dtype=tf.float32)
        grad, _ = raw.TensorArrayGradV3(handle=handle, flow_in=0.0, source="g")

        def body(i: tf.Tensor) -> tf.Tensor:
            x = tf.cast(i, tf.float32)
            flow = raw.TensorArrayWriteV3(handle=grad, index=0, value=x, flow_in=0.0)
            with tf.control_dependencies([flow]):
                return i + 1

        end = tf.while_loop(lambda i: i < 10, body, [tf.constant(0)])
        with tf.control_dependencies(end):
            return raw.TensorArrayReadV3(handle=grad, index=0, flow_in=0.0, dtype=tf.float32)

    return float(run())


def beside_a_numpy_function() -> Any:
    @tf.function
    def run(x: tf.Tensor) -> tf.Tensor:
        def eagerly(value: np.ndarray) -> np.ndarray:
            return sum_by_gradient_array(tf.constant(value)).numpy()

        between = tf.numpy_function(eagerly, [x], tf.float32)
        return sum_by_gradient_array(tf.reshape(between, []))

    return float(run(tf.constant(1.0)))


def in_partial_runs() -> Any:
    with tf.Graph().as_default():
        value, index = v1.placeholder(tf.float32, []), v1.placeholder(tf.int32, [])
        handle, flow = raw.TensorArrayV3(size=2, dtype=tf.float32)
        write = raw.TensorArrayWriteV3(handle=handle, index=0, value=value, flow_in=flow)
        grad, _ = raw.TensorArrayGradV3(handle=handle, flow_in=write, source="g")
        read = raw.TensorArrayReadV3(handle=handle, index=index, flow_in=write, dtype=tf.float32)
        zeros = raw.TensorArrayReadV3(handle=grad, index=index, flow_in=write, dtype=tf.float32)
        with v1.Session() as session:
            partial = session.partial_run_setup([write, read, zeros], [value, index])
            session.partial_run(partial, write, {value: 7.0})
            return [float(x) for x in session.partial_run(partial, [read, zeros], {index: 0})]


def in_two_sessions_at_once() -> Any:
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [])
        result = sum_by_gradient_array(x)
    wrong: list[float] = []

    def use(start: int) -> None:
        with v1.Session(graph=graph) as session:
            for i in range(start, start + 300):
                got = session.run(result, {x: i})
                if got != 3 * i:
                    wrong.append(got)

    threads = [threading.Thread(target=use, args=(start,)) for start in (0, 10000)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return wrong


def after_a_run_that_was_cancelled() -> Any:
    """Steps are cancelled while an array is in use; the next step works and no array is left."""
    import tensor_array_grad

    with tf.Graph().as_default():
        x = v1.placeholder(tf.float32, [])
        result = sum_by_gradient_array(x)
        queue = v1.FIFOQueue(1, tf.float32)
        with tf.control_dependencies([result]):
            blocked = queue.dequeue()
        with v1.Session() as session:
            for _ in range(5):
                try:
                    session.run(blocked, {x: 1.0}, v1.RunOptions(timeout_in_ms=100))
                except tf.errors.DeadlineExceededError:
                    continue
                return "not cancelled"
            after = float(session.run(result, {x: 2.0}))
    time.sleep(0.2)
    return [after, len(tensor_array_grad.status().arrays)]


def after_an_op_that_fails_while_others_run() -> Any:
    """One of many parallel writes fails in each step; every step frees its array."""
    import tensor_array_grad

    failures = 0
    with tf.Graph().as_default():
        handle, flow = raw.TensorArrayV3(size=64, dtype=tf.float32)
        writes = [
            raw.TensorArrayWriteV3(handle=handle, index=i, value=tf.ones([100]), flow_in=flow)
            for i in [*range(64), 64]
        ]
        with v1.Session() as session:
            for _ in range(50):
                try:
                    session.run(writes)
                except tf.errors.InvalidArgumentError:
                    failures += 1
    time.sleep(0.2)
    return [failures, len(tensor_array_grad.status().arrays)]


def from_another_device() -> Any:
    """An op runs on the device of its array, whichever device the caller names."""
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
    with tf.device("/CPU:0"):
        handle, _ = raw.TensorArrayV3(size=1, dtype=tf.float32)
    with tf.device("/CPU:1"):
        return int(raw.TensorArraySizeV3(handle=handle, flow_in=0.0))


CUT = 9  # arrays, stacks and lists that cut_and_change makes


def cut_and_change(value: tf.Tensor, change: Any) -> list[Any]:
    """Makes arrays, stacks and lists of the matrix `value`, and reads them after `change()`.

    Returns the last value of each stack and of element 0 of each array and list, and then one value
    of the tensor that `change` returns.
    """
    rows, width = value.shape
    handle, flow = raw.TensorArrayV3(size=rows, dtype=tf.float32, name="scattered")
    scattered = raw.TensorArrayScatterV3(
        handle=handle, indices=range(rows), value=value, flow_in=flow
    )
    split_handle, flow = raw.TensorArrayV3(size=rows, dtype=tf.float32, name="split")
    split = raw.TensorArraySplitV3(
        handle=split_handle, lengths=tf.ones([rows], tf.int64), value=value, flow_in=flow
    )
    written_handle, flow = raw.TensorArrayV3(
        size=1, dtype=tf.float32, clear_after_read=False, name="written"
    )
    written = raw.TensorArrayWriteV3(handle=written_handle, index=0, value=value, flow_in=flow)
    stacks = [
        raw.TensorArrayGatherV3(
            handle=written_handle, indices=[0], flow_in=written, dtype=tf.float32
        ),
        raw.TensorArrayConcatV3(handle=written_handle, flow_in=written, dtype=tf.float32)[0],
    ]
    empty = raw.EmptyTensorList(
        element_shape=[width], max_num_elements=-1, element_dtype=tf.float32
    )
    reserved = raw.TensorListReserve(
        element_shape=[width], num_elements=rows, element_dtype=tf.float32
    )
    lists = [
        raw.TensorListFromTensor(tensor=value, element_shape=[width]),
        raw.TensorListScatterV2(
            tensor=value, indices=range(rows), element_shape=[width], num_elements=-1
        ),
        raw.TensorListScatterIntoExistingList(
            input_handle=reserved, tensor=value, indices=range(rows)
        ),
        raw.TensorListPushBackBatch(input_handles=tf.stack([empty] * rows), tensor=value)[0],
        raw.TensorListSplit(
            tensor=value, element_shape=[1, width], lengths=tf.ones([rows], tf.int64)
        ),
    ]
    with tf.control_dependencies([scattered, split, *stacks, *lists]):
        changed = change()
    with tf.control_dependencies([changed]):
        results = [
            raw.TensorArrayReadV3(handle=handle, index=0, flow_in=scattered, dtype=tf.float32),
            raw.TensorArrayReadV3(handle=split_handle, index=0, flow_in=split, dtype=tf.float32),
            *(tf.identity(stack) for stack in stacks),
        ]
        for cut in lists:
            shape = [1, width] if cut is lists[-1] else [width]
            results.append(
                raw.TensorListGetItem(
                    input_handle=cut, index=0, element_shape=shape, element_dtype=tf.float32
                )
            )
        return [*(tf.reshape(result, [-1])[-1] for result in results), changed[0, 0]]


def of_a_ref_variable() -> list[Any]:
    """Makes arrays and lists of a TF1 variable, then adds to the variable in place."""
    ones = tf.ones([4, 16])
    variable = raw.VariableV2(shape=[4, 16], dtype=tf.float32)
    value = tf.identity(raw.Assign(ref=variable, value=ones))
    return cut_and_change(value, lambda: raw.AssignAdd(ref=variable, value=ones))


def cut_from_a_ref_variable() -> Any:
    with tf.Graph().as_default():
        results = of_a_ref_variable()
        with v1.Session() as session:
            return [float(x) for x in session.run(results)]


def cut_from_a_ref_variable_in_a_function() -> Any:
    """Uses a function that the runtime inlines after all passes over the graph have run."""
    with tf.Graph().as_default():

        @function.Defun()
        def body() -> Any:
            return tf.stack(of_a_ref_variable())

        results = body()
        with v1.Session() as session:
            return [float(x) for x in session.run(results)]


def cut_from_a_tensor_updated_in_place() -> Any:
    @tf.function
    def run(x: tf.Tensor) -> Any:
        x = x + 0.0
        return cut_and_change(x, lambda: raw.InplaceAdd(x=x, i=range(4), v=tf.ones([4, 16])))

    return [float(x) for x in run(tf.ones([4, 16]))]


MUTABLE = [
    cut_from_a_ref_variable,
    cut_from_a_ref_variable_in_a_function,
    cut_from_a_tensor_updated_in_place,
]


@pytest.mark.parametrize(
    ("context", "want"),
    [
        (in_a_dataset_map, [3.0 * i for i in range(20)]),
        (in_a_parallel_dataset_map, [3.0 * i for i in range(200)]),
        (captured_by_a_dataset_map, 10.0),
        (in_map_defun, [0.0, 3.0, 6.0, 9.0]),
        (in_remote_call, 9.0),
        (in_a_batch_function, [3.0, 6.0]),
        (in_a_nested_function_that_is_not_inlined, 9.0),
        (in_a_functional_if, 9.0),
        (in_a_functional_while, 81.0),
        (in_a_functional_for, 81.0),
        (in_a_functional_for_of_constants, 81.0),
        (in_while_v2_over_a_captured_handle, 45.0),
        (beside_a_numpy_function, 9.0),
        (in_partial_runs, [7.0, 0.0]),
        (in_two_sessions_at_once, []),
        (after_a_run_that_was_cancelled, [6.0, 0]),
        (after_an_op_that_fails_while_others_run, [50, 0]),
        (from_another_device, 1),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_arrays_work_in_each_context_and_are_freed(ours, context, want):
    got = ours.call(f"tests.v3.contexts_test:{context.__name__}", timeout=120.0)
    assert not isinstance(got, (kernel_runner.Died, kernel_runner.Hung)), got
    assert got == want


@pytest.mark.parametrize("context", MUTABLE, ids=lambda context: context.__name__)
@pytest.mark.parametrize("library", ["ours", "stocks"])
def test_arrays_and_lists_keep_their_values_when_their_source_changes(request, library, context):
    runner = request.getfixturevalue(library)
    got = runner.call(f"tests.v3.contexts_test:{context.__name__}", timeout=120.0)
    assert got == [*[1.0] * CUT, 2.0]

"""Hand-written programs that use each op on one device and keep the values in its memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import tensor_array_grad
from tensor_array_grad import _loader
from tests.support.gpus import IS_EMULATED

raw = tf.raw_ops
SHAPES = [(1,), (7,), (16,), (3, 5)]  # element shapes; only rows of the third are aligned
OURS = "TensorArrayGrad>"

with_shapes = pytest.mark.parametrize("shape", SHAPES)


def with_floats(test: Any) -> Any:
    return with_shapes(pytest.mark.parametrize("dtype", ["float32", "half"])(test))


def with_numbers(test: Any) -> Any:
    return with_shapes(pytest.mark.parametrize("dtype", ["float32", "half", "complex128"])(test))


def values(rows: int, shape: tuple[int, ...], dtype: str = "float32") -> np.ndarray:
    """Rows of small integers, all different."""
    count = rows * int(np.prod(shape))
    return np.arange(count).reshape(rows, *shape).astype(tf.as_dtype(dtype).as_numpy_dtype)


def here(tensor: tf.Tensor) -> np.ndarray:
    """The value of a tensor, which must be on the device on which the program runs."""
    wanted = tf.constant(0.0).device
    assert tensor.device == wanted, tensor.device
    return tensor.numpy()


def new_array(size: int, dtype: str) -> tuple[tf.Tensor, tf.Tensor]:
    """Makes a V3 array and checks that its first flow is 0."""
    handle, flow = raw.TensorArrayV3(size=size, dtype=dtype, clear_after_read=False)
    assert here(flow) == 0
    return handle, flow


@with_numbers
def test_v3_arrays_return_and_sum_values_on_the_device(
    device: str, shape: tuple[int, ...], dtype: str
) -> None:
    """Unstack, read, gather, concat and size; sums of writes and of scatters."""
    x = values(5, shape, dtype)
    handle, flow = new_array(5, dtype)
    flow = raw.TensorArrayScatterV3(handle=handle, indices=range(5), value=x, flow_in=flow)
    for order in ([0, 1, 2, 3, 4], [3, 0, 4], [2]):
        got = raw.TensorArrayGatherV3(handle=handle, indices=order, flow_in=flow, dtype=dtype)
        np.testing.assert_array_equal(here(got), x[order])
    row = raw.TensorArrayReadV3(handle=handle, index=3, flow_in=flow, dtype=dtype)
    np.testing.assert_array_equal(here(row), x[3])
    assert raw.TensorArraySizeV3(handle=handle, flow_in=flow).numpy() == 5
    joined, lengths = raw.TensorArrayConcatV3(handle=handle, flow_in=flow, dtype=dtype)
    np.testing.assert_array_equal(here(joined), np.concatenate(list(x)))
    np.testing.assert_array_equal(lengths.numpy(), [shape[0]] * 5)

    grad, flow = raw.TensorArrayGradV3(handle=handle, flow_in=flow, source="s")
    for _ in range(3):
        flow = raw.TensorArrayWriteV3(handle=grad, index=1, value=x[2], flow_in=flow)
    for indices in ([0, 1], [1, 4], [0, 4]):
        flow = raw.TensorArrayScatterV3(handle=grad, indices=indices, value=x[:2], flow_in=flow)
    sums = raw.TensorArrayGatherV3(handle=grad, indices=range(5), flow_in=flow, dtype=dtype)
    want = np.zeros_like(x)
    want[0], want[1], want[4] = 2 * x[0], 3 * x[2] + x[1] + x[0], 2 * x[1]
    np.testing.assert_array_equal(here(sums), want)
    raw.TensorArrayCloseV3(handle=handle)


@with_floats
def test_split_of_a_v3_array_writes_pieces_of_different_lengths(
    device: str, shape: tuple[int, ...], dtype: str
) -> None:
    """Pieces of different lengths, and an empty one."""
    x = values(7, shape, dtype)
    handle, flow = new_array(3, dtype)
    flow = raw.TensorArraySplitV3(handle=handle, value=x, lengths=np.int64([4, 0, 3]), flow_in=flow)
    last = raw.TensorArrayReadV3(handle=handle, index=2, flow_in=flow, dtype=dtype)
    np.testing.assert_array_equal(here(last), x[4:])


@with_floats
def test_list_ops_return_values_on_the_device(
    device: str, shape: tuple[int, ...], dtype: str
) -> None:
    """Lists made of a tensor, set, stacked, gathered, concatenated and copied between devices."""
    x = values(300, shape, dtype)
    cut = raw.TensorListFromTensor(tensor=x, element_shape=shape)
    args = {"element_shape": shape, "element_dtype": dtype}
    got = raw.TensorListStack(input_handle=cut, **args)
    np.testing.assert_array_equal(here(got), x)
    order = [299, 3, 3, 0, *range(250, 0, -1)]  # too many pieces for the arguments of one launch
    got = raw.TensorListGather(input_handle=cut, indices=order, **args)
    np.testing.assert_array_equal(here(got), x[order])
    lengths = np.int64([100, 0, 1, 199])
    parts = raw.TensorListSplit(tensor=x, element_shape=(-1, *shape), lengths=lengths)
    got, got_lengths = raw.TensorListConcatV2(
        input_handle=parts, element_shape=(-1, *shape), leading_dims=np.int64([]), **_dtype(dtype)
    )
    np.testing.assert_array_equal(here(got), x)
    np.testing.assert_array_equal(got_lengths.numpy(), lengths)

    some = raw.TensorListReserve(element_shape=shape, num_elements=3, element_dtype=dtype)
    some = raw.TensorListSetItem(input_handle=some, index=1, item=x[5])
    unset = raw.TensorListGetItem(input_handle=some, index=0, **args)
    np.testing.assert_array_equal(here(unset), np.zeros_like(x[0]))
    other = raw.TensorListSetItem(input_handle=some, index=2, item=x[7])
    want = np.stack([0 * x[0], x[5], x[7]])
    np.testing.assert_array_equal(here(raw.TensorListStack(input_handle=other, **args)), want)
    with tf.device("/CPU:0"):
        on_cpu = raw.TensorListStack(input_handle=other, **args)
        assert "CPU" in on_cpu.device
        np.testing.assert_array_equal(on_cpu.numpy(), want)
        from_cpu = raw.TensorListFromTensor(tensor=x[:3], element_shape=shape)
    got = raw.TensorListStack(input_handle=from_cpu, **args)
    np.testing.assert_array_equal(here(got), x[:3])


def _dtype(dtype: str) -> dict[str, str]:
    return {"element_dtype": dtype}


@with_floats
def test_an_index_past_the_end_of_a_list_is_refused(
    device: str, shape: tuple[int, ...], dtype: str
) -> None:
    cut = raw.TensorListFromTensor(tensor=values(2, shape, dtype), element_shape=shape)
    message = ""
    try:
        raw.TensorListGetItem(input_handle=cut, index=2, element_shape=shape, **_dtype(dtype))
    except tf.errors.InvalidArgumentError as error:
        message = error.message
    assert "Trying to access element 2" in message


@with_shapes
def test_the_gradient_of_an_unrolled_function_is_right(device: str, shape: tuple[int, ...]) -> None:
    """An unrolled program of arrays in a tf.function, whose sums the graph pass rewrites."""

    @tf.function
    def program(x: tf.Tensor) -> tf.Tensor:
        array = tf.TensorArray(tf.float32, size=4).unstack(x)
        return sum(array.read(i) * float(i + 1) for i in (0, 1, 3))

    x = tf.constant(values(4, shape))
    with tf.GradientTape() as tape:
        tape.watch(x)
        result = program(x)
    want = np.reshape([1.0, 2.0, 0.0, 4.0], [4] + [1] * len(shape)) + 0 * x.numpy()
    np.testing.assert_array_equal(tape.gradient(result, x).numpy(), want)


# ---- the ops that the graph pass inserts


def recurrence(x: tf.Tensor) -> tf.Tensor:
    """A loop over an array. For its gradient, it saves floats, lists and indices."""
    steps = x.shape[0]
    array = tf.TensorArray(x.dtype, steps, clear_after_read=False).write(0, x[0]).write(1, x[1])

    def body(i: tf.Tensor, array: tf.TensorArray) -> tuple[tf.Tensor, tf.TensorArray]:
        return i + 1, array.write(i, tf.tanh(array.read(i - 1)) * array.read(i - 2) + x[i])

    return tf.while_loop(lambda i, _: i < steps, body, (2, array))[1].stack()


def reads(x: tf.Tensor) -> tf.Tensor:
    """A loop that reads an array, in one branch and in both."""
    array = tf.TensorArray(x.dtype, x.shape[0], clear_after_read=False).unstack(x)

    def body(i: tf.Tensor, h: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        read = tf.cond(i % 2 == 0, lambda: array.read(i), lambda: tf.zeros_like(h))
        return i + 1, tf.tanh(h * 0.5 + read) + array.read(i)

    return tf.while_loop(lambda i, _: i < x.shape[0], body, (0, x[0]))[1]


def value_and_gradient(
    device: str, program: Callable[[tf.Tensor], tf.Tensor], x: tf.Tensor
) -> list[np.ndarray]:
    """The value and gradient of `program`, in a function that is traced and run on `device`."""

    @tf.function
    def both(x: tf.Tensor) -> list[tf.Tensor]:
        with tf.device(device):
            y = program(x)
            return [y, tf.gradients(tf.reduce_sum(y * y), x)[0]]

    return [tensor.numpy() for tensor in both(x)]


@with_shapes
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("program", "ops"),
    [
        (recurrence, ["ListAccumulate", "PushLoopStack", "PopLoopStack"]),
        (reads, ["ListAccumulateLike", "PushLoopStack", "PopLoopStack"]),
    ],
)
@pytest.mark.sweep(3)
def test_values_and_gradients_with_ops_of_the_graph_pass_equal_those_without(
    device: str,
    counted: Any,
    program: Callable[[tf.Tensor], tf.Tensor],
    ops: list[str],
    shape: tuple[int, ...],
    dtype: str,
) -> None:
    x = tf.constant(np.random.default_rng(3).normal(size=(6, *shape)), dtype)
    # If the loop ran in one kernel, the interpreter would push and pop the rows itself.
    with tensor_array_grad.loops_in_one_kernel(False):
        got = value_and_gradient(device, program, x)
    assert counted[f"kernels.{OURS}NewLoopStack"] == 1  # TensorFlow folds it on the CPU
    for op in ops:
        assert counted[f"kernels.{OURS}{op}"] > 0, op
        if IS_EMULATED and "GPU" in device:
            assert counted[f"fake_gpu.{OURS}{op}"] == counted[f"kernels.{OURS}{op}"], op
    with tensor_array_grad.graph_pass(False):
        want = value_and_gradient(device, program, x)
    for mine, theirs in zip(got, want, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-6 if dtype == "float32" else 1e-14)


@with_shapes
def test_pop_loop_stack_returns_what_was_pushed(device: str, shape: tuple[int, ...]) -> None:
    ops = _loader.ops()
    x, y = values(3, shape), values(3, (2,), "half")
    lists = [
        raw.EmptyTensorList(element_shape=shape, max_num_elements=-1, element_dtype=tf.float32),
        raw.EmptyTensorList(element_shape=-1, max_num_elements=-1, element_dtype=tf.half),
    ]
    never_read = raw.EmptyTensorList(element_shape=-1, max_num_elements=3, element_dtype=tf.half)
    both = ops.tensor_array_grad_new_loop_stack(lists=[*lists, never_read], kept=2)
    for row in range(3):
        pushed = [tf.constant(x[row]), tf.constant(y[row]), tf.constant(y[row, 0])]
        both = ops.tensor_array_grad_push_loop_stack(loop_stack=both, values=pushed)
    with tf.device("/CPU:0"):  # copies the variant and its elements to the host
        _, popped = ops.tensor_array_grad_pop_loop_stack(
            loop_stack=tf.identity(both), T=[tf.float32, tf.half]
        )
        assert "CPU" in popped[0].device
        np.testing.assert_array_equal(popped[0].numpy(), x[2])
    for row in (2, 1, 0):
        both, popped = ops.tensor_array_grad_pop_loop_stack(
            loop_stack=both, T=[tf.float32, tf.half]
        )
        np.testing.assert_array_equal(here(popped[0]), x[row])
        np.testing.assert_array_equal(here(popped[1]), y[row])


@with_floats
def test_list_accumulate_ops_add_to_elements(
    device: str, shape: tuple[int, ...], dtype: str
) -> None:
    x = values(4, shape, dtype)
    total = raw.TensorListFromTensor(tensor=x, element_shape=shape)
    for index in (0, 2, 2):
        total = _loader.ops().tensor_array_grad_list_accumulate(
            list=total, index=index, item=x[3], element_shape=shape, num_elements=4
        )
    ops = _loader.ops()
    like = raw.TensorListReserve(element_shape=shape, num_elements=4, element_dtype=dtype)
    total = ops.tensor_array_grad_list_accumulate_like(list=total, index=1, item=x[3], like=like)
    want = x.copy()
    want[0] += x[3]
    want[1] += x[3]
    want[2] += 2 * x[3]
    got = raw.TensorListStack(input_handle=total, element_shape=shape, element_dtype=dtype)
    np.testing.assert_array_equal(here(got), want)


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("swap_memory", [False, True])
def test_stacks_move_values_to_the_host_if_the_memory_of_the_device_is_nearly_full(
    device: str, counted: Any, swap_memory: bool, full: bool
) -> None:
    if full and not IS_EMULATED:
        pytest.skip("would fill the memory of a real GPU")
    held = [tf.zeros([size << 18]) for size in (512, 256)] if full else []  # of 1,024 MB
    stack = raw.StackV2(max_size=-1, elem_type=tf.float32)
    large, small = values(3, (1000,)), values(1, (512,))[0]
    for value in (*large, small):
        pushed = raw.StackPushV2(handle=stack, elem=tf.constant(value), swap_memory=swap_memory)
        np.testing.assert_array_equal(here(pushed), value)
    for value in (small, *large[::-1]):
        popped = raw.StackPopV2(handle=stack, elem_type=tf.float32)
        np.testing.assert_array_equal(here(popped), value)
    swapped = full and swap_memory and "GPU" in device
    # Neither the first value nor one of at most 2,048 bytes is moved.
    assert counted["stacks.swapped"] == (2 if swapped else 0)
    del held


@pytest.mark.parametrize("dtype", [tf.int32, tf.bool])
def test_stacks_of_types_that_stay_in_host_memory(device: str, dtype: tf.DType) -> None:
    stack = raw.StackV2(max_size=-1, elem_type=dtype)
    for i in range(2):
        raw.StackPushV2(handle=stack, elem=tf.cast(i, dtype), swap_memory=True)
    for i in (1, 0):
        assert raw.StackPopV2(handle=stack, elem_type=dtype).numpy() == i


def v3_rows(x: tf.Tensor) -> tf.Tensor:
    """Unstacks `x` into an array and stacks it in reverse order, so that each row is one piece."""
    size = x.shape[0]
    handle, flow = new_array(size, x.dtype)
    flow = raw.TensorArrayScatterV3(handle=handle, indices=range(size), value=x, flow_in=flow)
    order = tf.range(size - 1, -1, -1)
    return raw.TensorArrayGatherV3(handle=handle, indices=order, flow_in=flow, dtype=x.dtype)


def list_rows(x: tf.Tensor) -> tf.Tensor:
    """Unstacks `x` into a list and stacks it. Rows of seven floats are copied to be aligned."""
    rows = raw.TensorListFromTensor(tensor=x, element_shape=x.shape[1:])
    return raw.TensorListStack(input_handle=rows, element_shape=x.shape[1:], element_dtype=x.dtype)


@pytest.mark.parametrize("program", [v3_rows, list_rows])
def test_the_number_of_launches_does_not_depend_on_the_number_of_rows(
    device: str, program: Callable[[tf.Tensor], tf.Tensor]
) -> None:
    program(tf.constant(values(1_000, (7,))))  # a kernel makes its flow in the first call only
    launches = []
    for rows in (1_000, 50_000):
        x = tf.constant(values(rows, (7,)))
        before = _loader.bind().counters()["gpu.launches"]
        got = here(program(x))
        launches.append(_loader.bind().counters()["gpu.launches"] - before)
        np.testing.assert_array_equal(np.sort(got, axis=0), x)
    assert launches[0] == launches[1] <= 3
    assert (launches[0] > 0) == ("GPU" in device)

"""Runs our GPU kernels on a GPU that is none: `python emulated_gpu.py LIBRARY`, a test of ctest.

LIBRARY is the op library with a fake device "GPU" (cc/testing/fake_gpu.cc), whose memory ends the
process when anybody but the emulated device looks into it: so what passes here reads no value of
device memory on the host, and has its handles, indices and sizes where stock has them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np
import tensorflow as tf

raw = tf.raw_ops
GPU = "/job:localhost/replica:0/task:0/device:GPU:0"
SHAPES = [(1,), (7,), (16,), (3, 5)]  # of an element; only the third gives rows that are aligned


def values(rows: int, shape: tuple[int, ...], dtype: str = "float32") -> np.ndarray:
    """Rows of small integers, all different."""
    count = rows * int(np.prod(shape))
    return np.arange(count).reshape(rows, *shape).astype(tf.as_dtype(dtype).as_numpy_dtype)


def here(tensor: tf.Tensor) -> np.ndarray:
    """The tensor's value, which must lie on the GPU."""
    assert tensor.device == GPU, tensor.device
    return tensor.numpy()


def new_array(size: int, dtype: str) -> tuple[tf.Tensor, tf.Tensor]:
    """A V3 array; its first flow is the number 0."""
    handle, flow = raw.TensorArrayV3(size=size, dtype=dtype, clear_after_read=False)
    assert here(flow) == 0
    return handle, flow


def v3_arrays(shape: tuple[int, ...], dtype: str) -> None:
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


def v3_split(shape: tuple[int, ...], dtype: str) -> None:
    """Pieces of different lengths, and an empty one."""
    x = values(7, shape, dtype)
    handle, flow = new_array(3, dtype)
    flow = raw.TensorArraySplitV3(handle=handle, value=x, lengths=np.int64([4, 0, 3]), flow_in=flow)
    last = raw.TensorArrayReadV3(handle=handle, index=2, flow_in=flow, dtype=dtype)
    np.testing.assert_array_equal(here(last), x[4:])


def lists(shape: tuple[int, ...], dtype: str) -> None:
    """Lists that are cut, set, summed, stacked, and copied between devices."""
    x = values(300, shape, dtype)
    cut = raw.TensorListFromTensor(tensor=x, element_shape=shape)
    args = {"element_shape": shape, "element_dtype": dtype}
    got = raw.TensorListStack(input_handle=cut, **args)
    np.testing.assert_array_equal(here(got), x)
    order = [299, 3, 3, 0, *range(250, 0, -1)]  # more pieces than travel inside a launch
    got = raw.TensorListGather(input_handle=cut, indices=order, **args)
    np.testing.assert_array_equal(here(got), x[order])
    lengths = np.int64([100, 0, 1, 199])
    parts = raw.TensorListSplit(tensor=x, element_shape=(-1, *shape), lengths=lengths)
    got, told = raw.TensorListConcatV2(
        input_handle=parts, element_shape=(-1, *shape), leading_dims=np.int64([]), **_dtype(dtype)
    )
    np.testing.assert_array_equal(here(got), x)
    np.testing.assert_array_equal(told.numpy(), lengths)

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


def list_errors(shape: tuple[int, ...], dtype: str) -> None:
    """What is refused on a CPU is refused on a GPU."""
    cut = raw.TensorListFromTensor(tensor=values(2, shape, dtype), element_shape=shape)
    message = ""
    try:
        raw.TensorListGetItem(input_handle=cut, index=2, element_shape=shape, **_dtype(dtype))
    except tf.errors.InvalidArgumentError as error:
        message = error.message
    assert "Trying to access element 2" in message


def gradient_in_function(shape: tuple[int, ...], dtype: str) -> None:
    """An unrolled program of arrays in a tf.function, where the graph pass rewrites its sums."""

    @tf.function
    def program(x: tf.Tensor) -> tf.Tensor:
        array = tf.TensorArray(dtype, size=4).unstack(x)
        return sum(array.read(i) * float(i + 1) for i in (0, 1, 3))

    x = tf.constant(values(4, shape, dtype))
    with tf.GradientTape() as tape:
        tape.watch(x)
        result = program(x)
    want = np.reshape([1.0, 2.0, 0.0, 4.0], [4] + [1] * len(shape)) + 0 * x.numpy()
    np.testing.assert_array_equal(tape.gradient(result, x).numpy(), want)


def main(library: str) -> None:
    """Runs every program; an assertion or a crash is a failure."""
    tf.load_op_library(library)
    assert tf.config.list_logical_devices("GPU"), "the fake GPU is not seen"
    programs: list[Callable[[tuple[int, ...], str], None]] = [
        *(v3_arrays, v3_split, lists, list_errors),
        gradient_in_function,
    ]
    for program in programs:
        for shape in SHAPES:
            dtypes = ["float32"] if program is gradient_in_function else ["float32", "half"]
            for dtype in (*dtypes, *(["complex128"] if program is v3_arrays else [])):
                with tf.device("/GPU:0"):
                    program(shape, dtype)
                print(f"{program.__name__} {shape} {dtype}: as on a CPU")


if __name__ == "__main__":
    main(sys.argv[1])

"""The functions that `clusters_test` runs in processes with the library and without it.

Each function is called by name in a process of its own (`kernel_runner.Runner`). The test passes
only bytes, a folder or an address from one process to another, so that only TensorFlow transfers
lists.
"""

from __future__ import annotations

import pathlib
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from tests.support.list_cases import raw

v1 = tf.compat.v1
HERE, THERE = "/job:localhost/task:0/cpu:0", "/job:worker/task:0/cpu:0"
_SCALAR = np.zeros(0, np.int32)  # an element shape
_kept: list[Any] = []  # servers, which are kept until the process ends


# ---- bytes and files -----------------------------------------------------------------------------


def _reserve(n: int, shape: Any, dtype: Any) -> Any:
    return raw.TensorListReserve(element_shape=shape, num_elements=n, element_dtype=dtype)


def _put(a_list: Any, index: int, item: Any) -> Any:
    return raw.TensorListSetItem(input_handle=a_list, index=index, item=item)


def _list_of(dtype: str) -> Any:
    values = {"string": [b"a", b"bc"], "bool": [True, False]}.get(dtype, [1, 2])
    items = tf.constant(values, dtype) if dtype in ("string", "bool") else tf.cast(values, dtype)
    return _put(_put(_reserve(5, -1, tf.as_dtype(dtype)), 3, items), 1, items[0])


def _nested() -> Any:
    outer = raw.EmptyTensorList(element_shape=_SCALAR, max_num_elements=4, element_dtype=tf.variant)
    outer = raw.TensorListPushBack(input_handle=outer, tensor=_list_of("string"))
    return raw.TensorListPushBack(input_handle=outer, tensor=_list_of("float32"))


def _zeros_of_unknown_shape() -> Any:
    return _put(raw.ZerosLike(x=_list_of("float32")), 0, 7.0)


def _resources() -> Any:
    table = raw.HashTableV2(key_dtype=tf.int64, value_dtype=tf.int64, shared_name="a_table")
    return _put(_reserve(2, _SCALAR, tf.resource), 1, table)


_NUMBERS = ("float32", "float64", "bfloat16", "float16", "int8", "int16", "int32", "int64")
_UNSIGNED = ("uint8", "uint16", "uint32", "uint64", "complex64", "complex128")
LISTS: dict[str, Callable[[], Any]] = {
    **{
        dtype: lambda dtype=dtype: _list_of(dtype)
        for dtype in (*_NUMBERS, *_UNSIGNED, "bool", "string")
    },
    "empty": lambda: _reserve(0, [2], tf.float32),
    "all unset": lambda: _reserve(300, [-1, 2], tf.float32),
    "stacked": lambda: raw.TensorListFromTensor(tensor=tf.eye(3), element_shape=[3]),
    "nested": _nested,
    "zeros of unknown shape": _zeros_of_unknown_shape,
    "zeros of nested lists": lambda: raw.ZerosLike(x=_nested_numbers()),
    "handles of resources": _resources,
}


def _nested_numbers() -> Any:
    outer = raw.EmptyTensorList(
        element_shape=_SCALAR, max_num_elements=-1, element_dtype=tf.variant
    )
    return raw.TensorListPushBack(input_handle=outer, tensor=_list_of("float32"))


def serialized(name: str) -> bytes:
    """The list called `name`, as `tf.io.serialize_tensor` writes it."""
    return bytes(tf.io.serialize_tensor(LISTS[name]()).numpy())


def reserialized(data: bytes) -> bytes:
    """Parses a list, passes it through a list kernel of this process, and serialises it again."""
    parsed = tf.io.parse_tensor(data, tf.variant)
    length = raw.TensorListLength(input_handle=parsed)
    same = raw.TensorListResize(input_handle=parsed, size=length)
    return bytes(tf.io.serialize_tensor(same).numpy())


def save_lists(folder: str) -> int:
    """Saves a dataset of the lists `rows_of` 0, 1 and 2; returns the number of files."""
    dataset = tf.data.Dataset.range(3).map(rows_of)
    dataset.save(folder)
    return len(list(pathlib.Path(folder).iterdir()))


def load_lists(folder: str) -> list[list[float]]:
    """Loads the dataset of `save_lists`; returns the values of each list."""
    spec = tf.TensorSpec([], tf.variant)
    return [_stack(element) for element in tf.data.Dataset.load(folder, spec)]


def rows_of(i: Any) -> Any:
    """A list of `i` rows of shape [1], each with the value `i`."""
    rows = tf.fill([tf.cast(i, tf.int32), 1], tf.cast(i, tf.float32))
    return raw.TensorListFromTensor(tensor=rows, element_shape=[1])


def zeros_of_known_shape() -> bytes:
    """Zeros like a list of three elements of shape [1]."""
    return bytes(tf.io.serialize_tensor(raw.ZerosLike(x=rows_of(3))).numpy())


def stacked(data: bytes) -> list[float]:
    """The rows of a serialised list of elements of shape [1]."""
    return _stack(tf.io.parse_tensor(data, tf.variant))


def _stack(a_list: Any) -> list[float]:
    stacked = raw.TensorListStack(
        input_handle=a_list, element_shape=[1], element_dtype=tf.float32, num_elements=-1
    )
    return stacked.numpy()[:, 0].tolist()


def sum_of_a_list_from(data: bytes) -> list[Any]:
    """Reads a list of another process by index in a loop, and adds a list of this process to it.

    Returns the sum that the loop computes, element 1 of the sum of the two lists, and how many
    lists the library converted (None without the library).
    """
    import sys

    parsed = tf.io.parse_tensor(data, tf.variant)

    @tf.function
    def loop(a_list: Any) -> Any:
        total = tf.constant(0.0)
        for i in tf.range(raw.TensorListLength(input_handle=a_list)):
            total += raw.TensorListGetItem(
                input_handle=a_list, index=i, element_shape=_SCALAR, element_dtype=tf.float32
            )
        return total

    both = raw.AddN(inputs=[parsed, _reserve(100, _SCALAR, tf.float32)])
    first = raw.TensorListGetItem(
        input_handle=both, index=1, element_shape=_SCALAR, element_dtype=tf.float32
    )
    counters = None
    if "tensor_array_grad" in sys.modules:
        import tensor_array_grad

        counters = tensor_array_grad.status().counters.get("lists.stock_lists_converted", 0)
    return [float(loop(parsed)), float(first), counters]


def hundred_numbers() -> bytes:
    """A serialised list of the numbers 0 to 99."""
    numbers = tf.range(100, dtype=tf.float32)
    a_list = raw.TensorListFromTensor(tensor=numbers, element_shape=_SCALAR)
    return bytes(tf.io.serialize_tensor(a_list).numpy())


# ---- clusters ------------------------------------------------------------------------------------


def serve() -> str:
    """Starts a TensorFlow server that is the only task of the job "worker"; returns its address."""
    server = tf.distribute.Server(
        {"worker": ["127.0.0.1:0"]}, job_name="worker", task_index=0, start=True
    )
    _kept.append(server)
    return str(server.target).removeprefix("grpc://")


def _connect(address: str) -> None:
    tf.config.experimental_connect_to_host(address, job_name="worker")


def _list_made_and_read(address: str, made: str, read: str) -> list[float]:
    _connect(address)
    with tf.device(made):
        a_list = rows_of(3)
    with tf.device(read):
        return _stack(a_list)


def list_made_there(address: str) -> list[float]:
    """The other process makes a list and this process reads it."""
    return _list_made_and_read(address, made=THERE, read=HERE)


def list_made_here(address: str) -> list[float]:
    """This process makes a list and the other process reads it."""
    return _list_made_and_read(address, made=HERE, read=THERE)


def _gradient_of_loop(address: str, loop: str, reads: str, gradient: str) -> list[float]:
    _connect(address)

    @tf.function
    def run(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            with tf.device(loop):
                xs = tf.TensorArray(tf.float32, size=0, dynamic_size=True).unstack(x)
                ys = tf.TensorArray(tf.float32, size=7)
                total = tf.constant(0.0)
                for i in tf.range(7):
                    with tf.device(reads):
                        value = xs.read(i)
                    total = total * 0.5 + value * value
                    ys = ys.write(i, total)
            with tf.device(gradient):
                result = tf.reduce_sum(ys.stack()) + xs.read(2)
        with tf.device(gradient):
            return tape.gradient(result, x)

    return run(tf.range(7.0)).numpy().tolist()


def gradient_there(address: str) -> list[float]:
    """A loop and its gradient in the other process."""
    return _gradient_of_loop(address, THERE, THERE, THERE)


def gradient_of_loop_there_here(address: str) -> list[float]:
    """A loop in the other process and its gradient here: the lists of the loop are sent here."""
    return _gradient_of_loop(address, THERE, THERE, HERE)


def gradient_of_loop_here_there(address: str) -> list[float]:
    """A loop here and its gradient in the other process: the lists of the loop are sent there."""
    return _gradient_of_loop(address, HERE, HERE, THERE)


def gradient_of_loop_across(address: str) -> list[float]:
    """A loop here that reads the array in the other process in each iteration."""
    return _gradient_of_loop(address, HERE, THERE, HERE)


def _gradient_of_indexing(address: str, reads: str, gradient: str) -> list[float]:
    """The gradient of a loop that indexes a tensor, also in a branch.

    The graph pass inserts other ops for it than for loops over arrays.
    """
    _connect(address)

    @tf.function
    def run(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            total = tf.constant(0.0)
            for i in tf.range(7):
                with tf.device(reads):
                    total = total * 0.5 + x[i] * x[i]
                    if i % 2 == 0:
                        total += x[i]
        with tf.device(gradient):
            return tape.gradient(total, x)

    return run(tf.range(7.0)).numpy().tolist()


def gradient_of_indexing_there(address: str) -> list[float]:
    """The loop indexes in the other process; its gradient is computed here."""
    return _gradient_of_indexing(address, THERE, HERE)


def gradient_of_indexing_here(address: str) -> list[float]:
    """The loop indexes here; its gradient is computed in the other process."""
    return _gradient_of_indexing(address, HERE, THERE)


def gradient_in_session(address: str) -> list[float]:
    """A TF1 graph with a V3 array and a loop, run by the server of the other process."""
    v1.disable_control_flow_v2()
    return _gradient_in_session(address)


def list_in_session(address: str) -> list[float]:
    """A TF2 graph with a list and a loop, run by the server of the other process."""
    v1.enable_control_flow_v2()
    return _gradient_in_session(address)


def _gradient_in_session(address: str) -> list[float]:
    with tf.Graph().as_default():
        x = v1.placeholder(tf.float32, [7])
        xs = tf.TensorArray(tf.float32, size=7, clear_after_read=False).unstack(x)
        total = tf.while_loop(
            lambda i, _: i < 7,
            lambda i, total: (i + 1, total * 0.5 + xs.read(i) ** 2),
            [tf.constant(0), tf.constant(0.0)],
        )[1]
        gradient = tf.gradients(total, x)[0]
        with v1.Session(f"grpc://{address}") as session:
            return session.run(gradient, {x: np.arange(7.0)}).tolist()


def array_made_there(address: str) -> list[float]:
    """Uses a V3 array of the other process and its gradient array from this process."""
    _connect(address)

    @tf.function
    def run(x: Any) -> Any:
        with tf.device(THERE):
            handle, flow = raw.TensorArrayV3(size=tf.size(x), dtype=tf.float32)
            flow = raw.TensorArrayWriteV3(handle=handle, index=0, value=x, flow_in=flow)
            grad, grad_flow = raw.TensorArrayGradV3(handle=handle, flow_in=flow, source="g")
            for _ in range(2):
                grad_flow = raw.TensorArrayWriteV3(handle=grad, index=0, value=x, flow_in=grad_flow)
            read = raw.TensorArrayReadV3(handle=grad, index=0, flow_in=grad_flow, dtype=tf.float32)
        with tf.device(HERE):
            size = raw.TensorArraySizeV3(handle=handle, flow_in=flow)
        return read, size

    return [float(result) for result in run(tf.constant(4.0))]


def serve_task(addresses: list[str], index: int) -> None:
    """Starts task `index` of the job "worker", which has one task per address."""
    _kept.append(tf.distribute.Server({"worker": addresses}, "worker", index))


def array_across_tasks(addresses: list[str], array: int) -> list[float]:
    """Runs a TF1 graph on two tasks, of which this process is task 0.

    Task `array` has the array, and the other task the loop that reads it. Returns the sum that the
    loop computes, and the size of the array, read by an op that is placed on the other task.
    """
    serve_task(addresses, 0)
    v1.disable_control_flow_v2()
    with tf.Graph().as_default():
        x = v1.placeholder(tf.float32, [7])
        with tf.device(f"/job:worker/task:{array}"):
            xs = v1.TensorArray(tf.float32, size=tf.size(x), clear_after_read=False).unstack(x)

        def body(i: Any, total: Any) -> Any:
            with tf.device(f"/job:worker/task:{array}"):
                value = xs.read(i)
            return i + 1, total * 0.5 + value * value

        with tf.device(f"/job:worker/task:{1 - array}"):
            total = v1.while_loop(lambda i, _: i < 7, body, [tf.constant(0), tf.constant(0.0)])[1]
            size = raw.TensorArraySizeV3(handle=xs.handle, flow_in=xs.flow)
        with v1.Session(f"grpc://{addresses[0]}") as session:
            return [float(n) for n in session.run([total, size], {x: np.arange(7.0)})]


# ---- the tf.data service -------------------------------------------------------------------------


def serve_data() -> str:
    """Starts a dispatcher and a worker of the tf.data service; returns the dispatcher's address."""
    service = tf.data.experimental.service
    dispatcher = service.DispatchServer(service.DispatcherConfig(port=0))
    address = str(dispatcher.target).split("://")[1]
    worker = service.WorkerServer(service.WorkerConfig(dispatcher_address=address))
    _kept.extend([dispatcher, worker])
    return address


def lists_from_the_data_service(address: str) -> list[list[float]]:
    """The data service makes lists and this process reads them."""
    dataset = tf.data.Dataset.range(3).map(rows_of)
    dataset = dataset.apply(
        tf.data.experimental.service.distribute("parallel_epochs", f"grpc://{address}")
    )
    return sorted(_stack(element) for element in dataset)

"""Hostile programs over the V3 ops, and over arrays and lists in several execution contexts.

See `hostile_cases`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from tests.robustness.hostile_cases import MAX, MIN, SHORT, WIDE, blank, case, f32, works, zeros
from tests.support.list_cases import (
    concat,
    from_tensor,
    gather,
    get,
    pop,
    push,
    put,
    raw,
    reserve,
    resize,
    scatter,
    split,
    stack,
)
from tests.support.threads import without_collection

# ---- arrays --------------------------------------------------------------------------------------


def array(size: int = 2, dtype: Any = f32, **options: Any) -> tuple[Any, Any]:
    return tuple(raw.TensorArrayV3(size=size, dtype=dtype, **options))


def write(handle: Any, index: Any, value: Any, flow: Any = 0.0) -> Any:
    return raw.TensorArrayWriteV3(handle=handle, index=index, value=value, flow_in=flow)


def read(handle: Any, index: Any, dtype: Any = f32) -> Any:
    return raw.TensorArrayReadV3(handle=handle, index=index, flow_in=0.0, dtype=dtype)


def grad(handle: Any, source: str = "g") -> Any:
    return raw.TensorArrayGradV3(handle=handle, flow_in=0.0, source=source)[0]


def grad_with(handle: Any, prefix: Any, source: str = "g") -> Any:
    return raw.TensorArrayGradWithShape(
        handle=handle, flow_in=0.0, shape_to_prepend=prefix, source=source
    )[0]


def size(handle: Any) -> int:
    return int(raw.TensorArraySizeV3(handle=handle, flow_in=0.0))


def steps_that_leave_handles_in_a_stack(steps: int, arrays: int) -> list[float]:
    """Runs steps that end while a Stack holds the last handles of arrays of that step.

    The end of the step destroys the Stack, and so the arrays.

    Returns:
      The value read in each step from the array that was pushed last, the only one that is popped.
    """
    with tf.Graph().as_default():
        stack = raw.StackV2(max_size=-1, elem_type=tf.resource)
        flow = tf.constant(0.0)
        for k in range(arrays):
            with tf.control_dependencies([flow]):
                handle, flow = array(1)
                flow = write(handle, 0, float(k), flow)
                with tf.control_dependencies([raw.StackPushV2(handle=stack, elem=handle)]):
                    flow = tf.identity(flow)
        with tf.control_dependencies([flow]):
            last = read(raw.StackPopV2(handle=stack, elem_type=tf.resource), 0)
        with tf.compat.v1.Session() as session:
            return [float(session.run(last)) for _ in range(steps)]


def gather_array(handle: Any, indices: Any, shape: Any = None, dtype: Any = f32) -> Any:
    return raw.TensorArrayGatherV3(
        handle=handle, indices=indices, flow_in=0.0, dtype=dtype, element_shape=shape
    )


def concat_array(handle: Any, shape: Any = None, dtype: Any = f32) -> Any:
    return raw.TensorArrayConcatV3(
        handle=handle, flow_in=0.0, dtype=dtype, element_shape_except0=shape
    )


def scatter_array(handle: Any, indices: Any, value: Any) -> Any:
    return raw.TensorArrayScatterV3(handle=handle, indices=indices, value=value, flow_in=0.0)


def split_array(handle: Any, value: Any, lengths: Any) -> Any:
    return raw.TensorArraySplitV3(
        handle=handle, value=value, lengths=tf.constant(lengths, tf.int64), flow_in=0.0
    )


def _written(*values: Any, **options: Any) -> Any:
    handle, _ = array(len(values), **options)
    for i, value in enumerate(values):
        write(handle, i, value)
    return handle


ON_AN_ARRAY: dict[str, Callable[[Any], Any]] = {
    "write": lambda h: write(h, 0, 1.0),
    "read": lambda h: read(h, 0),
    "gather": lambda h: gather_array(h, [0]),
    "scatter": lambda h: scatter_array(h, [0], [1.0]),
    "concat": concat_array,
    "split": lambda h: split_array(h, [1.0], [1]),
    "size": size,
    "close": lambda h: raw.TensorArrayCloseV3(handle=h),
    "grad": grad,
    "grad with shape": lambda h: grad_with(h, [1]),
}


def _forged_handle(**fields: Any) -> tf.Tensor:
    """Returns a handle of an array that was freed, with `fields` changed.

    The handle is parsed from a proto, which has the name and type of the array but no reference to
    it.
    """
    handle, _ = array(1)
    proto = tf.make_tensor_proto(0)
    proto.ParseFromString(raw.SerializeTensor(tensor=handle).numpy())
    content = proto.tensor_content
    start = 1 if content[0] < 128 else 2  # after the length of the handle
    forged = proto.resource_handle_val.add()
    forged.ParseFromString(content[start:])
    proto.ClearField("tensor_content")
    for key, value in fields.items():
        setattr(forged, key, value)
    return raw.ParseTensor(serialized=proto.SerializeToString(), out_type=tf.resource)


for op_name, op in ON_AN_ARRAY.items():
    case(
        f"{op_name} of a variable",
        lambda op=op: op(raw.VarHandleOp(dtype=f32, shape=[], shared_name="v")),
        "wrong type",
    )
    case(
        f"{op_name} of an iterator",
        lambda op=op: op(raw.AnonymousIteratorV2(output_types=[f32], output_shapes=[[]])[0]),
        "wrong type",
    )
    case(f"{op_name} of a blank handle", lambda op=op: op(blank(tf.resource)), "device")
    case(
        f"{op_name} of a handle of an array that is gone",
        lambda op=op: op(_forged_handle()),
        "",
        "NotFoundError",
    )
    case(
        f"{op_name} of a handle with another device",
        lambda op=op: op(_forged_handle(device="/job:elsewhere/device:CPU:3")),
        "elsewhere",
    )
    case(
        f"{op_name} of a handle with another type",
        lambda op=op: op(_forged_handle(hash_code=12345)),
        "wrong type",
    )
    case(
        f"{op_name} of a handle with an odd name",
        lambda op=op: op(_forged_handle(name="\x00" * 40, container="")),
        "",
        "NotFoundError",
    )
    case(
        f"{op_name} of handles in a matrix of none",
        lambda op=op: op(tf.reshape(tf.stack([array(1)[0]])[:0], [3, 0])),
        "mpty",
    )

case("a concat of an array of rows too large", lambda: concat_array(_written(zeros(*WIDE))), "")
works(
    "a gather of an array of rows too large",
    lambda: gather_array(_written(zeros(*WIDE), zeros(*WIDE)), [0, 1]).shape.as_list(),
    [2, *WIDE],
)
works(
    "a gather of one row too large for two",
    lambda: gather_array(_written(zeros(*WIDE)), [0]).shape.as_list(),
    [1, *WIDE],
)
case(
    "a split of an array of rows too large",
    lambda: split_array(array(0)[0], zeros(*WIDE), []),
    "2\\*\\*63",
)
case(
    "an empty concat of rows too large",
    lambda: concat_array(array(0, element_shape=[None, 2**40, 2**40])[0]),
    "",
)
case(
    "an empty gather of 2**63 values",
    lambda: gather_array(array(0)[0], tf.zeros([0], tf.int32), [2**40, 2**40]),
    "",
)
case(
    "an element shape that overflows in an array",
    lambda: array(1, element_shape=[2**40, 2**40]),
    "",
)
case(
    "a zero that no memory holds", lambda: read(array(1, element_shape=[2**40])[0], 0), "OOM", SHORT
)
case(
    "a gather of zeros that no memory holds",
    lambda: gather_array(array(2, element_shape=[2**40])[0], [0, 1]),
    "OOM",
    SHORT,
)
case(
    "a concat of zeros that no memory holds",
    lambda: concat_array(array(2, element_shape=[2**40])[0]),
    "OOM",
    SHORT,
)
case("zeros of a gradient that no memory holds", lambda: _huge_gradient(), "OOM|memory", SHORT)
case(
    "a concat of an array of 2**31-1 zeros",
    lambda: concat_array(array(MAX, element_shape=[2**33])[0]),
    "no memory to concatenate 2147483647",
    SHORT,
)
case(
    "a gather of the last of 2**31-1 elements",
    lambda: gather_array(array(MAX)[0], [MAX - 1]),
    "not fully defined",
)
works("the last of 2**31-1 elements", lambda: _last_of_many(), [5.0, MAX, MAX, 2.0])
case("a prefix that overflows", lambda: grad_with(array(1)[0], [MAX] * 3), "2\\*\\*63")
case("a prefix of 255 dimensions", lambda: grad_with(array(1)[0], [1] * 255), "dimensions")
works("a prefix of 254 dimensions", lambda: size(grad_with(array(1)[0], [1] * 254)), 1)
case(
    "a prefix of 254 dimensions before a vector",
    lambda: grad_with(array(1, element_shape=[2])[0], [1] * 254),
    "dim|254",
)
case(
    "a read past a prefix of 254 dimensions",
    lambda: read(grad_with(_written([1.0]), [1] * 254), 0),
    "254|dimensions|too large|rank",
)
case(
    "a prefix of a million dimensions",
    lambda: grad_with(array(1)[0], tf.ones([1000000], tf.int32)),
    "dimensions",
)
case("a prefix that is a matrix", lambda: grad_with(array(1)[0], [[1]]), "vector")
case("a prefix of -2**31", lambda: grad_with(array(1)[0], [MIN]), ">= 0|negative")
works("gradients of gradients, 100 of them", lambda: _gradients(100), 1)
case("gradients of gradients without end", lambda: _gradients(100000), "gradients of order")
works("an array in an array, 20,000 deep", lambda: _chain_of_arrays(20000), "freed")
works("an array that holds its own handle, closed", lambda: _own_handle(), "closed")
case("a sum of handles", lambda: _sum_of("resource"), "resource")
case("a sum of lists in an array", lambda: _sum_of("variant"), "variant")
case(
    "a write to 2**31-1 of a growing array",
    lambda: write(array(0, dynamic_size=True)[0], MAX, 1.0),
    str(MAX),
)
works(
    "a split of a growing array into none",
    lambda: float(split_array(array(0, dynamic_size=True)[0], tf.zeros([0, 3]), [])),
    0.0,
)
case(
    "a scatter of two rows to one place",
    lambda: scatter_array(array(2)[0], [1, 1], [1.0, 2.0]),
    "index 1",
)
works("a sum of many rows in one place", lambda: _repeated_sum(), 4999950000.0)
works("values without elements, summed in one place", lambda: _empty_sums(), [0, 3])
works(
    "one source with any name",
    lambda: [size(grad(array(1)[0], s)) for s in ("", "@", "a/b", "\u00e9" * 5000)],
    [1] * 4,
)


def _huge_gradient() -> Any:
    return read(grad(array(1, element_shape=[2**30, 2**12])[0]), 0)


def _last_of_many() -> list[Any]:
    handle, _ = array(MAX)
    write(handle, MAX - 1, 5.0)
    sums = grad(handle)
    write(sums, MAX - 1, 1.0)
    write(sums, MAX - 1, 1.0)
    sizes = [size(handle), size(sums)]
    return [float(read(handle, MAX - 1)), *sizes, float(read(sums, MAX - 1))]


def _gradients(count: int) -> int:
    handle, _ = array(1)
    first = handle
    for _ in range(count):
        handle = grad(handle)
    del first
    return size(handle)


def _chain_of_arrays(count: int) -> str:
    handle, _ = array(1)
    for _ in range(count):
        outer, _ = array(1, tf.resource)
        write(outer, 0, handle)
        handle = outer
    del outer, handle
    return "freed"


def _own_handle() -> str:
    handle, _ = array(1, tf.resource)
    write(handle, 0, handle)
    raw.TensorArrayCloseV3(handle=handle)
    try:
        size(handle)
    except tf.errors.InvalidArgumentError as error:
        return "closed" if "closed" in str(error) else str(error)
    return "open"


def _sum_of(dtype: str) -> Any:
    handle, _ = array(1, tf.as_dtype(dtype))
    value = handle if dtype == "resource" else reserve(1)
    sums = grad(handle)
    write(sums, 0, value)
    try:
        return write(sums, 0, value)
    finally:
        raw.TensorArrayCloseV3(handle=handle)
        raw.TensorArrayCloseV3(handle=sums)


def _repeated_sum() -> float:
    handle, _ = array(3, tf.float64)
    sums = grad(handle)
    scatter_array(sums, tf.ones([100000], tf.int32), tf.range(100000, dtype=tf.float64))
    return float(read(sums, 1, tf.float64))


def _empty_sums() -> list[int]:
    sums = grad(array(3)[0])
    for _ in range(3):
        scatter_array(sums, [2, 0, 0, 2], tf.zeros([4, 0]))
        split_array(sums, tf.zeros([0]), [0, 0, 0])
    return [int(tf.size(read(sums, 0))), size(sums)]


# ---- execution contexts --------------------------------------------------------------------------


def _in_function(program: Callable[[], Any]) -> Any:
    return tf.function(program, autograph=False)()


def _dead_branch() -> float:
    """TF1 control flow: ops in the branch that is not taken have dead inputs and do not run."""
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        tf.compat.v1.disable_control_flow_v2()
        taken = tf.compat.v1.placeholder(tf.bool, [])
        handle, flow = raw.TensorArrayV3(size=1, dtype=f32)
        flow = write(handle, 0, 1.0, flow)

        def yes() -> Any:
            return raw.TensorArrayReadV3(handle=handle, index=0, flow_in=flow, dtype=f32)

        result = tf.compat.v1.cond(taken, yes, lambda: tf.constant(7.0))
        return float(session.run(result, {taken: False}))


def _partial_run() -> list[float]:
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        x = tf.compat.v1.placeholder(f32, [])
        handle, flow = raw.TensorArrayV3(size=2, dtype=f32, clear_after_read=False)
        flow = write(handle, 0, x, flow)
        first = raw.TensorArrayReadV3(handle=handle, index=0, flow_in=flow, dtype=f32)
        y = tf.compat.v1.placeholder(f32, [])
        flow = write(handle, 1, y, flow)
        second = raw.TensorArrayReadV3(handle=handle, index=1, flow_in=flow, dtype=f32)
        run = session.partial_run_setup([first, second], [x, y])
        return [float(session.partial_run(run, first, {x: 1.0})),
                float(session.partial_run(run, second, {y: 2.0}))]  # fmt: skip


def _closed_while_used() -> str:
    """Four threads use one gradient array while a fifth closes it again and again."""
    handle, _ = array(64)
    sums = grad(handle)
    stop = threading.Event()

    def use() -> None:
        while not stop.is_set():
            try:
                write(sums, 3, tf.ones([100]))
                scatter_array(sums, list(range(64)), tf.ones([64, 100]))
                gather_array(sums, list(range(64)))
            except tf.errors.InvalidArgumentError:
                pass

    threads = [threading.Thread(target=use) for _ in range(4)]
    with without_collection():
        for thread in threads:
            thread.start()
        for _ in range(50):
            raw.TensorArrayCloseV3(handle=sums)
            size(grad(handle))
        stop.set()
        for thread in threads:
            thread.join(60)
    return "alive" if not any(t.is_alive() for t in threads) else "hangs"


def _while_that_fails() -> Any:
    def body(i: Any, a_list: Any) -> Any:
        return i + 1, put(a_list, tf.where(i == 50, 1000, i), tf.ones([3]))

    start = (tf.constant(0), reserve(100, [3]))
    return _in_function(lambda: stack(tf.while_loop(lambda i, _: i < 100, body, start)[1]))


def _list_across_functions() -> float:
    make = tf.function(lambda: put(reserve(2, []), 1, tf.constant(3.0)))
    use = tf.function(lambda a_list: get(a_list, 1) + get(a_list, 0))
    return float(use(make()))


def _parallel_map() -> list[float]:
    def one(x: Any) -> Any:
        handle, flow = raw.TensorArrayV3(size=1, dtype=f32)
        flow = write(handle, 0, x, flow)
        sums, flow = raw.TensorArrayGradV3(handle=handle, flow_in=flow, source="g")
        flow = write(sums, 0, x, write(sums, 0, x, flow))
        return raw.TensorArrayReadV3(handle=sums, index=0, flow_in=flow, dtype=f32)

    data = tf.data.Dataset.range(4).map(lambda i: one(tf.cast(i, f32)), num_parallel_calls=2)
    return [float(x) for x in data]


def _constant_lists() -> float:
    """All inputs are constants, so the graph optimiser would fold the program if it could."""
    return float(
        tf.reduce_sum(_in_function(lambda: stack(put(reserve(3, []), 1, tf.constant(2.0)))))
    )


def _gradient_of_all() -> float:
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])

    @tf.function
    def slope() -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            a_list = from_tensor(x, [2])
            a_list = push(a_list, get(a_list, 0, [2]) * 2.0)
            a_list, last = pop(a_list)
            a_list = put(resize(a_list, 3), 2, last)
            joined = concat(split(stack(a_list, [2]), [1, 2], [-1, 2]), [-1, 2])[0]
            joined = joined + gather(scatter(joined, [2, 1, 0], [2]), [0, 1, 2], [2])
            result = tf.reduce_sum(joined * joined)
        return tape.gradient(result, x)

    return float(tf.reduce_sum(slope()))


works("a branch not taken", _dead_branch, 7.0)
works("a partial run", _partial_run, [1.0, 2.0])
works("an array closed while others use it", _closed_while_used, "alive")
case("a loop that fails in the middle", _while_that_fails, "element 1000")
works("a list from one function in another", _list_across_functions, 3.0)
works("arrays in a parallel map", _parallel_map, [0.0, 2.0, 4.0, 6.0])
works("lists of constants", _constant_lists, 2.0)
case("constant lists of a negative size", lambda: _in_function(lambda: reserve(-5)), "non negative")
case(
    "constant lists too large",
    lambda: _in_function(lambda: stack(reserve(MAX, [2**14]))),
    "OOM",
    SHORT,
)
works("the gradient of every list op", _gradient_of_all, 164.0)
works("NaN flows through", lambda: bool(np.isnan(write(array(1)[0], 0, 1.0, float("nan")))), True)

"""What `mutated_attributes` compares the results of changed nodes with."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.core.framework import graph_pb2, node_def_pb2

import tensor_array_grad
from tests.loops import own_nodes
from tests.loops.mutated_nodes import Case
from tests.loops.own_nodes import PREFIX

LIMIT_S = 1.0  # after which a call is cancelled
_STOCK_LIMIT_S = 5.0  # the same of TensorFlow's loop, which also has to be prepared
raw = tf.raw_ops


@dataclasses.dataclass(frozen=True)
class Result:
    """What happened.

    Attributes:
      kind: "refused" by Python, "rejected" when the kernel was made, "error" of a run, "endless",
        "passed on", "ran".
      text: The class and the message of the error.
      values: The outputs.
    """

    kind: str
    text: str = ""
    values: tuple[Any, ...] = ()


def same(a: Any, b: Any) -> bool:
    if a.dtype != b.dtype:
        return False
    if a.dtype in (tf.variant, tf.resource):
        return tf.io.serialize_tensor(a).numpy() == tf.io.serialize_tensor(b).numpy()
    x, y = np.asarray(a.numpy()), np.asarray(b.numpy())
    if x.shape != y.shape or a.dtype == tf.string:
        return np.array_equal(x, y)
    if a.dtype.is_floating or a.dtype.is_complex:
        exact = a.dtype in (tf.float64, tf.complex128)
        return np.allclose(
            *(x.astype(np.complex128), y.astype(np.complex128)),
            rtol=1e-9 if exact else 1e-3,
            atol=1e-9 if exact else 1e-3,
            equal_nan=True,
        )
    return np.array_equal(x, y)


def _outcome(compute: Callable[[], Sequence[Any]]) -> list[Any] | str:
    """The values, or the class of the error."""
    try:
        return list(compute())
    except tf.errors.OpError as error:
        return type(error).__name__


class NotComparable(Exception):
    """There is nothing with which a result could be compared."""


def _loop_of(case: Case, library: Any) -> tuple[own_nodes.Computation, list[int]]:
    """TensorFlow's loop of the frame, and the variables whose values it returns."""
    frame = graph_pb2.GraphDef.FromString(case.node.attr["frame"].s)
    graph = own_nodes.without_ends(frame)
    if any("f" in node.attr or "branches" in node.attr for node in graph.node):
        graph.library.CopyFrom(library)
    names = {n.attr["index"].i: n.name for n in frame.node if n.op == "_Arg"}
    feeds = {names[i]: value.dtype.as_datatype_enum for i, value in enumerate(case.inputs)}

    def readers(of: set[str], op: str) -> list[node_def_pb2.NodeDef]:
        return [n for n in graph.node if n.op == op and n.input and n.input[0].split(":")[0] in of]

    fetches, variables = [], []
    for index in range(case.outputs()):
        merges = readers({node.name for node in readers({names[index]}, "Enter")}, "Merge")
        switches = readers({node.name for node in merges}, "Switch")
        if not switches:
            continue
        added = graph.node.add(name=f"result_{index}", op="Exit", input=[switches[0].name])
        added.attr["T"].CopyFrom(switches[0].attr["T"])
        fetches.append(f"{added.name}:0")
        variables.append(index)
    if not fetches:
        raise NotComparable("no variable")
    return own_nodes.Computation(graph, feeds, fetches), variables


def compare_loop(case: Case, result: Result | None, library: Any) -> str:
    """What is wrong with the result of a RunLoop; empty if nothing is."""
    inputs = [own_nodes.serialized(value) for value in case.inputs]
    values = [own_nodes.serialized(value) for value in result.values] if result else []
    with tensor_array_grad.loops_in_one_kernel(False), tensor_array_grad.graph_pass(False):
        try:
            loop, variables = _loop_of(case, library)
        except (ValueError, TypeError, KeyError, tf.errors.OpError) as error:
            raise NotComparable(f"not importable: {error}") from error
        with contextlib.closing(loop):
            want = _outcome(lambda: loop(inputs, _STOCK_LIMIT_S))
            if result is None:
                return ""
            if result.kind == "error":
                return "" if isinstance(want, str) else f"only ours fails: {result.text[:300]}"
            got = _outcome(lambda: loop([*values, *inputs[len(values) :]], _STOCK_LIMIT_S))
    if isinstance(want, str) or isinstance(got, str):
        both = isinstance(want, str) and isinstance(got, str)
        return "" if both else f"stock {want}, after ours {got}"[:1000]
    for index, of_stock, of_ours in zip(variables, want, got, strict=True):
        if of_stock == of_ours:
            continue
        stock, ours = own_nodes.parsed(of_stock), own_nodes.parsed(of_ours)
        if not same(stock, ours):
            return f"variable {index}: stock {stock}, ours {ours}"[:1000]
    return ""


# The ops that AddSlices adds, by the first of their eight numbers, with their inputs as
# `tf.raw_ops` name them.
_ADDENDS = (
    ("StridedSliceGrad", ("shape", "begin", "end", "strides", "dy")),
    ("Pad", ("input", "paddings")),
    ("UnsortedSegmentSum", ("data", "segment_ids", "num_segments")),
    ("ScatterNd", ("indices", "updates", "shape")),
    ("ZerosLike", ("x",)),
)
_MASKS = ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask")


def _addend(numbers: Sequence[int], inputs: list[Any]) -> tuple[Any, int]:
    """The output of an op that AddSlices adds, and how many of the inputs it takes."""
    kind, transposed, reshaped, *masks = numbers
    if kind not in range(len(_ADDENDS)) or not {transposed, reshaped} <= {0, 1}:
        raise NotComparable("no addend")
    op, names = _ADDENDS[kind]
    count = len(names)
    if len(inputs) < count + transposed + reshaped:
        raise NotComparable("too few inputs")
    attributes = zip(_MASKS, masks, strict=True) if op == "StridedSliceGrad" else ()
    value = getattr(raw, op)(**dict(zip(names, inputs[:count], strict=True)), **dict(attributes))
    if transposed:
        value, count = raw.Transpose(x=value, perm=inputs[count]), count + 1
    if reshaped:
        value, count = raw.Reshape(tensor=value, shape=inputs[count]), count + 1
    return value, count


def _stock_sum(case: Case) -> Any:
    """What AddSlices or an accumulating op is the sum of, added by stock's ops."""
    op, attributes, inputs = case.node.op.removeprefix(PREFIX), case.node.attr, list(case.inputs)
    if op == "AddSlices":
        rest, terms = inputs[1:], []
        numbers = attributes["addends"].list.i
        if len(numbers) % 8 != 0:
            raise NotComparable("numbers are missing")
        for at in range(0, len(numbers), 8):
            value, count = _addend(numbers[at : at + 8], rest)
            terms.append(value)
            rest = rest[count:]
        operand = attributes["operand"].i if "operand" in attributes else -1
        if operand >= 0:  # the op takes the place of an Add, not of an AddN
            both = [raw.AddN(inputs=terms), inputs[0]]
            return raw.AddV2(x=both[operand != 0], y=both[operand == 0])
        terms.insert(attributes["before"].i, inputs[0])
        return raw.AddN(inputs=terms)
    if not op.startswith("ListAccumulate"):
        raise NotComparable(op)
    dtype = inputs[2].dtype  # an eager op takes it, not the attribute
    if op == "ListAccumulate":
        shape, length = inputs[3], inputs[4]
    else:
        shape = raw.TensorListElementShape(input_handle=inputs[3], shape_type=tf.int32)
        length = raw.TensorListLength(input_handle=inputs[3])
    one = raw.TensorListReserve(element_shape=shape, num_elements=length, element_dtype=dtype)
    one = raw.TensorListSetItem(input_handle=one, index=inputs[1], item=inputs[2])
    return raw.AddN(inputs=[inputs[0], one])


def compare_sum(case: Case, result: Result) -> str:
    want = _outcome(lambda: [_stock_sum(case)])
    if isinstance(want, str) and result.kind == "ran":
        return f"only stock fails: {want}"
    # The attributes themselves may be wrong, which the stock ops do not have.
    refused = ("ttr ", "addends", "Addend ")
    if result.kind == "error" and any(text in result.text for text in refused):
        return ""
    if isinstance(want, list) and result.kind == "error":
        return f"only ours fails: {result.text[:300]}"
    if isinstance(want, list) and not same(want[0], result.values[0]):
        return f"stock {want[0]}, ours {result.values[0]}"[:1000]
    return ""

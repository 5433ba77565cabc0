"""A RunLoop whose frame says which value an input has runs only with this value."""

from __future__ import annotations

from typing import Any

import pytest
import tensorflow as tf
from tensorflow.core.framework import function_pb2, graph_pb2, node_def_pb2

from tests.loops import mutated_attributes, own_nodes
from tests.loops.mutated_nodes import Case
from tests.loops.mutated_results import compare_loop, same
from tests.support import kernel_runner

v1 = tf.compat.v1
_MARK = "_tensor_array_grad_known_value"


def _run_loop() -> node_def_pb2.NodeDef:
    """The RunLoop of a loop with a conditional by a constant."""
    v1.disable_control_flow_v2()
    with tf.Graph().as_default():
        x, flag = v1.placeholder(tf.float32, []), v1.placeholder(tf.bool, [])
        body = lambda i, y: (i + 1, v1.cond(flag, lambda: y * 2.0, lambda: y + 1.0))  # noqa: E731
        last = v1.while_loop(lambda i, _: i < 3, body, (0, x))[1]
        options, metadata = v1.RunOptions(output_partition_graphs=True), v1.RunMetadata()
        with v1.Session() as session:
            session.run(last, {x: 1.5, flag: True}, options=options, run_metadata=metadata)
    nodes = [node for graph in metadata.partition_graphs for node in graph.node]
    (found,) = (node for node in nodes if node.op == own_nodes.RUN_LOOP + "InSession")
    found.op = own_nodes.RUN_LOOP
    return found


def _inputs(node: node_def_pb2.NodeDef) -> list[Any]:
    variables, constants = node.attr["T"].list.type, node.attr["U"].list.type
    values = {tf.float32: 1.5, tf.bool: False, tf.int32: 3}
    first = [tf.constant(0 if t == tf.int32 else values[tf.as_dtype(t)], t) for t in variables]
    return first + [tf.constant(values[tf.as_dtype(t)], t) for t in constants]


def run_with_mark(value: int) -> tuple[str, str]:
    """Runs a loop whose constant, which is false, is said to be `value`; for a worker process.

    Returns:
      `Result.kind` and what is wrong, if anything is.
    """
    node = _run_loop()
    frame = graph_pb2.GraphDef.FromString(node.attr["frame"].s)
    (enter,) = (
        inner
        for inner in frame.node
        if inner.op == "Enter" and inner.attr["T"].type == tf.bool.as_datatype_enum
    )
    assert enter.attr["is_constant"].b
    enter.attr[_MARK].i = value
    node.attr["frame"].s = frame.SerializeToString()
    case, library = Case("", node, _inputs(node)), function_pb2.FunctionDefLibrary()
    result = mutated_attributes.run_node(case, library)
    if result.kind == "passed on":
        pairs = zip(case.inputs, result.values, strict=False)
        return result.kind, "" if all(same(a, b) for a, b in pairs) else "changed"
    return result.kind, compare_loop(case, result, library)


@pytest.mark.parametrize(("value", "kind"), [(0, "ran"), (1, "passed on"), (2, "passed on")])
def test_a_loop_with_a_false_mark_is_left_to_the_stock_loop(value: int, kind: str) -> None:
    with kernel_runner.Runner("enable") as runner:
        assert runner.call("tests.loops.known_value_test:run_with_mark", value) == (kind, "")

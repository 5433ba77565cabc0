"""The stacks of TF1 loops: owned by their handles, and otherwise as stock's."""

from __future__ import annotations

import pathlib
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import tensor_array_grad
from tests.support.memory import resident_bytes

raw = tf.raw_ops
v1 = tf.compat.v1
STEPS = 20
WORDS = 1000


def existing() -> int:
    """The number of stacks of this process; -1 on stock kernels."""
    return tensor_array_grad.status().counters.get("stacks.existing", -1)


# ---- single ops --------------------------------------------------------------------------------


def push(stack: Any, *values: Any) -> Any:
    """Pushes the values in turn; returns the last output, for which later ops have to wait."""
    for value in values:
        value = raw.StackPushV2(handle=stack, elem=value)
        stack = _after(value, stack)
    return stack


def _after(first: Any, then: Any) -> Any:
    with tf.control_dependencies([first]):
        return tf.identity(then)


def pops(stack: Any, dtype: tf.DType, count: int) -> list[Any]:
    popped = []
    for _ in range(count):
        popped.append(raw.StackPopV2(handle=stack, elem_type=dtype))
        stack = _after(popped[-1], stack)
    return popped


def _sizes(size: Any) -> Any:
    stack = raw.StackV2(max_size=size, elem_type=tf.float32)
    return pops(push(stack, [1.0], [2.0, 3.0]), tf.float32, 2)


def _after_close() -> Any:
    stack = raw.StackV2(max_size=-1, elem_type=tf.float32)
    stack = push(stack, 1.0)
    raw.StackCloseV2(handle=stack)
    with tf.control_dependencies(v1.get_default_graph().get_operations()[-1:]):
        return pops(stack, tf.float32, 1)


def _of_another_dtype() -> Any:
    # TensorFlow's optimizer removes a push if nothing pops.
    return pops(push(raw.StackV2(max_size=-1, elem_type=tf.float32), 1), tf.float32, 1)


PROGRAMS: dict[str, Callable[[], Any]] = {
    "any size": lambda: _sizes(-1),
    "a size that fits": lambda: _sizes(2),
    "a size that is too small": lambda: _sizes(1),
    "a size that is no scalar": lambda: _sizes(v1.placeholder_with_default([2], None)),
    "an empty stack": lambda: pops(raw.StackV2(max_size=-1, elem_type=tf.float32), tf.float32, 1),
    "a closed stack": _after_close,
    "a push of another dtype": _of_another_dtype,
}


def run_program(name: str) -> Any:
    """The values of a program, or the error of its last op."""
    with tf.Graph().as_default(), v1.Session() as session:
        try:
            values = session.run(PROGRAMS[name]())
        except tf.errors.InvalidArgumentError as error:
            return re.search("(Stack|Must|Trying).*", error.message).group()
    return [np.asarray(value).tolist() for value in values]


@pytest.mark.parametrize("name", PROGRAMS)
def test_single_ops_return_values_and_errors_of_stock(ours, stocks, name):
    got, want = (each.call("tests.v3.stack_test:run_program", name) for each in (ours, stocks))
    if name == "a push of another dtype":  # here the message also names the stack
        got = got.removeprefix("Stack[StackV2_0]: ")
    assert got == want


def test_a_pop_of_another_dtype_is_an_error_and_keeps_the_value():
    before = existing()
    stack = raw.StackV2(max_size=-1, elem_type=tf.float32)
    raw.StackPushV2(handle=stack, elem=1.0)
    with pytest.raises(tf.errors.InvalidArgumentError, match="Must have type float but got int32"):
        raw.StackPopV2(handle=stack, elem_type=tf.int32)
    assert raw.StackPopV2(handle=stack, elem_type=tf.float32).numpy() == 1.0
    del stack
    assert existing() == before


def test_the_handle_of_another_resource_is_an_error():
    array, _ = raw.TensorArrayV3(size=1, dtype=tf.float32)
    with pytest.raises(tf.errors.InvalidArgumentError, match="a stack made by tensor_array_grad"):
        raw.StackPushV2(handle=array, elem=1.0)
    stack = raw.StackV2(max_size=-1, elem_type=tf.float32)
    with pytest.raises(tf.errors.InvalidArgumentError, match="a tensor array made by"):
        raw.TensorArrayCloseV3(handle=stack)


@pytest.mark.parametrize("dtype", ["float16", "complex128", "int8", "uint64", "bool", "string"])
def test_values_of_a_dtype_are_popped_unchanged(counted, dtype):
    values = [tf.constant(["a", "bc"]), tf.constant("d")]
    if dtype != "string":
        values = [tf.cast(tf.constant([[0, 1], [2, 3]]), dtype) for _ in range(2)]
    stack = raw.StackV2(max_size=-1, elem_type=dtype)
    for value in values:
        raw.StackPushV2(handle=stack, elem=value)
    for value in reversed(values):
        popped = raw.StackPopV2(handle=stack, elem_type=dtype)
        np.testing.assert_array_equal(popped.numpy(), value.numpy())
    assert counted["kernels.StackPopV2"] == 2


# ---- graphs with gradients ---------------------------------------------------------------------


def loop_with_gradient(x: Any, swap_memory: bool = False) -> tuple[Any, Any]:
    """The value and the gradient of a TF1 loop that pushes several values per iteration."""

    def body(i: Any, s: Any) -> Any:
        s = tf.cond(i % 3 > 0, lambda: tf.tanh(s * x), lambda: s * s)
        return i + 1, s

    start = [tf.constant(0), tf.sin(x)]
    _, y = v1.while_loop(lambda i, _: i < STEPS, body, start, swap_memory=swap_memory)
    return y, v1.gradients(y, x)[0]


def graph_of_loop() -> tuple[tf.Graph, list[str]]:
    """A graph of TF1 control flow, the placeholder's name and the names of its two results."""
    v1.disable_control_flow_v2()
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [WORDS], name="x")
        y, gradient = loop_with_gradient(x)
        tf.identity(y, name="y")
        tf.identity(gradient, name="gradient")
    assert "StackPushV2" in {node.op for node in graph.as_graph_def().node}
    return graph, ["y:0", "gradient:0"]


def _input() -> np.ndarray:
    return np.linspace(-1, 2, WORDS, dtype=np.float32)


def call_wrapped(calls: int) -> tuple[list[np.ndarray], float, int]:
    """Calls the graph as a function; returns the values, the growth per call, the stacks left."""
    graph, results = graph_of_loop()
    definition = graph.as_graph_def()
    function = v1.wrap_function(
        lambda x: v1.import_graph_def(definition, {"x:0": x}, results),
        [tf.TensorSpec([WORDS], tf.float32)],
    )
    x = tf.constant(_input())
    for _ in range(50):
        values = function(x)
    before = resident_bytes()
    for _ in range(calls):
        values = function(x)
    grown = (resident_bytes() - before) / calls
    return [value.numpy() for value in values], grown, existing()


def test_a_graph_called_as_a_function_leaves_no_stack_where_stock_leaks(
    ours, stocks, expect_of_stock
):
    values, grown, left = ours.call("tests.v3.stack_test:call_wrapped", 300)
    expected, grown_on_stock, _ = stocks.call("tests.v3.stack_test:call_wrapped", 300)
    for got, want in zip(values, expected, strict=True):
        np.testing.assert_array_equal(got.view(np.int32), want.view(np.int32))
    assert left == 0
    assert grown < 2000
    expect_of_stock(grown_on_stock > 4000, f"stock leaked only {grown_on_stock} bytes per call")


def train_saved_model(folder: str, calls: int) -> tuple[list[float], int]:
    """Calls the training function of a TF1 SavedModel; returns the losses and the stacks left."""
    train = tf.saved_model.load(folder).signatures["train"]
    losses = [float(train(tf.constant(_input()))["loss"]) for _ in range(calls)]
    return losses, existing()


def test_a_saved_model_that_trains_leaves_no_stack(ours, stocks, tmp_path):
    folder = str(tmp_path / "model")
    stocks.call("tests.v3.stack_test:save_model", folder)
    losses, left = ours.call("tests.v3.stack_test:train_saved_model", folder, 5)
    expected, _ = stocks.call("tests.v3.stack_test:train_saved_model", folder, 5)
    assert losses == expected
    assert len(set(losses)) == 5
    assert left == 0


def save_model(folder: str) -> None:
    v1.disable_control_flow_v2()
    with tf.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, [WORDS])
        w = v1.get_variable("w", initializer=0.5, use_resource=True)
        _, y = v1.while_loop(
            lambda i, _: i < STEPS, lambda i, s: (i + 1, tf.tanh(s * w + x)), [0, tf.zeros([WORDS])]
        )
        loss = tf.reduce_sum(y)
        step = v1.train.GradientDescentOptimizer(1e-3).minimize(loss)
        with tf.control_dependencies([step]):
            loss = tf.identity(loss)
        session.run(v1.global_variables_initializer())
        signature = v1.saved_model.predict_signature_def({"x": x}, {"loss": loss})
        builder = v1.saved_model.Builder(folder)
        builder.add_meta_graph_and_variables(session, ["train"], {"train": signature})
        builder.save()
    assert pathlib.Path(folder).is_dir()


def run_parts() -> tuple[list[np.ndarray], int]:
    """Runs a Session for a part of the graph that pushes and does not pop, then for all of it."""
    graph, results = graph_of_loop()
    pushes = [op for op in graph.get_operations() if op.type == "StackPushV2"]
    with v1.Session(graph=graph) as session:
        feed = {"x:0": _input()}
        exits = [op.outputs[0] for op in graph.get_operations() if op.type == "Exit"]
        session.run(exits[1:2], feed)
        assert len(pushes) > 2
        values = session.run(results, feed)
        left = existing()
    return values, left


def test_a_graph_pruned_between_push_and_pop_leaves_no_stack(ours, stocks):
    values, left = ours.call("tests.v3.stack_test:run_parts")
    expected, _ = stocks.call("tests.v3.stack_test:run_parts")
    for got, want in zip(values, expected, strict=True):
        np.testing.assert_array_equal(got.view(np.int32), want.view(np.int32))
    assert left == 0

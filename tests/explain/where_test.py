"""Where loops are: what is found by names, and reasons in words."""

from __future__ import annotations

import types

import pytest
import tensorflow as tf

from tensor_array_grad import _advice, _where
from tensor_array_grad._tf_private import Line

_IN_KERAS = [Line("/site-packages/keras/src/layers/rnn/lstm.py", 1, "call")]
_TRAINING = "while/body/_1/while/cond/then/_95/while/cond/StatefulPartitionedCall/"


@pytest.mark.parametrize(
    "name",
    [
        "model_1/lstm_1/while",
        "gradient_tape/model_1/lstm_1/while/model_1/lstm_1/while_grad",
        f"{_TRAINING}model_1/lstm_1/while",  # with steps_per_execution
        f"{_TRAINING}gradient_tape/model_1/lstm_1/while/model_1/lstm_1/while_grad",
    ],
)
def test_the_layer_is_in_the_name_of_its_loop(name: str) -> None:
    assert _where._layer(_IN_KERAS, name) == "lstm_1"
    assert _where._layer([Line("program.py", 1, "call")], name) == ""


@pytest.mark.parametrize(("function", "known"), [("", True), ("body_of_a_loop_17", False)])
def test_an_op_of_no_function_is_the_cause_in_a_loop_of_tf1_only(
    function: str, known: bool
) -> None:
    tf.constant(0.0)  # TensorFlow knows its functions then
    with tf.Graph().as_default() as graph:
        tf.constant(1.0, name="cause_in_a_graph")
    loop = types.SimpleNamespace(
        body=(function, "op"),
        condition=(function, "op"),
        cause=("", "cause_in_a_graph"),
        python=("", ""),
        name="while",
        notes=(),
    )
    assert ("where_test.py:" in _where.find(loop).cause) is known
    assert graph is not None  # it was there to be found


def test_a_reason_names_one_op_or_two() -> None:
    why, _ = _advice.reason_and_remedy("ops may wait for each other: a/b (Name>Op) and c (Other)")
    assert why.startswith("in one kernel, Other would have to wait for Name>Op, from which")
    why, _ = _advice.reason_and_remedy("asynchronous kernel: a/b (Name>Op)")
    assert why.startswith("Name>Op ends on another thread")

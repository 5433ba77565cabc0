"""Names of Keras' layers, from the names of their loops."""

from __future__ import annotations

import pytest

from tensor_array_grad import _where
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

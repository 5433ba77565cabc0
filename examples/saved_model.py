"""Saves a TF1 graph with tensor arrays and its gradient, and runs it from the SavedModel.

    python examples/saved_model.py                            # on stock TensorFlow
    python -m tensor_array_grad examples/saved_model.py       # with the library

The saved graph has TensorArrayV3, TensorArrayGradV3, ... and control flow v1. It contains stock ops
only, so a graph that was saved with the library can be loaded without it, and the reverse.
"""

import argparse
import tempfile
from collections.abc import Callable

import numpy as np
import tensorflow as tf
from common import timed

tf1 = tf.compat.v1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--steps", type=int, default=2000, help="length of the sequence")
    args = parser.parse_args()
    gradient = timed(f"gradient of {args.steps} elements", program(args.steps))
    print(f"sum of the gradient {gradient.sum():.6f}, largest {gradient.max():.6f}")


def program(steps: int) -> Callable[[], np.ndarray]:
    """Saves the graph and loads it.

    Args:
      steps: Length of the sequence.

    Returns:
      A function that runs the loaded graph and returns the gradient of the loss, [steps].
    """
    session = tf1.Session(graph=tf.Graph())
    with tempfile.TemporaryDirectory() as folder:
        save(f"{folder}/model")
        model = tf1.saved_model.load(session, [tf.saved_model.SERVING], f"{folder}/model")
    signature = model.signature_def["serving_default"]
    call = session.make_callable(signature.outputs["gradient"].name, [signature.inputs["x"].name])
    x = np.linspace(-1, 1, steps, dtype=np.float32)
    return lambda: call(x)


def save(path: str) -> None:
    """Saves a graph that maps `x`, of any length, to the gradient of a loss.

    Switches control flow v2 off for the process.
    """
    tf1.disable_control_flow_v2()
    with tf.Graph().as_default() as graph, tf1.Session() as session:
        x = tf1.placeholder(tf.float32, [None], name="x")
        n = tf.size(x)
        inputs = tf.TensorArray(tf.float32, n).unstack(x)

        def body(
            i: tf.Tensor, state: tf.Tensor, outputs: tf.TensorArray
        ) -> tuple[tf.Tensor, tf.Tensor, tf.TensorArray]:
            state = tf.tanh(0.9 * state + inputs.read(i))
            return i + 1, state, outputs.write(i, state)

        _, _, outputs = tf.while_loop(
            lambda i, *_: i < n, body, [0, tf.constant(0.0), tf.TensorArray(tf.float32, n)]
        )
        loss = tf.reduce_mean(tf.square(outputs.stack() - 0.5))
        (gradient,) = tf.gradients(loss, [x])
        assert "TensorArrayGradV3" in {op.type for op in graph.get_operations()}
        tf1.saved_model.simple_save(session, path, {"x": x}, {"gradient": gradient})


if __name__ == "__main__":
    main()

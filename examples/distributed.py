"""Trains a recurrent model with several processes of this machine, on 127.0.0.1.

    python examples/distributed.py                                    # on stock TensorFlow
    python -m tensor_array_grad examples/distributed.py               # with the library
    python examples/distributed.py --strategy parameter_server

The first form uses MultiWorkerMirroredStrategy: two workers, each of which computes the gradient of
its half of the sequences. The last one uses ParameterServerStrategy: a server holds the variables,
and a coordinator sends the computation of gradients to two workers. Both print the same losses: a
process computes the mean over its sequences, all processes have the same number of sequences, and
the losses and the gradients of the processes are averaged.

The command starts all processes; child processes have the library if this process has it. If the
environment contains TF_CONFIG, the command is that task of a cluster, and starts no process.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Callable

import cluster
import tensorflow as tf

BATCH, UNITS, LEARNING_RATE, WORKERS = 32, 64, 0.5, 2
STRATEGIES = {  # the number of tasks by role; those of the first role end by themselves
    "multi_worker": {"worker": WORKERS},
    "parameter_server": {"chief": 1, "ps": 1, "worker": WORKERS},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--steps", type=int, default=800, help="length of a sequence")
    parser.add_argument("--updates", type=int, default=5, help="training steps")
    parser.add_argument("--strategy", choices=STRATEGIES, default="multi_worker")
    args = parser.parse_args()
    if "TF_CONFIG" not in os.environ:
        sys.exit(cluster.launch(STRATEGIES[args.strategy]))
    cluster.end_with_launcher()
    task = json.loads(os.environ["TF_CONFIG"])["task"]
    if args.strategy == "multi_worker":
        train(multi_worker(args.steps), args.updates, shown=task["index"] == 0)
    elif task["type"] == "chief":
        train(parameter_server(args.steps), args.updates)
    else:
        serve()


class Model:
    """A recurrent cell; its loop indexes the sequences."""

    def __init__(self) -> None:
        start = tf.random.stateless_normal([UNITS, UNITS], [1, 2], stddev=0.05)
        # MEAN: a replica subtracts the mean of the values that all replicas subtract.
        self.recurrent = tf.Variable(start, aggregation=tf.VariableAggregation.MEAN)

    def gradient(self, x: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """The mean loss of the sequences `x` and its gradient.

        Args:
          x: [sequences, steps, UNITS], float32.

        Returns:
          The loss, [], and its gradient with respect to the weights, [UNITS, UNITS].
        """
        with tf.GradientTape() as tape:
            # Read once: in the loop, each step would fetch the variable from the parameter server.
            recurrent = tf.convert_to_tensor(self.recurrent)
            h = tf.zeros_like(x[:, 0])
            for i in tf.range(tf.shape(x)[1]):
                h = tf.tanh(x[:, i] + h @ recurrent)
            loss = tf.reduce_mean(tf.square(h - 0.5))
        return loss, tape.gradient(loss, self.recurrent)


def sequences(worker: tf.Tensor | int, steps: int) -> tf.Tensor:
    """The random sequences of one worker, [BATCH / WORKERS, steps, UNITS]."""
    return tf.random.stateless_normal([BATCH // WORKERS, steps, UNITS], [3, worker])


def train(update: Callable[[], float], updates: int, shown: bool = True) -> None:
    """Calls `update`, prints the losses on stdout, and the time of a call on stderr.

    Args:
      update: A training step of the cluster, which returns the mean loss before it.
      updates: Number of calls. The first one traces, so it is not measured.
      shown: Whether this process prints.
    """
    fastest = float("inf")
    for number in range(updates):
        start = time.perf_counter()
        loss = update()
        if number > 0:
            fastest = min(fastest, time.perf_counter() - start)
        if shown:
            print(f"update {number}: loss {loss:.6f}", flush=True)
    if shown and updates > 1:
        print(f"{fastest * 1e3:.1f} ms per update", file=sys.stderr)


def multi_worker(steps: int) -> Callable[[], float]:
    """The training step of a worker of MultiWorkerMirroredStrategy, which all workers call."""
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    with strategy.scope():
        model = Model()
    worker = strategy.cluster_resolver.task_id

    def replica() -> tf.Tensor:
        loss, gradient = model.gradient(sequences(worker, steps))
        model.recurrent.assign_sub(LEARNING_RATE * gradient)
        return loss

    @tf.function
    def update() -> tf.Tensor:
        return strategy.reduce(tf.distribute.ReduceOp.MEAN, strategy.run(replica), axis=None)

    return lambda: float(update())


def parameter_server(steps: int) -> Callable[[], float]:
    """The training step of the coordinator of ParameterServerStrategy."""
    resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    strategy = tf.distribute.ParameterServerStrategy(resolver)
    coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
    with strategy.scope():
        model = Model()

    @tf.function
    def gradient(worker: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        return model.gradient(sequences(worker, steps))

    def update() -> float:
        scheduled = [coordinator.schedule(gradient, args=(tf.constant(w),)) for w in range(WORKERS)]
        losses, gradients = zip(*coordinator.fetch(scheduled), strict=True)
        model.recurrent.assign_sub(LEARNING_RATE * sum(gradients) / WORKERS)
        return sum(losses) / WORKERS

    return update


def serve() -> None:
    """Runs a worker or a parameter server of ParameterServerStrategy until the process is killed."""
    resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    tf.distribute.Server(
        resolver.cluster_spec(), job_name=resolver.task_type, task_index=resolver.task_id
    ).join()


if __name__ == "__main__":
    main()

"""Trains a recurrent model with several processes of this machine, on 127.0.0.1.

    python examples/distributed.py                                    # on stock TensorFlow
    python -m tensor_array_grad examples/distributed.py               # with the library
    python examples/distributed.py --strategy parameter_server

By default, the example uses MultiWorkerMirroredStrategy: two workers, each of which computes the
gradient of its half of the sequences. The last command uses ParameterServerStrategy: a server holds
the variables, and a coordinator schedules gradients on two workers. The command starts all
processes. The library is enabled in the child processes if it is enabled in this process.
"""

import argparse
import contextlib
import json
import os
import socket
import subprocess
import sys
import time

import tensorflow as tf

BATCH, UNITS, WORKERS = 8, 16, 2
STRATEGIES = {  # for each strategy, the number of processes by role
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
        sys.exit(launch(STRATEGIES[args.strategy]))
    role = json.loads(os.environ["TF_CONFIG"])["task"]["type"]
    if args.strategy == "multi_worker":
        train_with_others(args.steps, args.updates)
    elif role == "chief":
        coordinate(args.steps, args.updates)
    else:
        serve()


def launch(roles: dict[str, int]) -> int:
    """Runs this command in a process for each task of a cluster.

    Args:
      roles: The number of tasks by role. The program ends when all processes of the first role have
        ended, or when a process has failed.

    Returns:
      0, or 1 if a process failed.
    """
    addresses = iter(free_addresses(sum(roles.values())))
    cluster = {role: [next(addresses) for _ in range(count)] for role, count in roles.items()}
    processes = []
    try:
        for role, count in roles.items():
            for index in range(count):
                config = {"cluster": cluster, "task": {"type": role, "index": index}}
                environment = os.environ | {"TF_CONFIG": json.dumps(config)}
                processes.append(subprocess.Popen([sys.executable, *sys.argv], env=environment))
        first = processes[: next(iter(roles.values()))]  # servers do not end by themselves
        while any(process.poll() is None for process in first):
            if any(process.poll() for process in processes):
                break  # the others could wait for it forever
            time.sleep(0.05)
        failed = [process for process in processes if process.poll()]
        for process in failed:
            print(f"process {process.pid} ended with {process.returncode}", file=sys.stderr)
        return 1 if failed else 0
    finally:
        for process in processes:
            process.kill()  # a server of TensorFlow survives SIGTERM
            process.wait()


def free_addresses(count: int) -> list[str]:
    """Addresses of this machine at which no process listens."""
    with contextlib.ExitStack() as stack:
        sockets = [
            stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)
        ]
        return [f"127.0.0.1:{one.getsockname()[1]}" for one in sockets]


class Model:
    """A recurrent cell, run by a loop that indexes the sequences."""

    def __init__(self) -> None:
        start = tf.random.stateless_normal([UNITS, UNITS], [1, 2], stddev=0.1)
        # The values that the replicas assign are averaged.
        self.recurrent = tf.Variable(start, aggregation=tf.VariableAggregation.MEAN)

    def gradient(self, x: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """The mean loss of the sequences `x`, [batch, steps, UNITS], and its gradient."""
        with tf.GradientTape() as tape:
            # Reads the variable once, because each read fetches it from the parameter server.
            recurrent = tf.convert_to_tensor(self.recurrent)
            h = tf.zeros_like(x[:, 0])
            for i in tf.range(tf.shape(x)[1]):
                h = tf.tanh(x[:, i] + h @ recurrent)
            loss = tf.reduce_mean(tf.square(h - 0.5))
        return loss, tape.gradient(loss, self.recurrent)


def sequences(part: tf.Tensor, steps: int) -> tf.Tensor:
    """The random sequences of one worker, [BATCH / WORKERS, steps, UNITS]."""
    return tf.random.stateless_normal([BATCH // WORKERS, steps, UNITS], [3, part])


def train_with_others(steps: int, updates: int) -> None:
    """Runs one worker of MultiWorkerMirroredStrategy."""
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    with strategy.scope():
        model = Model()
    worker = strategy.cluster_resolver.task_id

    def update() -> tf.Tensor:
        loss, gradient = model.gradient(sequences(worker, steps))
        model.recurrent.assign_sub(0.1 * gradient)
        return loss

    @tf.function
    def train() -> tf.Tensor:
        return strategy.reduce(tf.distribute.ReduceOp.MEAN, strategy.run(update), axis=None)

    for number in range(updates):
        loss = float(train())
        if worker == 0:
            print(f"update {number}: loss {loss:.6f}", flush=True)


def coordinate(steps: int, updates: int) -> None:
    """Runs the coordinator of ParameterServerStrategy. The workers compute the gradients."""
    resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    strategy = tf.distribute.ParameterServerStrategy(resolver)
    coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
    with strategy.scope():
        model = Model()

    @tf.function
    def gradient(part: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        return model.gradient(sequences(part, steps))

    for number in range(updates):
        scheduled = [coordinator.schedule(gradient, args=(tf.constant(w),)) for w in range(WORKERS)]
        losses, gradients = zip(*coordinator.fetch(scheduled), strict=True)
        model.recurrent.assign_sub(0.1 * sum(gradients) / WORKERS)
        print(f"update {number}: loss {sum(losses) / WORKERS:.6f}", flush=True)


def serve() -> None:
    """Runs a worker or a parameter server, which waits for work until its process is killed."""
    resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    tf.distribute.Server(
        resolver.cluster_spec(), job_name=resolver.task_type, task_index=resolver.task_id
    ).join()


if __name__ == "__main__":
    main()

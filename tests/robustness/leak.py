"""Measures the memory that repeated calls with arrays leak, compared with calls without arrays.

    python -m tests.robustness.leak --calls 100000

The calls with arrays and the control calls run in processes of their own. The leak is the amount
by which the process with arrays grows more. A run of a function or Session makes `PER_RUN` calls,
in a loop within the graph, because a run costs as much as 20 calls; an eager run is one call. Every
fifth run ends in an error.
"""

from __future__ import annotations

import argparse
import gc
import sys
from collections.abc import Callable
from typing import Any

from tests.support import kernel_runner
from tests.support.memory import resident_bytes

WARM_UP = 500
PER_RUN = 20
WORDS = 4096  # floats per element: an array that leaks keeps 32 kB or more

# A function of the input and an index, which is 1, or WORDS in a call that must fail.
_Program = Callable[[Any, Any], Any]


def _use_arrays(x: Any, index: Any) -> Any:
    import tensorflow as tf

    raw = tf.raw_ops
    handle, flow = raw.TensorArrayV3(size=2, dtype=tf.float32, clear_after_read=False)
    rows = raw.Pack(values=[x, x])
    flow = raw.TensorArrayScatterV3(handle=handle, indices=[0, 1], value=rows, flow_in=flow)
    grad, flow = raw.TensorArrayGradV3(handle=handle, flow_in=flow, source="g")
    flow = raw.TensorArrayWriteV3(handle=grad, index=0, value=x, flow_in=flow)
    flow = raw.TensorArrayWriteV3(handle=grad, index=0, value=x, flow_in=flow)
    second, second_flow = raw.TensorArrayGradV3(handle=grad, flow_in=flow, source="h")
    second_flow = raw.TensorArrayWriteV3(handle=second, index=1, value=x, flow_in=second_flow)
    flow = raw.TensorArrayWriteV3(handle=grad, index=index, value=x, flow_in=flow)
    with tf.control_dependencies([second_flow]):
        return raw.TensorArrayGatherV3(handle=grad, indices=[0, 1], flow_in=flow, dtype=tf.float32)


def _use_none(x: Any, index: Any) -> Any:
    import tensorflow as tf

    raw = tf.raw_ops
    rows = raw.Pack(values=[x, x])
    total = raw.AddV2(x=rows, y=rows)
    for _ in range(4):
        total = raw.AddV2(x=total, y=rows)
    row = raw.GatherV2(params=total, indices=index, axis=0)
    return raw.Pack(values=[row, x])


def _looped(program: _Program, x: Any, index: Any) -> Any:
    """Runs `program` PER_RUN times in a loop, with `index` only in the last iteration."""
    import tensorflow as tf

    def body(turn: Any, last: Any) -> Any:
        where = tf.where(turn < PER_RUN - 1, 1, index)
        with tf.control_dependencies([last]):
            return turn + 1, tf.ensure_shape(program(tf.identity(x), where), [2, WORDS])

    start = (tf.constant(0), tf.zeros([2, WORDS]))
    return tf.while_loop(lambda turn, _: turn < PER_RUN, body, start, parallel_iterations=1)[1]


def _caller(mode: str, program: _Program) -> tuple[Callable[[int], Any], int]:
    """A function of an index that runs `program`, and the number of calls that it makes."""
    import numpy as np
    import tensorflow as tf

    value = np.ones(WORDS, np.float32)
    if mode == "eager":
        return lambda index: program(tf.constant(value), index), 1
    if mode == "function":
        traced = tf.function(
            lambda x, index: _looped(program, x, index),
            input_signature=[tf.TensorSpec([WORDS], tf.float32), tf.TensorSpec([], tf.int32)],
            autograph=False,
        )
        return lambda index: traced(tf.constant(value), index), PER_RUN
    with tf.Graph().as_default() as graph:
        x = tf.compat.v1.placeholder(tf.float32, [WORDS])
        place = tf.compat.v1.placeholder(tf.int32, [])
        result = _looped(program, x, place)
    session = tf.compat.v1.Session(graph=graph)
    return lambda index: session.run(result, {x: value, place: index}), PER_RUN


def measure(mode: str, arrays: bool, calls: int) -> tuple[int, int, int]:
    """Makes the calls; returns the growth in bytes, the number of errors and of arrays left."""
    import tensorflow as tf

    import tensor_array_grad

    work, calls_per_run = _caller(mode, _use_arrays if arrays else _use_none)
    errors = 0
    before = 0
    for run in range((calls + WARM_UP) // calls_per_run):
        if run == WARM_UP // calls_per_run:
            before = resident_bytes()
        if run % 1000 == 999:
            gc.collect()
        try:
            work(WORDS if run % 5 == 4 else 1)
        except tf.errors.InvalidArgumentError:
            errors += 1
    return resident_bytes() - before, errors, len(tensor_array_grad.status().arrays)


def main() -> None:
    """Measures every mode and prints a line for each."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--calls", type=int, default=100000)
    calls = parser.parse_args().calls
    print("mode       calls  errors   grown by per call   control per call   arrays left")
    with kernel_runner.Runner("enable") as ours:
        for mode in kernel_runner.MODES:
            ran = [ours.call("tests.robustness.leak:measure", mode, a, calls, timeout=7200.0)
                   for a in (True, False)]  # fmt: skip
            if not all(isinstance(r, tuple) for r in ran):
                sys.exit(f"{mode}: {ran}")
            (grown, errors, left), (control, _, _) = ran
            print(
                f"{mode:9} {calls:6} {errors:7} {grown:10,} {grown / calls:8.2f} "
                f"{control:9,} {control / calls:8.2f} {left:13}",
                flush=True,
            )
        _, grown, left = ours.call("tests.v3.stack_test:call_wrapped", calls, timeout=7200.0)
        print(f"TF1 graph {calls:6} {grown * calls:18,.0f} {grown:8.2f} {left:32} stacks")


if __name__ == "__main__":
    main()

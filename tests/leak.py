"""Calls that use arrays, again and again, beside the same calls without arrays.

    python -m tests.leak --calls 100000

Both loops run in processes of their own; what the loop with arrays grows by beyond the control
loop is the leak. Error paths are part of each call.
"""

from __future__ import annotations

import argparse
import gc
import pathlib
import resource
import sys
from collections.abc import Callable
from typing import Any

from tests import stock

WARM_UP = 300
WORDS = 4096  # of an element: one array that stays is 32 kB and more


def resident_bytes() -> int:
    """The resident set of this process."""
    pages = int(pathlib.Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()


def _use_arrays(x: Any) -> Any:
    import tensorflow as tf

    raw = tf.raw_ops
    handle, flow = raw.TensorArrayV3(size=2, dtype=tf.float32, clear_after_read=False)
    flow = raw.TensorArrayScatterV3(
        handle=handle, indices=[0, 1], value=tf.stack([x, x]), flow_in=flow
    )
    grad, flow = raw.TensorArrayGradV3(handle=handle, flow_in=flow, source="g")
    flow = raw.TensorArrayWriteV3(handle=grad, index=0, value=x, flow_in=flow)
    flow = raw.TensorArrayWriteV3(handle=grad, index=0, value=x, flow_in=flow)
    second, flow = raw.TensorArrayGradV3(handle=grad, flow_in=flow, source="h")
    flow = raw.TensorArrayWriteV3(handle=second, index=1, value=x, flow_in=flow)
    with tf.control_dependencies([flow]):
        return raw.TensorArrayGatherV3(handle=grad, indices=[0, 1], flow_in=flow, dtype=tf.float32)[
            0
        ]


def _use_none(x: Any) -> Any:
    import tensorflow as tf

    rows = tf.stack([x, x])
    total = rows[0] + rows[1]
    return tf.gather(tf.stack([total, tf.zeros_like(x)]), [0, 1])[0]


def _fail_with_array(x: Any) -> Any:
    import tensorflow as tf

    raw = tf.raw_ops
    handle, flow = raw.TensorArrayV3(size=1, dtype=tf.float32)
    flow = raw.TensorArrayWriteV3(handle=handle, index=0, value=x, flow_in=flow)
    return raw.TensorArrayWriteV3(handle=handle, index=tf.size(x), value=x, flow_in=flow)


def _fail_without(x: Any) -> Any:
    import tensorflow as tf

    return tf.gather(x, tf.size(x))


def _caller(mode: str, program: Callable[[Any], Any]) -> Callable[[], Any]:
    import numpy as np
    import tensorflow as tf

    value = np.ones(WORDS, np.float32)
    if mode == "eager":
        return lambda: program(tf.constant(value))
    if mode == "function":
        traced = tf.function(program, input_signature=[tf.TensorSpec([WORDS], tf.float32)])
        return lambda: traced(tf.constant(value))
    graph = tf.Graph()
    with graph.as_default():
        x = tf.compat.v1.placeholder(tf.float32, [WORDS])
        result = program(x)
    session = tf.compat.v1.Session(graph=graph)
    return lambda: session.run(result, {x: value})


def measure(mode: str, arrays: bool, calls: int) -> tuple[int, int, int]:
    """Runs the loop; returns the bytes it grew by, the errors it met and the arrays left."""
    import tensorflow as tf

    import tensor_array_grad

    work = _caller(mode, _use_arrays if arrays else _use_none)
    failing = _caller(mode, _fail_with_array if arrays else _fail_without)
    errors = 0
    before = 0
    for call in range(calls + WARM_UP):
        if call == WARM_UP:
            gc.collect()
            before = resident_bytes()
        work()
        if call % 4 == 0:
            try:
                failing()
            except tf.errors.InvalidArgumentError:
                errors += 1
    gc.collect()
    return resident_bytes() - before, errors, len(tensor_array_grad.status().arrays)


def main() -> None:
    """Measures every mode and prints a line for each."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--calls", type=int, default=100000)
    calls = parser.parse_args().calls
    print("mode      calls   with arrays   control   arrays left")
    with stock.Runner("enable") as ours:
        for mode in stock.MODES:
            ran = [ours.call("tests.leak:measure", mode, a, calls, timeout=7200.0)
                   for a in (True, False)]  # fmt: skip
            if not all(isinstance(r, tuple) for r in ran):
                sys.exit(f"{mode}: {ran}")
            (grown, _, left), (control, _, _) = ran
            print(f"{mode:9} {calls:6} {grown:10,} B {control:9,} B {left:6}", flush=True)


if __name__ == "__main__":
    main()

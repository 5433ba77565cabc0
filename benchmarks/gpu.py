"""The speed of our kernels on a GPU: `python -m benchmarks.gpu`, on a machine that has one.

Stock and ours run one after the other, in separate processes. All values are verified before the
time is measured. Prints a table and one JSON row per case, and ends with exit status 1 if ours
is slower than stock. The bandwidth of a summed write is also compared with that of a plain copy on
the device. Most of the time of such a write is TensorFlow's launch of the op; device_code.cc
measures the device code without TensorFlow.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

REPEATS = 15
BUDGET_S = 2.0  # of the repeats; the first three are always made
VALUES = 1_000_000  # of a summed write
WRITES = 200
ROWS = 100_000
LIMIT_S = 900  # for all cases on one library
NOISE = 1.05


def _median_seconds(run: Callable[[], Any]) -> float:
    """The median time of a call of `run`, which must copy a value to the host at its end."""
    run()
    times: list[float] = []
    while len(times) < 3 or (len(times) < REPEATS and sum(times) < BUDGET_S):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def _on_gpu(program: Callable[..., Any], *tensors: Any) -> Callable[[], Any]:
    """A call of `program` on the GPU with `tensors`, as a tf.function; it returns one number."""
    import tensorflow as tf

    @tf.function
    def run(*args: Any) -> Any:
        with tf.device("/GPU:0"):
            return tf.reshape(program(*args), [-1])[-1]

    return lambda: run(*tensors).numpy()


def copy_bandwidth() -> float:
    """Bytes read and written per second by copies of 256 MB."""
    import tensorflow as tf

    count, copies = 64 << 20, 20
    with tf.device("/GPU:0"):
        x = tf.zeros([count])

    def copy(value: Any) -> Any:
        for _ in range(copies):
            value = tf.raw_ops.DeepCopy(x=value)
        return value

    return 2 * 4 * count * copies / _median_seconds(_on_gpu(copy, x))


def summed_writes() -> float:
    """Seconds per write of a million floats that is added to the value in the slot."""
    import tensorflow as tf

    def program(writes: int) -> Callable[[Any], Any]:
        def run(x: Any) -> Any:
            handle, flow = tf.raw_ops.TensorArrayV3(size=1, dtype=tf.float32)
            grad, flow = tf.raw_ops.TensorArrayGradV3(handle=handle, flow_in=flow, source="s")
            for _ in range(writes):
                flow = tf.raw_ops.TensorArrayWriteV3(handle=grad, index=0, value=x, flow_in=flow)
            return tf.raw_ops.TensorArrayReadV3(
                handle=grad, index=0, flow_in=flow, dtype=tf.float32
            )

        return run

    with tf.device("/GPU:0"):
        x = tf.range(VALUES, dtype=tf.float32) % 1000
        _require_equal(program(WRITES)(x), x * WRITES)
    many, few = _on_gpu(program(WRITES), x), _on_gpu(program(2), x)
    return (_median_seconds(many) - _median_seconds(few)) / (WRITES - 2)


def v3_rows(width: int) -> Callable[[], float]:
    """Seconds to unstack and stack all rows of a V3 array."""

    def measure() -> float:
        import tensorflow as tf

        def run(x: Any) -> Any:
            handle, flow = tf.raw_ops.TensorArrayV3(size=ROWS, dtype=tf.float32)
            indices = tf.range(ROWS)
            flow = tf.raw_ops.TensorArrayScatterV3(
                handle=handle, indices=indices, value=x, flow_in=flow
            )
            return tf.raw_ops.TensorArrayGatherV3(
                handle=handle, indices=indices, flow_in=flow, dtype=tf.float32
            )

        return _rows(run, width)

    return measure


def list_rows(width: int) -> Callable[[], float]:
    """Seconds to unstack and stack all rows of a TensorList."""

    def measure() -> float:
        import tensorflow as tf

        def run(x: Any) -> Any:
            rows = tf.raw_ops.TensorListFromTensor(tensor=x, element_shape=[width])
            return tf.raw_ops.TensorListStack(
                input_handle=rows, element_shape=[width], element_dtype=tf.float32
            )

        return _rows(run, width)

    return measure


def _rows(run: Callable[[Any], Any], width: int) -> float:
    import tensorflow as tf

    with tf.device("/GPU:0"):
        x = tf.reshape(tf.range(ROWS * width, dtype=tf.float32), [ROWS, width])
        _require_equal(tf.function(run)(x), x)
    return _median_seconds(_on_gpu(run, x))


def _require_equal(got: Any, want: Any) -> None:
    import tensorflow as tf

    if not tf.reduce_all(got == want):
        raise SystemExit(f"wrong values: {got} is not {want}")


CASES: dict[str, Callable[[], float]] = {
    "summed write of 1,000,000 floats": summed_writes,
    "V3 unstack and stack of 100,000 x 16": v3_rows(16),
    "V3 unstack and stack of 100,000 x 7": v3_rows(7),
    "list unstack and stack of 100,000 x 16": list_rows(16),
    "list unstack and stack of 100,000 x 7": list_rows(7),
}


def child(which: str) -> None:
    """Measures every case on one library and prints the results as JSON."""
    import tensorflow as tf

    for gpu in tf.config.list_physical_devices("GPU"):
        tf.config.experimental.set_memory_growth(gpu, True)
    if which == "ours":
        import tensor_array_grad

        tensor_array_grad.enable()
        assert tensor_array_grad.is_enabled(), tensor_array_grad.status()
    results = {}
    for name, measure in CASES.items():
        results[name] = measure()
        print(f"{which}: {name}: {results[name] * 1e6:.1f} us", file=sys.stderr, flush=True)
    print("RESULTS " + json.dumps({"copy": copy_bandwidth(), **results}))


def measured(which: str) -> dict[str, float]:
    """The results on the library `which`, measured in a process of its own."""
    switch = "on" if which == "ours" else "off"
    env = dict(os.environ, TENSOR_ARRAY_GRAD=switch)
    command = [sys.executable, "-m", "benchmarks.gpu", which]
    done = subprocess.run(
        command, env=env, stdout=subprocess.PIPE, text=True, check=False, timeout=LIMIT_S
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith("RESULTS ")]
    if done.returncode != 0 or not lines:
        raise SystemExit(f"{which}: exit status {done.returncode}")
    results: dict[str, float] = json.loads(lines[0].removeprefix("RESULTS "))
    return results


def main() -> None:
    """Measures stock and ours and prints the table."""
    stock, ours = measured("stock"), measured("ours")
    print(f"{'case':<40} {'stock':>12} {'ours':>12} {'ratio':>8}")
    for name in CASES:
        row = {"case": name, "stock_s": stock[name], "ours_s": ours[name]}
        print(
            f"{name:<40} {stock[name] * 1e6:>9.1f} us {ours[name] * 1e6:>9.1f} us "
            f"{stock[name] / ours[name]:>7.2f}x"
        )
        print(json.dumps(row))
    moved = 3 * 4 * VALUES / ours["summed write of 1,000,000 floats"]  # two reads and a write
    print(
        f"device copy {ours['copy'] / 1e9:.0f} GB/s, summed writes {moved / 1e9:.0f} GB/s: "
        f"{100 * moved / ours['copy']:.0f} % of it"
    )
    slower = [name for name in CASES if ours[name] > NOISE * stock[name]]
    if slower:
        raise SystemExit(f"slower than stock: {', '.join(slower)}")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        child(sys.argv[1])
    else:
        main()

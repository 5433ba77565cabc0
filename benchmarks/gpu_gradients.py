"""Gradients of loops on a GPU: `python -m benchmarks.gpu_gradients FOLDER`.

Each case is the gradient of a program of n steps, timed as one call of the traced function, in five
ways: stock, the library on stock's kernels, the library on its own kernels, and `jit_compile=True`
without and with the library. Each way has a process of its own. All results are compared with
stock's on the CPU. The folder, which must exist, keeps the rows of each way. The Keras layers use
no cuDNN, which has no loop.
"""

from __future__ import annotations

import dataclasses
import json
import os
import pathlib
import subprocess
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from benchmarks import case as cases
from benchmarks.case import Case

_SIZES = (400, 1_600, 6_400)
# The next size has four times as many steps. It is assumed to take 4.5 times as long, somewhat more
# than in a linear case. A quadratic case takes up to 16 times as long; `_LIMIT_S` ends it.
_GROWTH = 4.5
_LONGEST_S = 10.0  # a case is not run if it would take longer
_BUDGET_S = 0.3  # of runs for each row
_LIMIT_S = 150.0  # for all cases in one way
_REFERENCE = "CPU"  # the way whose results are right

_OFF, _KEPT, _OURS = (
    {"TENSOR_ARRAY_GRAD": "off"},
    {"TENSOR_ARRAY_GRAD_KERNELS": "off"},
    {"TENSOR_ARRAY_GRAD": ""},
)


@dataclasses.dataclass(frozen=True)
class Way:
    """One way to run the cases.

    Attributes:
      environment: What the process has in its environment.
      jit: Whether XLA compiles.
    """

    environment: dict[str, str]
    jit: bool = False


WAYS = {
    _REFERENCE: Way({**_OFF, "CUDA_VISIBLE_DEVICES": "-1"}),
    "stock": Way(_OFF),
    "stock's kernels": Way(_KEPT),
    "our kernels": Way(_OURS),
    "XLA": Way(_OFF, jit=True),
    "XLA with the library": Way(_OURS, jit=True),
}


def _cases() -> Iterable[Case]:
    """Cases of the other benchmarks, and Keras layers without cuDNN."""
    from benchmarks import indexing, lists
    from benchmarks.traced import keras_layer

    names = ("read", "read_write", "scan", "map_fn", "recurrence", "index", "gather")
    all_cases = {case.name: case for case in (*lists.CASES, *indexing.CASES)}
    for name in names:
        yield dataclasses.replace(all_cases[name], sizes=_SIZES)
    for kind in ("SimpleRNN", "LSTM", "GRU"):
        options: dict[str, Any] = {} if kind == "SimpleRNN" else {"use_cudnn": False}
        yield Case(kind, f"Keras {kind}", _SIZES, keras_layer(kind, **options))
    large = keras_layer("LSTM", units=128, batch=32, shape=(64,), use_cudnn=False)
    yield Case("LSTM 128 x 32", "Keras LSTM, 128 units, batch 32", (400,), large)


def _child(way: Way, names: Sequence[str]) -> None:
    """Measures the cases `names`, or all, in one way. Prints a line of JSON for each row."""
    import tensorflow as tf

    import tensor_array_grad
    from benchmarks.child import first_line, kernel_calls

    for gpu in tf.config.list_physical_devices("GPU"):
        tf.config.experimental.set_memory_growth(gpu, True)
    tensor_array_grad.enable()
    _print({"status": str(tensor_array_grad.status())})
    for case in (case for case in _cases() if not names or case.name in names):
        for n in case.sizes:
            before = kernel_calls()
            try:
                found = cases.measure(case, n, _BUDGET_S, way.jit)
            except Exception as error:
                _print({"case": case.name, "n": n, "note": first_line(error)[:300]})
                break
            calls = kernel_calls() - before
            _print({"case": case.name, "n": n, **dataclasses.asdict(found), "kernel_calls": calls})
            if min(found.seconds) * _GROWTH > _LONGEST_S:
                break


def _print(record: dict[str, Any]) -> None:
    print("ROW " + json.dumps(record), flush=True)


def _measure(name: str, file: pathlib.Path) -> None:
    """Measures one way in a process, which writes a line to `file` for each row."""
    command = [sys.executable, "-m", "benchmarks.gpu_gradients", name]
    # TF32 would round the products of matrices to ten bits.
    environment = {**os.environ, "NVIDIA_TF32_OVERRIDE": "0", **WAYS[name].environment}
    with file.open("w") as rows:
        try:
            done = subprocess.run(
                command, env=environment, stdout=rows, check=False, timeout=_LIMIT_S
            )
            print(f"{name}: exit status {done.returncode}", flush=True)
        except subprocess.TimeoutExpired:
            print(f"{name}: ended after {_LIMIT_S:.0f} s", flush=True)


def _rows(file: pathlib.Path) -> dict[tuple[str, int], dict[str, Any]]:
    """The complete rows of one way, by case and size."""
    lines = [line for line in file.read_text().splitlines() if line.startswith("ROW ")]
    records = [json.loads(line.removeprefix("ROW ")) for line in lines]
    return {(record["case"], record["n"]): record for record in records if "case" in record}


def main(folder: pathlib.Path) -> int:
    """Measures every way of which `folder` has no rows yet, and prints the table.

    Returns:
      1 if a result is not stock's, else 0. A row is compared with that of stock on the CPU, or else
      with that of stock's kernels on the GPU. A line says how many rows have neither.
    """
    files = {name: folder / f"{name.replace(' ', '_')}.txt" for name in WAYS}
    for name, file in files.items():
        if not file.exists():
            _measure(name, file)
    found = {name: _rows(file) for name, file in files.items()}
    ways = [name for name in WAYS if name != _REFERENCE]
    print(f"| case | n | {' | '.join(ways)} | XLA: first call | with the library |")
    print(f"|---|{'---:|' * (len(ways) + 3)}")
    wrong = []
    unchecked = 0
    for case, n in sorted({key for rows in found.values() for key in rows}):
        rows = {name: found[name].get((case, n), {}) for name in WAYS}
        differing, without_reference = _compared(rows)
        wrong += [f"{case}, n = {n}, {name}" for name in differing]
        unchecked += without_reference
        times = [_seconds(rows[name]) for name in ways]
        firsts = [_first(rows[name]) for name in ways if WAYS[name].jit]
        print(f"| {case} | {n:,} | {' | '.join([*times, *firsts])} |")
    for name, rows in found.items():
        for key, row in rows.items():
            if "note" in row:
                print(f"{name}, {key}: {row['note']}")
    for line in wrong:
        print(f"WRONG VALUES: {line}")
    if unchecked:
        print(f"rows without a reference, whose values were not compared: {unchecked}")
    return int(bool(wrong))


def _compared(rows: dict[str, dict[str, Any]]) -> tuple[list[str], int]:
    """Compares the results of one case and size, by way.

    Returns:
      The ways whose result is wrong, and the number of results without another one to compare with.
    """
    measured = {name: row for name, row in rows.items() if "sample" in row}
    reference = next((name for name in (_REFERENCE, "stock's kernels") if name in measured), "")
    others = [name for name in measured if name not in (_REFERENCE, reference)]
    if not reference:
        return [], len(others)
    wrong = [name for name in others if _differs(measured[name], measured[reference])]
    return wrong, int(reference != _REFERENCE)


def _differs(row: dict[str, Any], reference: dict[str, Any]) -> bool:
    from benchmarks.harness import check_same

    try:
        check_same("", _measurement(reference), _measurement(row))
    except AssertionError:
        return True
    return False


def _measurement(row: dict[str, Any]) -> cases.Measurement:
    names = [field.name for field in dataclasses.fields(cases.Measurement)]
    return cases.Measurement(**{name: row[name] for name in names if name in row})


def _seconds(row: dict[str, Any]) -> str:
    return _duration(min(row["seconds"])) if "seconds" in row else "-"


def _first(row: dict[str, Any]) -> str:
    return _duration(row["first_s"]) if "first_s" in row else "-"


def _duration(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 1 else f"{seconds * 1e3:.2f} ms"


if __name__ == "__main__":
    if sys.argv[1] in WAYS:
        _child(WAYS[sys.argv[1]], sys.argv[2:])
    else:
        sys.exit(main(pathlib.Path(sys.argv[1])))

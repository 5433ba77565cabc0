"""A process that has loaded one library and measures each request in a forked child.

A forked child need not import TensorFlow, which takes seconds, and is still a process of its own:
it has no caches, arrays or memory from the measurement before. The server makes no session or eager
context before it forks, so it has no threads, which a child would not have.

Run as `python -m benchmarks.server MODULE LIBRARY`. Requests are lines of JSON on standard input,
`{"case": name, "n": n, "budget_s": seconds, "limit_s": seconds}`; each answer is a line on
standard output, a `Measurement` or `{"error": text}`. LIBRARY is `stock`, `ours`, or `stock_jit`
for stock with `jit_compile=True`.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import json
import os
import resource
import signal
import sys
import traceback
from collections.abc import Callable

import tensor_array_grad
from benchmarks import case as cases

OURS, STOCK_JIT = "ours", "stock_jit"
_MOST_MEMORY = 8 << 30  # bytes; a case that needs more fails, and the machine does not


def serve(module: str, library: str) -> None:
    """Answers requests until standard input ends.

    Args:
      module: Name of the module that has `CASES`.
      library: `stock`, `ours` or `stock_jit`.
    """
    known = {case.name: case for case in importlib.import_module(module).CASES}
    if library == OURS:
        tensor_array_grad.enable()
    print(json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        case = known[request["case"]]
        measure = functools.partial(
            _measure, case, request["n"], request["budget_s"], library == STOCK_JIT
        )
        print(_in_child(measure, request["limit_s"]), flush=True)


def kernel_calls() -> int:
    """How often kernels of this library have run in this process."""
    counters = tensor_array_grad.status().counters
    return sum(count for name, count in counters.items() if name.startswith("kernels."))


def _in_child(measure: Callable[[], str], limit_s: float) -> str:
    """Measures in a forked child; returns its line, or an error if it failed or was too slow."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        signal.alarm(int(limit_s))
        resource.setrlimit(resource.RLIMIT_DATA, (_MOST_MEMORY, _MOST_MEMORY))
        with os.fdopen(writing, "w") as answer:
            answer.write(measure())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as answers:
        line = answers.read()
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    if code == -signal.SIGALRM:
        return json.dumps({"error": f"took longer than {limit_s:.0f} s"})
    return line or json.dumps({"error": f"the process ended with code {code}"})


def _measure(case: cases.Case, n: int, budget_s: float, jit: bool) -> str:
    try:
        found = cases.measure(case, n, budget_s, jit)
        return json.dumps(dataclasses.asdict(found) | {"kernel_calls": kernel_calls()})
    except Exception as error:
        text = first_line(error) if jit else traceback.format_exc()[-2000:]
        return json.dumps({"error": text})


def first_line(error: Exception) -> str:
    """The type of an error and the first line of its text that describes it."""
    lines = (line.strip() for line in str(error).splitlines())
    text = next((line for line in lines if line and line != "Graph execution error:"), "")
    return f"{type(error).__name__}: {text}"


if __name__ == "__main__":
    serve(sys.argv[1], sys.argv[2])

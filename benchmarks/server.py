"""A process that holds one library and measures each request in a child forked for it.

Forking spares each measurement the seconds that importing TensorFlow takes, and still gives it a
process of its own: no caches, arrays or memory of the one before. No session or eager context is
made before the fork, so there are no threads that a child would miss.

Run as `python -m benchmarks.server MODULE LIBRARY`. Requests are lines of JSON on standard input,
`{"case": name, "n": n, "budget_s": seconds, "limit_s": seconds}`; each answer is a line on
standard output, a `Measurement` or `{"error": text}`.
"""

from __future__ import annotations

import dataclasses
import importlib
import json
import os
import resource
import signal
import sys
import traceback

import tensor_array_grad
from benchmarks import case as cases

OURS = "ours"
_MOST_MEMORY = 8 << 30  # a case that needs more fails, rather than the machine


def serve(module: str, library: str) -> None:
    """Answers requests until standard input ends.

    Args:
      module: Where `CASES` is.
      library: `stock` or `ours`.
    """
    known = {case.name: case for case in importlib.import_module(module).CASES}
    if library == OURS:
        tensor_array_grad.enable()
    print(json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        case = known[request["case"]]
        print(_in_child(case, request["n"], request["budget_s"], request["limit_s"]), flush=True)


def kernel_calls() -> int:
    """How often kernels of this library have run in this process."""
    counters = tensor_array_grad.status().counters
    return sum(count for name, count in counters.items() if name.startswith("kernels."))


def _in_child(case: cases.Case, n: int, budget_s: float, limit_s: float) -> str:
    """Measures in a forked child and returns its line, or what became of it."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        signal.alarm(int(limit_s))
        resource.setrlimit(resource.RLIMIT_DATA, (_MOST_MEMORY, _MOST_MEMORY))
        with os.fdopen(writing, "w") as answer:
            answer.write(_measure(case, n, budget_s))
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as answers:
        line = answers.read()
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    if code == -signal.SIGALRM:
        return json.dumps({"error": f"took longer than {limit_s:.0f} s"})
    return line or json.dumps({"error": f"the process ended with code {code}"})


def _measure(case: cases.Case, n: int, budget_s: float) -> str:
    try:
        found = cases.measure(case, n, budget_s)
        return json.dumps(dataclasses.asdict(found) | {"kernel_calls": kernel_calls()})
    except Exception:
        return json.dumps({"error": traceback.format_exc()[-2000:]})


if __name__ == "__main__":
    serve(sys.argv[1], sys.argv[2])

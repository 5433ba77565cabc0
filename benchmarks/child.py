"""The function that measures one case in a child process; see `harness.Server`."""

from __future__ import annotations

import dataclasses
import importlib
import resource
import traceback

import tensor_array_grad
from benchmarks import case as cases
from tensor_array_grad import _loader
from tensor_array_grad._counters import with_prefix

_MOST_MEMORY = 8 << 30  # bytes, so that a case cannot take all memory of the machine


def measure(module: str, name: str, n: int, budget_s: float, jit: bool) -> cases.Measurement | str:
    """Measures one case of `module.CASES` in this process.

    Args:
      module: Name of the module.
      name: Name of the case.
      n: Its size.
      budget_s: Seconds of runs.
      jit: Whether to measure the form with `jit_compile=True`.

    Returns:
      The measurement, or the reason why there is none.
    """
    resource.setrlimit(resource.RLIMIT_DATA, (_MOST_MEMORY, _MOST_MEMORY))
    (case,) = (case for case in importlib.import_module(module).CASES if case.name == name)
    try:
        found = cases.measure(case, n, budget_s, jit)
    except Exception as error:
        return first_line(error) if jit else traceback.format_exc()[-2000:]
    return dataclasses.replace(found, kernel_calls=kernel_calls(), loop_runs=loop_runs())


def kernel_calls() -> int:
    """The number of calls of this library's kernels in this process."""
    return sum(with_prefix(tensor_array_grad.status().counters, "kernels.").values())


def loop_runs() -> dict[str, int]:
    """`Measurement.loop_runs` of this process."""
    loops = _loader.bind().loops() if _loader.is_loaded() else ()
    names = ("runs", "handed_back", "passed_on")
    return {name: sum(getattr(loop, name) for loop in loops) for name in names}


def first_line(error: Exception) -> str:
    """The type of an error and the first line of its text that describes it."""
    lines = (line.strip() for line in str(error).splitlines())
    text = next((line for line in lines if line and line != "Graph execution error:"), "")
    return f"{type(error).__name__}: {text}"

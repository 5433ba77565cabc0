"""What the examples share: they print results on stdout, and times on stderr.

So `python -m tensor_array_grad compare examples/x.py` can compare what they print.
"""

import sys
import time
from collections.abc import Callable
from typing import TypeVar

Result = TypeVar("Result")


def timed(what: str, call: Callable[[], Result], calls: int = 3) -> Result:
    """Calls `call` once, which traces it, and then `calls` times more.

    Args:
      what: What is measured, for example "1000 steps". It is printed with the time.
      call: A training step, or what else takes the time. It must have finished when it returns.
      calls: Number of calls that are measured.

    Returns:
      What the last call returned.
    """
    result = call()
    fastest = float("inf")
    for _ in range(calls):
        start = time.perf_counter()
        result = call()
        fastest = min(fastest, time.perf_counter() - start)
    print(f"{what}: {fastest * 1e3:.1f} ms a call", file=sys.stderr)
    return result

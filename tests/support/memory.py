"""How much memory this process has, and how often it looks for garbage."""

from __future__ import annotations

import ctypes
import gc
import pathlib
import resource


def resident_bytes() -> int:
    """The resident set of this process, without garbage and the memory that malloc keeps.

    The traceback of an error keeps tensors in a reference cycle: 50 kB of garbage per error.
    """
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    pages = int(pathlib.Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()


def collect_rarely() -> None:
    """Lets Python look for garbage less often, which takes a fifth of the time of tests otherwise.

    Traces of functions have many objects, few of which are garbage.
    """
    gc.set_threshold(200_000, 20, 20)

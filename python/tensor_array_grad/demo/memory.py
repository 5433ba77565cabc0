"""Peak memory of a stretch of this process's life, as Linux counts it."""

from __future__ import annotations

import contextlib
import pathlib
import resource

_STATUS = pathlib.Path("/proc/self/status")
_CLEAR = pathlib.Path("/proc/self/clear_refs")


class PeakMemory:
    """Measures how far resident memory rises above where it stood when this was made.

    Where the system has no `/proc` the rise of the process's whole-life peak is taken instead,
    which is too small if there was a higher peak before.
    """

    def __init__(self) -> None:
        """Starts measuring."""
        # Sets the high-water mark back to what is resident now. Where that is forbidden the mark
        # stays, and only a rise above the earlier peak is seen.
        with contextlib.suppress(OSError):
            _CLEAR.write_text("5")
        self._start = _resident("VmRSS")

    def bytes(self) -> int:
        """Highest resident size since the start, less the size at the start; never negative."""
        return max(0, _resident("VmHWM") - self._start)


def _resident(field: str) -> int:
    """A size in bytes from /proc/self/status."""
    try:
        lines = _STATUS.read_text().splitlines()
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    for line in lines:
        if line.startswith(field + ":"):
            return int(line.split()[1]) * 1024
    return 0

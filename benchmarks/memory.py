"""Peak memory of this process during a part of its run, as Linux counts it."""

from __future__ import annotations

import contextlib
import pathlib

_STATUS = pathlib.Path("/proc/self/status")
_CLEAR = pathlib.Path("/proc/self/clear_refs")


class PeakMemory:
    """Measures how far resident memory rises above its size when this object was made."""

    def __init__(self) -> None:
        """Starts measuring."""
        # Resets the peak that Linux records (VmHWM) to the present resident size. If the system
        # does not permit that, only a rise above the earlier peak is measured.
        with contextlib.suppress(OSError):
            _CLEAR.write_text("5")
        self._start = _resident("VmRSS")

    def bytes(self) -> int:
        """The highest resident size since the start minus the size at the start, at least 0."""
        return max(0, _resident("VmHWM") - self._start)


def _resident(field: str) -> int:
    """A size in bytes: `field` of /proc/self/status."""
    for line in _STATUS.read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) * 1024
    return 0

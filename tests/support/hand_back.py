"""After how many iterations a loop that runs in one kernel is handed back to the executor."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from tensor_array_grad import _loader

AS_MEASURED = -1  # whether and when is decided by measured times
NEVER = 2**62  # no loop has as many iterations


@contextlib.contextmanager
def hand_back(after: int) -> Iterator[None]:
    """Hands every loop that runs in the `with` block back after that many iterations.

    A test that counts runs or events passes NEVER: they must not depend on how busy the machine is.
    """
    _loader.bind().set_hand_back_after(after)
    try:
        yield
    finally:
        _loader.bind().set_hand_back_after(AS_MEASURED)

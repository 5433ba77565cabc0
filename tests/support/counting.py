"""What the library counts while a program runs."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import tensor_array_grad


@contextlib.contextmanager
def counting() -> Iterator[dict[str, int]]:
    """Gives a dict that has, after the block, by how much each counter was raised in it.

    It stays empty if the library is not loaded.
    """
    before = tensor_array_grad.counters()
    raised: dict[str, int] = {}
    yield raised
    for name, count in tensor_array_grad.counters().items():
        raised[name] = count - before.get(name, 0)

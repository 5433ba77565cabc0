"""Cyclic garbage collection, and threads in which TensorFlow raises exceptions."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def without_collection() -> Iterator[None]:
    """Switches cyclic garbage collection off, for threads in which eager ops fail.

    This prevents a deadlock that exists without the library as well. TensorFlow's binding holds a
    lock of its own while it makes an exception. If a collection begins there and frees an eager
    tensor, it releases the interpreter lock. A second thread that makes an exception then takes the
    interpreter lock and waits for the lock of the binding, while the first thread holds that lock
    and waits for the interpreter lock.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.enable()

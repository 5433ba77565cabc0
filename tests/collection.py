"""Cyclic garbage collection, and threads in which TensorFlow raises exceptions."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def without_collection() -> Iterator[None]:
    """No cyclic garbage collection meanwhile: for threads in which eager ops fail.

    TensorFlow's binding holds a lock while it makes an exception. If a collection begins there and
    frees an eager tensor, which releases the interpreter lock, a thread that makes an exception too
    takes that and waits for the first lock: a deadlock, without the library as well.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.enable()

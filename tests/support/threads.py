"""Threads that start together, and threads in which TensorFlow raises exceptions."""

from __future__ import annotations

import contextlib
import gc
import threading
from collections.abc import Callable, Iterator
from typing import Any

THREADS = 8


@contextlib.contextmanager
def without_collection() -> Iterator[None]:
    """Switches cyclic garbage collection off, for threads in which eager ops fail.

    This prevents a deadlock that exists without the library as well. TensorFlow's binding holds a
    lock of its own while it makes an exception. If a collection begins in this code and frees an
    eager tensor, the thread releases the interpreter lock. A second thread that makes an exception
    then takes the interpreter lock and waits for the lock of the binding, while the first thread
    holds that lock and waits for the interpreter lock.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def in_parallel(work: Callable[[int], Any], threads: int = THREADS) -> list[Any]:
    """Runs work(0), work(1), ... in threads that a barrier starts together.

    Returns what each call returned or, if it raised an exception, that exception.
    """
    barrier = threading.Barrier(threads)
    results: list[Any] = [None] * threads

    def run(number: int) -> None:
        barrier.wait()
        try:
            results[number] = work(number)
        except Exception as error:
            results[number] = error

    started = [threading.Thread(target=run, args=(n,)) for n in range(threads)]
    with without_collection():
        for thread in started:
            thread.start()
        for thread in started:
            thread.join()
    return results

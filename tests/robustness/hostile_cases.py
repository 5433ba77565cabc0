"""The table of hostile programs, and helpers for `hostile_lists` and `hostile_arrays`.

`crash_test` and `list_crash_test` test bad inputs of each op. The programs here use extreme values
that TensorFlow's own types allow: shapes of 254 dimensions, rows of 2**80 values in tensors without
values, deeply nested lists, forged handles, and runs that are interrupted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from tests.support.list_cases import raw

MAX, MIN = 2**31 - 1, -(2**31)
f32 = tf.float32
CASES: dict[str, tuple[Callable[[], Any], str, str]] = {}
INVALID, SHORT = "InvalidArgumentError", "ResourceExhaustedError"


def case(name: str, program: Callable[[], Any], text: str = "", kind: str = INVALID) -> None:
    """Adds a program that must raise an error of class `kind`; its message must match `text`."""
    CASES[name] = program, kind, text


def works(name: str, program: Callable[[], Any], result: Any = None) -> None:
    """Adds a program that must return `result`."""
    CASES[name] = program, "ok", repr(result)


def zeros(*shape: int) -> tf.Tensor:
    """A tensor without values, of a shape that NumPy cannot hold."""
    return raw.Fill(dims=tf.constant(shape, tf.int64), value=0.0)


def blank(dtype: tf.DType) -> tf.Tensor:
    """An empty scalar variant or handle."""
    proto = tf.make_tensor_proto(0)
    proto.Clear()
    proto.dtype = dtype.as_datatype_enum
    return raw.ParseTensor(serialized=proto.SerializeToString(), out_type=dtype)


WIDE = (0, 2**40, 2**40)  # no values, but each row would have 2**80

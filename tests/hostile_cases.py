"""What the programs of `tests.hostile_lists` and `tests.hostile_arrays` are made of.

They are small programs that mean no good. `tests.crash_test` and `tests.list_crash_test` hold the
bad inputs of each op; these are the values that TensorFlow's own types allow and nobody expects:
shapes of 254 dimensions, rows of 2**80 values in tensors without values, lists in lists without
end, handles that were forged, runs that are cut off.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from tests.list_cases import raw

MAX, MIN = 2**31 - 1, -(2**31)
f32 = tf.float32
CASES: dict[str, tuple[Callable[[], Any], str, str]] = {}
INVALID, SHORT = "InvalidArgumentError", "ResourceExhaustedError"


def case(name: str, program: Callable[[], Any], text: str = "", kind: str = INVALID) -> None:
    """Lists a program that ends in an error of class `kind` whose message holds `text`."""
    CASES[name] = program, kind, text


def works(name: str, program: Callable[[], Any], result: Any = None) -> None:
    """Lists a program that returns `result`."""
    CASES[name] = program, "ok", repr(result)


def zeros(*shape: int) -> tf.Tensor:
    """A tensor without values, of a shape that NumPy cannot hold."""
    return raw.Fill(dims=tf.constant(shape, tf.int64), value=0.0)


def blank(dtype: tf.DType) -> tf.Tensor:
    """A scalar variant or handle that holds nothing."""
    proto = tf.make_tensor_proto(0)
    proto.Clear()
    proto.dtype = dtype.as_datatype_enum
    return raw.ParseTensor(serialized=proto.SerializeToString(), out_type=dtype)


WIDE = (0, 2**40, 2**40)  # no values; each row of it would have 2**80

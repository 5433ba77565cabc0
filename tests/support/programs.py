"""Random programs of V3 ops, valid ones and invalid ones.

A program is drawn step by step. A `reference.Model(OURS)` runs the steps drawn so far, so that most
arguments can be drawn to be valid: an index within the array, a value whose shape fits. The other
arguments are wrong on purpose, mostly one at a time. The programs do not depend on the library;
`kernel_runner` runs them.

The choices come from Hypothesis (`programs`), which shrinks a program that fails but takes 8 ms per
program, or from plain random numbers (`random_program`), which take 1 ms per program.
"""

from __future__ import annotations

import abc
import random
from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
from hypothesis import strategies as st

from tests.support import reference
from tests.support.kernel_runner import Output
from tests.support.reference import MAX_INT32, Array, Model

Program = list[dict[str, Any]]

DTYPES = ["float32"] * 6 + [
    "float64", "int32", "int64", "bool", "string", "float16", "bfloat16", "complex64", "int8",
    "uint64",
]  # fmt: skip
SHAPES: list[tuple[int, ...]] = [(), (2,), (3,), (0,), (2, 3), (1, 2), (2, 0), (1, 1, 2)]
PARTIAL: list[tuple[int, ...] | None] = [None, None, None, (), (2,), (-1,), (2, 3), (-1, 3), (0,)]
SOURCES = ["g", "g", "g", "h", "gradients/a", ""]
_OPS = (
    ["Write"] * 8 + ["Read"] * 6 + ["Grad"] * 4 + ["Gather"] * 3 + ["Scatter"] * 3
    + ["Split"] * 3 + ["Concat"] * 3 + ["Size"] * 2 + ["GradWithShape"] * 2 + ["Close", "V3"]
)  # fmt: skip


_T = TypeVar("_T")


class Choices(abc.ABC):
    """The source of a program's choices."""

    @abc.abstractmethod
    def integer(self, low: int, high: int) -> int:
        """An integer from `low` to `high`, both included."""

    @abc.abstractmethod
    def among(self, options: Sequence[_T]) -> _T:
        """One of `options`."""

    def boolean(self) -> bool:
        """True or False."""
        return self.integer(0, 1) == 1


class _Hypothesis(Choices):
    def __init__(self, draw: st.DrawFn):
        self._draw = draw

    def integer(self, low: int, high: int) -> int:
        return self._draw(st.integers(low, high))

    def among(self, options: Sequence[_T]) -> _T:
        return self._draw(st.sampled_from(options))


class _Random(Choices):
    def __init__(self, seed: str):
        self._random = random.Random(seed)

    def integer(self, low: int, high: int) -> int:
        return self._random.randint(low, high)

    def among(self, options: Sequence[_T]) -> _T:
        return self._random.choice(options)


@st.composite
def programs(draw: st.DrawFn) -> Program:
    """A strategy for programs."""
    return _program(_Hypothesis(draw))


def random_program(seed: int, number: int) -> Program:
    """Program `number` of the sequence that `seed` selects."""
    return _program(_Random(f"{seed}/{number}"))


def _program(draw: Choices, max_steps: int = 14) -> Program:
    """A program of up to `max_steps` steps whose first step makes an array."""
    model = Model(reference.OURS)
    steps = [_create(draw)]
    model.step(steps[0])
    for k in range(1, draw.integer(2, max_steps)):
        if not model.arrays or (op := draw.among(_OPS)) == "V3":
            steps.append(_create(draw))
        else:
            steps.append(_use(draw, model, steps, op))
        model.step(steps[k])
    return steps


def _rarely(draw: Choices, percent: int = 6) -> bool:
    # Hypothesis shrinks towards 0, which here means towards the valid choice.
    return draw.integer(0, 99) >= 100 - percent


def _create(draw: Choices) -> dict[str, Any]:
    size: Any = draw.integer(0, 4)
    if _rarely(draw, 3):
        size = draw.among([-1, [1], [], MAX_INT32, -(2**31), 2**30])
    shape = draw.among(PARTIAL)
    return {
        "op": "V3",
        "dtype": draw.among(DTYPES),
        "size": np.asarray(size, np.int32),
        "element_shape": None if shape is None else list(shape),
        "dynamic": draw.boolean(),
        "clear": draw.boolean(),
        "identical": draw.boolean(),
    }


def _use(draw: Choices, model: Model, steps: Program, op: str) -> dict[str, Any]:
    made = sorted(model.arrays)
    target = draw.among(made)
    array = model.arrays[target]
    if array.size > 1000 and op == "Concat":
        op = "Size"  # Concat would return billions of zeros, which crash_test covers
    step: dict[str, Any] = {"op": op, "array": target}
    if len(made) > 1 and _rarely(draw, 3):
        others = [k for k in made if k != target]  # stock's graph optimizer breaks equal pairs
        step["array"] = [target, draw.among(others)]  # ops use the first handle only
    if op != "Close" and _rarely(draw, 3):
        step["flow"] = np.asarray([1.5, np.nan], np.float32)
    if op in ("Write", "Read", "Gather", "Scatter", "Split", "Concat"):
        step["dtype"] = draw.among(DTYPES) if _rarely(draw, 4) else array.dtype
    fill = _FILL.get(op)
    if fill is not None:
        fill(draw, array, step)
    if "value" in step:
        _reuse(draw, model, steps, step)
    return step


def _reuse(draw: Choices, model: Model, steps: Program, step: dict[str, Any]) -> None:
    """Sometimes replaces the value by one that was read before, whose buffer is shared.

    Otherwise the value is sometimes copied, so that no other tensor shares its buffer.
    """
    fitting = [
        k
        for k, value in model.values.items()
        if steps[k]["op"] in ("Read", "Gather", "Concat")
        and steps[k]["dtype"] == step["dtype"]
        and value.shape == step["value"].shape
    ]
    if fitting and draw.boolean():
        step["value"] = Output(draw.among(fitting))
    elif draw.boolean():
        step["copied"] = True


def _index(draw: Choices, array: Array) -> int:
    if _rarely(draw):
        return draw.among([-1, MAX_INT32, -(2**31), array.size, min(array.size + 3, MAX_INT32)])
    beyond = 1 if array.dynamic or array.sums else 0
    return draw.integer(0, max(0, min(array.size, 5) - 1 + beyond))


def _element(draw: Choices, array: Array, index: int | None = None) -> tuple[int, ...]:
    """The shape of a value, mostly one that `array` takes at `index`."""
    if _rarely(draw, 8):
        return draw.among(SHAPES)
    slot = array.slots.get(index) if index is not None else None
    if slot is not None and slot.written and np.prod(slot.shape) < 1000:
        return slot.shape
    if array.shape is None:
        known = [s.shape for s in array.slots.values() if s.written]
        if known and np.prod(known[0]) < 1000 and draw.boolean():
            return known[0]
        return draw.among(SHAPES)
    return _filled(draw, array.shape)


def _filled(draw: Choices, shape: tuple[int, ...]) -> tuple[int, ...]:
    filled = tuple(draw.integer(0, 3) if d < 0 else d for d in shape)
    return filled if np.prod(filled) < 1000 else (2,)


def _value(draw: Choices, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    rng = np.random.default_rng(draw.integer(0, 2**16))
    if dtype == "string":
        words = [b"", b"a", b"\x00\xff", b"word"]
        return _strings(rng, words, shape)
    if dtype == "bool":
        return np.asarray(rng.integers(0, 2, shape), bool)
    if dtype.startswith(("int", "uint")):
        limits = np.iinfo(dtype)
        low, high = max(limits.min, -100), min(limits.max, 100)
        values = np.asarray(rng.integers(low, high + 1, shape)).astype(dtype)
    else:
        values = np.asarray(rng.normal(size=shape) * 3).astype(reference.numpy_dtype(dtype))
        if values.size and _rarely(draw, 10):
            values.flat[0] = draw.among([np.nan, np.inf, -0.0])
    return values


def _strings(rng: np.random.Generator, words: list[bytes], shape: tuple[int, ...]) -> np.ndarray:
    values = np.empty(shape, object)
    for position in np.ndindex(*shape):
        values[position] = words[rng.integers(len(words))]
    return values


def _write(draw: Choices, array: Array, step: dict[str, Any]) -> None:
    index = _index(draw, array)
    step["index"] = _scalar(draw, index)
    step["value"] = _value(draw, _element(draw, array, index), step["dtype"])


def _read(draw: Choices, array: Array, step: dict[str, Any]) -> None:
    step["index"] = _scalar(draw, _index(draw, array))


def _scalar(draw: Choices, index: int) -> np.ndarray:
    wrap: Any = index
    if _rarely(draw, 3):
        wrap = draw.among([[index], [], [[index]]])
    return np.asarray(wrap, np.int32)


def _indices(draw: Choices, array: Array) -> np.ndarray:
    if _rarely(draw, 4):
        return np.asarray(draw.among([0, [[0]], [[]]]), np.int32)
    if draw.boolean():
        return np.arange(min(array.size, 5), dtype=np.int32)
    count = draw.integer(0, 4)
    return np.asarray([_index(draw, array) for _ in range(count)], np.int32)


def _gather(draw: Choices, array: Array, step: dict[str, Any]) -> None:
    step["indices"] = _indices(draw, array)
    step["element_shape"] = _attr(draw, array.shape)


def _attr(draw: Choices, natural: tuple[int, ...] | None) -> list[int] | None:
    if _rarely(draw, 20):
        natural = draw.among(PARTIAL)
    elif draw.boolean():
        natural = None
    return None if natural is None else list(natural)


def _scatter(draw: Choices, array: Array, step: dict[str, Any]) -> None:
    step["indices"] = _indices(draw, array)
    rows = step["indices"].size + (1 if _rarely(draw, 4) else 0)
    first = int(step["indices"].flat[0]) if step["indices"].size else None
    shape = (rows, *_element(draw, array, first))
    step["value"] = _value(draw, () if _rarely(draw, 3) else shape, step["dtype"])


def _split(draw: Choices, array: Array, step: dict[str, Any]) -> None:
    count = array.size if array.size < 6 else 2
    if array.dynamic or _rarely(draw):
        count += draw.integer(-1, 2)
    lengths = [draw.integer(0, 3) for _ in range(max(count, 0))]
    rest = _element(draw, array)[1:]
    total = sum(lengths)
    if lengths and _rarely(draw):
        lengths[0] = draw.among([-1, 7, 2**62, -(2**63), 2**63 - 1])
    if len(lengths) > 1 and _rarely(draw, 4):
        lengths[:2] = [-1, total + 1]
    shape = () if _rarely(draw, 3) else (total, *rest)
    step["value"] = _value(draw, shape, step["dtype"])
    step["lengths"] = np.asarray(lengths, np.int64)
    if _rarely(draw, 3):
        step["lengths"] = np.asarray(total, np.int64)


def _concat(draw: Choices, array: Array, step: dict[str, Any]) -> None:
    rest = array.shape[1:] if array.shape else None
    step["element_shape"] = _attr(draw, rest)


def _grad(draw: Choices, array: Array, step: dict[str, Any]) -> None:
    step["source"] = draw.among(SOURCES)


def _grad_with_shape(draw: Choices, array: Array, step: dict[str, Any]) -> None:
    _grad(draw, array, step)
    prefix: Any = draw.among([[], [2], [2], [3, 1], [0]])
    if _rarely(draw):
        prefix = draw.among([2, [-1], [[2]], [MAX_INT32] * 3, [1] * 255])
    step["prefix"] = np.asarray(prefix, np.int32)


_FILL = {
    "Write": _write,
    "Read": _read,
    "Gather": _gather,
    "Scatter": _scatter,
    "Split": _split,
    "Concat": _concat,
    "Grad": _grad,
    "GradWithShape": _grad_with_shape,
}

"""A slow and obvious NumPy model of the V3 array ops, of stock's and of this library's.

`Model(OURS)` and `Model(STOCK)` are the same code. Each deliberate difference is one field of
`Rules`. Code whose result depends on a difference calls `_ours("field")`, which also records in
`Model.met` that the program reached this code. A program for which nothing was recorded must give
the same results on both.

The model does not use TensorFlow. A program is plain data, as `kernel_runner` describes it.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np

from tests.support.kernel_runner import NotRun, Output, Value

Shape = tuple[int, ...]
Partial = Shape | None  # None: unknown rank; -1: unknown dimension

MAX_INT32 = 2**31 - 1
MAX_INT64 = 2**63 - 1
MAX_RANK = 254
# Stock allocates all slots of an array. The model assumes that a stock process ends if it has to
# allocate more slots than this at once.
STOCK_SLOTS = 2**20
# No allocator of a test machine provides more than this.
HUGE_BYTES = 2**44

NUMBERS = [
    *["float16", "bfloat16", "float32", "float64", "complex64", "complex128"],
    *["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"],
]
ZEROABLE = [*NUMBERS, "bool"]


@dataclasses.dataclass(frozen=True)
class Rules:
    """Where the library differs from stock. A field that is True selects the library's behaviour.

    Differences on which no program of the tests depends are not listed: an empty tensor of handles
    is an error in graphs too, and every op takes every dtype.

    Attributes:
      limits_checked: Sizes, indices, lengths and shapes that end a stock process are errors, or
        work, because the library stores no slot before it is used.
      refusals_change_nothing: A call that returns an error leaves every array as it was.
      empty_gather_compares: A gather whose result has no elements still compares the shapes.
      empty_shape_inferred: An empty gather or concat takes the element shape from the array, or
        from the written elements, if its attribute is not fully defined.
      sources_by_array: Gradient arrays are found by (array, source), not by the joined name.
      prefixes_compared: Asking for a gradient array that was made with another prefix is an error.
      higher_order: A gradient array has gradient arrays of its own.
      closed_grads_renewed: A source whose gradient array was closed gets a new one.
      unsplit_grads_concatenate: Concat of a gradient array whose forward array was not split before
        the gradient array was made joins all of its slots.
    """

    limits_checked: bool = False
    refusals_change_nothing: bool = False
    empty_gather_compares: bool = False
    empty_shape_inferred: bool = False
    sources_by_array: bool = False
    prefixes_compared: bool = False
    higher_order: bool = False
    closed_grads_renewed: bool = False
    unsplit_grads_concatenate: bool = False


STOCK = Rules()
OURS = Rules(**{field.name: True for field in dataclasses.fields(Rules)})


class Refused(Exception):
    """An op returned an error."""

    def __init__(self, text: str, kind: str = "InvalidArgumentError"):
        super().__init__(text)
        self.text = text
        self.kind = kind


class Fatal(Exception):
    """Stock ends the process here."""


@dataclasses.dataclass(frozen=True)
class Failed:
    """The error of a step that fails. The message contains `text`, which may be empty."""

    kind: str
    text: str


@dataclasses.dataclass(frozen=True)
class Dead:
    """The process ends at this step."""


Expected = Value | Failed | Dead | NotRun


@dataclasses.dataclass(frozen=True)
class Slot:
    """One element. If it is written, not cleared and has no value, it is zeros of `shape`."""

    shape: Shape = ()
    value: np.ndarray | None = None
    written: bool = False
    read: bool = False
    cleared: bool = False


@dataclasses.dataclass(eq=False)
class Array:
    """One array; slots that were never touched are absent from `slots`.

    `marked` is the number of pieces of the last split, or -1. A gradient array has the number that
    its forward array had when the gradient array was made.
    """

    name: str
    dtype: str
    size: int
    shape: Partial
    dynamic: bool = False
    clear: bool = True
    identical: bool = False
    parent: Array | None = None
    prefix: Shape = ()
    marked: int = -1
    closed: bool = False
    slots: dict[int, Slot] = dataclasses.field(default_factory=dict)
    grads: dict[str, Array] = dataclasses.field(default_factory=dict)

    @property
    def sums(self) -> bool:
        """Whether this is a gradient array."""
        return self.parent is not None


# --------------------------------------------------------------------------------------------
# Shapes.


def fully_known(shape: Partial) -> bool:
    """Whether rank and every dimension are known."""
    return shape is not None and -1 not in shape


def compatible(one: Partial, other: Partial) -> bool:
    """Whether some shape fits both."""
    if one is None or other is None:
        return True
    return len(one) == len(other) and all(
        a == b or -1 in (a, b) for a, b in zip(one, other, strict=True)
    )


def merge(one: Partial, other: Partial) -> Partial:
    """The partial shape of all shapes that fit both; raises Refused if there are none."""
    if one is None or other is None:
        return other if one is None else one
    if len(one) != len(other):
        raise Refused("Incompatible ranks during merge")
    if not compatible(one, other):
        raise Refused("Incompatible shapes during merge")
    merged = tuple(b if a == -1 else a for a, b in zip(one, other, strict=True))
    if count_overflows(merged):
        raise Refused("Encountered overflow when multiplying")
    return merged


def count_overflows(shape: Partial) -> bool:
    """Whether a product of known dimensions, multiplied from the left, exceeds 63 bits."""
    product = 1
    for dim in shape or ():
        if dim >= 0:
            product *= dim
        if product > MAX_INT64:
            return True
    return False


def show(shape: Partial) -> str:
    """`shape` as TensorFlow prints it."""
    if shape is None:
        return "<unknown>"
    return "[" + ",".join("?" if d < 0 else str(d) for d in shape) + "]"


def numpy_dtype(name: str) -> np.dtype[Any]:
    """The NumPy dtype that holds elements of a TensorFlow dtype."""
    if name == "string":
        return np.dtype(object)
    return np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)


def dtype_label(name: str) -> str:
    """The dtype as TensorFlow's messages spell it."""
    return {"float16": "half", "float32": "float", "float64": "double"}.get(name, name)


# --------------------------------------------------------------------------------------------
# Ops.


class Model:
    """Runs programs; one object models one process.

    Attributes:
      met: The step and name of each rule on which a result has depended.
      arrays: The arrays, by the step that returned the handle.
      values: The first output, by step, of the steps that have an output other than a handle.
    """

    def __init__(self, rules: Rules):
        self.rules = rules
        self.met: list[tuple[int, str]] = []
        self.arrays: dict[int, Array] = {}
        self.values: dict[int, np.ndarray] = {}
        self._step = 0
        self._dead = False
        self._by_name: dict[str, Array] = {}

    def run(self, program: list[dict[str, Any]]) -> list[Expected]:
        """Returns one outcome per step."""
        return [self.step(step) for step in program]

    def skip(self) -> Expected:
        """Leaves out the next step of a program."""
        self._step += 1
        return NotRun()

    def step(self, step: dict[str, Any]) -> Expected:
        """Runs the next step of a program."""
        index, self._step = self._step, self._step + 1
        reference = step.get("array", [])
        used = [reference] if isinstance(reference, int) else reference
        value = step.get("value")
        if isinstance(value, Output) and value.step in self.values:
            step = {**step, "value": self.values[value.step]}
        missing = isinstance(step.get("value"), Output)
        if self._dead or missing or any(k not in self.arrays for k in used):
            return NotRun()
        before = self._snapshot()
        try:
            outputs = self._run(step, index, self.arrays[used[0]] if used else None)
        except Refused as refused:
            if self._changed(before) and self._ours("refusals_change_nothing"):
                self._restore(before)
            return Failed(refused.kind, refused.text)
        except Fatal:
            self._dead = True
            return Dead()
        if outputs:
            self.values[index] = np.asarray(outputs[0])
        return Value(tuple(outputs))

    def _run(self, step: dict[str, Any], index: int, array: Array | None) -> list[np.ndarray]:
        op = step["op"]
        flow = [np.asarray(step.get("flow", 0.0), np.float32)]
        if op == "V3":
            return self._create(step, index)
        assert array is not None
        if op == "Write":
            require_scalar("index", step["index"])
            self._require_dtype(array, step["dtype"], "is trying to write")
            self._store(array, int(step["index"]), step["value"])
            return flow
        if op == "Read":
            require_scalar("index", step["index"])
            self._require_dtype(array, step["dtype"], "requested")
            return [self._read(array, int(step["index"]))]
        if op == "Gather":
            return [self._gather(array, step)]
        if op == "Scatter":
            self._scatter(array, step)
            return flow
        if op == "Split":
            self._split(array, step)
            return flow
        if op == "Concat":
            return self._concat(array, step)
        if op == "Size":
            require_open(array)
            return [np.asarray(array.size, np.int32)]
        if op == "Close":
            array.slots, array.size, array.closed = {}, 0, True
            return []
        self.arrays[index] = self._gradient(array, step)
        return [np.float32(0.0)]

    # Creation ------------------------------------------------------------------------------

    def _create(self, step: dict[str, Any], index: int) -> list[np.ndarray]:
        require_scalar("size", step["size"])
        size = int(step["size"])
        if size < 0:
            raise Refused("Size should be >= 0.")
        self._slots_at_once(size)
        shape = step.get("element_shape")
        self.arrays[index] = Array(
            name=f"{step.get('name') or 's'}_{index}",
            dtype=step["dtype"],
            size=size,
            shape=None if shape is None else tuple(shape),
            dynamic=step.get("dynamic", False),
            clear=step.get("clear", True),
            identical=step.get("identical", False),
        )
        return [np.float32(0.0)]

    def _gradient(self, array: Array, step: dict[str, Any]) -> Array:
        if array.sums and not self._ours("higher_order"):
            raise Refused("Wrong input container.")
        array.dynamic = False
        require_open(array)
        prefix = self._prefix(array, step) if step["op"] == "GradWithShape" else ()
        found = self._find_gradient(array, step["source"])
        if found is not None and found.closed and self._ours("closed_grads_renewed"):
            found = None
        if found is not None:
            if found.prefix != prefix and self._ours("prefixes_compared"):
                raise Refused("")
            return found
        made = self._make_gradient(array, step["source"], prefix)
        array.grads[step["source"]] = made
        self._by_name[made.name] = made
        return made

    def _prefix(self, array: Array, step: dict[str, Any]) -> Shape:
        dims = np.asarray(step["prefix"])
        if dims.ndim != 1:
            raise Refused("shape must be a vector of {int32,int64}, got shape")
        prefix = tuple(int(d) for d in dims)
        joined = prefix + (array.shape or ())
        if len(joined) > MAX_RANK:
            raise Refused("")
        if any(d < 0 for d in prefix):
            raise Refused("must be >= 0")
        if count_overflows(prefix) or count_overflows(joined):
            raise Refused("")
        return prefix

    def _find_gradient(self, array: Array, source: str) -> Array | None:
        own = array.grads.get(source)
        joined = self._by_name.get(f"{array.name}@{source}")
        if own is joined:
            return own
        return own if self._ours("sources_by_array") else joined

    def _make_gradient(self, array: Array, source: str, prefix: Shape) -> Array:
        made = Array(
            name=f"{array.name}@{source}",
            dtype=array.dtype,
            size=array.size,
            shape=None if array.shape is None else prefix + array.shape,
            # If `array` is a gradient array, a slot of it may be written several times, and the
            # gradient of each of these writes reads the slot of `made`.
            clear=not array.sums,
            identical=array.identical,
            parent=array,
            prefix=prefix,
            marked=array.marked,
        )
        for index, slot in array.slots.items():
            if slot.written:
                shape = prefix + slot.shape
                if (len(shape) > MAX_RANK or count_overflows(shape)) and not self._ours(
                    "limits_checked"
                ):
                    raise Fatal
                made.slots[index] = Slot(shape=shape, written=True)
        return made

    # Elements ------------------------------------------------------------------------------

    def _store(self, array: Array, index: int, value: np.ndarray) -> None:
        """Writes one element, after the checks that Write, Scatter and Split have in common."""
        require_open(array)
        if index < 0 or (index >= array.size and not array.dynamic):
            raise Refused(
                f"Tried to write to index {index} but array is not resizeable and size is: "
                f"{array.size}"
            )
        if index >= array.size:
            self._grow(array, index, 2)
        shape = value.shape
        if not compatible(array.shape, shape):
            raise Refused(
                f"because the value shape is {show(shape)} which is incompatible with the "
                f"TensorArray's inferred element shape: {show(array.shape)}"
            )
        if array.identical and not fully_known(array.shape):
            array.shape = shape
        slot = array.slots.get(index, Slot())
        if slot.read:
            raise Refused("because it has already been read.")
        if slot.written and not array.sums:
            raise Refused("because it has already been written to.")
        if slot.written:
            value = self._sum(array, index, slot, value)
        array.slots[index] = Slot(shape=shape, value=value, written=True)

    def _sum(self, array: Array, index: int, slot: Slot, value: np.ndarray) -> np.ndarray:
        if slot.shape != value.shape:
            raise Refused(
                f"Could not aggregate to TensorArray index {index} because the existing shape is "
                f"{show(slot.shape)} but the new input shape is {show(value.shape)}"
            )
        if slot.value is None or value.size == 0:
            return value
        if array.dtype not in NUMBERS:
            raise Refused("tensor_array::AddToTensor type not supported")
        with np.errstate(all="ignore"):
            return np.asarray(slot.value + value, value.dtype).reshape(value.shape)

    def _read(self, array: Array, index: int) -> np.ndarray:
        require_open(array)
        if index < 0 or (index >= array.size and not array.sums):
            raise Refused(f"Tried to read from index {index} but array size is: {array.size}")
        slot = array.slots.get(index, Slot())
        if slot.cleared:
            raise Refused("twice because it was cleared after a previous read")
        if not slot.written:
            if index == MAX_INT32 and index >= array.size and self._ours("limits_checked"):
                raise Refused(f"Tried to read from index {index} but array size is: {array.size}")
            if not fully_known(array.shape):
                raise Refused(
                    f"Could not read from TensorArray index {index}.  Furthermore, the element "
                    f"shape is not fully defined: {show(array.shape)}"
                )
            if index >= array.size:
                self._grow(array, index, 1)
            assert array.shape is not None
            slot = Slot(shape=array.shape, written=True)
        value = slot.value
        if value is None:
            value = self._zeros(array, index, slot)
        array.slots[index] = Slot(
            shape=slot.shape,
            value=None if array.clear else value,
            written=True,
            read=True,
            cleared=array.clear,
        )
        return value

    def _zeros(self, array: Array, index: int, slot: Slot) -> np.ndarray:
        if len(slot.shape) > MAX_RANK or count_overflows(slot.shape):
            raise Refused("")
        if array.dtype not in ZEROABLE and math.prod(slot.shape):
            # Stock keeps the tensor that it could not fill; `refusals_change_nothing` undoes this.
            unfilled = np.full(slot.shape, b"", object)
            array.slots[index] = Slot(shape=slot.shape, value=unfilled, written=True)
            raise Refused("tensor_array::TensorSetZero type not supported")
        if math.prod(slot.shape) * 8 > HUGE_BYTES:
            array.slots[index] = slot
            raise Refused("OOM", "ResourceExhaustedError")
        dtype = numpy_dtype(array.dtype)
        return np.zeros(slot.shape, dtype) if dtype.kind != "O" else np.full(slot.shape, b"", dtype)

    def _grow(self, array: Array, index: int, factor: int) -> None:
        if index == MAX_INT32:
            if not self._ours("limits_checked"):
                raise Fatal
            raise Refused("")
        self._slots_at_once(factor * (index + 1))
        array.size = index + 1

    def _slots_at_once(self, count: int) -> None:
        if count > STOCK_SLOTS and not self._ours("limits_checked"):
            raise Fatal

    # Bulk ----------------------------------------------------------------------------------

    def _gather(self, array: Array, step: dict[str, Any]) -> np.ndarray:
        self._require_dtype(array, step["dtype"], "requested")
        attr = step.get("element_shape")
        attr = None if attr is None else tuple(attr)
        array.shape = merge(array.shape, attr)
        indices = np.asarray(step["indices"])
        if indices.ndim != 1:
            raise Refused(
                f"Expected indices to be a vector, but received shape: {show(indices.shape)}"
            )
        if not indices.size:
            written = {slot.shape for slot in array.slots.values() if slot.written}
            shape = self._empty_shape(attr, array.shape, written, "element shape")
            return np.zeros((0, *shape), numpy_dtype(array.dtype))
        values = [self._read(array, int(i)) for i in indices]
        if not compatible(attr, values[0].shape):
            raise Refused(
                f"TensorArray was passed element_shape {show(attr)} which does not match the "
                "Tensor at index 0"
            )
        shape = (len(values), *values[0].shape)
        if len(shape) > MAX_RANK or count_overflows(shape):
            if not self._ours("limits_checked"):
                raise Fatal
            raise Refused("")
        if any(v.shape != values[0].shape for v in values):
            if math.prod(shape) or self._ours("empty_gather_compares"):
                raise Refused("TensorArray has inconsistent shapes.  Index 0 has shape")
            return np.zeros(shape, numpy_dtype(array.dtype))
        return np.stack(values)

    def _empty_shape(self, attr: Partial, merged: Partial, written: set[Shape], noun: str) -> Shape:
        """The shape of the elements of an empty result."""
        if not fully_known(attr) and self._ours("empty_shape_inferred"):
            attr = merged
            if not fully_known(attr) and len(written) == 1:
                attr = merge(attr, written.pop())
        if attr is None or not fully_known(attr):
            raise Refused(
                f"TensorArray has size zero, but {noun} {show(attr)} is not fully defined",
                "UnimplementedError",
            )
        if len(attr) >= MAX_RANK:
            if not self._ours("limits_checked"):
                raise Fatal
            raise Refused("")
        return attr

    def _scatter(self, array: Array, step: dict[str, Any]) -> None:
        value, indices = step["value"], np.asarray(step["indices"])
        self._require_dtype(array, step["dtype"], "is trying to write")
        if not value.ndim:
            raise Refused("Input value for unpack must be at least a vector but received shape: []")
        require_open(array)
        if indices.ndim != 1:
            raise Refused(
                f"Expected indices to be a vector, but received shape: {show(indices.shape)}"
            )
        if indices.size != len(value):
            raise Refused(
                f"Expected len(indices) == values.shape[0], but saw: {indices.size} vs. "
                f"{len(value)}"
            )
        largest = int(indices.max(initial=-1))
        if largest == MAX_INT32 and array.dynamic:
            if self._ours("limits_checked"):
                raise Refused("")
            raise Refused("Max scatter index must be < array size")
        if largest >= array.size and not array.dynamic:
            raise Refused(f"Max scatter index must be < array size ({largest} vs. {array.size})")
        for index, row in zip(indices, value, strict=True):
            self._store(array, int(index), np.asarray(row, value.dtype))

    def _split(self, array: Array, step: dict[str, Any]) -> None:
        value, lengths = step["value"], np.asarray(step["lengths"])
        if lengths.ndim != 1:
            raise Refused(f"Expected lengths to be a vector, received shape: {show(lengths.shape)}")
        if not value.ndim:
            raise Refused("Expected value to be at least a vector, but received shape: []")
        sizes = [int(n) for n in lengths]
        total = sum(sizes)
        impossible = any(n < 0 for n in sizes)
        wrapped = (total + 2**63) % 2**64 - 2**63
        if wrapped != len(value):
            raise Refused(
                ""
                if impossible
                else "Expected sum of lengths to be equal to values.shape[0], but sum of lengths is"
            )
        require_open(array)
        if impossible or wrapped != total:
            if not self._ours("limits_checked"):
                raise Fatal
            raise Refused("")
        if len(sizes) != array.size and not (array.dynamic and array.size < len(sizes)):
            raise Refused(
                f"TensorArray's size is not equal to the size of lengths ({array.size} vs. "
                f"{len(sizes)}), and the TensorArray is not marked as dynamically resizeable"
            )
        self._require_dtype(array, step["dtype"], "is trying to write")
        if not array.sums:
            array.marked = len(sizes)
        start = 0
        for index, count in enumerate(sizes):
            self._store(array, index, value[start : start + count])
            start += count

    def _concat(self, array: Array, step: dict[str, Any]) -> list[np.ndarray]:
        self._require_dtype(array, step["dtype"], "requested")
        require_open(array)
        attr = step.get("element_shape")
        attr = None if attr is None else tuple(attr)
        count = array.marked if array.sums else array.size
        if count < 0:
            if not self._ours("unsplit_grads_concatenate"):
                raise Fatal
            count = array.size
        if not count:
            rest = array.shape[1:] if array.shape else None
            if compatible(attr, rest):
                rest = merge(attr, rest)
            elif not fully_known(attr) and self._ours("empty_shape_inferred"):
                raise Refused("Incompatible")
            shape = self._empty_shape(attr, rest, set(), "element_shape_except0")
            return [np.zeros((0, *shape), numpy_dtype(array.dtype)), np.zeros([0], np.int64)]
        values = [self._read(array, i) for i in range(count)]
        for index, value in enumerate(values):
            if not value.ndim:
                raise Refused(
                    f"Concat saw a scalar shape at index {index} but requires at least vectors"
                )
            if not index and not compatible(attr, value.shape[1:]):
                raise Refused(
                    f"TensorArray was passed element_shape_except0 {show(attr)} but index 0 has "
                    "(excepting dimension 0) shape"
                )
            if value.shape[1:] != values[0].shape[1:]:
                raise Refused(
                    "TensorArray has inconsistent shapes.  Index 0 has (excepting "
                    "dimension 0) shape"
                )
        lengths = np.asarray([len(v) for v in values], np.int64)
        return [np.concatenate(values), lengths]

    # Rules and state ------------------------------------------------------------------------

    def _require_dtype(self, array: Array, dtype: str, verb: str) -> None:
        if array.dtype != dtype:
            raise Refused(
                f"TensorArray dtype is {dtype_label(array.dtype)} but Op {verb} dtype "
                f"{dtype_label(dtype)}."
            )

    def _ours(self, rule: str) -> bool:
        self.met.append((self._step - 1, rule))
        return bool(getattr(self.rules, rule))

    def _reachable(self) -> Iterator[Array]:
        seen: set[int] = set()
        for array in [*self.arrays.values(), *self._by_name.values()]:
            if id(array) not in seen:
                seen.add(id(array))
                yield array

    def _snapshot(self) -> list[tuple[Array, dict[str, Any]]]:
        return [
            (a, dict(vars(a), slots=dict(a.slots), grads=dict(a.grads))) for a in self._reachable()
        ]

    def _changed(self, before: list[tuple[Array, dict[str, Any]]]) -> bool:
        def same(now: object, then: object) -> bool:
            if isinstance(now, dict) and isinstance(then, dict):
                return now.keys() == then.keys() and all(now[k] is then[k] for k in now)
            return now is then or (not isinstance(now, np.ndarray) and now == then)

        return any(
            not same(value, fields[key]) for a, fields in before for key, value in vars(a).items()
        )

    def _restore(self, before: list[tuple[Array, dict[str, Any]]]) -> None:
        for array, fields in before:
            vars(array).update(fields)


def require_scalar(noun: str, value: np.ndarray) -> None:
    """Raises Refused unless `value` has rank 0."""
    shape = np.shape(value)
    if shape:
        raise Refused(f"TensorArray {noun} must be scalar, but had shape: {show(shape)}")


def require_open(array: Array) -> None:
    """Raises Refused if `array` was closed."""
    if array.closed:
        raise Refused("has already been closed.")

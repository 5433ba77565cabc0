"""Programs over the raw TensorList ops, as functions without arguments that a worker runs eagerly.

`outcomes` runs some of them and returns plain data, so that a process with stock's kernels can be
compared with one that has this library's kernels.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

raw = tf.raw_ops
f32 = tf.float32
Case = Callable[[], Any]
CASES: dict[str, Case] = {}

NUMBERS = ["float16", "bfloat16", "float32", "float64", "complex64", "complex128"]
INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
OTHERS = ["bool", "string", "qint8", "quint8", "qint16", "quint16", "qint32"]
DTYPES = NUMBERS + INTEGERS + OTHERS


def case(function: Case) -> Case:
    """Adds `function` to CASES under its name."""
    CASES[function.__name__] = function
    return function


def outcomes(names: list[str]) -> list[tuple[Any, ...]]:
    """("ok", arrays) or ("error", class name, message) for each program."""
    return [outcome(CASES[name]) for name in names]


def outcome(program: Case) -> tuple[Any, ...]:
    """What `program` returned or raised."""
    try:
        result = program()
    except (tf.errors.OpError, ValueError, TypeError) as error:
        return ("error", type(error).__name__, str(error))
    return ("ok", tf.nest.map_structure(plain, result))


def plain(value: Any) -> Any:
    """A tensor as data that can be pickled and compared: its dtype and array, or its `contents`."""
    if not tf.is_tensor(value):
        return value
    if value.dtype == tf.variant:
        return contents(value)
    codes = {1: tf.uint8, 2: tf.uint16, 4: tf.uint32}
    if value.dtype.is_quantized:
        value = tf.bitcast(value, codes[value.dtype.size])
    return value.dtype.name, value.numpy()


# ---- short names for the ops ---------------------------------------------------------------------


def as_shape(shape: Any) -> Any:
    """A Python list as an int32 tensor, also if it is empty; anything else unchanged."""
    return tf.constant(shape, tf.int32) if isinstance(shape, list) else shape


def reserve(size: int, shape: Any = -1, dtype: Any = f32) -> Any:
    return raw.TensorListReserve(
        element_shape=as_shape(shape), num_elements=size, element_dtype=dtype
    )


def empty(shape: Any = -1, most: Any = -1, dtype: Any = f32) -> Any:
    return raw.EmptyTensorList(
        element_shape=as_shape(shape), max_num_elements=most, element_dtype=dtype
    )


def from_tensor(tensor: Any, shape: Any = -1) -> Any:
    return raw.TensorListFromTensor(tensor=tensor, element_shape=as_shape(shape))


def get(a_list: Any, index: Any, shape: Any = -1, dtype: Any = f32) -> Any:
    return raw.TensorListGetItem(
        input_handle=a_list, index=index, element_shape=as_shape(shape), element_dtype=dtype
    )


def put(a_list: Any, index: Any, item: Any, grow: bool = False) -> Any:
    return raw.TensorListSetItem(
        input_handle=a_list, index=index, item=item, resize_if_index_out_of_bounds=grow
    )


def stack(a_list: Any, shape: Any = -1, dtype: Any = f32, size: int = -1) -> Any:
    return raw.TensorListStack(
        input_handle=a_list, element_shape=as_shape(shape), element_dtype=dtype, num_elements=size
    )


def gather(a_list: Any, indices: Any, shape: Any = -1, dtype: Any = f32) -> Any:
    return raw.TensorListGather(
        input_handle=a_list, indices=indices, element_shape=as_shape(shape), element_dtype=dtype
    )


def scatter(tensor: Any, indices: Any, shape: Any = -1, size: Any = None) -> Any:
    if size is None:
        return raw.TensorListScatter(tensor=tensor, indices=indices, element_shape=as_shape(shape))
    return raw.TensorListScatterV2(
        tensor=tensor, indices=indices, element_shape=as_shape(shape), num_elements=size
    )


def scatter_into(a_list: Any, tensor: Any, indices: Any) -> Any:
    return raw.TensorListScatterIntoExistingList(
        input_handle=a_list, tensor=tensor, indices=indices
    )


def concat(a_list: Any, shape: Any = -1, leading: Any = (), dtype: Any = f32) -> Any:
    return raw.TensorListConcatV2(
        input_handle=a_list,
        element_shape=as_shape(shape),
        leading_dims=tf.constant(leading, tf.int64),
        element_dtype=dtype,
    )


def concat_v1(a_list: Any, shape: Any = None, dtype: Any = f32) -> Any:
    return raw.TensorListConcat(input_handle=a_list, element_dtype=dtype, element_shape=shape)


def split(tensor: Any, lengths: Any, shape: Any = -1) -> Any:
    return raw.TensorListSplit(
        tensor=tensor, element_shape=as_shape(shape), lengths=tf.constant(lengths, tf.int64)
    )


def push(a_list: Any, item: Any) -> Any:
    return raw.TensorListPushBack(input_handle=a_list, tensor=item)


def pop(a_list: Any, shape: Any = -1, dtype: Any = f32) -> Any:
    return raw.TensorListPopBack(
        input_handle=a_list, element_shape=as_shape(shape), element_dtype=dtype
    )


def push_batch(lists: Any, tensor: Any) -> Any:
    return raw.TensorListPushBackBatch(input_handles=lists, tensor=tensor)


def join(a: Any, b: Any, dtype: Any = f32) -> Any:
    return raw.TensorListConcatLists(input_a=a, input_b=b, element_dtype=dtype)


def resize(a_list: Any, size: Any) -> Any:
    return raw.TensorListResize(input_handle=a_list, size=size)


def length(a_list: Any) -> Any:
    return raw.TensorListLength(input_handle=a_list)


def shape_of(a_list: Any, dtype: Any = tf.int32) -> Any:
    return raw.TensorListElementShape(input_handle=a_list, shape_type=dtype)


def contents(a_list: Any) -> Any:
    """All that ops return about a list of floats or of lists: length, shape and elements."""
    seen: list[Any] = [plain(length(a_list)), plain(shape_of(a_list))]
    for dtype in (f32, tf.variant):
        for index in range(int(length(a_list))):
            seen.append(outcome(lambda d=dtype, i=index: get(a_list, i, dtype=d)))
    return seen


def rows(*shape: int, dtype: Any = f32) -> Any:
    """1, 2, 3, ... as a tensor."""
    return tf.cast(tf.reshape(tf.range(1, 1 + int(np.prod(shape))), shape), dtype)


# ---- one program for each dtype ------------------------------------------------------------------


def values(dtype: str, *shape: int, start: int = 1) -> Any:
    """Consecutive numbers as values of `dtype`; a bool is True for multiples of 3."""
    numbers = np.arange(start, start + int(np.prod(shape))).reshape(shape)
    if dtype == "string":
        return tf.constant(numbers.astype(str))
    if dtype == "bool":
        return tf.constant(numbers % 3 == 0)
    if dtype.startswith(("q", "quint")):
        unsigned = {"8": tf.uint8, "16": tf.uint16, "32": tf.uint32}[dtype.lstrip("quint")]
        return tf.bitcast(tf.cast(numbers, unsigned), tf.as_dtype(dtype))
    return tf.cast(numbers, dtype)


def every_op(dtype: str) -> Any:
    """Each op once, on lists of `dtype` of which some elements are not set."""
    kind, x = tf.as_dtype(dtype), values(dtype, 3, 2)
    some = put(reserve(4, [2], kind), 1, values(dtype, 2))
    nothing = reserve(4, [2], kind)
    popped = pop(some, dtype=kind)
    lists = push_batch(tf.stack([empty(dtype=kind)] * 3), x)
    seen = [
        [get(some, i, dtype=kind) for i in range(4)],
        stack(some, dtype=kind),
        stack(from_tensor(x), dtype=kind),
        gather(some, [1, 0, 1], dtype=kind),
        stack(scatter(x, [4, 0, 2], [2]), dtype=kind),
        stack(scatter(x, [1, 0, 1], [2], 3), dtype=kind),
        stack(scatter_into(some, x, [0, 3, 0]), dtype=kind),
        list(concat(some, [2], dtype=kind)),
        list(concat(put(reserve(2, [-1, 2], kind), 0, x), -1, [9, 2], dtype=kind)),
        list(concat_v1(from_tensor(values(dtype, 2, 3, 2)), [None, 2], kind)),
        [get(split(x, [2, 0, 1]), i, dtype=kind) for i in range(3)],
        [length(popped[0]), popped[1]],
        [stack(lists[i], dtype=kind) for i in range(3)],
        stack(resize(push(some, values(dtype, 2, start=5)), 7), dtype=kind),
        stack(join(some, from_tensor(x, [2]), kind), dtype=kind),
        outcome(lambda: stack(tf.add_n([some, some, nothing]), [2], kind)),
        outcome(lambda: stack(tf.zeros_like(some), [2], kind)),
        outcome(lambda: stack(tf.zeros_like(nothing), [2], kind)),
        stack(tf.add_n([some, nothing]), [2], kind),
    ]
    return tf.nest.map_structure(plain, seen)


for _dtype in DTYPES:
    CASES[f"every_op_of_{_dtype}"] = lambda d=_dtype: every_op(d)


# ---- random programs -----------------------------------------------------------------------------


class RandomProgram:
    """Runs random ops on a few lists of small float vectors and returns all their results.

    The arguments are right or wrong, but never such that stock's process would crash.
    """

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.lists = [reserve(3), empty([2]), reserve(4, [2]), empty(-1, 5)]

    def run(self, steps: int) -> list[Any]:
        return [outcome(self.step) for _ in range(steps)]

    def step(self) -> Any:
        names = [name for name in dir(self) if name.startswith("do_")]
        name = self.pick(names)
        result = getattr(self, name)()
        tensors = result if isinstance(result, list) else [result]
        for tensor in tensors:
            if tensor.dtype == tf.variant:
                self.lists[self.below(len(self.lists))] = tensor
        return name, tf.nest.map_structure(plain, tensors)

    def below(self, bound: int) -> int:
        return int(self.random.integers(bound))

    def pick(self, options: Any) -> Any:
        return options[self.below(len(options))]

    def a_list(self) -> Any:
        return self.pick(self.lists)

    def tensor(self, *shape: int) -> Any:
        return tf.constant(self.random.integers(0, 100, shape), f32)

    def item(self) -> Any:
        return self.tensor(*self.pick([(2,), (2,), (2,), (2,), (3,), (), (1, 2), (0,)]))

    def batch(self, count: int) -> Any:
        return self.tensor(count, *self.pick([(2,), (2,), (2,), (3,), (), (1, 2)]))

    def shape(self) -> Any:
        return self.pick([-1, -1, [2], [2], [-1], [3], [], [-1, 2], [2, -1]])

    def indices(self, count: int) -> Any:
        return self.random.integers(0, 7, count).astype(np.int32)

    def do_reserve(self) -> Any:
        return reserve(self.below(6), self.shape())

    def do_empty(self) -> Any:
        return empty(self.shape(), self.pick([-1, 0, 3]))

    def do_get(self) -> Any:
        return get(self.a_list(), self.below(6), self.shape())

    def do_put(self) -> Any:
        return put(self.a_list(), self.below(6), self.item(), self.pick([True, False]))

    do_put_2 = do_put_3 = do_put  # aliases make `step` choose the op more often

    def do_push(self) -> Any:
        return push(self.a_list(), self.item())

    do_push_2 = do_push

    def do_pop(self) -> Any:
        return list(pop(self.a_list(), self.shape()))

    def do_resize(self) -> Any:
        return resize(self.a_list(), self.below(8))

    def do_stack(self) -> Any:
        return stack(self.a_list(), self.shape(), size=self.pick([-1, -1, 3]))

    def do_from_tensor(self) -> Any:
        return from_tensor(self.batch(self.below(5)), self.shape())

    def do_scatter(self) -> Any:
        count = self.below(4)
        return scatter(self.batch(count), self.indices(count), self.shape(), self.pick([-1, 7, 5]))

    def do_split(self) -> Any:
        lengths = self.random.integers(0, 4, self.below(4))
        total = int(lengths.sum()) + self.pick([0, 0, 0, 1])
        # Stock does not compare the lengths with the first dimension of the element shape, so no
        # shape here specifies that dimension.
        return split(self.batch(total), lengths, self.pick([-1, [-1], [-1, 2], [-1, 3], []]))

    def do_join(self) -> Any:
        return join(self.a_list(), self.a_list())

    def do_add(self) -> Any:
        return tf.add_n([self.a_list(), self.a_list()])

    do_add_2 = do_add

    def do_zeros_like(self) -> Any:
        # If the element shape of a list is fully known, zeros_like of this library keeps only that
        # shape. Later ops may ask for another shape, so such lists are returned unchanged.
        a_list = self.a_list()
        known = shape_of(a_list).numpy()
        return a_list if known.ndim and (known >= 0).all() else tf.zeros_like(a_list)

    def do_push_batch(self) -> Any:
        lists = tf.stack([self.a_list() for _ in range(2)])
        return list(tf.unstack(push_batch(lists, self.batch(2))))

    # Stock does not check all arguments of the ops below, and would read or write past the end of
    # an element or a list. `do_concat` therefore checks the element shapes, and the others limit
    # the indices.

    def uniform(self, a_list: Any) -> bool:
        return all(got.shape == (2,) for got in self.elements(a_list))

    def elements(self, a_list: Any) -> list[Any]:
        try:
            return [get(a_list, i, [2]) for i in range(int(length(a_list)))]
        except (tf.errors.OpError, ValueError):
            return []

    def do_scatter_into(self) -> Any:
        # The list must not grow: stock would fill the gap with empty float tensors.
        a_list = self.a_list()
        bound = int(length(a_list))
        count = self.below(4) if bound else 0
        return scatter_into(
            a_list, self.tensor(count, 2), self.random.integers(0, max(bound, 1), count)
        )

    def do_gather(self) -> Any:
        a_list = self.a_list()
        bound = int(length(a_list)) + self.pick([0, 0, 1])
        count = self.below(4) if bound else 0
        return gather(a_list, self.random.integers(0, max(bound, 1), count), self.shape())

    def do_concat(self) -> Any:
        a_list = self.a_list()
        if not self.uniform(a_list):
            return length(a_list)
        leading = self.random.integers(0, 4, self.below(6))
        return list(concat(a_list, self.shape(), leading))


def random_program(seed: int, steps: int = 60) -> list[Any]:
    """All results of the random program number `seed`."""
    return RandomProgram(seed).run(steps)


def random_programs(seeds: list[int]) -> list[list[Any]]:
    """All results of the random programs with these numbers."""
    return [random_program(seed) for seed in seeds]


# ---- errors and corner cases with the outcome of stock -------------------------------------------


def grid(*programs: Case) -> list[Any]:
    """The outcome of each program."""
    return [outcome(program) for program in programs]


@case
def a_list_must_be_a_scalar_list_of_the_ops_dtype() -> Any:
    two = tf.stack([reserve(1), reserve(1)])
    return grid(
        lambda: get(two, 0),
        lambda: length(two),
        lambda: get(reserve(1), 0, dtype=tf.int32),
        lambda: stack(reserve(1, [2]), dtype=tf.int32),
        lambda: gather(reserve(1), [0], dtype=tf.int32),
        lambda: concat(reserve(1), dtype=tf.int32),
        lambda: pop(reserve(1), dtype=tf.int32),
        lambda: push(reserve(1), 1),
        lambda: put(reserve(1), 0, 1),
        lambda: scatter_into(reserve(1), rows(1, 2, dtype=tf.int32), [0]),
        lambda: join(reserve(1), reserve(1), tf.int32),
        lambda: push_batch(two, rows(2, 2, dtype=tf.int32)),
    )


@case
def shapes_that_are_no_shapes() -> Any:
    return grid(
        lambda: reserve(1, 3),
        lambda: reserve(1, [[1, 2]]),
        lambda: reserve(1, [-2]),
        lambda: empty(0),
        lambda: get(reserve(1), 0, [[1]]),
        lambda: get(reserve(1), 0, 7),
        lambda: stack(reserve(1), 7),
        lambda: from_tensor(rows(2), 7),
        lambda: split(rows(2), [2], 7),
        lambda: split(rows(2), [2], []),
        lambda: concat(reserve(1), []),
        lambda: concat_v1(reserve(1), []),
        lambda: reserve(1, tf.constant([3], tf.int64)),
        lambda: shape_of(reserve(1, [3, -1]), tf.int64),
        lambda: shape_of(reserve(1), tf.int64),
        lambda: shape_of(reserve(1, [])),
    )


@case
def sizes_and_indices_that_do_not_fit() -> Any:
    three = from_tensor(rows(3, 2))
    return grid(
        lambda: reserve(-1),
        lambda: reserve([1, 2]),
        lambda: empty(most=[1]),
        lambda: get(three, 3),
        lambda: put(three, 3, rows(2)),
        lambda: put(reserve(1, [3]), 0, rows(2)),
        lambda: resize(three, -1),
        lambda: gather(three, [3]),
        lambda: gather(from_tensor(rows(3, 2), [2]), [3]),
        lambda: pop(empty()),
        lambda: pop(reserve(1)),
        lambda: push(empty([3]), rows(2)),
        lambda: push(push(empty(most=1), rows(2)), rows(2)),
        lambda: push(empty(most=0), rows(2)),
        lambda: stack(three, size=2),
        lambda: stack(three, [3]),
        lambda: get(put(reserve(2), 0, rows(2)), 1, [3]),
    )


@case
def unset_elements_take_what_shape_is_known() -> Any:
    mixed = put(put(reserve(3), 0, rows(2)), 1, rows(3))
    one = put(reserve(2), 0, rows(2))
    return grid(
        lambda: get(reserve(1), 0),
        lambda: get(reserve(1), 0, [2]),
        lambda: get(reserve(1, [-1, 2]), 0, [3, -1]),
        lambda: get(reserve(1, [-1, 2]), 0, [3, 4]),
        lambda: get(mixed, 2),
        lambda: get(mixed, 0, [9]),
        lambda: get(one, 1),
        lambda: stack(mixed),
        lambda: stack(one),
        lambda: stack(reserve(2)),
        lambda: stack(reserve(2, [2])),
        lambda: stack(reserve(2, [0])),
        lambda: stack(empty()),
        lambda: stack(empty([2])),
        lambda: gather(one, [1]),
        lambda: gather(one, [1, 1, 0]),
        lambda: gather(mixed, [0, 1]),
        lambda: gather(reserve(2), [0]),
        lambda: gather(reserve(2), []),
        lambda: gather(reserve(2, [3]), []),
        lambda: get(put(reserve(1), 4, rows(2), grow=True), 2),
        lambda: get(resize(one, 5), 4),
        lambda: stack(resize(from_tensor(rows(5, 2)), 2)),
    )


@case
def concat_of_every_kind_of_gap() -> Any:
    gap = put(put(reserve(3), 0, rows(2, 2)), 2, rows(2, 2))
    uneven = put(put(reserve(3), 0, rows(1, 2)), 2, rows(3, 2))
    return grid(
        lambda: list(concat(gap)),
        lambda: list(concat(gap, [2, 2])),
        lambda: list(concat(gap, [-1, 2], [9, 4, 9])),
        lambda: list(concat(gap, [3, 2])),
        lambda: list(concat(uneven)),
        lambda: list(concat(uneven, -1, [7, 2])),
        lambda: list(concat(uneven, -1, [7])),
        lambda: list(concat(reserve(2))),
        lambda: list(concat(reserve(2), [-1, 2])),
        lambda: list(concat(reserve(2), [3, 2])),
        lambda: list(concat(empty())),
        lambda: list(concat(empty(), [-1, 2])),
        lambda: list(concat(empty(), [4, -1])),
        lambda: list(concat(put(reserve(1), 0, rows()))),
        lambda: list(concat_v1(gap)),
        lambda: list(concat_v1(gap, [None, 2])),
        lambda: list(concat_v1(uneven, [None, 2])),
        lambda: list(concat_v1(empty(), [None, 2])),
        lambda: list(concat_v1(from_tensor(rows(3)))),
    )


@case
def making_lists_from_tensors_that_do_not_fit() -> Any:
    return grid(
        lambda: from_tensor(rows()),
        lambda: from_tensor(rows(2, 3), [2]),
        lambda: from_tensor(rows(0, 3), [3]),
        lambda: from_tensor(rows(3, 0), [-1]),
        lambda: scatter(rows(), [0]),
        lambda: scatter(rows(2, 3), [0]),
        lambda: scatter(rows(2, 3), [0, 1], [2]),
        lambda: scatter(rows(2, 3), [0, 5], size=4),
        lambda: scatter(rows(2, 3), [0, -1]),
        lambda: scatter(rows(2, 3), [0, 1], size=-2),
        lambda: scatter(rows(2, 3), [0, 1], size=-1),
        lambda: scatter(rows(0, 3), tf.zeros([0], tf.int32), size=2),
        lambda: scatter_into(reserve(2), rows(2, 3), [0]),
        lambda: scatter_into(reserve(2), rows(), [0]),
        lambda: scatter_into(reserve(2), rows(1, 3), 0),
        lambda: split(rows(), [1]),
        lambda: split(rows(4, 2), [1, 2]),
        lambda: split(rows(4, 2), [1, 4]),
        lambda: split(rows(4, 2), [5, -1]),
        lambda: split(rows(4, 2), [[4]]),
        lambda: split(rows(4, 2), [4], [-1, 3]),
        lambda: split(rows(4, 2), [0, 4, 0], [-1, 2]),
    )


@case
def batches_and_joined_lists() -> Any:
    two = tf.stack([from_tensor(rows(1, 2)), empty([2])])
    return grid(
        lambda: list(tf.unstack(push_batch(two, rows(2, 2)))),
        lambda: push_batch(two, rows(3, 2)),
        lambda: push_batch(two, rows()),
        lambda: push_batch(two, rows(2, 3)),
        lambda: push_batch(reserve(1), rows(1, 2)),
        lambda: join(from_tensor(rows(2, 2)), reserve(2)),
        lambda: join(from_tensor(rows(2, 2)), reserve(2, [2])),
        lambda: join(two, reserve(2)),
        lambda: list(tf.unstack(join(two, two))),
    )


@case
def sums_and_zeros_of_lists() -> Any:
    mixed = put(put(reserve(3), 0, rows(2)), 1, rows(3))
    return grid(
        lambda: tf.add_n([mixed, mixed]),
        lambda: tf.add_n([mixed, put(reserve(3), 2, rows(4))]),
        lambda: tf.add_n([mixed, put(reserve(3), 0, rows(4))]),
        lambda: tf.add_n([mixed, reserve(4)]),
        lambda: tf.add_n([mixed, reserve(3, [2])]),
        lambda: tf.add_n([reserve(3, [3]), reserve(3, [2])]),
        lambda: tf.add_n([mixed, reserve(3, dtype=tf.int32)]),
        lambda: tf.zeros_like(mixed),
        lambda: tf.add_n([tf.zeros_like(mixed), mixed]),
        lambda: tf.zeros_like(put(reserve(2, dtype=tf.string), 0, "a")),
        lambda: push(tf.zeros_like(push(empty(most=1), rows(2))), rows(2)),
    )


@case
def lists_of_lists() -> Any:
    inner = from_tensor(rows(2, 2))
    outer = push(push(empty(dtype=tf.variant), inner), tf.zeros_like(inner))
    return grid(
        lambda: contents(outer),
        lambda: contents(tf.add_n([outer, outer])),
        lambda: contents(tf.zeros_like(outer)),
        lambda: contents(tf.add_n([tf.zeros_like(outer), outer])),
        lambda: [contents(one) for one in tf.unstack(stack(outer, [], tf.variant))],
        lambda: contents(get(tf.zeros_like(tf.zeros_like(outer)), 0, dtype=tf.variant)),
    )


@case
def a_list_that_was_read_from_stays_as_it_was() -> Any:
    first = from_tensor(rows(40, 2))
    second = put(first, 7, rows(2) * 100)
    third, last = pop(second)
    return [stack(first), stack(second), stack(third), last, stack(push(third, rows(2)))]

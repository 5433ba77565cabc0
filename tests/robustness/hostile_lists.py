"""Hostile programs over the TensorList ops: see `hostile_cases`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from tensor_array_grad import _loader
from tests.robustness.hostile_cases import MAX, MIN, SHORT, WIDE, blank, case, f32, works, zeros
from tests.support.list_cases import (
    concat,
    concat_v1,
    empty,
    from_tensor,
    gather,
    get,
    join,
    pop,
    push,
    push_batch,
    put,
    raw,
    reserve,
    resize,
    rows,
    scatter,
    scatter_into,
    split,
    stack,
)

# ---- lists: shapes -------------------------------------------------------------------------------

case("a list of rows too large", lambda: from_tensor(zeros(*WIDE)), "overflow|too large|2\\*\\*63")
case(
    "a scatter of rows too large",
    lambda: scatter(zeros(*WIDE), tf.zeros([0], tf.int32)),
    "overflow|too large|2\\*\\*63",
)
case(
    "a scatter into a list of rows too large",
    lambda: scatter_into(reserve(1), zeros(*WIDE), tf.zeros([0], tf.int32)),
    "overflow|2\\*\\*63",
)
case("a split of rows too large", lambda: split(zeros(*WIDE), []), "overflow|too large|2\\*\\*63")
case(
    "a batch of rows too large",
    lambda: push_batch(tf.stack([reserve(1)])[:0], zeros(*WIDE)),
    "overflow|2\\*\\*63",
)
case(
    "a concat of rows too large",
    lambda: concat(push(empty(), zeros(*WIDE))),
    "overflow|too large|2\\*\\*63",
)
case(
    "a first concat of rows too large",
    lambda: concat_v1(push(empty(), zeros(*WIDE))),
    "overflow|too large|2\\*\\*63",
)
case(
    "a concat of one shape with rows too large",
    lambda: concat(push(empty([0, -1, -1]), zeros(*WIDE)), tf.constant([-1, 2**40, 2**40])),
    "overflow|too large|2\\*\\*63",
)
case(
    "a concat that asks for rows too large",
    lambda: concat(reserve(2), tf.constant([-1, 2**40, 2**40]), [1, 1]),
    "overflow|too large|2\\*\\*63",
)
case(
    "a split that asks for rows too large",
    lambda: split(tf.zeros([2, 0]), [1, 1], tf.constant([-1, 2**40, 2**40])),
    "",
)
works(
    "a stack of wide elements",
    lambda: stack(push(push(empty(), zeros(*WIDE)), zeros(*WIDE))).shape.as_list(),
    [2, *WIDE],
)
works(
    "a gather of wide elements",
    lambda: gather(push(empty(), zeros(*WIDE)), [0, 0]).shape.as_list(),
    [2, *WIDE],
)
works(
    "a wide element, read",
    lambda: get(push(empty(), zeros(*WIDE)), 0).shape.as_list(),
    [0, 2**40, 2**40],
)
case(
    "a stack of elements of 254 dimensions",
    lambda: stack(push(empty(), tf.zeros([1] * 254))),
    "too many dimensions",
)
case(
    "a gather of elements of 254 dimensions",
    lambda: gather(push(empty(), tf.zeros([1] * 254)), [0]),
    "too many dimensions",
)
works(
    "a concat of elements of 254 dimensions",
    lambda: concat(push(empty(), tf.zeros([1] * 254)))[0].shape.rank,
    254,
)
case("an element shape of 255 dimensions", lambda: reserve(1, [1] * 255), "255|254|dimensions")
case("an element shape of 300 dimensions", lambda: empty([1] * 300), "300|254|dimensions")
case(
    "an element shape of a million dimensions",
    lambda: reserve(1, tf.ones([1000000], tf.int32)),
    "dimensions|254",
)
case("an element shape with -2", lambda: reserve(1, [-2]), "-2|below -1|-1")
case("an element shape with -2**63", lambda: reserve(1, tf.constant([-(2**63)])), "below|-1")
case("an element shape that is a matrix", lambda: reserve(1, [[1]]), "rank")
case("an element shape that is -2", lambda: reserve(1, -2), "only valid scalar shape")
case("an element shape that is 5", lambda: reserve(1, 5), "only valid scalar shape")
case("an element shape that overflows", lambda: empty([MAX, MAX, MAX]), "overflow|2\\*\\*63")
works(
    "an element shape of int64", lambda: stack(reserve(2, tf.constant([3], tf.int64))).shape[1], 3
)
case("an item shape that is a matrix", lambda: get(reserve(2), 0, [[1]]), "rank")
case("an item shape that does not fit", lambda: get(reserve(2, [2]), 0, [3]), "shapes")
case(
    "an item of a shape that overflows",
    lambda: get(reserve(2, [2**20, -1]), 0, tf.constant([-1, 2**60])),
    # TensorFlow up to at least 2.18 accepts only int32 shapes, and reports this error first.
    "overflow|expected to be a int32 tensor but is a int64",
)
case("a size that is negative", lambda: reserve(-1), "non negative")
case("a size of -2**31", lambda: reserve(MIN), "non negative")
case("a size that is a matrix", lambda: reserve([[1]]), "num_elements")
case("a size without a value", lambda: reserve(tf.zeros([0], tf.int32)), "num_elements")
case("a resize to a negative size", lambda: resize(reserve(2), -1), "non-negative")
case("a resize without a size", lambda: resize(reserve(2), tf.zeros([0], tf.int32)), "scalar")
case("a bound that is a vector", lambda: empty(-1, [1]), "scalar")
case("a push past the bound", lambda: push(empty(-1, 0), rows(1)), "full list")
case("a pop of nothing", lambda: pop(empty()), "empty list")
case("a pop of an unset item of no known shape", lambda: pop(reserve(1)), "uninitialized")
case("a stack of nothing", lambda: stack(empty()), "empty list")
case("a stack of unset items of no known shape", lambda: stack(reserve(3)), "uninitialized")
case("a stack of another number", lambda: stack(reserve(3, []), size=2), "2 elements")
case("a stack of a negative number", lambda: stack(reserve(3, []), size=-7), "-7 elements")
case("a stack of another dtype", lambda: stack(reserve(3, []), dtype=tf.int32), "data types")
case("a gather of no index", lambda: gather(reserve(3), tf.zeros([0], tf.int32)), "0-elements")
case("a gather of a huge index", lambda: gather(reserve(3, []), [MAX]), "out o range|access")
works(
    "a gather by a matrix of indices", lambda: gather(reserve(3, []), [[0, 1]]).shape.as_list(), [2]
)
case("a list of a scalar", lambda: from_tensor(tf.constant(1.0)), "at least a vector")
case("a list of another shape", lambda: from_tensor(rows(2, 2), [3]), "Specified a list")
case("a split of a scalar", lambda: split(tf.constant(1.0), [1]), "at least a vector")
case(
    "a split by a scalar",
    lambda: raw.TensorListSplit(
        tensor=rows(2, 2), element_shape=-1, lengths=tf.constant(2, tf.int64)
    ),
    "vector",
)
case("a split that leaves some", lambda: split(rows(3, 2), [1, 1]), "Unused")
case("a split of -2**63", lambda: split(rows(3, 2), [-(2**63), 3]), "Invalid value")
case("a split of 2**63-1", lambda: split(rows(3, 2), [2**63 - 1, 2**63 - 1]), "slice")
case("a concat of scalars", lambda: concat(push(empty(), tf.constant(1.0))), "scalar")
case(
    "a concat of unset items of no known length",
    lambda: concat(reserve(2, [-1, 2]), [-1, 2], [1]),
    "leading_dims has only 1",
)
case(
    "a concat of more lengths than memory holds",
    lambda: concat(reserve(MAX, [2**30, 2**30])),
    "2147483647",
    SHORT,
)
case("a concat of leading dims of -1", lambda: concat(reserve(1, [-1, 2]), -1, [-1]), "negative")
case("a stack that no memory holds", lambda: stack(reserve(MAX, [2**14])), "OOM", SHORT)
case("an item that no memory holds", lambda: get(reserve(1, [2**30, 2**14]), 0), "OOM", SHORT)
case("a popped item that no memory holds", lambda: pop(reserve(1, [2**30, 2**14])), "OOM", SHORT)
case("a gather that no memory holds", lambda: gather(reserve(1, [2**30, 2**12]), [0]), "OOM", SHORT)
case("a concat that no memory holds", lambda: concat(reserve(1, [2**30, 2**14]), -1), "OOM", SHORT)

# ---- lists: inputs that are no lists -------------------------------------------------------------


def _optional() -> tf.Tensor:
    return raw.OptionalNone()


OPS_ON_A_LIST: dict[str, Callable[[Any], Any]] = {
    "length": lambda x: raw.TensorListLength(input_handle=x),
    "element shape": lambda x: raw.TensorListElementShape(input_handle=x, shape_type=tf.int32),
    "get": lambda x: get(x, 0),
    "put": lambda x: put(x, 0, rows(2)),
    "push": lambda x: push(x, rows(2)),
    "pop": pop,
    "resize": lambda x: resize(x, 1),
    "stack": stack,
    "gather": lambda x: gather(x, [0]),
    "concat": concat,
    "concat v1": concat_v1,
    "scatter into": lambda x: scatter_into(x, rows(1, 2), [0]),
}
for op_name, op in OPS_ON_A_LIST.items():
    case(f"{op_name} of nothing", lambda op=op: op(blank(tf.variant)), "not a list")
    case(f"{op_name} of an optional", lambda op=op: op(_optional()), "not a list")
    case(f"{op_name} of a vector of lists", lambda op=op: op(tf.stack([reserve(1)])), "scalar")
    case(f"{op_name} of no list", lambda op=op: op(tf.stack([reserve(1)])[:0]), "scalar")
for op_name in ("get", "put", "push", "pop", "stack", "gather", "concat", "concat v1",
                "scatter into"):  # fmt: skip
    case(
        f"{op_name} of a list of another dtype",
        lambda op=OPS_ON_A_LIST[op_name]: op(reserve(1, [2], tf.int32)),
        "type",
    )
case(
    "a batch for nothing",
    lambda: push_batch(tf.stack([blank(tf.variant)]), rows(1, 2)),
    "not a list",
)
case("a batch for a scalar list", lambda: push_batch(reserve(1), rows(1, 2)), "vector")
case(
    "a batch of another length",
    lambda: push_batch(tf.stack([reserve(1)] * 2), rows(1, 2)),
    "1 vs. 2",
)
case(
    "a batch of another dtype",
    lambda: push_batch(tf.stack([reserve(1, -1, tf.int32)]), rows(1, 2)),
    "type",
)
case(
    "a batch of another shape",
    lambda: push_batch(tf.stack([reserve(1, [3])]), rows(1, 2)),
    "incompatible shape",
)
case("a join with nothing", lambda: join(reserve(1), blank(tf.variant)), "not a TensorList")
case("a join of other shapes", lambda: join(reserve(1, [1]), reserve(1, [2])), "not identical")
case(
    "a join of two and one",
    lambda: join(tf.stack([reserve(1)] * 2), tf.stack([reserve(1)])),
    "Incompatible",
)
works(
    "a join of none",
    lambda: join(tf.stack([reserve(1)])[:0], tf.stack([reserve(1)])[:0]).shape[0],
    0,
)
case(
    "a sum of lists of other lengths", lambda: raw.AddN(inputs=[reserve(1), reserve(2)]), "lengths"
)
case(
    "a sum of lists of other dtypes",
    lambda: raw.AddN(inputs=[reserve(1), reserve(1, -1, tf.int32)]),
    "dtypes",
)
case(
    "a sum of a list and nothing",
    lambda: raw.AddN(inputs=[reserve(1), blank(tf.variant)]),
    "type",
    "InternalError",
)
case(
    "a sum of a list and an optional",
    lambda: raw.AddN(inputs=[reserve(1), _optional()]),
    "type",
    "InternalError",
)
case(
    "a sum of other elements",
    lambda: raw.AddN(inputs=[put(reserve(1), 0, rows(2)), put(reserve(1), 0, rows(3))]),
    "shapes",
)
case(
    "a sum of strings",
    lambda: raw.AddN(inputs=[put(reserve(1, -1, tf.string), 0, "a")] * 2),
    "unsupported dtype",
)
case(
    "zeros like strings",
    lambda: raw.ZerosLike(x=put(reserve(1, -1, tf.string), 0, "a")),
    "unsupported dtype",
)

# ---- lists of lists ------------------------------------------------------------------------------


def _nested(depth: int) -> tf.Tensor:
    nest = reserve(1, [])
    for _ in range(depth):
        nest = push(empty(-1, -1, tf.variant), nest)
    return nest


def _freed(depth: int) -> str:
    nest = _nested(depth)
    del nest
    return "freed"


def _doubled(depth: int) -> int:
    """`depth` lists, each of which has the one before it twice: 2**depth leaves."""
    a_list = put(reserve(1, []), 0, tf.constant(1.0))
    for _ in range(depth):
        a_list = push(push(empty(-1, -1, tf.variant), a_list), a_list)
    return int(raw.TensorListLength(input_handle=a_list))


def _sum_of_nested(depth: int) -> int:
    nest = _nested(depth)
    total = raw.AddN(inputs=[nest, nest])
    return int(raw.TensorListLength(input_handle=total))


def _self_pushed() -> list[int]:
    a_list = empty(-1, -1, tf.variant)
    for _ in range(30):
        a_list = push(a_list, a_list)
    inner = get(a_list, 29, dtype=tf.variant)
    return [int(raw.TensorListLength(input_handle=x)) for x in (a_list, inner)]


works("lists in lists, 100,000 deep", lambda: _freed(100000), "freed")
works("a list of one list twice, 1,000 deep", lambda: _doubled(1000), 2)
works("a list pushed into itself", _self_pushed, [30, 29])
works("a sum of lists in lists, 100 deep", lambda: _sum_of_nested(100), 1)
case("a sum of lists in lists, 100,000 deep", lambda: _sum_of_nested(100000), "nested more than")
works(
    "zeros like lists in lists, 100,000 deep",
    lambda: int(raw.TensorListLength(input_handle=raw.ZerosLike(x=_nested(100000)))),
    1,
)
works(
    "zeros of a list in a list",
    lambda: float(
        get(
            get(
                raw.ZerosLike(
                    x=push(empty(-1, -1, tf.variant), put(reserve(1, []), 0, tf.constant(5.0)))
                ),
                0,
                dtype=tf.variant,
            ),
            0,
        )
    ),
    0.0,
)
works("lists in lists, stacked", lambda: stack(_nested(3), dtype=tf.variant).shape.as_list(), [1])
case("lists in lists, added to others", lambda: raw.AddN(inputs=[_nested(3), _nested(2)]), "")


# ---- lists that are serialised and parsed --------------------------------------------------------


def _round_trip() -> float:
    a_list = put(reserve(3, []), 1, tf.constant(4.0))
    return float(get(raw.ParseTensor(serialized=raw.SerializeTensor(tensor=a_list),
                                     out_type=tf.variant), 1))  # fmt: skip


def _forged(metadata: bytes, tensors: int = 0, name: str = "tensorflow::TensorList") -> tf.Tensor:
    proto = tf.make_tensor_proto(0)
    proto.Clear()
    proto.dtype = tf.variant.as_datatype_enum
    value = proto.variant_val.add()
    value.type_name = name
    value.metadata = metadata
    for _ in range(tensors):
        value.tensors.append(tf.make_tensor_proto(1.0))
    return raw.ParseTensor(serialized=proto.SerializeToString(), out_type=tf.variant)


def _varints(*numbers: int) -> bytes:
    out = bytearray()
    for number in numbers:
        while number >= 128:
            out.append(number & 127 | 128)
            number >>= 7
        out.append(number)
    return bytes(out)


ENDLESS = 2**64 - 1  # also the encoding of a list without a bound
FORGED: dict[str, tuple[bytes, int]] = {
    "no metadata": (b"", 0),
    "2**59 unset elements": (_varints(2**59), 0),
    "2**64-1 unset elements": (_varints(2**64 - 1, 0, 1, ENDLESS), 0),
    "an element past the end": (_varints(1, 2, 1, ENDLESS), 1),
    "an element at 2**64-1": (_varints(1, 2**64 - 1, 1, ENDLESS), 1),
    "an element that is unset twice": (_varints(2, 1, 1, 1, ENDLESS), 1),
    "indices that fall": (_varints(2, 1, 0, 1, ENDLESS), 1),
    "fewer tensors than elements": (_varints(2, 0, 3, 1, ENDLESS), 1),
    "a dtype of 2**32+1": (_varints(0, 2**32 + 1, ENDLESS), 0),
    "no dtype": (_varints(0, 0, ENDLESS), 0),
    "a dtype of 99": (_varints(0, 99, ENDLESS), 0),
    "elements of another dtype": (_varints(0, 3, ENDLESS), 1),
    "no bound at all": (_varints(0, 1), 0),
    "a bound of 2**63": (_varints(0, 1, 2**63), 0),
    "a bound of -2": (_varints(0, 1, 2**64 - 2), 0),
    "a shape that is noise": (_varints(0, 1, ENDLESS) + b"\xff\xff\xff", 0),
    "a shape with -5": (_varints(0, 1, ENDLESS) + b"\x12\x0b\x08" + _varints(2**64 - 5), 0),
    "an endless number": (b"\x01" + b"\xff" * 20, 0),
}
works("a list, written out and read", _round_trip, 4.0)
for forged_name, (forged_bytes, forged_tensors) in FORGED.items():
    case(f"a forged list: {forged_name}",
         lambda data=forged_bytes, count=forged_tensors:
         raw.TensorListLength(input_handle=_forged(data, count)), "")  # fmt: skip
works(
    "a forged list that is one",
    lambda: int(raw.TensorListLength(input_handle=_forged(_varints(2, 0, 1, 1, ENDLESS), 5))),
    7,
)
works(
    "a forged list of a contradicting shape",
    lambda: get(_forged(_varints(0, 1, ENDLESS) + b"\x12\x02\x08\x05", 1), 0).shape.rank,
    0,
)
case(
    "a forged list of a contradicting shape, stacked",
    lambda: stack(_forged(_varints(0, 1, ENDLESS) + b"\x12\x02\x08\x05", 1)),
    "shape",
)
case(
    "a forged list of a contradicting shape, joined",
    lambda: concat(_forged(_varints(0, 1, ENDLESS) + b"\x12\x02\x08\x05", 1)),
    "shape|scalar",
)

# ---- sums by ops of the graph pass ---------------------------------------------------------------


def _three() -> tf.Tensor:
    return from_tensor(tf.constant([1.0, 2.0, 3.0]), [])


def _added(
    base: tf.Tensor, like: tf.Tensor, index: Any = 1, item: Any = 5.0, dtype: Any = f32
) -> tf.Tensor:
    return _loader.ops().tensor_array_grad_list_accumulate_like(
        list=base, index=index, item=tf.constant(item, dtype), like=like
    )


case("adding like another to no list", lambda: _added(blank(tf.variant), _three()), "not a list")
case("adding like another like no list", lambda: _added(_three(), blank(tf.variant)), "not a list")
case("adding like another before", lambda: _added(_three(), _three(), index=-1), "element -1 in")
case("adding like another behind", lambda: _added(_three(), _three(), index=3), "element 3 in")
case("adding like another shorter", lambda: _added(reserve(4), _three()), "One is 4 .* is 3")
case("adding like another shaped", lambda: _added(_three(), _three(), item=[5.0]), "incompatible")
case("adding like another at two", lambda: _added(_three(), _three(), index=[1, 2]), "scalar|rank")
works(
    "adding like another",
    lambda: stack(_added(_three(), _three())).numpy().tolist(),
    [1.0, 7.0, 3.0],
)
case(
    "adding another dtype",
    lambda: _added(_three(), _three(), item=5, dtype=tf.int32),
    "different dtypes",
)

# ---- stacks of values, into which the graph pass packs lists -------------------------------------


def _packed(*lists: tf.Tensor, kept: int | None = None) -> tf.Tensor:
    kept = len(lists) if kept is None else kept
    return _loader.ops().tensor_array_grad_new_loop_stack(lists=list(lists), kept=kept)


def _pushed(stack: tf.Tensor, *values: Any) -> tf.Tensor:
    return _loader.ops().tensor_array_grad_push_loop_stack(
        loop_stack=stack, values=[tf.convert_to_tensor(value) for value in values]
    )


def _popped(stack: tf.Tensor, *types: tf.DType) -> Any:
    return _loader.ops().tensor_array_grad_pop_loop_stack(loop_stack=stack, T=types)


def _two() -> tf.Tensor:
    return _packed(empty(), empty([2], most=1))


def _one_kept() -> tf.Tensor:
    return _packed(empty(), empty([2], most=1), kept=1)


def _pushed_to_one_kept() -> list[Any]:
    stack, values = _popped(_pushed(_one_kept(), 1.0, [1.0, 1.0]), f32)
    return [
        len(values),
        float(values[0]),
        len(_popped(_pushed(stack, 2.0, [0.0, 0.0]), f32)),
    ]


def _an_old_version() -> list[float]:
    first = _pushed(_packed(empty()), 1.0)
    longer = _pushed(first, 2.0)
    shorter, two = _popped(longer, f32)
    return [float(two[0]), float(_popped(shorter, f32)[1][0]), float(_popped(longer, f32)[1][0])]


case("packing no list", lambda: _packed(), "at least|Attr")
case("packing a list that is not empty", lambda: _packed(empty(), reserve(3)), "list 1 has 3")
case("packing what is no list", lambda: _packed(blank(tf.variant)), "not a list")
case("keeping more lists than there are", lambda: _packed(empty(), kept=2), "1 lists .* but 2 are")
case("keeping less than nothing", lambda: _packed(empty(), kept=-1), "at least|Attr")
case("pushing to a list", lambda: _pushed(empty(), 1.0), "not a loop stack")
case(
    "popping from a list", lambda: _popped(push(empty(), tf.constant(1.0)), f32), "not a loop stack"
)
case("pushing to nothing", lambda: _pushed(blank(tf.variant), 1.0), "not a loop stack")
case("pushing to two", lambda: _pushed(tf.stack([_two(), _two()]), 1.0), "scalar|rank")
case("pushing too few", lambda: _pushed(_two(), 1.0), "2 lists in the loop stack, but the op has 1")
case("pushing too many", lambda: _pushed(_two(), 1.0, [1.0, 1.0], 1.0), "has 3 values")
case("pushing another shape", lambda: _pushed(_two(), 1.0, [1.0]), "incompatible shape")
case("pushing another dtype", lambda: _pushed(_two(), 1, [1.0, 1.0]), "Invalid data types")
case(
    "pushing to a full list",
    lambda: _pushed(_pushed(_two(), 1.0, [1.0, 1.0]), 1.0, [1.0, 1.0]),
    "full list list size: 1 max_num_elements: 1",
)
case(
    "pushing to a full list that is not kept",
    lambda: _pushed(_pushed(_one_kept(), 1.0, [1.0, 1.0]), 1.0, [1.0, 1.0]),
    "full list list size: 1 max_num_elements: 1",
)
case(
    "pushing another shape to a list that is not kept",
    lambda: _pushed(_one_kept(), 1.0, [1.0]),
    "incompatible shape",
)
case(
    "popping from a list that is not kept",
    lambda: _popped(_pushed(_one_kept(), 1.0, [1.0, 1.0]), f32, f32),
    "1 lists in the loop stack, but the op has 2",
)
case(
    "popping once too often from a stack that keeps nothing",
    lambda: _popped(_popped(_pushed(_packed(empty(), kept=0), 1.0))[0]),
    "empty list",
)
works("a stack that keeps one of two lists", _pushed_to_one_kept, [1, 1.0, 2])
case("popping from an empty loop stack", lambda: _popped(_two(), f32, f32), "empty list")
case("popping too few", lambda: _popped(_two(), f32), "2 lists in the loop stack, but the op has 1")
case("popping another dtype", lambda: _popped(_two(), f32, tf.int32), "Invalid data types")
case("stacking a loop stack", lambda: stack(_two()), "not a list")
works("an old version of a loop stack", _an_old_version, [2.0, 1.0, 2.0])

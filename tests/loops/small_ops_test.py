"""Small ops in loops: the interpreter computes the same bits as the kernels.

A loop's body applies many ops to the rows of its inputs. The loop runs once in one kernel and once
in the executor, which uses no small op. Payloads of NaN are not compared: the compiler determines
which of two NaN an operation keeps.
"""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

import tensor_array_grad
from tensor_array_grad import _command

if not _command.switched_off():
    tensor_array_grad.enable()

ROWS = 4
DTYPES = (tf.float32, tf.float64, tf.int32, tf.int64)
SPECIAL = (0.0, -0.0, 1.0, -2.5, np.inf, -np.inf, np.nan, 1e-40, 3e38)

# Shapes that are broadcast to each other, of few and of many elements.
PAIRS = (
    ([3], [3]),
    ([], [3]),
    ([2, 3], []),
    ([1], [4]),
    ([2, 3], [3]),
    ([2, 1], [3]),
    ([2, 1], [1, 3]),
    ([1, 5], [4, 1]),
    ([2, 3, 4], [4]),
    ([2, 3, 4], [3, 1]),
    ([2, 1, 4], [1, 3, 1]),
    ([32, 32], [32]),
    ([33, 32], [32]),
)

BINARY = {
    "add": tf.add,
    "subtract": tf.subtract,
    "multiply": tf.multiply,
    "less": tf.less,
    "less_equal": tf.less_equal,
    "greater": tf.greater,
    "greater_equal": tf.greater_equal,
    "equal": tf.equal,
    "not_equal": tf.not_equal,
    "where": lambda a, b: tf.where(a > b, a, b),
    "where_or_zero": lambda a, b: tf.where(a > b, b, tf.zeros([], a.dtype)),
    "where_of_a_scalar": lambda a, b: tf.where(tf.reduce_any(a > b), a, b),
}


def values(shape, dtype, seed):
    """Random numbers, which include the SPECIAL ones if the dtype is one of real floating point."""
    rng = np.random.default_rng(seed)
    whole = [ROWS, *shape]
    if dtype.is_complex:
        return (rng.normal(size=whole) + 1j * rng.normal(size=whole)).astype(dtype.as_numpy_dtype)
    if not dtype.is_floating:
        return rng.integers(-(2**31), 2**31 - 1, whole).astype(dtype.as_numpy_dtype)
    x = rng.normal(size=whole)
    return np.where(rng.random(whole) < 0.4, rng.choice(SPECIAL, whole), x).astype(
        dtype.as_numpy_dtype
    )


def results(program, *inputs):
    """What `program` returns for the last rows of the inputs, computed in a loop over all rows."""

    @tf.function(autograph=False, reduce_retracing=False)
    def run(*inputs):
        def body(i, *_):
            return i + 1, *program(*(x[i] for x in inputs))

        first = [tf.zeros_like(y) for y in program(*(x[0] for x in inputs))]
        return tf.while_loop(lambda i, *_: i < ROWS, body, (0, *first))[1:]

    return [y.numpy() for y in run(*(tf.constant(x) for x in inputs))]


@pytest.fixture(name="assert_same_bits")
def fixture_assert_same_bits(counted):
    """Asserts that a loop in one kernel and a loop in the executor compute the same bits."""

    def check(program, *inputs, names=None):
        got = results(program, *inputs)
        assert counted["loops.runs"] == 1
        compare(got, program, inputs, names)

    return check


def compare(got, program, inputs, names):
    with tensor_array_grad.loops_in_one_kernel(False):
        want = results(program, *inputs)
    assert len(got) == len(want) > 0
    for k, (one, other) in enumerate(zip(got, want, strict=True)):
        where = str(names[k] if names else k)
        assert (one.dtype, one.shape) == (other.dtype, other.shape), where
        bits, wanted = one.tobytes(), other.tobytes()
        if one.dtype.kind in "fc":
            np.testing.assert_array_equal(np.isnan(one), np.isnan(other), err_msg=where)
            bits, wanted = (np.where(np.isnan(x), 0, x).tobytes() for x in (one, other))
        assert bits == wanted, f"{where}: {one} is not {other}"


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: dtype.name)
@pytest.mark.parametrize("swapped", [False, True], ids=("", "swapped"))
@pytest.mark.sweep(3)
def test_elementwise_ops_broadcast_shapes_to_each_other(assert_same_bits, dtype, swapped):
    pairs = [pair[::-1] if swapped else pair for pair in PAIRS]
    inputs = [values(shape, dtype, k) for k, shape in enumerate(sum(pairs, ()))]
    names = [f"{name} {a} {b}" for a, b in pairs for name in BINARY]

    def program(*rows):
        return [
            op(a, b) for a, b in zip(rows[::2], rows[1::2], strict=True) for op in BINARY.values()
        ]

    assert_same_bits(program, *inputs, names=names)


@pytest.mark.parametrize("dtype", [*DTYPES, tf.complex64, tf.half], ids=lambda dtype: dtype.name)
@pytest.mark.parametrize("count", [1, 5], ids=["number", "vector"])
@pytest.mark.parametrize("terms", [2, 3, 4, 8, 9])
@pytest.mark.sweep(3)
def test_sums_of_several_terms_are_added_in_the_order_of_the_kernel(
    assert_same_bits, dtype, count, terms
):
    shape = [count] if count > 1 else []
    inputs = [values(shape, dtype, k) for k in range(3)]
    kept = tf.constant(values(shape, dtype, 4)[0])

    def program(a, b, c):
        factors = iter(range(2, 100))

        def fresh():
            """A term that only one sum reads. Stock's order varies if several sums read a term."""
            k = next(factors)
            return (a * k, b - k, c * k)[k % 3]

        def a_sum(places):
            # The sum begins with the first term whose buffer no other tensor shares. The buffers of
            # a constant of the loop ("k") and of a term that is read twice ("t") are shared.
            twice = fresh()
            made = {"f": fresh, "k": lambda: kept, "t": lambda: twice}
            return tf.add_n([made[places[k % len(places)]]() for k in range(terms)])

        return [a_sum(places) for places in ("f", "kf", "kkf", "tft", "ttf", "kttf", "ktf", "tk")]

    assert_same_bits(program, *inputs)


@pytest.mark.parametrize("small", [True, False])
def test_lists_of_small_tensors_are_read_and_summed_without_kernels(counted, small):
    """The tests that compare results would also pass if the interpreter never used a small op."""
    width, steps = (5 if small else 5000), 100

    @tf.function(autograph=False)
    def gradient(x):
        def body(i, h):
            return i + 1, h * 0.5 + array.read(i) * array.read(steps - 1 - i)

        with tf.GradientTape() as tape:
            tape.watch(x)
            array = tf.TensorArray(tf.float32, steps).unstack(x)
            y = tf.while_loop(lambda i, h: i < steps, body, (0, tf.zeros([width])))[1]
        return tape.gradient(y, x)

    gradient(tf.ones([steps, width]))
    assert counted["loops.runs"] == 2
    assert counted["kernels.TensorListGetItem"] == 0
    assert counted["kernels.TensorArrayGrad>ListAccumulate"] == (0 if small else steps)


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: dtype.name)
def test_ops_that_change_shapes_give_the_bits_of_the_kernels(assert_same_bits, dtype):
    inputs = [values([2, 1, 6], dtype, 0), values([6], dtype, 1), values([6, 4], dtype, 2)]

    def program(a, b, c):
        return [
            tf.squeeze(a, 1),
            tf.squeeze(a[:1]),
            tf.expand_dims(b, 0),
            tf.expand_dims(c, -1),
            tf.stack([b, b * 2, b]),
            tf.stack([b, b * 2], -1),
            tf.stack([b[0], b[1], b[2]]),
            tf.concat([a, a * 2], 0),
            tf.concat([c, c[:, :1]], 1),
            tf.concat([b, b[1:3], b[:1]], -1),
            *tf.split(c, 4, 1),
            *tf.split(a, 3, -1),
            *tf.split(c, 3, 0),
            tf.tile(a, [1, 3, 1]),
            tf.tile(c, [2, 1]),
            tf.broadcast_to(a, [2, 5, 6]),
            tf.broadcast_to(b, [3, 6]),
            tf.reshape(c, [4, -1]),
        ]

    assert_same_bits(program, *inputs)


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: dtype.name)
def test_slices_and_their_gradients_have_the_bits_of_the_kernels(assert_same_bits, dtype):
    x, index = values([5, 3], dtype, 0), np.arange(ROWS, dtype=np.int32)
    slices = (
        lambda x, i: x[i],
        lambda x, i: x[:, i - 1],
        lambda x, i: x[i:, tf.newaxis],
        lambda x, i: x[..., tf.newaxis],
        lambda x, i: x[tf.newaxis, ..., i - 1],
        lambda x, i: x[:, tf.newaxis, 1:],
        lambda x, i: x[1:4, 2],
        lambda x, i: x[i, :2][tf.newaxis],
        lambda x, i: x[::2, 1],
        lambda x, i: x[:1],
    )

    def program(x, i):
        parts = [part(x, i % 2 + 1) for part in slices[:2]]
        parts += [part(x, tf.constant(1)) for part in slices[2:]]
        shape = tf.constant([5, 3])
        gradient = tf.raw_ops.StridedSliceGrad
        ones, masks = [1, 1], {"begin_mask": 1, "end_mask": 1}
        grads = [
            gradient(
                shape=shape,
                begin=[0, 1],
                end=[0, 2],
                strides=ones,
                dy=x[:, 1],
                **masks,
                shrink_axis_mask=2,
            ),
            gradient(shape=shape, begin=[0, i % 3], end=[5, i % 3 + 1], strides=ones, dy=x[:, :1]),
            gradient(shape=[3], begin=[0, 0], end=[0, 3], strides=ones, dy=x[:1], new_axis_mask=1),
            gradient(shape=shape, begin=[i], end=[i + 1], strides=[1], dy=x[2], shrink_axis_mask=1),
        ]
        return parts + grads

    assert_same_bits(program, x, index)


@pytest.mark.parametrize("dtype", [tf.float32, tf.float64], ids=lambda dtype: dtype.name)
def test_ops_on_floats_give_the_bits_of_the_kernels(assert_same_bits, dtype):
    inputs = [values([4, 6], dtype, 0), values([6], dtype, 1)]

    def program(x, bias):
        return [
            tf.math.is_finite(x),
            tf.math.is_finite(bias[0]),
            tf.nn.bias_add(x, bias),
            tf.nn.bias_add(tf.reshape(x, [2, 2, 6]) * 2.0, bias),
            -x,
            tf.square(x),
        ]

    assert_same_bits(program, *inputs)


def lists():
    """A vector of two lists."""
    reserve = tf.raw_ops.TensorListReserve
    return tf.stack(
        [reserve(element_shape=tf.constant([], tf.int32), num_elements=1, element_dtype=tf.float32)]
        * 2
    )


ERRORS = {
    "tile_of_2_to_the_64": (
        lambda i: tf.tile(tf.ones([1, 4]), tf.stack([2**62 - tf.cast(i, tf.int64), 1])),
        r"Encountered overflow when multiplying 46116860184273879\d\d with 4",
    ),
    "six_dimensions": (
        lambda i: tf.ones([2, 1] * 3) * tf.cast(i, tf.float32) + tf.ones([1, 2] * 3),
        r"Broadcast between \[2,1,2,1,2,1\] and \[1,2,1,2,1,2\] is not supported yet",
    ),
    "broadcast_to_six_dimensions": (
        lambda i: tf.broadcast_to(tf.ones([1, 2] * 3) * tf.cast(i, tf.float32), [2] * 6),
        r"Broadcast between \[1,2,1,2,1,2\] and \[2,2,2,2,2,2\] is not supported yet",
    ),
    "shapes_that_do_not_fit": (
        lambda i: tf.ones([2, i + 2]) + tf.ones([3]),
        r"Incompatible shapes: \[2,2\] vs. \[3\]",
    ),
    "squeeze_of_two": (
        lambda i: tf.raw_ops.Squeeze(input=tf.ones([1, i + 2]), axis=[1]),
        r"Can not squeeze dim\[1\], expected a dimension of 1, got [23]",
    ),
    "concatenation_of_two_ranks": (
        lambda i: tf.concat([tf.ones([2, 2]), tf.ones(tf.fill([i + 1], 2))], 0),
        r"ConcatOp : (Ranks|Dimension) .* match",
    ),
}


@pytest.mark.parametrize(("body", "message"), ERRORS.values(), ids=ERRORS)
def test_errors_of_small_ops_are_those_of_the_kernels(counted, body, message):
    found = []
    for in_one_kernel in (True, False):
        # Shape inference must not know the shapes: it would report some of the errors before the
        # loop runs.
        function = tf.function(
            lambda n: tf.while_loop(
                lambda i, _: i < n,
                lambda i, s: (i + 1, s + tf.reduce_sum(body(tf.where(i > 5, 9, i)))),
                (tf.constant(0), tf.constant(0.0)),
            )[1],
            autograph=False,
        )
        with (
            tensor_array_grad.loops_in_one_kernel(in_one_kernel),
            pytest.raises(tf.errors.OpError, match=message) as error,
        ):
            function(tf.constant(2))
        found.append(type(error.value))
    assert counted["loops.runs"] == 1
    assert found[0] is found[1]


@pytest.mark.parametrize("op", ["Squeeze", "ExpandDims"])
def test_reshaping_a_variant_raises_the_error_of_the_kernel(op):
    def body(i, s, v):
        if op == "Squeeze":
            a_list = tf.raw_ops.Squeeze(input=v[i : i + 1], axis=[0])
        else:
            a_list = tf.raw_ops.ExpandDims(input=v, axis=0)[0, i]
        return i + 1, s + tf.raw_ops.TensorListLength(input_handle=a_list), v

    function = tf.function(
        lambda v: tf.while_loop(lambda i, *_: i < 2, body, (0, 0, v))[1], autograph=False
    )
    with pytest.raises(tf.errors.InvalidArgumentError, match=f"{op} on Variant not supported"):
        function(lists())

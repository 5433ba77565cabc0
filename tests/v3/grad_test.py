"""TensorArrayGradV3 and TensorArrayGradWithShape, in each mode."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
import tensorflow as tf

import tensor_array_grad
from tests.support import kernel_runner
from tests.support.script import Script

each_mode = pytest.mark.parametrize("mode", kernel_runner.MODES)
raw = tf.raw_ops


@each_mode
def test_writes_to_a_gradient_array_are_summed(ours, mode):
    script = Script()
    grad = script.grad(script.array(2))
    for value in ([1.0, 2.0], [10.0, 20.0], [100.0, 200.0]):
        script.write(grad, 1, value)
    read = script.read(grad, 1)
    np.testing.assert_array_equal(script.run(ours, mode)[read], [111.0, 222.0])


@each_mode
def test_each_source_has_one_gradient_array(ours, mode):
    script = Script()
    array = script.array(1)
    first, same, other = (script.grad(array, source) for source in ("a", "a", "b"))
    script.write(first, 0, [1.0])
    script.write(same, 0, [2.0])
    script.write(other, 0, [5.0])
    summed, alone = script.read(same, 0), script.read(other, 0)
    results = script.run(ours, mode)
    np.testing.assert_array_equal(results[summed], [3.0])
    np.testing.assert_array_equal(results[alone], [5.0])


@each_mode
def test_a_gradient_never_written_is_zeros_of_the_forward_shape(ours, mode):
    script = Script()
    array = script.array(3)
    script.write(array, 0, [1.0, 2.0])
    script.write(array, 1, [[3.0]])
    grad = script.grad(array)
    reads = [script.read(grad, 0), script.read(grad, 1)]
    unknown = script.read(grad, 2)
    results = script.run(ours, mode)
    np.testing.assert_array_equal(results[reads[0]], [0.0, 0.0])
    np.testing.assert_array_equal(results[reads[1]], [[0.0]])
    assert "not fully defined" in results.error(unknown).message


@each_mode
def test_a_gradient_array_knows_the_shapes_of_elements_that_were_read_and_cleared(ours, mode):
    script = Script()
    array = script.array(1)
    script.write(array, 0, [1.0, 2.0])
    script.read(array, 0)
    read = script.read(script.grad(array), 0)
    np.testing.assert_array_equal(script.run(ours, mode)[read], [0.0, 0.0])


@each_mode
def test_writes_made_after_the_gradient_array_do_not_shape_it(ours, mode):
    script = Script()
    array = script.array(1)
    grad = script.grad(array)
    script.write(array, 0, [1.0, 2.0])
    write = script.write(grad, 0, [[1.0]])
    read = script.read(grad, 0)
    results = script.run(ours, mode)
    assert results[write] == 0.0
    np.testing.assert_array_equal(results[read], [[1.0]])


@each_mode
def test_making_a_gradient_array_fixes_the_size_of_the_forward_array(ours, mode):
    script = Script()
    array = script.array(1, dynamic=True)
    script.write(array, 2, [1.0])
    grad = script.grad(array)
    size = script.size(grad)
    late = script.write(array, 3, [1.0])
    results = script.run(ours, mode)
    assert results[size] == 3
    assert "index 3 but array is not resizeable and size is: 3" in results.error(late).message


@each_mode
def test_a_gradient_read_past_the_end_is_zeros_and_enlarges_the_array(ours, mode):
    script = Script()
    grad = script.grad(script.array(1, element_shape=[2]))
    read, size = script.read(grad, 1000), script.size(grad)
    results = script.run(ours, mode)
    np.testing.assert_array_equal(results[read], [0.0, 0.0])
    assert results[size] == 1001


@each_mode
def test_the_prefix_is_prepended_to_each_element_shape(ours, mode):
    script = Script()
    array = script.array(2)
    script.write(array, 0, [1.0, 2.0])
    grad = script.grad_with_shape(array, [3, 1])
    zeros = script.read(grad, 0)
    bad = script.write(grad, 0, [1.0])
    results = script.run(ours, mode)
    np.testing.assert_array_equal(results[zeros], np.zeros([3, 1, 2]))
    assert results.error(bad).kind == "InvalidArgumentError"


@each_mode
def test_a_refused_gradient_array_does_not_fix_the_size_of_the_forward_array(ours, mode):
    script = Script()
    array = script.array(1, dynamic=True)
    bad = script.grad_with_shape(array, [-1])
    grow = script.write(array, 3, [1.0])
    results = script.run(ours, mode)
    assert results.error(bad).kind == "InvalidArgumentError"
    if mode == "eager":
        assert results[grow] == 0.0


@each_mode
def test_scatter_with_repeated_indices_sums(ours, mode):
    script = Script()
    grad = script.grad(script.array(3, element_shape=[2]))
    script.write(grad, 1, [100.0, 100.0])
    script.scatter(grad, [1, 0, 1], [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    gather = script.gather(grad, [0, 1, 2])
    np.testing.assert_array_equal(
        script.run(ours, mode)[gather], [[3.0, 4.0], [106.0, 108.0], [0.0, 0.0]]
    )


@each_mode
def test_split_sums_piece_by_piece_and_concat_joins_the_sums(ours, mode):
    script = Script()
    array = script.array(2)
    script.split(array, [1.0, 2.0, 3.0], [1, 2])
    grad = script.grad(array)
    script.split(grad, [10.0, 20.0, 30.0], [1, 2])
    script.split(grad, [1.0, 1.0, 1.0], [1, 2])
    concat = script.concat(grad)
    value, lengths = script.run(ours, mode).outputs(concat)
    np.testing.assert_array_equal(value, [11.0, 21.0, 31.0])
    assert lengths.tolist() == [1, 2]


@each_mode
def test_concat_of_a_gradient_array_that_was_never_split_joins_its_slots(ours, mode):
    script = Script()
    grad = script.grad(script.array(2, element_shape=[1]))
    script.write(grad, 1, [2.0])
    concat = script.concat(grad)
    np.testing.assert_array_equal(script.run(ours, mode)[concat], [0.0, 2.0])


@each_mode
def test_a_gradient_array_has_gradient_arrays_of_its_own(ours, mode):
    script = Script()
    array = script.array(2, element_shape=[1])
    grad = script.grad(array, "g")
    script.write(grad, 0, [1.0])
    second = script.grad(grad, "h")
    script.write(second, 0, [5.0])
    script.write(second, 0, [6.0])
    reads = [script.read(second, 0), script.read(second, 0), script.read(grad, 0)]
    third = script.read(script.grad(second, "i"), 1)
    results = script.run(ours, mode)
    np.testing.assert_array_equal([results[k] for k in reads], [[11.0], [11.0], [1.0]])
    np.testing.assert_array_equal(results[third], [0.0])


@each_mode
def test_a_closed_gradient_array_is_replaced(ours, mode):
    script = Script()
    array = script.array(1)
    old = script.grad(array)
    script.write(old, 0, [1.0])
    script.close(old)
    new = script.grad(array)
    script.write(new, 0, [2.0])
    read = script.read(new, 0)
    np.testing.assert_array_equal(script.run(ours, mode)[read], [2.0])


@pytest.mark.parametrize(
    ("dtype", "addends", "total"),
    [
        ("int8", [100, 100, 100], 44),
        ("uint8", [200, 100], 44),
        ("int64", [2**62, 2**62], -(2**63)),
        ("float16", [2048, 1, 1], 2048),
        ("bfloat16", [256, 1, 1], ml_dtypes.bfloat16(256)),
        ("complex64", [1 + 2j, 3 - 1j], 4 + 1j),
        ("float32", [np.inf, -np.inf], np.nan),
    ],
)
def test_sums_are_computed_in_the_dtype_and_in_the_order_of_the_writes(ours, dtype, addends, total):
    script = Script(dtype)
    grad = script.grad(script.array(1))
    for addend in addends:
        script.write(grad, 0, [addend])
    read = script.read(grad, 0)
    np.testing.assert_array_equal(script.run(ours)[read], [total])


def test_a_single_value_keeps_its_sign_of_zero(ours):
    """The zeros of an unwritten slot are not added to the first value: 0.0 + -0.0 would be 0.0."""
    script = Script()
    array = script.array(1, element_shape=[1])
    script.write(array, 0, [1.0])
    grad = script.grad(array)
    script.write(grad, 0, [-0.0])
    read = script.read(grad, 0)
    assert np.signbit(script.run(ours)[read]).all()


def test_summing_does_not_change_the_tensors_of_the_caller():
    first, second = tf.constant([1.0, 2.0]), tf.constant([10.0, 20.0])
    handle, flow = raw.TensorArrayV3(size=1, dtype=tf.float32)
    grad, flow = raw.TensorArrayGradV3(handle=handle, flow_in=flow, source="g")
    for value in (first, second, first):
        raw.TensorArrayWriteV3(handle=grad, index=0, value=value, flow_in=flow)
    read = raw.TensorArrayReadV3(handle=grad, index=0, flow_in=flow, dtype=tf.float32)
    np.testing.assert_array_equal(read, [12.0, 24.0])
    np.testing.assert_array_equal(first, [1.0, 2.0])
    np.testing.assert_array_equal(second, [10.0, 20.0])


def test_names_that_join_to_one_string_are_two_arrays():
    """`a_1` with source `b_2@s`, and `a_1@b_2` with source `s`: stock finds one array for both."""
    one, flow = raw.TensorArrayV3(size=1, dtype=tf.float32, tensor_array_name="a")
    newest = tensor_array_grad.status().arrays[-1].name
    number = int(newest.removeprefix("_tensor_arraysa_"))
    two, _ = raw.TensorArrayV3(size=1, dtype=tf.float32, tensor_array_name=f"a_{number}@b")
    source = f"b_{number + 1}@s"
    grad_one, _ = raw.TensorArrayGradV3(handle=one, flow_in=flow, source=source)
    grad_two, _ = raw.TensorArrayGradV3(handle=two, flow_in=flow, source="s")
    raw.TensorArrayWriteV3(handle=grad_one, index=0, value=[1.0], flow_in=flow)
    raw.TensorArrayWriteV3(handle=grad_two, index=0, value=[2.0], flow_in=flow)
    for grad, want in ((grad_one, 1.0), (grad_two, 2.0)):
        read = raw.TensorArrayReadV3(handle=grad, index=0, flow_in=flow, dtype=tf.float32)
        np.testing.assert_array_equal(read, [want])

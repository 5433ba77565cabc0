"""TensorArrayV3, TensorArraySizeV3 and TensorArrayCloseV3; names, lifetimes and dtypes."""

from __future__ import annotations

import re

import numpy as np
import pytest
import tensorflow as tf

import tensor_array_grad
from tests.support import kernel_runner, reference
from tests.support.script import Script

each_mode = pytest.mark.parametrize("mode", kernel_runner.MODES)
raw = tf.raw_ops


@each_mode
@pytest.mark.parametrize("n", [0, 1, 7])
def test_the_size_is_the_one_asked_for_and_the_flow_is_zero(ours, mode, n):
    script = Script()
    array = script.array(n)
    size = script.size(array)
    results = script.run(ours, mode)
    assert results[size] == n
    assert results[size].dtype == np.int32
    assert results[array] == 0.0
    assert results[array].dtype == np.float32


@each_mode
def test_a_dynamic_array_grows_with_its_writes(ours, mode):
    script = Script()
    array = script.array(0, dynamic=True)
    sizes = [script.size(array)]
    for index in (0, 4, 2):
        script.write(array, index, [1.0])
        sizes.append(script.size(array))
    results = script.run(ours, mode)
    assert [int(results[k]) for k in sizes] == [0, 1, 5, 5]


@each_mode
def test_a_closed_array_refuses_everything_but_another_close(ours, mode):
    script = Script()
    array = script.array(1)
    script.close(array)
    script.close(array)
    last = script.size(array)
    assert "has already been closed." in script.run(ours, mode).error(last).message


@each_mode
def test_closing_the_forward_array_does_not_close_its_gradient_array(ours, mode):
    script = Script()
    array = script.array(2, element_shape=[1])
    grad = script.grad(array)
    script.write(grad, 0, [3.0])
    script.close(array)
    size, read = script.size(grad), script.read(grad, 0)
    results = script.run(ours, mode)
    assert results[size] == 2
    assert results[read] == [3.0]


@pytest.mark.parametrize(
    "dtype",
    [*reference.NUMBERS, "bool", "string"],
)
def test_values_of_every_dtype_are_read_unchanged(ours, dtype):
    value = [b"a", b"\x00"] if dtype == "string" else [0, 1]
    script = Script(dtype)
    array = script.array(3, clear=False)
    script.write(array, 0, value)
    script.scatter(array, [1, 2], [value, value])
    read, gather, concat = script.read(array, 0), script.gather(array, [2, 0]), script.concat(array)
    results = script.run(ours)
    want = np.asarray(value, results[read].dtype)
    np.testing.assert_array_equal(results[read], want)
    np.testing.assert_array_equal(results[gather], [want, want])
    np.testing.assert_array_equal(results[concat], np.concatenate([want] * 3))


@pytest.mark.parametrize("dtype", [tf.qint8, tf.quint8, tf.qint32, tf.qint16])
def test_quantised_values_are_stored(dtype):
    bits = tf.constant([1, 2], {1: tf.int8, 2: tf.int16, 4: tf.int32}[dtype.size])
    handle, flow = raw.TensorArrayV3(size=1, dtype=dtype)
    value = tf.bitcast(bits, dtype)
    raw.TensorArrayWriteV3(handle=handle, index=0, value=value, flow_in=flow)
    got = raw.TensorArrayReadV3(handle=handle, index=0, flow_in=flow, dtype=dtype)
    assert got.dtype == dtype
    np.testing.assert_array_equal(tf.bitcast(got, bits.dtype), bits)


def test_variants_and_resources_are_stored():
    list_in = raw.TensorListReserve(
        element_shape=tf.constant([], tf.int32), num_elements=3, element_dtype=tf.float32
    )
    variable = tf.Variable([1.0, 2.0])
    for dtype, value, check in [
        (tf.variant, list_in, lambda v: raw.TensorListLength(input_handle=v) == 3),
        (tf.resource, variable.handle,
         lambda v: tf.reduce_all(raw.ReadVariableOp(resource=v, dtype=tf.float32) == [1.0, 2.0])),
    ]:  # fmt: skip
        handle, flow = raw.TensorArrayV3(size=1, dtype=dtype)
        raw.TensorArrayWriteV3(handle=handle, index=0, value=value, flow_in=flow)
        assert check(raw.TensorArrayReadV3(handle=handle, index=0, flow_in=flow, dtype=dtype))


def _names() -> list[str]:
    return [array.name for array in tensor_array_grad.status().arrays]


def test_names_are_those_of_stock():
    before = set(_names())
    named, flow = raw.TensorArrayV3(size=1, dtype=tf.float32, tensor_array_name="mine")
    unnamed, _ = raw.TensorArrayV3(size=1, dtype=tf.float32)
    grad, _ = raw.TensorArrayGradV3(handle=named, flow_in=flow, source="a/gradients")
    first, second, third = sorted(set(_names()) - before, key=lambda n: ("grads" in n, n))
    assert re.fullmatch(r"_tensor_arraysTensorArrayV3_\d+", first)
    number = re.fullmatch(r"_tensor_arraysmine_(\d+)", second)[1]
    assert third == f"_tensor_array_gradsmine_{number}@a/gradients"
    del unnamed, grad


def test_an_array_exists_as_long_as_a_handle_to_it():
    before = len(_names())
    handle, flow = raw.TensorArrayV3(size=1, dtype=tf.float32)
    raw.TensorArrayWriteV3(handle=handle, index=0, value=[1.0], flow_in=flow)
    grad, _ = raw.TensorArrayGradV3(handle=handle, flow_in=flow, source="g")
    assert len(_names()) == before + 2
    del handle
    assert len(_names()) == before + 1  # the gradient array does not own its forward array
    del grad
    assert len(_names()) == before


def test_a_gradient_array_is_owned_by_its_forward_array():
    handle, flow = raw.TensorArrayV3(size=1, dtype=tf.float32)
    grad, _ = raw.TensorArrayGradV3(handle=handle, flow_in=flow, source="g")
    raw.TensorArrayWriteV3(handle=grad, index=0, value=[4.0], flow_in=flow)
    del grad
    again, _ = raw.TensorArrayGradV3(handle=handle, flow_in=flow, source="g")
    read = raw.TensorArrayReadV3(handle=again, index=0, flow_in=flow, dtype=tf.float32)
    np.testing.assert_array_equal(read, [4.0])


def test_a_handle_outlives_the_function_that_made_it():
    @tf.function
    def make():
        handle, flow = raw.TensorArrayV3(size=2, dtype=tf.float32)
        flow = raw.TensorArrayWriteV3(handle=handle, index=0, value=[5.0], flow_in=flow)
        with tf.control_dependencies([flow]):
            return tf.identity(handle)

    @tf.function(input_signature=[tf.TensorSpec(None, tf.resource)])
    def use(handle):
        return raw.TensorArrayReadV3(handle=handle, index=0, flow_in=0.0, dtype=tf.float32)

    before = len(_names())
    handle = make()
    np.testing.assert_array_equal(use(handle), [5.0])
    del handle
    assert len(_names()) == before


def test_clear_session_does_not_destroy_an_array_that_has_a_handle():
    handle, flow = raw.TensorArrayV3(size=1, dtype=tf.float32)
    raw.TensorArrayWriteV3(handle=handle, index=0, value=[6.0], flow_in=flow)
    tf.keras.backend.clear_session()
    read = raw.TensorArrayReadV3(handle=handle, index=0, flow_in=flow, dtype=tf.float32)
    np.testing.assert_array_equal(read, [6.0])


def test_destroy_resource_does_not_destroy_an_array_that_has_a_handle():
    handle, flow = raw.TensorArrayV3(size=1, dtype=tf.float32)
    raw.DestroyResourceOp(resource=handle, ignore_lookup_error=True)
    assert raw.TensorArraySizeV3(handle=handle, flow_in=flow) == 1


@pytest.mark.parametrize("name", ["", "@", "/", "a b", "é", "x" * 10000])
def test_any_name_and_source_are_accepted(name):
    handle, flow = raw.TensorArrayV3(size=1, dtype=tf.float32, tensor_array_name=name)
    grad, _ = raw.TensorArrayGradV3(handle=handle, flow_in=flow, source=name)
    raw.TensorArrayWriteV3(handle=grad, index=0, value=[7.0], flow_in=flow)
    again, _ = raw.TensorArrayGradV3(handle=handle, flow_in=flow, source=name)
    read = raw.TensorArrayReadV3(handle=again, index=0, flow_in=flow, dtype=tf.float32)
    np.testing.assert_array_equal(read, [7.0])


def test_a_variable_with_the_name_of_an_array_is_refused():
    handle, _ = raw.TensorArrayV3(size=1, dtype=tf.float32)
    name = _names()[-1]
    variable = raw.VarHandleOp(dtype=tf.float32, shape=[], shared_name=name)
    with pytest.raises(tf.errors.InvalidArgumentError, match="wrong type"):
        raw.TensorArrayGradV3(handle=variable, flow_in=0.0, source="g")
    del handle


def test_a_deserialised_handle_finds_the_array_while_it_exists():
    handle, _ = raw.TensorArrayV3(size=3, dtype=tf.float32)
    parsed = tf.io.parse_tensor(tf.io.serialize_tensor(handle), tf.resource)
    assert raw.TensorArraySizeV3(handle=parsed, flow_in=0.0) == 3
    del handle
    with pytest.raises(tf.errors.NotFoundError, match="does not exist"):
        raw.TensorArraySizeV3(handle=parsed, flow_in=0.0)


def test_v3_arrays_work_in_functions_compiled_by_xla():
    @tf.function(jit_compile=True)
    def compiled(x):
        handle, flow = raw.TensorArrayV3(size=3, dtype=tf.float32, element_shape=[2])
        flow = raw.TensorArrayWriteV3(handle=handle, index=1, value=x, flow_in=flow)
        return raw.TensorArrayGatherV3(
            handle=handle, indices=[0, 1, 2], flow_in=flow, dtype=tf.float32, element_shape=[2]
        )

    np.testing.assert_array_equal(compiled(tf.constant([1.0, 2.0])), [[0, 0], [1, 2], [0, 0]])

"""TensorArrayWriteV3 and TensorArrayReadV3, in each mode."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support import kernel_runner
from tests.support.script import Script

each_mode = pytest.mark.parametrize("mode", kernel_runner.MODES)


@each_mode
@pytest.mark.parametrize("shape", [(), (0,), (1,), (7,), (2, 3)])
def test_read_gives_what_was_written(ours, mode, shape):
    value = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    script = Script()
    array = script.array(2)
    write = script.write(array, 1, value)
    read = script.read(array, 1)
    results = script.run(ours, mode)
    np.testing.assert_array_equal(results[read], value)
    assert results[read].shape == shape
    assert results[write] == 0.0


@each_mode
def test_a_second_read_is_refused_when_reading_clears(ours, mode):
    script = Script()
    array = script.array(1)
    script.write(array, 0, [1.0])
    script.read(array, 0)
    again = script.read(array, 0)
    assert "index 0 twice because it was cleared" in script.run(ours, mode).error(again).message


@each_mode
def test_reads_repeat_when_reading_does_not_clear(ours, mode):
    script = Script()
    array = script.array(1, clear=False)
    script.write(array, 0, [1.0, 2.0])
    reads = [script.read(array, 0) for _ in range(3)]
    results = script.run(ours, mode)
    for read in reads:
        np.testing.assert_array_equal(results[read], [1.0, 2.0])


@each_mode
def test_a_slot_never_written_reads_as_zeros_of_a_known_shape(ours, mode):
    script = Script()
    array = script.array(2, element_shape=[2, 1], clear=False)
    reads = [script.read(array, 1), script.read(array, 1)]
    late = script.write(array, 1, [[1.0], [2.0]])
    results = script.run(ours, mode)
    for read in reads:
        np.testing.assert_array_equal(results[read], [[0.0], [0.0]])
    assert "because it has already been read." in results.error(late).message


@each_mode
def test_writing_twice_is_refused_and_keeps_the_first_value(ours, mode):
    script = Script()
    array = script.array(1)
    script.write(array, 0, [1.0])
    again = script.write(array, 0, [2.0])
    read = script.read(array, 0)
    results = script.run(ours, mode)
    assert "it has already been written to" in results.error(again).message
    if mode == "eager":
        np.testing.assert_array_equal(results[read], [1.0])


@each_mode
def test_the_first_value_fixes_the_shape_of_identical_elements(ours, mode):
    script = Script()
    array = script.array(3, identical=True, element_shape=[-1])
    script.write(array, 0, [1.0, 2.0])
    zeros = script.read(array, 2)
    other = script.write(array, 1, [1.0])
    results = script.run(ours, mode)
    np.testing.assert_array_equal(results[zeros], [0.0, 0.0])
    assert "[1] which is incompatible" in results.error(other).message
    assert "element shape: [2]" in results.error(other).message


@each_mode
def test_a_write_returns_its_flow_unchanged(ours, mode):
    flow = np.asarray([[1.5, np.nan]], np.float32)
    script = Script()
    array = script.array(1)
    write = script.write(array, 0, [1.0], flow=flow)
    np.testing.assert_array_equal(script.run(ours, mode)[write], flow)


@each_mode
def test_a_refused_write_neither_grows_the_array_nor_fixes_its_element_shape(ours, mode):
    script = Script()
    array = script.array(1, dynamic=True, identical=True, element_shape=[-1])
    bad = script.write(array, 5, [[1.0]])
    size = script.size(array)
    write = script.write(array, 0, [1.0, 2.0])
    results = script.run(ours, mode)
    assert results.error(bad).kind == "InvalidArgumentError"
    if mode == "eager":
        assert results[size] == 1
        assert results[write] == 0.0


def test_reads_of_a_gradient_array_of_order_2_do_not_clear(ours):
    script = Script()
    array = script.array(1)
    outer = script.grad(script.grad(array), "h")
    script.write(outer, 0, [1.0])
    script.write(outer, 0, [2.0])
    first = script.read(outer, 0)
    again = script.read(outer, 0)
    results = script.run(ours)
    np.testing.assert_array_equal(results[first], [3.0])
    np.testing.assert_array_equal(results[again], [3.0])

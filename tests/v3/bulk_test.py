"""Gather, Scatter, Concat and Split of V3 arrays, in each mode."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support import kernel_runner
from tests.support.script import Script

each_mode = pytest.mark.parametrize("mode", kernel_runner.MODES)
sizes = pytest.mark.parametrize("n", [0, 1, 7])


def rows(n: int, *shape: int) -> np.ndarray:
    return np.arange(n * int(np.prod(shape)), dtype=np.float32).reshape(n, *shape)


@each_mode
@sizes
@pytest.mark.parametrize("shape", [(), (1,), (16,), (0,), (3, 2)])
def test_gather_gives_what_was_scattered(ours, mode, n, shape):
    value = rows(n, *shape)
    script = Script()
    array = script.array(n, element_shape=list(shape))
    script.scatter(array, range(n), value)
    gather = script.gather(array, range(n))
    results = script.run(ours, mode)
    np.testing.assert_array_equal(results[gather], value)
    assert results[gather].shape == value.shape


@each_mode
def test_rows_of_a_scatter_are_read_one_by_one(ours, mode):
    value = rows(5, 3)
    script = Script()
    array = script.array(5)
    script.scatter(array, [4, 2, 0, 1, 3], value)
    reads = [script.read(array, i) for i in range(5)]
    results = script.run(ours, mode)
    for read, row in zip(reads, [2, 3, 1, 4, 0], strict=True):
        np.testing.assert_array_equal(results[read], value[row])


@each_mode
def test_gather_reads_in_any_order_and_repeatedly_if_reading_does_not_clear(ours, mode):
    value = rows(4, 2)
    script = Script()
    array = script.array(4, clear=False)
    script.scatter(array, range(4), value)
    picks = [[3, 0], [1, 1, 1], [0, 1, 2], [1, 2], [2]]
    gathers = [script.gather(array, pick) for pick in picks]
    results = script.run(ours, mode)
    for gather, pick in zip(gathers, picks, strict=True):
        np.testing.assert_array_equal(results[gather], value[pick])


@each_mode
def test_gather_mixes_written_scattered_and_never_written_slots(ours, mode):
    script = Script()
    array = script.array(4, element_shape=[2])
    script.write(array, 2, [5.0, 6.0])
    script.scatter(array, [0, 1], [[1.0, 2.0], [3.0, 4.0]])
    gather = script.gather(array, [3, 2, 1, 0])
    np.testing.assert_array_equal(
        script.run(ours, mode)[gather], [[0.0, 0.0], [5.0, 6.0], [3.0, 4.0], [1.0, 2.0]]
    )


@each_mode
def test_the_element_shape_of_a_gather_is_the_shape_of_its_zeros(ours, mode):
    script = Script()
    array = script.array(2)
    script.write(array, 0, [1.0, 2.0])
    gather = script.gather(array, [0, 1], element_shape=[2])
    np.testing.assert_array_equal(script.run(ours, mode)[gather], [[1.0, 2.0], [0.0, 0.0]])


@each_mode
@pytest.mark.parametrize("attribute", [None, [-1], [2]])
def test_an_empty_gather_has_the_shape_of_the_written_elements(ours, mode, attribute):
    script = Script()
    array = script.array(2)
    script.write(array, 1, [1.0, 2.0])
    gather = script.gather(array, [], element_shape=attribute)
    assert script.run(ours, mode)[gather].shape == (0, 2)


@each_mode
def test_an_empty_concat_has_the_shape_of_the_array(ours, mode):
    script = Script()
    array = script.array(0, element_shape=[-1, 3])
    concat = script.concat(array)
    value, lengths = script.run(ours, mode).outputs(concat)
    assert value.shape == (0, 3)
    assert lengths.shape == (0,)


@each_mode
@pytest.mark.parametrize("lengths", [[], [0], [4], [1, 0, 2], [2, 2, 2, 1]])
def test_concat_gives_what_was_split(ours, mode, lengths):
    value = rows(sum(lengths), 2)
    script = Script()
    array = script.array(len(lengths), element_shape=[-1, 2])
    script.split(array, value, lengths)
    concat = script.concat(array)
    got, got_lengths = script.run(ours, mode).outputs(concat)
    np.testing.assert_array_equal(got, value)
    assert got_lengths.dtype == np.int64
    if lengths:
        assert got_lengths.tolist() == lengths


@each_mode
def test_pieces_of_a_split_are_read_one_by_one(ours, mode):
    value = rows(6, 2)
    script = Script()
    array = script.array(0, dynamic=True)
    script.split(array, value, [1, 3, 0, 2])
    size = script.size(array)
    reads = [script.read(array, i) for i in range(4)]
    results = script.run(ours, mode)
    assert results[size] == 4
    for read, want in zip(reads, np.split(value, [1, 4, 4]), strict=True):
        np.testing.assert_array_equal(results[read], want)


@each_mode
def test_concat_joins_single_writes_of_any_length(ours, mode):
    script = Script()
    array = script.array(3)
    for index, value in enumerate(([1.0], [], [2.0, 3.0])):
        script.write(array, index, value)
    concat = script.concat(array)
    value, lengths = script.run(ours, mode).outputs(concat)
    np.testing.assert_array_equal(value, [1.0, 2.0, 3.0])
    assert lengths.tolist() == [1, 0, 2]


@each_mode
def test_a_gather_clears_what_it_read(ours, mode):
    script = Script()
    array = script.array(2)
    script.scatter(array, [0, 1], rows(2, 2))
    script.gather(array, [1])
    keep = script.read(array, 0)
    again = script.read(array, 1)
    results = script.run(ours, mode)
    np.testing.assert_array_equal(results[keep], [0.0, 1.0])
    assert "cleared after a previous read" in results.error(again).message


def test_a_scattered_value_may_be_freed_row_by_row(ours):
    """A row stays valid after its neighbours were read and cleared, in any order."""
    script = Script()
    array = script.array(3)
    script.scatter(array, [0, 1, 2], rows(3, 4))
    reads = [script.read(array, i) for i in (1, 0, 2)]
    results = script.run(ours)
    for read, row in zip(reads, (1, 0, 2), strict=True):
        np.testing.assert_array_equal(results[read], rows(3, 4)[row])

"""Bad input is an error that names what is wrong, and changes no array.

Each case runs eagerly in a process of its own, and in graphs. After the bad call, the eager test
probes the arrays: sizes, values, shapes and the results of further writes must be those that the
model gives for the same program without the bad call.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest

from tests.support import fuzz, kernel_runner, reference
from tests.support.script import Script

INVALID, SHORT = "InvalidArgumentError", "ResourceExhaustedError"
EMPTY = "UnimplementedError"
MAX, MIN = 2**31 - 1, -(2**31)
HUGE = kernel_runner.Zeros((0, 2**40, 2**40))  # each row would have 2**80 elements
TALL = kernel_runner.Zeros((2**62, 0))


class World(Script):
    """The arrays that bad calls use, and the probes that check them afterwards."""

    def __init__(self) -> None:
        super().__init__()
        self.fixed = self.array(3, clear=False)
        self.write(self.fixed, 0, [1.0, 2.0])
        self.write(self.fixed, 2, [3.0, 4.0])
        self.sums = self.grad(self.fixed)
        self.write(self.sums, 0, [5.0, 6.0])
        self.dynamic = self.array(2, dynamic=True, identical=True)
        self.shut = self.array(2)
        self.close(self.shut)
        self.shaped = self.array(2, element_shape=[2], clear=True)
        self.write(self.shaped, 0, [7.0, 8.0])
        self.flags = self.array(1, dtype="bool")
        self.flag_sums = self.grad(self.flags)
        self.write(self.flag_sums, 0, [True], dtype="bool")

    def probe(self) -> None:
        """Reads and writes whatever a failed call could have changed."""
        for array in (self.fixed, self.sums, self.dynamic, self.shaped, self.flag_sums):
            self.size(array)
        self.size(self.shut)
        self.read(self.fixed, 0)
        self.read(self.fixed, 1)
        self.write(self.fixed, 1, [[9.0]])  # the element shape is not fixed yet
        self.gather(self.fixed, [2])
        self.write(self.sums, 0, [1.0, 1.0])
        self.read(self.sums, 0)
        self.read(self.sums, 2)
        self.write(self.dynamic, 1, [1.0])
        self.write(self.dynamic, 2, [2.0])  # still dynamic
        self.concat(self.grad(self.dynamic))
        self.concat(self.shaped)
        self.read(self.flag_sums, 0, dtype="bool")


@dataclasses.dataclass(frozen=True)
class Case:
    """One bad call and the error it must give."""

    name: str
    call: Callable[[World], int]
    texts: tuple[str, ...]
    kind: str = INVALID

    def __str__(self) -> str:
        return self.name.replace(" ", "-")


def bad(name: str, call: Callable[[World], int], *texts: Any, kind: str = INVALID) -> Case:
    return Case(name, call, tuple(map(str, texts)), kind)


WRITES = [
    bad("write at a vector index", lambda w: w.write(w.fixed, [1], [1.0]), "scalar", "[1]"),
    bad("write at an empty index", lambda w: w.write(w.fixed, [], [1.0]), "scalar", "[0]"),
    bad("write at -1", lambda w: w.write(w.fixed, -1, [1.0]), "index -1", "size is: 3"),
    bad("write at the size", lambda w: w.write(w.fixed, 3, [1.0]), "index 3", "size is: 3"),
    bad("write at 2**31-1", lambda w: w.write(w.fixed, MAX, [1.0]), MAX, "size is: 3"),
    bad("write at -2**31", lambda w: w.write(w.fixed, MIN, [1.0]), MIN),
    bad("write another dtype", lambda w: w.write(w.fixed, 1, [1], dtype="int32"),
        "dtype is float", "int32"),
    bad("write a written slot", lambda w: w.write(w.fixed, 0, [1.0]), "index 0", "written to"),
    bad("write another shape", lambda w: w.write(w.shaped, 1, [1.0]), "index 1", "[1]", "[2]"),
    bad("write a closed array", lambda w: w.write(w.shut, 0, [1.0]), "already been closed"),
    bad("write a dynamic array at -1", lambda w: w.write(w.dynamic, -1, [1.0]), "index -1"),
    bad("write a dynamic array at 2**31-1", lambda w: w.write(w.dynamic, MAX, [1.0]), MAX),
    bad("sum of another shape", lambda w: w.write(w.sums, 0, [1.0]), "index 0", "[2]", "[1]"),
    bad("sum of a written shape", lambda w: w.write(w.sums, 2, [[1.0, 1.0]]), "index 2", "[1,2]"),
    bad("sum past the end", lambda w: w.write(w.sums, 3, [1.0, 2.0]), "index 3", "size is: 3"),
    bad("sum of bools", lambda w: w.write(w.flag_sums, 0, [True], dtype="bool"), "bool"),
]  # fmt: skip
READS = [
    bad("read at a vector index", lambda w: w.read(w.fixed, [0]), "index", "scalar", "[1]"),
    bad("read at a matrix index", lambda w: w.read(w.fixed, [[0]]), "index", "scalar", "[1,1]"),
    bad("read at -1", lambda w: w.read(w.fixed, -1), "index -1", "size is: 3"),
    bad("read at the size", lambda w: w.read(w.fixed, 3), "index 3", "size is: 3"),
    bad("read at 2**31-1", lambda w: w.read(w.fixed, MAX), MAX),
    bad("read another dtype", lambda w: w.read(w.fixed, 0, dtype="int64"), "float", "int64"),
    bad("read an unwritten slot", lambda w: w.read(w.fixed, 1), "index 1", "not fully defined"),
    bad("read a closed array", lambda w: w.read(w.shut, 0), "already been closed"),
    bad("read sums at -1", lambda w: w.read(w.sums, -1), "index -1"),
    bad("read sums past the end", lambda w: w.read(w.sums, 7), "index 7", "not fully defined"),
    bad("read sums at 2**31-1", lambda w: w.read(w.grad(w.shaped), MAX), MAX),
    bad("read zero strings",
        lambda w: w.read(w.array(1, dtype="string", element_shape=[2]), 0, dtype="string"),
        "index 0", "string"),
]  # fmt: skip
GATHERS = [
    bad("gather a scalar index", lambda w: w.gather(w.fixed, 0), "vector", "[]"),
    bad("gather a matrix of indices", lambda w: w.gather(w.fixed, [[0]]), "vector", "[1,1]"),
    bad("gather at -1", lambda w: w.gather(w.fixed, [0, -1]), "index -1"),
    bad("gather past the end", lambda w: w.gather(w.fixed, [0, 3]), "index 3", "size is: 3"),
    bad("gather at 2**31-1", lambda w: w.gather(w.fixed, [2, MAX]), MAX),
    bad("gather sums at 2**31-1", lambda w: w.gather(w.grad(w.shaped), [0, MAX]), MAX),
    bad("gather an unwritten slot", lambda w: w.gather(w.fixed, [0, 1, 2]), "index 1"),
    bad("gather a slot twice", lambda w: w.gather(w.shaped, [0, 1, 0]), "index 0", "twice"),
    bad("gather another dtype", lambda w: w.gather(w.fixed, [0], dtype="int8"), "float", "int8"),
    bad("gather another shape", lambda w: w.gather(w.shaped, [0], element_shape=[3]), "merge"),
    bad("gather another rank", lambda w: w.gather(w.shaped, [0], element_shape=[1, 2]), "rank"),
    bad("gather none of unknown shape", lambda w: w.gather(w.array(2), []), "<unknown>",
        kind=EMPTY),
    bad("gather none of rank 254",
        lambda w: w.gather(w.array(2), [], element_shape=[1] * 254), "254"),
    bad("gather a closed array", lambda w: w.gather(w.shut, [0]), "already been closed"),
    bad("gather shapes that differ", lambda w: _gather_of(w, [[1.0]], [1.0]), "[1,1]", "[1]"),
    bad("gather empty shapes that differ", lambda w: _gather_of(w, [], [1.0]), "[0]", "[1]"),
    bad("gather too many elements", lambda w: _gather_of(w, TALL, TALL), "2**63"),
    bad("gather elements of rank 254",
        lambda w: _gather_of(w, kernel_runner.Zeros((1,) * 254)), "254"),
]  # fmt: skip
SCATTERS = [
    bad("scatter to a scalar index", lambda w: w.scatter(w.fixed, 1, [[1.0]]), "vector", "[]"),
    bad("scatter to a matrix", lambda w: w.scatter(w.fixed, [[1]], [[1.0]]), "vector", "[1,1]"),
    bad("scatter a scalar", lambda w: w.scatter(w.fixed, [1], 1.0), "at least a vector", "[]"),
    bad("scatter too few rows", lambda w: w.scatter(w.fixed, [1, 1], [[1.0]]), "2 vs. 1"),
    bad("scatter too many rows", lambda w: w.scatter(w.fixed, [], [[1.0]]), "0 vs. 1"),
    bad("scatter to -1", lambda w: w.scatter(w.fixed, [1, -1], [[1.0], [2.0]]), "index -1"),
    bad("scatter past the end", lambda w: w.scatter(w.fixed, [1, 3], [[1.0], [2.0]]), "3 vs. 3"),
    bad("scatter to 2**31-1", lambda w: w.scatter(w.fixed, [MAX], [[1.0]]), MAX),
    bad("scatter to -2**31", lambda w: w.scatter(w.dynamic, [MIN], [[1.0]]), MIN),
    bad("scatter a dynamic array to 2**31-1",
        lambda w: w.scatter(w.dynamic, [0, MAX], [[1.0], [1.0]]), MAX),
    bad("scatter another dtype", lambda w: w.scatter(w.fixed, [1], [[1]], dtype="int32"), "int32"),
    bad("scatter to a closed array", lambda w: w.scatter(w.shut, [0], [[1.0]]), "closed"),
    bad("scatter nothing to a closed array",
        lambda w: w.scatter(w.shut, [], kernel_runner.Zeros((0, 1))), "closed"),
    bad("scatter to a written slot",
        lambda w: w.scatter(w.fixed, [1, 2], [[1.0], [2.0]]), "index 2", "written to"),
    bad("scatter to a slot twice",
        lambda w: w.scatter(w.fixed, [1, 1], [[1.0], [2.0]]), "index 1", "written to"),
    bad("scatter another shape",
        lambda w: w.scatter(w.shaped, [1], [[1.0, 2.0, 3.0]]), "[3]", "[2]"),
    bad("scatter sums of another shape",
        lambda w: w.scatter(w.sums, [1, 0], [[1.0], [2.0]]), "index 0", "[2]", "[1]"),
    bad("scatter sums of bools",
        lambda w: w.scatter(w.grad(w.array(1, dtype="bool")), [0, 0], [[True], [True]],
                            dtype="bool"), "bool"),
    bad("scatter 2**31-1 rows",
        lambda w: w.scatter(w.fixed, [], kernel_runner.Zeros((MAX, 0))), MAX),
    bad("scatter rows of 2**80", lambda w: w.scatter(w.fixed, [], HUGE), "2**63"),
]  # fmt: skip
SPLITS = [
    bad("split by a scalar", lambda w: w.split(w.dynamic, [1.0], 1), "vector", "[]"),
    bad("split by a matrix", lambda w: w.split(w.dynamic, [1.0], [[1]]), "vector", "[1,1]"),
    bad("split a scalar", lambda w: w.split(w.dynamic, 1.0, [1]), "at least a vector", "[]"),
    bad("split by too little", lambda w: w.split(w.dynamic, [1.0] * 3, [1, 1]), "is 2", "[3]"),
    bad("split by a negative length", lambda w: w.split(w.dynamic, [1.0, 2.0], [-1, 3]), "-1"),
    bad("split by a negative end", lambda w: w.split(w.dynamic, [1.0, 2.0], [3, -1]), "-1"),
    bad("split by -2**63",
        lambda w: w.split(w.dynamic, [1.0], [-(2**63), 2**63 - 1]), -(2**63)),
    bad("split by lengths that wrap",
        lambda w: w.split(w.dynamic, [1.0], [2**63 - 1, 2**63 - 1, 3]), "2**63"),
    bad("split to another size", lambda w: w.split(w.array(1), [1.0, 2.0], [1, 1]), "1 vs. 2"),
    bad("split to a longer dynamic array", lambda w: w.split(w.dynamic, [1.0], [1]), "2 vs. 1"),
    bad("split another dtype", lambda w: w.split(w.dynamic, [1, 2], [1, 1], dtype="int32"),
        "int32"),
    bad("split to a closed array", lambda w: w.split(w.shut, [1.0, 2.0], [1, 1]), "closed"),
    bad("split to a written slot",
        lambda w: w.split(w.fixed, [1.0, 2.0, 3.0], [1, 1, 1]), "index 0", "written to"),
    bad("split another shape",
        lambda w: w.split(w.array(2, element_shape=[2]), [1.0] * 3, [2, 1]), "index 1", "[1]"),
    bad("split identical shapes that differ",
        lambda w: w.split(w.dynamic, [1.0] * 3, [2, 1]), "index 1", "[1]", "[2]"),
    bad("split sums of another shape",
        lambda w: w.split(w.sums, [1.0, 2.0, 3.0], [1, 1, 1]), "index 0", "[2]", "[1]"),
    bad("split rows of 2**80", lambda w: w.split(w.array(1), HUGE, [0]), "2**63"),
]  # fmt: skip
CONCATS = [
    bad("concat another dtype", lambda w: w.concat(w.shaped, dtype="int32"), "float", "int32"),
    bad("concat a closed array", lambda w: w.concat(w.shut), "already been closed"),
    bad("concat an unwritten slot", lambda w: w.concat(w.fixed), "index 1"),
    bad("concat scalars", lambda w: _concat_of(w, 1.0), "scalar", "index 0"),
    bad("concat a vector and a scalar", lambda w: _concat_of(w, [1.0], 1.0), "index 1"),
    bad("concat another rest", lambda w: w.concat(w.shaped, element_shape=[3]), "[3]", "[]"),
    bad("concat rests that differ", lambda w: _concat_of(w, [[1.0]], [[1.0, 2.0]]), "[1]", "[2]"),
    bad("concat nothing of unknown shape", lambda w: w.concat(w.array(0)), "<unknown>",
        kind=EMPTY),
    bad("concat nothing of rank 254",
        lambda w: w.concat(w.array(0), element_shape=[1] * 254), "254"),
    bad("concat 2**63 rows", lambda w: _concat_of(w, TALL, TALL), "2**63"),
    bad("concat 2**31-1 zeros", lambda w: w.concat(w.array(MAX, element_shape=[2])), MAX,
        kind=SHORT),
    bad("concat 2**31-1 empty zeros", lambda w: w.concat(w.array(MAX, element_shape=[0])), MAX,
        kind=SHORT),
]  # fmt: skip
CREATIONS = [
    bad("a size that is a vector", lambda w: w.array([1]), "size", "scalar", "[1]"),
    bad("a size that is empty", lambda w: w.array([]), "size", "scalar", "[0]"),
    bad("a negative size", lambda w: w.array(-1), "Size", "-1"),
    bad("the most negative size", lambda w: w.array(MIN), "Size", MIN),
]
GRADIENTS = [
    bad("gradients of a closed array", lambda w: w.grad(w.shut), "already been closed"),
    bad("a closed array and a prefix", lambda w: w.grad_with_shape(w.shut, [2]), "closed"),
    bad("a prefix that is a scalar", lambda w: w.grad_with_shape(w.dynamic, 2), "vector", "[]"),
    bad("a prefix that is a matrix", lambda w: w.grad_with_shape(w.dynamic, [[2]]), "vector"),
    bad("a negative prefix", lambda w: w.grad_with_shape(w.dynamic, [2, -1]), "-1"),
    bad("a prefix of rank 255", lambda w: w.grad_with_shape(w.dynamic, [1] * 255), "dimensions"),
    bad("a prefix of 2**93", lambda w: w.grad_with_shape(w.dynamic, [MAX] * 3), "2**63"),
    bad("a joined rank of 255", lambda w: w.grad_with_shape(w.shaped, [1] * 254), "dimensions"),
    bad("a joined shape of 2**63", lambda w: w.grad_with_shape(w.shaped, [MAX, MAX, 2]), MAX),
    bad("another prefix", lambda w: w.grad_with_shape(w.fixed, [2]), "[2]", "[]"),
]
SLOTS_TOO_LARGE = [
    bad("read a joined shape of 2**64",
        lambda w: w.read(w.grad_with_shape(w.fixed, [MAX, MAX, 2], "x"), 0)),
    bad("write a joined shape of 2**64",
        lambda w: w.write(w.grad_with_shape(w.fixed, [MAX, MAX, 2], "x"), 0, [1.0])),
    bad("read a joined rank of 255",
        lambda w: w.read(w.grad_with_shape(w.fixed, [1] * 254, "x"), 0)),
]  # fmt: skip
CASES = [
    *CREATIONS, *WRITES, *READS, *GATHERS, *SCATTERS, *SPLITS, *CONCATS, *GRADIENTS,
    *SLOTS_TOO_LARGE,
]  # fmt: skip


def _gather_of(world: World, *values: Any) -> int:
    array = world.array(len(values))
    for index, value in enumerate(values):
        world.write(array, index, value)
    return world.gather(array, range(len(values)))


def _concat_of(world: World, *values: Any) -> int:
    array = world.array(len(values))
    for index, value in enumerate(values):
        world.write(array, index, value)
    return world.concat(array)


# One call per op, for tests that pass a bad handle.
USES: dict[str, Callable[[World, Any], int]] = {
    "Write": lambda w, h: w.write(h, 0, [1.0]),
    "Read": lambda w, h: w.read(h, 0),
    "Gather": lambda w, h: w.gather(h, [0]),
    "Scatter": lambda w, h: w.scatter(h, [0], [[1.0]]),
    "Split": lambda w, h: w.split(h, [1.0], [1]),
    "Concat": lambda w, h: w.concat(h),
    "Size": lambda w, h: w.size(h),
    "Close": lambda w, h: w.close(h),
    "Grad": lambda w, h: w.grad(h),
    "GradWithShape": lambda w, h: w.grad_with_shape(h, [2]),
}


def fails_as_it_should(
    case: Case, world: World, at: int, outcomes: list[kernel_runner.Outcome]
) -> None:
    """Asserts that the outcome of step `at` is the error of `case`."""
    outcome = outcomes[at]
    assert isinstance(outcome, kernel_runner.Error), f"{world.program[at]}\n  {outcome}"
    assert outcome.kind == case.kind, outcome
    for text in case.texts:
        assert text in outcome.message, outcome


def probed(case: Case) -> tuple[World, int]:
    """A world with the bad call and the probes, and the step of the bad call."""
    world = World()
    at = case.call(world)
    world.probe()
    return world, at


@pytest.mark.parametrize("case", CASES, ids=str)
def test_bad_input_is_an_error_and_changes_nothing(ours, case):
    world, at = probed(case)
    outcomes = ours.run_fresh(world.program)
    fails_as_it_should(case, world, at, outcomes)
    # The model skips the bad call, and writes of shapes that NumPy cannot represent.
    model = reference.Model(reference.OURS)
    without = [
        model.skip()
        if k == at or isinstance(step.get("value"), kernel_runner.Zeros)
        else model.step(step)
        for k, step in enumerate(world.program)
    ]
    fuzz.compare("ours", world.program[at + 1 :], outcomes[at + 1 :], without[at + 1 :], "eager")


@pytest.mark.parametrize("mode", ["function", "session"])
@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.sweep(3)
def test_bad_input_is_an_error_in_graphs(ours, case, mode):
    world = World()
    at = case.call(world)
    if case.name == "gather none of rank 254":
        pytest.skip("TensorFlow's graph optimiser crashes on rank 255, before any kernel runs")
    if mode == "session" and any(
        isinstance(s.get("value"), kernel_runner.Zeros) for s in world.program
    ):
        pytest.skip("NumPy cannot feed this shape")
    fails_as_it_should(case, world, at, ours.run(world.program, mode))


@pytest.mark.parametrize("mode", kernel_runner.MODES)
@pytest.mark.parametrize("op", USES)
@pytest.mark.parametrize(
    ("handle", "text"), [("empty", "mpty"), ("variable", "type"), ("table", "type")]
)
def test_an_empty_handle_or_one_of_another_resource_is_refused(ours, op, handle, text, mode):
    world = World()
    at = USES[op](world, handle)
    outcome = ours.run(world.program, mode)[at]
    assert isinstance(outcome, kernel_runner.Error), outcome
    assert outcome.kind == INVALID
    assert text in outcome.message


@pytest.mark.parametrize("op", USES)
def test_the_first_of_several_handles_is_used(ours, op):
    script = World()
    at = USES[op](script, [script.fixed, script.dynamic])
    alone = World()
    USES[op](alone, alone.fixed)
    both, one = ours.run(script.program)[at], ours.run(alone.program)[at]
    assert type(both) is type(one)
    if isinstance(one, kernel_runner.Value):
        assert fuzz.same_values(both.outputs, one.outputs)


def test_an_array_of_the_largest_size_is_read_and_written(ours):
    script = Script()
    array = script.array(MAX, element_shape=[1])
    size = script.size(array)
    script.write(array, MAX - 1, [3.0])
    read = script.read(array, MAX - 1)
    middle = script.read(array, 2**30)
    sums = script.grad(array)
    sum_size = script.size(sums)
    results = script.run(ours)
    assert results[size] == MAX
    assert results[sum_size] == MAX
    assert results[read] == [3.0]
    assert results[middle] == [0.0]


def test_a_dynamic_array_grows_to_a_far_index_without_making_the_slots_before_it(ours):
    script = Script()
    array = script.array(0, dynamic=True, element_shape=[1])
    script.write(array, MAX - 1, [3.0])
    size, last, first = script.size(array), script.read(array, MAX - 1), script.read(array, 0)
    results = script.run(ours)
    assert results[size] == MAX
    assert results[last] == [3.0]
    assert results[first] == [0.0]


def test_a_step_may_end_with_the_last_handles_of_its_arrays_in_a_stack(ours):
    run = "tests.robustness.hostile_arrays:steps_that_leave_handles_in_a_stack"
    assert ours.call(run, 20, 100, timeout=120) == [99.0] * 20

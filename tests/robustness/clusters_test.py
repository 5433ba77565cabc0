"""Lists and arrays that are used by two processes, of which both, one or none have the library.

A test with the fixture `pair` runs its program with the library in the first process, in the
second, in both, and in none: two stock processes must give the same result.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest

from tests.robustness import clusters
from tests.support import child, kernel_runner

_STEPS = [0.0, 3.9375, 8.75, 11.25, 14.0, 15.0, 12.0]
_INDEXED = [0.015625, 0.0625, 0.3125, 0.75, 2.25, 5.0, 13.0]
_SUMS = [0.0, 0.0625, 0.25, 0.75, 2.0, 5.0, 12.0]


@pytest.fixture
def others(
    ours: kernel_runner.Runner, stocks: kernel_runner.Runner
) -> Iterator[dict[str, kernel_runner.Runner]]:
    """The second processes of the pairs, with and without the library."""
    found = {"ours": ours.another(), "stock": stocks.another()}
    yield found
    for runner in found.values():
        runner.restart()


@pytest.fixture(params=["ours-stock", "stock-ours", "ours-ours", "stock-stock"])
def pair(
    request: pytest.FixtureRequest,
    ours: kernel_runner.Runner,
    stocks: kernel_runner.Runner,
    others: dict[str, kernel_runner.Runner],
) -> tuple[kernel_runner.Runner, kernel_runner.Runner]:
    """The process that runs the program, and the second process that takes part in it."""
    here, there = request.param.split("-")
    return {"ours": ours, "stock": stocks}[here], others[there]


def _call(runner: kernel_runner.Runner, function: str, *args: object) -> Any:
    got = runner.call(f"tests.robustness.clusters:{function}", *args, timeout=120.0)
    assert not isinstance(got, (kernel_runner.Died, kernel_runner.Hung, kernel_runner.Error)), got
    return got


@contextlib.contextmanager
def _serving(runner: kernel_runner.Runner, function: str, *args: object) -> Iterator[Any]:
    """Calls `function` in a process of `runner`, which is ended after the `with` block."""
    runner.start_call(f"tests.robustness.clusters:{function}", *args)
    try:
        yield runner.finish_call(120.0)
    finally:
        runner.restart()


@pytest.mark.parametrize("name", list(clusters.LISTS))
@pytest.mark.sweep(3)
def test_a_list_is_serialised_as_stock_serialises_it(ours, stocks, name):
    here, there = _call(ours, "serialized", name), _call(stocks, "serialized", name)
    if name != "handles of resources":
        assert here == there
    # A process of the other kind reads the list and writes the same bytes.
    assert _call(stocks, "reserialized", here) == here
    assert _call(ours, "reserialized", there) == there


def test_zeros_of_a_known_shape_are_read_as_zeros(pair):
    here, there = pair
    assert _call(here, "stacked", _call(there, "zeros_of_known_shape")) == [0.0] * 3


def test_a_saved_dataset_of_lists_is_loaded(pair, tmp_path):
    here, there = pair
    assert _call(here, "save_lists", str(tmp_path)) > 0
    assert _call(there, "load_lists", str(tmp_path)) == [[], [1.0], [2.0, 2.0]]


def test_a_list_of_another_process_is_read_by_index_without_conversions(pair):
    here, there = pair
    total, first, converted = _call(here, "sum_of_a_list_from", _call(there, "hundred_numbers"))
    assert (total, first) == (4950.0, 1.0)
    assert not converted


@pytest.mark.parametrize(
    ("program", "want"),
    [
        (clusters.list_made_there, [3.0] * 3),
        (clusters.list_made_here, [3.0] * 3),
        (clusters.gradient_there, _STEPS),
        (clusters.gradient_of_loop_there_here, _STEPS),
        (clusters.gradient_of_loop_here_there, _STEPS),
        (clusters.gradient_of_loop_across, _STEPS),
        (clusters.gradient_of_indexing_there, _INDEXED),
        (clusters.gradient_of_indexing_here, _INDEXED),
        (clusters.gradient_in_session, _SUMS),
        (clusters.list_in_session, _SUMS),
        (clusters.array_made_there, [8.0, 1.0]),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
@pytest.mark.sweep(3)
def test_a_program_of_two_processes_has_stocks_result(pair, program, want):
    here, there = pair
    with _serving(there, "serve") as address:
        assert _call(here, program.__name__, address) == want


@pytest.mark.parametrize("array", [0, 1])
def test_a_session_of_two_tasks_reads_an_array_of_either(pair, array):
    here, there = pair
    addresses = child.free_addresses(2)
    with _serving(there, "serve_task", addresses, 1):
        assert _call(here, "array_across_tasks", addresses, array) == [53.90625, 7.0]


def test_lists_that_the_data_service_makes_are_read(pair):
    here, there = pair
    with _serving(there, "serve_data") as address:
        want = [[], [1.0], [2.0, 2.0]]
        assert _call(here, "lists_from_the_data_service", address) == want

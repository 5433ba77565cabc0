"""Loops that call functions in a TF1 Session run in one kernel, with stock's values."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.loops import session_calls
from tests.loops.called_functions import PROGRAMS
from tests.support.kernel_runner import Runner

# Seeded ops are left to the executor. In two of the programs, two draws of one function are in no
# order in a TF1 graph.
_SEEDED = [
    "beside_a_seeded_op",
    "beside_a_function_that_draws",
    "beside_a_stateless_call_that_draws",
    "that_draws_with_a_seed",
]
# A Session copies the graph for each of its fetches, here with 20 MiB of constants: 40 s.
_LARGE = "beside_one_that_is_too_large"
_IN_A_SESSION = [name for name in PROGRAMS if name not in (*_SEEDED, _LARGE)]
# Of these, stock raises an error in a graph with control flow of TF1.
_V2_ONLY = {
    "many_times",
    "in_a_branch",
    "in_a_late_branch",
    "that_assigns",
    "with_an_array_as_argument",
    "compiled_by_xla",
}
_CASES = [
    *((name, True) for name in _IN_A_SESSION),
    *((name, False) for name in _IN_A_SESSION if name not in _V2_ONLY),
]


def _compare(
    ours: Runner, stocks: Runner, program: str, *arguments: object, rtol: float = 0.0
) -> dict[str, int]:
    name = f"tests.loops.session_calls:{program}"
    got, left = ours.call(name, *arguments)
    want, _ = stocks.call(name, *arguments)
    for one, other in zip(got, want, strict=True):
        np.testing.assert_allclose(one, other, rtol=rtol)
    return left


@pytest.mark.parametrize(("name", "v2"), _CASES)
@pytest.mark.sweep(3)
def test_graphs_of_one_session_share_a_loop(
    ours: Runner, stocks: Runner, name: str, v2: bool
) -> None:
    assert _compare(ours, stocks, "in_one_session", name, v2) == {}


@pytest.mark.parametrize("name", ["beside_a_seeded_op", "beside_a_function_that_draws"])
def test_seeded_loops_are_left(ours: Runner, stocks: Runner, name: str) -> None:
    assert set(_compare(ours, stocks, "in_one_session", name, True)) == {"private state"}


@pytest.mark.parametrize(
    "program",
    [
        session_calls.equal_loops_of_constants,
        session_calls.in_parts,
        session_calls.imported,
        session_calls.fed_inside,
        session_calls.with_several_threads,
        session_calls.on_a_server,
    ],
    ids=lambda program: program.__name__,
)
def test_a_session_runs_the_loop_in_one_kernel(
    ours: Runner, stocks: Runner, program: Callable[[], object]
) -> None:
    assert _compare(ours, stocks, program.__name__) == {}


@pytest.mark.parametrize("program", ["slice_sampler", "minimize", "particle_filter"])
def test_loops_of_tensorflow_probability_run_in_one_kernel(
    ours: Runner, stocks: Runner, program: str
) -> None:
    pytest.importorskip("tensorflow_probability")
    assert _compare(ours, stocks, program, rtol=1e-6) == {}

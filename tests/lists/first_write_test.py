"""A write that is proven to be the first to its slot keeps the gradient of the list as it is."""

from __future__ import annotations

import numpy as np
import pytest

from tests.lists import random_writes
from tests.lists.first_write_programs import FIRST, MIXED

_COMPUTE = "tests.lists.first_write_programs:compute"
# XLA ends the process when it compiles the gradient of an array that grows, and has no kernel for
# the list of a branch that is not taken.
_REFUSED_BY_XLA = ("growing", "continued_in_a_branch")


@pytest.mark.parametrize("jit", [False, True], ids=["", "jit"])
@pytest.mark.parametrize("name", [*FIRST, *MIXED])
def test_gradients_equal_stocks_and_only_first_writes_are_proven(ours, stocks, name, jit):
    if jit and name in _REFUSED_BY_XLA:
        pytest.skip("stock's XLA cannot compile it")
    for runner in (ours, stocks):
        runner.start_call(_COMPUTE, name, jit)
    (got, proven), (want, _) = ours.finish_call(), stocks.finish_call()
    for mine, theirs in zip(got, want, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-6, atol=1e-7)
    if name in FIRST:
        assert proven
        assert all(proven)
    else:
        assert sorted(proven) == sorted(MIXED[name][1])


@pytest.mark.parametrize("jit", [False, True], ids=["", "jit"])
def test_gradients_of_random_writes_equal_stocks(ours, stocks, capfd, jit):
    counts = random_writes.compare(ours, stocks, range(0, 200, 20), jit)
    assert counts["different"] == 0, capfd.readouterr().out
    assert counts["refused"] <= 5

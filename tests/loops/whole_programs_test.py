"""All loops of some programs run in one kernel, with stock's values."""

from __future__ import annotations

import numpy as np
import pytest

from tests.loops.whole_programs import PROGRAMS
from tests.support.kernel_runner import Runner


@pytest.mark.parametrize("name", PROGRAMS)
def test_no_loop_is_left_to_the_executor(ours: Runner, stocks: Runner, name: str) -> None:
    got, left, in_one_kernel = ours.call("tests.loops.whole_programs:run", name)
    want, _, none = stocks.call("tests.loops.whole_programs:run", name)
    assert left == {}
    assert in_one_kernel >= 2  # forwards and backwards
    assert none == 0
    for one, other in zip(got, want, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-7)

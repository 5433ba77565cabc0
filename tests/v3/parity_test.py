"""Random programs give the same results with the library, on stock and in the model of each.

The only exceptions are the differences that `reference.Rules` lists.
"""

from __future__ import annotations

import numpy as np
import pytest

from tests.support import fuzz, kernel_runner, reference
from tests.support.script import Script

_PROGRAMS = 500


def test_random_programs_give_the_same_results_with_the_library_on_stock_and_in_the_model(
    ours, stocks
):
    judge = fuzz.Judge(ours, stocks)
    fuzz.run(judge, _PROGRAMS)
    tally = judge.tally
    assert tally.programs >= _PROGRAMS
    # If most steps failed, or most programs met a listed difference, the test would prove little.
    assert tally.failures < 0.6 * tally.steps
    assert tally.alike > 0.25 * tally.programs
    assert len(tally.rules) >= 6, tally.rules


def test_a_wrong_value_is_a_mismatch(ours):
    script = Script()
    array = script.array(1)
    script.write(array, 0, [1.0])
    script.read(array, 0)
    wrong = reference.Model(reference.OURS).run(script.program)
    wrong[2] = kernel_runner.Value((np.float32([2.0]),))
    with pytest.raises(fuzz.Mismatch, match="step 2"):
        fuzz.compare("ours", script.program, ours.run(script.program), wrong, "eager")


def test_a_dead_process_is_noticed_and_replaced(stocks, expect_of_stock):
    assert isinstance(stocks.call("os:abort"), kernel_runner.Died)
    script = Script()
    array = script.array(2)
    script.split(array, [1.0, 2.0], [-1, 3])
    outcomes = stocks.run(script.program)
    expect_of_stock(isinstance(outcomes[1], kernel_runner.Died), f"stock gave {outcomes[1]}")
    assert isinstance(stocks.run(script.program[:1])[0], kernel_runner.Value)


@pytest.mark.parametrize("mode", kernel_runner.MODES)
def test_every_mode_gives_values_up_to_the_first_error(stocks, mode):
    script = Script()
    array = script.array(1)
    write = script.write(array, 0, [3.0])
    read = script.read(array, 0)
    again = script.read(array, 0)
    results = script.run(stocks, mode)
    np.testing.assert_array_equal(results[write], 0.0)
    np.testing.assert_array_equal(results[read], [3.0])
    assert "cleared after a previous read" in results.error(again).message

"""Side effects in and around loops happen in every order that TensorFlow promises."""

from __future__ import annotations

import collections
import re

import pytest

from tests.random_programs import random_effects
from tests.random_programs.random_effects import Ran

_COVERED_BY = 200  # programs, enough for the rarest feature
# fmt: off
_FEATURES = [
    "assert", "assert_that_may_fail", "assign", "assign_in_loop", "branch", "branch_in_loop",
    "break", "continue", "effect_in_condition", "for", "function", "loop_of_depth_1",
    "loop_of_depth_2", "numpy_function", "plain_function", "print", "print_in_loop", "py_function",
    "read", "return", "scatter", "table", "table_in_loop", "while",
]
# fmt: on


@pytest.fixture(scope="module")
def on_stock():
    """What the programs did on stock. The options do not change that."""
    return {}


@pytest.mark.parametrize("options", [(), ("hand_back",), ("two_threads",)])
@pytest.mark.sweep(2)
def test_side_effects_have_the_promised_order(ours, stocks, on_stock, capfd, options):
    counts = random_effects.compare((ours, stocks), range(0, 84, 7), options, on_stock=on_stock)
    assert counts["faults of ours"] == counts["faults of stock"] == 0, capfd.readouterr().out
    assert counts["programs"] == 12
    assert counts["promised pairs"] > 50
    assert counts["loops.runs"] > 12


def test_the_programs_contain_every_kind_of_effect_and_statement():
    counts = collections.Counter()
    for seed in range(_COVERED_BY):
        counts.update(random_effects.random_program(seed).features)
    assert [feature for feature in _FEATURES if not counts[feature]] == []


# The lines of a program, and the pairs of its labels that are in order. "print p0 x" prints the
# label p0 and x; "call y0" adds the result of a Python function to h0.
_LOOP = "for i in tf.range(3):"
_ASSIGN = "    v[0].assign_add(1)"
_ORDERS = {
    "two prints": (["print p0", "print p1"], ["p0 p1"]),
    "a loop that uses no resource": (["print p0", _LOOP, "    print p1"], ["p0 p1"]),
    "a loop that uses a resource": (
        ["print p0", _LOOP, _ASSIGN, "    print p1", "    print p2", "print p3"],
        ["p0 p3", "p1 p2"],
    ),
    "two loops that use one resource": (
        [_LOOP, _ASSIGN, "    print p0", _LOOP, _ASSIGN, "    print p1"],
        ["p0 p1"],
    ),
    "a result of a loop": ([_LOOP, _ASSIGN, "    call y0", "print p1 h0"], ["p1 y0"]),
    "a value that the loop reads later": (
        ["call y0", _LOOP, _ASSIGN, "    print p1", "    h0 = h0 * 2 + 1"],
        [],
    ),
    "two branches": (["if h0 > 1:", "    print p0", "else:", "    print p1"], ["p0 p1"]),
}


@pytest.mark.parametrize("name", _ORDERS)
def test_the_promised_order_is_that_of_the_edges(stocks, name):
    lines, pairs = _ORDERS[name]
    lines = [re.sub(r"print (\w+) ?(\w*)", _PRINT, line) for line in lines]
    lines = [re.sub(r"call (\w+)", _CALL, line) for line in lines]
    header = "def program(h0, h1, h2, v, table, note, function, STREAM):"
    body = [f"    {line}" for line in [*lines, "return h0 + h1 + h2"]]
    text = "\n".join(["import tensorflow as tf", header, *body, ""])
    stocks.start_call("tests.random_programs.random_effects:run_text", text)
    ran = stocks.finish_call()
    assert ran.unbuilt == ""
    assert sorted(map(" ".join, ran.promised)) == pairs


_PRINT = r'tf.print(*["\1", \2], output_stream=STREAM)'
_CALL = r'h0 += tf.ensure_shape(tf.numpy_function(note, ["\1"], tf.int64), [])'


@pytest.mark.parametrize(
    ("lines", "promised", "found"),
    [
        (["p0 1", "p1 1", "p1 2"], set(), 0),
        (["p1 1", "p1 2", "p0 1"], set(), 0),
        (["p1 1", "p1 2", "p0 1"], {("p0", "p1")}, 1),
        (["p0 1", "p1 2", "p1 1"], set(), 1),
        (["p0 1", "p1 1"], set(), 1),
    ],
)
def test_a_line_that_is_missing_or_in_a_wrong_place_is_a_fault(lines, promised, found):
    got, eager = Ran(lines=[lines], results=[1]), Ran(lines=[["p0 1", "p1 1", "p1 2"]], results=[1])
    assert len([*random_effects.faults(got, eager, promised)]) == found

"""Which cases of a sweep run."""

from __future__ import annotations

import types

import pytest

from tests.support import sweeps


def case(nodeid: str, every: int | None) -> types.SimpleNamespace:
    mark = None if every is None else pytest.mark.sweep(every).mark
    return types.SimpleNamespace(nodeid=nodeid, get_closest_marker={"sweep": mark}.get)


def test_every_nth_case_runs_and_all_cases_without_the_mark() -> None:
    items = [
        *[case(f"a_test.py::test_a[{number}]", 3) for number in range(7)],
        *[case(f"a_test.py::test_b[{number}]", None) for number in range(3)],
        *[case(f"b_test.py::test_a[{number}]", 2) for number in range(3)],
    ]
    left_out = {item.nodeid for item in sweeps.left_out(items)}
    assert [item.nodeid for item in items if item.nodeid not in left_out] == [
        *["a_test.py::test_a[0]", "a_test.py::test_a[3]", "a_test.py::test_a[6]"],
        *["a_test.py::test_b[0]", "a_test.py::test_b[1]", "a_test.py::test_b[2]"],
        *["b_test.py::test_a[0]", "b_test.py::test_a[2]"],
    ]

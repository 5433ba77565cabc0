"""Measurements of what each part of the library contributes."""

import pytest

from benchmarks import harness
from benchmarks.case import Case
from tests.package.benchmark_fakes import PLAN, FakeServer
from tools import ablate


def test_an_ablation_leaves_out_each_rule_and_each_other_part(monkeypatch):
    monkeypatch.setattr(ablate, "RULES", ("a", "b"))
    monkeypatch.setattr(ablate, "PARTS", ("c",))
    without = "TENSOR_ARRAY_GRAD_WITHOUT"
    assert ablate.settings() == {
        "all on": {},
        "loops off": {"TENSOR_ARRAY_GRAD_LOOPS": "off"},
        "no rules": {without: "a,b"},
        "without a": {without: "a"},
        "without b": {without: "b"},
        "without c": {without: "c"},
    }


def _ablate(**loops_off):
    asked = []
    servers = {
        "all on": FakeServer("all on", asked, seconds=0.002),
        "loops off": FakeServer("loops off", asked, **loops_off),
    }
    case = Case("fake", "", (10, 20), lambda _: None)
    return ablate.compare(case, 20, servers, PLAN), asked


def test_an_ablation_compares_each_setting_with_all_on():
    row, asked = _ablate(seconds=0.003)
    assert asked[:4] == ["all on", "loops off", "loops off", "all on"]
    assert row.milliseconds == {"all on": 2.0, "loops off": 3.0}
    assert row.ratio == {"all on": 1.0, "loops off": 1.5}
    assert ablate.line(row) == "| fake | 20 | 2 | 3 (1.50) |"


def test_a_setting_that_fails_is_named_in_the_table():
    row, asked = _ablate(error="the process ended with code -6")
    assert asked.count("loops off") == 1
    assert row.notes == {"loops off": "the process ended with code -6"}
    assert ablate.line(row) == "| fake | 20 | 2 | failed |"


def test_a_setting_that_computes_something_else_stops_the_ablation():
    with pytest.raises(AssertionError, match="fake, n=20, loops off"):
        _ablate(sample=[1.1])


def test_a_server_has_the_environment_of_its_setting(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "reads_environment.py").write_text(
        "import os\n"
        "from benchmarks.case import Case, Prepared\n"
        "def build(n):\n"
        "    value = float(os.environ['OF_THE_SETTING'])\n"
        "    return Prepared(run=lambda: 1.0, result=lambda: [value])\n"
        "CASES = [Case('environment', '', (1,), build, uses_arrays=False)]\n"
    )
    case = Case("environment", "", (1,), lambda _: None)
    with harness.Server("reads_environment", "ours", {"OF_THE_SETTING": "7"}) as server:
        assert server.measure(case, 1, PLAN).sample == [7.0]

"""The benchmarks: what is measured, how often, and in which order."""

import dataclasses
import re
import shutil
import subprocess
import time

import numpy as np
import pytest

from benchmarks import case as cases
from benchmarks import child, harness, report, v3
from benchmarks.case import Case, Prepared
from benchmarks.memory import PeakMemory
from benchmarks.rows import Other
from tensor_array_grad import _tf_private
from tests.package.benchmark_fakes import PLAN, FakeServer, compare


def test_peak_memory_includes_a_buffer_that_was_freed():
    memory = PeakMemory()
    np.ones(32_000_000).sum()  # 256 MB, freed at once
    assert 200e6 < memory.bytes() < 400e6


def test_a_wrong_result_is_refused_before_anything_is_timed():
    ran = []
    wrong = Prepared(run=lambda: ran.append(1) or 1.0, result=lambda: [1.0], expected=[2.0])
    with pytest.raises(AssertionError, match="Not equal to tolerance"):
        cases.measure(Case("wrong", "", (1,), lambda _: wrong), 1, 0.1)
    assert not ran


def _sleepy(name, naps):
    """A case whose result takes 50 ms and whose runs report 0.25 s; each run adds to `naps`."""
    prepared = Prepared(
        run=lambda: naps.append(1) or 0.25, result=lambda: time.sleep(0.05) or np.arange(1000.0)
    )
    return Case(name, "", (1,), lambda _: prepared)


def test_runs_fill_the_budget_and_the_result_is_sampled():
    found = cases.measure(_sleepy("quick", []), 1, budget_s=1.0)
    assert found.seconds == [0.25] * 50
    assert (found.sample[0], found.sample[-1], len(found.sample)) == (0.0, 999.0, 200)


def test_a_case_that_took_four_budgets_to_verify_is_not_run_again():
    naps = []
    found = cases.measure(_sleepy("slow", naps), 1, budget_s=0.001)
    assert not naps
    assert found.seconds == [pytest.approx(0.05, rel=0.5)]


def test_a_first_call_is_measured_alone_and_in_processor_time():
    naps = []
    case = dataclasses.replace(_sleepy("first", naps), first_call=True)
    found = cases.measure(case, 1, budget_s=1.0)
    assert not naps
    assert found.seconds == found.cpu_seconds
    assert found.seconds[0] < 0.04 < found.first_s  # it sleeps for 50 ms


def test_quick_sizes_are_the_small_ones_or_else_the_smallest():
    case = Case("sizes", "", (10, 20, 40), lambda _: None)
    assert case.sizes_within(20) == (10, 20)
    assert case.sizes_within(5) == (10,)


def test_a_target_holds_at_its_size_and_elsewhere_no_slowdown_is_allowed():
    case = Case("target", "", (10, 20, 30), lambda _: None, target={20: 5.0, 30: 9.0})
    assert [case.target_at(n) for n in case.sizes] == [1.0, 5.0, 9.0]
    assert dataclasses.replace(case, judged=False).target_at(20) == 0.0


def test_processes_of_the_two_libraries_alternate():
    _, asked = compare()
    assert asked == ["stock", "ours", "ours", "stock", "stock", "ours"]


def test_the_ratio_is_stocks_time_over_ours():
    row, _ = compare(stock={"seconds": 6.0}, ours={"seconds": 2.0})
    assert (row.stock_s, row.ours_s, row.ratio, row.cpu_ratio) == (6.0, 2.0, 3.0, 3.0)


def test_results_that_differ_stop_the_benchmark():
    with pytest.raises(AssertionError, match="fake, n=10"):
        compare(ours={"sample": [1.1]})


def test_a_library_that_failed_is_left_out_of_larger_sizes():
    row, asked = compare(stock={"error": "took longer than 60 s"})
    assert asked.count("stock") == 1
    assert (row.ratio, row.note) == (None, "stock: took longer than 60 s")
    _, asked = compare(smaller=row)
    assert asked == ["ours"] * 3


def test_a_library_that_would_take_too_long_is_left_out():
    slow, _ = compare(stock={"seconds": PLAN.limit_s / 2})
    row, asked = compare(smaller=slow)
    assert "stock" not in asked
    assert "take too long" in row.note


def _compare_with_jit(jit, stock=()):
    asked = []
    servers = {
        "stock": FakeServer("stock", asked, **dict(stock)),
        "ours": FakeServer("ours", asked),
        "stock_jit": FakeServer("stock_jit", asked, **jit),
    }
    case = Case("fake", "", (10, 20), lambda _: None)
    return harness.compare(case, 10, servers, PLAN), asked


def test_stock_with_jit_is_measured_in_turn_and_has_its_own_columns():
    row, asked = _compare_with_jit({"seconds": 0.5, "first_s": 7.0}, stock={"seconds": 2.0})
    assert asked[:6] == ["stock", "ours", "stock_jit", "stock_jit", "ours", "stock"]
    assert (row.stock_s, row.ratio, row.note) == (2.0, 2.0, "")
    assert row.others == {"stock_jit": Other(0.5, 0.0, 7.0)}
    table = report.table_of_others([row])
    assert "| fake | 10 | 2 s | 1 s | - | 500 ms | 7 s | - | - | - |  |" in table


def test_a_case_that_does_not_compile_is_noted_beside_the_time_of_stock():
    row, asked = _compare_with_jit({"error": "ValueError: no | such op"})
    assert asked.count("stock_jit") == 1
    assert (row.ratio, row.note) == (1.0, "")
    assert row.others["stock_jit"] == Other(note="ValueError: no | such op")
    assert "- | stock_jit: ValueError: no / such op |" in report.table_of_others([row])


def test_values_that_differ_with_jit_are_noted_and_do_not_stop_the_benchmark():
    row, _ = _compare_with_jit({"sample": [1.1]})
    assert row.others["stock_jit"].note == "computes other values than stock"
    assert row.note == ""


def test_the_first_call_of_a_compiled_case_is_not_counted_as_a_run():
    naps = []
    compiled = Prepared(
        run=lambda: naps.append(1) or 0.25, result=lambda: time.sleep(0.05) or [1.0, 2.0]
    )
    case = Case("jit", "", (1,), lambda _: Prepared(None, None, compiled=lambda: compiled))
    found = cases.measure(case, 1, budget_s=0.01, jit=True)
    assert found.first_s == pytest.approx(0.05, rel=0.5)
    assert (found.seconds, found.sample) == ([0.25], [1.0, 2.0])


def test_a_case_in_a_session_has_no_form_with_jit():
    (case,) = (case for case in v3.CASES if case.name == "find")
    with pytest.raises(ValueError, match="the case has no form with jit_compile=True"):
        cases.measure(case, 3, 0.01, jit=True)


def test_the_first_line_of_an_error_skips_lines_without_information():
    error = ValueError("Graph execution error:\n\n  No such op. \nStack trace")
    assert child.first_line(error) == "ValueError: No such op."


@pytest.mark.parametrize("is_on", [False, True])
def test_the_facts_of_a_row_tell_whether_onednn_is_on(is_on, monkeypatch):
    monkeypatch.setattr(_tf_private, "is_onednn_enabled", lambda: is_on)
    assert harness.machine()["onednn"] is is_on


def test_only_results_may_differ_from_the_commit_that_a_row_names(tmp_path, monkeypatch):
    def git(*arguments):
        identity = ("-c", "user.name=name", "-c", "user.email=a", "-c", "commit.gpgsign=false")
        subprocess.run(["git", *identity, *arguments], cwd=tmp_path, check=True)

    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    monkeypatch.setattr(harness, "_ROOT", tmp_path)
    (tmp_path / "benchmarks" / "results").mkdir(parents=True)
    rows, case = tmp_path / "benchmarks/results/v3.jsonl", tmp_path / "benchmarks/v3.py"
    git("init", "-q")
    for path in (rows, case):
        path.write_text("")
    git("add", ".")
    git("commit", "-q", "-m", "first")
    rows.write_text("{}")
    assert re.fullmatch("[0-9a-f]{7,}", harness.machine()["commit"])
    case.write_text("pass")
    assert re.fullmatch("[0-9a-f]{7,}-dirty", harness.machine()["commit"])


def test_servers_measure_stock_and_ours_each_with_its_own_kernels():
    (case,) = (case for case in v3.CASES if case.name == "find")
    with harness.servers_for("benchmarks.v3") as servers:
        found = {name: server.measure(case, 5, PLAN) for name, server in servers.items()}
    assert found["stock"].kernel_calls == 0
    assert found["ours"].kernel_calls > 5
    assert found["stock"].sample == found["ours"].sample == [5.0]

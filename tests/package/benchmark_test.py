"""The benchmarks: each case computes the right values, and measurements and reports are right."""

import dataclasses
import itertools
import json
import re
import shutil
import subprocess
import time

import numpy as np
import pytest
import tensorflow as tf

from benchmarks import case as cases
from benchmarks import child, first_call, harness, indexing, lists, loops, peers, report, traced, v3
from benchmarks.case import Case, Measurement, Prepared
from benchmarks.memory import PeakMemory
from benchmarks.rows import Other
from tensor_array_grad import _tf_private
from tensor_array_grad.demo import curves
from tests.support import drawn
from tools import ablate

_PLAN = harness.Plan(rounds=3, budget_s=0.01, row_s=100, limit_s=60, largest_n=100)


def _named(module):
    return [pytest.param(case, id=case.name) for case in module.CASES]


@pytest.mark.parametrize("case", _named(v3))
@pytest.mark.parametrize("n", [1, 7])
def test_each_v3_case_computes_the_values_of_numpy(case, n):
    prepared = case.build(n)
    assert prepared.expected is not None
    assert cases.check(prepared).size == np.size(prepared.expected)
    assert prepared.run() > 0


@pytest.mark.parametrize("name", list(lists.LOSSES))
def test_each_loop_case_has_the_gradient_of_eager_mode(name):
    n = 80  # in one case, two inner loops of 40 iterations
    (case,) = (case for case in lists.CASES if case.name == name)
    rows = np.random.default_rng(n).standard_normal((n, 32), np.float32)
    eager = lists.gradient_of(lists.LOSSES[name])(tf.constant(rows)).numpy().ravel()
    assert np.abs(eager).max() > 0
    np.testing.assert_allclose(cases.check(case.build(n)), eager, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(
    "name", ["simple_rnn", "simple_rnn_input", "lstm", "gru", "hessian_vector", "short"]
)
def test_layer_hessian_and_short_cases_have_a_nonzero_gradient(name):
    (case,) = (case for case in lists.CASES if case.name == name)
    gradient = cases.check(case.build(7))
    assert np.isfinite(gradient).all()
    assert np.abs(gradient).max() > 0


def _kalman_in_numpy(series, transition, state_noise, noise):
    """The log-likelihood from the joint distribution of all observations, without a filter."""
    series, transition = np.asarray(series, np.float64), np.asarray(transition, np.float64)
    n = len(series)
    added, observed = np.diag(np.exp(state_noise)), np.diag(np.exp(noise))
    power = [np.linalg.matrix_power(transition, k) for k in range(n + 1)]
    variance, covariance = np.eye(2), np.zeros((2 * n, 2 * n))
    for t in range(n):
        variance = transition @ variance @ transition.T + added
        for later in range(t, n):
            block = power[later - t] @ variance
            covariance[2 * later : 2 * later + 2, 2 * t : 2 * t + 2] = block
            covariance[2 * t : 2 * t + 2, 2 * later : 2 * later + 2] = block.T
    covariance += np.kron(np.eye(n), observed)
    y = series.ravel()
    _, log_determinant = np.linalg.slogdet(2 * np.pi * covariance)
    return -0.5 * (y @ np.linalg.solve(covariance, y) + log_determinant)


def test_the_kalman_filter_finds_the_likelihood_of_the_joint_distribution():
    arguments = loops.kalman_arguments(12)
    expected = _kalman_in_numpy(*(value.numpy() for value in arguments))
    assert loops.kalman_log_likelihood(*arguments).numpy() == pytest.approx(expected, rel=1e-5)


def test_the_markov_model_sums_over_all_paths():
    n = 4
    emissions, transition = (
        value.numpy().astype(np.float64) for value in loops.markov_arguments(n)
    )
    follows = np.exp(transition) / np.exp(transition).sum(1, keepdims=True)
    paths = itertools.product(range(loops.STATES), repeat=n)
    total = sum(
        np.exp(sum(emissions[t, state] for t, state in enumerate(path)))
        * np.prod([follows[a, b] for a, b in itertools.pairwise(path)])
        / loops.STATES
        for path in paths
    )
    found = loops.markov_log_likelihood(*loops.markov_arguments(n)).numpy()
    assert found == pytest.approx(np.log(total), rel=1e-5)


@pytest.mark.parametrize(
    ("name", "loss", "arguments"),
    [
        ("kalman", loops.kalman_log_likelihood, loops.kalman_arguments(9)),
        ("markov", loops.markov_log_likelihood, loops.markov_arguments(9)),
    ],
)
def test_each_filter_case_has_the_value_and_gradients_of_eager_mode(name, loss, arguments):
    (case,) = (case for case in loops.CASES if case.name == name)
    eager = traced.value_and_gradients_of(loss)(*arguments).numpy()
    found = cases.check(case.build(9))
    # The Kalman case computes no gradient for the first argument, the series.
    expected = eager if name == "markov" else np.delete(eager, np.arange(1, 1 + 9 * 2))
    assert np.abs(expected).min() > 0
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_peak_memory_includes_a_buffer_that_was_freed():
    memory = PeakMemory()
    np.ones(32_000_000).sum()  # 256 MB, freed at once
    assert 200e6 < memory.bytes() < 400e6


def test_the_plain_loop_applies_a_tanh_in_each_iteration():
    (case,) = (case for case in loops.CASES if case.name == "plain_forward")
    row, h = traced.rows(1)[0].numpy(), 0.0
    for _ in range(5):
        h = np.tanh(h * 0.5 + row)
    assert cases.check(case.build(5)) == pytest.approx(h.sum(), rel=1e-4)


def _chains_in_numpy(x, n):
    value = np.zeros_like(x)
    for _ in range(n):
        value = value + x
        for _ in range(10):
            value = np.tanh(value)
    return value.sum()


def test_chains_apply_ten_tanh_in_each_iteration():
    x = traced.rows(4, 6)
    assert loops.chains(x, 3).numpy() == pytest.approx(_chains_in_numpy(x.numpy(), 3), rel=1e-5)


def test_determinants_are_those_of_numpy():
    x = traced.rows(3, 64 * 64)
    matrices = x.numpy().reshape(3, 64, 64) * 0.02 + np.eye(64)
    expected = np.linalg.det(matrices).sum()
    assert loops.determinants(x).numpy() == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize(
    "name", [c.name for c in loops.CASES if c.name not in ("kalman", "markov")]
)
def test_each_loop_case_but_the_filters_has_nonzero_values(name):
    (case,) = (case for case in loops.CASES if case.name == name)
    values = cases.check(case.build(3))
    assert np.isfinite(values).all()
    assert np.abs(values).max() > 1e-5


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


@pytest.mark.parametrize("name", ["scan_lstm", "third_derivative", "nested", "many_loops"])
def test_each_first_call_has_nonzero_values(name):
    (case,) = (case for case in first_call.CASES if case.name == name)
    values = cases.check(case.build(3))
    assert np.isfinite(values).all()
    assert np.abs(values).max() > 1e-5


def test_quick_sizes_are_the_small_ones_or_else_the_smallest():
    case = Case("sizes", "", (10, 20, 40), lambda _: None)
    assert case.sizes_within(20) == (10, 20)
    assert case.sizes_within(5) == (10,)


def test_a_target_holds_at_its_size_and_elsewhere_no_slowdown_is_allowed():
    case = Case("target", "", (10, 20, 30), lambda _: None, target={20: 5.0, 30: 9.0})
    assert [case.target_at(n) for n in case.sizes] == [1.0, 5.0, 9.0]
    assert dataclasses.replace(case, judged=False).target_at(20) == 0.0


class _FakeServer:
    """Reports a fixed time, and adds its name to `asked` at each measurement."""

    def __init__(self, name, asked, seconds=1.0, error=None, sample=(1.0,), first_s=1.0):
        self.name, self.asked, self.seconds = name, asked, seconds
        self.error, self.sample, self.first_s = error, list(sample), first_s

    def measure(self, case, n, plan):
        self.asked.append(self.name)
        if self.error:
            return self.error
        calls = 9 if self.name == "ours" else 0
        cpu = [self.seconds / 2]
        return Measurement([self.seconds], cpu, 1_000_000, self.sample, calls, self.first_s)


def _compare(stock=(), ours=(), **arguments):
    asked = []
    servers = {
        "stock": _FakeServer("stock", asked, **dict(stock)),
        "ours": _FakeServer("ours", asked, **dict(ours)),
    }
    case = Case("fake", "", (10, 20), lambda _: None)
    return harness.compare(case, 10, servers, _PLAN, **arguments), asked


def test_processes_of_the_two_libraries_alternate():
    _, asked = _compare()
    assert asked == ["stock", "ours", "ours", "stock", "stock", "ours"]


def test_the_ratio_is_stocks_time_over_ours():
    row, _ = _compare(stock={"seconds": 6.0}, ours={"seconds": 2.0})
    assert (row.stock_s, row.ours_s, row.ratio, row.cpu_ratio) == (6.0, 2.0, 3.0, 3.0)


def test_results_that_differ_stop_the_benchmark():
    with pytest.raises(AssertionError, match="fake, n=10"):
        _compare(ours={"sample": [1.1]})


def test_a_library_that_failed_is_left_out_of_larger_sizes():
    row, asked = _compare(stock={"error": "took longer than 60 s"})
    assert asked.count("stock") == 1
    assert (row.ratio, row.note) == (None, "stock: took longer than 60 s")
    _, asked = _compare(smaller=row)
    assert asked == ["ours"] * 3


def test_a_library_that_would_take_too_long_is_left_out():
    slow, _ = _compare(stock={"seconds": _PLAN.limit_s / 2})
    row, asked = _compare(smaller=slow)
    assert "stock" not in asked
    assert "take too long" in row.note


def _compare_with_jit(jit, stock=()):
    asked = []
    servers = {
        "stock": _FakeServer("stock", asked, **dict(stock)),
        "ours": _FakeServer("ours", asked),
        "stock_jit": _FakeServer("stock_jit", asked, **jit),
    }
    case = Case("fake", "", (10, 20), lambda _: None)
    return harness.compare(case, 10, servers, _PLAN), asked


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


def test_rows_that_were_not_measured_with_jit_give_no_jit_table():
    row, _ = _compare()
    assert report.table_of_others([row]) == ""


def test_ours_with_jit_and_on_stocks_kernels_have_columns_too():
    others = {
        "stock_jit": Other(8.0, 0.0, 9.0),
        "ours_jit": Other(2.0, 0.0, 3.0),
        "stock_kernels": Other(5.0, 0.0, 6.0),
    }
    row, _ = _compare()
    table = report.table_of_others([dataclasses.replace(row, others=others)])
    assert "| fake | 10 | 1 s | 1 s | 5 s | 8 s | 9 s | 2 s | 3 s | 4.00 |  |" in table


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


def test_a_case_compiled_by_xla_computes_the_same_values():
    (case,) = (case for case in lists.CASES if case.name == "read")
    prepared = case.build(20)
    np.testing.assert_allclose(
        cases.check(prepared.compiled()), cases.check(prepared), rtol=1e-4, atol=1e-6
    )


def test_complaints_name_cases_that_are_slow_large_or_failed():
    fine, _ = _compare()
    slow = dataclasses.replace(fine, case="slow", ratio=0.5)
    large = dataclasses.replace(fine, case="large", ours_peak_bytes=9_000_000)
    failed = dataclasses.replace(fine, case="failed", ours_s=None, ratio=None, note="ours: died")
    found = report.complaints([fine, slow, large, failed])
    assert [text.split()[0] for text in found] == ["slow", "large", "failed"]
    assert "0.50, asked 1" in found[0]
    assert "9.0 MB, stock 1.0 MB" in found[1]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(None, "-"), (2.5, "2.5 s"), (0.0012, "1.2 ms"), (3e-6, "3 us"), (5e-8, "50 ns")],
)
def test_durations_are_shown_in_the_unit_that_suits_them(seconds, text):
    assert report.seconds(seconds) == text


def test_rows_are_written_as_json_lines_with_the_machine_and_a_picture(tmp_path):
    row, _ = _compare(stock={"seconds": 6.0}, ours={"seconds": 2.0})
    report.write([row], {"cores": 2}, tmp_path / "fake")
    (line,) = (tmp_path / "fake.jsonl").read_text().splitlines()
    assert json.loads(line)["ratio"] == 3.0
    assert json.loads(line)["machine"] == {"cores": 2}
    assert (tmp_path / "fake.png").read_bytes().startswith(b"\x89PNG")


def test_rows_of_a_later_run_replace_those_of_the_same_case_and_size(tmp_path):
    row, _ = _compare()
    other = dataclasses.replace(row, case="other")
    report.write([row, other], {"cores": 2}, tmp_path / "fake")
    report.write([dataclasses.replace(row, ratio=9.5)], {"cores": 4}, tmp_path / "fake")
    rows = [json.loads(line) for line in (tmp_path / "fake.jsonl").read_text().splitlines()]
    assert [(r["case"], r["ratio"]) for r in rows] == [("fake", 9.5), ("other", 1.0)]
    assert [r["machine"]["cores"] for r in rows] == [4, 2]


def test_the_tables_of_the_page_are_replaced_and_the_rest_is_kept(tmp_path):
    row, _ = _compare(stock={"seconds": 6.0}, ours={"seconds": 2.0})
    report.write([row], {"cores": 2}, tmp_path / "fake")
    page = tmp_path / "README.md"
    page.write_text("Before.\n\n## Last results\n\nold\n")
    report.rewrite_readme(page, [tmp_path / "fake.jsonl"])
    text = page.read_text()
    assert text.startswith("Before.\n\n## Last results\n")
    assert "old" not in text
    assert "| 3.00 | 3.00 | 1 |" in text
    assert '{"cores": 2, "onednn": "not recorded"}' in text


def test_the_page_has_a_table_with_onednn_and_one_without(tmp_path):
    row, _ = _compare()
    for onednn, ratio in ((False, 1.25), (True, 9.5), (False, 1.5)):
        rows = [dataclasses.replace(row, ratio=ratio)]
        report.write(rows, {"onednn": onednn}, tmp_path / "fake")
    page = tmp_path / "README.md"
    page.write_text("## Last results\n")
    report.rewrite_readme(page, [tmp_path / "fake.jsonl"])
    _, with_it, without = re.split("With(?:out)? oneDNN:", page.read_text())
    assert "9.50" in with_it
    assert "1.50" in without
    assert "1.25" not in page.read_text()
    assert [row.ratio for row in report.first_rows(tmp_path / "fake.jsonl")] == [9.5]


def test_the_pictures_show_cases_that_were_not_measured_with_onednn(tmp_path):
    row, _ = _compare()
    other = dataclasses.replace(row, case="other", ratio=2.0)
    path = tmp_path / "fake.jsonl"
    report.write([row, other], {}, tmp_path / "fake")  # in which mode was not recorded
    report.write([dataclasses.replace(row, ratio=3.0)], {"onednn": True}, tmp_path / "fake")
    assert {(row.case, row.ratio) for row in report.first_rows(path)} == {
        ("fake", 3.0),
        ("other", 2.0),
    }
    assert len(path.read_text().splitlines()) == 2
    path.write_text("")
    assert report.first_rows(path) == []


@pytest.mark.parametrize("is_on", [False, True])
def test_the_facts_of_a_row_tell_whether_onednn_is_on(is_on, monkeypatch):
    monkeypatch.setattr(_tf_private, "is_onednn_enabled", lambda: is_on)
    assert harness.machine()["onednn"] is is_on


def test_only_results_may_differ_from_the_commit_that_a_row_names(tmp_path, monkeypatch):
    def git(*arguments):
        identity = ("-c", "user.name=name", "-c", "user.email=address")
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


def test_a_table_tells_whether_onednn_was_on(tmp_path):
    row, _ = _compare()
    report.write([row], {"cores": 2, "onednn": False}, tmp_path / "fake")
    page = tmp_path / "README.md"
    page.write_text("## Last results\n")
    report.rewrite_readme(page, [tmp_path / "fake.jsonl"])
    assert '{"cores": 2, "onednn": false}' in page.read_text()


def test_a_case_of_three_sizes_is_drawn_over_its_size_on_the_page(tmp_path):
    row, _ = _compare()
    rows = [dataclasses.replace(row, n=n) for n in (1, 7, 3)]
    page = tmp_path / "README.md"
    page.write_text("## Last results\n")
    report.write(rows[:2], {}, tmp_path / "fake")
    report.rewrite_readme(page, [tmp_path / "fake.jsonl"])
    assert "(fake.png)" in page.read_text()
    assert "growth" not in page.read_text()
    report.write(rows[2:], {}, tmp_path / "fake")
    report.rewrite_readme(page, [tmp_path / "fake.jsonl"])
    assert "(fake_growth.png)" in page.read_text()
    assert (tmp_path / "fake_growth.png").read_bytes().startswith(b"\x89PNG")


def _drawn(rows, tmp_path):
    with drawn.watch() as found:
        report.draw(rows, tmp_path / "fake")
    return found.problems(), found.texts()


@pytest.mark.parametrize("ratio", [0.1, 1.0, 1234.0])
@pytest.mark.parametrize("ours", [1e-6, 0.03, 7200.0])
@pytest.mark.parametrize("cases", [1, 2, 18])
@pytest.mark.sweep(4)
def test_texts_of_the_pictures_do_not_overlap_and_are_not_cut_off(ratio, ours, cases, tmp_path):
    row, _ = _compare()
    rows = [
        dataclasses.replace(
            row,
            case=f"simple_rnn_in_{number}",
            n=n,
            stock_s=ours * ratio * n,
            ours_s=ours * n,
            ratio=ratio,
            target=target,
        )
        for number in range(cases)
        for n, target in ((400, 1.0), (1600, 1.0), (25600, 20.0 * number + 1.0))
    ]
    problems, texts = _drawn(rows, tmp_path)
    assert problems == []
    assert texts.count(curves.ratio(ratio, 1.0)) == 2 * cases  # in the bars, and in the panels
    assert ("asked for, if not 1" in texts) == (cases > 1)


def test_the_pictures_of_the_last_results_have_no_overlap(tmp_path):
    files = report.files_of_results()
    assert len(files) >= 6
    for path in files:
        problems, texts = _drawn(report.first_rows(path), tmp_path)
        assert (path.stem, problems) == (path.stem, [])
        assert len(texts) > 10


def test_the_readme_shows_the_gains_of_the_last_results(tmp_path):
    folder = report.pathlib.Path(report.__file__).parent
    lines = report.gains(folder / "results")
    with drawn.watch() as found:
        report.draw_gains(lines, tmp_path / "gains.png")
    assert found.problems() == []
    assert set(report.GAINS) <= set(found.texts())
    alternative = (folder.parent / "README.md").read_text().split("![")[1].split("]")[0]
    for line in lines:
        last = max(line.stock)
        times = line.stock[last] / line.ours[last]
        assert f"{times:.0f} times" in alternative
        assert curves.ratio(times, 1.0) in found.texts()


def test_a_size_that_stock_could_not_reach_is_drawn_without_it(tmp_path):
    row, _ = _compare(stock={"seconds": 6.0}, ours={"seconds": 2.0})
    rows = [dataclasses.replace(row, n=n) for n in (10, 20)]
    rows.append(dataclasses.replace(row, n=40, stock_s=None, ratio=None))
    problems, texts = _drawn(rows, tmp_path)
    assert problems == []
    assert texts.count(curves.ratio(3.0, 1.0)) == 2
    assert "40" in texts


def test_servers_measure_stock_and_ours_each_with_its_own_kernels():
    (case,) = (case for case in v3.CASES if case.name == "find")
    with harness.servers_for("benchmarks.v3") as servers:
        found = {name: server.measure(case, 5, _PLAN) for name, server in servers.items()}
    assert found["stock"].kernel_calls == 0
    assert found["ours"].kernel_calls > 5
    assert found["stock"].sample == found["ours"].sample == [5.0]


def _peer_cases():
    for case in peers.CASES:
        loop, _, package = case.name.partition(".")
        yield pytest.param(case, loop, package, id=case.name)


@pytest.mark.parametrize(("case", "loop", "package"), list(_peer_cases()))
def test_each_peer_computes_the_gradient_of_tensorflow(case, loop, package):
    if package:
        pytest.importorskip(package)
    losses = {**lists.LOSSES, "index": indexing.index}
    eager = tf.convert_to_tensor(lists.gradient_of(losses[loop])(traced.rows(12))).numpy().ravel()
    assert np.abs(eager).max() > 0
    np.testing.assert_allclose(cases.check(case.build(12)), eager, rtol=1e-4, atol=1e-5)


@pytest.fixture
def no_package(monkeypatch):
    """Makes PyTorch and JAX look as if they were not installed."""
    monkeypatch.setattr(peers.importlib.util, "find_spec", lambda name: None)


def test_a_package_that_is_not_installed_is_named_with_the_extra_that_installs_it(no_package):
    assert peers.missing() == {
        "torch": "torch is not installed; pip install 'tensor_array_grad[peers]' installs it",
        "jax": "jax is not installed; pip install 'tensor_array_grad[peers]' installs it",
    }


def _compare_peers(n=10, smaller=None, **arguments):
    asked = []
    libraries = {column.library: None for column in peers.COLUMNS}
    servers = {name: _FakeServer(name, asked, **arguments) for name in libraries}
    return peers.compare("read", n, servers, _PLAN, smaller), asked


def test_stock_and_ours_are_measured_without_the_packages(no_package):
    row, asked = _compare_peers(seconds=2.0)
    forwards = ["stock", "ours", "ours_jit"]
    assert asked == [*forwards, *reversed(forwards), *forwards]
    assert row.seconds == {
        "stock": 2.0,
        "ours": 2.0,
        "ours, XLA": 2.0,
        "PyTorch": None,
        "JAX lax.scan": None,
    }
    assert peers.line(row) == "| read | 10 | 2 s | 2 s | 2 s | - | - |"


def test_installed_peers_are_measured_in_turn(monkeypatch):
    monkeypatch.setattr(peers.importlib.util, "find_spec", lambda name: object())
    row, asked = _compare_peers(seconds=0.5)
    # The server `stock` also measures PyTorch and JAX.
    assert asked[:5] == ["stock", "ours", "ours_jit", "stock", "stock"]
    assert set(row.seconds.values()) == {0.5}


def test_a_column_that_would_take_too_long_is_left_out_of_the_larger_size(no_package):
    slow, _ = _compare_peers(seconds=_PLAN.limit_s / 10)
    row, asked = _compare_peers(n=40, smaller=slow)
    assert asked == []
    assert row.notes["stock"] == "not run, it would take too long"
    assert "stock: not run, it would take too long; ours: not run" in peers.line(row)


def test_peers_are_written_as_json_lines(no_package, tmp_path):
    row, _ = _compare_peers(seconds=2.0)
    harness.write_rows([row], {"cores": 2}, tmp_path / "peers.jsonl")
    (line,) = (tmp_path / "peers.jsonl").read_text().splitlines()
    record = json.loads(line)
    assert (record["case"], record["n"], record["machine"]) == ("read", 10, {"cores": 2})
    assert (record["seconds"]["ours"], record["seconds"]["PyTorch"]) == (2.0, None)


def test_an_ablation_leaves_out_each_rule_and_each_other_part():
    found = ablate.settings(("a", "b"), ("c",))
    without = "TENSOR_ARRAY_GRAD_WITHOUT"
    assert found == {
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
        "all on": _FakeServer("all on", asked, seconds=0.002),
        "loops off": _FakeServer("loops off", asked, **loops_off),
    }
    case = Case("fake", "", (10, 20), lambda _: None)
    return ablate.compare(case, 20, servers, _PLAN), asked


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
        assert server.measure(case, 1, _PLAN).sample == [7.0]

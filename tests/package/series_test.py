"""Calls timed one by one, and the benchmarks of loops on many cores and of short loops."""

import dataclasses
import json
import threading
import time

import numpy as np
import pytest
import tensorflow as tf

from benchmarks import case as cases
from benchmarks import cores, harness, report, series, short
from benchmarks.case import Case, Measurement, Prepared
from tests.support import child as processes

_PLAN = harness.Plan(rounds=3, budget_s=0.01, row_s=100, limit_s=60, largest_n=100)
_RUNS = {"runs": 5, "handed_back": 2, "passed_on": 19}


def test_the_calls_from_the_second_one_on_are_timed():
    calls = []
    found = series.times(lambda: calls.append(time.sleep(0.001)))
    assert len(calls) == len(found) == series.CALLS - 1
    assert all(len(of_call) == 1 and of_call[0] > 0.001 for of_call in found)


def test_callers_call_at_the_same_time_and_each_call_is_timed():
    together = threading.Barrier(4, timeout=60)  # passed by four callers that wait at once
    found = series.times(together.wait, callers=4)
    assert [len(of_call) for of_call in found] == [4] * 23


def _calls(second, later, callers=1):
    """Times of calls 2 to 24: of the second one, of calls 3 and 4 (long), and of the later ones."""
    return [[second] * callers, [9.0] * callers, [9.0] * callers, *([later] * callers,) * 20]


def test_the_later_calls_are_those_from_the_fifth_on():
    assert series.later(_calls(7.0, 2.0, callers=3)) == [2.0] * 60
    assert series.median([*_calls(7.0, 2.0)[:-9], *[[5.0]] * 9]) == 2.0


def test_a_ratio_is_the_median_over_pairs_of_processes():
    stock = [_calls(1.0, later) for later in (2.0, 8.0, 3.0)]
    ours = [_calls(1.0, later) for later in (1.0, 1.0, 3.0)]
    assert series.ratio(stock, ours, series.median) == 2.0
    assert series.ratio(stock[:2], ours[:1], series.median) == 2.0


def test_the_summary_has_the_mean_the_second_call_and_what_became_of_the_loops():
    stock, ours = _calls(3.0, 2.0), [*_calls(4.0, 2.0)[:-10], *[[6.0]] * 10]
    found = series.summary([stock] * 2, [ours] * 2, [_RUNS, _RUNS], 0.85)
    assert found == series.Series(0.5, 0.75, 0.85, in_one_kernel=6, handed_back=4, passed_on=38)


def test_a_series_is_measured_instead_of_runs():
    calls = _calls(3.0, 2.0)
    prepared = Prepared(run=None, result=lambda: [1.0], series=lambda: calls)
    found = cases.measure(Case("series", "", (1,), lambda _: prepared), 1, budget_s=1.0)
    assert (found.seconds, found.series, found.sample) == ([2.0] * 20, calls, [1.0])
    assert len(found.cpu_seconds) == 20


class _FakeServer:
    """Reports calls of fixed times."""

    def __init__(self, calls, kernel_calls):
        self._calls, self._kernel_calls = calls, kernel_calls

    def measure(self, case, n, plan):
        seconds = series.later(self._calls)
        given = {"series": self._calls, "loop_runs": _RUNS, "kernel_calls": self._kernel_calls}
        return Measurement(seconds, [0.5], 1, [1.0], **given)


def _row(second=3.0, later=2.0):
    """A row in which these are our times; stock's are 3 for the second call, and 2."""
    case = Case("fake", "naps", (10,), lambda _: None, 0.95, second_target=0.85)
    ours = _FakeServer(_calls(second, later), 9)
    return harness.compare(
        case, 10, {"stock": _FakeServer(_calls(3.0, 2.0), 0), "ours": ours}, _PLAN
    )


def test_the_row_of_a_series_marks_what_is_below_the_target():
    row = _row(second=6.0, later=4.0)
    assert (row.ratio, row.series.mean, row.series.second) == (0.5, 0.5, 0.5)
    ratios = "| **0.50** | **0.50** | **0.50** | 1.00 | 0.95, 0.85 | 9 | 6 | 57 |"
    assert report.line(row) == f"| fake: naps | 10 | 2 s | 0 ns | 4 s | 0 ns {ratios}"
    assert report.line(row).count("|") == report.header(of_series=True).splitlines()[0].count("|")
    assert "**" not in report.line(_row())


def test_each_figure_of_a_series_has_its_target():
    found = report.complaints([_row(second=6.0)])
    assert found == ["fake at n=10: ratio of the second calls 0.50, asked 0.85"]
    slow = [text.split(": ")[1] for text in report.complaints([_row(later=4.0)])]
    assert slow == ["ratio 0.50, asked 0.95", "ratio of the means 0.50, asked 0.95"]
    assert report.complaints([_row(second=3.3, later=2.1)]) == []


def test_rows_of_a_series_are_written_and_read(tmp_path):
    row = _row(second=4.0)
    report.write([row], {"cores": 2, "onednn": True}, tmp_path / "fake")
    (line,) = (tmp_path / "fake.jsonl").read_text().splitlines()
    assert json.loads(line)["series"]["second"] == 0.75
    page = tmp_path / "README.md"
    page.write_text("## Last results\n")
    report.rewrite_readme(page, [tmp_path / "fake.jsonl"])
    assert f"{report.header(of_series=True)}\n{report.line(row)}\n" in page.read_text()


def test_a_processor_time_above_its_target_is_a_complaint():
    row = dataclasses.replace(_row(), series=None, cpu_ratio=0.9, cpu_target=0.97)
    assert report.complaints([row]) == ["fake at n=10: cpu ratio 0.90, asked 0.97"]


def test_rounds_are_measured_however_long_they_take():
    parser = harness.parser_for("fake")
    plan = harness.plan_for(parser.parse_args(["--quick", "--rounds", "7"]))
    assert (plan.rounds, plan.budget_s, plan.row_s) == (7, harness.QUICK.budget_s, float("inf"))
    assert harness.plan_for(parser.parse_args(["--quick"])) == harness.QUICK


# ---- benchmarks/cores.py


@pytest.fixture
def awake(monkeypatch):
    """Lets naps be no ops."""
    monkeypatch.setattr(cores, "nap", lambda value, us: value)


def _expected(naps, x, n):
    """The last values of a loop of `naps`."""

    def chain(value):
        for _ in range(naps.depth):
            value = np.tanh(value)
        return value

    values = [x * (k + 1) for k in range(naps.layers or naps.width)]
    for _ in range(n):
        if naps.layers:
            values = [sum(chain(v / (k + 1)) for k in range(naps.width)) for v in values]
        else:
            values = [chain(v) for v in values]
    return np.stack(values)


_SHAPES = [
    cores.Naps(1, 50),
    cores.Naps(3, 50, depth=2),
    cores.Naps(2, 50, layers=3),
    cores.Naps(1, 50, depth=4, layers=2),
]


@pytest.mark.parametrize("naps", _SHAPES, ids=lambda naps: naps.name)
@pytest.mark.parametrize("n", [0, 1, 7])
def test_a_loop_of_naps_has_the_values_of_numpy(naps, n, awake):
    x = np.linspace(0.1, 1.0, 4, dtype=np.float32)
    found = naps.function(n)(tf.constant(x))
    np.testing.assert_allclose(found, _expected(naps, x, n), rtol=1e-5)
    small, step = np.float64(x), 1e-6
    slope = _expected(naps, small + step, n) - _expected(naps, small - step, n)
    gradient = dataclasses.replace(naps, gradient=True).function(n)(tf.constant(x))
    np.testing.assert_allclose(gradient, slope.sum(0) / (2 * step), rtol=1e-4)


def test_the_name_of_a_case_says_what_is_run():
    naps = cores.Naps(2, 50, depth=3, layers=4, gradient=True, threads=8, callers=5)
    assert naps.name == "4_layers_of_2x3x50us_gradient_8threads_5callers"
    chains = "4 layers of 2 chains of 3 naps of 50 us"
    assert naps.what == f"{chains}, gradient, 8 threads, 5 callers"
    assert cores.Naps(1, 50).what == "1 nap of 50 us"
    assert len({case.name for case in cores.CASES}) == len(cores.CASES)


def test_a_library_that_was_not_built_is_named_with_the_command_that_builds_it(
    tmp_path, monkeypatch
):
    monkeypatch.setenv("TAG_BUILD", str(tmp_path))
    command = f"`cmake --build {tmp_path} --target nap_op` builds it"
    with pytest.raises(FileNotFoundError, match=command):
        cores.library("nap_op")


@pytest.fixture
def built():
    """Skips a test of the two libraries if they were not built."""
    try:
        return {name: cores.library(name) for name in ("nap_op", "sixteen_cores")}
    except FileNotFoundError:
        pytest.skip("the libraries of benchmarks/cores.py are not built")


def test_a_nap_takes_its_time_and_so_does_its_gradient(built):
    x = tf.constant([1.0, 2.0])
    start = time.monotonic()
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = cores.nap(x, 30_000)
    slept = time.monotonic() - start
    gradient = tape.gradient(y, x, tf.constant([3.0, 4.0]))
    both = time.monotonic() - start
    assert (y.numpy().tolist(), gradient.numpy().tolist()) == ([1.0, 2.0], [3.0, 4.0])
    assert slept > 0.03
    assert both - slept > 0.03


class _SharedServer:
    """Measures in a new process of a runner that the tests share."""

    def __init__(self, runner):
        self._runner = runner

    def measure(self, case, n, plan):
        arguments = ("benchmarks.cores", case.name, n, plan.budget_s, False)
        return self._runner.call("benchmarks.child:measure", *arguments)


def test_processes_measure_a_series_of_calls_on_each_library(built, ours, stocks):
    (case,) = (case for case in cores.CASES if case.name == "2x100us_gradient")
    servers = {"stock": _SharedServer(stocks), "ours": _SharedServer(ours)}
    row = harness.compare(case, 3, servers, dataclasses.replace(_PLAN, rounds=1))
    assert row.ratio > 0
    runs = row.series.in_one_kernel + row.series.handed_back + row.series.passed_on
    assert runs == 2 * series.CALLS  # a forward and a backward loop in each call


def test_a_preloaded_library_shows_sixteen_cores(built):
    program = "import os; print(len(os.sched_getaffinity(0)))"
    done = processes.interpreter("-c", program, LD_PRELOAD=str(built["sixteen_cores"]))
    assert processes.succeeded(done).stdout.split() == ["16"]


# ---- benchmarks/short.py


_SHORT = {case.name: case for case in short.CASES}


# The videos of more filters differ in nothing else.
@pytest.mark.parametrize("name", ["cheap", "lstm", "products", "videos_4", "routing", "images"])
def test_a_short_loop_has_the_same_nonzero_values_in_its_first_call(name):
    found = cases.check(_SHORT[name].build(2))
    assert np.isfinite(found).all()
    assert np.abs(found).max() > 1e-5
    np.testing.assert_allclose(cases.check(_SHORT[f"{name}_first"].build(2)), found, rtol=1e-4)


def test_a_run_of_a_light_case_is_several_calls_and_has_the_time_of_one():
    calls = []
    once = Prepared(run=lambda: calls.append(1) or 0.25, result=None)
    assert short._repeated(once, 8).run() == 0.25
    assert len(calls) == 8


def test_short_loops_have_targets_of_wall_and_processor_time():
    later, first = _SHORT["cheap"], _SHORT["cheap_first"]
    assert (later.target, later.cpu_target, later.first_call) == (0.97, 0.97, False)
    assert (first.target, first.cpu_target, first.first_call) == (0.91, 0.0, True)


def test_crops_are_those_of_each_image_and_are_drawn_in_loops():
    function, (images,) = short._cropped(3)
    traced = tf.function(function, autograph=False).get_concrete_function(images)
    assert "StatelessWhile" in {op.type for op in traced.graph.get_operations()}
    each = [
        tf.image.stateless_random_crop(image, short._CROPPED, [2 * k, 2 * k + 1])
        for k, image in enumerate(images)
    ]
    np.testing.assert_array_equal(traced(images), each)

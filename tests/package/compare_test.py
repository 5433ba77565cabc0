"""`python -m tensor_array_grad compare` compares a program on stock and with the library."""

from __future__ import annotations

import json
import pathlib
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator

import pytest

from tensor_array_grad import _compare, _comparison, _runs
from tensor_array_grad._comparison import Comparison
from tensor_array_grad._report import Reports
from tensor_array_grad._runs import OURS, STOCK, Run
from tests.support import child

COMPARE = ("-m", "tensor_array_grad", "compare")
READS = """
import sys
import tensorflow as tf

@tf.function
def loss(x):
    rows = tf.TensorArray(tf.float32, 40).unstack(x)
    h = tf.zeros([3])
    for i in tf.range(40):
        h = tf.tanh(rows.read(i) + h)
    return tf.reduce_sum(h)

x = tf.random.stateless_normal([40, 3], [1, 2])
with tf.GradientTape() as tape:
    tape.watch(x)
    y = loss(x)
print(sys.argv[1:], y.numpy(), tape.gradient(y, x).numpy().tolist())
"""
# Adds a dot to the file `seen` in each run, and prints the value of an expression on line 2.
PRINTS_VALUE = """
import os, pathlib
seen = pathlib.Path("seen")
seen.write_text((seen.read_text() if seen.exists() else "") + ".")
print("first")
print({value})
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> pathlib.Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(text: str) -> None:
    pathlib.Path("script.py").write_text(text)


def test_a_loop_that_reads_is_compared():
    write(READS)
    done = child.interpreter(*COMPARE, "--json", "--runs", "1", "script.py", "--runs", "7")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["output"] == "the same in all runs"
    assert not found["differs"]
    assert (found["processes"], found["processes_without_report"]) == (1, 0)
    assert found["inactive"] == []
    assert found["loops_in_one_kernel"] == 2
    assert found["loops_handed_back"] == 0
    assert found["loops_left"] == {}
    assert found["rewrites"]["accumulate_into_list"] == 1
    for library in ("stock", "ours"):
        (wall,), (cpu,), (peak,), (start,), _ = found[library].values()
        assert 0 < start < wall
        assert wall > 0.5
        assert cpu > 0.5
        assert peak > 100e6
    assert "stock, run 1 of 1" in done.stderr


def test_the_page_shows_the_figures_the_loops_and_the_rewrites():
    write(READS)
    done = child.interpreter(*COMPARE, "--runs", "1", "script.py", TENSOR_ARRAY_GRAD_LOOPS="off")
    assert done.returncode == 0, done.stderr
    rows = [re.split(r"\s{2,}", line.rstrip()) for line in done.stdout.splitlines()]
    page = {name: " ".join(cells).split() for name, *cells in rows}
    assert page[""] == ["stock", "ours", "stock", "/", "ours"]
    for name in ("wall time", "processor time", "peak memory"):
        stock, _, ours, _, ratio = page[name]
        assert float(ratio) == pytest.approx(float(stock) / float(ours), rel=0.02), name
    assert page["loops in one kernel"] == ["0"]
    assert page["rewritten: accumulate_into_list"] == ["1"]


def test_runs_alternate_and_another_output_is_reported():
    write(PRINTS_VALUE.format(value='os.environ.get("TENSOR_ARRAY_GRAD")'))
    done = child.interpreter(*COMPARE, "--runs=2", "script.py")
    assert done.returncode == 1
    assert "DIFFERS: line 2 is 'off' on stock and 'on' on ours" in done.stdout
    assert pathlib.Path("seen").read_text() == "...."
    runs = [line.split(",")[0] for line in done.stderr.splitlines()]
    assert runs == ["stock", "ours", "ours", "stock"]


def test_an_output_that_differs_on_stock_itself_is_no_difference():
    write(PRINTS_VALUE.format(value="len(seen.read_text())"))
    for runs, seen in ("2", 4), ("1", 3):
        pathlib.Path("seen").unlink(missing_ok=True)
        done = child.interpreter(*COMPARE, "--runs", runs, "script.py")
        assert done.returncode == 0
        assert "differs, between two runs of stock as well" in done.stdout
        assert "No process had the library" in done.stdout
        assert len(pathlib.Path("seen").read_text()) == seen


@pytest.mark.parametrize("library", ["stock", "ours"])
def test_a_program_that_fails_ends_the_comparison(library):
    switch = {"stock": "off", "ours": "on"}[library]
    write(f"import os, sys\nif os.environ['TENSOR_ARRAY_GRAD'] == '{switch}': sys.exit('no data')")
    done = child.interpreter(*COMPARE, "script.py")
    assert done.returncode == 1
    assert f"{library}: the program ended with 1\nno data" in done.stderr
    assert done.stdout == ""


def test_a_program_that_a_signal_ends_is_shown_with_its_output():
    code = "import os; print('half', flush=True); os.kill(os.getpid(), 9)"
    done = child.interpreter(*COMPARE, "-c", code)
    assert done.returncode == 1
    assert "stock: the program was ended by SIGKILL\nhalf" in done.stderr
    done = child.interpreter(*COMPARE, "-c", "import os; os.kill(os.getpid(), 35)")
    assert "stock: the program was ended by signal 35" in done.stderr


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Lets signals end child processes that a shell ignores in the background, or `nohup`."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    hangup = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGINT, before)
    signal.signal(signal.SIGHUP, hangup)


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGHUP, 129)]
)
def test_a_signal_ends_the_program_and_its_children_too(number, status):
    write("""
import os, pathlib, subprocess, sys
sleeper = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(200)"])
pathlib.Path("new").write_text(f"{os.getpid()} {sleeper.pid}")
pathlib.Path("new").rename("started")
sleeper.wait()
""")
    command = [sys.executable, *COMPARE, "script.py"]
    with subprocess.Popen(command, stderr=subprocess.PIPE) as comparing:
        try:
            while not pathlib.Path("started").exists():
                assert comparing.poll() is None
                time.sleep(0.01)
            comparing.send_signal(number)
            assert comparing.wait() == status
            assert comparing.stderr.read() == b""
        finally:
            comparing.terminate()
    for process in pathlib.Path("started").read_text().split():
        while not has_ended(process):
            time.sleep(0.01)


def has_ended(process: str) -> bool:
    try:
        return ") Z " in pathlib.Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return True


@pytest.mark.parametrize(
    ("end", "silent", "processes"),
    [
        ("os._exit(0)", 1, 1),
        ("os.environ.clear()", 0, 1),
        ("if os.fork(): os.wait()", 1, 2),
    ],
)
def test_processes_that_end_without_a_report_are_counted(end, silent, processes):
    program = f"import os, tensorflow\n{end}"
    done = child.python(*COMPARE, "--runs", "1", "--json", "-c", program, fork_children=True)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["processes_without_report"], found["processes"]) == (silent, processes)


def test_a_library_that_cannot_be_loaded_is_reported(tmp_path):
    package = child.copy_package(tmp_path)
    (package / child.LIBRARY.relative_to(child.PACKAGE)).unlink()
    done = child.python(
        *(*COMPARE, "--runs", "1", "-c", "import tensorflow"),
        fork_children=True,
        PYTHONPATH=str(tmp_path),
    )
    assert done.returncode == 1, done.stderr
    assert "The library was not active: " in done.stdout
    assert "No kernel" not in done.stdout


def test_counts_are_the_means_of_the_runs_but_no_silent_process_is_lost(tmp_path):
    report = {"inactive": "a GPU", "parts_off": ["loops"], "counters": {"loops.prepared": 2}}
    report |= {"threads": 8, "compilations": 6, "compile_s": 3.0, "jit_options_added": 2}
    for number in range(2):
        (tmp_path / f"{number}").mkdir()
        (tmp_path / f"{number}" / "report.json").write_text(json.dumps(report))
    (tmp_path / "2.json").touch()
    reports = Reports(1, 1, ("a GPU",), ("loops",), Counter({"loops.prepared": 1}), 8, 4, 2.0, 2)
    assert Reports.read(tmp_path, 3) == reports


def comparison(stock: list[str], ours: list[str], **reports: object) -> Comparison:
    runs = {"stock": stock, "ours": ours}
    made = {name: [Run(1.0, 1.0, 1, text) for text in texts] for name, texts in runs.items()}
    counters = Counter(reports.pop("counters", {}))
    return Comparison(made, Reports(**{"processes": 1, "counters": counters, **reports}))


@pytest.mark.parametrize(
    ("reports", "line"),
    [
        ({"processes": 0}, "No process had the library"),
        ({}, "No kernel of the library ran"),
        ({"silent": 1, "processes": 2}, "1 of 2 processes ended without a report"),
        ({"inactive": ("a GPU",)}, "The library was not active: a GPU"),
        ({"parts_off": ("kernels (a GPU)",)}, "Not active: kernels (a GPU)"),
        ({"counters": {"loops.prepared": 3, "loops.handed_back": 2}}, "loops in one kernel     3"),
        ({"counters": {"loops.prepared": 3, "loops.handed_back": 2}}, "loops handed back       2 "),
        ({"threads": 8}, "threads for ops         8"),
        ({"counters": {"loops.left.large frame": 2}}, "loops left to stock     2: large frame"),
        ({"counters": {"graph.fold": 2}}, "rewritten: fold         2"),
    ],
)
def test_the_page_says_what_the_library_did(reports, line):
    lines = str(comparison(["a"], ["a"], **reports)).splitlines()
    assert [text for text in lines if text.startswith(line)], lines
    silent = not reports.get("processes", 1) or "silent" in reports or "inactive" in reports
    used = "prepared" in str(reports) or "fold" in str(reports)
    assert any("No kernel" in text for text in lines) == (not silent and not used)


@pytest.mark.parametrize(
    ("stock", "ours", "says"),
    [
        (["1"], ["1"], "the same in all runs"),
        (["1", "2"], ["3"], "differs, between two runs of stock as well"),
        (["1.0000001", "1.0000002"], ["1.0"], "the same but for rounding: the largest "),
        (["1.0000001", "1.0000002"], ["5.0"], "DIFFERS: line 1 is '1.0000001' on stock and"),
        (["loss 0.1"], ["loss 0.1", "loss 0.2"], "DIFFERS: line 1 is 'loss 0.1' on stock and"),
        (["[1. 2.]"], ["[1.        2.0000001]"], "the same but for rounding: the largest "),
    ],
)
def test_the_page_says_whether_the_outputs_differ(stock, ours, says):
    found = comparison(stock, ours)
    assert found.output().startswith(says)
    assert found.differs() == says.startswith("DIFFERS")
    assert found.exit_status == found.differs()


@pytest.mark.parametrize(
    ("stock", "ours", "expected"),
    [
        ("loss 1.0\n", "loss 1.000001\n", 1e-6),
        ("-2e-5 1E3", "-1e-5 1E3", 0.5),
        ("1.0", "-1.0", 2.0),
        (".5", "0.5", 0.0),
        ("step 1000000", "step 1000001", float("inf")),
        ("1.0 a", "1.0 b", float("inf")),
        ("[1 2 3]", "[12 3]", float("inf")),
        ("a b 1.0", "ab 1.0", float("inf")),
        ("1e400", "1.0", float("inf")),
        ("1e400", "2e400", float("inf")),
        ("1  2", "1 2", 0.0),
        ("1.0", "1.0 2.0", float("inf")),
        ("nan", "1.0", float("inf")),
    ],
)
def test_rounding_is_the_largest_relative_difference(stock, ours, expected):
    assert _comparison.rounding(stock, ours) == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize(
    ("stock", "ours", "expected"),
    [
        ("a\nb\n", "a\nc\n", "line 2 is 'b' on stock and 'c' on ours"),
        ("a\n", "a\nb\n", "stock printed 1 lines, ours 2"),
        ("a\n", "a", "only the ends of lines differ"),
        ("a\n", "a\r\n", "only the ends of lines differ"),
        (
            "x" * 500 + "1" + "y" * 500,
            "x" * 500,
            f"line 1 is ...'{'x' * 40}1{'y' * 39}'... on stock and ...'{'x' * 40}' on ours",
        ),
    ],
)
def test_the_first_difference_is_shown_with_what_is_around_it(stock, ours, expected):
    assert _comparison.first_difference(stock, ours) == expected


def test_modules_code_and_flags_of_the_interpreter_are_passed_on():
    pathlib.Path("module.py").write_text("import sys; print(sys.argv[1:], sys.flags.optimize)")
    for command in (["-m", "module", "a"], ["-c", pathlib.Path("module.py").read_text(), "a"]):
        done = child.interpreter("-O", *COMPARE, "--runs", "1", "--json", *command)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["output"] == "the same in all runs"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "there is no program to run"),
        (["--runs", "0", "script.py"], "--runs must be at least 1, got 0"),
        (["--runs", "many", "script.py"], "invalid int value: 'many'"),
        (["--run", "3", "script.py"], "unrecognized arguments: --run"),
        (["-", "argument"], "the program cannot come from standard input"),
    ],
)
def test_wrong_arguments_are_named(arguments, message):
    done = child.interpreter(*COMPARE, *arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert "usage: python -m tensor_array_grad compare" in done.stderr


def test_help_is_that_of_the_comparison():
    done = child.interpreter(*COMPARE, "-h")
    assert done.returncode == 0
    assert "runs on each library (default: 3)" in done.stdout


def test_a_second_run_of_stock_makes_a_comparison_of_its_own(monkeypatch):
    outputs = {STOCK: iter(["1.0", "2.0"]), OURS: iter(["3.0"])}
    made = []

    def run(command, library, folder):
        return Run(1.0, 1.0, 1, next(outputs[library]))

    def noted(*arguments):
        made.append((Comparison(*arguments), Comparison(*arguments).output()))
        return made[-1][0]

    monkeypatch.setattr(_compare._runs, "run", run)
    monkeypatch.setattr(_compare, "Comparison", noted)
    found = _compare.compare(["-c", "pass"], runs=1)
    assert [run.output for run in found.runs[STOCK]] == ["1.0", "2.0"]
    assert found.output() == "differs, between two runs of stock as well"
    ((first, output),) = made
    assert first.output() == output != found.output()


def test_the_start_is_shown_apart():
    write("import time, tensorflow as tf; time.sleep(1); tf.constant(1); print('done')")
    stock, ours = (
        _runs.run(["script.py"], library, pathlib.Path.cwd()) for library in (STOCK, OURS)
    )
    for run in (stock, ours):
        assert 1 < run.start_wall_s < run.wall_s
        assert run.work_wall_s == run.wall_s - run.start_wall_s
        assert 0 < run.start_cpu_s < run.cpu_s


def test_ratios_without_the_start():
    def made(wall: float, start: float) -> tuple[Run, ...]:
        return (Run(wall, wall, 1, "", "", start, start),)

    found = Comparison({STOCK: made(8.0, 4.0), OURS: made(6.0, 4.0)}, Reports())
    assert found.ratio("wall_s") == pytest.approx(8 / 6)
    assert found.ratio("work_wall_s") == pytest.approx(2)
    lines = str(found).splitlines()
    assert [line.split() for line in lines[1:4]] == [
        ["wall", "time", "8.00", "s", "6.00", "s", "1.33"],
        ["wall", "time,", "start", "4.00", "s", "4.00", "s"],
        ["wall", "time,", "rest", "4.00", "s", "2.00", "s", "2.00"],
    ]
    assert json.loads(found.to_json())["ratios"]["ours"]["work_cpu_s"] == pytest.approx(2)


def test_without_an_op_there_is_no_start():
    found = Comparison({STOCK: (Run(2.0, 1.0, 1, ""),), OURS: (Run(1.0, 1.0, 1, ""),)}, Reports())
    assert "start" not in str(found)
    assert json.loads(found.to_json())["ratios"]["ours"]["work_wall_s"] is None

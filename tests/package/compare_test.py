"""`python -m tensor_array_grad compare` compares a program on stock and with the library."""

from __future__ import annotations

import json
import pathlib
import re

import pytest

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
    done = child.python(*COMPARE, "--json", "--runs", "1", "script.py", "--runs", "7")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["output"] == "the same in all runs"
    assert found["loops_in_one_kernel"] == 2
    assert found["loops_left"] == {}
    assert found["rewrites"]["accumulate_into_list"] == 1
    for library in ("stock", "ours"):
        (wall,), (cpu,), (peak,) = found[library].values()
        assert wall > 0.5
        assert cpu > 0.5
        assert peak > 100e6
    assert "stock, run 1 of 1" in done.stderr


def test_the_page_shows_the_figures_the_loops_and_the_rewrites():
    write(READS)
    done = child.python(*COMPARE, "--runs", "1", "script.py", TENSOR_ARRAY_GRAD_LOOPS="off")
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
    done = child.python(*COMPARE, "--runs=2", "script.py")
    assert done.returncode == 1
    assert "DIFFERS: line 2 is 'off' on stock and 'on' on ours" in done.stdout
    assert pathlib.Path("seen").read_text() == "...."
    runs = [line.split(",")[0] for line in done.stderr.splitlines()]
    assert runs == ["stock", "ours", "ours", "stock"]


def test_an_output_that_differs_on_stock_itself_is_no_difference():
    write(PRINTS_VALUE.format(value="len(seen.read_text())"))
    done = child.python(*COMPARE, "--runs", "2", "script.py")
    assert done.returncode == 0
    assert "differs, between two runs of stock as well" in done.stdout
    assert "The library was not loaded: the program did not import TensorFlow." in done.stdout


@pytest.mark.parametrize("library", ["stock", "ours"])
def test_a_program_that_fails_ends_the_comparison(library):
    switch = {"stock": "off", "ours": "on"}[library]
    write(f"import os, sys\nif os.environ['TENSOR_ARRAY_GRAD'] == '{switch}': sys.exit('no data')")
    done = child.python(*COMPARE, "script.py")
    assert done.returncode == 1
    assert f"{library}: the program ended with 1\nno data" in done.stderr
    assert done.stdout == ""


def test_modules_code_and_flags_of_the_interpreter_are_passed_on():
    pathlib.Path("module.py").write_text("import sys; print(sys.argv[1:], sys.flags.optimize)")
    for command in (["-m", "module", "a"], ["-c", pathlib.Path("module.py").read_text(), "a"]):
        done = child.python("-O", *COMPARE, "--runs", "1", "--json", *command)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["output"] == "the same in all runs"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "there is no program to run"),
        (["--runs", "0", "script.py"], "--runs must be at least 1, got 0"),
        (["--runs", "many", "script.py"], "invalid int value: 'many'"),
        (["--run", "3", "script.py"], "unrecognized arguments: --run"),
    ],
)
def test_wrong_arguments_are_named(arguments, message):
    done = child.python(*COMPARE, *arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert "usage: python -m tensor_array_grad compare" in done.stderr

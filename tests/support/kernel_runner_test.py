"""Tests of `kernel_runner`: calls and their answers, and Python programs in forks."""

from __future__ import annotations

import subprocess

import pytest

from tests.support import kernel_runner
from tests.support.kernel_runner import Runner


def test_an_answer_that_nothing_received_is_not_the_answer_to_the_next_call(stocks: Runner) -> None:
    stocks.start_call("operator:add", 1, 2)
    stocks.start_call("operator:add", 3, 4)
    assert stocks.finish_call() == 7


def test_enable_keeps_stocks_kernels_in_a_runner_of_stock(stocks: Runner) -> None:
    results = []
    for function in ("enable", "is_enabled"):  # in the same worker
        stocks.start_call(f"tensor_array_grad:{function}")
        results.append(stocks.finish_call())
    stocks.restart()
    assert results == [None, False]


def test_two_runners_of_one_process_have_a_worker_each() -> None:
    with kernel_runner.Runner() as first:
        other = first.another()  # before the first worker was made
        pids = []
        for runner in (other, first, other):
            runner.start_call("os:getpid")
            pids.append(runner.finish_call())
        other.close()
        assert first.call("operator:add", 1, 2) == 3
    assert pids[0] == pids[2] != pids[1]


def test_python_in_a_fork_ends_as_an_interpreter_does(stocks: Runner) -> None:
    programs = {
        "import atexit, sys; atexit.register(print, 'b'); print('a'); sys.exit(7)": (7, "a\nb\n"),
        "import sys; sys.exit('text')": (1, ""),
        "raise ValueError('of the program')": (1, ""),
        "import os, signal; os.kill(os.getpid(), signal.SIGTERM)": (-15, ""),
        "import sys; print(sys.argv, input(), __name__)": (0, "['-c', 'x'] line __main__\n"),
        "import tensorflow as tf; print(int(tf.constant(2) + 3))": (0, "5\n"),
        "import sys; print('tensor_array_grad' in sys.modules)": (0, "False\n"),
        "import os; print(os.environ['NAME'], os.environ.get('HOME'))": (0, "value None\n"),
    }
    for program, ended in programs.items():
        done = stocks.python(["-c", program, "x"], {"NAME": "value"}, stdin="line\n")
        assert (done.returncode, done.stdout) == ended, done.stderr
    done = stocks.python(["-c", "raise ValueError('of the program')"], {})
    assert done.stderr.splitlines()[-1] == "ValueError: of the program"


def test_python_that_takes_too_long_is_killed(stocks: Runner) -> None:
    program = "import time; print('begins', flush=True); time.sleep(60)"
    with pytest.raises(subprocess.TimeoutExpired) as raised:
        stocks.python(["-c", program], {}, timeout=2.0)
    assert raised.value.stdout == "begins\n"


def test_a_fork_without_tensorflow_imports_it_by_the_import_system(stocks: Runner) -> None:
    program = """
import sys
print("tensorflow" in sys.modules)
finder = type("Finder", (), {"find_spec": lambda self, name, *_: print("asked for", name)})()
sys.meta_path.insert(0, finder)
import tensorflow as tf
print(int(tf.constant(2) + 3))
"""
    done = stocks.python(["-c", program], {}, imported=False)
    lines = done.stdout.splitlines()
    assert (lines[0], lines[1], lines[-1]) == ("False", "asked for tensorflow", "5"), done

"""The table of where loops ran, made from the log of a program."""

from __future__ import annotations

import importlib.util
import pathlib
from types import ModuleType

import pytest

from tests.support import child

_TOOL = pathlib.Path(__file__).resolve().parents[2] / "tools" / "loop_reasons.py"
_PROGRAM = """
import tensorflow as tf, tensor_array_grad
tensor_array_grad.enable()

def loop(step):
    return tf.function(lambda: tf.while_loop(lambda i: i < 5, step, [0]))()

loop(lambda i: i + 1)
loop(lambda i: i * 2 + 1)
loop(lambda i: tf.raw_ops.Print(input=i, data=[i], first_n=0) + 1)
"""

pytestmark = pytest.mark.skipif(not _TOOL.exists(), reason="the tests lie outside a checkout")


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("loop_reasons", _TOOL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_loops_are_counted_by_reason_and_op(tool):
    done = child.python("-c", _PROGRAM, TENSOR_ARRAY_GRAD_LOG="1")
    assert done.returncode == 0, done.stderr
    in_one_kernel, left = tool.count(done.stderr.splitlines())
    assert in_one_kernel == 2
    assert left == {"private state or unknown side effects": {"Print": 1}}


def test_the_table_begins_with_the_most_frequent_reason(tool):
    left = {"ref type": {"": 1}, "asynchronous kernel": {"PartitionedCall": 2, "Batch": 1}}
    counted = {reason: tool.Counts(ops) for reason, ops in left.items()}
    assert tool.table(96, counted).splitlines()[2:] == [
        "| in one kernel | 96 | 96.0% |  |",
        "| asynchronous kernel | 3 | 3.0% | `PartitionedCall` 2, `Batch` 1 |",
        "| ref type | 1 | 1.0% |  |",
    ]

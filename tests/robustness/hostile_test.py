"""Hostile programs end with the expected result or error, and the process survives.

Each program runs in a process of its own, so that a crash fails one test only. Every message is
compared with `hostile_messages.json`, word for word, but only on the TensorFlow release that the
file was written with, because parts of the messages come from TensorFlow. If the file has a list of
messages for a program, one of them must appear; which one depends on the free memory.

`python -m tests.robustness.hostile_test` writes the file again; review its changes.
"""

from __future__ import annotations

import json
import pathlib
import re
import resource
from collections.abc import Iterator
from typing import Any

import pytest
import tensorflow as tf

# hostile_arrays and hostile_lists add their programs to hostile_cases.CASES.
from tests.robustness import hostile_arrays, hostile_cases, hostile_lists  # noqa: F401
from tests.support import kernel_runner, list_cases
from tests.support.script import Script

MESSAGES = pathlib.Path(__file__).parent / "hostile_messages.json"
WRITTEN_WITH = "2.21."


def answer(name: str) -> tuple[Any, ...]:
    """The outcome of the program `name`; called in a child process.

    The process may allocate 8 GiB more, so that the same allocations fail on every machine.
    """
    pages = int(pathlib.Path("/proc/self/statm").read_text().split()[0])
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + (8 << 30), most))
    return list_cases.outcome(hostile_cases.CASES[name][0])


def words(message: str) -> str:
    """`message` without the parts that differ between runs.

    These are the names of nodes that TensorFlow adds, addresses, hashes, and the proto with which
    it may end: protobuf varies the spaces in it on purpose. The CPU's allocator has another name on
    machines for which TensorFlow enables oneDNN.
    """
    message = message.replace("by allocator mklcpu", "by allocator cpu")
    message = re.sub(r"0x[0-9a-f]{6,}|(?<=_)[0-9a-f]{16}\b", "..", message)
    message = re.sub(r"^(\{\{function_node [^}]*\}\} )+", "", message)
    message = re.sub(r" \[Op:[^]]*\]( name: .*)?$", "", message, flags=re.DOTALL)
    return message.split("from proto:")[0].strip()


@pytest.fixture(scope="module")
def ours() -> Iterator[kernel_runner.Runner]:
    """Child processes whose CPU allocator fails at once. That of oneDNN first waits for 10 s."""
    with kernel_runner.Runner("enable", env={"TF_ENABLE_ONEDNN_OPTS": "0"}) as runner:
        yield runner


def run(name: str, ours: kernel_runner.Runner) -> Any:
    return ours.call("tests.robustness.hostile_test:answer", name, timeout=120.0)


@pytest.fixture(scope="module")
def messages() -> dict[str, str | list[str]]:
    """The expected message or messages of each program; empty for other releases of TensorFlow."""
    if not tf.__version__.startswith(WRITTEN_WITH):
        return {}
    return json.loads(MESSAGES.read_text())


@pytest.mark.parametrize("name", list(hostile_cases.CASES))
@pytest.mark.sweep(3)
def test_a_hostile_program_ends_with_the_expected_result_or_error(
    name: str, ours: kernel_runner.Runner, messages: dict[str, str]
) -> None:
    _, kind, text = hostile_cases.CASES[name]
    got = run(name, ours)
    assert isinstance(got, tuple), got
    if kind == "ok":
        assert (got[0], repr(got[1])) == ("ok", text), got
    else:
        assert got[:2] == ("error", kind), got
        assert re.search(text, got[2]), got
        if messages:
            expected = messages[name]
            assert words(got[2]) in ([expected] if isinstance(expected, str) else expected)


def test_every_expected_error_has_a_recorded_message() -> None:
    errors = {name for name, (_, kind, _) in hostile_cases.CASES.items() if kind != "ok"}
    assert set(json.loads(MESSAGES.read_text())) == errors


def test_zeros_that_no_memory_can_hold_are_refused_and_the_array_stays_usable(
    ours: kernel_runner.Runner,
) -> None:
    script = Script()
    array = script.array(2, element_shape=[hostile_cases.MAX, hostile_cases.MAX])
    read = script.read(array, 0)
    size = script.size(array)
    results = script.run(ours)
    assert results.error(read).kind == hostile_cases.SHORT
    assert results[size] == 2


if __name__ == "__main__":
    with kernel_runner.Runner("enable") as runner:
        written = {
            name: words(run(name, runner)[2])
            for name, (_, kind, _) in hostile_cases.CASES.items()
            if kind != "ok"
        }
    MESSAGES.write_text(json.dumps(written, indent=1) + "\n")

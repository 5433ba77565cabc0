"""Programs that mean no good end in the error that they deserve, and the process lives.

Each runs in a process of its own, so that a test of it fails and does not end the others. Every
message is compared with `hostile_messages.json`, word for word, on the TensorFlow that it was
written with; parts of messages are TensorFlow's and differ between releases.
`python -m tests.hostile_test` writes the file anew; read what changed in it. A list holds messages
of which one comes, as it depends on the memory that is free.
"""

from __future__ import annotations

import json
import pathlib
import re
import resource
from typing import Any

import pytest
import tensorflow as tf

# The second and third fill the table of the first.
from tests import hostile_arrays, hostile_cases, hostile_lists, list_cases, stock  # noqa: F401

MESSAGES = pathlib.Path(__file__).parent / "hostile_messages.json"
WRITTEN_WITH = "2.21."


def answer(name: str) -> tuple[Any, ...]:
    """What the program `name` does; called in a child.

    It may take 8 GiB more, so that what no memory holds is the same on every machine.
    """
    pages = int(pathlib.Path("/proc/self/statm").read_text().split()[0])
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + (8 << 30), most))
    return list_cases.outcome(hostile_cases.CASES[name][0])


def words(message: str) -> str:
    """`message` without what differs between runs.

    That is the nodes that TensorFlow names around it, addresses, hashes, and the proto that it may
    end in, in which protobuf varies the spaces on purpose.
    """
    message = re.sub(r"0x[0-9a-f]{6,}|(?<=_)[0-9a-f]{16}\b", "..", message)
    message = re.sub(r"^(\{\{function_node [^}]*\}\} )+", "", message)
    message = re.sub(r" \[Op:[^]]*\]( name: .*)?$", "", message, flags=re.DOTALL)
    return message.split("from proto:")[0].strip()


def run(name: str, ours: stock.Runner) -> Any:
    return ours.call("tests.hostile_test:answer", name, timeout=120.0)


@pytest.fixture(scope="module")
def messages() -> dict[str, str | list[str]]:
    """What the message of each program must be; empty where that is not known."""
    if not tf.__version__.startswith(WRITTEN_WITH):
        return {}
    return json.loads(MESSAGES.read_text())


@pytest.mark.parametrize("name", list(hostile_cases.CASES))
def test_ends_as_it_should(name: str, ours: stock.Runner, messages: dict[str, str]) -> None:
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


def test_every_error_has_its_message_written_down() -> None:
    errors = {name for name, (_, kind, _) in hostile_cases.CASES.items() if kind != "ok"}
    assert set(json.loads(MESSAGES.read_text())) == errors


if __name__ == "__main__":
    with stock.Runner("enable") as runner:
        written = {
            name: words(run(name, runner)[2])
            for name, (_, kind, _) in hostile_cases.CASES.items()
            if kind != "ok"
        }
    MESSAGES.write_text(json.dumps(written, indent=1) + "\n")

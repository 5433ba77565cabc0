"""Error messages contain stock's text, so that searches for it succeed, and the array's name."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from tests.support.script import Script


def _refused_write(script: Script, array: int) -> int:
    script.write(array, 1, [1.0, 2.0])
    return script.write(array, 1, [1.0, 2.0])


# Each function adds a failing step to the script and returns the step's number. Its second argument
# is an array of three slots.
FAILURES: dict[str, Callable[[Script, int], int]] = {
    "read below": lambda s, a: s.read(a, -1),
    "read above": lambda s, a: s.read(a, 3),
    "read unwritten": lambda s, a: s.read(a, 0),
    "write below": lambda s, a: s.write(a, -1, [1.0]),
    "write above": lambda s, a: s.write(a, 3, [1.0]),
    "write twice": _refused_write,
    "gather unwritten": lambda s, a: s.gather(a, [0, 1]),
    "gather above": lambda s, a: s.gather(a, [7]),
    "gather nothing": lambda s, a: s.gather(a, []),
    "gather indices of rank 2": lambda s, a: s.gather(a, [[0]]),
    "scatter above": lambda s, a: s.scatter(a, [5], [[1.0]]),
    "scatter too few": lambda s, a: s.scatter(a, [0, 1], [[1.0]]),
    "concat unwritten": lambda s, a: s.concat(a),
    "concat nothing": lambda s, _: s.concat(s.array(0)),
    "split of other sum": lambda s, a: s.split(a, [1.0, 2.0, 3.0], [1, 1, 2]),
    "split of other size": lambda s, a: s.split(a, [1.0, 2.0], [1, 1]),
}


def _words(message: str) -> str:
    """The message without the name of its array, node or op, which differ from run to run."""
    text = message.partition(" [Op:")[0].partition("\n")[0]
    text = re.sub(r"^.*?}}\s*", "", text)
    return re.sub(r"TensorArray \S*?(:| )(?=[A-Z])", "", text, count=1).strip()


@pytest.mark.parametrize("name", FAILURES)
def test_the_message_contains_stocks_text(ours, stocks, name):
    script = Script()
    step = FAILURES[name](script, script.array(3))
    messages = [script.run(runner, "eager").error(step).message for runner in (stocks, ours)]
    stock_words, our_words = map(_words, messages)
    assert stock_words in our_words

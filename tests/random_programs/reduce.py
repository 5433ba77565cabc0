"""Makes a random program shorter as long as stock and the library differ.

    python -m tests.random_programs.reduce 7

Runs program 7 of `random_loops` with fewer and fewer lines, on stock and with the library, and
prints the shortest text that still gives other results. The kind of difference must stay: other
values, other gradients, another error.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator

from tests.random_programs.random_loops import Pair, differences, random_loop


def reduced(text: str, differs: Callable[[str], bool]) -> str:
    """The text without each part that is not needed for `differs(text)` to be true.

    Args:
      text: A program.
      differs: Whether a program shows what is looked for. May be called with text that is no
        program, and must be true of `text`.

    Returns:
      A text of which no statement can be left out, and no block can take the place of its
      statement.
    """
    lines: list[str] = []
    shorter = text.splitlines()
    while shorter != lines:
        lines = shorter
        for start in reversed(range(len(lines))):
            for candidate in _without(shorter, start):
                if differs(_text(candidate)):
                    shorter = candidate
                    break
    return _text(lines)


def _without(lines: list[str], start: int) -> Iterator[list[str]]:
    """The program without the statement at a line, and with its block in its place."""
    end = start + 1
    while end < len(lines) and _indent(lines[end]) > _indent(lines[start]):
        end += 1
    yield lines[:start] + lines[end:]
    if end > start + 1:
        extra = _indent(lines[start + 1]) - _indent(lines[start])
        block = [line[extra:] for line in lines[start + 1 : end]]
        yield lines[:start] + block + lines[end:]


def _text(lines: list[str]) -> str:
    return "\n".join(lines) + "\n"


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip()) if line.strip() else sys.maxsize  # part of any block


def _kinds(pair: Pair, seed: int, text: str) -> set[str]:
    """The kinds of result in which the runs of a text differ."""
    return {found.split(":")[0].split("[")[0] for found in differences(*pair.run_text(seed, text))}


def main() -> None:
    """Reduces the program whose number is the argument."""
    seed = int(sys.argv[1])
    text = random_loop(seed).text
    with Pair() as pair:
        kinds = _kinds(pair, seed, text)
        if not kinds:
            sys.exit(f"program {seed} gives the same with the library as on stock")
        print(f"# program {seed} differs in: {', '.join(sorted(kinds))}")
        print(reduced(text, lambda shorter: _kinds(pair, seed, shorter) == kinds))


if __name__ == "__main__":
    main()

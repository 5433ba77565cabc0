"""Measures what each part of the library contributes: `python tools/ablate.py [--cases WORD ...]`.

Runs the cases of the benchmarks on this library under different settings, in turn, each in separate
processes, and compares every setting with the first one, which has everything on. Runs from the
checkout and measures the installed package. The results are written to
`benchmarks/results/ablation.jsonl`, one line per case.

The settings are environment variables, which the library reads once:

    all on      neither variable
    loops off   TENSOR_ARRAY_GRAD_LOOPS=off: no loop runs in one kernel
    no rules    TENSOR_ARRAY_GRAD_WITHOUT=X,Y,..: the graph pass only repairs sums and stacks
    without X   TENSOR_ARRAY_GRAD_WITHOUT=X: without one rule or one other part

A case is measured at its largest size up to `--largest`. All settings must compute the same result.
Each setting keeps one process open, which takes about 300 MB.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import functools
import os
import pathlib
import sys
from collections.abc import Iterable, Mapping, Sequence

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from benchmarks import harness, indexing, lists, loops, v3
from benchmarks.case import Case
from benchmarks.harness import Plan, Server
from benchmarks.rows import RESULTS

RULES = (
    "accumulate_into_list",
    "slice_sum",
    "recompute",
    "loop_stack",
)
# Other parts (cc/base/switches.h).
PARTS = ("second_thread", "buffer_cache", "zero_rows", "counted_values", "small_lists")
LOOPS_VARIABLE = "TENSOR_ARRAY_GRAD_LOOPS"
WITHOUT_VARIABLE = "TENSOR_ARRAY_GRAD_WITHOUT"
ALL_ON = "all on"

PLAN = Plan(rounds=3, budget_s=0.5, row_s=600, limit_s=60, largest_n=6_400)

# Of the V3 cases, only the loop has a frame, or a pattern that a rule rewrites.
CASES: Mapping[str, Sequence[Case]] = {
    "benchmarks.lists": lists.CASES,
    "benchmarks.loops": loops.CASES,
    "benchmarks.indexing": indexing.CASES,
    "benchmarks.v3": tuple(case for case in v3.CASES if case.name == "loop"),
}


@dataclasses.dataclass(frozen=True)
class AblationRow:
    """One case: a line of the table and of the JSON file.

    Attributes:
      case: Name of the case.
      n: Its size.
      milliseconds: Median time by setting; `None` if the setting failed.
      ratio: That time divided by the time with everything on: above 1, the setting is slower.
      notes: The errors, by setting.
    """

    case: str
    n: int
    milliseconds: Mapping[str, float | None]
    ratio: Mapping[str, float | None]
    notes: Mapping[str, str]


def settings() -> dict[str, dict[str, str]]:
    """Every setting.

    Returns:
      The environment variables, by the name of the setting. The first setting has everything on.
    """
    found: dict[str, dict[str, str]] = {
        ALL_ON: {},
        "loops off": {LOOPS_VARIABLE: "off"},
        "no rules": {WITHOUT_VARIABLE: ",".join(RULES)},
    }
    for part in (*RULES, *PARTS):
        found[f"without {part}"] = {WITHOUT_VARIABLE: part}
    return found


def compare(case: Case, n: int, servers: Mapping[str, Server], plan: Plan) -> AblationRow:
    """Measures one case at one size under each setting, in turn.

    Args:
      case: What to measure.
      n: Its size.
      servers: One for each setting, including that with everything on.
      plan: How much to measure.

    Returns:
      The row.

    Raises:
      AssertionError: The result of a setting differs from that with everything on.
    """
    notes: dict[str, str] = {}
    attempts = {k: functools.partial(v.measure, case, n, plan) for k, v in servers.items()}
    found = harness.alternate(attempts, plan, notes)
    took: dict[str, float | None] = {}
    for name, runs in found.items():
        if runs and found[ALL_ON]:
            harness.check_same(f"{case.name}, n={n}, {name}", found[ALL_ON][0], runs[0])
        middle, _ = harness.middle_and_spread(m.seconds for m in runs)
        took[name] = None if middle is None else 1e3 * middle
    base = took[ALL_ON]
    return AblationRow(
        case=case.name,
        n=n,
        milliseconds=took,
        ratio={k: v / base if v is not None and base else None for k, v in took.items()},
        notes=notes,
    )


def header(names: Iterable[str]) -> str:
    """The header of the table, with a column for each setting."""
    titles = ["case", "n", *names]
    return f"| {' | '.join(titles)} |\n|---|{'---:|' * (len(titles) - 1)}"


def line(row: AblationRow) -> str:
    """One row of the table: for each setting, milliseconds and the ratio to everything on."""
    cells = [row.case, f"{row.n:,}"]
    for name, took in row.milliseconds.items():
        ratio = row.ratio[name]
        text = "failed" if took is None else f"{took:.3g}"
        cells.append(text if ratio is None or name == ALL_ON else f"{text} ({ratio:.2f})")
    return f"| {' | '.join(cells)} |"


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures, prints each row when it is complete, and writes the JSON rows.

    Args:
      arguments: The command line; `None` means that of this process.

    Returns:
      The exit code: 1 if a setting failed.
    """
    options = _parse(arguments)
    for variable in (LOOPS_VARIABLE, WITHOUT_VARIABLE):
        os.environ.pop(variable, None)  # only the settings determine what is on
    chosen = _chosen(options.settings)
    plan = dataclasses.replace(PLAN, rounds=options.rounds, largest_n=options.largest)
    facts, rows = harness.machine(), []
    print(facts, header(chosen), sep="\n", flush=True)
    options.out.mkdir(parents=True, exist_ok=True)
    for module, all_cases in CASES.items():
        cases = harness.matching(all_cases, options.cases)
        if not cases:
            continue
        with contextlib.ExitStack() as stack:
            servers = {
                name: stack.enter_context(Server(module, "ours", variables))
                for name, variables in chosen.items()
            }
            for case in cases:
                rows.append(compare(case, case.sizes_within(plan.largest_n)[-1], servers, plan))
                print(line(rows[-1]), flush=True)
                harness.write_rows(rows, facts, options.out / "ablation.jsonl")
    failures = [f"{row.case}, {name}: {note}" for row in rows for name, note in row.notes.items()]
    print(*failures, sep="\n")
    return 1 if failures else 0


def _chosen(words: Sequence[str]) -> dict[str, dict[str, str]]:
    """The settings that have one of `words` in their names, and the one with everything on."""
    return {
        name: variables
        for name, variables in settings().items()
        if name == ALL_ON or any(word in name for word in words or [""])
    }


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python tools/ablate.py")
    parser.add_argument("--cases", nargs="*", default=[], help="only names with one of these words")
    parser.add_argument("--settings", nargs="*", default=[], help="the same for settings")
    parser.add_argument("--largest", type=int, default=PLAN.largest_n, metavar="N")
    parser.add_argument("--rounds", type=int, default=PLAN.rounds, help="processes per setting")
    parser.add_argument("--out", type=pathlib.Path, default=RESULTS)
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())

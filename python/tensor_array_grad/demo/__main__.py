"""Runs the demonstration: `python -m tensor_array_grad.demo`."""

from __future__ import annotations

import argparse
import os
import pathlib
import sys
import tempfile
from collections.abc import Sequence

import numpy as np


def _needs(missing: ModuleNotFoundError) -> str:
    package = str(missing.name).partition(".")[0]
    return f"the demonstration needs {package}: pip install 'tensor_array_grad[demo]'"


try:
    import rich.console
    import rich.progress

    from tensor_array_grad.demo import data, picture, report, runner
    from tensor_array_grad.demo.worker import STOCK, Config, Step, record_path
except ModuleNotFoundError as error:
    sys.exit(_needs(error))

_MAIN_RUNS = ((32, 80), (8, 12))  # units and steps
_UNITS = 32
_GROWING_STEPS = 3  # the first one traces, and its time does not count
_GROWING_ROWS = {
    "function": (571, 1142, 2284, 4568),
    "indexed": (571, 1142, 2284, 4568),
    "keras": (1142, 2284, 4568, 9136),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Trains on stock and with the library, compares, prints the tables and saves the picture.

    Args:
      arguments: The command line; `None` means that of this process.

    Returns:
      The exit code: 0, or 1 if a run failed or stock and ours disagree.

    Raises:
      SystemExit: The arguments are wrong, or a package is not installed.
    """
    options = _parse(arguments)
    console = rich.console.Console()
    try:
        record = data.load(options.rows)
    except ModuleNotFoundError as error:
        sys.exit(_needs(error))
    start = record.dates[0].astype("datetime64[D]")
    console.print(
        f"CO2 at Mauna Loa, {len(record.ppm):,} weeks from {start}: a forecast {data.HORIZON} "
        f"weeks ahead, on stock TensorFlow and with tensor_array_grad."
    )
    try:
        trained, growing = _train(_plan(options, len(record.ppm)), console)
    except runner.DemoError as error:
        console.print(f"FAILED: {error}", markup=False)
        return 1
    console.print(report.losses_table(trained))
    console.print("In every epoch, both losses are equal within float tolerance.")
    console.print(report.costs_table(trained, "Time per step, forward and backward"))
    if growing:
        title = "TF2: time per step, series of increasing length"
        console.print(report.costs_table(growing, title))
    outputs = np.asarray(trained[0].ours.outputs, np.float32)
    console.print(
        f"In weeks not trained on, the error of the forecast is {record.error(outputs):.2f} ppm, "
        f"and that of last year's changes {record.error(record.as_last_year()):.2f} ppm."
    )
    picture.save(record, trained, growing, options.picture)
    console.print(f"Picture: {options.picture.resolve()}", soft_wrap=True)
    return 0


def _plan(options: argparse.Namespace, rows: int) -> list[list[Config]]:
    """The runs on stock. Each list shares one process; the main trainings come first."""
    plan = [
        [Config("v1", STOCK, units, rows, options.steps or steps)] for units, steps in _MAIN_RUNS
    ]
    for model in options.growing:
        lengths = [length for length in _GROWING_ROWS[model] if length <= options.longest]
        plan.append([Config(model, STOCK, _UNITS, n, _GROWING_STEPS) for n in lengths])
    return [configs for configs in plan if configs]


def _train(
    plan: Sequence[Sequence[Config]], console: rich.console.Console
) -> tuple[list[runner.Pair], list[runner.Pair]]:
    """Runs all of `plan` on stock and with the library, and shows one progress bar.

    Returns:
      The main trainings, and those on series of increasing length.
    """
    bar = rich.progress.Progress(
        rich.progress.TextColumn("{task.description}"),
        rich.progress.BarColumn(),
        rich.progress.MofNCompleteColumn(),
        rich.progress.TimeElapsedColumn(),
        console=console,
    )
    pairs: list[runner.Pair] = []
    with tempfile.TemporaryDirectory() as name, bar:
        folder = pathlib.Path(name)
        for rows in {config.rows for configs in plan for config in configs}:
            data.load(rows).save(record_path(folder, rows))
        steps = 2 * sum(config.steps for configs in plan for config in configs)
        task = bar.add_task("training", total=steps)

        def on_step(step: Step) -> None:
            bar.update(task, advance=1, description=f"training, loss {step.loss:.4f}")

        for configs in plan:
            pairs.extend(runner.run_pairs(configs, folder, on_step))
    main_runs = [pair for pair in pairs if pair.stock.config.model == "v1"]
    return main_runs, pairs[len(main_runs) :]


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tensor_array_grad.demo", description=__doc__)
    add = parser.add_argument
    add("--rows", type=int, help="number of weeks to train on (default: all)")
    add("--steps", type=int, help="training steps per run")
    add(
        "--growing",
        nargs="*",
        choices=tuple(_GROWING_ROWS),
        default=tuple(_GROWING_ROWS),
        help="TF2 models to time on series of increasing length (default: all)",
    )
    add("--longest", type=int, default=9136, help="most rows of these (default: %(default)s)")
    add(
        "--picture",
        type=pathlib.Path,
        default=pathlib.Path("tensor_array_grad_demo.png"),
        help="PNG file for the picture (default: %(default)s)",
    )
    options = parser.parse_args(arguments)
    # Wrong values are found before the trainings, which take minutes.
    if options.rows is not None and options.rows < data.LEAST_ROWS:
        parser.error(f"--rows is {options.rows}, need at least {data.LEAST_ROWS}")
    if options.steps is not None and options.steps < 1:
        parser.error(f"--steps is {options.steps}, need at least 1")
    if problem := _picture_problem(options.picture):
        parser.error(f"--picture: {problem}")
    return options


def _picture_problem(path: pathlib.Path) -> str:
    """Why the picture cannot be saved as `path`; empty if it can."""
    if path.suffix.lower() != ".png":
        return f"the name must end with .png, got {path}"
    if path.is_dir():
        return f"{path} is a folder"
    folder = path.absolute().parent
    if not folder.is_dir():
        return f"there is no folder {path.parent}"
    if not os.access(path if path.exists() else folder, os.W_OK):
        return f"{path} cannot be written"
    return ""


if __name__ == "__main__":
    sys.exit(main())

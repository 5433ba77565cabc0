"""What the campaigns of random programs share: settings and the command line."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable

# What an option does in program `seed`: the setting, and the number of iterations after which it
# applies.
SETTINGS: dict[str, Callable[[int], tuple[str, int]]] = {
    "hand_back": lambda seed: ("set_hand_back_after", seed % 7),
    "two_threads": lambda seed: ("set_trailing_thread_after", seed % 3),
}


def parser(doc: str, programs: int, settings: bool = True) -> argparse.ArgumentParser:
    """A parser of the options that campaigns have.

    Args:
      doc: The docstring of the campaign's module.
      programs: How many programs to run by default.
      settings: Whether the campaign knows `SETTINGS`.
    """
    made = argparse.ArgumentParser(description=doc.split("\n", 1)[0])
    made.add_argument("--programs", type=int, default=programs)
    made.add_argument("--seed", type=int, default=0, help="number of the first program")
    if settings:
        made.add_argument(
            "--hand-back", action="store_true", help="hand every loop back after 0 to 6 iterations"
        )
        made.add_argument(
            "--two-threads", action="store_true", help="run trailing parts on a second thread"
        )
    made.add_argument("--only", type=int, help="number of the one program to run")
    made.add_argument("--show", type=int, help="number of a program to print instead")
    return made


def parse(made: argparse.ArgumentParser, text: Callable[[int], str]) -> argparse.Namespace:
    """The options of this process; with `--show`, prints `text(number)` and ends the process."""
    args = made.parse_args()
    if args.show is not None:
        print(text(args.show))
        sys.exit()
    return args


def seeds(args: argparse.Namespace) -> range:
    """The numbers of the programs to run."""
    if args.only is not None:
        return range(args.only, args.only + 1)
    return range(args.seed, args.seed + args.programs)


def options(args: argparse.Namespace) -> list[str]:
    """The names of those of `SETTINGS` that apply."""
    return [option for option in SETTINGS if getattr(args, option)]

"""The tests that are skipped on a GPU exist."""

from __future__ import annotations

import pathlib

from tests.support import child, gpus

TESTS = pathlib.Path(__file__).resolve().parents[1]


def collected(names: set[str]) -> set[str]:
    """The ids of all tests in the files of these names, without their folders."""
    files = [str(path) for path in TESTS.glob("*/*_test.py") if path.name in names]
    assert len(files) == len(names)
    options = ["--collect-only", "-q", "--sweep", "-p", "no:cacheprovider"]
    done = child.succeeded(child.python("-m", "pytest", *options, *files))
    ids = (line.partition("::") for line in done.stdout.splitlines())
    return {f"{pathlib.PurePath(file).name}::{test}" for file, _, test in ids if test}


def test_every_id_names_a_test() -> None:
    found = collected({test.partition("::")[0] for test in gpus.SKIPPED})
    if not gpus.GPUS:  # the processes of the fixture `ours` then have no device in the id
        found |= {test.replace("[", "[GPU-", 1) for test in found}
    assert set(gpus.SKIPPED) - found == set()

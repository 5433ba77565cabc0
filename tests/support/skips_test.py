"""A run in which more tests are skipped than expected says so, and fails with --strict-skips."""

from __future__ import annotations

import pathlib

import pytest

from tests.support import child, skips

ROOT = pathlib.Path(__file__).resolve().parents[2]
MORE = "more skips than tests/support/skips.py expects"


def run(folder: pathlib.Path, program: str, *options: str) -> tuple[int, str]:
    """The exit status and the output of pytest, with the fixtures and hooks of this project."""
    (folder / "a_test.py").write_text(f"import pytest\n{program}")
    files = ["-p", "no:cacheprovider", "-p", "tests.conftest", str(folder)]
    done = child.python("-m", "pytest", *options, *files, PYTHONPATH=str(ROOT))
    return done.returncode, done.stdout


def skipped(reason: str, times: int = 1) -> str:
    mark = f"@pytest.mark.skip(reason={reason!r})"
    return f"{mark}\n@pytest.mark.parametrize('i', range({times}))\ndef test_it(i): pass\n"


PASSES = "def test_that_passes(): pass\n"


@pytest.mark.parametrize("options", [(), ("--strict-skips",)])
def test_an_unknown_reason_is_printed_and_fails_a_strict_run(
    tmp_path: pathlib.Path, options: tuple[str, ...]
) -> None:
    status, output = run(tmp_path, skipped("no moon", 3) + PASSES, *options)
    assert status == (1 if options else 0), output
    assert f" {MORE} " in output
    assert "\n3 skipped, 0 expected: no moon\n" in output


def test_two_processes_report_tests_and_modules_that_are_skipped(tmp_path: pathlib.Path) -> None:
    module = "import pytest\npytest.skip('no sun', allow_module_level=True)"
    (tmp_path / "b_test.py").write_text(module)
    status, output = run(tmp_path, skipped("no moon", 3) + PASSES, "--strict-skips", "-n", "2")
    assert status == 1, output
    assert f" {MORE} " in output
    assert "\n3 skipped, 0 expected: no moon\n" in output
    assert "\n1 skipped, 0 expected: no sun\n" in output


@pytest.mark.parametrize("more", [0, 1])
def test_an_expected_number_passes_and_a_higher_one_fails(
    tmp_path: pathlib.Path, more: int
) -> None:
    reason, most = "no GPU is visible", skips.EXPECTED["no GPU is visible"]
    status, output = run(tmp_path, skipped(reason, most + more) + PASSES, "--strict-skips")
    assert (status, MORE in output) == (more, bool(more)), output


def test_a_run_of_a_part_of_the_tests_may_skip_fewer(tmp_path: pathlib.Path) -> None:
    status, output = run(tmp_path, PASSES, "--strict-skips")
    assert (status, MORE in output) == (0, False), output

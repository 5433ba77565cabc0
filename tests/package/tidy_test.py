"""tools/tidy.py: which files are checked together, and where it says that a finding is."""

from __future__ import annotations

import json
import os
import pathlib

import pytest

from tools import tidy

# In place of clang-tidy: reports the line of the only "bad", and fails if there is one.
FAKE = """#!/bin/sh
grep -n bad "$3" | sed "s|^\\([0-9]*\\):.*|$3:\\1:5: error: bad|"
! grep -q bad "$3"
"""


@pytest.fixture
def tree(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """A tree with two folders of sources, a configured build folder, and a fake clang-tidy."""
    (tmp_path / "bin").mkdir()
    tool = tmp_path / "bin" / "clang-tidy"
    tool.write_text(FAKE)
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tool.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(tidy, "ROOT", tmp_path)
    commands = []
    for name in ("one/a.cc", "one/a_test.cc", "one/b.cc", "two/c.cc", "testing/d.cc", "two/e.cc"):
        file = tmp_path / "cc" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("int x;\nint y;\n")
        if name != "two/e.cc":
            commands.append({"file": str(file), "command": f"ccache c++ -O2 -o x.o -c {file}"})
    (tmp_path / "compile_commands.json").write_text(json.dumps(commands))
    return tmp_path


def names(units: list[tidy.Unit]) -> list[list[str]]:
    return [[file.name for file in unit] for unit in units]


def test_the_compiled_files_of_a_folder_are_one_unit(tree, monkeypatch):
    flags = tidy.commands(tree)
    assert set(flags.values()) == {"-O2  "}
    assert names(tidy.units(flags)) == [["a.cc", "b.cc"], ["c.cc"]]
    monkeypatch.setattr(tidy, "FILES_PER_UNIT", 1)
    assert sorted(names(tidy.units(flags))) == [["a.cc"], ["b.cc"], ["c.cc"]]


def test_a_finding_has_the_place_in_its_file_and_fails(tree, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["tidy.py", str(tree)])
    assert tidy.main() == 0
    (tree / "cc/one/b.cc").write_text("int x;\nbad\n")
    assert tidy.main() == 1
    assert capsys.readouterr().out == "cc/one/b.cc:2:5: error: bad\n"


def test_a_file_that_is_not_compiled_is_an_error(tree, monkeypatch):
    monkeypatch.setattr("sys.argv", ["tidy.py", str(tree), str(tree / "cc/two/e.cc")])
    with pytest.raises(SystemExit, match=r"does not compile .*e\.cc"):
        tidy.main()

"""`python -m tensor_array_grad ARGUMENTS` runs `python ARGUMENTS` with the library enabled.

The oracle is CPython: the same command without `-m tensor_array_grad`.
"""

from __future__ import annotations

import json
import os
import pathlib
import subprocess

import pytest
import tensorflow as tf

import tensor_array_grad
from tests.support import child

RUNNER = ("-m", "tensor_array_grad")

# Prints everything that shows a program how it was started.
FACTS = """
import json, os, sys
main = sys.modules["__main__"]
facts = dict(name=__name__, argv=sys.argv, orig_argv=sys.orig_argv[1:], path=sys.path)
facts |= dict(file=getattr(main, "__file__", None), cached=getattr(main, "__cached__", None))
facts |= dict(spec=main.__spec__ and main.__spec__.name, package=main.__package__)
facts |= dict(flags=str(sys.flags), warnoptions=sys.warnoptions, xoptions=sys._xoptions)
facts |= dict(tensorflow="tensorflow" in sys.modules, loader=type(main.__loader__).__name__)
facts |= dict(own_module=main.__dict__ is globals(), names=sorted(globals()))
print(json.dumps(facts))
"""

# Reads its own file after chdir, and pickles an object of its own class after its end.
ENDS = """
import atexit, os, pickle, sys, threading, time
class Point:
    x = 3
def at_exit():
    main = sys.modules["__main__"]
    print("atexit", pickle.loads(pickle.dumps(Point())).x, __name__, main.Point.x)
def in_a_thread():
    threading.main_thread().join()
    print("thread", pickle.loads(pickle.dumps(Point())).x)
atexit.register(at_exit)
threading.Thread(target=in_a_thread).start()
os.chdir("/")
print(open(__file__).read().count("chdir"))
"""


def both(*arguments, flags=(), stdin="", **environment):
    """What `python` does with these arguments, and what the runner does."""
    cpython = child.interpreter(*flags, *arguments, stdin=stdin, **environment)
    ours = child.interpreter(*flags, *RUNNER, *arguments, stdin=stdin, **environment)
    return outcome(cpython), outcome(ours)


def outcome(done: subprocess.CompletedProcess[str]) -> tuple[int, str, str]:
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def folder(tmp_path, monkeypatch) -> pathlib.Path:
    """The current folder of the children, with a script, a module and a package in it."""
    (tmp_path / "facts.py").write_text(FACTS)
    (tmp_path / "ends.py").write_text(ENDS)
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").write_text("")
    (tmp_path / "package" / "__main__.py").write_text(FACTS)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    "arguments",
    [
        ["facts.py", "--epochs", "3", "-m", "-c"],
        ["./facts.py"],
        ["package"],
        ["-m", "facts", "a"],
        ["-mfacts", "a"],
        ["-m", "package", "-h"],
        ["-c", FACTS, "--version"],
        ["-u", "facts.py"],
        ["-W", "error", "-X", "dev", "-Bm", "facts"],
        ["-"],
        ["-", "a"],
        ["-I", "-c", "import sys; print(sys.flags.isolated)"],
    ],
    ids=" ".join,
)
def test_a_program_sees_what_it_sees_under_python(folder, arguments):
    if "-I" in arguments and not installed():
        pytest.skip("the package is on PYTHONPATH, which -I leaves out")
    expected, got = both(*arguments, stdin=FACTS)
    assert expected[0] == 0, expected
    assert got == expected


def test_a_script_sees_its_own_arguments_path_and_file(folder):
    done = child.interpreter(*RUNNER, "-u", "facts.py", "--epochs", "3")
    facts = json.loads(done.stdout)
    assert facts["name"] == "__main__"
    assert facts["argv"] == ["facts.py", "--epochs", "3"]
    assert facts["orig_argv"] == ["-u", "facts.py", "--epochs", "3"]
    assert facts["path"][0] == str(folder)
    assert facts["file"] == str(folder / "facts.py")
    assert not facts["tensorflow"]  # the script does not import it, which would take seconds


@pytest.mark.parametrize("flags", [["-u"], ["-W", "error"], ["-X", "dev", "-B"]])
def test_flags_in_front_of_the_runner_are_kept(folder, flags):
    expected, got = both("facts.py", flags=flags)
    assert expected[0] == 0, expected
    assert got == expected


def test_flags_joined_with_the_runners_name_are_kept(folder):
    expected = outcome(child.interpreter("-Bu", "facts.py"))
    assert outcome(child.interpreter("-Bum", "tensor_array_grad", "facts.py")) == expected
    assert outcome(child.interpreter("-Bumtensor_array_grad", "facts.py")) == expected


def test_a_script_finds_its_file_after_chdir_and_its_classes_at_exit(folder):
    expected, got = both("ends.py")
    assert got == expected
    assert got == (0, "2\nthread 3\natexit 3 __main__ 3\n", "")


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("import sys; sys.exit(7)", 7),
        ("import sys; sys.exit('text')", 1),
        ("raise ValueError('of the script')", 1),
        ("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", -15),
        ("import os; os._exit(9)", 9),
        ("raise KeyboardInterrupt", -2),
        ("print('unfinished'", 1),
    ],
)
def test_a_program_ends_as_it_does_under_python(folder, code, status):
    (folder / "script.py").write_text(code)
    expected, got = both("script.py")
    assert expected[0] == status, expected
    assert got == expected


@pytest.mark.parametrize(
    "arguments", [["-m"], ["-c"], ["missing.py"], ["-m", "missing"], ["-W"], ["-Z"]], ids=" ".join
)
def test_a_wrong_command_line_is_refused_as_python_does(folder, arguments):
    expected, got = both(*arguments)
    assert expected[0] != 0
    assert got == expected


def test_pytest_runs_as_a_module(folder):
    (folder / "one_test.py").write_text(
        "import os\n"
        "def test_one(): assert os.environ['TENSOR_ARRAY_GRAD'] == 'on'\n"
        "def test_two(): assert False\n"
    )
    for command in (["-m", "pytest"], ["-mpytest"]):
        done = child.interpreter(*RUNNER, *command, "-q", "-p", "no:cacheprovider", "one_test.py")
        assert done.returncode == 1, done.stderr
        assert "1 failed, 1 passed" in done.stdout


def test_the_users_sitecustomize_is_run(folder):
    (folder / "mine").mkdir()
    (folder / "mine" / "sitecustomize.py").write_text("import sys\nsys.mine = __file__\n")
    code = "import sys; print(sys.mine, sys.modules['sitecustomize'].__file__)"
    expected, got = both("-c", code, PYTHONPATH=str(folder / "mine"))
    assert expected[0] == 0, expected
    assert got == expected


def test_the_library_is_enabled_even_if_the_users_sitecustomize_fails(folder):
    (folder / "mine").mkdir()
    (folder / "mine" / "sitecustomize.py").write_text("raise ImportError('mine')\n")
    code = "import tensorflow, sys; print('tensor_array_grad' in sys.modules)"
    paths = os.pathsep.join([str(folder / "mine"), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = child.interpreter(*RUNNER, "-c", code, PYTHONPATH=paths)
    assert (done.returncode, done.stdout) == (0, "True\n"), done.stderr
    assert "ImportError: mine" in done.stderr


def installed() -> bool:
    return (child.PACKAGE.parent / "tensor_array_grad.pth").exists() and (
        "site-packages" in str(child.PACKAGE)
    )


@pytest.mark.skipif(installed(), reason="the .pth file also works with -E and -I")
@pytest.mark.parametrize(
    ("arguments", "flag"),
    [
        (["-E", "facts.py"], "-E"),
        (["-I", "facts.py"], "-I"),
        (["-S", "facts.py"], "-S"),
        (["-X", "dev", "-Werror", "-BIm", "facts"], "-I"),
    ],
)
def test_a_flag_under_which_python_would_run_stock_is_refused(folder, arguments, flag):
    done = child.interpreter(*RUNNER, *arguments)
    assert done.returncode == 1
    assert done.stdout == ""
    assert f"`python {flag}` does not read what enables the library" in done.stderr


@pytest.mark.parametrize(
    "arguments", [["facts.py", "-I"], ["-c", "pass", "-I"], ["-mfacts", "-S"], ["-", "-E"]]
)
def test_arguments_of_the_program_are_not_taken_for_flags_of_python(folder, arguments):
    assert child.interpreter(*RUNNER, *arguments).returncode == 0


def test_with_the_variable_off_a_script_runs_on_stock_and_the_runner_prints_why(folder):
    code = "import os, sys; print(os.environ['TENSOR_ARRAY_GRAD'], sys.meta_path[0])"
    done = child.interpreter(*RUNNER, "-c", code, TENSOR_ARRAY_GRAD="off")
    assert done.stdout.startswith("off ")
    assert "_Watch" not in done.stdout
    assert done.stderr == "tensor_array_grad is inactive: TENSOR_ARRAY_GRAD=off\n"


TRAIN = (
    child.GATHER
    + """
import multiprocessing, subprocess, sys

def result(_=None):
    import tensor_array_grad
    computed = gradient()
    counted = tensor_array_grad.status().counters.get("kernels.TensorListGather", 0)
    return computed, tensor_array_grad.is_enabled(), counted

if __name__ == "__main__":
    if sys.argv[1:] == ["inner"]:
        print(result())
        sys.exit(5)
    for way in ("spawn", "forkserver"):
        with multiprocessing.get_context(way).Pool(1) as pool:
            print(way, pool.map(result, [0])[0])
    inner = subprocess.run([sys.executable, __file__, "inner"], stdout=subprocess.PIPE, text=True)
    print("subprocess", inner.stdout.strip(), inner.returncode)
    print("own", result())
"""
)


def test_a_script_and_its_children_use_the_library(folder):
    (folder / "train.py").write_text(TRAIN)
    done = child.interpreter(*RUNNER, "train.py")
    assert done.returncode == 0, done.stderr
    ours = "([11.0, 0.0, 100.0], True, 1)"
    assert done.stdout.splitlines() == [
        f"spawn {ours}",
        f"forkserver {ours}",
        f"subprocess {ours} 5",
        f"own {ours}",
    ]


def test_version_prints_the_versions_of_the_library_and_of_tensorflow():
    done = child.interpreter(*RUNNER, "--version")
    version = f"tensor_array_grad {tensor_array_grad.__version__}, TensorFlow {tf.__version__}\n"
    assert (done.returncode, done.stdout) == (0, version)


def test_help_is_printed_without_importing_tensorflow():
    done = child.interpreter("-X", "importtime", *RUNNER, "--help")
    assert done.returncode == 0
    assert done.stdout.startswith("usage: python -m tensor_array_grad [option of python] ... {scr")
    assert (
        "\n       python -m tensor_array_grad compare [--runs N] [--jit] [--json] {scr"
        in done.stdout
    )
    assert "\n  TENSOR_ARRAY_GRAD=off    keeps TensorFlow's own kernels\n" in done.stdout
    assert " tensor_array_grad._command\n" in done.stderr
    assert " tensorflow\n" not in done.stderr


def test_without_arguments_the_runner_prints_usage_and_status_and_succeeds():
    done = child.python(*RUNNER)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("usage: python -m tensor_array_grad ")
    assert f"running      TensorFlow {tf.__version__}" in done.stdout
    assert f"library      {tensor_array_grad.library_path()}" in done.stdout
    assert "PROBLEM" not in done.stdout


def test_without_arguments_a_library_that_does_not_fit_is_reported_and_fails(
    tmp_path: pathlib.Path,
):
    package = child.copy_package(tmp_path)
    child.build_record(package).unlink()
    done = child.python(*RUNNER, PYTHONPATH=str(tmp_path))
    assert done.returncode == 1
    assert "PROBLEM" in done.stdout
    assert "does not say what" in done.stderr

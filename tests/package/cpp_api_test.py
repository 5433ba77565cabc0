"""The installed package in C++: a project outside of the tree, its example, and a TF1 model."""

from __future__ import annotations

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig

import numpy as np
import pytest
import tensorflow as tf

import tensor_array_grad
from tensor_array_grad import _loader
from tests.support import child, modes

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples" / "cc"


def _tool(name: str) -> str | None:
    """The path of program `name` in this Python environment, or else in the system, or None."""
    beside = pathlib.Path(sys.executable).parent / name
    return str(beside) if beside.exists() else shutil.which(name)


pytestmark = [
    pytest.mark.skipif(not EXAMPLES.is_dir(), reason="the tests lie outside a checkout"),
    pytest.mark.skipif(_tool("cmake") is None, reason="CMake is not installed: pip install cmake"),
    pytest.mark.timeout(900),  # the first test builds, which takes a minute on two idle cores
]


def run(*command: object, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs a command to its end; any exit status is returned."""
    inherited = {k: v for k, v in os.environ.items() if k != "TENSOR_ARRAY_GRAD"}
    return subprocess.run(
        [str(part) for part in command],
        env={**inherited, "TF_CPP_MIN_LOG_LEVEL": "1", **environment},
        capture_output=True,
        text=True,
        timeout=800,
        check=False,
    )


def succeed(*command: object) -> str:
    done = run(*command)
    assert done.returncode == 0, f"exit {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def configure(source: pathlib.Path, build: pathlib.Path, *options: str) -> list[str]:
    """The command that configures a project for the package under test."""
    command = [str(_tool("cmake")), "-S", str(source), "-B", str(build), *options]
    command.append(f"-DPython_EXECUTABLE={sys.executable}")
    if child.PACKAGE.parent != pathlib.Path(sysconfig.get_path("purelib")).resolve():
        command.append(f"-DCMAKE_PREFIX_PATH={child.PACKAGE.parent}")  # not pip-installed
    return command


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """The examples, copied out of the tree and built against the package from scratch."""
    folder = tmp_path_factory.mktemp("outside")
    source = shutil.copytree(EXAMPLES, folder / "examples")
    build = folder / "build"
    succeed(*configure(source, build))
    succeed(_tool("cmake"), "--build", build, "--parallel", "2")
    return build


def counters(output: str) -> dict[str, int]:
    """The calls per op, from the lines `kernels.<op>: <calls>` of `output`."""
    return {op: int(n) for op, n in re.findall(r"^(kernels\.[\w>]+): (\d+)$", output, re.MULTILINE)}


def test_the_example_built_outside_the_tree_prints_the_right_values(programs):
    assert succeed(programs / "array_gradient").splitlines() == [
        "array[1] = [3, 4]",
        "gradients[0] = [10.5, 20.5]",
        "gradients[1] = [0, 0]",
        "gradients_1[0] = [7, 8]",
        "calls of our TensorArrayGradV3: 3",
        "all values are right",
    ]


def test_the_project_outside_the_tree_passes_its_own_tests(programs):
    output = succeed(_tool("ctest"), "--test-dir", programs, "--output-on-failure")
    assert "100% tests passed" in output


def test_the_environment_makes_the_example_run_on_stock_kernels(programs):
    done = run(programs / "array_gradient", TENSOR_ARRAY_GRAD="off")
    assert done.returncode == 0, done.stderr
    assert "calls of our TensorArrayGradV3: 0" in done.stdout
    assert "TENSOR_ARRAY_GRAD=off in the environment: stock kernels are kept" in done.stderr


def write_model(folder: pathlib.Path) -> None:
    """Writes a TF1 SavedModel: the loop s[i] = s[i-1] * y + x[i] and the gradient of its sum."""
    with tf.Graph().as_default(), modes.tf1_control_flow():
        x = tf.compat.v1.placeholder(tf.float32, [None], name="x")
        y = tf.compat.v1.placeholder(tf.float32, [], name="y")
        size = tf.shape(x)[0]
        elements = tf.TensorArray(tf.float32, size, element_shape=[]).unstack(x)

        def step(i, state, states):
            state = state * y + elements.read(i)
            return i + 1, state, states.write(i, state)

        start = (0, tf.constant(0.0), tf.TensorArray(tf.float32, size, element_shape=[]))
        states = tf.while_loop(lambda i, *_: i < size, step, start)[2].stack()
        dx, dy = tf.gradients(tf.reduce_sum(states), [x, y])
        with tf.compat.v1.Session() as session:
            tf.compat.v1.saved_model.simple_save(
                session, str(folder), {"x": x, "y": y}, {"states": states, "dx": dx, "dy": dy}
            )


def run_model(folder: pathlib.Path, feeds: dict[str, object]) -> dict[str, np.ndarray]:
    """Runs the model in a Python Session of this process; returns its outputs by name."""
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        model = tf.compat.v1.saved_model.load(session, ["serve"], str(folder))
        signature = model.signature_def["serving_default"]
        return session.run(
            {name: info.name for name, info in signature.outputs.items()},
            {signature.inputs[name].name: value for name, value in feeds.items()},
        )


def test_a_tensorflow_1_loop_and_its_gradient_run_in_cpp_with_our_kernels(
    programs, tmp_path, counted
):
    write_model(tmp_path / "model")
    python = run_model(tmp_path / "model", {"x": [1.0, 2.0, 3.0], "y": 2.0})
    calls = {name: n for name, n in counted.all().items() if name.startswith("kernels.")}
    output = succeed(programs / "run_saved_model", tmp_path / "model", "x=1,2,3", "y=2")
    lines = dict(re.findall(r"^(\w+) = (.*)$", output, re.MULTILINE))
    values = {k: [float(n) for n in re.findall(r"[-\d.e+]+", v)] for k, v in lines.items()}
    assert values == {"states": [1.0, 4.0, 11.0], "dx": [7.0, 3.0, 1.0], "dy": [7.0]}
    for name, value in python.items():
        np.testing.assert_array_equal(np.ravel(value), values[name])
    assert counters(output) == calls
    assert calls["kernels.TensorArrayGradV3"] > 0


def test_the_model_program_names_a_wrong_input(programs, tmp_path):
    write_model(tmp_path / "model")
    done = run(programs / "run_saved_model", tmp_path / "model", "z=1")
    assert done.returncode == 1
    assert "the signature has no input 'z'" in done.stderr


def test_a_linked_op_library_is_initialised_after_tensorflow(programs):
    # An op library that is initialised first looks for devices and kernels that are not registered
    # yet.
    done = run(programs / "run_saved_model", LD_DEBUG="files")
    initialised = re.findall(r"calling init: \S*/(lib[\w.]+)", done.stderr)
    assert initialised.index("libtensorflow_cc.so.2") < initialised.index(child.LIBRARY.name)


def test_a_linked_op_library_is_loaded_though_no_symbol_of_it_is_used(tmp_path):
    (tmp_path / "empty.cc").write_text("int main() {}\n")
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.22)\nproject(empty LANGUAGES CXX)\n"
        "find_package(Python REQUIRED COMPONENTS Interpreter)\n"
        "find_package(tensor_array_grad REQUIRED HINTS ${Python_SITELIB})\n"
        "add_executable(empty empty.cc)\n"
        "target_link_libraries(empty PRIVATE tensor_array_grad::ops)\n"
    )
    build = tmp_path / "build"
    succeed(*configure(tmp_path, build, "-DCMAKE_EXE_LINKER_FLAGS=-Wl,--as-needed"))
    succeed(_tool("cmake"), "--build", build)
    done = run(build / "empty", LD_DEBUG="files")
    assert done.returncode == 0, done.stderr
    assert re.search(rf"calling init: \S*/{re.escape(child.LIBRARY.name)}\b", done.stderr)


def _python_error(built: _loader.BuildInfo, path: pathlib.Path) -> str:
    with pytest.raises(tensor_array_grad.LoadError) as raised:
        _loader.check_fit(built, tf.__version__, tf.sysconfig.CXX11_ABI_FLAG, str(path))
    return str(raised.value)


@pytest.mark.parametrize(("tensorflow", "abi"), [("2.3.4", 1), (tf.__version__, 0), ("x", 1)])
def test_another_build_is_refused_with_the_message_of_the_python_loader(
    programs, tmp_path, tensorflow, abi
):
    built = _loader.BuildInfo("0.1.0", tensorflow, "tensorflow-cpu", abi)
    (tmp_path / "build_info.json").write_text(json.dumps(vars(built)))
    path = shutil.copy(child.LIBRARY, tmp_path)
    done = run(programs / "array_gradient", path)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == f"FAILED_PRECONDITION: {_python_error(built, path)}"


def test_a_missing_record_is_refused_with_the_message_of_the_python_loader(programs, tmp_path):
    with pytest.raises(tensor_array_grad.LoadError) as raised:
        _loader.read_build_info(tmp_path)
    done = run(programs / "array_gradient", tmp_path / child.LIBRARY.name)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == f"NOT_FOUND: {raised.value}"


def refusal_of_find_package(package: pathlib.Path) -> str:
    """What CMake reports about `package` if this process's TensorFlow is said to be 2.3.4."""
    project = package.parent / "project"
    project.mkdir()
    (project / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.22)\nproject(refused LANGUAGES NONE)\n"
        f"find_package(tensor_array_grad QUIET PATHS {package / 'cmake'} NO_DEFAULT_PATH)\n"
        'message("FOUND ${tensor_array_grad_FOUND}: ${tensor_array_grad_NOT_FOUND_MESSAGE}")\n'
    )
    options = (f"-DTAG_TENSORFLOW_DIR={tf.sysconfig.get_lib()}", "-DTAG_TENSORFLOW_VERSION=2.3.4")
    return run(*configure(project, project / "build", *options)).stderr


def test_find_package_refuses_another_tensorflow_with_the_message_of_the_loader(tmp_path):
    shutil.copytree(child.PACKAGE / "cmake", tmp_path / "package" / "cmake")
    built = _loader.BuildInfo("0.1.0", "2.19.1", "tensorflow-cpu", 1)
    (tmp_path / "package" / "build_info.json").write_text(json.dumps(vars(built)))
    library = tmp_path / "package" / child.LIBRARY.name
    with pytest.raises(tensor_array_grad.LoadError) as raised:
        _loader.check_fit(built, "2.3.4", 1, str(library))
    assert f"FOUND 0: {raised.value}" in refusal_of_find_package(tmp_path / "package")


def test_find_package_lists_the_tensorflows_of_a_wheel_for_several(tmp_path, monkeypatch):
    shutil.copytree(child.PACKAGE / "cmake", tmp_path / "package" / "cmake")
    for minor in ("2.1", "2.2"):
        (tmp_path / "package" / f"tf{minor}").mkdir()
    monkeypatch.setattr(tf, "__version__", "2.3.4")
    with pytest.raises(tensor_array_grad.LoadError) as raised:
        _loader.read_build_info(tmp_path / "package")
    assert f"FOUND 0: {raised.value}" in refusal_of_find_package(tmp_path / "package")


def test_the_package_contains_the_public_headers_of_the_tree():
    installed = sorted((child.PACKAGE / "include").rglob("*.h"))
    assert {header.name for header in installed} == {
        "introspection.h",
        "load.h",
        "ops.h",
        "records.h",
    }
    for header in installed:
        source = EXAMPLES.parent.parent / header.relative_to(child.PACKAGE)
        assert header.read_text() == source.read_text()

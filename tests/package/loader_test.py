"""The loader: which libraries it refuses, with which messages, before it opens them."""

from __future__ import annotations

import json
import pathlib
import re
import shutil
import subprocess

import pytest
import tensorflow as tf

import tensor_array_grad
from tensor_array_grad import _loader
from tests.support import child

BUILT = _loader.BuildInfo("0.1.0", "2.19.1", "tensorflow-cpu", 1)


@pytest.mark.parametrize("running", ["2.19.0", "2.19.1", "2.19.7", "2.19.0rc1", "2.19.1+local"])
def test_any_patch_release_of_the_minor_version_fits(running):
    _loader.check_fit(BUILT, running, 1, "lib.so")


@pytest.mark.parametrize("running", ["2.18.1", "2.20.0", "2.190.0", "3.19.1", "2.2"])
def test_another_minor_version_is_refused_naming_both_and_the_command(running):
    with pytest.raises(tensor_array_grad.LoadError) as raised:
        _loader.check_fit(BUILT, running, 1, "/some/lib.so")
    message = str(raised.value)
    assert f"TensorFlow {running}" in message
    assert "TensorFlow 2.19.1" in message
    assert "/some/lib.so" in message
    assert "pip install 'tensorflow-cpu==2.19.*'" in message


def test_another_abi_is_refused_naming_both():
    with pytest.raises(
        tensor_array_grad.LoadError, match=r"ABI 1\) and .* 2\.19\.1 \(C\+\+11 ABI 0"
    ):
        _loader.check_fit(BUILT, "2.19.1", 0, "lib.so")


def test_an_invalid_version_is_refused_with_its_cause():
    with pytest.raises(tensor_array_grad.LoadError, match="into TensorFlow who knows") as raised:
        _loader.check_fit(BUILT, "who knows", 1, "lib.so")
    assert isinstance(raised.value.__cause__, ValueError)


def test_a_missing_record_is_a_load_error_that_keeps_its_cause(tmp_path):
    with pytest.raises(
        tensor_array_grad.LoadError, match=r"build_info\.json does not say"
    ) as raised:
        _loader.read_build_info(tmp_path)
    assert isinstance(raised.value.__cause__, FileNotFoundError)


@pytest.mark.parametrize("text", ["", "[1]", '{"version": "1"}', "not json"])
def test_a_broken_record_is_a_load_error(tmp_path, text):
    (tmp_path / "build_info.json").write_text(text)
    with pytest.raises(tensor_array_grad.LoadError, match=r"build_info\.json does not say"):
        _loader.read_build_info(tmp_path)


def wheel_for(folder, *minors, monkeypatch):
    """Makes `folder` the package of a wheel with libraries for these releases."""
    for minor in minors:
        (folder / f"tf{minor}").mkdir()
        record = {"version": "1", "tensorflow": f"{minor}.0", "distribution": "tensorflow"}
        (folder / f"tf{minor}" / "build_info.json").write_text(
            json.dumps({**record, "cxx11_abi": 1})
        )
    monkeypatch.setattr(_loader, "_FOLDER", folder)


def test_a_wheel_for_several_tensorflows_serves_the_one_that_is_running(tmp_path, monkeypatch):
    running = ".".join(tf.__version__.split(".")[:2])
    wheel_for(tmp_path, "2.1", running, monkeypatch=monkeypatch)
    assert _loader.library_path() == str(tmp_path / f"tf{running}" / "libtensor_array_grad.so")
    assert _loader.read_build_info().tensorflow == f"{running}.0"


def test_a_wheel_for_other_tensorflows_lists_them(tmp_path, monkeypatch):
    wheel_for(tmp_path, "2.1", "2.2", monkeypatch=monkeypatch)
    with pytest.raises(
        tensor_array_grad.LoadError,
        match=rf"this wheel serves TensorFlow 2\.1, 2\.2 and cannot be loaded into TensorFlow "
        rf"{re.escape(tf.__version__)}\. Run: pip install 'tensorflow==2\.2\.\*'",
    ):
        _loader.read_build_info()
    assert "this wheel serves TensorFlow 2.1, 2.2" in tensor_array_grad.status().problems[0]


def test_the_record_names_the_tensorflow_that_is_running():
    built = _loader.read_build_info()
    assert built.version == tensor_array_grad.__version__
    assert built.tensorflow.split(".")[:2] == tf.__version__.split(".")[:2]
    assert built.cxx11_abi == tf.sysconfig.CXX11_ABI_FLAG
    facts = _loader.bind().build_facts()
    assert facts["tensorflow_version"] == built.tensorflow
    assert facts["cxx11_abi"] == str(built.cxx11_abi)


def test_loaded_copies_are_found_in_the_memory_map_once_each():
    maps = (
        "7f00-7f01 r-xp 00000000 08:01 12 /a b/libtensor_array_grad.so\n"
        "7f01-7f02 r--p 00000000 08:01 12 /a b/libtensor_array_grad.so\n"
        "7f03-7f04 r-xp 00000000 08:01 13 /c/libtensor_array_grad.so\n"
        "7f05-7f06 r-xp 00000000 08:01 14 /c/notlibtensor_array_grad.so\n"
        "7f07-7f08 rw-p 00000000 00:00 0\n"
    )
    assert _loader.mapped_libraries(maps) == [
        "/a b/libtensor_array_grad.so",
        "/c/libtensor_array_grad.so",
    ]


def test_a_library_whose_file_is_gone_is_found_in_the_memory_map():
    maps = (
        "7f00-7f01 r-xp 00000000 08:01 12 /a b/~ensor/libtensor_array_grad.so (deleted)\n"
        "7f03-7f04 r-xp 00000000 08:01 13 /c/other.so (deleted)\n"
    )
    assert _loader.mapped_libraries(maps) == ["/a b/~ensor/libtensor_array_grad.so (deleted)"]


def test_the_library_is_in_the_package_and_is_loaded():
    path = pathlib.Path(tensor_array_grad.library_path())
    assert path.is_absolute()
    assert path.exists()
    assert _loader.is_loaded()
    assert _loader.mapped_libraries() == [str(path)]


def output_of(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


@pytest.mark.skipif(shutil.which("readelf") is None, reason="readelf is not installed")
def test_the_op_library_needs_the_framework_library_and_no_other_of_tensorflow():
    lines = output_of("readelf", "-d", tensor_array_grad.library_path())
    needed = [line.split("[")[1].rstrip("]") for line in lines if "NEEDED" in line]
    assert [name for name in needed if "tensor" in name] == ["libtensorflow_framework.so.2"]


@pytest.mark.skipif(shutil.which("nm") is None, reason="nm is not installed")
def test_the_op_library_exports_what_bindings_and_cpp_programs_call_and_nothing_else():
    lines = output_of("nm", "-DC", "--defined-only", tensor_array_grad.library_path())
    names = [line.split(maxsplit=2)[2] for line in lines]
    bindings = "tensor_array_grad::introspection::"
    others = sorted(n for n in names if not n.startswith(bindings))
    assert len(names) > len(others)
    # The symbols that the loader of the C++ API looks up.
    assert others == ["tensor_array_grad_activation", "tensor_array_grad_counters"]


def test_another_version_is_refused_before_the_library_is_opened(tmp_path):
    package = child.copy_package(tmp_path)
    record = child.build_record(package)
    record.write_text(json.dumps({**json.loads(record.read_text()), "tensorflow": "2.7.0"}))
    child.code(
        """
        import tensor_array_grad
        from tensor_array_grad import _loader
        try:
            tensor_array_grad.enable()
        except tensor_array_grad.LoadError as error:
            assert "was built for TensorFlow 2.7.0" in str(error), error
        else:
            raise AssertionError("not refused")
        assert not _loader.mapped_libraries(), _loader.mapped_libraries()
        assert not tensor_array_grad.is_enabled()
        status = tensor_array_grad.status()
        assert len(status.problems) == 1 and "2.7.0" in status.problems[0], status.problems
        """,
        PYTHONPATH=str(tmp_path),
    )


def test_without_bindings_nothing_is_replaced_and_status_names_the_problem(tmp_path):
    for bindings in child.copy_package(tmp_path).glob("_bind*"):
        bindings.unlink()
    child.code(
        """
        import tensor_array_grad, tensorflow as tf
        from tensor_array_grad import _loader
        try:
            tensor_array_grad.enable()
        except tensor_array_grad.LoadError as error:
            assert "no bindings for Python" in str(error), error
        else:
            raise AssertionError("not refused")
        assert not _loader.mapped_libraries(), _loader.mapped_libraries()
        for loaded in (False, True):
            if loaded:
                tf.load_op_library(tensor_array_grad.library_path())
            assert not tensor_array_grad.is_enabled()
            status = tensor_array_grad.status()
            assert status.loaded == loaded and not status.active, status
            assert len(status.problems) == 1, status.problems
            assert "no bindings for Python" in status.problems[0], status.problems
        """,
        PYTHONPATH=str(tmp_path),
    )


def test_a_damaged_library_is_a_load_error_with_its_cause(tmp_path):
    package = child.copy_package(tmp_path)
    (package / child.LIBRARY.relative_to(child.PACKAGE)).write_bytes(b"not a library")
    child.code(
        """
        import tensor_array_grad, tensorflow as tf
        try:
            tensor_array_grad.enable()
        except tensor_array_grad.LoadError as error:
            assert "could not be loaded into TensorFlow " + tf.__version__ in str(error), error
            assert error.__cause__ is not None
        else:
            raise AssertionError("not refused")
        """,
        PYTHONPATH=str(tmp_path),
    )


# Replaces the installed package as pip does: the files are moved, and removed at the end.
REPLACE = """
    import pathlib, shutil
    import tensorflow as tf, tensor_array_grad
    package = pathlib.Path(tensor_array_grad.__file__).parent

    def replace(by_another=True):
        moved = package.with_name("~ensor_array_grad")
        package.rename(moved)
        if by_another:
            shutil.copytree(moved, package)
        shutil.rmtree(moved)

    @tf.function
    def count(n):
        return tf.while_loop(lambda i: i < n, lambda i: i + 1, [tf.zeros_like(n)])[0]

    REPLACED = "was removed or replaced while this process uses it"
"""


@pytest.mark.parametrize("by_another", [True, False])
def test_a_loaded_library_whose_file_is_replaced_stays_in_use(tmp_path, by_another):
    child.copy_package(tmp_path)
    child.code(
        REPLACE
        + f"""
    tensor_array_grad.enable()
    before = tensor_array_grad.status()
    assert before.problems == ()
    replace(by_another={by_another})
    status = tensor_array_grad.status()
    assert status.loaded and status.active and status.kernels == before.kernels
    assert status.built_for == before.built_for
    (problem,) = status.problems
    assert REPLACED in problem and "Restart it" in problem, problem
    assert tensor_array_grad.is_enabled()
    tensor_array_grad.enable()  # does nothing
    assert count(tf.constant(5)).numpy() == 5
    runs = tensor_array_grad.counters()["loops.runs"]
    assert runs == 1
    with tensor_array_grad.loops_in_one_kernel(False):
        assert not tensor_array_grad.status().loops_in_one_kernel
        assert count(tf.constant(5, tf.int64)).numpy() == 5
    assert tensor_array_grad.counters()["loops.runs"] == runs
    """,
        PYTHONPATH=str(tmp_path),
    )


def test_a_file_that_replaced_a_loaded_library_is_refused(tmp_path):
    child.copy_package(tmp_path)
    child.code(
        REPLACE
        + """
    tf.load_op_library(tensor_array_grad.library_path())
    replace()
    for _ in range(2):
        try:
            tensor_array_grad.enable()
        except tensor_array_grad.LoadError as error:
            assert REPLACED in str(error), error
        else:
            raise AssertionError("not refused")
    status = tensor_array_grad.status()
    assert status.loaded and not status.active
    (problem,) = status.problems
    assert REPLACED in problem, problem
    assert tensor_array_grad.counters() == {}
    assert count(tf.constant(5)).numpy() == 5
    """,
        PYTHONPATH=str(tmp_path),
    )


USE = """
    def check_that_arrays_work():
        handle, flow = tf.raw_ops.TensorArrayV3(size=1, dtype=tf.float32)
        flow = tf.raw_ops.TensorArrayWriteV3(handle=handle, index=0, value=5.0, flow_in=flow)
        assert tf.raw_ops.TensorArrayReadV3(
            handle=handle, index=0, flow_in=flow, dtype=tf.float32).numpy() == 5.0
"""


@pytest.mark.parametrize("name", ["libtensor_array_grad.so", "renamed.so"])
def test_enable_refuses_when_another_copy_came_first(tmp_path, name):
    copy = shutil.copy(tensor_array_grad.library_path(), tmp_path / name)
    child.code(
        USE
        + """
    import sys, tensorflow as tf, tensor_array_grad
    tf.load_op_library(sys.argv[1])
    try:
        tensor_array_grad.enable()
    except tensor_array_grad.LoadError as error:
        assert "second copy" in str(error) and sys.argv[1] in str(error), error
    else:
        raise AssertionError("not refused")
    check_that_arrays_work()
    """,
        str(copy),
    )


def test_a_second_copy_that_is_loaded_later_replaces_nothing(tmp_path):
    copy = shutil.copy(tensor_array_grad.library_path(), tmp_path / "second.so")
    done = child.code(
        USE
        + """
    import sys, tensorflow as tf, tensor_array_grad
    tensor_array_grad.enable()
    before = tensor_array_grad.status().kernels
    tf.load_op_library(sys.argv[1])
    assert tensor_array_grad.status().kernels == before
    check_that_arrays_work()
    assert tensor_array_grad.status().counters["kernels.TensorArrayReadV3"] == 1
    """,
        str(copy),
    )
    assert "already replaced TensorArrayV3 on " in done.stderr


def test_a_switch_before_enable_loads_nothing_and_is_kept_by_enable():
    child.code(
        USE
        + """
    import tensorflow as tf, tensor_array_grad
    for switch in (tensor_array_grad.graph_pass, tensor_array_grad.loops_in_one_kernel):
        switch(True)
        switch(False)
        with switch(True):
            pass
    status = tensor_array_grad.status()
    assert not status.loaded and not tensor_array_grad.is_enabled()
    tensor_array_grad.enable()
    status = tensor_array_grad.status()
    assert status.active and not status.graph_pass and not status.loops_in_one_kernel
    check_that_arrays_work()
    """
    )


def test_a_with_block_around_enable_restores_the_initial_setting_of_the_library():
    child.code(
        USE
        + """
    import tensor_array_grad
    with tensor_array_grad.graph_pass(False), tensor_array_grad.loops_in_one_kernel(True):
        tensor_array_grad.enable()
        status = tensor_array_grad.status()
        assert not status.graph_pass and status.loops_in_one_kernel
    status = tensor_array_grad.status()
    assert status.graph_pass and not status.loops_in_one_kernel
    """,
        TENSOR_ARRAY_GRAD_LOOPS="off",
    )


def test_the_gradient_of_a_gather_is_right_if_a_switch_was_set_before_enable():
    child.code(
        child.GATHER
        + """
import tensor_array_grad
tensor_array_grad.graph_pass(True)
tensor_array_grad.enable()
assert gradient() == [11.0, 0.0, 100.0]
"""
    )


def test_load_op_library_alone_replaces_kernels_and_reports_what_is_missing():
    child.code(
        USE
        + """
    import tensorflow as tf, tensor_array_grad
    assert not tensor_array_grad.is_enabled()
    tf.load_op_library(tensor_array_grad.library_path())
    assert not tensor_array_grad.is_enabled()
    status = tensor_array_grad.status()
    assert status.active and not status.gradient_functions
    assert status.problems == (
        "kernels are replaced and gradient functions are not: call tensor_array_grad.enable(), "
        "because tf.load_op_library replaces kernels only",
    ), status.problems
    check_that_arrays_work()
    assert tensor_array_grad.status().counters["kernels.TensorArrayReadV3"] == 1
    tensor_array_grad.enable()
    assert tensor_array_grad.is_enabled() and not tensor_array_grad.status().problems
    check_that_arrays_work()
    assert tensor_array_grad.status().counters["kernels.TensorArrayReadV3"] == 2
    """
    )


def test_no_way_of_loading_replaces_kernels_if_the_environment_says_off():
    done = child.code(
        USE
        + """
    import tensorflow as tf, tensor_array_grad
    tensor_array_grad.enable()
    tensor_array_grad.enable()
    assert not tensor_array_grad.is_enabled() and not tensor_array_grad.status().loaded
    tf.load_op_library(tensor_array_grad.library_path())
    assert not tensor_array_grad.is_enabled()
    status = tensor_array_grad.status()
    assert status.loaded and not status.problems, status.problems
    assert all(kernel.priority == 0 for kernel in status.kernels)
    check_that_arrays_work()
    assert "kernels.TensorArrayReadV3" not in status.counters
    """,
        TENSOR_ARRAY_GRAD="off",
    )
    message = "tensor_array_grad is inactive: TENSOR_ARRAY_GRAD=off in the environment"
    assert done.stderr.count(message) == 2  # once by enable(), once by the library itself


REFUSED = (
    "TensorArray numbers_1@gradients: Cannot make a gradient array of this gradient array with "
    'source "{source}": TensorFlow\'s gradient functions use several sources for one second '
    "derivative, and a part of it would be lost. Call tensor_array_grad.enable() before the graph "
    "is built. If you call the op yourself, use a source with another last component."
)


@pytest.mark.parametrize(
    ("values", "source"),
    [
        ("array.unstack([a, b]).stack()", "gradients_1/gradients"),
        ("array.write(0, a).write(1, b).stack()", "gradients_1"),  # refused with the other source
    ],
)
def test_a_second_derivative_without_the_gradient_functions_is_an_error_and_not_zero(
    values, source
):
    child.code(
        """
    import sys
    import tensorflow as tf, tensor_array_grad
    tf.load_op_library(tensor_array_grad.library_path())
    tf.compat.v1.disable_control_flow_v2()
    values, refused = sys.argv[1:]
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        a, b = tf.constant(2.0), tf.constant(3.0)
        array = tf.TensorArray(tf.float32, 2, tensor_array_name="numbers")
        slopes = tf.gradients(eval(values) ** 3, [a, b])
        curves = tf.gradients(slopes, [a, b])
        assert session.run(slopes) == [12.0, 27.0]
        try:
            got = session.run(curves)
        except tf.errors.InvalidArgumentError as error:
            assert refused in error.message, error.message
        else:
            raise AssertionError(f"no error, but {got}")
    """,
        values,
        REFUSED.format(source=source),
    )

"""Finds what pip installed for a Python and makes a repository of it, @pip_tensorflow.

The Python is that of the environment variable PYTHON_BIN_PATH, else `python3` on the PATH. The
search is the one of the CMake build (cmake/find_tensorflow.py): nothing is imported or downloaded.
GoogleTest is the system's.
"""

_BUILD = """\
package(default_visibility = ["//visibility:public"])

cc_library(
    name = "headers",
    hdrs = glob(["include/**"]),
    defines = [
        "_GLIBCXX_USE_CXX11_ABI=1",
        "EIGEN_MAX_ALIGN_BYTES=64",
    ],
    includes = ["include"],
)

cc_import(
    name = "libtensorflow_framework",
    shared_library = "libtensorflow_framework.so.2",
)

cc_import(
    name = "libtensorflow_cc",
    shared_library = "libtensorflow_cc.so.2",
)

# What kernels need: op_kernel.h, tensors, the graph API.
cc_library(
    name = "framework",
    deps = [
        ":headers",
        ":libtensorflow_framework",
    ],
)

# The C and C++ client APIs as well.
cc_library(
    name = "cc",
    deps = [
        ":framework",
        ":libtensorflow_cc",
    ],
)

cc_library(
    name = "pybind11",
    hdrs = glob(["pybind11/**", "python/**"]),
    includes = ["pybind11", "python"],
)

cc_library(
    name = "gtest_main",
    linkopts = ["-lgmock", "-lgtest", "-lgtest_main", "-lpthread"],
)
"""

_VERSION = """\
\"\"\"The TensorFlow that was found.\"\"\"

TENSORFLOW_VERSION = "{version}"
TENSORFLOW_DISTRIBUTION = "{distribution}"
"""

_HEADERS = {
    "pybind11": "import pybind11; print(pybind11.get_include())",
    "python": "import sysconfig; print(sysconfig.get_path('include'))",
}

def _fail(python, result):
    fail("TensorFlow or pybind11 is not installed for {}: {}".format(python, result.stderr))

def _pip_tensorflow_repository_impl(ctx):
    python = ctx.os.environ.get("PYTHON_BIN_PATH") or ctx.which("python3")
    finder = ctx.path(Label("//:cmake/find_tensorflow.py"))
    result = ctx.execute([python, finder])
    if result.return_code != 0:
        _fail(python, result)
    folder, version, distribution = result.stdout.strip().split(";")
    for name in ("include", "libtensorflow_framework.so.2", "libtensorflow_cc.so.2"):
        ctx.symlink("{}/{}".format(folder, name), name)
    for name, script in _HEADERS.items():
        printed = ctx.execute([python, "-c", script])
        if printed.return_code != 0:
            _fail(python, printed)
        ctx.symlink(printed.stdout.strip(), name)
    ctx.file("BUILD", _BUILD)
    ctx.file("version.bzl", _VERSION.format(version = version, distribution = distribution))

pip_tensorflow_repository = repository_rule(
    implementation = _pip_tensorflow_repository_impl,
    doc = "The targets :framework, :cc, :pybind11 and :gtest_main.",
    environ = ["PYTHON_BIN_PATH"],
    local = True,
)

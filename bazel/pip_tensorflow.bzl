"""Finds the TensorFlow wheel of a Python and makes a repository of it, @pip_tensorflow.

The Python is that of the environment variable PYTHON_BIN_PATH, else `python3` on the PATH. The
search is the one of the CMake build (cmake/find_tensorflow.py): nothing is imported or downloaded.
"""

_BUILD = """\
load("@rules_cc//cc:defs.bzl", "cc_import", "cc_library")

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
"""

_VERSION = """\
\"\"\"The TensorFlow that was found.\"\"\"

TENSORFLOW_VERSION = "{version}"
TENSORFLOW_DISTRIBUTION = "{distribution}"
"""

def _fail(python, result):
    fail("No TensorFlow wheel for {}: {}\nRun: {} -m pip install tensorflow-cpu".format(
        python,
        result.stderr,
        python,
    ))

def _pip_tensorflow_repository_impl(ctx):
    python = ctx.getenv("PYTHON_BIN_PATH") or ctx.which("python3")
    finder = ctx.path(Label("//:cmake/find_tensorflow.py"))
    ctx.watch(finder)
    result = ctx.execute([python, finder])
    if result.return_code != 0:
        _fail(python, result)
    folder, version, distribution = result.stdout.strip().split(";")
    for name in ("include", "libtensorflow_framework.so.2", "libtensorflow_cc.so.2"):
        ctx.symlink("{}/{}".format(folder, name), name)
    ctx.file("BUILD", _BUILD)
    ctx.file("version.bzl", _VERSION.format(version = version, distribution = distribution))

_pip_tensorflow_repository = repository_rule(
    implementation = _pip_tensorflow_repository_impl,
    doc = "The wheel's headers and libraries, as the targets :framework and :cc.",
    environ = ["PYTHON_BIN_PATH"],
    local = True,
)

def _pip_tensorflow_impl(_module_ctx):
    _pip_tensorflow_repository(name = "pip_tensorflow")

pip_tensorflow = module_extension(
    implementation = _pip_tensorflow_impl,
    doc = "Makes @pip_tensorflow.",
)

"""The same for MODULE.bazel."""

load("//bazel:pip_tensorflow.bzl", "pip_tensorflow_repository")

def _pip_tensorflow_impl(_module_ctx):
    pip_tensorflow_repository(name = "pip_tensorflow")

pip_tensorflow = module_extension(
    implementation = _pip_tensorflow_impl,
    doc = "Makes @pip_tensorflow.",
)

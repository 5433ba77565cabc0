"""TENSOR_ARRAY_GRAD=on: the library is enabled when TensorFlow has been imported, not before.

Children import the startup module as the .pth file does; wheel_test.py installs that file.
"""

from __future__ import annotations

import pytest

from tests.support import child

PTH = "import _tensor_array_grad_startup\n"
STATE = """
import tensor_array_grad
status = tensor_array_grad.status()
print(tensor_array_grad.is_enabled(), status.gradient_functions)
"""


def under(value, code, **environment):
    """Runs `code` as if the .pth file were installed, with TENSOR_ARRAY_GRAD=value."""
    return child.succeeded(
        child.interpreter("-c", PTH + code, TENSOR_ARRAY_GRAD=value, **environment)
    )


def quickly_under(value, code, **environment):
    """As `under`, with the submodules of TensorFlow in `sys.modules`, which are slow to import."""
    return child.succeeded(
        child.python("-c", PTH + code, imported=False, TENSOR_ARRAY_GRAD=value, **environment)
    )


@pytest.mark.parametrize("value", ["on", "1", "TRUE"])
def test_importing_tensorflow_enables(value):
    run = under if value == "on" else quickly_under
    done = run(value, "import tensorflow\n" + STATE)
    assert done.stdout == "True True\n"
    assert "tensor_array_grad" not in done.stderr


def test_the_startup_module_imports_neither_tensorflow_nor_the_package():
    done = under("on", "import sys\nprint({'tensorflow', 'tensor_array_grad'} & set(sys.modules))")
    assert done.stdout == "set()\n"


def test_the_finder_imports_nothing_because_it_is_called_under_the_import_lock():
    code = """
import importlib.util, sys
before = set(sys.modules)
print(importlib.util.find_spec("tensorflow").name, set(sys.modules) - before)
"""
    assert under("on", code).stdout == "tensorflow set()\n"


@pytest.mark.parametrize("value", ["", "off", "0", "False"])
def test_other_values_leave_the_import_system_alone(value):
    done = under(value, "import sys\nprint([f for f in sys.meta_path if '_Watch' in str(f)])")
    assert done.stdout == "[]\n"


def test_an_unknown_value_warns_once_and_keeps_stock():
    done = quickly_under("yes", "import tensorflow\n" + STATE)
    assert done.stdout == "False False\n"
    text = "tensor_array_grad is inactive: TENSOR_ARRAY_GRAD=yes in the environment is neither on"
    assert done.stderr.count(text) == 1


@pytest.mark.parametrize(
    "first",
    [
        "import tensor_array_grad",
        "from tensor_array_grad import _loader",
        "import tensor_array_grad.gradients_list",
        "from tensorflow.keras import layers",
        "import keras",
    ],
)
def test_the_library_is_enabled_whatever_imports_tensorflow_first(first):
    run = under if "keras" in first else quickly_under  # Keras itself is loaded
    done = run("on", f"{first}\n{STATE}")
    assert done.stdout == "True True\n"
    assert "tensor_array_grad" not in done.stderr


def test_the_library_is_enabled_even_if_find_spec_has_looked_for_tensorflow_before():
    code = "import importlib.util\nassert importlib.util.find_spec('tensorflow').loader\n"
    assert quickly_under("on", f"{code}import tensorflow\n{STATE}").stdout == "True True\n"


def test_tensorflow_is_complete_when_the_library_is_enabled_and_keeps_its_own_loader():
    code = """
import importlib.machinery, logging, sys
class Package:
    def find_spec(self, name, path=None, target=None):
        if name == "tensor_array_grad":
            tf = sys.modules["tensorflow"]
            print(tf.__version__ is not None, tf.raw_ops is not None, tf.keras is not None)
sys.meta_path.insert(0, Package())
import tensorflow as tf
loader = tf.__spec__.loader
print(type(loader) is importlib.machinery.SourceFileLoader, "exec_module" in vars(loader))
"""
    assert under("on", code).stdout == "True True True\nTrue False\n"


ANOTHER_FINDER = """
import sys
class Another:
    def find_spec(self, name, path=None, target=None):
        if name == "tensorflow":
            others = (f for f in sys.meta_path if f is not self)
            return next(filter(None, (f.find_spec(name, path, target) for f in others)), None)
sys.meta_path.insert(0, Another())
"""
SECOND_WATCH = """
import importlib, sys
importlib.reload(sys.modules["_tensor_array_grad_startup"])
"""


@pytest.mark.parametrize("first", [ANOTHER_FINDER, SECOND_WATCH], ids=["another", "second"])
def test_finders_that_ask_each_other_find_tensorflow(first):
    # If TensorFlow enables oneDNN, it logs that to stderr.
    done = under("on", f"{first}import tensorflow\n{STATE}", TF_ENABLE_ONEDNN_OPTS="0")
    assert done.stdout == "True True\n"
    assert done.stderr == ""


OF_SLOTS = """
class Loader:
    __slots__ = ("inner",)
    def __init__(self, inner): self.inner = inner
    def create_module(self, spec): return self.inner.create_module(spec)
    def exec_module(self, module): self.inner.exec_module(module)
wrap = Loader
"""
OF_CLASS_METHODS = """
class Loader:
    create_module = classmethod(lambda own, spec: own.inner.create_module(spec))
    exec_module = classmethod(lambda own, module: own.inner.exec_module(module))
def wrap(inner):
    Loader.inner = inner
    return Loader
"""
WRAPPING_FINDER = """
import importlib.machinery, sys
class Wrapping:
    def find_spec(self, name, path=None, target=None):
        if name == "tensorflow":
            spec = importlib.machinery.PathFinder.find_spec(name, path, target)
            spec.loader = wrap(spec.loader)
            return spec
sys.meta_path.insert(1, Wrapping())
"""


@pytest.mark.parametrize("loader", [OF_SLOTS, OF_CLASS_METHODS], ids=["slots", "class methods"])
def test_a_loader_that_cannot_be_changed_loads_tensorflow_with_a_warning(loader):
    code = "import tensorflow as tf\nprint(int(tf.constant(2)), 'tensor_array_grad' in sys.modules)"
    done = quickly_under("on", loader + WRAPPING_FINDER + code)
    assert done.stdout == "2 False\n"
    assert done.stderr.count("of TensorFlow cannot be changed to enable it") == 1


def test_threads_that_import_both_at_once_find_the_library_enabled():
    # The first line of `code` avoids a deadlock of CPython 3.11, which may occur if two threads
    # import the same module of the standard library. It occurs without this library as well, if one
    # thread imports TensorFlow 2.16, whose `import distutils` setuptools answers, and another `re`.
    code = """
import dataclasses, importlib.resources, json, logging
import importlib, threading
names = ["tensorflow", "tensor_array_grad", "tensorflow", "tensor_array_grad.raw_ops"]
start = threading.Barrier(len(names))
def load(name):
    start.wait()
    importlib.import_module(name)
threads = [threading.Thread(target=load, args=[name]) for name in names]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""
    done = under("on", code + STATE)
    assert done.stdout == "True True\n"
    assert "Error" not in done.stderr


def test_a_library_that_does_not_fit_is_a_warning_and_tensorflow_works(tmp_path):
    package = child.copy_package(tmp_path)
    child.build_record(package).unlink()
    code = "import tensorflow as tf\nprint(tf.constant(2.0).numpy())\n"
    done = quickly_under("on", code, PYTHONPATH=str(tmp_path))
    assert done.stdout == "2.0\n"
    text = "tensor_array_grad is inactive: TENSOR_ARRAY_GRAD=on in the environment, but "
    assert done.stderr.count(text) == 1
    assert "does not say what" in done.stderr


def test_a_package_that_cannot_be_imported_is_a_warning_and_tensorflow_works(tmp_path):
    (tmp_path / "tensor_array_grad.py").write_text("raise ImportError('broken')\n")
    code = "import tensorflow as tf\nprint(tf.constant(2.0).numpy())\n"
    done = quickly_under("on", code, PYTHONPATH=str(tmp_path))
    assert done.stdout == "2.0\n"
    assert "TENSOR_ARRAY_GRAD=on in the environment, and the package cannot be" in done.stderr
    assert "broken" in done.stderr


def test_an_import_of_tensorflow_that_fails_can_be_repeated(tmp_path):
    (tmp_path / "tensorflow.py").write_text("raise ImportError('not yet')\n")
    code = """
import sys
try:
    import tensorflow
except ImportError as error:
    print(error)
sys.path.remove(sys.argv[1])
sys.path_importer_cache.clear()
import tensorflow
"""
    done = child.succeeded(
        child.interpreter(
            *("-c", PTH + code + STATE, str(tmp_path)),
            TENSOR_ARRAY_GRAD="on",
            PYTHONPATH=str(tmp_path),
        )
    )
    assert done.stdout == "not yet\nTrue True\n"

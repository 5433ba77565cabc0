"""Does what `tensor_array_grad.pth` does, for a package that is found by PYTHONPATH alone.

The runner puts this folder in front of PYTHONPATH, so that the interpreter imports this module when
it starts, as do its children. A `sitecustomize` of the user's own is run first.
"""

import importlib.machinery
import importlib.util
import pathlib
import sys

_folder = pathlib.Path(__file__).parent
sys.path[:] = [entry for entry in sys.path if entry != str(_folder)]
_own = importlib.machinery.PathFinder.find_spec("sitecustomize", sys.path)
try:
    if _own is not None and _own.loader is not None:
        sys.modules["sitecustomize"] = importlib.util.module_from_spec(_own)
        _own.loader.exec_module(sys.modules["sitecustomize"])
finally:  # if it fails, Python says so and goes on
    _packages = str(_folder.parents[1])
    if _packages not in sys.path:
        sys.path.append(_packages)
    import _tensor_array_grad_startup  # noqa: F401

"""The version of this package and the TensorFlow releases that it can be built for.

setup.py, CMake and the build backend read this file without importing the package, so it has
assignments only.
"""

__version__ = "0.1.0"

# One source serves every release of this range; a build serves one minor version of it.
TENSORFLOW_MIN = "2.16"
TENSORFLOW_MAX = "2.21"

# Installed as a build requirement only if the target environment has no TensorFlow.
TENSORFLOW_DEFAULT = "2.21"

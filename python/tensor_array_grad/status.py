"""Reports which op library is loaded, the versions that it was built for, and the V3 arrays."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import tensorflow as tf

from tensor_array_grad import _command, _loader, gradients_list, observer
from tensor_array_grad._counters import with_prefix
from tensor_array_grad._version import __version__
from tensor_array_grad.explained import Loop

_LISTED = 10  # number of arrays that are printed by name; the total is printed too


@dataclasses.dataclass(frozen=True)
class Kernel:
    """A registered kernel of an op that this library replaces.

    Attributes:
      op: The name of the op.
      device: The type of the device, such as `CPU`.
      dtypes: The dtypes that the kernel serves, in TensorFlow's C++ spelling, such as `float` for
        `tf.float32`; empty for a kernel of every dtype.
      priority: 0 for stock's kernels, 1 for this library's.
    """

    op: str
    device: str
    dtypes: tuple[str, ...]
    priority: int


@dataclasses.dataclass(frozen=True)
class Array:
    """A V3 array that exists now.

    Attributes:
      name: The name of the array in the resource manager.
      dtype: The dtype of the elements, in TensorFlow's C++ spelling, such as `float`.
      size: The number of slots.
      bytes: The memory that the elements hold now, in bytes. A buffer that several elements share
        is counted several times.
      is_gradient: Whether it is a gradient array.
      gradients: The names of its gradient arrays, by source.
    """

    name: str
    dtype: str
    size: int
    bytes: int
    is_gradient: bool
    gradients: dict[str, str]


@dataclasses.dataclass(frozen=True)
class Part:
    """A part of the library.

    Attributes:
      active: Whether it is active in this process.
      reason: Why, in a few words.
    """

    active: bool
    reason: str


@dataclasses.dataclass(frozen=True, repr=False)
class Status:
    """The state of the library in this process. `str()` and `repr()` format it as readable text.

    Attributes:
      version: The version of this package.
      library_path: The path of the op library.
      loaded: Whether the op library is loaded.
      active: Whether the library is active at all. `parts` says which parts of it are.
      reason: Why it is active, or why not.
      kernels_replaced: Whether this library's kernels replace stock's.
      kernels_reason: Why they do, or why not.
      built_for: The version of TensorFlow that the op library was built for.
      built_from: The name of the distribution of that TensorFlow.
      running: The version of TensorFlow in this process.
      cxx11_abi: The C++11 ABI of the op library, 0 or 1; -1 if the record of its versions cannot
        be read, and `built_for` and `built_from` are "unknown" then.
      devices: The names of TensorFlow's physical devices.
      kernels: All kernels of the ops that the library replaces, stock's included.
      missing_kernels: Each op and device for which stock has a kernel and this library has none
        that serves all dtypes of stock's kernel.
      counters: The number of events since the library was loaded, by name.
      graph_pass: Whether the graph pass is switched on; False if the library is not loaded.
      loops_in_one_kernel: Whether loops in one kernel are switched on; False if the library is not
        loaded.
      arrays: The V3 arrays that exist now.
      gradient_functions: Whether the gradient functions of this package are registered.
      problems: Sentences that say what is wrong; empty if there is no problem.
    """

    version: str
    library_path: str
    loaded: bool
    active: bool
    reason: str
    kernels_replaced: bool
    kernels_reason: str
    built_for: str
    built_from: str
    running: str
    cxx11_abi: int
    devices: tuple[str, ...]
    kernels: tuple[Kernel, ...]
    missing_kernels: tuple[str, ...]
    counters: dict[str, int]
    graph_pass: bool
    loops_in_one_kernel: bool
    arrays: tuple[Array, ...]
    gradient_functions: bool
    problems: tuple[str, ...]

    @property
    def parts(self) -> dict[str, Part]:
        """The parts that can be active apart: kernels, gradient functions, graph pass, loops."""
        functions = "enable() registers them" if self.active else self.reason
        return {
            "kernels": Part(self.kernels_replaced, self.kernels_reason),
            "gradient functions": Part(self.gradient_functions, functions),
            "graph pass": self._switched(self.graph_pass, "graph_pass()"),
            "loops in one kernel": self._switched(
                self.loops_in_one_kernel, "loops_in_one_kernel() or TENSOR_ARRAY_GRAD_LOOPS"
            ),
        }

    def _switched(self, on: bool, switch: str) -> Part:
        if not self.active:
            return Part(False, self.reason)
        return Part(on, "on unless switched off" if on else f"switched off by {switch}")

    @property
    def bytes_alive(self) -> int:
        """The memory that the elements of all arrays hold, in bytes."""
        return sum(array.bytes for array in self.arrays)

    @property
    def tensors_may_change(self) -> bool:
        """Whether this process has run an op that changes tensors in place.

        Such ops are TF1 ref variables and TensorFlow's in-place ops. From then on, arrays and lists
        copy values that they would otherwise share. This lasts to the end of the process, because
        any tensor may share a buffer with such a tensor.
        """
        return self.counters.get("tensors.change_in_place", 0) > 0

    @property
    def rules(self) -> dict[str, int]:
        """How often the graph pass applied each rule, by the rule's name."""
        return with_prefix(self.counters, "graph.")

    @property
    def loops_left(self) -> dict[str, int]:
        """How many loops were left to TensorFlow's executor, by reason."""
        return with_prefix(self.counters, "loops.left.")

    @functools.cached_property
    def loops(self) -> tuple[Loop, ...]:
        """The loops that have run in this process, as `explain()` shows them; read when asked for.

        What the executor ran is not measured, and `share` is a part of the time of all loops.
        """
        return observer.loops_so_far() if self.loaded else ()

    def __str__(self) -> str:
        loops = [f"{self.counters.get('loops.prepared', 0)} in one kernel"]
        loops += [f"{count} left ({reason})" for reason, count in sorted(self.loops_left.items())]
        values = "shared: no tensor of this process changes in place"
        if self.tensors_may_change:
            values = "copied: a TF1 ref variable or an in-place op has run in this process"
        counted = {name: count for name, count in sorted(self.counters.items()) if count}
        lines = [
            f"tensor_array_grad {self.version}: " + ("active" if self.active else "not active"),
            f"  {self.reason}",
            *(
                f"  {name}: {'active' if part.active else 'not active'} ({part.reason})"
                for name, part in self.parts.items()
            ),
            f"library      {self.library_path}",
            f"built for    TensorFlow {self.built_for} ({self.built_from}), "
            f"C++11 ABI {self.cxx11_abi}",
            f"running      TensorFlow {self.running}, C++11 ABI {tf.sysconfig.CXX11_ABI_FLAG}",
            f"devices      {', '.join(self.devices)}",
            f"kernels      {self._kernel_line()}",
            f"loops        {', '.join(loops)}",
            f"values       {values}",
            f"arrays alive {len(self.arrays)}, {self.bytes_alive:,} bytes",
            *(
                f"  {a.name}: {a.size} x {a.dtype}, {a.bytes:,} bytes"
                for a in self.arrays[:_LISTED]
            ),
            "counters     " + ("" if counted else "all zero"),
            *(f"  {name} {count:,}" for name, count in counted.items()),
            *(f"PROBLEM      {problem}" for problem in self.problems),
        ]
        return "\n".join(lines)

    __repr__ = __str__  # what a notebook shows

    def _kernel_line(self) -> str:
        ours: dict[str, set[str]] = {}
        for kernel in self.kernels:
            if kernel.priority > 0:
                ours.setdefault(kernel.device, set()).add(kernel.op)
        present = {name.split(":")[-2] for name in self.devices}
        counts = [
            f"{len(ops)} ops on {device}" + ("" if device in present else " (none here)")
            for device, ops in sorted(ours.items())
        ]
        return ", ".join(counts) or "all stock"


def counters() -> dict[str, int]:
    """The number of events since the library was loaded, by name, as `status().counters`.

    Takes some microseconds, so that a training loop may call it in each step.

    Returns:
      A new dict; empty if the library is not loaded or not accessible.

    Examples:
      >>> import tensor_array_grad
      >>> runs = tensor_array_grad.counters().get("loops.runs", 0)
    """
    try:
        return dict(_loader.bind().counters()) if _loader.is_loaded() else {}
    except _loader.LoadError:
        return {}


def status() -> Status:
    """Reports the state of the library in this process, without loading it.

    Takes less than a millisecond, except for the first time.

    Returns:
      A `Status`. Its `problems` are empty if there is no problem.
    """
    built, found = _built(_loader.library_path(), _loader.identity())
    problems = list(found)
    loaded, bind = _loader.is_loaded(), None
    reason = "not loaded: call tensor_array_grad.enable()"
    if loaded:
        reason = "loaded, but not accessible"
    elif _command.switched_off():
        reason = "switched off by TENSOR_ARRAY_GRAD in the environment"
    library = kernels = Part(False, reason)
    if loaded:
        try:
            bind = _loader.bind()
        except _loader.LoadError as error:
            problems = [str(error)]
    if bind is not None:
        if _loader.is_replaced():
            facts = bind.build_facts()
            tensorflow, abi = facts["tensorflow_version"], int(facts["cxx11_abi"])
            built = _loader.BuildInfo(__version__, tensorflow, "unknown", abi)
            problems = [str(_loader.replaced())]
        library, kernels = bind.library_decision(), bind.kernel_decision()
        reason = library.reason or "the op library is loaded"
        if not library.active and library.cause != "off":
            problems.append(reason)
        if library.active and not gradients_list.installed():
            problems.append(
                "kernels are replaced and gradient functions are not: call "
                "tensor_array_grad.enable(), because tf.load_op_library replaces kernels only"
            )
    registered, missing = _kernels(bind) if bind else ((), ())
    return Status(
        version=__version__,
        library_path=_loader.library_path(),
        loaded=loaded,
        active=library.active,
        reason=reason,
        kernels_replaced=kernels.active,
        kernels_reason=kernels.reason or reason,
        built_for=built.tensorflow,
        built_from=built.distribution,
        running=tf.__version__,
        cxx11_abi=built.cxx11_abi,
        devices=tuple(device.name for device in tf.config.list_physical_devices()),
        kernels=registered,
        missing_kernels=missing,
        counters=bind.counters() if bind else {},
        graph_pass=bind is not None and bind.graph_pass_enabled(),
        loops_in_one_kernel=bind is not None and bind.loops_enabled(),
        arrays=tuple(
            Array(a.name, a.dtype, a.size, a.bytes, a.is_gradient, dict(a.gradients))
            for a in (bind.existing_arrays() if bind else ())
        ),
        gradient_functions=gradients_list.installed(),
        problems=tuple(problems),
    )


@functools.cache
def _kernels(bind: Any) -> tuple[tuple[Kernel, ...], tuple[str, ...]]:
    """`kernels` and `missing_kernels`, which are known when the library is loaded."""
    kernels = (Kernel(k.op, k.device, tuple(k.types), k.priority) for k in bind.kernels())
    return tuple(kernels), tuple(bind.missing_kernels())


@functools.lru_cache(maxsize=1)
def _built(path: str, identity: tuple[int, ...]) -> tuple[_loader.BuildInfo, list[str]]:
    """The versions that the library was built for, and the problems with them in this process.

    Args:
      path: The path of the library.
      identity: Which file is there: it is examined once. Empty: none.
    """
    built = _loader.BuildInfo(__version__, "unknown", "unknown", -1)
    try:
        built = _loader.read_build_info()
        if not identity:
            return built, [f"{path} is missing"]
        _loader.check_fit(built, tf.__version__, tf.sysconfig.CXX11_ABI_FLAG, path)
        _loader.check_bindings()
    except _loader.LoadError as error:
        return built, [str(error)]
    return built, []

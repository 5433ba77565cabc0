"""Finds the line of the user's program that made a loop, and the op that decides where it runs.

TensorFlow inlines functions, optimises and renames. What remains of a loop in its graph are names
of ops in the functions of its body and condition; TensorFlow keeps the tracebacks of those ops
(`_tf_private.traceback`) as long as the functions exist. So a loop is looked up when its graph is
prepared, or when `explain()` begins.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib.util
import itertools
import json
import os
import re
import sysconfig
from collections.abc import Sequence
from typing import Any

from tensor_array_grad import _tf_private
from tensor_array_grad._tf_private import Line
from tensor_array_grad.explained import Place, short

# Packages whose frames are not the user's.
_LIBRARIES = ("tensorflow", "keras", "tf_keras", "tensorflow_probability", "tensor_array_grad")
_LAYERS = re.compile(r"/(tf_)?keras/(src/)?layers/")
_CAPTURES = "/capture_container.py"  # where TensorFlow adds inputs to a function
_GRADIENT = re.compile(r"_grad_\d+")  # in the name of a function; TF1 names ops "gradients/..."
_OF_GRADIENT = re.compile(r".*?gradients/(.+)_grad/")  # names an op, and before it its gradient
_TF1_GRADIENT = re.compile(r"(^|/)gradients(_\d+)?/")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Where(Place):
    """Where the user's program made a loop, and what the lines of its ops say about it.

    Attributes:
      python: The line of an op that calls Python in each iteration; "" if there is none.
      notes: What the rules of the graph pass did: rule, why it was not applied ("": it was), line.
    """

    python: str = ""
    notes: tuple[tuple[str, str, str], ...] = dataclasses.field(default=(), compare=False)

    def __str__(self) -> str:
        return f"{short(self.file)}:{self.line}" if self.file else ""


def locate(loop: Any) -> tuple[str, str]:
    """The line of a loop (`records.h`) in short, and its `Where` as JSON."""
    where = find(loop)
    return str(where), json.dumps(dataclasses.asdict(where))


def of(loop: Any) -> Where:
    """The `Where` of a loop: as it was located when its graph was prepared, or now."""
    if not loop.trace:
        return find(loop)
    found = json.loads(loop.trace)
    return Where(**found | {"notes": tuple(map(tuple, found["notes"]))})


def find(loop: Any) -> Where:
    """Looks up where the program made a loop."""
    body, condition = loop.body[0], loop.condition[0]
    order = len(_GRADIENT.findall(body)) if body else len(_TF1_GRADIENT.findall(loop.name))
    # The gradient of a loop belongs to the line of the loop, which is that of its own functions.
    frames = _of_functions(_GRADIENT.split(body)[0], _GRADIENT.split(condition)[0])
    frames = frames or _of_functions(body, condition) or _tf_private.traceback(*loop.body)
    user = last_of_user(frames)
    notes = tuple((note.rule, note.text, line_of(note.node)) for note in loop.notes)
    return Where(
        **(user._asdict() if user else {"function": body}),
        layer=_layer(frames, loop.name),
        order=order,
        # An op outside of the functions of the loop is known by its name only.
        cause=line_of(loop.cause) if loop.cause[0] or not body else "",
        python=line_of(loop.python),
        notes=notes,
    )


def line_of(names: tuple[str, str]) -> str:
    """The user's line of the op with these names, of a function and in it; "" if not known.

    For an op of a gradient, it is that of the op whose gradient it is.
    """
    function, node = names
    if not node:
        return ""
    forward = _OF_GRADIENT.search(node)
    if forward and _GRADIENT.search(function):
        function = _GRADIENT.split(function)[0]
        frames = _tf_private.traceback(function, forward[1])
        frames = frames or _tf_private.traceback(f"{function}_rewritten", forward[1])
    else:
        frames = _tf_private.traceback(function, node)
    found = last_of_user(frames)
    return f"{short(found.file)}:{found.line}" if found else ""


def _of_functions(body: str, condition: str) -> Sequence[Line]:
    """The traceback of the While op with these functions: what both have in common.

    A gradient adds ops to the body later, elsewhere, so that not all ops of the body have it. To
    the condition it adds captured inputs only.
    """
    if not body:
        return ()
    bodies, conditions = (
        [*_tf_private.traces(name), *_tf_private.traces(f"{name}_rewritten")]
        for name in (body.removesuffix("_rewritten"), condition.removesuffix("_rewritten"))
    )
    own = [trace for trace in conditions if trace and not trace[-1].file.endswith(_CAPTURES)]
    return max((_common(a, b) for a in bodies for b in own), key=len, default=())


def _common(a: Sequence[Line], b: Sequence[Line]) -> Sequence[Line]:
    """The frames with which both tracebacks begin."""
    pairs = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(a, b, strict=False))
    return [frame for frame, _ in pairs]


def last_of_user(frames: Sequence[Line]) -> Line | None:
    """The innermost frame outside of TensorFlow, Keras, TensorFlow Probability and this library."""
    return next((frame for frame in reversed(frames) if _is_user(frame.file)), None)


@functools.cache
def _is_user(file: str) -> bool:
    standard = sysconfig.get_paths()["stdlib"] + os.sep
    in_standard = file.startswith(standard) and "-packages" not in file
    is_temporary = "/__autograph_generated_file" in file
    return not (file.startswith(("<frozen", *_folders())) or in_standard or is_temporary)


@functools.cache
def _folders() -> tuple[str, ...]:
    specs = (importlib.util.find_spec(name) for name in _LIBRARIES)
    places = (place for spec in specs if spec for place in spec.submodule_search_locations or ())
    return tuple(place + os.sep for place in places)


def _layer(frames: Sequence[Line], name: str) -> str:
    """The layer of a loop `name` that Keras made: its ops are in a scope of the layer's name."""
    if not any(_LAYERS.search(frame.file) for frame in frames):
        return ""
    own = re.sub(r".*/_\d+/", "", name)  # without the loops and branches around it
    scope = re.split(r"/while|_while", own.removeprefix("gradient_tape/"))[0]
    return scope.rsplit("/", 1)[-1]

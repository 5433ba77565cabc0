"""Says in words where a loop runs, why, and what a user can do about it.

docs/loops.md explains each reason, and docs/guide.md repeats the advice with a program.
"""

from __future__ import annotations

import re

from tensor_array_grad._where import Where

# By reason: why TensorFlow's executor runs the loop, and what to do. `{op}` is the type of the op
# that is the reason.
_LEFT = {
    "asynchronous kernel": (
        "{op} ends on another thread, so a loop with it cannot run in one kernel",
        "move {op} out of the loop, for example receive the data of all iterations before it",
    ),
    "private state or unknown side effects": (
        "{op} has a state or side effects outside of the loop, such as those of a queue",
        "take {op} out of the loop: read all elements before it, for example with "
        "queue.dequeue_many(n) or dataset.batch(n), and index them in it",
    ),
    "several locks at once": (
        "an iteration may hold two locks at the same time",
        "use one tf.CriticalSection for both, or one after the other",
    ),
    "a lock in an inner loop": (
        "an inner loop has a tf.CriticalSection",
        "enter the section around the inner loop, or leave the outer loop as it is",
    ),
    "a called function may wait": (
        "it calls a function with {op}, which may wait for something outside of the loop",
        "move {op} out of the loop, or replace it by TensorFlow's ops",
    ),
    "ops may wait for each other": (
        "in one kernel, {other} would have to wait for {op}, from which no edge leads to it; and "
        "each may wait for what the other does outside of the graph",
        "put both in order, with tf.control_dependencies or by a value",
    ),
    "private state": (
        "in a Session, a random op with a seed (also that of set_random_seed) keeps its place in "
        "the executor",
        "leave out the seeds; or use tf.function instead of the Session; or tf.random.stateless_* "
        "with a seed that differs in each iteration and run, such as [run, i]",
    ),
    "draws many numbers": (
        "{op} has a seed and draws more than 16,384 numbers at once, for which the executor has "
        "more threads",
        "nothing: drawing the numbers takes most of the time",
    ),
    "ref type": (
        "{op} uses a TF1 ref variable",
        "use resource variables: tf.compat.v1.enable_resource_variables()",
    ),
    "writes its input": ("{op} changes its input in place", "use tf.tensor_scatter_nd_update"),
    "another device takes part": (
        "a part of the loop is placed on another device",
        "place the whole loop on one device",
    ),
    "condition with side effects": (
        "the condition has {op}, which would run once more than the program asks for",
        "move {op} into the body, and pass its result to the condition as a loop variable",
    ),
    "large constants": (
        "its constants have more than 16 MiB",
        "make them outside of the loop, or in a variable",
    ),
    "switched off": (
        "loops in one kernel are switched off",
        "unset TENSOR_ARRAY_GRAD_LOOPS, or remove loops_in_one_kernel(False)",
    ),
    "large frame": ("its graph has more than 256 MiB", "make a part of the loop a tf.function"),
    "a constant cannot be read": ("the value of one of its constants is invalid", ""),
    "failure": ("this library failed to examine it", "please report it"),
    "no kernel": ("TensorFlow has no CPU kernel for one of its ops", ""),
}
# A node of a graph: the last part of its name says what it is.
_OP = re.compile(r"\(([^()]+)\)")  # in the detail of a reason: "node (op) and node (op)"
_NODE = re.compile(r"`[^`]*?([^`/]*)`")
_UNUSUAL = "it does not have the form that TensorFlow gives a loop"
_PYTHON = (
    "{cause} calls Python in each iteration (tf.py_function or tf.numpy_function): move the call "
    "out of the loop, or use TensorFlow's ops"
)
_HEAVY = (
    "an iteration takes {ms:.1f} ms in kernels, so there is little to gain here; XLA may help: "
    "compare --jit"
)
_HEAVY_MS = 0.5  # of an iteration, much more than what the executor adds
_HANDED_BACK = (
    "{heaviest}: compute before the loop what is the same in all iterations, and "
    "only what an iteration needs"
)
_CHANGED = "changes it before it is added"  # in a remark of slice_sum (cc/sums)
_INDEX_FIRST = (
    "index first, and cast, scale or reshape the part that was read, not the whole tensor"
)


# By rule: what it does to a gradient.
_RULES = {
    "slice_sum": "gradients of indexing are added in place",
    "accumulate_into_list": "gradients of array elements are added in place",
    "loop_stack": "values for the gradient are kept on one stack",
    "recompute": "values that the gradient needs are computed again instead of kept",
    "sum_of_equals": "a sum that TensorFlow's optimizer broke is repaired",
    "stack_of_equals": "a stack that TensorFlow's optimizer broke is repaired",
}


def of_gradient(where: Where) -> tuple[str, ...]:
    """What the rules did in the gradient of a loop, and what they did not, in sentences."""
    done = dict.fromkeys(rule for rule, missed, _ in where.notes if not missed and where.order)
    missed = {  # one of those that differ in the names of nodes only
        (_NODE.sub("", text), line): _NODE.sub(r"`\1`", text) + (f" ({line})" if line else "")
        for _, text, line in where.notes
        if text
    }
    linear = [f"linear: {_RULES.get(rule, rule)} ({rule})" for rule in done]
    return (*linear, *(f"dense: {text}" for text in missed.values()))


def reason_and_remedy(left: str) -> tuple[str, str]:
    """Why the executor runs a loop, and what to do; the latter may be empty.

    Args:
      left: The reason as the library has it, "reason: detail".
    """
    key, _, detail = left.partition(": ")
    found = _OP.findall(detail) or [detail]
    ops = {"op": found[0], "other": found[-1]}
    why, remedy = _LEFT.get(key, (f"{_UNUSUAL} ({key})", ""))
    return why.format(**ops), remedy.format(**ops)


def why_handed_back(count: int, runs: int, gain: float) -> str:
    """Why the executor continued `count` of `runs` runs."""
    return (
        f"in {count} of {runs} runs: its ops are so heavy that the executor, which may run several "
        f"at once, was estimated {gain:.1f} times faster"
    )


def why_passed_by(count: int, runs: int) -> str:
    """Why the executor did `count` of `runs` runs, although it is not faster."""
    return f"in {count} of {runs} runs: TensorFlow collected statistics of each node"


def remedies(where: Where, heaviest: str, ms: float, matters: bool) -> tuple[str, ...]:
    """What to do about a loop, beside the remedy for the reason why it is left.

    Args:
      where: Where the loop is.
      heaviest: "70% of an iteration is Cast (a.py:3)"; "" unless the loop was handed back.
      ms: The time of an iteration, in milliseconds.
      matters: Whether the loop takes a part of the time worth to look at.
    """
    found = [_PYTHON.format(cause=where.python)] if where.python else []
    if any(_CHANGED in text for _, text, _ in where.notes):
        found.append(_INDEX_FIRST)
    elif heaviest:
        found.append(_HANDED_BACK.format(heaviest=heaviest))
    elif ms > _HEAVY_MS and matters and not found:
        found.append(_HEAVY.format(ms=ms))
    return tuple(found)

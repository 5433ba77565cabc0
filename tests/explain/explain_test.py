"""`explain()` in a process, what it shows, and the command line of `explain`."""

from __future__ import annotations

import dataclasses
import fcntl
import html.parser
import json
import os
import pathlib
import pty
import re
import signal
import subprocess
import sys
import termios

import pytest

from tensor_array_grad import _advice, _page
from tensor_array_grad._where import Where
from tensor_array_grad.explained import Loop, Loops
from tests.support import child

LOOP = Loop(
    file=__file__,
    line=3,
    function="f",
    layer="lstm",
    name="while",
    order=1,
    inside="",
    runs=2,
    iterations=2000,
    seconds=0.5,
    share=0.25,
    measured=True,
    runs_in="executor",
    reason="an op <waits>",
    cause="a.py:4",
    gradient=("rows are added in place (slice_sum)",),
    advice=("move it",),
)
PROGRAM = """
import tensorflow as tf
import tensor_array_grad

@tf.function
def f(x):
    return tf.while_loop(lambda i, x: i < 100, lambda i, x: (i + 1, 0.5 * x + 1.0), (0, x))[1]

"""


def loops_of(program: str, **environment: str) -> Loops:
    """What the `loops` of a program has at its end."""
    return Loops.from_json(
        child.code(PROGRAM + program + "print(loops.to_json())", **environment).stdout
    )


def test_a_function_that_is_traced_before_is_explained():
    loops = loops_of(
        """
tensor_array_grad.enable()
f(tf.constant(1.0))
with tensor_array_grad.explain() as loops:
    f(tf.constant(1.0))
    f(tf.constant(2.0))
"""
    )
    (row,) = loops.rows
    assert (row.runs, row.iterations, row.runs_in) == (2, 200, "one kernel")
    assert (row.file, row.line, row.function) == ("<string>", 7, "<lambda>")


@pytest.mark.skipif(
    len(os.sched_getaffinity(0)) < 2, reason="with one thread no loop is handed back"
)
def test_a_loop_of_one_iteration_that_is_left_to_the_executor_says_by_how_much():
    # Such a run is never handed back: what is measured decides about the runs after it.
    (row,) = loops_of(
        """
tensor_array_grad.enable()

def step(i, *xs):
    return i + 1, *(tf.tanh(x @ x) for x in xs)

@tf.function
def heavy(x):
    return tf.while_loop(lambda i, *_: i < 1, step, (0, x, 0.9 * x, 0.8 * x, 0.7 * x))[1:]

with tensor_array_grad.explain() as loops:
    for _ in range(20):
        heavy(tf.fill([200, 200], 0.01))
"""
    ).rows
    assert (row.runs, row.runs_in) == (20, "executor, estimated faster")
    estimate = re.search(r"estimated (\S+) times faster", row.reason)
    assert estimate is not None, row.reason
    assert 1.0 < float(estimate[1]) < 4.0


def test_each_of_three_nested_loops_has_a_row():
    rows = loops_of(
        """
tensor_array_grad.enable()

def inner(x):
    return tf.while_loop(lambda i, x: i < 4, lambda i, x: (i + 1, 0.5 * x + 1.0), (0, x))[1]

def middle(x):
    return tf.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, inner(x)), (0, x))[1]

@tf.function
def outer(x):
    return tf.while_loop(lambda i, x: i < 2, lambda i, x: (i + 1, middle(x)), (0, x))[1]

with tensor_array_grad.explain() as loops:
    outer(tf.constant(1.0))
"""
    ).rows
    assert sorted((row.iterations, row.runs, row.inside) for row in rows) == [
        (2, 1, ""),
        (6, 2, "<string>:20"),
        (24, 6, "<string>:16"),
    ]


def test_status_has_the_loops_so_far():
    done = child.code(
        PROGRAM
        + """
tensor_array_grad.enable()
f(tf.constant(1.0))
with tensor_array_grad.loops_in_one_kernel(True):
    (row,) = tensor_array_grad.status().loops
    print(row.runs, row.iterations, row.runs_in, round(row.share, 3), row.measured)
"""
    )
    assert done.stdout == "1 100 one kernel 1.0 True\n"


def test_a_loop_is_counted_although_its_line_is_not_found():
    done = child.code(
        PROGRAM
        + """
from tensor_array_grad import _loader

tensor_array_grad.enable()
_loader.bind().set_locator(lambda loop: "not a pair")
f(tf.constant(1.0))
(row,) = tensor_array_grad.status().loops
print(row.runs, row.iterations)
"""
    )
    assert done.stdout == "1 100\n"


def test_a_loop_that_ran_before_only_is_not_shown():
    loops = loops_of(
        """
tensor_array_grad.enable()
f(tf.constant(1.0))
with tensor_array_grad.explain() as loops:
    pass
"""
    )
    assert loops.rows == ()
    assert str(loops).startswith("No while loop ran")


def test_an_observed_function_gives_the_same_bits():
    child.code(
        PROGRAM
        + """
import numpy as np
tensor_array_grad.enable()
x = tf.random.stateless_normal([50], [1, 2])
for on in (True, False):
    with tensor_array_grad.loops_in_one_kernel(on):
        plain = tf.function(f.python_function)(x)
        with tensor_array_grad.explain() as loops:
            observed = tf.function(f.python_function)(x)
        assert np.array_equal(plain, observed)
        (row,) = loops.rows
        assert (row.runs, row.iterations) == (1, 100), row
"""
    )


def test_it_can_be_nested():
    loops = loops_of(
        """
tensor_array_grad.loops_in_one_kernel(False)
with tensor_array_grad.explain() as loops:
    with tensor_array_grad.explain() as inner:
        f(tf.constant(1.0))
    f(tf.constant([1.0, 2.0]))
(row,) = inner.rows
assert (row.runs, row.iterations, row.measured) == (1, 100, True), row
"""
    )
    (row,) = loops.rows
    assert (row.runs, row.iterations, row.measured) == (2, 200, True)


def test_a_loop_in_a_function_that_is_called_twice_is_one_loop():
    loops = loops_of(
        """
queue = tf.queue.FIFOQueue(2000, tf.float32, [])
queue.enqueue_many([[1.0] * 2000])

def receive(j, x):
    return j + 1, x + queue.dequeue()

def body(i, x):
    return i + 1, tf.while_loop(lambda j, x: j < 5, receive, (0, x))[1]

@tf.function
def outer(x):
    return tf.while_loop(lambda i, x: i < 10, body, (0, x))[1]

with tensor_array_grad.explain() as loops:
    outer(0.0)
    tf.function(lambda x: outer(x) + outer(x))(0.0)
"""
    )
    assert sorted((row.line, row.runs, row.iterations) for row in loops.rows) == [
        (17, 30, 150),
        (21, 3, 30),
    ]
    assert {row.cause for row in loops.rows} == {"<string>:14"}


def test_graphs_of_sessions_may_have_the_same_names():
    child.code(
        """
import tensorflow.compat.v1 as tf
import tensor_array_grad

tf.disable_v2_behavior()
first, second = tf.Graph(), tf.Graph()
with first.as_default():
    one = tf.while_loop(lambda i: i < 10, lambda i: i + 1, [0])
with second.as_default():
    two = tf.while_loop(lambda i: i < 20, lambda i: i + 1, [0])
with tf.Session(graph=first) as a, tf.Session(graph=second) as b:
    with tensor_array_grad.explain() as loops:
        a.run(one)
        b.run(two)
    assert {(row.line, row.iterations) for row in loops.rows} == {(8, 10), (10, 20)}, loops.rows
"""
    )


@pytest.mark.parametrize(("runs", "runs_in"), [(1, "executor"), (4, "one kernel")])
def test_a_run_whose_statistics_are_collected_is_not_called_slow_nor_speaks_for_others(
    runs, runs_in
):
    child.code(
        f"""
import tensorflow.compat.v1 as tf
import tensor_array_grad

tf.disable_v2_behavior()
loop = tf.while_loop(lambda i: i < 10, lambda i: i + 1, [0])
with tf.Session() as session, tensor_array_grad.explain() as loops:
    session.run(loop, options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE))
    for _ in range({runs - 1}):
        session.run(loop)
(row,) = loops.rows
assert (row.runs, row.iterations, row.runs_in) == ({runs}, {10 * runs}, "{runs_in}"), row
assert row.reason == "in 1 of {runs} runs: TensorFlow collected statistics of each node", row
"""
    )


def test_the_working_directory_may_be_removed():
    child.code(
        PROGRAM
        + """
import os
import tempfile

with tempfile.TemporaryDirectory() as folder, tensor_array_grad.explain() as loops:
    os.chdir(folder)
    f(tf.constant(1.0))
assert "<string>:7" in loops.to_text(every=True)
"""
    )


def test_it_needs_the_library():
    child.code(
        """
import tensor_array_grad
try:
    tensor_array_grad.explain().__enter__()
except RuntimeError as error:
    assert "switched off" in str(error)
else:
    raise AssertionError
""",
        TENSOR_ARRAY_GRAD="off",
    )


def test_the_table():
    lines = Loops((LOOP,), 2.0, 8).to_text().splitlines()
    assert lines[0].split() == ["loop", "kind", "runs", "iterations", "time", "share", "runs", "in"]
    assert (
        lines[1].split("  ")[0]
        == f"{pathlib.Path(__file__).relative_to(pathlib.Path.cwd())}:3 in f, layer lstm"
    )
    assert lines[1].split()[-6:] == ["2", "2,000", "500.0", "ms", "25%", "executor"]
    total = "Loops took 0.50 s of 2.00 s. Threads for independent ops: 8. "
    assert lines[-1].startswith(total)
    assert lines[2:-1] == [
        "    why: an op <waits> (a.py:4)",
        "    gradient: rows are added in place (slice_sum)",
        "    what to do: move it",
    ]


def test_loops_that_took_little_time_are_counted_in_a_sentence():
    short = dataclasses.replace(LOOP, share=0.001)
    assert str(Loops((short, short), 2.0, 8)) == (
        "All loops that ran (2) took less than 0.5% of the time each. "
        "Loops took 1.00 s of 2.00 s. Threads for independent ops: 8."
    )
    assert "1 more took less than 0.5% of the time each." in str(Loops((LOOP, short), 2.0, 8))


def test_remarks_that_differ_in_the_names_of_nodes_only_are_one():
    texts = [f"list `while/body/{name}` is read by `{name}`" for name in ("a", "b")]
    notes = [("loop_stack", text, line) for text in texts for line in ("x.py:1", "x.py:2")]
    shown = _advice.of_gradient(Where(notes=tuple(notes)))
    assert shown == tuple(f"dense: list `b` is read by `b` (x.py:{line})" for line in (1, 2))


def test_json_keeps_everything():
    loops = Loops((LOOP,), 2.0, 8)
    assert Loops.from_json(loops.to_json()) == loops
    merged = Loops.of_processes([loops.to_json(), Loops((LOOP,), 4.0, 2).to_json()])
    assert (merged.seconds, merged.threads) == (4.0, 2)
    assert [row.share for row in merged.rows] == [0.125, 0.125]


class Tags(html.parser.HTMLParser):
    """Counts the tags of a page, and the references to what is not in it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.outside: list[str] = []
        self.rows = 0
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        if tag != "meta":
            self.open.append(tag)
        self.rows += tag == "tr"
        self.outside += [v for k, v in attrs if k in ("src", "href") and not v.startswith("#")]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_page_needs_no_other_file():
    text = _page.page(Loops((LOOP,), 2.0), ["train.py"])
    tags = Tags(text)
    assert tags.open == tags.outside == []
    assert tags.rows == 1 + 1 + 3  # the head, the loop, its notes
    assert "an op &lt;waits&gt;" in text
    assert '"""`explain()` in a process'.replace('"', "&quot;") in text  # a line of this file
    assert Tags(LOOPS._repr_html_()).rows == 5


LOOPS = Loops((LOOP,), 2.0)


def test_the_command_writes_a_page_and_keeps_the_status(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(PROGRAM + "print(f(tf.constant(1.0)).numpy())\nraise SystemExit(3)\n")
    page = tmp_path / "page.html"
    done = child.interpreter("-m", "tensor_array_grad", "explain", "--html", str(page), str(script))
    assert (done.returncode, done.stdout) == (3, "2.0\n")
    assert "script.py:7 in f" in page.read_text()
    assert "Loops took 0.0" in done.stderr


# Ends with 3 at the first SIGINT, and with 4 if another one comes right after it.
INTERRUPTED = """
import signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)
try:
    print("ready", flush=True)
    time.sleep(100)
except KeyboardInterrupt:
    try:
        time.sleep(0.3)
    except KeyboardInterrupt:
        sys.exit(4)
    sys.exit(3)
"""


@pytest.mark.parametrize("by", ["a process", "the terminal"])
def test_an_interrupt_reaches_the_program_once(by):
    controller, terminal = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "tensor_array_grad", "explain", "-c", INTERRUPTED],
        stdin=terminal,
        stdout=subprocess.PIPE,
        env=child.environment_of(),
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(terminal, termios.TIOCSCTTY, 0),
    ) as explaining:
        assert explaining.stdout.readline() == b"ready\n"
        if by == "a process":
            explaining.send_signal(signal.SIGINT)
        else:
            os.write(controller, b"\x03")
        assert explaining.wait(timeout=60) == 3
    os.close(controller)
    os.close(terminal)


def test_the_command_ends_with_the_program_if_the_end_of_children_was_ignored():
    done = subprocess.run(
        [sys.executable, "-m", "tensor_array_grad", "explain", "-c", "raise SystemExit(5)"],
        env=child.environment_of(),
        preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN),
        timeout=60,
        check=False,
    )
    assert done.returncode == 5


def test_the_command_itself_does_not_import_tensorflow():
    arguments = ("-X", "importtime", "-m", "tensor_array_grad", "explain", "-c", "pass")
    assert "tensorflow" not in child.interpreter(*arguments).stderr


@pytest.mark.parametrize(
    ("asked", "variable", "threads"),
    [(0, "", None), (1, "", 1), (0, "1", 1), (999, "1", None), (0, "auto", None), (0, "-1", None)],
)
def test_the_number_of_threads(asked, variable, threads):
    run = f"""
import tensorflow as tf
from tensor_array_grad import observer
tf.config.threading.set_inter_op_parallelism_threads({asked})
print(observer.threads())
"""
    done = child.python("-c", run, TF_NUM_INTEROP_THREADS=variable)
    assert int(done.stdout) == (threads or len(os.sched_getaffinity(0))), done.stderr


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ((), "no program"),
        (("--x", "a.py"), "--x"),
        (("--html", "/missing/a.html", "a.py"), "no directory /missing"),
        (("--html", "/", "a.py"), "Is a directory: '/'"),
        (("--html", 300 * "a", "a.py"), "File name too long"),
    ],
)
def test_wrong_arguments(arguments, problem):
    done = child.interpreter("-m", "tensor_array_grad", "explain", *arguments)
    assert done.returncode == 2
    assert problem in done.stderr


def test_a_program_without_tensorflow():
    done = child.interpreter("-m", "tensor_array_grad", "explain", "--json", "-c", "print(1)")
    assert json.loads(done.stdout)["rows"] == []
    assert "nothing was observed" in done.stderr


def test_enable_within_explain_keeps_the_lines():
    loops = loops_of(
        """
import gc
with tensor_array_grad.explain() as loops:
    tensor_array_grad.enable()
    f(tf.constant(1.0))
    del f
    gc.collect()  # with the function its tracebacks are gone
"""
    )
    (row,) = loops.rows
    assert (row.file, row.line) == ("<string>", 7)


def test_a_loop_that_ends_with_an_error_has_its_time():
    loops = loops_of(
        """
import time
data = tf.data.Dataset.range(2000)

@tf.function
def total(elements):
    return tf.while_loop(lambda _: True, lambda s: s + next(elements), [tf.constant(0, tf.int64)])

with tensor_array_grad.explain() as loops:
    try:
        total(iter(data))
    except tf.errors.OutOfRangeError:
        pass
with tensor_array_grad.explain() as again:
    time.sleep(0.01)
assert again.rows == (), again  # it is known that the loop did not run
"""
    )
    (row,) = loops.rows
    assert (row.runs, row.iterations, row.runs_in) == (1, 2000, "executor")
    assert row.seconds > 0.001
    assert row.cause.startswith("<string>:")


def test_a_loop_on_two_devices_is_one_row():
    (row,) = loops_of(
        """
cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)

def step(i, x):
    with tf.device("CPU:0"):
        return i + 1, tf.sin(x)

@tf.function
def on_two(x):
    with tf.device("CPU:1"):
        return tf.while_loop(lambda i, _: i < 20, step, (0, x))[1]

with tensor_array_grad.explain() as loops:
    on_two(tf.ones(3))
    on_two(tf.ones(3))
"""
    ).rows
    assert (row.runs, row.iterations, row.runs_in) == (2, 40, "executor")
    assert row.reason == _advice.reason_and_remedy("another device takes part: a (b)")[0]


def test_a_loop_of_a_replica_has_no_line_of_a_temporary_file(tmp_path):
    path = tmp_path / "replica.py"
    path.write_text(
        """
import tensorflow as tf
import tensor_array_grad

strategy = tf.distribute.MirroredStrategy(["CPU:0"])

@tf.function
def step(x):
    def replica(x):
        for _ in tf.range(20):
            x = tf.cos(x)
        return x
    return strategy.run(replica, args=(x,))

with tensor_array_grad.explain() as loops:
    step(tf.ones(3))
print(loops.to_json())
"""
    )
    (row,) = Loops.from_json(child.interpreter(str(path)).stdout).rows
    assert (row.file, row.iterations) == ("", 20)  # TensorFlow knows the generated file only


def test_a_loop_of_an_imported_graph_has_a_name_and_no_line():
    (row,) = loops_of(
        """
v1 = tf.compat.v1
v1.disable_control_flow_v2()
tensor_array_grad.enable()
with tf.Graph().as_default() as graph:
    v1.while_loop(lambda i: i < 3, lambda i: i + 1, [0])
with tf.Graph().as_default(), v1.Session() as session:
    i = tf.import_graph_def(graph.as_graph_def(), return_elements=["while/Exit:0"])
    with tensor_array_grad.explain() as loops:
        assert session.run(i) == [3]
"""
    ).rows
    assert (row.name, row.iterations, row.runs_in) == (
        "while/while_context",
        3,
        "one kernel",
    )
    assert (row.file, row.line, row.function) == ("", 0, "")

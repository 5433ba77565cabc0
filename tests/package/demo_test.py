"""The demonstration: its program, its command, its picture, and one short run of all of it."""

import io
import pathlib
import textwrap

import numpy as np
import pytest
import tensorflow as tf
from matplotlib.figure import Figure

from tensor_array_grad import _compare, _runs
from tensor_array_grad._comparison import Comparison
from tensor_array_grad._report import Reports
from tensor_array_grad.demo import __main__ as command
from tensor_array_grad.demo import curves, program
from tests.support import child, drawn
from tools import check_tree

_WEEKS = 120

# ---- the program ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def series():
    return program.series(_WEEKS)


def test_the_program_does_not_know_of_this_package():
    imported = check_tree.imports(pathlib.Path(program.__file__))
    assert not [name for name in imported if name.startswith("tensor_array_grad")]


def test_the_record_is_the_2284_weeks_without_gaps():
    ppm = np.loadtxt(program._RECORD).ravel()
    assert len(ppm) == 2284
    assert 310 < ppm.min() < ppm.max() < 375


def test_a_target_is_the_change_that_is_a_feature_a_quarter_later():
    features, targets = program.series(2284)
    np.testing.assert_array_equal(targets[: -program.HORIZON], features[program.HORIZON :, 1])
    np.testing.assert_allclose(features.mean(0), 0.0, atol=1e-5)
    np.testing.assert_allclose(features.std(0), 1.0, atol=1e-5)


def test_more_rows_than_weeks_sample_the_same_record_more_finely():
    features, targets = program.series(4568)
    assert (features.shape, targets.shape) == ((4568, 3), (4568,))
    assert np.isfinite(features).all()


def test_states_follow_the_recurrence():
    rng = np.random.default_rng(7)
    entering = rng.normal(size=(60, 3)).astype(np.float32)
    last, year = (rng.normal(size=(3, 3)).astype(np.float32) for _ in range(2))
    expected = np.zeros((program.YEAR + 60, 3))
    for week in range(60):
        recurrent = expected[week + program.YEAR - 1] @ last + expected[week] @ year
        expected[week + program.YEAR] = np.tanh(entering[week] + recurrent)
    for indexed in (False, True):
        states = tf.function(program.states)(tf.constant(entering), last, year, indexed)
        np.testing.assert_allclose(states, expected[program.YEAR :], atol=1e-5)


def test_all_forms_learn_and_those_of_the_same_model_have_the_same_losses(series):
    steps = {form: make() for form, make in program.FORMS.items()}
    losses = {form: [step(*series) for _ in range(4)] for form, step in steps.items()}
    assert all(first > last for first, *_, last in losses.values())
    first = losses.pop("tf.function, array")
    losses.pop("Keras model")
    np.testing.assert_allclose(list(losses.values()), [first, first], rtol=1e-4)


def test_the_tf1_graph_holds_v3_arrays_and_no_lists(monkeypatch):
    graphs, session = [], tf.compat.v1.Session
    monkeypatch.setattr(
        tf.compat.v1, "Session", lambda graph: graphs.append(graph) or session(graph=graph)
    )
    program.graph_step()
    kinds = {op.type for op in graphs[0].get_operations()}
    assert "TensorArrayGradV3" in kinds
    assert not {kind for kind in kinds if kind.startswith("TensorList")}
    assert tf.compat.v1.control_flow_v2_enabled()


# ---- the command ---------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def signals(monkeypatch):
    """Leaves the handlers of signals to the tests' own process."""
    monkeypatch.setattr(_compare, "exit_at_signals", lambda: None)


def test_a_short_run_prints_the_times_and_saves_the_picture(tmp_path):
    path = tmp_path / "fit.png"
    arguments = ("--rows", "104", "120", "--picture", str(path))
    done = child.interpreter("-X", "importtime", "-m", "tensor_array_grad.demo", *arguments)
    assert done.returncode == 0, done.stderr
    # It is the child processes that need TensorFlow.
    assert not [line for line in done.stderr.splitlines() if line.endswith(" tensorflow")]
    for form in program.FORMS:
        assert done.stdout.count(f"\n{form} ") == 2
    assert "\noutput                  the same " in done.stdout
    assert "\nrewritten: slice_sum    1\n" in done.stdout
    assert f"\nPicture: {path}\n" in done.stdout
    assert path.read_bytes().startswith(b"\x89PNG")


def _run(seconds, loss):
    times = f'{{"form": "Keras model", "rows": 120, "seconds": [9.0, {seconds}, {seconds}]}}'
    return _runs.Run(9.0, 8.0, 700_000_000, f"loss {loss}", f"I0000 a message\n{times}\n")


@pytest.mark.parametrize(("loss", "status"), [("0.50000001", 0), ("0.51", 1)])
def test_the_times_are_medians_and_another_loss_is_an_error(
    loss, status, monkeypatch, capsys, tmp_path
):
    runs = {"stock": [_run(0.2, "0.5")], "ours": [_run(0.1, loss)]}
    asked = []
    monkeypatch.setattr(
        _compare, "compare", lambda ran, runs: asked.append(ran) or Comparison(found, Reports(1))
    )
    found = runs
    path = tmp_path / "fit.png"
    assert command.main(["--rows", "120", "--picture", str(path)]) == status
    assert asked == [[program.__file__, "120"]]
    printed = capsys.readouterr().out
    assert printed.split("Keras model")[1].split()[:6] == ["120", "200", "ms", "100", "ms", "2.0"]
    assert ("DIFFERS" in printed) == bool(status)
    assert path.exists()


def test_a_program_that_fails_ends_the_command(monkeypatch, tmp_path):
    def fail(*_, **__):
        raise _runs.Failed("ours", 1, "", "ValueError: no")

    monkeypatch.setattr(_compare, "compare", fail)
    with pytest.raises(SystemExit, match="ours: the program ended with 1\nValueError: no"):
        command.main(["--picture", str(tmp_path / "x.png")])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--rows", "120", "103"], "--rows has 103, need at least 104"),
        (["--picture", "absent/x.png"], "--picture: there is no folder absent"),
        (["--picture", "x.pdf"], "--picture: the name must end with .png, got x.pdf"),
        (["--picture", "."], "--picture: the name must end with .png, got ."),
        (["--picture", "folder.png"], "--picture: folder.png is a folder"),
    ],
)
def test_wrong_arguments_are_refused_before_anything_runs(
    arguments, message, capsys, monkeypatch, tmp_path
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder.png").mkdir()
    with pytest.raises(SystemExit, match="2"):
        command.main(arguments)
    assert f"error: {message}\n" in capsys.readouterr().err


@pytest.mark.parametrize("exists", [False, True])
def test_a_picture_that_cannot_be_written_is_refused(exists, capsys, monkeypatch, tmp_path):
    path = tmp_path / "x.PNG"
    closed = tmp_path
    if exists:
        path.touch()
        closed = path
    # The superuser can write everywhere, so the system's answer is replaced.
    monkeypatch.setattr(command.os, "access", lambda place, _: place != closed)
    with pytest.raises(SystemExit, match="2"):
        command.main(["--picture", str(path)])
    assert f"error: --picture: {path} cannot be written\n" in capsys.readouterr().err


def test_a_missing_package_is_named_with_the_command_that_installs_it(tmp_path):
    source = f"""
        import runpy, sys
        for name in [name for name in sys.modules if name.startswith("matplotlib.")]:
            del sys.modules[name]
        sys.modules["matplotlib"] = None  # importing it fails
        sys.argv = ["demo", "--picture", {str(tmp_path / "x.png")!r}]
        runpy.run_module("tensor_array_grad.demo", run_name="__main__")
    """
    done = child.python("-c", textwrap.dedent(source))
    assert done.returncode == 1
    wanted = "the demonstration needs matplotlib: pip install 'tensor_array_grad[demo]'"
    assert done.stderr.splitlines()[-1] == wanted


# ---- the picture ---------------------------------------------------------------------------------

_MICROSECOND, _HOUR = 1e-6, 3600.0


def _curves(stock, ours, power, forms=tuple(program.FORMS)):
    """Curves of which `stock` and `ours` are the last times."""
    lengths, last = command._ROWS, command._ROWS[-1]
    return [
        curves.Curve(
            form,
            {n: stock * (n / last) ** power for n in lengths},
            {n: ours * n / last for n in lengths},
        )
        for form in forms
    ]


def _problems(measured, folder):
    with drawn.watch() as found:
        curves.save(folder / "picture.png", measured, command._STYLE, *command._LABELS)
    texts = found.texts()
    assert {"Time of one training step", "stock TensorFlow", "tensor_array_grad"} <= set(texts)
    return found.problems(), texts


# The ratio 0.1 is that of a library ten times slower than stock.
@pytest.mark.parametrize("ratio", [0.1, 1.0, 1.5, 30.0, 1234.0])
@pytest.mark.parametrize("ours", [_MICROSECOND, 0.02, 9.96, 40 * 60.0, 30 * _HOUR])
@pytest.mark.sweep(3)
def test_texts_of_the_picture_do_not_overlap_and_are_not_cut_off(ratio, ours, tmp_path):
    problems, texts = _problems(_curves(ours * ratio, ours, power=2.0), tmp_path)
    assert problems == []
    assert texts.count(curves.ratio(ratio, 1.0)) == len(program.FORMS)


def test_forms_from_microseconds_to_hours_share_one_picture(tmp_path):
    slow = _curves(9 * _HOUR, 30.0, 2.0, ["tf.function, x[i]"])
    quick = _curves(3e-5, 3e-6, 1.0, ["Keras model"])
    problems, texts = _problems(slow + quick, tmp_path)
    assert problems == []
    assert {"9.0 h", "3.0 us"} <= set(texts)


def test_one_form_with_one_length_has_a_ratio_too(tmp_path):
    problems, texts = _problems([curves.Curve("Keras model", {1142: 0.6}, {1142: 0.2})], tmp_path)
    assert problems == []
    assert "3.0\N{MULTIPLICATION SIGN}" in texts


def test_the_ratio_is_that_of_the_last_length_that_both_lines_have():
    figure = Figure(figsize=(4.0, 4.0))
    curve = curves.Curve("loop", stock={10: 2.0, 20: 8.0}, ours={10: 0.5, 20: 1.0, 40: 2.0})
    curves.draw([figure.subplots()], [curve])
    with drawn.watch() as found:
        figure.savefig(io.BytesIO())
    assert "8.0\N{MULTIPLICATION SIGN}" in found.texts()


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (2e-7, "0.2 us"),
        (3e-6, "3.0 us"),
        (0.0009996, "1.0 ms"),
        (0.25, "250 ms"),
        (0.9997, "1.0 s"),
        (9.96, "10 s"),
        (59.96, "1.0 min"),
        (3599.0, "1.0 h"),
        (0.0123, "12 ms"),
        (2.44, "2.4 s"),
        (59.0, "59 s"),
        (90.0, "1.5 min"),
        (7200.0, "2.0 h"),
        (3.6e6, "1,000 h"),
    ],
)
def test_a_duration_has_two_or_three_digits_and_the_unit_of_the_rounded_number(seconds, text):
    assert curves.duration(seconds) == text


def test_the_time_axis_has_few_ticks_with_units():
    figure = Figure()
    panels = figure.subplots(1, 2)
    wide = curves.Curve("wide", {1: 2e-6, 100: 5000.0}, {1: 1e-6, 100: 1e-5})
    curves.draw(panels, [wide, wide])
    labels = [label.get_text() for label in panels[0].get_yticklabels()]
    assert 3 <= len(labels) <= 6
    assert all(label.split()[1] in ("us", "ms", "s") for label in labels)
    assert panels[0].get_ylim() == panels[1].get_ylim()
    narrow = curves.Curve("narrow", {7: 0.2}, {7: 0.2})
    curves.draw(panels[:1], [narrow])
    assert len(panels[0].get_yticklabels()) >= 2

"""The demonstration: its data, its models, its comparison, and one short run of all of it."""

import dataclasses
import io
import textwrap

import numpy as np
import pytest
import tensorflow as tf
from matplotlib.figure import Figure

from tensor_array_grad.demo import __main__ as command
from tensor_array_grad.demo import (
    curves,
    data,
    forecaster,
    picture,
    runner,
    v1_model,
    v2_model,
    worker,
)
from tensor_array_grad.demo.memory import PeakMemory
from tensor_array_grad.demo.worker import OURS, STOCK, Config
from tests.support import child, drawn

pytest.importorskip("statsmodels")  # the extra [demo]

_WEEKS = 120


@pytest.fixture(scope="module")
def record():
    return data.load(_WEEKS)


@pytest.fixture(scope="module")
def whole():
    return data.load()


def test_the_record_is_the_2284_weeks_without_gaps(whole):
    assert (len(whole.ppm), str(whole.dates[0])[:10]) == (2284, "1958-03-29")
    assert np.isfinite(whole.ppm).all()
    assert 310 < whole.ppm.min() < whole.ppm.max() < 375


def test_forecasting_the_targets_gives_the_record_a_quarter_later(whole):
    forecast = whole.forecast(whole.targets)
    np.testing.assert_allclose(forecast[: -data.HORIZON], whole.ppm[data.HORIZON :], atol=1e-3)


def test_features_of_a_week_do_not_depend_on_later_weeks(whole):
    changed = whole.ppm.astype(np.float64)
    changed[2000:] += 5.0  # the scales come from the weeks trained on, which are earlier
    altered = data.prepare(whole.dates, changed)
    np.testing.assert_allclose(altered.features[:2000], whole.features[:2000], atol=1e-4)
    assert np.abs(altered.features[2000] - whole.features[2000]).min() > 0.1


def test_the_error_counts_only_weeks_that_were_not_trained_on(whole):
    outputs = whole.targets.copy()
    outputs[: int(whole.trained.sum())] += 100.0
    assert whole.error(outputs) == 0.0
    assert whole.error(whole.targets + 1.0) == pytest.approx(whole.scale, rel=1e-5)


def test_last_years_change_is_known_when_it_is_forecast(whole):
    week = 1000
    wanted = whole.ppm[week - data.YEAR + data.HORIZON] - whole.ppm[week - data.YEAR]
    guess = whole.forecast(whole.as_last_year())[week] - whole.ppm[week]
    assert guess == pytest.approx(wanted, abs=1e-3)


def test_more_rows_than_weeks_sample_the_same_record_more_finely(whole):
    finer = data.load(4568)
    assert len(finer.ppm) == 4568
    np.testing.assert_allclose(finer.ppm[[0, -1]], whole.ppm[[0, -1]], atol=1e-3)


def test_a_record_too_short_to_train_on_is_refused():
    with pytest.raises(ValueError, match="rows is 103, need at least 104"):
        data.load(103)


def test_a_record_is_read_from_disk_unchanged(record, tmp_path):
    record.save(tmp_path / "record.npz")
    read = data.Record.read(tmp_path / "record.npz")
    for field in dataclasses.fields(data.Record):
        np.testing.assert_array_equal(getattr(read, field.name), getattr(record, field.name))


def test_states_follow_the_recurrence():
    rng = np.random.default_rng(7)
    entering = rng.normal(size=(60, 3)).astype(np.float32)
    last, year = (rng.normal(size=(3, 3)).astype(np.float32) for _ in range(2))
    expected = np.zeros((data.YEAR + 60, 3))
    for week in range(60):
        recurrent = expected[week + data.YEAR - 1] @ last + expected[week] @ year
        expected[week + data.YEAR] = np.tanh(entering[week] + recurrent)
    for indexed in (False, True):
        states = tf.function(forecaster.states)(tf.constant(entering), last, year, indexed)
        np.testing.assert_allclose(states, expected[data.YEAR :], atol=1e-5)


def test_the_tf1_graph_and_the_tf_function_train_alike(record):
    graph, function = v1_model.Trainer(record, 4), v2_model.FunctionTrainer(record, 4)
    first, *_ = losses = [graph.step() for _ in range(5)]
    np.testing.assert_allclose([function.step() for _ in range(5)], losses, rtol=1e-2)
    assert losses[-1] < first


def test_the_tf1_graph_holds_v3_arrays_and_no_lists(record):
    trainer = v1_model.Trainer(record, 4)
    kinds = {op.type for op in trainer._session.graph.get_operations()}
    assert "TensorArrayGradV3" in kinds
    assert not {kind for kind in kinds if kind.startswith("TensorList")}


def test_control_flow_is_as_before_once_the_graph_is_built(record):
    before = tf.compat.v1.control_flow_v2_enabled()
    with v1_model.v1_control_flow():
        assert not tf.compat.v1.control_flow_v2_enabled()
    assert tf.compat.v1.control_flow_v2_enabled() == before


def test_the_keras_model_learns_and_guesses_each_week(record):
    trainer = v2_model.KerasTrainer(record, 4)
    first, *_, last = [trainer.step() for _ in range(5)]
    assert last < first
    assert trainer.outputs().shape == (_WEEKS,)


def test_an_unknown_model_is_refused(record):
    with pytest.raises(ValueError, match="model is 'v9', need v1, function, indexed or keras"):
        worker.make_trainer(Config("v9", OURS, 4, _WEEKS, 1), record)


def test_peak_memory_includes_a_buffer_that_was_freed():
    memory = PeakMemory()
    np.ones(32_000_000).sum()  # 256 MB, freed at once
    assert 200e6 < memory.bytes() < 400e6


_CONFIG = Config("v1", STOCK, units=4, rows=_WEEKS, steps=2)


def test_losses_that_are_equal_up_to_rounding_pass():
    runner.check_losses(_CONFIG, [1.0, 0.5], [1.0, 0.5 * (1 + 1e-5)])


@pytest.mark.parametrize(
    ("ours", "message"),
    [
        ([1.0, 0.51], "loss of step 1 is 0.5 on stock and 0.51 on ours"),
        ([1.0], "missing or not finite"),
        ([1.0, float("nan")], "missing or not finite"),
    ],
)
def test_losses_that_differ_are_an_error(ours, message):
    with pytest.raises(runner.DemoError, match=message):
        runner.check_losses(_CONFIG, [1.0, 0.5], ours)


def test_a_failing_child_is_reported_with_its_error_message(tmp_path):
    with pytest.raises(runner.DemoError, match="No such file or directory"):
        runner.run([_CONFIG], tmp_path, print)  # the folder has no record


def _run(library, calls):
    outputs = [0.0] * _WEEKS
    config = dataclasses.replace(_CONFIG, library=library)
    return runner.Run(config, [1.0, 0.5], [0.4, 0.2], 5_000_000, calls, outputs)


@pytest.mark.parametrize(("library", "calls"), [(OURS, 0), (STOCK, 3)])
def test_a_run_on_the_wrong_kernels_is_refused(library, calls):
    config = dataclasses.replace(_CONFIG, library=library)
    finish = worker.Finish(0, calls, [])
    with pytest.raises(runner.DemoError, match=f"{calls} calls of the library's kernels"):
        runner._finished(config, [], finish)


def test_the_command_prints_the_comparison_and_saves_the_picture(
    monkeypatch, capsys, tmp_path, record
):
    pair = runner.Pair(_run(STOCK, 0), dataclasses.replace(_run(OURS, 8), seconds=[0.4, 0.1]))
    monkeypatch.setattr(runner, "run_pairs", lambda configs, *_: [pair] * len(configs))
    path = tmp_path / "fit.png"
    code = command.main(["--rows", str(_WEEKS), "--growing", "--picture", str(path)])
    printed = capsys.readouterr().out
    assert code == 0
    assert "2.00" in printed  # 0.2 s against 0.1 s
    assert "that of last year's changes 0.80 ppm" in " ".join(printed.split())
    assert str(path) in printed
    assert path.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--rows", "103"], "--rows is 103, need at least 104"),
        (["--steps", "0"], "--steps is 0, need at least 1"),
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


@pytest.mark.parametrize("package", ["rich", "matplotlib", "statsmodels"])
def test_a_missing_package_is_named_with_the_command_that_installs_it(package, tmp_path):
    source = f"""
        import runpy, sys
        sys.modules[{package!r}] = None  # importing it fails
        sys.argv = ["demo", "--picture", {str(tmp_path / "x.png")!r}]
        runpy.run_module("tensor_array_grad.demo", run_name="__main__")
    """
    done = child.python("-c", textwrap.dedent(source))
    assert done.returncode == 1
    wanted = f"the demonstration needs {package}: pip install 'tensor_array_grad[demo]'"
    assert done.stderr.splitlines()[-1] == wanted


def test_the_command_fails_when_stock_and_ours_disagree(monkeypatch, capsys, tmp_path):
    def disagree(*_):
        raise runner.DemoError("they disagree")

    monkeypatch.setattr(runner, "run_pairs", disagree)
    assert command.main(["--rows", str(_WEEKS), "--picture", str(tmp_path / "x.png")]) == 1
    assert "FAILED: they disagree" in capsys.readouterr().out


@pytest.mark.parametrize("model", ["v1", "function", "indexed", "keras"])
def test_stock_and_ours_train_alike_in_processes_of_their_own(model, record, tmp_path):
    record.save(worker.record_path(tmp_path, _WEEKS))
    messages = []
    config = dataclasses.replace(_CONFIG, model=model)
    (pair,) = runner.run_pairs([config], tmp_path, messages.append)
    assert len(messages) == 4
    # If a loop runs in one kernel, only the ops before and after it call kernels of arrays.
    assert (pair.stock.kernel_calls, pair.ours.kernel_calls > 8 * _CONFIG.steps) == (0, True)
    np.testing.assert_allclose(pair.ours.losses, pair.stock.losses, rtol=1e-5)
    picture.save(record, [pair], [pair], tmp_path / "fit.png")
    assert (tmp_path / "fit.png").stat().st_size > 10_000


# ---- the picture ---------------------------------------------------------------------------------

_LENGTHS = {"function": (571, 4568), "indexed": (571, 1142, 2284, 4568), "keras": (1142, 9136)}
_MICROSECOND, _HOUR = 1e-6, 3600.0


def _pair(model, units, rows, stock, ours):
    """A pair of runs whose steps took `stock` and `ours` seconds."""
    both = [
        dataclasses.replace(
            _run(library, 0), config=Config(model, library, units, rows, 3), seconds=[seconds] * 3
        )
        for library, seconds in ((STOCK, stock), (OURS, ours))
    ]
    return runner.Pair(*both)


def _growing(stock, ours, power):
    """Pairs of each model in which `stock` is the time of the longest series."""
    return [
        _pair(model, 32, n, stock * (n / lengths[-1]) ** power, ours * n / lengths[-1])
        for model, lengths in _LENGTHS.items()
        for n in lengths
    ]


def _problems(record, trained, growing, folder):
    with drawn.watch() as found:
        picture.save(record, trained, growing, folder / "picture.png")
    texts = set(found.texts())
    assert {"Time of one training step", "stock TensorFlow", "tensor_array_grad"} <= texts
    return found.problems(), texts


# The ratio 0.1 is that of a library ten times slower than stock.
@pytest.mark.parametrize("ratio", [0.1, 1.0, 1.5, 30.0, 1234.0])
@pytest.mark.parametrize("ours", [_MICROSECOND, 0.02, 9.96, 40 * 60.0, 30 * _HOUR])
def test_texts_of_the_picture_do_not_overlap_and_are_not_cut_off(ratio, ours, record, tmp_path):
    growing = _growing(ours * ratio, ours, power=2.0)
    trained = [_pair("v1", units, 2284, ours * ratio, ours) for units in (32, 8)]
    problems, texts = _problems(record, trained, growing, tmp_path)
    assert problems == []
    assert curves.ratio(ratio, 1.0) in texts


@pytest.mark.parametrize("models", [("keras",), ("function", "indexed"), ()])
def test_a_picture_of_fewer_models_has_no_overlap_either(models, record, tmp_path):
    growing = [p for p in _growing(3.0, 0.02, 2.0) if p.stock.config.model in models]
    problems, texts = _problems(record, [_pair("v1", 32, 2284, 0.2, 0.1)], growing, tmp_path)
    assert problems == []
    assert len({"tf.function, array", "tf.function, x[i]", "Keras model"} & texts) == len(models)


def test_models_from_microseconds_to_hours_share_one_picture(record, tmp_path):
    slow = [p for p in _growing(9 * _HOUR, 30.0, 2.0) if p.stock.config.model == "indexed"]
    quick = [p for p in _growing(3e-5, 3e-6, 1.0) if p.stock.config.model == "keras"]
    trained = [_pair("v1", 32, 2284, _HOUR, 2e-6), _pair("v1", 8, 2284, 2e-6, _HOUR)]
    problems, texts = _problems(record, trained, slow + quick, tmp_path)
    assert problems == []
    assert {"9.0 h", "3.0 us"} <= texts


def test_a_model_with_one_length_has_a_ratio_too(record, tmp_path):
    problems, texts = _problems(
        record, [_pair("v1", 32, 2284, 0.2, 0.1)], [_pair("keras", 32, 1142, 0.6, 0.2)], tmp_path
    )
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

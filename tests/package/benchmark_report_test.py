"""The benchmarks: rows, tables, pictures and complaints."""

import dataclasses
import json
import re

import pytest

from benchmarks import report
from benchmarks.rows import Other
from tensor_array_grad.demo import curves
from tests.package.benchmark_fakes import compare
from tests.support import drawn


def test_rows_that_were_not_measured_with_jit_give_no_jit_table():
    row, _ = compare()
    assert report.table_of_others([row]) == ""


def test_ours_with_jit_and_on_stocks_kernels_have_columns_too():
    others = {
        "stock_jit": Other(8.0, 0.0, 9.0),
        "ours_jit": Other(2.0, 0.0, 3.0),
        "stock_kernels": Other(5.0, 0.0, 6.0),
    }
    row, _ = compare()
    table = report.table_of_others([dataclasses.replace(row, others=others)])
    assert "| fake | 10 | 1 s | 1 s | 5 s | 8 s | 9 s | 2 s | 3 s | 4.00 |  |" in table


def test_complaints_name_cases_that_are_slow_large_or_failed():
    fine, _ = compare()
    slow = dataclasses.replace(fine, case="slow", ratio=0.5)
    large = dataclasses.replace(fine, case="large", ours_peak_bytes=9_000_000)
    failed = dataclasses.replace(fine, case="failed", ours_s=None, ratio=None, note="ours: died")
    found = report.complaints([fine, slow, large, failed])
    assert [text.split()[0] for text in found] == ["slow", "large", "failed"]
    assert "0.50, asked 1" in found[0]
    assert "9.0 MB, stock 1.0 MB" in found[1]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(None, "-"), (2.5, "2.5 s"), (0.0012, "1.2 ms"), (3e-6, "3 us"), (5e-8, "50 ns")],
)
def test_durations_are_shown_in_the_unit_that_suits_them(seconds, text):
    assert report.seconds(seconds) == text


def test_rows_are_written_as_json_lines_with_the_machine_and_a_picture(tmp_path):
    row, _ = compare(stock={"seconds": 6.0}, ours={"seconds": 2.0})
    report.write([row], {"cores": 2, "onednn": True}, tmp_path / "fake")
    (line,) = (tmp_path / "fake.jsonl").read_text().splitlines()
    assert json.loads(line)["ratio"] == 3.0
    assert json.loads(line)["machine"] == {"cores": 2, "onednn": True}
    assert (tmp_path / "fake.png").read_bytes().startswith(b"\x89PNG")


def test_rows_of_a_later_run_replace_those_of_the_same_case_and_size(tmp_path):
    row, _ = compare()
    other = dataclasses.replace(row, case="other")
    report.write([row, other], {"cores": 2, "onednn": True}, tmp_path / "fake")
    report.write(
        [dataclasses.replace(row, ratio=9.5)], {"cores": 4, "onednn": True}, tmp_path / "fake"
    )
    rows = [json.loads(line) for line in (tmp_path / "fake.jsonl").read_text().splitlines()]
    assert [(r["case"], r["ratio"]) for r in rows] == [("fake", 9.5), ("other", 1.0)]
    assert [r["machine"]["cores"] for r in rows] == [4, 2]


def test_the_tables_of_the_page_are_replaced_and_the_rest_is_kept(tmp_path):
    row, _ = compare(stock={"seconds": 6.0}, ours={"seconds": 2.0})
    report.write([row], {"cores": 2, "onednn": True}, tmp_path / "fake")
    page = tmp_path / "README.md"
    page.write_text("Before.\n\n## Last results\n\nold\n")
    report.rewrite_readme(page, [tmp_path / "fake.jsonl"])
    text = page.read_text()
    assert text.startswith("Before.\n\n## Last results\n")
    assert "old" not in text
    assert "| 3.00 | 3.00 | 1 |" in text
    assert '{"cores": 2, "onednn": true}' in text


def test_the_page_has_a_table_with_onednn_and_one_without(tmp_path):
    row, _ = compare()
    for onednn, ratio in ((False, 1.25), (True, 9.5), (False, 1.5)):
        rows = [dataclasses.replace(row, ratio=ratio)]
        report.write(rows, {"onednn": onednn}, tmp_path / "fake")
    page = tmp_path / "README.md"
    page.write_text("## Last results\n")
    report.rewrite_readme(page, [tmp_path / "fake.jsonl"])
    _, with_it, without = re.split("With(?:out)? oneDNN:", page.read_text())
    assert "9.50" in with_it
    assert "1.50" in without
    assert "1.25" not in page.read_text()
    assert [row.ratio for row in report.first_rows(tmp_path / "fake.jsonl")] == [9.5]


def test_the_pictures_show_cases_that_were_not_measured_with_onednn(tmp_path):
    row, _ = compare()
    other = dataclasses.replace(row, case="other", ratio=2.0)
    path = tmp_path / "fake.jsonl"
    report.write([row, other], {"onednn": False}, tmp_path / "fake")
    report.write([dataclasses.replace(row, ratio=3.0)], {"onednn": True}, tmp_path / "fake")
    assert {(row.case, row.ratio) for row in report.first_rows(path)} == {
        ("fake", 3.0),
        ("other", 2.0),
    }
    path.write_text("")
    assert report.first_rows(path) == []


def test_a_table_tells_whether_onednn_was_on(tmp_path):
    row, _ = compare()
    report.write([row], {"cores": 2, "onednn": False}, tmp_path / "fake")
    page = tmp_path / "README.md"
    page.write_text("## Last results\n")
    report.rewrite_readme(page, [tmp_path / "fake.jsonl"])
    assert '{"cores": 2, "onednn": false}' in page.read_text()


def test_a_case_of_three_sizes_is_drawn_over_its_size_on_the_page(tmp_path):
    row, _ = compare()
    rows = [dataclasses.replace(row, n=n) for n in (1, 7, 3)]
    page = tmp_path / "README.md"
    page.write_text("## Last results\n")
    report.write(rows[:2], {"onednn": True}, tmp_path / "fake")
    report.rewrite_readme(page, [tmp_path / "fake.jsonl"])
    assert "(fake.png)" in page.read_text()
    assert "growth" not in page.read_text()
    report.write(rows[2:], {"onednn": True}, tmp_path / "fake")
    report.rewrite_readme(page, [tmp_path / "fake.jsonl"])
    assert "(fake_growth.png)" in page.read_text()
    assert (tmp_path / "fake_growth.png").read_bytes().startswith(b"\x89PNG")


def _drawn(rows, tmp_path):
    with drawn.watch() as found:
        report.draw(rows, tmp_path / "fake")
    return found.problems(), found.texts()


@pytest.mark.parametrize("ratio", [0.1, 1.0, 1234.0])
@pytest.mark.parametrize("ours", [1e-6, 0.03, 7200.0])
@pytest.mark.parametrize("cases", [1, 2, 18])
@pytest.mark.sweep(4)
def test_texts_of_the_pictures_do_not_overlap_and_are_not_cut_off(ratio, ours, cases, tmp_path):
    row, _ = compare()
    rows = [
        dataclasses.replace(
            row,
            case=f"simple_rnn_in_{number}",
            n=n,
            stock_s=ours * ratio * n,
            ours_s=ours * n,
            ratio=ratio,
            target=target,
        )
        for number in range(cases)
        for n, target in ((400, 1.0), (1600, 1.0), (25600, 20.0 * number + 1.0))
    ]
    problems, texts = _drawn(rows, tmp_path)
    assert problems == []
    assert texts.count(curves.ratio(ratio, 1.0)) == 2 * cases  # in the bars, and in the panels
    assert ("asked for, if not 1" in texts) == (cases > 1)


def test_the_pictures_of_the_last_results_have_no_overlap(tmp_path):
    files = report.files_of_results()
    assert len(files) >= 6
    for path in files:
        problems, texts = _drawn(report.first_rows(path), tmp_path)
        assert (path.stem, problems) == (path.stem, [])
        assert len(texts) > 10


def test_the_readme_shows_the_gains_of_the_last_results(tmp_path):
    folder = report.pathlib.Path(report.__file__).parent
    lines = report.gains(folder / "results")
    with drawn.watch() as found:
        report.draw_gains(lines, tmp_path / "gains.png")
    assert found.problems() == []
    assert set(report.GAINS) <= set(found.texts())
    alternative = (folder.parent / "README.md").read_text().split("![")[1].split("]")[0]
    for line in lines:
        last = max(line.stock)
        times = line.stock[last] / line.ours[last]
        assert f"{times:.0f} times" in alternative
        assert curves.ratio(times, 1.0) in found.texts()


def test_a_size_that_stock_could_not_reach_is_drawn_without_it(tmp_path):
    row, _ = compare(stock={"seconds": 6.0}, ours={"seconds": 2.0})
    rows = [dataclasses.replace(row, n=n) for n in (10, 20)]
    rows.append(dataclasses.replace(row, n=40, stock_s=None, ratio=None))
    problems, texts = _drawn(rows, tmp_path)
    assert problems == []
    assert texts.count(curves.ratio(3.0, 1.0)) == 2
    assert "40" in texts

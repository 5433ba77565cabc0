"""Tests of which mutants tools/mutate.py makes. The mutants are not run, which would take hours."""

from __future__ import annotations

import collections
import pathlib

from tools import mutate

SOURCE = """\
#include "a/b.h"

// A comment: x + 1.
namespace {
constexpr int kSize = 3;
struct Row {
  int count = 0;
};
}  // namespace

bool Find(const Row& row, int n) {
  static_assert(kSize > 2, "1 + 1");
  int left = n - 1;
  if (left < 0 || Odd(left)) return false;
  row.Forget(left);
  left += 2;
  if (Row* next = row.next) Use(next);
  return errors::Missing("a < b", n + 7);
}
"""


def changes(text: str = SOURCE) -> list[tuple[int, str, str, str]]:
    return [(m.line, m.kind, m.before, m.after) for m in mutate.mutants_of("x.cc", text)]


def test_each_kind_of_change_is_made_in_the_body_of_a_function():
    condition = "left < 0 || Odd(left)"
    assert sorted(changes()) == [
        (13, "constant", "1", "0"),
        (13, "constant", "1", "2"),
        (13, "operator", "-", "+"),
        (14, "boundary", "<", "<="),
        (14, "constant", "0", "-1"),
        (14, "constant", "0", "1"),
        (14, "logic", "||", "&&"),
        (14, "negated", condition, f"!({condition})"),
        (14, "result", "false", "true"),
        (15, "dropped", "row.Forget(left);", ";"),
        (16, "constant", "2", "1"),
        (16, "constant", "2", "3"),
        (16, "dropped", "left += 2;", ";"),
        (16, "operator", "+=", "-="),
        (17, "dropped", "Use(next);", ";"),
    ]


def test_string_literals_in_changed_code_are_kept():
    text = 'void F() {\n  if (Is(a, "b c")) G("d e");\n}\n'
    assert changes(text) == [
        (2, "negated", 'Is(a, "b c")', '!(Is(a, "b c"))'),
        (2, "dropped", 'G("d e");', ";"),
    ]


def test_the_source_at_the_offset_of_a_mutant_is_the_code_before_the_change():
    for mutant in mutate.mutants_of("x.cc", SOURCE):
        assert SOURCE[mutant.offset :].startswith(mutant.before)


def test_draws_are_even_over_files_and_a_larger_draw_of_a_seed_contains_a_smaller_one():
    few, many = (mutate.draw(["cc/lists"], count, seed=1) for count in (10, 40))
    assert set(few) < set(many)
    counts = collections.Counter(mutant.file for mutant in many)
    assert set(counts.values()) == {40 // len(counts)}
    assert set(mutate.draw(["cc/lists"], 40, seed=2)) != set(many)
    assert many == mutate.draw(["cc/lists"], 40, seed=1)


def test_mutants_can_be_drawn_from_one_file_and_never_from_tests():
    assert {m.file for m in mutate.draw(["cc/lists/node.h"], 5, seed=1)} == {"cc/lists/node.h"}
    files = {pathlib.Path(m.file).stem for m in mutate.draw(["cc/array"], 10_000, seed=1)}
    assert "array_store" in files
    assert not any(file.endswith("_test") for file in files)

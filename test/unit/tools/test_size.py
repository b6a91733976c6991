"""`make size` counts what is there."""

from __future__ import annotations

from tools.size import PACKAGE, PARTS, rows


def test_files_and_lines_are_counted_per_part(tmp_path):
    for part in PARTS:
        (tmp_path / part).mkdir()
    (tmp_path / PACKAGE / 'core').mkdir()
    (tmp_path / PACKAGE / '__init__.py').write_text('')
    (tmp_path / PACKAGE / 'core' / '__init__.py').write_text('a = 1\nb = 2\n')
    (tmp_path / PACKAGE / 'core' / 'notes.txt').write_text('not counted\n')
    (tmp_path / 'tools' / 'tool.py').write_text('pass\n')
    assert list(rows(tmp_path)) == [
        (PACKAGE, 2, 2),
        ('test', 0, 0),
        ('tools', 1, 1),
        ('benchmarks', 0, 0),
        ('  core', 1, 2),
    ]

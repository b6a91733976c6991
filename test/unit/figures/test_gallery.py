"""The gallery in the docs: whole, light, and listed."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree

from tools.gallery import GALLERY, INDEX, MAX_BYTES, TASKS


def test_every_picture_is_listed_and_every_listed_one_is_there() -> None:
    page = (GALLERY / INDEX).read_text(encoding='utf-8')
    listed = re.findall(r'!\[[^\]]+\]\(([^)]+)\)', page)
    files = sorted(path.name for path in GALLERY.iterdir() if path.name != INDEX)
    assert sorted(listed) == files
    assert {f'task_{name}.svg' for name in TASKS} <= set(files)


def test_pictures_can_be_opened_and_are_light() -> None:
    for path in GALLERY.glob('*.svg'):
        root = ElementTree.parse(path).getroot()
        assert root.tag.endswith('svg')
        assert float(root.attrib['width'].removesuffix('pt')) > 100.0
    assert sum(path.stat().st_size for path in GALLERY.iterdir()) < MAX_BYTES

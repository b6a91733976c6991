"""Releases of franka_ros2 that do not take what is told to them are refused."""

from __future__ import annotations

import pytest

from reward_learning_ros.arm.franka import FrankaReleaseError, check_release, release_in


@pytest.mark.parametrize('release', [(2, 2, 0), (2, 5, 0), (3, 2, 0), (3, 4, 0), (4, 0, 0)])
def test_releases_with_a_robot_type_are_supported(release):
    check_release(release)


@pytest.mark.parametrize('release', [(0, 1, 15), (1, 0, 2), (2, 1, 0), (3, 0, 0), (3, 1, 1)])
def test_earlier_ones_are_refused_with_what_is_needed(release):
    with pytest.raises(FrankaReleaseError, match=r'allowed: v2\.2\.0 or v3\.2\.0 and later'):
        check_release(release)


def test_the_version_stands_in_the_package(tmp_path):
    file = tmp_path / 'package.xml'
    file.write_text(
        '<package format="3"><name>franka_bringup</name><version>3.4.0</version></package>'
    )
    assert release_in(file) == (3, 4, 0)
    file.write_text('<package format="3"><version>soon</version></package>')
    with pytest.raises(FrankaReleaseError, match='soon'):
        release_in(file)
    with pytest.raises(FrankaReleaseError, match='cannot be read'):
        release_in(tmp_path / 'nowhere.xml')

"""What rosbag2 keeps about a bag in metadata.yaml."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import yaml

METADATA_FILE = 'metadata.yaml'
INFORMATION = 'rosbag2_bagfile_information'
# Humble reads version 8 like its own; Jazzy and Kilted, which write 9, read it too.
_VERSION = 8

# The C library is there wherever PyYAML's wheel or Ubuntu's package is; it is ten times as fast.
_Dumper: Any = getattr(yaml, 'CSafeDumper', yaml.SafeDumper)


@dataclass(frozen=True, kw_only=True)
class TopicInformation:
    """A topic as metadata.yaml describes it; `qos` is YAML in itself."""

    name: str
    type_name: str
    qos: str
    type_hash: str = ''


@dataclass(frozen=True, kw_only=True)
class FileInformation:
    """A file of a bag: its name, its topics, and how many messages of each it has."""

    name: str
    topics: tuple[TopicInformation, ...]
    counts: Mapping[str, int]
    start_ns: int | None
    end_ns: int | None


def metadata_texts(files: Sequence[FileInformation], ros_distribution: str) -> tuple[str, str]:
    """Return metadata.yaml, and what each MCAP file keeps of it."""
    information = _information(files, ros_distribution)
    in_file = yaml.dump(information, Dumper=_Dumper, sort_keys=False)
    return f'{INFORMATION}:\n{textwrap.indent(in_file, "  ")}', in_file


def _information(files: Sequence[FileInformation], ros_distribution: str) -> dict[str, Any]:
    topics: dict[TopicInformation, int] = {}
    for file in files:
        for topic in file.topics:
            topics[topic] = topics.get(topic, 0) + file.counts.get(topic.name, 0)
    starts = [file.start_ns for file in files if file.start_ns is not None]
    ends = [file.end_ns for file in files if file.end_ns is not None]
    return {
        'version': _VERSION,
        'storage_identifier': 'mcap',
        **_span(min(starts, default=None), max(ends, default=None)),
        'message_count': sum(topics.values()),
        'topics_with_message_count': [
            {
                'topic_metadata': {
                    'name': topic.name,
                    'type': topic.type_name,
                    'serialization_format': 'cdr',
                    'offered_qos_profiles': topic.qos,
                    'type_description_hash': topic.type_hash,
                },
                'message_count': count,
            }
            for topic, count in topics.items()
        ],
        'compression_format': '',
        'compression_mode': '',
        'relative_file_paths': [file.name for file in files],
        'files': [
            {
                'path': file.name,
                **_span(file.start_ns, file.end_ns),
                'message_count': sum(file.counts.values()),
            }
            for file in files
        ],
        'custom_data': None,
        'ros_distro': ros_distribution,
    }


def _span(start_ns: int | None, end_ns: int | None) -> dict[str, Any]:
    start, end = start_ns or 0, end_ns or 0
    return {
        'duration': {'nanoseconds': end - start},
        'starting_time': {'nanoseconds_since_epoch': start},
    }

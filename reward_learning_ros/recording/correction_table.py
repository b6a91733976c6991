"""Corrections as a table: a row for each waypoint of each correction, with the plan beside it.

A pass is a correction for each waypoint of which something is known, with a column `pushed`: 1, or
0 where nobody pushed. What is not in the table is not known. Tables without that column hold a
correction for each contact.
"""

from __future__ import annotations

import csv
import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from reward_learning_ros.core.errors import InvalidInputError, MissingExtraError
from reward_learning_ros.interface import Correction, PassCorrections, Plan, RecordError
from reward_learning_ros.recording.session_records import known_waypoints

_XYZ = ('x', 'y', 'z')
_XYZW = ('x', 'y', 'z', 'w')
_PLACES = tuple(f'plan_{axis}' for axis in _XYZ)
_TURNS = tuple(f'plan_q{axis}' for axis in _XYZW)
_DELTAS = tuple(f'delta_{axis}' for axis in _XYZ)
_DELTA_TURNS = tuple(f'delta_q{axis}' for axis in _XYZW)
# Of a correction, the same in each of its rows.
_CORRECTION: Mapping[str, type] = {
    'correction': int,
    'stamp_ns': int,
    'plan_stamp_ns': int,
    'frame_id': str,
    'tool_frame': str,
    'onset_waypoint': int,
    'onset_time_sec': float,
    'duration_sec': float,
    'peak_force': float,
    'confidence': float,
}
_WAYPOINT: Mapping[str, type] = {
    'waypoint': int,
    'time_sec': float,
    **dict.fromkeys((*_PLACES, *_TURNS, *_DELTAS, *_DELTA_TURNS), float),
}
# Of a pass: whether somebody pushed there.
PUSHED = 'pushed'
COLUMNS = {**_CORRECTION, PUSHED: int, **_WAYPOINT}
_STILL = np.array([0.0, 0.0, 0.0, 1.0])
# Without these there is no correction; all else can be made up.
REQUIRED = ('correction', 'waypoint', *_DELTAS)
# A table without stamps gets them a second apart, from here on.
_FIRST_STAMP_NS = 1_000_000_000
_STEP_NS = 1_000_000_000


def table_of(
    plans: Sequence[Plan], corrections: Sequence[PassCorrections | Correction]
) -> dict[str, list[Any]]:
    """Return corrections as columns; those whose plan is unknown have no place in it.

    Raises:
        InvalidInputError: None has a plan, or a pass is not of its plan.
    """
    by_stamp = {plan.stamp_ns: plan for plan in plans}
    has_passes = any(isinstance(record, PassCorrections) for record in corrections)
    columns: dict[str, list[Any]] = {name: [] for name in COLUMNS if has_passes or name != PUSHED}
    number = 0
    for record in corrections:
        plan = by_stamp.get(record.plan_stamp_ns)
        for correction, pushed in _contacts_in(record, plan):
            if plan is not None and len(plan.positions) == len(correction.delta_positions):
                _append(columns, plan, correction, number, pushed)
            number += 1
    if not columns['correction']:
        raise InvalidInputError('there is no correction with its plan to make a table of')
    return columns


def _contacts_in(
    record: PassCorrections | Correction, plan: Plan | None
) -> list[tuple[Correction, int | None]]:
    """Return what is known of each waypoint of a pass as a delta of every waypoint."""
    if isinstance(record, Correction):
        return [(record, None)]
    if plan is None:
        return []
    found: list[tuple[Correction, int | None]] = []
    for row, waypoint in enumerate(known_waypoints(plan, record).tolist()):
        is_moved = (np.arange(len(plan.positions)) >= waypoint)[:, None]
        onset_sec = float(plan.times_sec[waypoint])
        correction = Correction(
            stamp_ns=plan.stamp_ns + round(onset_sec * _STEP_NS),
            frame_id=record.frame_id,
            tool_frame=record.tool_frame,
            plan_stamp_ns=plan.stamp_ns,
            delta_positions=np.where(is_moved, record.delta_positions[row], 0.0),
            delta_orientations=np.where(is_moved, record.delta_orientations[row], _STILL),
            times_sec=plan.times_sec,
            onset_waypoint=waypoint,
            onset_time_sec=onset_sec,
            duration_sec=0.0,
            peak_force=0.0,
            confidence=1.0,
        )
        found.append((correction, int(record.is_push[row])))
    return found


def _append(
    columns: dict[str, list[Any]],
    plan: Plan,
    correction: Correction,
    number: int,
    pushed: int | None,
) -> None:
    rows = np.hstack(
        [
            plan.positions,
            plan.orientations,
            correction.delta_positions,
            correction.delta_orientations,
        ]
    ).tolist()
    for waypoint, (time_sec, row) in enumerate(zip(plan.times_sec.tolist(), rows, strict=True)):
        for name in _CORRECTION:
            columns[name].append(number if name == 'correction' else getattr(correction, name))
        if PUSHED in columns:
            columns[PUSHED].append(pushed)
        columns['waypoint'].append(waypoint)
        columns['time_sec'].append(time_sec)
        for name, value in zip((*_PLACES, *_TURNS, *_DELTAS, *_DELTA_TURNS), row, strict=True):
            columns[name].append(value)


def write_csv(path: Path, columns: Mapping[str, list[Any]]) -> None:
    """Write a table as CSV; numbers read back as the same."""
    with path.open('x', newline='', encoding='utf-8') as stream:
        writer = csv.writer(stream)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))


def write_parquet(path: Path, columns: Mapping[str, list[Any]]) -> None:
    """Write a table as Parquet.

    Raises:
        MissingExtraError: PyArrow is not installed.
    """
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise MissingExtraError('pyarrow', 'study', 'Parquet') from error
    with path.open('xb') as stream:
        pyarrow.parquet.write_table(pyarrow.table(dict(columns)), stream)


def write_numpy(path: Path, columns: Mapping[str, list[Any]]) -> None:
    """Write a table as an .npz archive of arrays; deltas come as (K, n, 3) too.

    Raises:
        InvalidInputError: The corrections have different numbers of waypoints.
    """
    arrays = {name: np.array(values) for name, values in columns.items()}
    waypoints = int(arrays['waypoint'].max()) + 1
    if (arrays['waypoint'] != np.arange(len(arrays['waypoint'])) % waypoints).any():
        raise InvalidInputError('corrections of different numbers of waypoints fit in no array')

    def stacked(names: tuple[str, ...]) -> np.ndarray:
        return np.stack([arrays[name] for name in names], axis=1).reshape(-1, waypoints, 3)

    arrays |= {'plans': stacked(_PLACES), 'delta_positions': stacked(_DELTAS)}
    with path.open('xb') as stream:
        np.savez_compressed(stream, **arrays)  # type: ignore[arg-type]


def read_csv(
    path: Path, plan: Plan | None
) -> tuple[list[Plan], list[PassCorrections | Correction]]:
    """Read corrections from a table; only `REQUIRED` columns must be there.

    Corrections with a value of `pushed` are put together to passes, one for each plan.

    Args:
        path: The CSV file.
        plan: What was corrected, where the table does not say.

    Raises:
        InvalidInputError: The file cannot be read; says in which line and column.
    """
    try:
        with path.open(newline='', encoding='utf-8-sig') as stream:
            rows = [
                _row(path, reader_line, row)
                for reader_line, row in enumerate(csv.DictReader(stream), start=2)
            ]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InvalidInputError(f'{path}: cannot be read: {error}') from error
    missing = [name for name in REQUIRED if not rows or name not in rows[0]]
    if missing:
        raise InvalidInputError(f'{path}: lacks the columns or rows of {", ".join(missing)}')
    for line, values in enumerate(rows, start=2):
        for name in REQUIRED:
            if name not in values:
                raise InvalidInputError(f'{path}, line {line}: {name} is empty')
    plans: dict[int, Plan] = {}
    corrections: list[Correction] = []
    passes: dict[int, list[tuple[int, Correction]]] = {}
    for number, group in itertools.groupby(rows, key=lambda row: row['correction']):
        own = list(group)
        place = f'{path}: correction {number}'
        if [row['waypoint'] for row in own] != list(range(len(own))):
            raise InvalidInputError(f'{place}: waypoint must go from 0 on, one in each row')
        try:
            corrected = _plan_in(own, place, plan)
            plans.setdefault(corrected.stamp_ns, corrected)
            in_passes = sum(map(len, passes.values()))
            correction = _correction_in(own, place, corrected, len(corrections) + in_passes)
            if PUSHED in own[0]:
                _check_pushed(own[0], correction, place)
                passes.setdefault(corrected.stamp_ns, []).append((number, correction))
            else:
                corrections.append(correction)
        except RecordError as error:
            row = '' if error.index is None else f', waypoint {error.index}'
            raise InvalidInputError(
                f'{place}{row}: {error.field} is {error.value}; it {error.allowed}'
            ) from error
    return list(plans.values()), [
        *(_pass_of(path, plans[stamp_ns], blocks) for stamp_ns, blocks in passes.items()),
        *corrections,
    ]


def _check_pushed(first: Mapping[str, Any], correction: Correction, place: str) -> None:
    """Refuse what is no push or silence from one waypoint on."""
    onset, deltas = correction.onset_waypoint, correction.delta_positions
    turns = correction.delta_orientations
    if first[PUSHED] not in (0, 1):
        raise InvalidInputError(f'{place}: pushed is {first[PUSHED]}; it must be 0 or 1')
    moves = bool(np.abs(deltas).max() > 0.0 or np.abs(turns[:, :3]).max() > 0.0)
    if moves != bool(first[PUSHED]):
        raise InvalidInputError(
            f'{place}: pushed is {first[PUSHED]}, but its deltas are '
            f'{"not " if moves else ""}all zero'
        )
    if not moves and 'onset_waypoint' not in first:
        raise InvalidInputError(f'{place}: lacks onset_waypoint, to say where the silence is')
    is_tail = all(
        (values[onset:] == values[onset]).all() and (values[:onset] == still).all()
        for values, still in ((deltas, np.zeros(3)), (turns, _STILL))
    )
    if not is_tail:
        raise InvalidInputError(
            f'{place}: in a pass, a delta must be the same from onset_waypoint on, and zero before'
        )


def _pass_of(path: Path, plan: Plan, blocks: list[tuple[int, Correction]]) -> PassCorrections:
    """Return the pass that a table has in pieces."""
    onsets = [correction.onset_waypoint for _, correction in blocks]
    for (_, before), (number, after) in itertools.pairwise(blocks):
        if after.onset_waypoint <= before.onset_waypoint:
            raise InvalidInputError(
                f'{path}: correction {number}: onset_waypoint is {after.onset_waypoint}; in a '
                f'pass it must be greater than {before.onset_waypoint}, that of the one before'
            )
    rows = list(zip((correction for _, correction in blocks), onsets, strict=True))
    return PassCorrections(
        plan_stamp_ns=plan.stamp_ns,
        frame_id=plan.frame_id,
        tool_frame=blocks[0][1].tool_frame,
        times_sec=plan.times_sec[onsets],
        delta_positions=np.array([each.delta_positions[onset] for each, onset in rows]),
        delta_orientations=np.array([each.delta_orientations[onset] for each, onset in rows]),
    )


def _row(path: Path, line: int, row: Mapping[str, str]) -> dict[str, Any]:
    values = {}
    for name, text in row.items():
        if name in COLUMNS and text not in ('', None):
            try:
                values[name] = COLUMNS[name](text)
            except ValueError:
                raise InvalidInputError(
                    f'{path}, line {line}: {name} is {text!r}, must be a '
                    f'{"whole " if COLUMNS[name] is int else ""}number'
                ) from None
    return values


def _plan_in(rows: list[dict[str, Any]], place: str, plan: Plan | None) -> Plan:
    """Return the plan that stands beside a correction, or the one that was given."""
    if all(name in rows[0] for name in ('plan_stamp_ns', 'time_sec', *_PLACES, *_TURNS)):
        return Plan(
            stamp_ns=rows[0]['plan_stamp_ns'],
            frame_id=rows[0].get('frame_id') or (plan.frame_id if plan else 'fr3_link0'),
            positions=_matrix(rows, _PLACES, place),
            orientations=_matrix(rows, _TURNS, place),
            times_sec=_matrix(rows, ('time_sec',), place)[:, 0],
        )
    if plan is None:
        raise InvalidInputError(f'{place}: there is no plan beside it; name the task of which')
    if len(plan.positions) != len(rows):
        raise InvalidInputError(
            f'{place}: has {len(rows)} waypoints, but the plan has {len(plan.positions)}'
        )
    return plan


def _correction_in(rows: list[dict[str, Any]], place: str, plan: Plan, index: int) -> Correction:
    first = rows[0]
    deltas = _matrix(rows, _DELTAS, place)
    moved = np.flatnonzero(np.abs(deltas).max(axis=1) > 0.0)
    onset = int(first.get('onset_waypoint', moved[0] if len(moved) else len(rows) - 1))
    still = np.tile(_STILL, (len(rows), 1))
    onset = min(max(onset, 0), len(rows) - 1)
    return Correction(
        stamp_ns=first.get('stamp_ns', _FIRST_STAMP_NS + (index + 1) * _STEP_NS),
        frame_id=plan.frame_id,
        tool_frame=first.get('tool_frame') or 'tool',
        plan_stamp_ns=plan.stamp_ns,
        delta_positions=deltas,
        delta_orientations=(
            _matrix(rows, _DELTA_TURNS, place) if _DELTA_TURNS[0] in first else still
        ),
        times_sec=plan.times_sec,
        onset_waypoint=onset,
        onset_time_sec=first.get('onset_time_sec', float(plan.times_sec[onset])),
        duration_sec=first.get('duration_sec', 0.0),
        peak_force=first.get('peak_force', 0.0),
        confidence=first.get('confidence', 1.0),
    )


def _matrix(rows: list[dict[str, Any]], names: tuple[str, ...], place: str) -> np.ndarray:
    try:
        return np.array([[row[name] for name in names] for row in rows])
    except KeyError as error:
        raise InvalidInputError(f'{place}: a row lacks {error.args[0]}') from None

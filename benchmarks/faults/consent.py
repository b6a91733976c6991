"""Random orders of consents, stops, reflexes, kills and restarts against a running session."""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.faults.consent_rule import SWING_SEC, ConsentRule, UnwantedMotion
from benchmarks.faults.report import Progress, print_table
from benchmarks.faults.session_station import (
    CONSENTS,
    EVENTS,
    KILL,
    KILLED,
    MAX_DWELL_SEC,
    MAX_LENGTH,
    ORDERS_PER_SESSION,
    REFUSAL,
    WATCHED_SEC,
    SessionStation,
    session_configuration,
)
from benchmarks.faults.station import (
    MAX_GAP_SEC,
    MOVING_RAD_S,
    StuckError,
)


def run(*, orders: int, seed: int) -> dict[str, Any]:
    """Run random orders; return what was counted.

    Args:
        orders: How many.
        seed: Of the orders, dwell times and sessions.
    """
    campaign = _Campaign(np.random.default_rng(seed))
    progress = Progress('order', orders)
    done = 0
    while done < orders:
        with tempfile.TemporaryDirectory() as temporary:
            config = session_configuration(Path(temporary), seed + done)
            with SessionStation(config, campaign.rule) as station:
                while done < orders:
                    done += 1
                    try:
                        progress.show(done, campaign.run_order(station))
                    except StuckError as error:
                        campaign.stuck.append(str(error))
                        progress.show(done, f'stuck: {error}')
                        break
                    if done % ORDERS_PER_SESSION == 0:
                        break
    return campaign.results(orders)


class _Campaign:
    """The orders, and what was counted so far."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rule = ConsentRule(moving_rad_s=MOVING_RAD_S, max_gap_sec=MAX_GAP_SEC)
        self.counts: Counter[str] = Counter()
        self.refusals: Counter[str] = Counter()
        self.holds: Counter[str] = Counter()
        self.stuck: list[str] = []
        self.unwanted: list[dict[str, Any]] = []
        self.longest_sec: dict[str, float] = {}
        self.moving_samples = 0
        self._rng = rng

    def run_order(self, station: SessionStation) -> str:
        """Run one order, judge what was measured, and return it in words."""
        words = []
        try:
            words.append(station.make_ready(self._rng))
            for _ in range(int(self._rng.integers(1, MAX_LENGTH + 1))):
                event = str(self._rng.choice(EVENTS))
                happened = station.happen(event, str(self._rng.choice(KILLED)))
                self.counts[happened] += 1
                words.append(happened)
                station.spin(self._rng.uniform(0.0, MAX_DWELL_SEC))
        finally:
            # What the arm does after the last event is judged with the next order; what was
            # measured by now, when all events of it are known.
            station.spin(WATCHED_SEC)
            order = ', '.join(words)
            found = self._judge(station, order)
            for name in ('counts', 'refusals', 'holds'):
                getattr(self, name).update(getattr(station, name))
                getattr(station, name).clear()
        verdict = f'; {len(found)} MOTIONS WITHOUT CONSENT: {found}' if found else ''
        return order + verdict

    def _judge(self, station: SessionStation, order: str) -> list[UnwantedMotion]:
        times = [time_ns / 1e9 for time_ns in station.times_ns]
        speeds = list(station.speeds_rad_s)
        station.times_ns.clear()
        station.speeds_rad_s.clear()
        self.moving_samples += sum(speed > MOVING_RAD_S for speed in speeds)
        found = self.rule.judge(times, speeds)
        for kind, moved_sec in self.rule.longest_motions(times, speeds).items():
            self.longest_sec[kind] = max(self.longest_sec.get(kind, 0.0), moved_sec)
        for motion in found:
            began_sec, ended_sec = motion.begin_sec, motion.end_sec
            self.unwanted.append(
                {
                    'order': order,
                    **vars(motion),
                    'max set-point speed, rad/s': max(
                        (v for t, v in station.set_points if began_sec <= t <= ended_sec),
                        default=None,
                    ),
                    'seconds left out by the arm': self.rule.left_out_sec(
                        began_sec - SWING_SEC, ended_sec
                    ),
                    'before it': [
                        f'{time_sec - began_sec:+.2f} s {text}'
                        for time_sec, text in station.events
                    ],
                }
            )
        station.set_points.clear()
        return found

    def results(self, orders: int) -> dict[str, Any]:
        """Print the table and return what was counted."""
        kinds = [event for event in EVENTS if event != KILL]
        kinds += [f'kill {node}' for node in KILLED]
        kinds += [f'{consent} taken' for consent in CONSENTS]
        kinds += ['hold', 'end of a motion', REFUSAL]
        without = Counter(str(motion['after']).split(',')[0] for motion in self.unwanted)
        rows = [
            {
                'event': kind,
                'occurred': self.counts[kind],
                'motions without consent after it': without[kind],
                'longest motion after it, s': self.longest_sec.get(kind),
            }
            for kind in kinds
        ]
        print_table(f'{orders} orders: motions without consent', rows)
        for motion in self.unwanted:
            print(f'  WITHOUT CONSENT: {motion}')
        for message, count in self.refusals.most_common():
            print(f'  refused {count} times: {message}')
        for reason, count in self.holds.most_common():
            print(f'  held {count} times: {reason}')
        for text in self.stuck:
            print(f'  STUCK: {text}')
        violations = [f'{len(self.unwanted)} motions without consent'] if self.unwanted else []
        violations += [f'{len(self.stuck)} times the session was stuck'] if self.stuck else []
        if self.moving_samples == 0:
            violations.append('the arm never moved: nothing was tested')
        return {
            'orders': orders,
            'events': rows,
            'unwanted motions': self.unwanted,
            'refusals': dict(self.refusals),
            'holds': dict(self.holds),
            'stuck': self.stuck,
            'seconds of motion': self.moving_samples / 1000.0,
            'violations': violations,
        }

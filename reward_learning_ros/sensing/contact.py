"""Finds when a person touches the arm, from joint torques, with force and pose as witnesses.

The torque of every joint is filtered, its bias is subtracted, and the rest is measured in standard
deviations: of the noise that was seen, and of the uncertainty of the bias. A contact begins when
that stays above one threshold for a while and ends when it stays below a lower one. Joint torques
come first because a bad Jacobian does not amplify them; the wrench is zero near a singularity.

| phase | meaning | next |
| --- | --- | --- |
| IDLE | nobody touches the arm; a quiet torque updates the bias | HOLDING at an onset |
| HOLDING | somebody pushes | FALLING below the lower threshold; IDLE at a residue or a timeout |
| FALLING | too little torque for a contact | HOLDING if it rises again; IDLE after a dwell |
| BRIDGING | samples came after a gap | HOLDING if the torque points as before it; IDLE if not |

In every phase a jump of the clock, a long gap and a zeroing of the bias lead to IDLE, and a short
gap leads from HOLDING and FALLING to BRIDGING.

docs/contact_detection.md gives the reasons.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from reward_learning_ros.core.errors import InvalidInputError
from reward_learning_ros.sensing import contact_kernel as kernel
from reward_learning_ros.sensing.bias import NOISE_FLOOR_SHARE, prior_variances
from reward_learning_ros.sensing.contact_parameters import ContactParameters, contact_settings
from reward_learning_ros.sensing.contact_state import (
    EVENT,
    ONSET,
    STATE,
    EndReason,
    Mode,
    Phase,
    Samples,
    Tool,
    initial_state,
)
from reward_learning_ros.sensing.samples import NANOSECONDS, SampleBlock

_REASONS = tuple(EndReason)
# A push rises and falls; a joint that is saturated from the first to the last sample is stuck.
_STUCK_SHARE = 0.98


@dataclass(frozen=True, kw_only=True)
class ContactOnset:
    """The event that a contact has begun.

    Attributes:
        tick: index of the sample of the block at which it became certain.
        time_ns: stamp of that sample.
        onset_ns: when the contact began, filter delay taken off.
    """

    tick: int
    time_ns: int
    onset_ns: int


@dataclass(frozen=True, kw_only=True)
class Contact:
    """The event that a contact has ended, with its peak and reason.

    Attributes:
        tick: index of the sample of the block at which that became certain; 0 if no sample did.
        time_ns: stamp of that sample.
        onset_ns: when the contact began, filter delay taken off.
        end_ns: when it ended, likewise.
        reason: why it ended.
        rejected: no correction: too short for a person, a changed load or a stuck sensor.
        peak_statistic: greatest residual torque, standard deviations.
        peak_torque_nm: greatest residual torque over all joints.
        peak_wrench_force_n: greatest force of the wrench, 0 if it reported none.
        saturated_share: share of the samples with a saturated joint: the peaks are lower bounds.
        zero_wrench_share: share of the samples with a zero wrench: near a singularity.
        gap_sec: time within the contact without samples.
    """

    tick: int
    time_ns: int
    onset_ns: int
    end_ns: int
    reason: EndReason
    rejected: bool
    peak_statistic: float
    peak_torque_nm: float
    peak_wrench_force_n: float
    saturated_share: float
    zero_wrench_share: float
    gap_sec: float

    @property
    def duration_sec(self) -> float:
        """From onset to end."""
        return (self.end_ns - self.onset_ns) / NANOSECONDS


@dataclass(frozen=True, kw_only=True)
class Detection:
    """The result of detection over a block of samples: events, statistic and residuals.

    Attributes:
        events: in the order in which they became certain.
        statistic: (n,) residual torque in standard deviations.
        residual_torque_nm: (n, 7) filtered, without bias, as the person pushes (sign applied).
        wrench_force_n: (n, 3) filtered, without baseline, as the person pushes; NaN if unknown.
        in_contact: (n,) whether a contact was open.
    """

    events: tuple[ContactOnset | Contact, ...]
    statistic: np.ndarray
    residual_torque_nm: np.ndarray
    wrench_force_n: np.ndarray
    in_contact: np.ndarray

    @property
    def contacts(self) -> tuple[Contact, ...]:
        """The contacts that ended and were not rejected."""
        return tuple(e for e in self.events if isinstance(e, Contact) and not e.rejected)


class ContactDetector:
    """The state machine over samples, the same for live and for recorded data."""

    def __init__(self, parameters: ContactParameters | None = None) -> None:
        self.parameters = parameters or ContactParameters()
        self._settings = contact_settings(self.parameters)
        self._state = initial_state()
        model = self._state['bias'][0]
        model['covariance'] = np.diag(prior_variances(self.parameters))
        # Until noise was seen, it is assumed to be what the bias model leaves at best.
        model['noise_variance'] = self.parameters.model_error_nm**2
        model['noise_floor'] = NOISE_FLOOR_SHARE * self.parameters.model_error_nm**2

    @property
    def phase(self) -> Phase:
        """The state after the last sample."""
        return Phase(int(self._state['phase'][0]))

    @property
    def in_contact(self) -> bool:
        """Whether a contact is open."""
        return self.phase is not Phase.IDLE

    @property
    def open_onset_ns(self) -> int | None:
        """When the open contact began, None if none is open."""
        return int(self._state['contact']['onset_ns'][0]) if self.in_contact else None

    @property
    def learning(self) -> bool:
        """Whether all torque is taken as bias: during an unpushed playback."""
        return bool(self._state['mode'][0] == Mode.LEARN)

    @learning.setter
    def learning(self, value: bool) -> None:
        self._state['mode'] = Mode.LEARN if value else Mode.DETECT

    def see_tool(self, is_held_away: bool | None) -> None:
        """Takes note whether the tool is away from its set-point; None if that is unknown.

        Where the bias is uncertain, that distinguishes a hand from a bias: a gentle push goes on
        as long as the tool is held away, and has ended when it is back.
        """
        if is_held_away is None:
            self._state['tool'] = Tool.UNKNOWN
        else:
            self._state['tool'] = Tool.HELD_AWAY if is_held_away else Tool.AT_SET_POINT

    @property
    def noise_nm(self) -> np.ndarray:
        """(7,) standard deviation of the filtered torque that is left without its bias."""
        model = self._state['bias'][0]
        floor = model['noise_floor'] / NOISE_FLOOR_SHARE
        noise: np.ndarray = np.sqrt(np.maximum(model['noise_variance'], floor))
        return np.maximum(noise, self.parameters.noise_floor_nm)

    @property
    def bias_uncertainty_nm(self) -> float:
        """Standard deviation of the bias where the arm is now."""
        return float(np.sqrt(self._state['bias']['variance'][0]))

    @property
    def bias_nm(self) -> np.ndarray:
        """(7,) bias where the arm is now, as the arm signs it."""
        bias: np.ndarray = self._state['bias']['bias'][0].copy()
        return bias

    @property
    def saturated_samples(self) -> int:
        """How many samples had a saturated joint."""
        return int(self._state['total_saturated'][0])

    @property
    def zero_wrench_samples(self) -> int:
        """How many samples had a wrench of exactly zero, as near a singularity."""
        return int(self._state['total_zero_wrench'][0])

    def zero(self) -> None:
        """Takes the torque of the next half second as bias; an open contact ends, rejected."""
        self._state['zero_until_ns'] = 0

    def process(self, block: SampleBlock) -> Detection:
        """Advances over a block; blocks of any size give the same events."""
        samples = Samples(
            *(np.ascontiguousarray(getattr(block, name)) for name in Samples._fields)
        )
        room = np.zeros(2 * len(block) + 2, dtype=EVENT)
        self._state, info = kernel.advance(self._settings, self._state, samples, room)
        return Detection(
            events=tuple(self._event(event) for event in info.events),
            statistic=info.statistic,
            residual_torque_nm=self.parameters.torque_sign * info.residual_nm,
            wrench_force_n=self.parameters.wrench_sign * info.force_n,
            in_contact=info.phase != Phase.IDLE,
        )

    def close(self) -> Contact | None:
        """Ends an open contact at the last sample, when no more will come."""
        if not self.in_contact:
            return None
        event = np.zeros(1, dtype=EVENT)
        state = self._state[0]
        state['tick'] = state['event_count'] = 0
        end_ns = state['time_ns']
        if self.phase is Phase.BRIDGING:
            end_ns = state['contact']['gap_start_ns']
        kernel.end(state, int(end_ns), _REASONS.index(EndReason.GAP), event)
        contact = self._event(event[0])
        assert isinstance(contact, Contact)
        return contact

    def snapshot(self) -> np.ndarray:
        """Returns all that was learned, to be kept with a session and given to `restore`."""
        return self._state.copy()

    def restore(self, snapshot: np.ndarray) -> None:
        """Takes over the bias and the noise of another detector, not its open contact.

        Raises:
            InvalidInputError: it is not a snapshot of this version.
        """
        if snapshot.dtype != STATE or snapshot.shape != (1,):
            raise InvalidInputError('this is not a snapshot of this version of the detector')
        model, stored = self._state['bias'], snapshot['bias']
        for name in ('weights', 'covariance', 'noise_variance', 'noise_windows'):
            model[name] = stored[name]
        model['noise_floor'] = NOISE_FLOOR_SHARE * stored['noise_variance']
        # The next sample may be of another sensor: the filter begins again with it.
        self._state['time_ns'] = -1

    def _event(self, event: Any) -> ContactOnset | Contact:
        if event['kind'] == ONSET:
            return ContactOnset(
                tick=int(event['tick']),
                time_ns=int(event['time_ns']),
                onset_ns=int(event['onset_ns']),
            )
        reason = _REASONS[int(event['reason'])]
        duration_sec = float(event['end_ns'] - event['onset_ns']) / NANOSECONDS
        ticks = max(int(event['ticks']), 1)
        saturated_share = int(event['saturated']) / ticks
        return Contact(
            tick=int(event['tick']),
            time_ns=int(event['time_ns']),
            onset_ns=int(event['onset_ns']),
            end_ns=int(event['end_ns']),
            reason=reason,
            rejected=duration_sec < self.parameters.min_contact_sec
            or reason in (EndReason.TIMEOUT, EndReason.ZEROED)
            or saturated_share > _STUCK_SHARE,
            peak_statistic=float(event['peak_statistic']),
            peak_torque_nm=float(event['peak_torque']),
            peak_wrench_force_n=float(event['peak_force']),
            saturated_share=saturated_share,
            zero_wrench_share=int(event['zero_wrench']) / ticks,
            gap_sec=float(event['gap_ns']) / NANOSECONDS,
        )

"""Finds when a person touches the arm, from joint torques, with force and pose as witnesses.

The torque of every joint is filtered, its bias taken off, and the rest measured in standard
deviations of the noise actually seen plus the uncertainty of the bias. A contact begins when that
stays above one threshold for a while and ends when it stays below a lower one. Joint torques come
first because a bad Jacobian does not amplify them; the wrench is zero near a singularity.

A contact is open across a gap of the stream only if the torque after it points as before, and
then it is one contact; else it ended at the last sample before the gap.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np

from reward_learning_ros.core.errors import InvalidInputError
from reward_learning_ros.parameters import ParameterError, parameter
from reward_learning_ros.parameters.shared import DETECTION_TORQUE_NM
from reward_learning_ros.sensing import contact_kernel as kernel
from reward_learning_ros.sensing import contact_state
from reward_learning_ros.sensing.bias import BiasParameters, prior_variances
from reward_learning_ros.sensing.bias_lessons import FLUCTUATION_SHARE
from reward_learning_ros.sensing.filtering import delay_sec, time_constant_sec
from reward_learning_ros.sensing.samples import JOINT_COUNT, NANOSECONDS, SampleBlock

# A push rises and falls; a joint that is saturated from the first to the last sample is stuck.
_STUCK_SHARE = 0.98


@dataclass(frozen=True, kw_only=True)
class ContactParameters(BiasParameters):
    """When a torque is a contact."""

    on_threshold: float = parameter(
        8.0,
        description='A contact begins above this many standard deviations of the torque noise',
        minimum=1.0,
        maximum=1000.0,
    )
    off_threshold: float = parameter(
        4.5,
        description='A contact ends below this many standard deviations of the torque noise',
        minimum=0.5,
        maximum=1000.0,
    )
    on_torque_nm: float = parameter(
        DETECTION_TORQUE_NM,
        description='Torque over all joints that a contact has at least when it begins',
        minimum=0.0,
        maximum=100.0,
        unit='N·m',
    )
    off_torque_nm: float = parameter(
        0.5,
        description='A contact ends below this torque over all joints, however low the noise',
        minimum=0.0,
        maximum=100.0,
        unit='N·m',
    )
    on_dwell_sec: float = parameter(
        0.04,
        description='How long the torque must be above the threshold for a contact to begin',
        minimum=0.001,
        maximum=1.0,
        unit='s',
    )
    off_dwell_sec: float = parameter(
        0.15,
        description='How long the torque must be below the threshold for a contact to end',
        minimum=0.001,
        maximum=2.0,
        unit='s',
    )
    shortest_contact_sec: float = parameter(
        0.1,
        description='A shorter contact is rejected: nobody corrects an arm so quickly',
        minimum=0.0,
        maximum=1.0,
        unit='s',
    )
    # A person who guides the arm through a whole pass holds it for as long as that takes.
    longest_contact_sec: float = parameter(
        120.0,
        description='A longer contact is a changed load: it is ended and the bias zeroed',
        minimum=1.0,
        maximum=3600.0,
        unit='s',
    )
    gap_sec: float = parameter(
        0.25,
        description='Torque missing for longer than this is a gap',
        minimum=0.01,
        maximum=10.0,
        unit='s',
    )
    longest_bridged_gap_sec: float = parameter(
        3.0,
        description='A contact may continue across a gap no longer than this',
        minimum=0.0,
        maximum=60.0,
        unit='s',
    )
    cutoff_hz: float = parameter(
        15.0,
        description='Frequency at which the torque filter lets half the power pass',
        minimum=0.5,
        maximum=200.0,
        unit='Hz',
    )
    noise_floor_nm: float = parameter(
        0.03,
        description='Torque noise of a joint is never taken to be less than this',
        minimum=0.0001,
        maximum=10.0,
        unit='N·m',
    )
    saturation_nm: tuple[float, ...] = parameter(
        (87.0, 87.0, 87.0, 87.0, 12.0, 12.0, 12.0),
        description='Torque at which the sensor of each joint saturates',
        minimum=0.1,
        unit='N·m',
    )
    torque_sign: int = parameter(
        -1,
        description='-1: torques are what the arm does to the person (libfranka), 1: reverse',
        choices=(-1, 1),
    )
    wrench_sign: int = parameter(
        -1,
        description='-1: the wrench is what the arm does to the person (libfranka), 1: reverse',
        choices=(-1, 1),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        for off, on in (('off_threshold', 'on_threshold'), ('off_torque_nm', 'on_torque_nm')):
            if getattr(self, off) > getattr(self, on):
                raise ParameterError(
                    type(self).__name__,
                    off,
                    getattr(self, off),
                    f'must be at most {on}, {getattr(self, on)}',
                )
        if len(self.saturation_nm) != JOINT_COUNT:
            raise ParameterError(
                type(self).__name__,
                'saturation_nm',
                self.saturation_nm,
                f'must be one for each of {JOINT_COUNT} joints',
            )

    @property
    def filter_delay_sec(self) -> float:
        """Delay of the torque filter, taken off the times that are reported."""
        return delay_sec(self.cutoff_hz)


class EndReason(Enum):
    """Why a contact ended."""

    RELEASED = 'released'
    GAP = 'gap in the torque'
    CLOCK_JUMP = 'clock jumped'
    TIMEOUT = 'longer than any push'
    ZEROED = 'bias zeroed'


_REASONS = {
    contact_state.RELEASED: EndReason.RELEASED,
    contact_state.GAP: EndReason.GAP,
    contact_state.CLOCK_JUMP: EndReason.CLOCK_JUMP,
    contact_state.TIMEOUT: EndReason.TIMEOUT,
    contact_state.ZEROED: EndReason.ZEROED,
}


@dataclass(frozen=True, kw_only=True)
class ContactOnset:
    """A contact has begun.

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
    """A contact has ended.

    Attributes:
        tick: index of the sample of the block at which that became certain; 0 if no sample did.
        time_ns: stamp of that sample.
        onset_ns: when the contact began, filter delay taken off.
        end_ns: when it ended, likewise.
        reason: why it ended.
        rejected: no correction: too short for a person, a changed load or a stuck sensor.
        peak_statistic: greatest residual torque, standard deviations.
        peak_torque_nm: greatest residual torque over all joints.
        peak_wrench_force_n: greatest force that the wrench told of, 0 if it told of none.
        saturated_share: share of the samples with a saturated joint: the peaks are lower bounds.
        zero_wrench_share: share of the samples with a zero wrench: near a singularity.
        gap_sec: how much of the contact no sample tells of.
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
    """What a block of samples brought.

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
        self._settings = _settings(self.parameters)
        self._state = np.zeros(1, dtype=contact_state.STATE)
        state = self._state[0]
        state['covariance'] = np.diag(prior_variances(self.parameters))
        # Until noise was seen, it is taken to be what the bias model leaves at best.
        state['noise_variance'] = self.parameters.model_error_nm**2
        state['fluctuation'] = FLUCTUATION_SHARE * self.parameters.model_error_nm**2
        for name in contact_state.TIMES:
            state[name] = -1

    @property
    def in_contact(self) -> bool:
        """Whether a contact is open."""
        return bool(self._state['phase'][0] == contact_state.CONTACT)

    @property
    def open_onset_ns(self) -> int | None:
        """When the open contact began, None if none is open."""
        return int(self._state['onset_ns'][0]) if self.in_contact else None

    @property
    def learning(self) -> bool:
        """Whether all torque is taken as bias: during an unpushed playback."""
        return bool(self._state['mode'][0] == contact_state.LEARN)

    @learning.setter
    def learning(self, value: bool) -> None:
        self._state['mode'] = contact_state.LEARN if value else contact_state.DETECT

    def see_tool(self, is_held_away: bool | None) -> None:
        """Takes note whether the tool is away from its set-point; None if that is unknown.

        Where the bias is uncertain, that tells a hand from a bias: a gentle push goes on as long
        as the tool is held away, and has ended when it is back.
        """
        if is_held_away is None:
            self._state['tool'] = contact_state.UNSEEN
        else:
            held, at = contact_state.HELD_AWAY, contact_state.AT_SET_POINT
            self._state['tool'] = held if is_held_away else at

    @property
    def noise_nm(self) -> np.ndarray:
        """(7,) standard deviation of the filtered torque that is left without its bias."""
        fluctuation = self._state['fluctuation'][0] / FLUCTUATION_SHARE
        noise: np.ndarray = np.sqrt(np.maximum(self._state['noise_variance'][0], fluctuation))
        return np.maximum(noise, self.parameters.noise_floor_nm)

    @property
    def bias_uncertainty_nm(self) -> float:
        """Standard deviation of the bias where the arm is now."""
        return float(np.sqrt(self._state['bias_variance'][0]))

    @property
    def bias_nm(self) -> np.ndarray:
        """(7,) bias where the arm is now, as the arm signs it."""
        bias: np.ndarray = self._state['bias'][0].copy()
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
        n = len(block)
        statistic = np.empty(n)
        residual = np.empty((n, JOINT_COUNT))
        force = np.empty((n, 3))
        phase = np.empty(n, dtype=np.int64)
        events = np.zeros(2 * n + 2, dtype=contact_state.EVENT)
        count = kernel.run(
            self._settings,
            self._state,
            np.ascontiguousarray(block.time_ns),
            np.ascontiguousarray(block.epoch),
            np.ascontiguousarray(block.torque_nm),
            np.ascontiguousarray(block.joint_position_rad),
            np.ascontiguousarray(block.joint_velocity_rad_s),
            np.ascontiguousarray(block.wrench),
            np.ascontiguousarray(block.wrench_age_ns),
            statistic,
            residual,
            force,
            phase,
            events,
        )
        return Detection(
            events=tuple(self._event(event) for event in events[:count]),
            statistic=statistic,
            residual_torque_nm=self.parameters.torque_sign * residual,
            wrench_force_n=self.parameters.wrench_sign * force,
            in_contact=phase == contact_state.CONTACT,
        )

    def close(self) -> Contact | None:
        """Ends an open contact at the last sample, when no more will come."""
        if not self.in_contact:
            return None
        event = np.zeros(1, dtype=contact_state.EVENT)
        state = self._state[0]
        end_ns = state['gap_start_ns'] if state['bridging'] else state['time_ns']
        kernel.end(state, 0, int(end_ns), contact_state.GAP, event, 0)
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
        if snapshot.dtype != contact_state.STATE or snapshot.shape != (1,):
            raise InvalidInputError('this is not a snapshot of this version of the detector')
        for name in ('weights', 'covariance', 'noise_variance', 'noise_windows'):
            self._state[name] = snapshot[name]
        self._state['fluctuation'] = FLUCTUATION_SHARE * snapshot['noise_variance']
        # The next sample may be of another sensor: the filter starts anew with it.
        self._state['time_ns'] = -1

    def _event(self, event: Any) -> ContactOnset | Contact:
        if event['kind'] == contact_state.ONSET:
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
            rejected=duration_sec < self.parameters.shortest_contact_sec
            or reason in (EndReason.TIMEOUT, EndReason.ZEROED)
            or saturated_share > _STUCK_SHARE,
            peak_statistic=float(event['peak_statistic']),
            peak_torque_nm=float(event['peak_torque']),
            peak_wrench_force_n=float(event['peak_force']),
            saturated_share=saturated_share,
            zero_wrench_share=int(event['zero_wrench']) / ticks,
            gap_sec=float(event['gap_ns']) / NANOSECONDS,
        )


def _settings(parameters: ContactParameters) -> contact_state.Settings:
    def to_ns(seconds: float) -> int:
        return round(seconds * NANOSECONDS)

    return contact_state.Settings(
        on_threshold=parameters.on_threshold,
        off_threshold=parameters.off_threshold,
        on_torque_nm=parameters.on_torque_nm,
        off_torque_nm=parameters.off_torque_nm,
        on_dwell_sec=parameters.on_dwell_sec,
        off_dwell_ns=to_ns(parameters.off_dwell_sec),
        gap_ns=to_ns(parameters.gap_sec),
        bridge_ns=to_ns(parameters.longest_bridged_gap_sec),
        longest_ns=to_ns(parameters.longest_contact_sec),
        time_constant_sec=time_constant_sec(parameters.cutoff_hz),
        delay_ns=to_ns(parameters.filter_delay_sec),
        noise_floor_variance=parameters.noise_floor_nm**2,
        prior_variance=parameters.bias_prior_nm**2,
        model_error_variance=parameters.model_error_nm**2,
        drift_variance_per_sec=parameters.drift_nm_per_sqrt_sec**2,
        quiet_windows=round(parameters.quiet_sec / 0.1),
        saturation_nm=np.array(parameters.saturation_nm),
    )

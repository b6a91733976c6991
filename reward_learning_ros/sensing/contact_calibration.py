"""Contact thresholds judged by the noise that an arm really has, from a short recording."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reward_learning_ros.core.errors import InvalidInputError
from reward_learning_ros.sensing.contact import Contact, ContactDetector
from reward_learning_ros.sensing.contact_parameters import ContactParameters
from reward_learning_ros.sensing.displacement import Jacobian
from reward_learning_ros.sensing.samples import NANOSECONDS, SampleBlock

# The bias is looked at so often, and the curves of a figure have so many points.
_STEP_SEC = 0.02
# A bias cannot be learned from a shorter recording.
MIN_SEC = 2.0
# Quiet torque nearer to the threshold than this share of it is too near.
_SAFE_SHARE = 0.75


@dataclass(frozen=True, kw_only=True)
class ContactCalibration:
    """What a recording says about noise, bias, thresholds and contacts.

    Attributes:
        parameters: the thresholds that were tried.
        rate_hz: of the torques.
        noise_nm: (7,) standard deviation of the filtered torque that is left without its bias.
        bias_range_nm: (7,) by how much the bias changed with the pose.
        quiet_statistic: largest residual without contact, in standard deviations.
        least_torque_nm: residual torque over all joints at which a contact begins here.
        least_force_n: force at the tool that makes so much of it, in the direction in which the
            arm feels least; None if the joints are unknown.
        contacts: the contacts that were found.
        time_sec: (k,) from the start of the recording.
        torque_nm: (k, 7) as the arm told it.
        bias_nm: (k, 7).
        statistic: (k,) residual in standard deviations.
        start_ns: when the recording began.
    """

    parameters: ContactParameters
    rate_hz: float
    noise_nm: np.ndarray
    bias_range_nm: np.ndarray
    quiet_statistic: float
    least_torque_nm: float
    least_force_n: float | None
    contacts: tuple[Contact, ...]
    time_sec: np.ndarray
    torque_nm: np.ndarray
    bias_nm: np.ndarray
    statistic: np.ndarray
    start_ns: int

    @property
    def margin(self) -> float:
        """How many times the quiet residual fits below the threshold; below 1 is a false alarm."""
        return self.parameters.on_threshold / max(self.quiet_statistic, 1e-9)

    @property
    def spans_sec(self) -> list[tuple[float, float]]:
        """From when to when each contact lasted."""
        return [
            ((c.onset_ns - self.start_ns) / NANOSECONDS, (c.end_ns - self.start_ns) / NANOSECONDS)
            for c in self.contacts
        ]

    def advice(self) -> str:
        """Return what to do about the thresholds, empty if they are well."""
        if self.quiet_statistic <= _SAFE_SHARE * self.parameters.on_threshold:
            return ''
        wanted = self.quiet_statistic / _SAFE_SHARE
        return (
            f'raise on_threshold to {wanted:.0f}, or record again while nobody touches the arm '
            'and it plays its plan'
        )


def calibrate_contacts(
    block: SampleBlock,
    parameters: ContactParameters | None = None,
    jacobian: Jacobian | None = None,
) -> ContactCalibration:
    """Judge thresholds by a recording, in which people may push the arm now and then.

    The recording is gone through twice: first the bias is learned from its quiet moments, then
    contacts are looked for with what was learned.

    Args:
        block: ordered samples, of seconds to minutes.
        parameters: the thresholds to be judged.
        jacobian: the tool's Jacobian (6, 7) at joints (7,).

    Raises:
        InvalidInputError: the recording is too short.
    """
    parameters = parameters or ContactParameters()
    duration_sec = (block.time_ns[-1] - block.time_ns[0]) / NANOSECONDS if len(block) else 0.0
    if duration_sec < MIN_SEC:
        raise InvalidInputError(
            f'torques of {duration_sec:.1f} s are too short; allowed: {MIN_SEC:.0f} s or more'
        )
    first = ContactDetector(parameters)
    first.process(block)
    detector = ContactDetector(parameters)
    detector.restore(first.snapshot())
    rate_hz = (len(block) - 1) / duration_sec
    step = max(round(_STEP_SEC * rate_hz), 1)
    events: list[object] = []
    biases, statistics = [], []
    starts = range(0, len(block), step)
    for start in starts:
        detection = detector.process(block[start : start + step])
        events += detection.events
        biases.append(detector.bias_nm)
        statistics.append(float(detection.statistic.max()))
    contacts = [event for event in events if isinstance(event, Contact)]
    last = detector.close()
    if last is not None:
        contacts.append(last)
    places = np.array(starts)
    # What rises to a contact belongs to it: some time before and after nothing counts as quiet.
    margin_ns = round(0.3 * NANOSECONDS)
    times = block.time_ns[places]
    is_quiet = np.ones(len(places), dtype=bool)
    for contact in contacts:
        is_quiet &= (times < contact.onset_ns - margin_ns) | (times > contact.end_ns + margin_ns)
    statistic = np.array(statistics)
    quiet = float(statistic[is_quiet].max()) if is_quiet.any() else float('nan')
    bias = np.array(biases)
    noise = detector.noise_nm
    least = max(
        parameters.on_torque_nm,
        parameters.on_threshold * float(np.hypot(noise.max(), detector.bias_uncertainty_nm)),
    )
    return ContactCalibration(
        parameters=parameters,
        rate_hz=rate_hz,
        noise_nm=noise,
        bias_range_nm=np.ptp(bias, axis=0),
        quiet_statistic=quiet,
        least_torque_nm=least,
        least_force_n=_least_force_n(block, least, jacobian),
        contacts=tuple(contact for contact in contacts if not contact.rejected),
        time_sec=(times - block.time_ns[0]) / NANOSECONDS,
        torque_nm=block.torque_nm[places],
        bias_nm=bias,
        statistic=statistic,
        start_ns=int(block.time_ns[0]),
    )


def _least_force_n(
    block: SampleBlock, torque_nm: float, jacobian: Jacobian | None
) -> float | None:
    """Return the force that makes so much torque in the direction where it makes least."""
    joints = block.joint_position_rad[-1]
    if jacobian is None or not np.isfinite(joints).all():
        return None
    min_lever_m = float(np.linalg.svd(jacobian(joints)[:3], compute_uv=False)[-1])
    return torque_nm / max(min_lever_m, 1e-6)

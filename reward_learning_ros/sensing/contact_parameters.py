"""When a torque is a contact: the parameters of the detector, each with its reason."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reward_learning_ros.parameters import ParameterError, parameter
from reward_learning_ros.parameters.shared import DETECTION_TORQUE_NM
from reward_learning_ros.sensing.bias import BiasParameters, bias_settings
from reward_learning_ros.sensing.contact_state import Settings
from reward_learning_ros.sensing.filtering import FilterSettings, delay_sec, time_constant_sec
from reward_learning_ros.sensing.samples import JOINT_COUNT, NANOSECONDS


@dataclass(frozen=True, kw_only=True)
class ContactParameters(BiasParameters):
    """Parameters of contact detection: thresholds, dwell times and the bias model."""

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
    min_contact_sec: float = parameter(
        0.1,
        description='A shorter contact is rejected: nobody corrects an arm so quickly',
        minimum=0.0,
        maximum=1.0,
        unit='s',
        former_names=('shortest_contact_sec',),
    )
    # A person who guides the arm through a whole pass holds it for as long as that takes.
    max_contact_sec: float = parameter(
        120.0,
        description='A longer contact is a changed load: it is ended and the bias zeroed',
        minimum=1.0,
        maximum=3600.0,
        unit='s',
        former_names=('longest_contact_sec',),
    )
    gap_sec: float = parameter(
        0.25,
        description='Torque missing for longer than this is a gap',
        minimum=0.01,
        maximum=10.0,
        unit='s',
    )
    max_bridged_gap_sec: float = parameter(
        3.0,
        description='A contact may continue across a gap no longer than this',
        minimum=0.0,
        maximum=60.0,
        unit='s',
        former_names=('longest_bridged_gap_sec',),
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
    # A gentle push stays below the first threshold; what tells it from a bias is that it comes at
    # once, while the bias changes with the pose.
    sudden_share: float = parameter(
        0.25,
        description='A step of the torque is a contact at this share of the way between the '
        'thresholds, once it has stayed for off_dwell_sec',
        minimum=0.0,
        maximum=1.0,
    )
    # Steps are seen from window to window, a tenth of a second each.
    sudden_sec: float = parameter(
        0.3,
        description='A step of the torque is sudden if it left the quiet range within this time',
        minimum=0.01,
        maximum=2.0,
        unit='s',
    )
    max_ramp_sec: float = parameter(
        0.25,
        description='The ramp of a push is extended backwards to zero, by no more than this',
        minimum=0.0,
        maximum=2.0,
        unit='s',
    )
    settling_sec: float = parameter(
        0.03,
        description='How long the filter settles after a gap before it is used',
        minimum=0.0,
        maximum=1.0,
        unit='s',
    )
    zero_sec: float = parameter(
        0.5,
        description='How long all torque is taken as bias when the bias is zeroed',
        minimum=0.05,
        maximum=10.0,
        unit='s',
    )
    # A push may take the arm to where its bias is unknown. A hand that lets go there takes most of
    # its torque away at once.
    unsure_release_share: float = parameter(
        0.5,
        description='Where the bias is unknown, a contact ends when its torque falls to this '
        'share',
        minimum=0.0,
        maximum=1.0,
    )
    max_unsure_sec: float = parameter(
        6.0,
        description='A contact that only an unknown bias speaks for ends after this time',
        minimum=0.1,
        maximum=60.0,
        unit='s',
    )
    # A hand that held still may once have been taken for bias; then the model is wrong and sure.
    residue_share: float = parameter(
        0.25,
        description='What is left of a push is no hand if it is at most this share of it ...',
        minimum=0.0,
        maximum=1.0,
    )
    residue_nm: float = parameter(
        0.4,
        description='... and changes by no more than this ...',
        minimum=0.0,
        maximum=10.0,
        unit='N·m',
    )
    residue_sec: float = parameter(
        3.0,
        description='... for this long, while the arm stands',
        minimum=0.1,
        maximum=60.0,
        unit='s',
    )
    wrench_baseline_sec: float = parameter(
        1.0,
        description='How slowly the force at rest follows the wrench while nobody pushes',
        minimum=0.01,
        maximum=60.0,
        unit='s',
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


def contact_settings(parameters: ContactParameters) -> Settings:
    """Returns parameters as the kernels need them."""

    def to_ns(seconds: float) -> int:
        return round(seconds * NANOSECONDS)

    on, off = parameters.on_threshold, parameters.off_threshold
    return Settings(
        filters=FilterSettings(
            time_constant_sec=time_constant_sec(parameters.cutoff_hz),
            gap_ns=to_ns(parameters.gap_sec),
            roughness_rise_sec=parameters.on_dwell_sec,
            roughness_fall_sec=10.0 * parameters.on_dwell_sec,
            baseline_sec=parameters.wrench_baseline_sec,
        ),
        bias=bias_settings(parameters),
        on_threshold=on,
        off_threshold=off,
        sudden_threshold=off + parameters.sudden_share * (on - off),
        on_torque_nm=parameters.on_torque_nm,
        off_torque_nm=parameters.off_torque_nm,
        on_dwell_sec=parameters.on_dwell_sec,
        off_dwell_ns=to_ns(parameters.off_dwell_sec),
        sudden_ns=to_ns(parameters.sudden_sec),
        max_ramp_ns=to_ns(parameters.max_ramp_sec),
        delay_ns=to_ns(parameters.filter_delay_sec),
        gap_ns=to_ns(parameters.gap_sec),
        bridge_ns=to_ns(parameters.max_bridged_gap_sec),
        max_contact_ns=to_ns(parameters.max_contact_sec),
        settling_ns=to_ns(parameters.settling_sec),
        zero_ns=to_ns(parameters.zero_sec),
        # The tail of a release is quiet before it is gone.
        aftermath_ns=to_ns(2.0 * parameters.off_dwell_sec),
        unsure_share=parameters.unsure_release_share,
        max_unsure_ns=to_ns(parameters.max_unsure_sec),
        residue_share=parameters.residue_share,
        residue_variance=parameters.residue_nm**2,
        residue_ns=to_ns(parameters.residue_sec),
        noise_floor_variance=parameters.noise_floor_nm**2,
        saturation_nm=np.array(parameters.saturation_nm),
    )

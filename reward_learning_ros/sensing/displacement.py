"""The force of a contact, whether its sign is right, and how far the contact moved the tool."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from reward_learning_ros.core.errors import InvalidInputError, UnknownNameError
from reward_learning_ros.parameters import Parameters, parameter
from reward_learning_ros.sensing.samples import NANOSECONDS

Jacobian = Callable[[np.ndarray], np.ndarray]
# Directions in which a newton shows as less than this in the joints are not trusted, m.
_MIN_LEVER_M = 0.05
# Below this cosine force and motion say nothing of each other's sign.
_UNDECIDED_COSINE = 0.3


def force_from_torque(jacobian: np.ndarray, torque_nm: np.ndarray) -> np.ndarray:
    """Returns the force (..., 3) at the tool that explains joint torques best: min ‖Jᵀ F − τ‖.

    Damped, so that near a singularity an unseen direction gets no force rather than a huge one.
    Written out for three rows: BLAS sums in another order on another processor, and what is found
    in a recording must not depend on that.

    Args:
        jacobian: (..., 3, 7) linear rows of the tool's Jacobian, base frame.
        torque_nm: (..., 7) that the person causes.
    """
    rows = [jacobian[..., i, :] for i in range(3)]
    damping = _MIN_LEVER_M**2
    # (J Jᵀ + damping) F = J τ, solved by cofactors: the matrix is symmetric.
    xx, yy, zz = (_dot(row, row) + damping for row in rows)
    xy, xz, yz = _dot(rows[0], rows[1]), _dot(rows[0], rows[2]), _dot(rows[1], rows[2])
    x, y, z = (_dot(row, np.asarray(torque_nm)) for row in rows)
    inverse_xx, inverse_xy, inverse_xz = yy * zz - yz * yz, xz * yz - xy * zz, xy * yz - xz * yy
    inverse_yy, inverse_yz, inverse_zz = xx * zz - xz * xz, xy * xz - xx * yz, xx * yy - xy * xy
    determinant = xx * inverse_xx + xy * inverse_xy + xz * inverse_xz
    force = np.stack(
        [
            inverse_xx * x + inverse_xy * y + inverse_xz * z,
            inverse_xy * x + inverse_yy * y + inverse_yz * z,
            inverse_xz * x + inverse_yz * y + inverse_zz * z,
        ],
        axis=-1,
    )
    return np.asarray(force / determinant[..., None])


def explained_share(
    jacobian: np.ndarray, torque_nm: np.ndarray, force_n: np.ndarray
) -> np.ndarray:
    """Returns which share of the squared torque (...) a force at the tool explains, 0 to 1.

    A push at the tool is explained; one at the elbow is not.
    """
    joints = jacobian.shape[-1]
    left = [torque_nm[..., i] - _dot(jacobian[..., :, i], force_n) for i in range(joints)]
    total = np.sum(torque_nm**2, axis=-1)
    share = 1.0 - np.sum(np.stack(left, axis=-1) ** 2, axis=-1) / np.maximum(total, 1e-12)
    return np.asarray(np.clip(share, 0.0, 1.0))


def _dot(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the products of vectors (..., n), summed in their order on any processor."""
    total = first[..., 0] * second[..., 0]
    for i in range(1, first.shape[-1]):
        total = total + first[..., i] * second[..., i]
    return np.asarray(total)


@dataclass(frozen=True, kw_only=True)
class SignCheck:
    """Whether forces point where the tool went.

    Attributes:
        sign: 1 if they do, -1 if they point the other way, 0 if the pushes do not decide.
        cosine: mean cosine between force and displacement, -1 to 1.
        pushes: how many pushes it rests on.
    """

    sign: int
    cosine: float
    pushes: int


def check_sign(forces_n: Sequence[np.ndarray], displacements_m: Sequence[np.ndarray]) -> SignCheck:
    """Compares the force of pushes with where the tool went: a compliant arm gives way.

    Push the arm a few times in any direction, apply the configured sign, and the answer must be 1;
    -1 means that `torque_sign` (or `wrench_sign`, whichever the force came from) is to be turned.

    Args:
        forces_n: (3,) mean force of each push, in the direction in which the person pushes.
        displacements_m: (3,) displacement of the tool by each push.
    """
    if len(forces_n) != len(displacements_m):
        raise InvalidInputError(
            f'{len(forces_n)} forces but {len(displacements_m)} displacements; allowed: as many'
        )
    cosines = []
    for force, displacement in zip(forces_n, displacements_m, strict=True):
        size = np.linalg.norm(force) * np.linalg.norm(displacement)
        if size > 0:
            cosines.append(float(np.dot(force, displacement) / size))
    mean = float(np.mean(cosines)) if cosines else 0.0
    decided = abs(mean) > _UNDECIDED_COSINE
    return SignCheck(sign=int(np.sign(mean)) if decided else 0, cosine=mean, pushes=len(cosines))


MEASURED, ADMITTANCE = 'measured', 'admittance'
PEAK, RELEASE = 'peak', 'release'

# The tool's place before a contact is averaged over this long, ending this long before the onset:
# the onset is known to within tens of milliseconds only.
_BASELINE_NS = 150_000_000
_BASELINE_MARGIN_NS = 30_000_000
# The farthest point is averaged over so many points (10 ms each) to either side.
_PEAK_POINTS = 1


@dataclass(frozen=True, kw_only=True)
class DisplacementParameters(Parameters):
    """What counts as the displacement of a contact."""

    displacement_source: str = parameter(
        MEASURED,
        description='measured: where the tool went; admittance: the force integrated',
        choices=(MEASURED, ADMITTANCE),
    )
    displacement_at: str = parameter(
        PEAK,
        description='Which moment of a contact counts: the farthest, or the last before release',
        choices=(PEAK, RELEASE),
    )
    admittance_m_per_n_s: float = parameter(
        0.002,
        description='How fast one newton moves the plan',
        minimum=0.0,
        maximum=0.1,
        unit='m/(N·s)',
    )
    tracking_lag_sec: float = parameter(
        0.0,
        description='How far the arm trails its plan when nobody pushes',
        minimum=0.0,
        maximum=1.0,
        unit='s',
    )


@dataclass(frozen=True, kw_only=True)
class ContactPoints:
    """A contact and the moment before it, at a hundred points a second.

    Attributes:
        time_ns: (k,) increasing.
        deviation_m: (k, 3) of the tool from its plan, base frame; NaN where it is unknown.
        force_n: (k, 3) with which the person pushes, base frame; NaN where it is unknown.
        onset_ns: when the contact began.
        end_ns: when it ended.
    """

    time_ns: np.ndarray
    deviation_m: np.ndarray
    force_n: np.ndarray
    onset_ns: int
    end_ns: int

    @property
    def during(self) -> np.ndarray:
        """(k,) which points belong to the contact."""
        mask: np.ndarray = (self.time_ns >= self.onset_ns) & (self.time_ns <= self.end_ns)
        return mask


@dataclass(frozen=True, kw_only=True)
class Displacement:
    """How far a contact moved the tool.

    Attributes:
        vector_m: (3,) base frame.
        time_ns: at which moment.
        source: by which evidence, `measured` or `admittance`.
    """

    vector_m: np.ndarray
    time_ns: int
    source: str


def measured(points: ContactPoints, parameters: DisplacementParameters) -> Displacement | None:
    """Returns where the tool went, or None if too little is known of it.

    What the tool was off its plan just before the contact was not the person's doing and is taken
    off: tracking error, or what an earlier push has left.
    """
    known = np.isfinite(points.deviation_m).all(axis=1)
    during = points.during & known
    if np.count_nonzero(during) < 2:
        return None
    before_ns = points.time_ns - points.onset_ns + _BASELINE_MARGIN_NS
    before = known & (before_ns <= 0) & (before_ns >= -_BASELINE_NS)
    place = np.flatnonzero(during)
    # Without a moment before it, as at the very start, the contact's first point must do.
    baseline = points.deviation_m[before if before.any() else place[:1]].mean(axis=0)
    moved = points.deviation_m[place] - baseline
    index = _counting(moved, points.force_n[place], parameters.displacement_at)
    around = slice(max(index - _PEAK_POINTS, 0), index + _PEAK_POINTS + 1)
    return Displacement(
        vector_m=moved[around].mean(axis=0),
        time_ns=int(points.time_ns[place[index]]),
        source=MEASURED,
    )


def admittance(points: ContactPoints, parameters: DisplacementParameters) -> Displacement | None:
    """Returns the force integrated over the contact, or None if no force is known.

    As in the published study, whose arm moved at a velocity proportional to the force.
    """
    during = points.during & np.isfinite(points.force_n).all(axis=1)
    if np.count_nonzero(during) < 2:
        return None
    time_sec = (points.time_ns[during] - points.onset_ns) / NANOSECONDS
    force = points.force_n[during]
    steps = np.diff(time_sec)[:, None] * (force[1:] + force[:-1]) / 2
    moved = parameters.admittance_m_per_n_s * np.cumsum(steps, axis=0)
    index = _counting(moved, force[1:], parameters.displacement_at)
    return Displacement(
        vector_m=moved[index], time_ns=int(points.time_ns[during][1 + index]), source=ADMITTANCE
    )


SOURCES: dict[str, Callable[[ContactPoints, DisplacementParameters], Displacement | None]] = {
    MEASURED: measured,
    ADMITTANCE: admittance,
}


def displacement(points: ContactPoints, parameters: DisplacementParameters) -> Displacement | None:
    """Returns the displacement of a contact by the configured source, None if it has no data.

    Raises:
        UnknownNameError: no source has this name.
    """
    source = SOURCES.get(parameters.displacement_source)
    if source is None:
        raise UnknownNameError('displacement source', parameters.displacement_source, SOURCES)
    return source(points, parameters)


def _counting(moved: np.ndarray, force: np.ndarray, moment: str) -> int:
    """Returns the index of the moment that counts."""
    if moment == RELEASE:
        strength = np.linalg.norm(np.nan_to_num(force), axis=1)
        # The last moment at which the hand still held: then the force fell below half its height.
        return int(np.flatnonzero(strength >= 0.5 * strength.max())[-1])
    return int(np.argmax(np.linalg.norm(moved, axis=1)))


def estimate_tracking_lag_sec(deviation_m: np.ndarray, planned_velocity_m_s: np.ndarray) -> float:
    """Returns by how long an unpushed arm trails its plan, by least squares.

    Args:
        deviation_m: (k, 3) of the tool from its plan during an unpushed playback.
        planned_velocity_m_s: (k, 3) of the plan at the same times.
    """
    power = float(np.sum(planned_velocity_m_s**2))
    if power == 0.0:
        return 0.0
    lag = -float(np.sum(deviation_m * planned_velocity_m_s)) / power
    return max(lag, 0.0)

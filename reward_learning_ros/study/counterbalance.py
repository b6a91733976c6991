"""Orders of conditions in which neither place nor predecessor favours one (Williams 1949)."""

from __future__ import annotations

from reward_learning_ros.core.checks import whole_number


def balanced_latin_square(size: int) -> tuple[tuple[int, ...], ...]:
    """Return orders of 0 … size − 1: as many as conditions, or twice as many if they are odd.

    Over all rows, each condition is equally often at each place, and follows each other condition
    equally often. With an odd number no square has the second property, two have.
    """
    whole_number(size, 'size', 1)
    # 0, 1, n − 1, 2, n − 2, …: the steps between neighbours are all different.
    first = [(index + 1) // 2 if index % 2 else -(index // 2) for index in range(size)]
    rows = [tuple((item + shift) % size for item in first) for shift in range(size)]
    if size % 2 and size > 1:
        rows += [row[::-1] for row in rows]
    return tuple(rows)

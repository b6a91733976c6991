"""What is kept for whoever needs the same again."""

from __future__ import annotations

from reward_learning_ros.core.samplers.recent import Recent


def test_a_result_is_made_once_and_the_oldest_is_forgotten():
    made = []
    recent = Recent(2)

    def ask(key):
        return recent.get(key, lambda: made.append(key) or key.upper())

    assert [ask(key) for key in 'abab'] == ['A', 'B', 'A', 'B']
    assert made == ['a', 'b']
    # The one that was asked for longest ago goes first.
    ask('a')
    ask('c')
    assert ask('a') == 'A'
    ask('b')
    assert made == ['a', 'b', 'c', 'b']

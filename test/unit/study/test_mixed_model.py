"""The mixed model, on data of known effects and against a balanced analysis of variance."""

import numpy as np
import pytest

from reward_learning_ros.core.errors import InvalidInputError
from reward_learning_ros.study.mixed_model import fit_mixed_model


def made_up(rng, participants=24, trials=6):
    rows = {'measure': [], 'participants': [], 'trials': [], 'method': [], 'kind': []}
    for participant in range(participants):
        own = 0.5 * rng.normal()
        for trial in range(trials):
            shared = 0.3 * rng.normal()
            for method, effect in (('a', 0.0), ('b', 0.4)):
                for kind, change in (('x', 0.0), ('y', -0.2)):
                    value = 1.0 + effect + change + own + shared + 0.2 * rng.normal()
                    rows['measure'].append(value)
                    rows['participants'].append(participant)
                    rows['trials'].append(trial)
                    rows['method'].append(method)
                    rows['kind'].append(kind)
    return rows


def fit(rows, **options):
    return fit_mixed_model(
        rows['measure'],
        participants=rows['participants'],
        trials=rows['trials'],
        factors={'method': rows['method'], 'kind': rows['kind']},
        references={'method': 'a', 'kind': 'x'},
        **options,
    )


def test_effects_and_spreads_are_found():
    model = fit(made_up(np.random.default_rng(0)))
    assert model.converged
    found = {coefficient.name: coefficient for coefficient in model.coefficients}
    for name, truth in (('mean', 1.0), ('b', 0.4), ('y', -0.2)):
        low, high = found[name].interval
        assert low < truth < high
        assert low < found[name].value < high
    assert found['b'].p < 1e-6
    assert model.participant_sd == pytest.approx(0.5, abs=0.2)
    assert model.trial_sd == pytest.approx(0.3, abs=0.06)
    assert model.residual_sd == pytest.approx(0.2, abs=0.02)
    assert model.observations == 24 * 6 * 4


def test_in_a_balanced_design_effects_are_differences_of_means():
    rows = made_up(np.random.default_rng(1), participants=6, trials=3)
    model = fit(rows)
    measure, method = np.array(rows['measure']), np.array(rows['method'])
    expected = measure[method == 'b'].mean() - measure[method == 'a'].mean()
    assert model.coefficients[1].value == pytest.approx(expected, abs=1e-6)


def test_order_of_rows_does_not_matter():
    rows = made_up(np.random.default_rng(2), participants=5, trials=3)
    order = np.random.default_rng(3).permutation(len(rows['measure']))
    shuffled = {name: [values[i] for i in order] for name, values in rows.items()}
    one, two = (
        {c.name: c.value for c in fit(some, interactions=[('method', 'kind')]).coefficients}
        for some in (rows, shuffled)
    )
    assert 'b × y' in one
    for name, value in one.items():
        # Seen in another order, another level may come first among equals.
        other = two.get(name, two.get(' × '.join(reversed(name.split(' × ')))))
        assert value == pytest.approx(other, abs=1e-6)


def test_conditions_that_never_occur_are_refused():
    rows = made_up(np.random.default_rng(0), participants=3, trials=2)
    conditions = list(zip(rows['method'], rows['kind'], strict=True))
    kept = [index for index, found in enumerate(conditions) if found != ('b', 'y')]
    fewer = {name: [values[i] for i in kept] for name, values in rows.items()}
    with pytest.raises(InvalidInputError, match='never occur'):
        fit(fewer, interactions=[('method', 'kind')])

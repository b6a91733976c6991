"""The action `analyse` of `reward_learning study`: tables, tests, figures and a report."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reward_learning_ros.study.ledger import Ledger


def analyse(options: argparse.Namespace, ledger: Ledger) -> None:
    """Write tables, results and the report of a study, and print the results.

    Raises:
        RewardLearningError: Nothing is done yet, or something cannot be read or written.
    """
    from reward_learning_ros.core.words import counted
    from reward_learning_ros.figures.run_report import write_run, write_text
    from reward_learning_ros.study.analysis_report import analysis_report
    from reward_learning_ros.study.spoken import (
        score_measures,
        score_rows,
        spoken_trials,
        study_answer_rows,
        study_mark_rows,
        with_scores,
    )
    from reward_learning_ros.study.tables import FORMATS, write_rows
    from reward_learning_ros.study.tidy import theta_rows, trial_rows
    from reward_learning_ros.study.trial_analysis import analyse_trials

    folder = ledger.folder / 'analysis' if options.output is None else options.output
    spoken = spoken_trials(ledger)
    scores = score_rows(ledger, spoken)
    rows = with_scores(trial_rows(ledger), scores)
    analyses = analyse_trials(ledger.protocol, rows, score_measures(ledger))
    tables = {'trials': rows, 'theta': theta_rows(ledger)}
    said = {
        'scores': scores,
        'answers': study_answer_rows(spoken),
        'marks': study_mark_rows(spoken),
    }
    for name, table in {**tables, **{name: each for name, each in said.items() if each}}.items():
        for suffix in FORMATS:
            write_rows(table, folder / f'{name}{suffix}')
    results = {analysis.column: analysis.to_mapping() for analysis in analyses}
    write_text(folder / 'results.json', json.dumps(results, indent=2) + '\n')
    page = write_run(analysis_report(ledger.protocol, rows, analyses), folder)
    if options.json:
        print(json.dumps({'report': str(page), 'measures': results}, indent=2))
        return
    for analysis in analyses:
        people = counted(len(analysis.participants), 'participant')
        print(f'{analysis.label} ({people} with all trials)')
        for cell in analysis.cells:
            if not cell.goal:
                where = cell.condition or 'all conditions'
                print(f'  {where}: {cell.mean:.3f} ± {cell.half:.3f}')
        model = analysis.model.coefficients[1:] if analysis.model else ()
        for result in (*analysis.effects, *analysis.comparisons, *model):
            print(f'  {result}')
        for remark in analysis.remarks:
            print(f'  {remark}')
    print(page)

"""A report is converted to JSON and back without loss, for any contents, and is never large."""

import json
from dataclasses import replace

from network_app.consensus.messages import (
    MAX_ABSENT,
    MAX_BLOCKS,
    MAX_POLLS,
    from_json,
    to_json,
)
from network_app.consensus.report import ConsensusReport, ProducerRewind, StakeReport
from tests.builders.consensus_report import REPORT, block_id, node_id, processing


def through_json(report: ConsensusReport) -> ConsensusReport:
    return from_json(json.loads(json.dumps(to_json(report))))


def test_report_round_trips_through_json() -> None:
    assert through_json(REPORT) == REPORT
    ahead = ProducerRewind(node_id(2), block_id(1), 1, 3)
    contradicted = replace(REPORT, contradiction=ahead)
    assert through_json(contradicted) == contradicted
    bare = replace(REPORT, is_running=False, last_accepted=None, preference=None, processing=())
    assert through_json(bare) == bare


def test_a_report_is_bounded_and_its_sums_are_not_cut() -> None:
    absent = {node_id(number): 10 + number for number in range(3 * MAX_ABSENT)}
    large = replace(
        REPORT,
        processing=tuple(map(processing, range(2 * MAX_BLOCKS))),
        polls=REPORT.polls * (2 * MAX_POLLS),
        stake=StakeReport(500, 100_000, absent),
    )
    shown = through_json(large)
    assert shown.processing == large.processing[:MAX_BLOCKS]
    assert len(shown.polls) == MAX_POLLS
    assert set(shown.stake.absent) == set(list(absent)[-MAX_ABSENT:])
    assert shown.stake.connected == large.stake.connected
    assert len(json.dumps(to_json(large))) < 64 * 1024

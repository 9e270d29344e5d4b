"""A chain that is being voted on, as the network process reports it."""

from network_app.consensus.report import (
    WORK,
    ConsensusReport,
    ConsensusTotals,
    DecidedBlock,
    Equivocation,
    Issues,
    OpenPoll,
    Outcomes,
    Proposals,
    ReportedBlock,
    StakeReport,
    Tables,
    Work,
)
from network_app.snowman.parameters import SnowParameters
from network_app.snowman.polls import Reason
from primitives.ids import ID, NodeID


def block_id(number: int) -> ID:
    """Return a block ID derived from a number."""
    return ID(number.to_bytes(32, "big"))


def node_id(number: int) -> NodeID:
    """Return a node ID derived from a number."""
    return NodeID(number.to_bytes(20, "big"))


def processing(number: int) -> ReportedBlock:
    """Return a processing block at this height."""
    return ReportedBlock(
        block_id(number), block_id(0), number, 1.5, True, 7, node_id(number), 1_700_000_000.125
    )


def decided(
    number: int,
    *,
    accepted: bool = True,
    proposer: NodeID | None = None,
    at: float = 1_700_000_000.0,
) -> DecidedBlock:
    """Return a decision on the block at this height, made two seconds after it was issued."""
    return DecidedBlock(
        block_id(number), number, 2.0, 20, 0, accepted, block_id(number - 1), proposer, at - 2.0, at
    )


REPORT = ConsensusReport(
    alias="C",
    parameters=SnowParameters(alpha_preference=13, alpha_confidence=13),
    is_running=True,
    last_accepted=block_id(1),
    last_height=1,
    preference=block_id(3),
    max_verified_height=3,
    processing=(processing(2), processing(3)._replace(proposer=None, preferred=False)),
    decided=(),
    tables=Tables(processing=2, polls=1, requests=3, pending=4, blockers=5, unverified=6),
    stake=StakeReport(5, 10_000, {node_id(4): 2000}),
    totals=ConsensusTotals(
        successful_polls=40,
        failed_polls=2,
        finished_polls={Reason.EXHAUSTED: 40, Reason.EARLY_FAIL: 2},
        accepted=Outcomes(1, 0.5, 20, 300),
        rejected=Outcomes(),
        latencies=(1, 0, 0, 0, 0, 0, 0, 0, 0),
        built=1,
        failed_builds=0,
        restarts=0,
        decisions=1,
        poll_seconds={Reason.EXHAUSTED: 1.25},
        lag=0.75,
        work=Work((1, 2, *[0] * (len(WORK) - 1)), 0.125),
        equivocations=1,
        issues=Issues(
            {"push_gossip": 3, "pull_gossip": 2, "built": 1, "unknown": 0},
            12_000,
            400,
            500,
            1,
            {"unneeded": 90, "succeeded": 4, "dropped": 3, "failed": 2},
            94,
            5,
        ),
        proposals=Proposals(2, 1, 1_700_000_003, -0.25),
    ),
    polls=(OpenPoll(1_700_000_001.5, 20, 13),),
    equivocations=(Equivocation(node_id(2), 3, 4, block_id(5), block_id(6), 1_700_000_002.0),),
)
"""A report of the C-Chain: block 1 is accepted, 2 is preferred, 3 has the same parent as 2."""

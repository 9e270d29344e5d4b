"""Writes the state of the chains' consensus, and the decisions on blocks."""

from collections.abc import Sequence
from datetime import UTC, datetime

from network_app.consensus.messages import to_json
from network_app.consensus.report import ConsensusReport, DecidedBlock
from network_app.models import BlockDecision, ChainConsensus


def write(report: ConsensusReport, now: datetime) -> None:
    """Store the state of a chain's consensus."""
    ChainConsensus.objects.bulk_create(
        [ChainConsensus(chain=report.alias, report=to_json(report), updated_at=now)],
        update_conflicts=True,
        update_fields=["report", "updated_at"],
        unique_fields=["chain"],
    )


def add(alias: str, decided: Sequence[DecidedBlock], keep: int) -> None:
    """Store decisions on a chain's blocks; delete the oldest ones beyond `keep` over all chains."""
    if not decided:
        return
    rows = BlockDecision.objects.bulk_create([_row(alias, item) for item in decided])
    BlockDecision.objects.filter(pk__lte=rows[-1].pk - keep).delete()


def begin_anew() -> None:
    """Delete the reports of an earlier run of the network process; its decisions are kept."""
    ChainConsensus.objects.all().delete()


def _row(alias: str, one: DecidedBlock) -> BlockDecision:
    return BlockDecision(
        chain=alias,
        height=one.height,
        block_id=one.block_id,
        parent_id=one.parent_id,
        proposer=None if one.proposer is None else str(one.proposer),
        accepted=one.accepted,
        issued_at=_moment(one.issued_at),
        decided_at=_moment(one.decided_at),
        polls=one.polls,
        rejected=one.rejected,
    )


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)

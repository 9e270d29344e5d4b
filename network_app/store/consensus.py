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


def clear() -> None:
    """Delete the reports of an earlier run of the network process; its decisions are kept."""
    ChainConsensus.objects.all().delete()


def _row(alias: str, decided: DecidedBlock) -> BlockDecision:
    return BlockDecision(
        chain=alias,
        height=decided.height,
        block_id=decided.block_id,
        parent_id=decided.parent_id,
        proposer=None if decided.proposer is None else str(decided.proposer),
        accepted=decided.accepted,
        issued_at=_moment(decided.issued_at),
        decided_at=_moment(decided.decided_at),
        polls=decided.polls,
        rejected=decided.rejected,
    )


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)

"""State of the validators' consensus on the chains, from the last report of the network's process."""

from collections.abc import Mapping, Sequence

from network_app.consensus.messages import from_json
from network_app.consensus.report import ConsensusReport
from network_app.models import BlockDecision, ChainConsensus
from network_app.selectors.network import is_fresh, status

Decision = BlockDecision


def consensus() -> Mapping[str, ConsensusReport]:
    """Return the last report on each chain, by name, whatever its age; empty without voting."""
    return {row.chain: from_json(row.report) for row in ChainConsensus.objects.all()}


def consensus_now(alias: str) -> ConsensusReport | None:
    """Return the state of a chain's consensus; None without voting, or without a recent report."""
    reported = status()
    if reported is None or not is_fresh(reported):
        return None
    row = ChainConsensus.objects.filter(chain=alias).first()
    return None if row is None else from_json(row.report)


def decisions(alias: str, count: int) -> Sequence[Decision]:
    """Return the latest decisions on a chain's blocks, newest first."""
    return list(BlockDecision.objects.filter(chain=alias).order_by("-id")[:count])

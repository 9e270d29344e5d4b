"""How the validators decide on the chains' blocks, as the network's process said last."""

from collections.abc import Mapping, Sequence

from network_app.consensus.report import ConsensusReport
from network_app.consensus.texts import from_json
from network_app.models import BlockDecision, ChainConsensus
from network_app.selectors.network import is_fresh, status

Decision = BlockDecision


def consensus() -> Mapping[str, ConsensusReport]:
    """Return what is known of each chain, "P" and "C", however old; none where nobody votes."""
    return {row.chain: from_json(row.report) for row in ChainConsensus.objects.all()}


def consensus_now(alias: str) -> ConsensusReport | None:
    """Return how a chain is being decided on; None where nobody votes, or nobody reports any more."""
    reported = status()
    if reported is None or not is_fresh(reported):
        return None
    row = ChainConsensus.objects.filter(chain=alias).first()
    return None if row is None else from_json(row.report)


def decisions(alias: str, count: int) -> Sequence[Decision]:
    """Return the latest decisions on a chain's blocks, the last one first."""
    return list(BlockDecision.objects.filter(chain=alias).order_by("-id")[:count])

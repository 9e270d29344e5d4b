"""Auto-renewed validators for pages: their finished periods, and rewards paid to stakers of any kind."""

from collections.abc import Collection, Sequence

from platform_app.chain import PlatformChain
from platform_app.models import AutoRenewedValidator, RenewedPeriod, RewardUTXO, Staker
from platform_app.store import rows
from primitives.ids import ID
from utxo.components import TransferableOutput, UtxoOutput


def renewed_periods(
    chain: PlatformChain, tx_ids: Collection[ID], *, count: int
) -> list[RenewedPeriod]:
    """Return finished periods of the validators that transactions added, the latest first.

    Periods that another one followed; the staker's row has the present or the last one.
    """
    if not tx_ids:
        return []
    found = chain.db.objects(RenewedPeriod).filter(staker_id__in=list(tx_ids))
    return list(found.order_by("-joined_height")[:count])


def terms_of(chain: PlatformChain, tx_id: ID) -> AutoRenewedValidator | None:
    """Return the terms of the auto-renewed validator that a transaction added; None for other stakers."""
    return chain.db.objects(AutoRenewedValidator).filter(pk=tx_id).first()


def rewards_of(chain: PlatformChain, tx_ids: Collection[ID]) -> list[RewardUTXO]:
    """Return the reward outputs that belong to transactions, the latest first."""
    found = chain.db.objects(RewardUTXO).filter(tx_id__in=list(tx_ids))
    outputs = found.order_by("tx_id", "output_index")
    return sorted(outputs, key=lambda reward: (-reward.height, reward.output_index))


def paid_to(chain: PlatformChain, stakers: Sequence[Staker]) -> dict[ID, int]:
    """Return the rewards that were paid to past stakers when they left, by the transactions that added them."""
    validators = [staker.pk for staker in stakers if not staker.is_delegator]
    owners: dict[ID, ID] = {staker.pk: staker.pk for staker in stakers}
    sums = dict.fromkeys(owners, 0)
    if validators:
        last = chain.db.objects(AutoRenewedValidator).filter(
            pk__in=validators, reward_tx_id__isnull=False
        )
        for reward_tx, tx_id in last.order_by("pk").values_list("reward_tx_id", "pk"):
            assert reward_tx is not None, "the filter selects those that have left"
            owners[ID(bytes(reward_tx))] = ID(bytes(tx_id))
    paid = paid_by(chain, list(owners))
    for tx_id, amount in paid.items():
        sums[owners[tx_id]] += amount
    return sums


def paid_by(chain: PlatformChain, tx_ids: Collection[ID]) -> dict[ID, int]:
    """Return the sums of the reward outputs that belong to transactions."""
    sums = dict.fromkeys(tx_ids, 0)
    if sums:
        found = chain.db.objects(RewardUTXO).filter(tx_id__in=list(sums))
        for tx_id, amount in found.order_by("tx_id", "output_index").values_list("tx_id", "amount"):
            sums[ID(bytes(tx_id))] += amount
    return sums


def outputs_of_period_end(chain: PlatformChain, tx_id: ID) -> list[TransferableOutput]:
    """Return the outputs of a RewardAutoRenewedValidatorTx, which its bytes do not contain."""
    found = chain.db.objects(RewardUTXO).filter(tx_id=tx_id).order_by("output_index")
    return [_output(reward) for reward in found]


def _output(reward: RewardUTXO) -> TransferableOutput:
    output = rows.output_of(reward.output)
    assert isinstance(output, UtxoOutput)
    return TransferableOutput(reward.asset_id, output)

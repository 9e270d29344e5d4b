"""The rows of auto-renewed validators: their terms, and their finished periods."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from chaindb.database import Database, Row
from platform_app import models
from platform_app.state.stakers import AutoRenewal, Staker
from platform_app.store import rows
from platform_app.store.facets import Commit
from platform_app.txs.base import Tx
from platform_app.txs.l1 import AddAutoRenewedValidatorTx, RewardAutoRenewedValidatorTx
from primitives.ids import ID
from utxo.components import OutputOwners

_TERMS = """
SELECT a.staker_id, a.next_period, a.auto_compound_shares, a.accrued_validation_rewards,
       a.accrued_delegatee_rewards
FROM platform_app_autorenewedvalidator a JOIN platform_app_staker s ON s.tx_id = a.staker_id
WHERE a.staker_id IN ({keys}) AND s.phase < 3
"""
_KEEP_PERIOD = """
INSERT INTO platform_app_renewedperiod
  (staker_id, joined_height, left_height, start_time, end_time, weight, potential_reward,
   delegatee_reward, up_duration, reward_tx_id)
SELECT s.tx_id, s.joined_height, %s, s.start_time, s.end_time, s.weight, s.potential_reward,
       s.delegatee_reward, u.up_duration, %s
FROM platform_app_staker s JOIN platform_app_validatoruptime u ON u.staker_id = s.tx_id
WHERE s.tx_id = %s
"""
_CHANGED = (
    "next_period", "auto_compound_shares", "accrued_validation_rewards",
    "accrued_delegatee_rewards",
)  # fmt: skip
_NEW = ("staker", "authority", *_CHANGED)
_PERIOD = ("weight", "start_time", "end_time", "potential_reward", "joined_height")


def read_terms(db: Database, validator_tx_ids: Sequence[ID]) -> dict[ID, AutoRenewal]:
    """Return the terms on which current validators are renewed, without validators that leave at their end."""
    return {
        ID(bytes(tx_id)): AutoRenewal(*map(int, terms))
        for tx_id, *terms in db.rows_by_keys(_TERMS, validator_tx_ids)
    }


def write_renewed(commit: Commit, renewed: Iterable[Staker]) -> None:
    """Keep the periods of validators that have ended, and write the next ones over them.

    Their uptimes have been settled up to the end. The uptimes of the new periods begin with nothing.
    """
    db, height, proposals = commit.db, commit.moment.height, _proposals(commit)
    for staker in renewed:
        db.execute(_KEEP_PERIOD, (height, proposals[staker.tx_id], staker.tx_id))
        period = (
            staker.weight, staker.start, staker.end, staker.potential_reward, height, staker.tx_id,
        )  # fmt: skip
        db.update(models.Staker, ("tx_id",), _PERIOD, [period])
        uptime = (0, staker.start, staker.tx_id)
        db.update(models.ValidatorUptime, ("staker",), ("up_duration", "last_updated"), [uptime])


def write_terms(commit: Commit, added: Mapping[ID, Tx], left: Sequence[Staker]) -> None:
    """Write new and changed terms, and the transactions with which validators left."""
    db, changed = commit.db, commit.diff.stakers.changes().auto_renewals
    new = ((tx_id, terms) for tx_id, terms in changed.items() if tx_id in added)
    db.insert(models.AutoRenewedValidator, _NEW, _new_rows(new, added))
    known = ((*_columns(terms), tx_id) for tx_id, terms in changed.items() if tx_id not in added)
    db.update(models.AutoRenewedValidator, ("staker",), _CHANGED, known)
    if proposals := _proposals(commit):
        last = [
            (proposals[staker.tx_id], staker.tx_id) for staker in left if staker.tx_id in proposals
        ]
        db.update(models.AutoRenewedValidator, ("staker",), ("reward_tx_id",), last)


def _proposals(commit: Commit) -> dict[ID, ID]:
    """Return the transactions of the blocks that end periods, by the validators that they name."""
    return {
        tx.unsigned.tx_id: tx.tx_id
        for tx, _ in commit.diff.txs.changes()
        if isinstance(tx.unsigned, RewardAutoRenewedValidatorTx)
    }


def _new_rows(new: Iterable[tuple[ID, AutoRenewal]], added: Mapping[ID, Tx]) -> Iterator[Row]:
    for tx_id, terms in new:
        unsigned = added[tx_id].unsigned
        assert isinstance(unsigned, AddAutoRenewedValidatorTx)
        assert isinstance(unsigned.validator_authority, OutputOwners)
        yield (tx_id, rows.owners_bytes(unsigned.validator_authority), *_columns(terms))


def _columns(terms: AutoRenewal) -> tuple[int, int, int, int]:
    return (
        terms.next_period,
        terms.compound_shares,
        terms.accrued_validation_rewards,
        terms.accrued_delegatee_rewards,
    )

"""Writing of stakers through their phases, with their staked outputs and the outcome of their periods."""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from chaindb.database import Database, Row
from chaindb.fields import for_database
from platform_app import models
from platform_app.models import Outcome, Phase
from platform_app.state.chain import Diff
from platform_app.state.stakers import Priority, Staker
from platform_app.store import auto_renewal, rows, uptime
from platform_app.store.facets import Commit, Moment
from platform_app.txs.base import ProofOfPossession, Tx, TxStatus, UnsignedTx, inner_output
from platform_app.txs.l1 import AddAutoRenewedValidatorTx, RewardAutoRenewedValidatorTx
from platform_app.txs.staking import (
    AddDelegatorTx,
    AddPermissionlessDelegatorTx,
    AddPermissionlessValidatorTx,
    AddValidatorTx,
    RewardValidatorTx,
)
from platform_app.txs.subnets import RemoveSubnetValidatorTx
from primitives.ids import ID, NodeID
from utxo.components import OutputOwners, Owner

_STAKER = (
    "tx_id", "position", "phase", "is_delegator", "subnet_id", "node_id", "node", "weight",
    "start_time", "end_time", "priority", "potential_reward", "delegatee_reward", "shares",
    "public_key", "proof_of_possession", "rewards_owner", "delegation_rewards_owner",
    "added_height", "joined_height", "left_height", "left_time", "outcome",
)  # fmt: skip
_JOINED = ("phase", "start_time", "end_time", "priority", "potential_reward", "joined_height")
_STAKE = ("address", "staker", "output_index", "is_delegator", "asset_id", "amount", "output")
_UPTIME = ("staker", "up_duration", "last_updated")

_LEAVE = """
UPDATE platform_app_staker
SET phase = %s, priority = %s, potential_reward = %s, left_height = %s, left_time = %s,
    outcome = %s, joined_height = COALESCE(joined_height, %s)
WHERE tx_id = %s
"""


class _StakingTerms(NamedTuple):
    """The terms of a staking transaction besides its staker record."""

    shares: int | None = None
    proof_of_possession: bytes | None = None
    rewards_owner: bytes | None = None
    delegation_rewards_owner: bytes | None = None


def write_stakers(commit: Commit) -> None:
    """Write the changes of stakers by a block."""
    db, moment, changes = commit.db, commit.moment, commit.diff.stakers.changes()
    added = {tx.tx_id: tx for tx, _ in commit.diff.txs.changes()}
    outcomes = _Outcomes(commit.diff.txs.changes())
    earlier = [staker for staker in changes.present if staker.tx_id not in added]
    renewed = changes.renewed(added)
    ended = [*(staker for staker in changes.left if _is_watched(staker)), *renewed]
    uptime.settle_leaving(db, [staker.node_id for staker in ended])
    # Leaving stakers come first: a node has one validator record on a subnet at a time.
    _write_left(
        db, moment, [staker for staker in changes.left if staker.tx_id not in added], outcomes
    )
    auto_renewal.write_renewed(commit, renewed)
    joined = [staker for staker in earlier if staker.tx_id not in changes.auto_renewals]
    _write_joined(db, moment, joined)
    new = [staker for staker in changes.present if staker.tx_id in added]
    gone = [staker for staker in changes.left if staker.tx_id in added]
    for stakers, ends in ((gone, outcomes), (new, None)):
        staker_rows = _staker_rows(commit, stakers, added, ends)
        db.insert(models.Staker, _STAKER, staker_rows)
    db.insert(models.StakeOutput, _STAKE, _stake_rows(new, added))
    db.insert(models.ValidatorUptime, _UPTIME, _uptime_rows([*joined, *new]))
    rewards = ((amount, tx_id) for tx_id, amount in changes.delegatee_rewards.items())
    db.update(models.Staker, ("tx_id",), ("delegatee_reward",), rewards)
    auto_renewal.write_terms(commit, added, changes.left)


class _Outcomes:
    """The outcomes of the stakers that leave in a block, according to its transactions."""

    def __init__(self, txs: Iterable[tuple[Tx, TxStatus]]) -> None:
        self._decided: dict[ID, Outcome] = {}
        self._removed: set[tuple[ID, NodeID]] = set()
        for tx, status in txs:
            unsigned = tx.unsigned
            if isinstance(unsigned, RewardValidatorTx | RewardAutoRenewedValidatorTx):
                committed = status is TxStatus.COMMITTED
                self._decided[unsigned.tx_id] = (
                    Outcome.REWARDED if committed else Outcome.UNREWARDED
                )
            elif isinstance(unsigned, RemoveSubnetValidatorTx):
                self._removed.add((unsigned.subnet_id, unsigned.node_id))

    def of(self, staker: Staker) -> Outcome:
        """Return the outcome of a leaving staker. If no transaction names it, its period has ended."""
        decided = self._decided.get(staker.tx_id)
        if decided is not None:
            return decided
        removed = (staker.subnet_id, staker.node_id) in self._removed
        return Outcome.REMOVED if removed else Outcome.ENDED


def spread(db: Database, moments: Mapping[ID, Moment], diff: Diff) -> None:
    """Change the height and time of rows written in one commit, as if each staker had left in its own block.

    Args:
        db: The database with the rows.
        moments: The height and time when each staker left, by its transaction.
        diff: The changes of the commit; they must have outputs and rewards of these stakers only.
    """
    outputs = diff.utxos.changes()
    left = ((moment.height, moment.time, tx_id) for tx_id, moment in moments.items())
    db.update(models.Staker, ("tx_id",), ("left_height", "left_time"), left)
    produced = ((moments[utxo.tx_id].height, utxo.utxo_id) for utxo in outputs.produced)
    db.update(models.UTXO, ("utxo_id",), ("height",), produced)
    paid = ((moments[tx_id].height, utxo.utxo_id) for tx_id, utxo in outputs.rewards)
    db.update(models.RewardUTXO, ("utxo_id",), ("height",), paid)


def _write_left(db: Database, moment: Moment, left: list[Staker], outcomes: _Outcomes) -> None:
    if not left:
        return
    vendor = db.connection.vendor
    params = [
        (
            Phase.PAST.value, staker.priority.value,
            for_database(staker.potential_reward, 20, vendor), moment.height, moment.time,
            outcomes.of(staker).value, _joined_height(staker, moment), staker.tx_id,
        )
        for staker in left
    ]  # fmt: skip
    with db.connection.cursor() as cursor:
        cursor.executemany(_LEAVE, params)
    db.delete(models.StakeOutput, ("staker",), ((staker.tx_id,) for staker in left))


def _write_joined(db: Database, moment: Moment, joined: list[Staker]) -> None:
    """Update stakers that were pending and are now current."""
    db.update(
        models.Staker,
        ("tx_id",),
        _JOINED,
        (
            (
                _phase(staker).value, staker.start, staker.end, staker.priority.value, staker.potential_reward,
                _joined_height(staker, moment), staker.tx_id,
            )
            for staker in joined
        ),
    )  # fmt: skip


def _staker_rows(
    commit: Commit,
    stakers: Iterable[Staker],
    added: Mapping[ID, Tx],
    outcomes: _Outcomes | None,
) -> Iterator[Row]:
    """Yield the rows of stakers whose transactions are in the block; with outcomes, they also left in it."""
    moment = commit.moment
    for staker in stakers:
        terms = _terms(added[staker.tx_id].unsigned)
        left: tuple[int | None, ...] = (None,) * 3
        if outcomes is not None:
            left = (moment.height, moment.time, outcomes.of(staker).value)
        yield (
            staker.tx_id, commit.position(staker.tx_id),
            (Phase.PAST if outcomes else _phase(staker)).value, staker.priority.is_delegator,
            staker.subnet_id, staker.node_id, str(staker.node_id), staker.weight, staker.start,
            staker.end, staker.priority.value, staker.potential_reward, 0, terms.shares,
            staker.public_key, terms.proof_of_possession, terms.rewards_owner,
            terms.delegation_rewards_owner, moment.height, _joined_height(staker, moment), *left,
        )  # fmt: skip


def _phase(staker: Staker) -> Phase:
    return Phase.PENDING if staker.priority.is_pending else Phase.CURRENT


def _joined_height(staker: Staker, moment: Moment) -> int | None:
    return None if staker.priority.is_pending else moment.height


def _terms(unsigned: UnsignedTx) -> _StakingTerms:
    match unsigned:
        case AddValidatorTx():
            owner = _owner(unsigned.rewards_owner)
            return _StakingTerms(unsigned.shares, None, owner, owner)
        case AddPermissionlessValidatorTx():
            signer = unsigned.signer
            return _StakingTerms(
                unsigned.shares,
                signer.proof_of_possession if isinstance(signer, ProofOfPossession) else None,
                _owner(unsigned.validation_rewards_owner),
                _owner(unsigned.delegation_rewards_owner),
            )
        case AddAutoRenewedValidatorTx():
            assert isinstance(unsigned.signer, ProofOfPossession)
            return _StakingTerms(
                unsigned.delegation_shares,
                unsigned.signer.proof_of_possession,
                _owner(unsigned.validation_rewards_owner),
                _owner(unsigned.delegation_rewards_owner),
            )
        case AddDelegatorTx() | AddPermissionlessDelegatorTx():
            return _StakingTerms(rewards_owner=_owner(unsigned.rewards_owner))
        case _:
            return _StakingTerms()


def _owner(owner: Owner) -> bytes:
    assert isinstance(owner, OutputOwners)
    return rows.owners_bytes(owner)


def _stake_rows(stakers: Iterable[Staker], added: Mapping[ID, Tx]) -> Iterator[Row]:
    for staker in stakers:
        for index, stake in enumerate(rows.stake_of(added[staker.tx_id])):
            inner = inner_output(stake.output)
            output = rows.output_bytes(stake.output)
            for address in inner.owners.addresses:
                yield (
                    address, staker.tx_id, index, staker.priority.is_delegator, stake.asset_id,
                    inner.amount, output,
                )  # fmt: skip


def _uptime_rows(stakers: Iterable[Staker]) -> Iterator[Row]:
    for staker in stakers:
        if _is_watched(staker):
            yield (staker.tx_id, 0, staker.start)


def _is_watched(staker: Staker) -> bool:
    """Return whether a staker's uptime is tracked."""
    return staker.priority is Priority.PRIMARY_VALIDATOR_CURRENT

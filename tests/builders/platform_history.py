"""A P-Chain with a long history, written through the store in large blocks, for tests of lists.

Everything is computed from numbers, so a test knows the contents of each row. Signatures are invalid, and
outputs are created from nothing: no rule is verified, but the rows are exactly those that the store writes for
such blocks.
"""

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

from django.db import DEFAULT_DB_ALIAS, transaction

from platform_app import models
from platform_app.apps import platform_chain
from platform_app.state.chain import Diff
from platform_app.state.stakers import Priority, Staker
from platform_app.store import mempool
from platform_app.txs import staking, subnets
from platform_app.txs.base import BaseTx, Tx, TxStatus, UnsignedTx
from platform_app.txs.codec import build
from primitives.hashing import sha256
from primitives.ids import ID, PRIMARY_NETWORK_ID, NodeID, ShortID
from shared_app import models as shared_models
from tests.builders import platform, platform_rows, shared_outputs
from utxo.components import UTXO, OutputOwners, SignatureCredential, TransferOutput

NOW = 1_790_000_000
"""Unix seconds: the time of both the chain and the node."""
DAY = 86_400
COIN = platform.UNIT
PER_BLOCK = 100
GENESIS_UTXO = platform.utxo(7 * COIN, number=1)

_UNSIGNED = SignatureCredential((bytes(65),))


class Sizes(NamedTuple):
    """How many rows of each kind there are."""

    validators: int = 60
    delegators: int = 120
    pending: int = 55
    past: int = 55
    subnets: int = 55
    blockchains: int = 60
    members: int = 20
    """Validators of subnets, each on its own node."""
    transfers: int = 60
    exports: int = 55
    waiting: int = 60
    dropped: int = 60
    users: int = 55


def node(number: int) -> NodeID:
    """Return the node ID of a validator."""
    return NodeID(sha256(b"node %d" % number)[:20])


def past_node(number: int) -> NodeID:
    """Return the node ID of a validator that has left."""
    return NodeID(sha256(b"past node %d" % number)[:20])


def pending_node(number: int) -> NodeID:
    """Return the node ID of a pending validator."""
    return NodeID(sha256(b"pending node %d" % number)[:20])


def person(number: int) -> ShortID:
    """Return the address of a person."""
    return ShortID(sha256(b"person %d" % number)[:20])


def owners(number: int) -> OutputOwners:
    """Return a person as the only owner; for every fifth number, two of three persons."""
    if number % 5:
        return OutputOwners(0, 1, (person(number),))
    return OutputOwners(0, 2, tuple(sorted(person(number + step) for step in (0, 1, 2))))


def validator_tx(number: int) -> Tx:
    """Return the transaction that added a validator of the Primary Network."""
    start = NOW - (number * 37 % 300 + 1) * DAY
    return _stake_tx(
        staking.AddPermissionlessValidatorTx,
        platform.validator(
            node_id=node(number), start=start, end=start + 330 * DAY, weight=_stake(number)
        ),
        number,
    )


def delegator_tx(number: int, validators: int) -> Tx:
    """Return the transaction that added a delegator."""
    start = NOW - (number * 11 % 13 + 1) * DAY
    return _stake_tx(
        staking.AddPermissionlessDelegatorTx,
        platform.validator(
            node_id=node(number % validators),
            start=start,
            end=start + 15 * DAY,
            weight=(25 + number) * COIN,
        ),
        number,
    )


def pending_tx(number: int) -> Tx:
    """Return the transaction that added a pending validator."""
    start = NOW + (number % 13 + 1) * DAY
    return _stake_tx(
        staking.AddValidatorTx,
        platform.validator(
            node_id=pending_node(number), start=start, end=start + 30 * DAY, weight=2_000 * COIN
        ),
        number,
    )


def pending_delegator_tx(number: int, validators: int) -> Tx:
    """Return the transaction that added a pending delegator."""
    start = NOW + (number % 13 + 1) * DAY
    return _stake_tx(
        staking.AddDelegatorTx,
        platform.validator(
            node_id=node(number % validators), start=start, end=start + 5 * DAY, weight=25 * COIN
        ),
        number,
    )


def past_tx(number: int) -> Tx:
    """Return the transaction that added a past staker: a delegator for odd numbers."""
    end = NOW - (500 - number) * 600
    cls = staking.AddPermissionlessDelegatorTx if number % 2 else staking.AddValidatorTx
    return _stake_tx(
        cls,
        platform.validator(
            node_id=past_node(number // 2), start=end - 30 * DAY, end=end, weight=3_000 * COIN
        ),
        number,
    )


def subnet_tx(number: int) -> Tx:
    """Return the transaction that created a subnet."""
    return _tx(subnets.CreateSubnetTx, owner=owners(number), memo=b"subnet %d" % number)


def blockchain_tx(number: int, of: int) -> Tx:
    """Return the transaction that created a blockchain of one of `of` subnets."""
    return _tx(
        subnets.CreateChainTx,
        subnet_id=subnet_tx(number % of).tx_id,
        chain_name=f"Chain <{number}>",
        memo=b"chain %d" % number,
    )


def subnet_validator_tx(number: int, of: int) -> Tx:
    """Return the transaction that made a node a validator of one of `of` subnets."""
    period = platform.subnet_validator(
        node_id=node(number),
        subnet_id=subnet_tx(number % of).tx_id,
        start=NOW - 3 * DAY,
        end=NOW + 11 * DAY,
    )
    return _tx(subnets.AddSubnetValidatorTx, validator=period, memo=b"member %d" % number)


def transfer_tx(number: int) -> Tx:
    """Return a transfer with two outputs; in every seventh one they are locked."""
    locked: dict[str, Any] = {} if number % 7 else {"stakeable_until": NOW + DAY}
    made = (
        platform.output((number + 1) * COIN // 4, person(number), **locked),
        platform.output(COIN, person(0)),
    )
    return _tx(outputs=made, memo=b"transfer %d" % number)


def export_tx(number: int) -> Tx:
    """Return an export to the C-Chain."""
    exported = (platform.output((number + 1) * COIN, person(number)),)
    return _tx(
        subnets.ExportTx,
        destination_chain=platform.C_CHAIN_ID,
        exported_outputs=exported,
        memo=b"export %d" % number,
    )


def waiting_tx(number: int) -> Tx:
    """Return a pending transaction."""
    return _tx(
        inputs=(platform.spend(platform.utxo(COIN, number=1_000 + number)),),
        memo=b"waiting %d" % number,
    )


def dropped_id(number: int) -> ID:
    """Return the ID of a dropped transaction."""
    return platform.some_id(f"dropped {number}")


@transaction.atomic
def write_history(sizes: Sizes = Sizes()) -> None:  # noqa: B008  # a value
    """Write the whole history."""
    platform_rows.begin(
        platform_rows.producing(GENESIS_UTXO),
        lambda diff: diff.supplies.set(PRIMARY_NETWORK_ID, 400_000_000 * COIN),
        time=NOW - 2 * DAY,
    )
    _accept(_changes(sizes))
    for number in range(sizes.past):
        _reward(number)
    _finish()
    shared_outputs.receive(
        platform_chain().db,
        platform.X_CHAIN_ID,
        [platform.utxo(COIN, person(n), number=n) for n in range(5)],
        77,
    )
    mempool.add(platform_chain().db, map(waiting_tx, range(sizes.waiting)), NOW)
    mempool.drop(
        platform_chain().db, [(dropped_id(n), f"reason {n} <b>") for n in range(sizes.dropped)], NOW
    )
    models.KeystoreUser.objects.bulk_create(map(_user, range(sizes.users)))
    models.KeystoreKey.objects.bulk_create(_keys())


def erase_history() -> None:
    """Delete all rows of the P-Chain."""
    for model in _WRITTEN:
        model.objects.all()._raw_delete(DEFAULT_DB_ALIAS)


_WRITTEN: tuple[Any, ...] = (
    models.MempoolInput, models.MempoolTx, models.DroppedTx, models.KeystoreKey,
    models.KeystoreUser, models.StakeOutput, models.ValidatorUptime, models.Staker,
    models.SubnetOwner, models.Subnet, models.Blockchain, models.UTXOOwner, models.UTXO,
    shared_models.SharedOwner, shared_models.SharedOutput, shared_models.ChainTransfer,
    models.RewardUTXO, models.Supply, models.Tx, models.Block, models.Chain,
)  # fmt: skip

SALT, VERIFIER, SEALED = b"salt of a user", b"verifier of a password", b"sealed private key"


def _user(number: int) -> models.KeystoreUser:
    return models.KeystoreUser(
        name=f"user {number:03} <b>", salt=SALT, time_cost=3, memory_cost=65_536, parallelism=4,
        verifier=VERIFIER, created_at=NOW + number,
    )  # fmt: skip


def _keys() -> list[models.KeystoreKey]:
    return [
        models.KeystoreKey(user=user, address=person(place), sealed=SEALED)
        for count, user in enumerate(models.KeystoreUser.objects.order_by("name"))
        for place in range(count % 4)
    ]


def _changes(sizes: Sizes) -> Iterator[platform_rows.Change]:
    current = Priority.PRIMARY_VALIDATOR_CURRENT
    for number in range(sizes.validators):
        yield partial(_put, validator_tx(number), current)
    for number in range(sizes.subnets):
        yield partial(_add_subnet, subnet_tx(number))
    for number in range(sizes.blockchains):
        yield partial(_add_chain, blockchain_tx(number, sizes.subnets))
    for number in range(sizes.members):
        made = subnet_validator_tx(number, sizes.subnets)
        yield partial(_put, made, Priority.PERMISSIONED_VALIDATOR_CURRENT)
    for number in range(sizes.delegators):
        made = delegator_tx(number, sizes.validators)
        yield partial(_put, made, Priority.PRIMARY_DELEGATOR_CURRENT)
    for number in range(sizes.past):
        yield partial(_put, past_tx(number), current if number % 2 == 0 else _DELEGATES)
    for number in range(sizes.pending):
        yield partial(_put, pending_tx(number), Priority.PRIMARY_VALIDATOR_PENDING)
        made = pending_delegator_tx(number, sizes.validators)
        yield partial(_put, made, Priority.PRIMARY_DELEGATOR_SCHEDULED_PENDING)
    for number in range(sizes.transfers):
        yield partial(_add_outputs, transfer_tx(number))
    for number in range(sizes.exports):
        yield partial(_export, export_tx(number))


_DELEGATES = Priority.PRIMARY_DELEGATOR_CURRENT


def _accept(changes: Iterable[platform_rows.Change]) -> None:
    rest = iter(changes)
    while chunk := list(islice(rest, PER_BLOCK)):
        platform_rows.accept(*chunk, after=60)


def _put(tx: Tx, priority: Priority, diff: Diff) -> None:
    diff.txs.add(tx, TxStatus.COMMITTED)
    diff.stakers.put(_staker(tx, priority))


def _staker(tx: Tx, priority: Priority) -> Staker:
    unsigned: Any = tx.unsigned
    period = unsigned.validator
    on_subnet = isinstance(unsigned, subnets.AddSubnetValidatorTx)
    return Staker(
        tx_id=tx.tx_id,
        node_id=period.node_id,
        subnet_id=period.subnet_id if on_subnet else PRIMARY_NETWORK_ID,
        weight=period.weight,
        start=period.start,
        end=period.end,
        potential_reward=0 if on_subnet or priority.is_pending else period.weight // 50,
        priority=priority,
        public_key=getattr(getattr(unsigned, "signer", None), "public_key", None),
    )


def _add_subnet(tx: Tx, diff: Diff) -> None:
    unsigned: Any = tx.unsigned
    diff.txs.add(tx, TxStatus.COMMITTED)
    diff.subnets.add(tx.tx_id, unsigned.owner)


def _add_chain(tx: Tx, diff: Diff) -> None:
    diff.txs.add(tx, TxStatus.COMMITTED)
    diff.subnets.add_blockchain(tx)


def _add_outputs(tx: Tx, diff: Diff) -> None:
    unsigned: Any = tx.unsigned
    diff.txs.add(tx, TxStatus.COMMITTED)
    for index, made in enumerate(unsigned.outputs):
        diff.utxos.produce(UTXO(tx.tx_id, index, made.asset_id, made.output))


def _export(tx: Tx, diff: Diff) -> None:
    unsigned: Any = tx.unsigned
    diff.txs.add(tx, TxStatus.COMMITTED)
    for index, made in enumerate(unsigned.exported_outputs, start=len(unsigned.outputs)):
        utxo = UTXO(tx.tx_id, index, made.asset_id, made.output)
        diff.utxos.export(unsigned.destination_chain, utxo)


def _reward(number: int) -> None:
    """Remove a past staker; every third one gets no reward."""
    tx = past_tx(number)
    staker = _staker(tx, _DELEGATES if number % 2 else Priority.PRIMARY_VALIDATOR_CURRENT)
    paid = UTXO(tx.tx_id, 2, platform.ASSET_ID, TransferOutput(60 * COIN, owners(number)))

    def pay(diff: Diff) -> None:
        diff.utxos.produce(paid)
        diff.utxos.add_reward(tx.tx_id, paid)

    rewarded = number % 3 != 0
    platform_rows.reward(staker, *([pay] if rewarded else []), commit=rewarded)


def _finish() -> None:
    """Set the timestamp of the tip to the time of the node."""
    diff = Diff(platform_rows.DatabaseState(platform_chain().db))
    diff.clock.set_timestamp(NOW)
    platform_rows.accept_diff(diff)


def _stake(number: int) -> int:
    return (2_000 + number * 97 % 5_000) * COIN


def _stake_tx(cls: type[UnsignedTx], period: Any, number: int) -> Tx:
    made: dict[str, Any] = {"validator": period, "stake": platform.outputs(period.weight)}
    for name in _OWNERS.get(cls, ()):
        made[name] = owners(number)
    return _tx(cls, memo=b"staker %d" % number, **made)


_OWNERS: dict[type[UnsignedTx], tuple[str, ...]] = {
    staking.AddValidatorTx: ("rewards_owner",),
    staking.AddPermissionlessValidatorTx: ("validation_rewards_owner", "delegation_rewards_owner"),
    staking.AddDelegatorTx: ("rewards_owner",),
    staking.AddPermissionlessDelegatorTx: ("rewards_owner",),
}


def _tx(cls: type[UnsignedTx] = BaseTx, **fields: Any) -> Tx:
    made = platform.unsigned(cls, **fields)
    return build(made, (_UNSIGNED,) * platform.credential_count(made))

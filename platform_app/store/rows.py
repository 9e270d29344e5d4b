"""Conversion of transactions and outputs to the columns of rows, and back."""

from collections.abc import Iterable
from functools import lru_cache
from typing import Annotated, Any

from platform_app.state.stakers import Priority, Staker
from platform_app.txs.base import Tx, inner_input, inner_output
from platform_app.txs.codec import CODEC, GENESIS_CODEC, parse
from primitives.codec import INTERFACE, VERSION
from primitives.ids import ID, NodeID, ShortID
from utxo.components import UTXO, OutputOwners, TransferableInput, TransferableOutput, UtxoContent

_OUTPUT = Annotated[UtxoContent, INTERFACE]

STAKERS = """
SELECT tx_id, node_id, subnet_id, weight, start_time, end_time, potential_reward, priority,
       public_key
FROM platform_app_staker
"""
"""The start of a query whose rows `staker_of` reads."""

DELEGATORS = """
SELECT tx_id, weight, start_time, end_time, potential_reward, priority FROM platform_app_staker
WHERE phase < 3 AND is_delegator AND subnet_id = %s AND node_id = %s
"""
"""The query for a validator's delegators, pending and current; `delegators_of` reads its rows."""

_USUAL_OWNERS = 1024
"""Maximum size of cached owners in bytes; with thousands of addresses each they would fill the memory."""

_PRIORITIES = {priority.value: priority for priority in Priority}


def output_bytes(output: UtxoContent) -> bytes:
    """Return an output as serialised in transactions, with its type ID."""
    return CODEC.pack(output, _OUTPUT)


def output_of(data: bytes) -> UtxoContent:
    """Return the output stored in a column."""
    output: UtxoContent = CODEC.read(_OUTPUT, bytes(data), 0)[0]
    return output


def owners_bytes(owners: OutputOwners) -> bytes:
    """Return owners without their type ID."""
    return CODEC.pack(owners)


def owners_of(data: bytes) -> OutputOwners:
    """Return the owners stored in a column. They are cached, because many stakers have the same owners."""
    return _usual_owners(data) if len(data) <= _USUAL_OWNERS else _read_owners(data)


def _read_owners(data: bytes) -> OutputOwners:
    return CODEC.read(OutputOwners, data, 0)[0]


_usual_owners = lru_cache(maxsize=4096)(_read_owners)


def addresses_of(data: bytes) -> tuple[ShortID, ...]:
    """Return the owners' addresses of the output stored in a column."""
    return inner_output(output_of(data)).owners.addresses


def utxo_of(tx_id: bytes, index: int, asset_id: bytes, output: bytes) -> UTXO:
    """Return the UTXO of a row."""
    return UTXO(ID(bytes(tx_id)), index, ID(bytes(asset_id)), output_of(output))


def raw_stake(asset_id: bytes, output: bytes) -> bytes:
    """Return a staked output as clients get it, starting with the codec version."""
    return b"".join((VERSION, asset_id, output))


def staker_of(row: tuple[Any, ...]) -> Staker:
    """Return the staker of a row of `STAKERS`."""
    tx_id, node_id, subnet_id, weight, start, end, reward, priority, public_key = row
    return Staker(
        tx_id=ID(bytes(tx_id)),
        node_id=NodeID(bytes(node_id)),
        subnet_id=ID(bytes(subnet_id)),
        weight=int(weight),
        start=start,
        end=end,
        potential_reward=int(reward),
        priority=_PRIORITIES[priority],
        public_key=None if public_key is None else bytes(public_key),
    )


def delegators_of(
    validator_key: tuple[ID, NodeID], columns: Iterable[tuple[Any, ...]]
) -> list[Staker]:
    """Return the delegators of a validator from rows of `DELEGATORS`; optimised for thousands of rows."""
    subnet_id, node_id = validator_key
    return [
        Staker(
            ID(tx_id), node_id, subnet_id, int(weight), start, end, int(reward),
            _PRIORITIES[priority],
        )
        for tx_id, weight, start, end, reward, priority in columns
    ]  # fmt: skip


def accepted_tx(raw: bytes) -> Tx:
    """Return the transaction of a row. A genesis transaction may be of any size."""
    return parse(bytes(raw), GENESIS_CODEC)


def kind_of(tx: Tx) -> int:
    """Return the type ID of a transaction."""
    return CODEC.type_id(type(tx.unsigned))


def inputs_of(tx: Tx) -> tuple[TransferableInput, ...]:
    """Return all inputs of a transaction, those imported from another chain included."""
    return (*getattr(tx.unsigned, "inputs", ()), *getattr(tx.unsigned, "imported_inputs", ()))


def stake_of(tx: Tx) -> tuple[TransferableOutput, ...]:
    """Return the outputs that a transaction stakes."""
    return getattr(tx.unsigned, "stake", ())


def burned(tx: Tx, asset_id: ID) -> int:
    """Return the amount of an asset that a transaction spends but does not produce, stake or export."""
    unsigned = tx.unsigned
    outputs = (
        *getattr(unsigned, "outputs", ()),
        *stake_of(tx),
        *getattr(unsigned, "exported_outputs", ()),
    )
    spent = sum(
        inner_input(tx_input.input).amount
        for tx_input in inputs_of(tx)
        if tx_input.asset_id == asset_id
    )
    kept = sum(
        inner_output(output.output).amount for output in outputs if output.asset_id == asset_id
    )
    return max(0, spent - kept)  # genesis stake has no inputs

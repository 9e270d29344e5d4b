"""The staking history of a node, for its renewal."""

from typing import NamedTuple

from platform_app.chain import PlatformChain
from platform_app.models import TxKind
from platform_app.store import rows
from platform_app.txs.base import ProofOfPossession
from platform_app.txs.codec import parse
from platform_app.txs.l1 import AddAutoRenewedValidatorTx
from platform_app.txs.staking import AddPermissionlessValidatorTx, AddValidatorTx
from primitives.ids import PRIMARY_NETWORK_ID, NodeID
from utxo.components import OutputOwners

MAX_PERIODS = 100
"""The number of staking periods that are searched for a BLS key."""

_IS_VALIDATOR = """
SELECT 1 FROM platform_app_staker
WHERE phase < 3 AND NOT is_delegator AND subnet_id = %s AND node_id = %s
"""
_PERIODS = """
SELECT weight, shares, rewards_owner, delegation_rewards_owner, public_key, proof_of_possession
FROM platform_app_staker
WHERE node_id = %s AND subnet_id = %s AND NOT is_delegator ORDER BY position DESC LIMIT %s
"""
_PENDING_VALIDATOR_TXS = (
    "SELECT raw FROM platform_app_mempooltx WHERE kind IN (%s, %s, %s) AND {contains}"
)
# Far faster than parsing all of them, because an attacker could fill the mempool with such transactions.
_CONTAINS = {"sqlite": "instr(raw, %s) > 0", "postgresql": "position(%s IN raw) > 0"}


class Terms(NamedTuple):
    """The terms on which a validator of the Primary Network stakes."""

    weight: int
    shares: int
    """Delegation fee in millionths."""
    validation_rewards_owner: OutputOwners
    delegation_rewards_owner: OutputOwners
    signer: ProofOfPossession


def is_validator(chain: PlatformChain, node_id: NodeID) -> bool:
    """Return whether a node is a validator of the Primary Network, current or pending."""
    return chain.db.row(_IS_VALIDATOR, (PRIMARY_NETWORK_ID, node_id)) is not None


def has_pending_validator_tx(chain: PlatformChain, node_id: NodeID) -> bool:
    """Return whether a pending transaction would make a node a validator of the Primary Network."""
    kinds = (
        TxKind.ADD_VALIDATOR.value,
        TxKind.ADD_PERMISSIONLESS_VALIDATOR.value,
        TxKind.ADD_AUTO_RENEWED_VALIDATOR.value,
    )
    query = _PENDING_VALIDATOR_TXS.format(contains=_CONTAINS[chain.db.connection.vendor])
    waiting = chain.db.rows(query, (*kinds, node_id))
    return any(_added_node(bytes(raw)) == node_id for (raw,) in waiting)


def last_terms(chain: PlatformChain, node_id: NodeID) -> Terms | None:
    """Return the terms of a node's last staking period; None if it never staked or never had a BLS key.

    A period that was added without a key gets the key of the last period with one.
    """
    periods = chain.db.rows(_PERIODS, (node_id, PRIMARY_NETWORK_ID, MAX_PERIODS))
    keys = ((key, proof) for *_, key, proof in periods if key is not None)
    signer = next(keys, None)
    if signer is None:
        return None
    weight, shares, validation_owner, delegation_owner, *_ = periods[0]
    return Terms(
        int(weight),
        shares,
        rows.owners_of(validation_owner),
        rows.owners_of(delegation_owner),
        ProofOfPossession(*map(bytes, signer)),
    )


def _added_node(raw: bytes) -> bytes:
    """Return the node that a transaction makes a validator of the Primary Network."""
    unsigned = parse(raw).unsigned
    if isinstance(unsigned, AddAutoRenewedValidatorTx):
        return unsigned.node_id
    assert isinstance(unsigned, AddValidatorTx | AddPermissionlessValidatorTx)
    return unsigned.validator.node_id

"""Valid P-Chain objects in one call; a test changes one field and names the rule that is broken.

`unsigned(cls, **changes)` makes a transaction of any type, `signed(...)` signs it. Everything belongs to
`ADDRESS` (of `KEY`) and to the staking asset of network 12345, at the specification's scale.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from platform_app.config import DAY, UNIT, specification_config
from platform_app.txs import l1, staking, subnets
from platform_app.txs.base import (
    AuthInput,
    BaseTx,
    LockIn,
    LockOut,
    ProofOfPossession,
    StakingPeriod,
    SubnetValidator,
    Tx,
    UnsignedTx,
    inner_output,
)
from platform_app.txs.codec import CODEC, build, sign_bytes
from primitives import bls
from primitives.hashing import sha256
from primitives.ids import EVM_ID, ID, PRIMARY_NETWORK_ID, SECP256K1_FX_ID, NodeID, ShortID
from primitives.keys import address_of
from primitives.secp256k1 import sign_sha256
from primitives.warp import UnsignedMessage, build_signed
from utxo.components import (
    UTXO,
    OutputOwners,
    SignatureCredential,
    TransferableInput,
    TransferableOutput,
    TransferInput,
    TransferOutput,
)
from utxo.well_formed import sort_outputs

NETWORK_ID = 12345
CONFIG = specification_config(NETWORK_ID)
NOW = 1_700_000_000
"""Unix seconds: the time of the chain in tests that need one."""

KEYS = tuple(sorted((sha256(b"key %d" % number) for number in range(5)), key=address_of))
"""Private keys in the order of their addresses, so that key i is owner i."""
ADDRESSES = tuple(map(address_of, KEYS))
KEY, ADDRESS = KEYS[0], ADDRESSES[0]


def some_id(name: str) -> ID:
    """Return an ID derived from a name."""
    return ID(sha256(name.encode()))


ASSET_ID = some_id("staking asset")
OTHER_ASSET_ID = some_id("another asset")
X_CHAIN_ID = some_id("X-Chain")
C_CHAIN_ID = some_id("C-Chain")
SUBNET_ID = some_id("subnet")
NODE_ID = NodeID(sha256(b"node")[:20])


def owners(*addresses: ShortID, threshold: int = 1, locktime: int = 0) -> OutputOwners:
    """Return owners; without arguments, `ADDRESS`."""
    return OutputOwners(locktime, threshold, tuple(sorted(addresses or (ADDRESS,))))


def transfer_output(amount: int = UNIT, *addresses: ShortID, **of_owners: int) -> TransferOutput:
    """Return an output of an amount."""
    return TransferOutput(amount, owners(*addresses, **of_owners))


def output(
    amount: int = UNIT,
    *addresses: ShortID,
    asset_id: ID = ASSET_ID,
    stakeable_until: int | None = None,
    **of_owners: int,
) -> TransferableOutput:
    """Return an output of an amount of an asset, with a stakeable lock if a time is given."""
    transfer = transfer_output(amount, *addresses, **of_owners)
    locked = transfer if stakeable_until is None else LockOut(stakeable_until, transfer)
    return TransferableOutput(asset_id, locked)


def outputs(*amounts: int) -> tuple[TransferableOutput, ...]:
    """Return outputs of these amounts, sorted."""
    return sort_outputs(map(output, amounts), CODEC)


def utxo(amount: int = UNIT, *addresses: ShortID, number: int = 0, **of_output: Any) -> UTXO:
    """Return an unspent output; each number gives a different one."""
    made = output(amount, *addresses, **of_output)
    return UTXO(some_id(f"funds {number}"), number, made.asset_id, made.output)


def spend(spent: UTXO, *, locked: bool = True) -> TransferableInput:
    """Return an input that spends an output, signed by the first of its owners.

    For an output with a stakeable lock it is a locked input, unless `locked` is false.
    """
    inner = inner_output(spent.output)
    transfer = TransferInput(inner.amount, tuple(range(inner.owners.threshold)))
    if locked and isinstance(spent.output, LockOut):
        return TransferableInput(
            spent.tx_id, spent.output_index, spent.asset_id, LockIn(spent.output.locktime, transfer)
        )
    return TransferableInput(spent.tx_id, spent.output_index, spent.asset_id, transfer)


def spend_all(*spent: UTXO) -> tuple[TransferableInput, ...]:
    """Return the sorted inputs that spend outputs."""
    return tuple(sorted(map(spend, spent), key=lambda made: (made.tx_id, made.output_index)))


def validator(**changes: Any) -> StakingPeriod:
    """Return a validator that stakes 2,000 coins for two weeks, starting soon."""
    fields: dict[str, Any] = {
        "node_id": NODE_ID,
        "start": NOW + 60,
        "end": NOW + 60 + 14 * DAY,
        "weight": CONFIG.min_validator_stake,
    }
    return StakingPeriod(**{**fields, **changes})


def subnet_validator(**changes: Any) -> SubnetValidator:
    """Return a validator of a subnet for two weeks."""
    fields: dict[str, Any] = {
        "node_id": NODE_ID,
        "start": NOW + 60,
        "end": NOW + 60 + 14 * DAY,
        "weight": 20,
        "subnet_id": SUBNET_ID,
    }
    return SubnetValidator(**{**fields, **changes})


@lru_cache(maxsize=64)
def proof_of_possession(number: int = 1) -> ProofOfPossession:
    """Return a BLS key and its proof; each number gives a different key."""
    secret = number.to_bytes(32, "big")
    return ProofOfPossession(bls.public_key(secret), bls.prove_possession(secret))


def unsigned(cls: type[UnsignedTx] = BaseTx, **changes: Any) -> Any:
    """Return a well-formed transaction of a type with the changes."""
    return cls(**{**_FIELDS[cls](), **changes})


def signed(
    tx: UnsignedTx | type[UnsignedTx] = BaseTx,
    keys: Sequence[Sequence[bytes]] | None = None,
    **changes: Any,
) -> Tx:
    """Sign a transaction, or a new one of a type; `keys` lists the keys of each credential."""
    made = unsigned(tx, **changes) if isinstance(tx, type) else tx
    digest = sha256(sign_bytes(made))
    of_credentials = [[KEY]] * credential_count(made) if keys is None else keys
    return build(
        made,
        tuple(
            SignatureCredential(tuple(sign_sha256(digest, key) for key in of_one))
            for of_one in of_credentials
        ),
    )


def credential_count(tx: Any) -> int:
    """Return how many credentials a transaction has: one for each input, one for authorization."""
    spent = len(getattr(tx, "inputs", ())) + len(getattr(tx, "imported_inputs", ()))
    authorizations = {"subnet_authorization", "disable_authorization", "auth"}
    return spent + any(hasattr(tx, name) for name in authorizations)


def warp_message() -> bytes:
    """Return a signed warp message from one signer."""
    message = UnsignedMessage(NETWORK_ID, C_CHAIN_ID, b"payload")
    return build_signed(message, signers=1, signature=bytes(96))


def every_type() -> tuple[type[UnsignedTx], ...]:
    """Return all types of transactions."""
    return tuple(_FIELDS)


def _base() -> dict[str, Any]:
    return {
        "network_id": NETWORK_ID,
        "blockchain_id": PRIMARY_NETWORK_ID,
        "outputs": outputs(UNIT),
        "inputs": spend_all(utxo(2 * UNIT)),
        "memo": b"",
    }


def _with(**fields: Callable[[], Any]) -> Callable[[], dict[str, Any]]:
    return lambda: _base() | {name: make() for name, make in fields.items()}


def _auth() -> AuthInput:
    return AuthInput((0,))


def _validator_stake() -> tuple[TransferableOutput, ...]:
    return outputs(CONFIG.min_validator_stake)


def _delegator() -> StakingPeriod:
    return validator(weight=CONFIG.min_delegator_stake)


def _delegator_stake() -> tuple[TransferableOutput, ...]:
    return outputs(CONFIG.min_delegator_stake)


def _l1_validator() -> l1.ConvertSubnetToL1Validator:
    owner = l1.PChainOwner(1, (ADDRESS,))
    return l1.ConvertSubnetToL1Validator(
        bytes(NODE_ID), 100, UNIT, proof_of_possession(), owner, owner
    )


_FIELDS: dict[type[UnsignedTx], Callable[[], dict[str, Any]]] = {
    BaseTx: _with(),
    staking.AddValidatorTx: _with(
        validator=validator,
        stake=_validator_stake,
        rewards_owner=owners,
        shares=lambda: CONFIG.min_delegation_fee,
    ),
    staking.AddDelegatorTx: _with(
        validator=_delegator, stake=_delegator_stake, rewards_owner=owners
    ),
    staking.AddPermissionlessValidatorTx: _with(
        validator=validator,
        subnet_id=lambda: PRIMARY_NETWORK_ID,
        signer=proof_of_possession,
        stake=_validator_stake,
        validation_rewards_owner=owners,
        delegation_rewards_owner=owners,
        shares=lambda: CONFIG.min_delegation_fee,
    ),
    staking.AddPermissionlessDelegatorTx: _with(
        validator=_delegator,
        subnet_id=lambda: PRIMARY_NETWORK_ID,
        stake=_delegator_stake,
        rewards_owner=owners,
    ),
    staking.AdvanceTimeTx: lambda: {"time": NOW},
    staking.RewardValidatorTx: lambda: {"tx_id": some_id("staker")},
    subnets.CreateSubnetTx: _with(owner=owners),
    subnets.AddSubnetValidatorTx: _with(validator=subnet_validator, subnet_authorization=_auth),
    subnets.RemoveSubnetValidatorTx: _with(
        node_id=lambda: NODE_ID, subnet_id=lambda: SUBNET_ID, subnet_authorization=_auth
    ),
    subnets.TransferSubnetOwnershipTx: _with(
        subnet_id=lambda: SUBNET_ID, subnet_authorization=_auth, new_owner=owners
    ),
    subnets.TransformSubnetTx: _with(
        subnet_id=lambda: SUBNET_ID,
        asset_id=lambda: OTHER_ASSET_ID,
        initial_supply=lambda: 1_000,
        maximum_supply=lambda: 2_000,
        min_consumption_rate=lambda: 100_000,
        max_consumption_rate=lambda: 120_000,
        min_validator_stake=lambda: 10,
        max_validator_stake=lambda: 500,
        min_stake_duration=lambda: DAY,
        max_stake_duration=lambda: 365 * DAY,
        min_delegation_fee=lambda: 20_000,
        min_delegator_stake=lambda: 1,
        max_validator_weight_factor=lambda: 5,
        uptime_requirement=lambda: 800_000,
        subnet_authorization=_auth,
    ),
    subnets.CreateChainTx: _with(
        subnet_id=lambda: SUBNET_ID,
        chain_name=lambda: "A chain",
        vm_id=lambda: EVM_ID,
        fx_ids=lambda: (SECP256K1_FX_ID,),
        genesis_data=lambda: b"genesis",
        subnet_authorization=_auth,
    ),
    subnets.ImportTx: lambda: {
        **_base(),
        "source_chain": X_CHAIN_ID,
        "imported_inputs": spend_all(utxo(number=7)),
    },
    subnets.ExportTx: _with(
        destination_chain=lambda: X_CHAIN_ID, exported_outputs=lambda: outputs(UNIT // 2)
    ),
    l1.ConvertSubnetToL1Tx: _with(
        subnet_id=lambda: SUBNET_ID,
        chain_id=lambda: C_CHAIN_ID,
        address=lambda: bytes(ADDRESS),
        validators=lambda: (_l1_validator(),),
        subnet_authorization=_auth,
    ),
    l1.RegisterL1ValidatorTx: _with(
        balance=lambda: UNIT,
        proof_of_possession=lambda: proof_of_possession().proof_of_possession,
        message=warp_message,
    ),
    l1.SetL1ValidatorWeightTx: _with(message=warp_message),
    l1.IncreaseL1ValidatorBalanceTx: _with(
        validation_id=lambda: some_id("validation"), balance=lambda: UNIT
    ),
    l1.DisableL1ValidatorTx: _with(
        validation_id=lambda: some_id("validation"), disable_authorization=_auth
    ),
    l1.AddAutoRenewedValidatorTx: _with(
        node_id=lambda: bytes(NODE_ID),
        signer=proof_of_possession,
        stake=_validator_stake,
        validation_rewards_owner=owners,
        delegation_rewards_owner=owners,
        validator_authority=owners,
        delegation_shares=lambda: CONFIG.min_delegation_fee,
        auto_compound_reward_shares=lambda: 500_000,
        period=lambda: 14 * DAY,
    ),
    l1.SetAutoRenewedValidatorConfigTx: _with(
        tx_id=lambda: some_id("staker"),
        auth=_auth,
        auto_compound_reward_shares=lambda: 500_000,
        period=lambda: 14 * DAY,
    ),
    l1.RewardAutoRenewedValidatorTx: lambda: {"tx_id": some_id("staker"), "timestamp": NOW},
}
"""The fields of a well-formed transaction of each type."""

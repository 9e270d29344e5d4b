"""L1 validators: platform.getL1Validator, and their records among the validators of a subnet (etna.md 10)."""

from collections.abc import Collection, Sequence

from platform_app.api.errors import NOT_FOUND, refused
from platform_app.api.rpc import PlatformRpc
from platform_app.api.wire import Json
from platform_app.executor.l1 import balance_of
from platform_app.selectors import l1_validators
from platform_app.state.l1_validators import L1Fees, L1Validator
from platform_app.txs.l1 import PChainOwner
from primitives.ids import ID, NodeID


def get_l1_validator(rpc: PlatformRpc, validation_id: ID) -> Json:
    """platform.getL1Validator: a validator of an L1, active or not, with the balance after the last accepted block."""
    validator = l1_validators.validator(rpc.chain, validation_id)
    if validator is None:
        raise refused(f'fetching L1 validator "{validation_id}" failed: {NOT_FOUND}')
    record = _record(rpc, validator, l1_validators.fees(rpc.chain))
    return record | {
        "subnetID": str(validator.subnet_id),
        "height": str(rpc.chain.tip().height),
    }


def records_of(rpc: PlatformRpc, subnet_id: ID, node_ids: Collection[NodeID]) -> Sequence[Json]:
    """Return the records of an L1's validators, all or those of given nodes; none for any other subnet."""
    fees = l1_validators.fees(rpc.chain)
    return [
        _record(rpc, validator, fees)
        for validator in l1_validators.of_subnet(rpc.chain, subnet_id)
        if not node_ids or validator.node_id in node_ids
    ]


def _record(rpc: PlatformRpc, validator: L1Validator, fees: L1Fees) -> dict[str, object]:
    return {
        "nodeID": rpc.node_text(validator.node_id),
        "weight": str(validator.weight),
        "startTime": str(validator.start),
        "validationID": str(validator.validation_id),
        "publicKey": "0x" + validator.public_key.hex(),
        "remainingBalanceOwner": _owner(rpc, validator.remaining_balance_owner),
        "deactivationOwner": _owner(rpc, validator.deactivation_owner),
        "minNonce": str(validator.min_nonce),
        "balance": str(balance_of(validator, fees)),
    }


def _owner(rpc: PlatformRpc, owner: PChainOwner) -> Json:
    return {
        "locktime": "0",
        "threshold": str(owner.threshold),
        "addresses": [rpc.address(address) for address in owner.addresses],
    }

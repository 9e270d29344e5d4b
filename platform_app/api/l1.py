"""L1 validators: platform.getL1Validator, and their records among the validators of a subnet (etna.md 10)."""

from collections.abc import Collection, Sequence

from platform_app.api.errors import NOT_FOUND, refused, saying
from platform_app.api.rpc import PlatformRpc
from platform_app.api.wire import Json
from platform_app.executor.l1 import balance_of
from platform_app.selectors import l1_validators
from platform_app.services import signatures
from platform_app.state.l1_validators import L1Fees, L1Validator
from platform_app.txs.l1 import PChainOwner
from primitives.ids import ID, NodeID
from primitives.warp import parse_unsigned


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


def aggregate_signatures(  # noqa: PLR0917  # arguments come by position
    rpc: PlatformRpc,
    message: bytes,
    justification: bytes,
    subnet_id: ID,
    percentage: int,
    height: int | None,
) -> Json:
    """platform.aggregateSignatures: a statement of the P-Chain about an L1, signed by enough validators.

    The message is unsigned, as the pages of an L1 and of its validators show it. This node signs what is true in its
    last accepted state, and asks the connected validators for their signatures. With a `pChainHeight`, such as that
    of the receiving chain's epoch, the validators at this height sign; by default those after the last accepted block.

    Unspecified: the reference leaves that to a program of its own (signature-aggregator), whose arguments these are.
    """
    if not message:
        raise refused("argument 'message' not given")
    if not 0 < percentage <= 100:
        raise refused("argument 'quorumPercentage' must be between 1 and 100")
    with saying("failed to parse warp unsigned message"):
        unsigned = parse_unsigned(message)
    if rpc.signatures is None:
        raise refused("this process signs no messages")
    signed = signatures.aggregate_signatures(
        rpc.chain,
        rpc.signatures,
        unsigned,
        justification,
        subnet_id=subnet_id,
        percentage=percentage,
        height=height,
    )
    return {"signedMessage": "0x" + signed.hex()}


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

"""L1s and their validators as the vectors of tests/vectors/etna show them."""

from typing import Any

from platform_app.state.l1_validators import Conversion, Expiry, L1Fees, L1Validator
from platform_app.txs.l1 import PChainOwner
from primitives.codec import Codec
from primitives.ids import ID, NodeID
from tests.builders.l1_state import MemoryL1s

OWNERS = Codec({})


def key_of(uncompressed: str) -> bytes:
    """Return the compressed form of a BLS key: its x coordinate, and flags (compressed, sign of y)."""
    raw = bytes.fromhex(uncompressed)
    x, y = raw[:48], int.from_bytes(raw[48:], "big")
    modulus = 0x1A0111EA397FE69A4B1BA7B6434BACD764774B84F38512BF6730D2A0F6B0F6241EABFFFEB153FFFFB9FEFFFFFFFFAAAB
    flags = 0x80 | (0x20 if y > (modulus - 1) // 2 else 0)
    return bytes([x[0] | flags]) + x[1:]


def owner_of(text: str) -> PChainOwner:
    return OWNERS.unmarshal(PChainOwner, bytes.fromhex(text))


def validator_of(record: dict[str, Any]) -> L1Validator:
    return L1Validator(
        validation_id=ID.parse(record["validationID"]),
        subnet_id=ID.parse(record["subnetID"]),
        node_id=NodeID.parse(record["nodeID"]),
        public_key=key_of(record["publicKey"]),
        remaining_balance_owner=owner_of(record["remainingBalanceOwner"]),
        deactivation_owner=owner_of(record["deactivationOwner"]),
        start=record["startTime"],
        weight=record["weight"],
        min_nonce=record["minNonce"],
        end_accumulated_fee=record["endAccumulatedFee"],
    )


def l1s_of(state: dict[str, Any]) -> MemoryL1s:
    return MemoryL1s(
        map(validator_of, state["l1Validators"]),
        [
            (
                ID.parse(subnet_id),
                Conversion(
                    ID.parse(item["conversionID"]),
                    ID.parse(item["managerChainID"]),
                    bytes.fromhex(item["managerAddress"]),
                ),
            )
            for subnet_id, item in state["conversions"].items()
        ],
        [Expiry(item["timestamp"], ID.parse(item["validationID"])) for item in state["expiries"]],
        L1Fees(state["l1Excess"], state["accruedFees"]),
    )

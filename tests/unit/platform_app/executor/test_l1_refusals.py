"""Registrations of L1 validators and sources of messages that are refused, in words that no vector has (etna.md 6, 7)."""

from dataclasses import replace

import pytest

from platform_app.config import UNIT, Env
from platform_app.executor.standard import execute
from platform_app.executor.warp import subnet_of, verify_warp_message
from platform_app.state.chain import Diff
from platform_app.state.l1_validators import Conversion
from platform_app.txs.base import Tx, TxStatus
from platform_app.txs.l1 import PChainOwner, RegisterL1ValidatorTx
from platform_app.txs.subnets import CreateSubnetTx
from platform_app.txs.warp import RegisterL1Validator, build_l1_message
from primitives.ids import PRIMARY_NETWORK_ID
from primitives.warp import (
    AddressedCall,
    UnsignedMessage,
    build_payload,
    build_signed,
    canonical_set,
)
from tests.builders import platform
from tests.builders.l1_state import MemoryL1s
from tests.builders.platform_state import MemoryState, env
from utxo.errors import InvalidTx

SUBNET = platform.SUBNET_ID
CHAIN = platform.some_id("the manager's chain")
MANAGER = b"m" * 20
PROOF = platform.proof_of_possession()
FUNDS = platform.utxo(2 * UNIT)
OWNER = PChainOwner(1, (platform.ADDRESSES[0],))
CONVERTED = Conversion(platform.some_id("conversion"), CHAIN, MANAGER)


@pytest.fixture
def state() -> MemoryState:
    """A state with an L1 and a coin."""
    made = MemoryState(
        l1s=MemoryL1s(conversions=[(SUBNET, CONVERTED)]), blockchains={CHAIN: SUBNET}
    )
    made.fund(FUNDS)
    return made


def request(**changes: object) -> RegisterL1Validator:
    """Return a registration that would be accepted, with changed fields."""
    found = RegisterL1Validator(
        SUBNET, bytes(platform.NODE_ID), PROOF.public_key, platform.NOW + 60, OWNER, OWNER, 7
    )
    return replace(found, **changes)  # type: ignore[arg-type]


def registration(
    content: RegisterL1Validator, signers: int = 0, signature: bytes = bytes(96)
) -> Tx:
    call = AddressedCall(MANAGER, build_l1_message(content))
    message = UnsignedMessage(platform.NETWORK_ID, CHAIN, build_payload(call))
    return platform.signed(
        RegisterL1ValidatorTx,
        inputs=platform.spend_all(FUNDS),
        outputs=(),
        balance=0,
        proof_of_possession=PROOF.proof_of_possession,
        message=build_signed(message, signers, signature),
    )


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (request(subnet_id=PRIMARY_NETWORK_ID), "invalid subnet ID"),
        (request(node_id=bytes(20)), "invalid node ID: empty nodeID is disallowed"),
        (
            request(subnet_id=platform.some_id("no L1")),
            f"could not load subnet conversion for {platform.some_id('no L1')} with: not found",
        ),
        (
            request(expiry=platform.NOW),
            f"warp message expired at {platform.NOW} and it is currently {platform.NOW}",
        ),
    ],
)
def test_registration_is_refused_by_its_content(
    state: MemoryState, content: RegisterL1Validator, words: str
) -> None:
    with pytest.raises(InvalidTx) as refused:
        execute(registration(content), Diff(state), env())

    assert str(refused.value) == words


def test_message_of_something_else_than_a_blockchain_is_refused(state: MemoryState) -> None:
    subnet = platform.signed(CreateSubnetTx)
    state.txs.accept([(subnet, TxStatus.COMMITTED)])
    nobody = platform.some_id("nobody")

    assert subnet_of(CHAIN, state, env()) == SUBNET
    with pytest.raises(InvalidTx, match=f'^"{subnet.tx_id}" is not a blockchain$'):
        subnet_of(subnet.tx_id, state, env())
    with pytest.raises(InvalidTx, match=f'^problem retrieving blockchain "{nobody}": not found$'):
        subnet_of(nobody, state, env())


def test_signature_that_is_no_point_is_refused(state: MemoryState) -> None:
    validators = canonical_set([(PROOF.public_key, 1)])
    checked: Env = replace(env(), signers=lambda *_: validators)
    tx = registration(request(), signers=1, signature=b"\xff" * 96)

    with pytest.raises(InvalidTx, match=r"^failed to parse signature: "):
        verify_warp_message(tx.unsigned, state, checked)

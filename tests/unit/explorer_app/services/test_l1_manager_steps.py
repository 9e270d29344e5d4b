"""Steps of a creation that cannot succeed any more end with a reason."""

from types import SimpleNamespace
from typing import Any

import pytest

from explorer_app.managers import contract
from explorer_app.managers.contract import ValidationStatus
from explorer_app.managers.ports import CallRefused, ValidatorIdentity
from explorer_app.services.l1_manager_steps import ManagerSteps
from explorer_app.services.l1_node import NotCreated
from explorer_app.services.l1_terms import PAYER, L1Terms
from primitives.ids import ID, NodeID

OWNER = "0x" + "0a" * 20
EXPIRY = 1_700_043_200
SUBNET, CHAIN, VALIDATION = (ID(bytes((number,)) * 32) for number in (1, 2, 3))
SECOND = ValidatorIdentity(NodeID(b"\x05" * 20), b"\x07" * 48, b"\x08" * 96)


class Account:
    """The account on the L1's chain: the manager has a pending request, and its transactions fail."""

    def __init__(self) -> None:
        self.sent: list[bytes] = []

    def read(self, to: bytes, data: bytes) -> bytes:
        if data == contract.getter("owner"):
            return bytes(12) + PAYER
        assert data == contract.get_validation_id(SECOND.node_id)
        return bytes(VALIDATION)

    def ask(self, method: str, *params: object) -> Any:
        if method != "eth_getLogs":
            raise CallRefused(method)
        return [{"data": f"0x{'0c' * 32}{EXPIRY:064x}{20:064x}"}]

    def send(self, to: bytes, data: bytes, *, value: int = 0) -> dict[str, str]:
        self.sent.append(data)
        return {"status": "0x0", "transactionHash": "0xab"}


def call(path: str, method: str, *params: object) -> Any:
    assert method == "platform.getL1Validator"
    raise CallRefused("platform.getL1Validator: not found")


def steps(now: int, monkeypatch: pytest.MonkeyPatch) -> tuple[ManagerSteps, Account]:
    tools: Any = SimpleNamespace(call=call)
    user: Any = None
    made = ManagerSteps(
        tools,
        L1Terms("Mine", 9_009, OWNER, "poa", 100, 1),
        SUBNET,
        CHAIN,
        user,
        network_id=12345,
        converted_at=1,
        now=lambda: now,
        travel=None,
        report=lambda step: None,
    )
    account = Account()
    monkeypatch.setattr(made, "_account", account)
    pending = SimpleNamespace(status=ValidationStatus.PENDING_ADDED)
    monkeypatch.setattr(made, "_validator", lambda validation_id: pending)
    return made, account


def test_a_request_that_has_expired_ends_the_creation(monkeypatch: pytest.MonkeyPatch) -> None:
    made, account = steps(EXPIRY, monkeypatch)
    words = r"request for the second validator expired at 2023-11-15T10:13:20Z, .*: delete Mine and"

    with pytest.raises(NotCreated, match=words):
        made._register(SECOND)

    assert not account.sent
    made, _ = steps(EXPIRY - 1, monkeypatch)
    with pytest.raises(CallRefused, match=r"^warp_getMessageAggregateSignature$"):
        made._register(SECOND)


def test_a_failed_transfer_of_the_manager_ends_the_creation(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made, account = steps(0, monkeypatch)

    with pytest.raises(NotCreated, match=r"^transaction 0xab of the manager failed$"):
        made._hand_over()

    assert account.sent == [contract.transfer_ownership(bytes.fromhex(OWNER[2:]))]  # type: ignore[arg-type]

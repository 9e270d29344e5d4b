"""A chain with the validator manager contract, in memory: one block for each call, on either engine."""

from dataclasses import dataclass, field
from typing import Any

from eth_abi.abi import decode

from cchain_app.evm.engine import CallMessage, Log
from cchain_app.evm.tracing import TracingEngine
from cchain_app.precompiles import addresses, predicates
from cchain_app.precompiles.sent import sent_messages
from explorer_app.managers import contract
from explorer_app.managers.contract import (
    MANAGER_ADDRESS,
    TERMS,
    ManagerKind,
    StakeTerms,
)
from platform_app.txs.l1 import PChainOwner
from platform_app.txs.warp import (
    ConversionData,
    ConversionValidator,
    L1Message,
    L1ValidatorRegistration,
    RegisterL1Validator,
    SubnetToL1Conversion,
    build_l1_message,
    initial_validation_id,
    parse_l1_message,
)
from primitives.evm import Address, Slot
from primitives.ids import ID, P_CHAIN_ID, NodeID
from primitives.warp import (
    AddressedCall,
    UnsignedMessage,
    build_payload,
    build_signed,
    parse_payload,
)
from tests.builders.cchain import BASE_FEE, SENDERS, MemoryState, transaction
from tests.builders.stateful import CHAIN, NETWORK, stateful_env, stateful_state

OWNER, STAKER, STRANGER = 0, 1, 2
"""Senders by index."""
SUBNET = ID(b"\x11" * 32)
FIRST, SECOND, THIRD = (NodeID(bytes((number,)) * 20) for number in (1, 2, 3))
KEY = b"\x07" * 48
TIME = 1_700_000_000
HALF_A_DAY = 12 * 60 * 60
OF_P_OWNERS = [b"\x09" * 20, b"\x05" * 20]
P_OWNER = PChainOwner(1, tuple(sorted(OF_P_OWNERS)))  # type: ignore[arg-type]
CONVERSION = ConversionData(
    SUBNET,
    ID(CHAIN),
    MANAGER_ADDRESS,
    (ConversionValidator(bytes(FIRST), KEY, 100), ConversionValidator(bytes(THIRD), KEY, 40)),
)
CONVERTED = initial_validation_id(SUBNET, 0)
"""The first validation of the conversion."""
REGISTER = contract.initiate_registration(SECOND, KEY, OF_P_OWNERS, 20)


@dataclass
class ManagedL1:
    """A chain with the contract, one block for each call."""

    engine: TracingEngine
    terms: StakeTerms
    time: int = TIME
    state: MemoryState = field(default_factory=stateful_state)
    number: int = 5
    logs: tuple[Log, ...] = ()
    """Of the last call."""

    def __post_init__(self) -> None:
        self.state.put(
            MANAGER_ADDRESS,
            nonce=1,
            code=contract.code(),
            storage=contract.storage(SENDERS[OWNER], self.terms),
        )

    def call(
        self,
        data: bytes,
        sender: int = OWNER,
        *,
        value: int = 0,
        said: L1Message | bytes | None = None,
        holds: bool = True,
        to: Address = MANAGER_ADDRESS,
        **given: Any,
    ) -> bool:
        """Send a transaction, perhaps with a message of the P-Chain; return whether it succeeded."""
        account = self.state.account(SENDERS[sender])
        sent = transaction(
            sender,
            to=to,
            data=data,
            value=value,
            gas=3_000_000,
            nonce=0 if account is None else account.nonce,
            max_fee_per_gas=2 * BASE_FEE,
            access_list=() if said is None else (self.message(said, **given),),
        )
        failed = {} if holds else {sent.hash: 1}
        self.number += 1
        env = stateful_env(failed=failed, timestamp=self.time, number=self.number)
        block = self.engine.execute_block(env, [sent], self.state, skip_invalid=False)
        self.state.apply(block.changes)
        (result,) = block.results
        self.logs = result.logs
        return result.succeeded

    def message(
        self, said: L1Message | bytes, *, source: ID = P_CHAIN_ID, address: bytes = b""
    ) -> Any:
        """Return the entry of an access list."""
        content = said if isinstance(said, bytes) else build_l1_message(said)
        payload = build_payload(AddressedCall(address, content))
        raw = build_signed(UnsignedMessage(NETWORK, source, payload), 1, b"\x01" * 96)
        return addresses.WARP, tuple(map(Slot, predicates.pack(raw)))

    def read(self, data: bytes, sender: int = STRANGER, value: int = 0) -> bytes:
        """Return the output of a call."""
        return self._called(data, sender, value).output

    def refusal(self, data: bytes, sender: int = OWNER, value: int = 0) -> str:
        """Return the words of a revert."""
        result = self._called(data, sender, value)
        assert result.error is not None
        (words,) = decode(["string"], result.output[4:])
        return str(words)

    def _called(self, data: bytes, sender: int, value: int) -> Any:
        env = stateful_env(timestamp=self.time, number=self.number)
        message = CallMessage(SENDERS[sender], MANAGER_ADDRESS, 3_000_000, 0, value, data)
        return self.engine.call(env, message, self.state)

    def sent(self) -> L1Message:
        """Return the request of the last call to the P-Chain."""
        (sent,) = sent_messages(self.logs)
        call = parse_payload(sent.message.payload)
        assert isinstance(call, AddressedCall)
        assert call.source_address == MANAGER_ADDRESS
        return parse_l1_message(call.payload)

    def validator(self, validation_id: ID) -> contract.ManagedValidator:
        return contract.read_validator(self.read(contract.get_validator(validation_id)))

    @property
    def weight(self) -> int:
        return int.from_bytes(self.read(contract.getter("l1TotalWeight")), "big")

    def balance(self, sender: int) -> int:
        account = self.state.account(SENDERS[sender])
        assert account is not None
        return account.balance

    def begin(self) -> "ManagedL1":
        """Take the validators of the conversion."""
        data = contract.initialize_validator_set(CONVERSION)
        assert self.call(data, STRANGER, said=SubnetToL1Conversion(CONVERSION.conversion_id))
        return self

    def register(self, sender: int = OWNER, value: int = 0) -> ID:
        """Ask for the second validator, let the P-Chain add it, and return the validation."""
        assert self.call(REGISTER, sender, value=value)
        asked = self.sent()
        assert isinstance(asked, RegisterL1Validator)
        added = L1ValidatorRegistration(asked.validation_id, True)
        assert self.call(contract.complete_registration(), STRANGER, said=added)
        return asked.validation_id


def authority(engine: TracingEngine) -> ManagedL1:
    return ManagedL1(engine, TERMS[ManagerKind.AUTHORITY])


def stake(engine: TracingEngine) -> ManagedL1:
    return ManagedL1(engine, TERMS[ManagerKind.STAKE])

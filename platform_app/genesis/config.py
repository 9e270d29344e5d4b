"""The genesis file that people write, in the reference implementation's JSON format.

It is read and written here; `building` converts it to genesis bytes. Amounts are in the smallest unit, times in
Unix seconds, durations in seconds (pchain.md 10.2). Pure.
"""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

from platform_app.genesis.errors import GenesisError, PlatformGenesisReason
from platform_app.txs.base import ProofOfPossession
from primitives.addresses import AddressError, format_address, parse_address
from primitives.cb58 import Cb58Error
from primitives.ids import IdError, NodeID, ShortID
from primitives.networks import hrp_of
from primitives.uint64 import MAX


@dataclass(frozen=True, slots=True)
class JsonField:
    """A value in a decoded JSON document. Errors name the place of the value.

    Every method raises GenesisError for a value of the wrong type and for a field that is absent or null.
    """

    value: object
    path: str = ""

    def field(self, name: str) -> "JsonField":
        """Return a field of an object."""
        found = self.optional(name)
        if found is None:
            raise GenesisError(PlatformGenesisReason.MISSING_FIELD, name=self._below(name))
        return found

    def optional(self, name: str) -> "JsonField | None":
        """Return a field of an object, or None if it is absent."""
        if not isinstance(self.value, Mapping):
            raise self.malformed("not an object")
        value = self.value.get(name)
        return None if value is None else JsonField(value, self._below(name))

    def items(self, name: str) -> "list[JsonField]":
        """Return the elements of a list field; an absent field counts as empty."""
        found = self.optional(name)
        if found is None:
            return []
        if not isinstance(found.value, list):
            raise found.malformed("not a list")
        return [
            JsonField(value, f"{found.path}[{index}]") for index, value in enumerate(found.value)
        ]

    def number(self, bits: int = 64) -> int:
        """Return a non-negative integer."""
        value = self.value
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 1 << bits:
            raise self.malformed(f"not a number of {bits} bits")
        return value

    def text(self) -> str:
        """Return a string."""
        if not isinstance(self.value, str):
            raise self.malformed("not a text")
        return self.value

    def bytes_of(self, size: int) -> bytes:
        """Return bytes of the given size, written in hexadecimal."""
        try:
            data = bytes.fromhex(self.text().removeprefix("0x"))
        except ValueError:
            data = b""
        if len(data) != size:
            raise self.malformed(f"not {size} bytes in hexadecimal")
        return data

    def address(self) -> ShortID:
        """Return an address of any chain and with any prefix."""
        try:
            return parse_address(self.text()).short_id
        except AddressError as error:
            raise self.malformed(str(error)) from None

    def node_id(self) -> NodeID:
        """Return a node ID."""
        try:
            return NodeID.parse(self.text())
        except (Cb58Error, IdError) as error:
            raise self.malformed(str(error)) from None

    def malformed(self, reason: str) -> GenesisError:
        """Return an error that names this place."""
        return GenesisError(PlatformGenesisReason.MALFORMED_FIELD, name=self.path, cause=reason)

    def _below(self, name: str) -> str:
        return f"{self.path}.{name}" if self.path else name


REFERENCE_DENOMINATION = 9


@dataclass(frozen=True, slots=True)
class Unlock:
    """An amount on the P-Chain, and the time before which it can only be staked."""

    amount: int
    locktime: int = 0


@dataclass(frozen=True, slots=True)
class Allocation:
    """The initial funds of one address."""

    address: ShortID
    x_chain_amount: int = 0
    unlocks: tuple[Unlock, ...] = ()
    message: bytes = bytes(20)
    """Bytes stored with it: an Ethereum address."""


@dataclass(frozen=True, slots=True)
class InitialStaker:
    """A genesis validator. `delegation_fee` is in millionths."""

    node_id: NodeID
    reward_address: ShortID
    delegation_fee: int
    signer: ProofOfPossession | None = None


@dataclass(frozen=True, slots=True)
class GenesisConfig:
    """The contents of the file."""

    network_id: int
    start_time: int
    allocations: tuple[Allocation, ...]
    staked_funds: tuple[ShortID, ...] = ()
    """Addresses whose P-Chain funds the first validators stake in equal parts."""
    stakers: tuple[InitialStaker, ...] = ()
    stake_duration: int = 0
    stake_duration_offset: int = 0
    """Seconds by which each validator ends before the previous one."""
    c_chain_genesis: str = "{}"
    """The C-Chain's genesis file, unchanged byte for byte."""
    message: str = ""
    denomination: int = REFERENCE_DENOMINATION
    """Decimals of the staking asset. The reference has no such field: its coins have nine."""

    @property
    def initial_supply(self) -> int:
        """The sum of all amounts on both chains."""
        return sum(
            allocation.x_chain_amount + sum(unlock.amount for unlock in allocation.unlocks)
            for allocation in self.allocations
        )

    def starting_at(self, start_time: int) -> Self:
        """Return the same network with another start time."""
        return replace(self, start_time=start_time)

    def verify(self) -> None:
        """Check the consistency of the fields.

        Raises:
            GenesisError: They are inconsistent; the reason says why.
        """
        if self.initial_supply == 0:
            raise GenesisError(PlatformGenesisReason.NO_SUPPLY)
        if self.initial_supply > MAX:
            raise GenesisError(PlatformGenesisReason.SUPPLY_OVERFLOW)
        for address in self.staked_funds:
            if self.staked_funds.count(address) > 1:
                raise GenesisError(PlatformGenesisReason.DUPLICATE_STAKED_FUNDS, address=address)
        allocated = {allocation.address for allocation in self.allocations}
        if not allocated.issuperset(self.staked_funds):
            raise GenesisError(PlatformGenesisReason.NO_ALLOCATION_TO_STAKE)
        self._verify_stakers()

    def _verify_stakers(self) -> None:
        count = len(self.stakers)
        nodes = Counter(staker.node_id for staker in self.stakers)
        if nodes and nodes.most_common(1)[0][1] > 1:
            raise GenesisError(
                PlatformGenesisReason.DUPLICATE_VALIDATOR, node_id=nodes.most_common(1)[0][0]
            )
        if bool(count) != bool(self.staked_funds):
            raise GenesisError(PlatformGenesisReason.NO_ALLOCATION_TO_STAKE)
        staked = sum(
            unlock.amount
            for allocation in self.allocations
            if allocation.address in self.staked_funds
            for unlock in allocation.unlocks
        )
        if staked < count:
            raise GenesisError(PlatformGenesisReason.NO_STAKE_PER_VALIDATOR)
        if count and self.stake_duration <= self.stake_duration_offset * (count - 1):
            raise GenesisError(PlatformGenesisReason.STAKE_DURATION_TOO_SHORT)


def parse_genesis_config(document: Mapping[str, Any]) -> GenesisConfig:
    """Read the decoded file.

    Raises:
        GenesisError: A field is missing or malformed, or the fields are inconsistent.
    """
    root = JsonField(document)
    message, denomination = root.optional("message"), root.optional("denomination")
    config = GenesisConfig(
        network_id=root.field("networkID").number(bits=32),
        start_time=root.field("startTime").number(),
        allocations=tuple(map(_parse_allocation, root.items("allocations"))),
        staked_funds=tuple(node.address() for node in root.items("initialStakedFunds")),
        stakers=tuple(map(_parse_staker, root.items("initialStakers"))),
        stake_duration=root.field("initialStakeDuration").number(),
        stake_duration_offset=root.field("initialStakeDurationOffset").number(),
        c_chain_genesis=root.field("cChainGenesis").text(),
        message=message.text() if message else "",
        denomination=denomination.number(bits=5) if denomination else REFERENCE_DENOMINATION,
    )
    config.verify()
    return config


def _parse_allocation(node: JsonField) -> Allocation:
    return Allocation(
        address=node.field("avaxAddr").address(),
        x_chain_amount=node.field("initialAmount").number(),
        unlocks=tuple(map(_parse_unlock, node.items("unlockSchedule"))),
        message=node.field("ethAddr").bytes_of(20),
    )


def _parse_unlock(node: JsonField) -> Unlock:
    locktime = node.optional("locktime")
    return Unlock(node.field("amount").number(), locktime.number() if locktime else 0)


def _parse_staker(node: JsonField) -> InitialStaker:
    signer = node.optional("signer")
    return InitialStaker(
        node_id=node.field("nodeID").node_id(),
        reward_address=node.field("rewardAddress").address(),
        delegation_fee=node.field("delegationFee").number(bits=32),
        signer=_parse_signer(signer) if signer else None,
    )


def _parse_signer(node: JsonField) -> ProofOfPossession:
    return ProofOfPossession(
        node.field("publicKey").bytes_of(48), node.field("proofOfPossession").bytes_of(96)
    )


def format_genesis_config(config: GenesisConfig) -> str:
    """Return a file that `parse_genesis_config` reads as exactly these values."""

    def address(short_id: ShortID) -> str:
        return format_address("X", hrp_of(config.network_id), short_id)

    document = {
        "networkID": config.network_id,
        "denomination": config.denomination,
        "allocations": [
            {
                "ethAddr": "0x" + allocation.message.hex(),
                "avaxAddr": address(allocation.address),
                "initialAmount": allocation.x_chain_amount,
                "unlockSchedule": [
                    {"amount": unlock.amount, "locktime": unlock.locktime}
                    for unlock in allocation.unlocks
                ],
            }
            for allocation in config.allocations
        ],
        "startTime": config.start_time,
        "initialStakeDuration": config.stake_duration,
        "initialStakeDurationOffset": config.stake_duration_offset,
        "initialStakedFunds": [address(short_id) for short_id in config.staked_funds],
        "initialStakers": [
            {
                "nodeID": str(staker.node_id),
                "rewardAddress": address(staker.reward_address),
                "delegationFee": staker.delegation_fee,
                **_format_signer(staker.signer),
            }
            for staker in config.stakers
        ],
        "cChainGenesis": config.c_chain_genesis,
        "message": config.message,
    }
    return json.dumps(document, indent=2) + "\n"


def _format_signer(signer: ProofOfPossession | None) -> Mapping[str, Any]:
    if signer is None:
        return {}
    return {
        "signer": {
            "publicKey": "0x" + signer.public_key.hex(),
            "proofOfPossession": "0x" + signer.proof_of_possession.hex(),
        }
    }

"""Execution of calls of the stateful precompiles in the reference engine (etna.md 12.5).

Every failure except a lack of gas is a `PrecompileFailure`: it uses up the gas of the call and returns no data.
The messages are subnet-evm's, and those of its ABI library for arguments that cannot be decoded.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, TypeVar

from cchain_app.evm import failures
from cchain_app.precompiles import addresses
from cchain_app.precompiles.active import WarpPredicate, WarpRules
from cchain_app.precompiles.addresses import (
    FEE_CHANGED_SLOT,
    RECIPIENTS_ALLOWED,
    REWARD_SLOT,
    Role,
    fee_slot,
    is_enabled,
    role_slot,
)
from cchain_app.precompiles.fee_config import FeeConfig, FeeConfigError
from cchain_app.precompiles.predicates import INVALID_BLOCK_HASH, INVALID_MESSAGE
from primitives import uint64
from primitives.codec_errors import CodecError
from primitives.evm import Address
from primitives.hashing import keccak256
from primitives.hexadecimal import checksum_address
from primitives.ids import ID
from primitives.warp import AddressedCall, UnsignedMessage, build_payload

READ: Final = 5_000
"""Gas of reading a slot."""
WRITE: Final = 20_000
"""Gas of writing a slot."""
LOG: Final = 375
"""Gas of a log, and of each of its topics."""
LOG_BYTE: Final = 8
MINT: Final = 30_000
_MAX_INDEX: Final = 2**31 - 1
_BLACKHOLE: Final = int.from_bytes(b"\x01".ljust(20, b"\0"))


class PrecompileFailure(Exception):
    """A failed call of a stateful precompile; the message is the reference's."""


@dataclass(slots=True)
class PrecompileCall(ABC):
    """A call of a stateful precompile, and its permissions."""

    address: Address
    caller: Address
    origin: Address
    """The sender of the transaction."""
    input: bytes
    static: bool
    """Whether the call is static: it must not change state."""
    number: int
    """Height of the block."""
    warp: WarpRules | None
    predicates: tuple[WarpPredicate, ...]
    """The warp messages in the transaction's access list."""

    @abstractmethod
    def charge(self, gas: int) -> None:
        """Charge gas; if there is too little, end the call."""

    @abstractmethod
    def read(self, slot: bytes) -> int:
        """Return the number in a slot of the precompile."""

    @abstractmethod
    def write(self, slot: bytes, value: int) -> None:
        """Write a slot of the precompile."""

    @abstractmethod
    def credit(self, account: Address, wei: int) -> None:
        """Add to an account's balance, which wraps at 2^256."""

    @abstractmethod
    def log(self, topics: tuple[bytes, ...], data: bytes) -> None:
        """Emit a log of the precompile."""

    def verify_writable(self) -> None:
        """Refuse a static call."""
        if self.static:
            raise PrecompileFailure(failures.WRITE_PROTECTION)

    def verify_enabled(self, what: str) -> None:
        """Refuse a caller that the precompile's allow list does not have."""
        if not is_enabled(self.role(self.caller)):
            raise PrecompileFailure(f"non-enabled cannot {what}: {checksum_address(self.caller)}")

    def role(self, account: bytes) -> int:
        """Return an account's role on the precompile's allow list."""
        return self.read(role_slot(account))


T = TypeVar("T")

Function = Callable[[PrecompileCall, bytes], bytes]
"""Executes a function with its arguments, without the selector, and returns its output."""


def _topic(event: str) -> bytes:
    return keccak256(event.encode())


def _word(value: int | bytes) -> bytes:
    return value.rjust(32, b"\0") if isinstance(value, bytes) else value.to_bytes(32, "big")


class Arguments:
    """Decodes arguments like go-ethereum's ABI library; bytes after them are ignored."""

    def __init__(self, data: bytes) -> None:
        if not data:
            raise PrecompileFailure(
                "abi: attempting to unmarshal an empty string while arguments are expected"
            )
        self._data = data

    def number(self, place: int) -> int:
        """Return the number at a place."""
        end = 32 * (place + 1)
        if len(self._data) < end:
            raise PrecompileFailure(
                "abi: cannot marshal in to go type: length insufficient "
                f"{len(self._data)} require {end}"
            )
        return int.from_bytes(self._data[end - 32 : end], "big")

    def address(self, place: int) -> Address:
        """Return the address at a place; the bytes before it are ignored."""
        return Address(self.number(place).to_bytes(32, "big")[12:])

    def uint32(self, place: int) -> int:
        """Return the 32-bit number at a place."""
        number = self.number(place)
        if number >> 32:
            raise PrecompileFailure("abi: improperly encoded uint32 value")
        return number

    def dynamic(self, place: int) -> bytes:
        """Return the bytes whose offset is at a place."""
        size, start = len(self._data), self.number(place) + 32
        if start > size:
            raise PrecompileFailure(
                f"abi: cannot marshal in to go slice: offset {start} would go over slice boundary "
                f"(len={size})"
            )
        end = start + int.from_bytes(self._data[start - 32 : start], "big")
        if end.bit_length() > 63:
            raise PrecompileFailure(f"abi: length larger than int64: {end}")
        if end > size:
            raise PrecompileFailure(
                f"abi: cannot marshal in to go type: length insufficient {size} require {end}"
            )
        return self._data[start:end]


# --- allow lists ---

_ROLE_NAMES: Final = {
    Role.NONE: "NoRole",
    Role.ENABLED: "EnabledRole",
    Role.ADMIN: "AdminRole",
    Role.MANAGER: "ManagerRole",
}
_ROLE_SET: Final = _topic("RoleSet(uint256,address,address,uint256)")


def _role_name(role: int) -> str:
    return next((name for known, name in _ROLE_NAMES.items() if known == role), "UnknownRole")


def _can_modify(own: int, old: int, new: int) -> bool:
    if own == Role.MANAGER:
        return {old, new} <= {Role.NONE, Role.ENABLED}
    return own == Role.ADMIN


def _read_allow_list(call: PrecompileCall, data: bytes) -> bytes:
    call.charge(READ)
    return _word(call.role(Arguments(data).address(0)))


def _setter(role: Role) -> Function:
    def set_role(call: PrecompileCall, data: bytes) -> bytes:
        call.charge(WRITE)
        account = Arguments(data).address(0)
        call.verify_writable()
        old = call.role(account)
        if not _can_modify(call.role(call.caller), old, role):
            raise PrecompileFailure(
                f"cannot modify allow list: modify address: {checksum_address(call.caller)}, "
                f"from role: {_role_name(old)}, to role: {_role_name(role)}"
            )
        call.charge(5 * LOG + 32 * LOG_BYTE)
        topics = (_ROLE_SET, _word(role), _word(account), _word(call.caller))
        call.log(topics, _word(old))
        call.write(role_slot(account), role)
        return b""

    return set_role


_ALLOW_LIST: Final = {
    "readAllowList(address)": _read_allow_list,
    "setAdmin(address)": _setter(Role.ADMIN),
    "setEnabled(address)": _setter(Role.ENABLED),
    "setManager(address)": _setter(Role.MANAGER),
    "setNone(address)": _setter(Role.NONE),
}

# --- native minter ---

_MINTED: Final = _topic("NativeCoinMinted(address,address,uint256)")


def _mint(call: PrecompileCall, data: bytes) -> bytes:
    call.charge(MINT)
    call.verify_writable()
    account, wei = _unpacked(lambda given: (given.address(0), given.number(1)), data)
    call.verify_enabled("mint")
    call.charge(4 * LOG + 32 * LOG_BYTE)
    call.log((_MINTED, _word(call.caller), _word(account)), _word(wei))
    call.credit(account, wei)
    return b""


def _unpacked(read: Callable[[Arguments], T], data: bytes) -> T:
    try:
        return read(Arguments(data))
    except PrecompileFailure as error:
        raise PrecompileFailure(f"failed to unpack input: {error}") from error


# --- fee manager ---

_FEES: Final = len(FeeConfig._fields)
_FEES_CHANGED: Final = _topic(
    f"FeeConfigChanged(address,({','.join(['uint256'] * _FEES)}),({','.join(['uint256'] * _FEES)}))"
)


def _stored_fees(call: PrecompileCall) -> FeeConfig:
    return _with_short_rate(FeeConfig(*(call.read(fee_slot(field + 1)) for field in range(_FEES))))


def _with_short_rate(config: FeeConfig) -> FeeConfig:
    """Return a config with the lowest 64 bits of its rate, which are all that subnet-evm keeps."""
    return config._replace(target_block_rate=config.target_block_rate & uint64.MAX)


def _set_fees(call: PrecompileCall, data: bytes) -> bytes:
    call.charge(WRITE * (_FEES + 1))
    call.verify_writable()
    new = _with_short_rate(
        _unpacked(lambda given: FeeConfig(*(given.number(field) for field in range(_FEES))), data)
    )
    call.verify_enabled("change fee config")
    call.charge(READ * _FEES + 3 * LOG + 2 * 32 * _FEES * LOG_BYTE)
    words = b"".join(map(_word, (*_stored_fees(call), *new)))
    call.log((_FEES_CHANGED, _word(call.caller)), words)
    try:
        new.verify()
    except FeeConfigError as error:
        raise PrecompileFailure(f"cannot verify fee config: {error}") from error
    for field, value in enumerate(new, 1):
        call.write(fee_slot(field), value)
    call.write(FEE_CHANGED_SLOT, call.number)
    return b""


def _get_fees(call: PrecompileCall, _: bytes) -> bytes:
    call.charge(READ * _FEES)
    return b"".join(map(_word, _stored_fees(call)))


def _fees_changed_at(call: PrecompileCall, _: bytes) -> bytes:
    call.charge(READ)
    return _word(call.read(FEE_CHANGED_SLOT))


# --- reward manager ---

_RECIPIENTS: Final = _topic("FeeRecipientsAllowed(address)")
_REWARDED: Final = _topic("RewardAddressChanged(address,address,address)")
_DISABLED: Final = _topic("RewardsDisabled(address)")


def _allow_recipients(call: PrecompileCall, _: bytes) -> bytes:
    call.charge(WRITE + READ)
    call.verify_writable()
    call.verify_enabled("call allowFeeRecipients")
    call.charge(3 * LOG)
    call.log((_RECIPIENTS, _word(call.caller)), b"")
    call.write(REWARD_SLOT, int.from_bytes(RECIPIENTS_ALLOWED, "big"))
    return b""


def _are_recipients_allowed(call: PrecompileCall, _: bytes) -> bytes:
    call.charge(READ)
    return _word(int(_word(call.read(REWARD_SLOT)) == RECIPIENTS_ALLOWED))


def _reward_address(call: PrecompileCall) -> bytes:
    return _word(call.read(REWARD_SLOT))[12:]


def _current_reward_address(call: PrecompileCall, _: bytes) -> bytes:
    call.charge(READ)
    return _word(_reward_address(call))


def _disable_rewards(call: PrecompileCall, _: bytes) -> bytes:
    call.charge(WRITE + READ)
    call.verify_writable()
    call.verify_enabled("call disableRewards")
    call.charge(3 * LOG)
    call.log((_DISABLED, _word(call.caller)), b"")
    call.write(REWARD_SLOT, _BLACKHOLE)
    return b""


def _set_reward_address(call: PrecompileCall, data: bytes) -> bytes:
    call.charge(WRITE + READ)
    call.verify_writable()
    account = Arguments(data).address(0)
    call.verify_enabled("call setRewardAddress")
    if not any(account):
        raise PrecompileFailure("reward address cannot be empty")
    call.charge(READ + 5 * LOG)
    old = _reward_address(call)
    call.log((_REWARDED, _word(call.caller), _word(old), _word(account)), b"")
    call.write(REWARD_SLOT, int.from_bytes(account, "big"))
    return b""


# --- warp ---

_SENT: Final = _topic("SendWarpMessage(address,bytes32,bytes)")


def _rules(call: PrecompileCall) -> WarpRules:
    assert call.warp is not None, "the precompile is in force"
    return call.warp


def _blockchain_id(call: PrecompileCall, _: bytes) -> bytes:
    rules = _rules(call)
    call.charge(rules.gas.blockchain_id)
    return rules.blockchain_id


def _verified(
    invalid: bytes, kind: str, read: Callable[[WarpPredicate], bytes | None], wrong: str
) -> Function:
    def get_verified(call: PrecompileCall, data: bytes) -> bytes:
        gas = _rules(call).gas
        call.charge(gas.verified)
        try:
            index = Arguments(data).uint32(0)
        except PrecompileFailure as error:
            raise PrecompileFailure(f"{_BAD_INDEX}: {error}") from error
        if index > _MAX_INDEX:
            raise PrecompileFailure(f"{_BAD_INDEX}: larger than MaxInt32")
        if index >= len(call.predicates) or not call.predicates[index].valid:
            return invalid
        predicate = call.predicates[index]
        call.charge(gas.chunk * predicate.chunks)
        output = read(predicate)
        if output is None:
            raise PrecompileFailure(f"cannot unpack {kind}: wrong payload type: *payload.{wrong}")
        return output

    return get_verified


_BAD_INDEX: Final = "invalid index to specify warp message"


def _send(call: PrecompileCall, data: bytes) -> bytes:
    rules = _rules(call)
    call.charge(rules.gas.send)
    call.charge(rules.gas.sent_byte * len(data))
    call.verify_writable()
    try:
        payload = Arguments(data).dynamic(0)
    except PrecompileFailure as error:
        raise PrecompileFailure(f"invalid sendWarpMessage input: {error}") from error
    try:
        addressed = build_payload(AddressedCall(call.caller, payload))
    except CodecError as error:
        raise PrecompileFailure(str(error)) from error
    message = UnsignedMessage(rules.network_id, ID(rules.blockchain_id), addressed)
    raw, message_id = message.raw, bytes(message.message_id)
    padded = raw + bytes(-len(raw) % 32)
    call.log((_SENT, _word(call.caller), message_id), _word(32) + _word(len(raw)) + padded)
    return message_id


# --- all ---


def _contract(
    functions: Mapping[str, Function],
) -> Callable[[PrecompileCall], bytes]:
    """Return a contract that executes the function that the first four bytes of its input select."""
    by_selector = {keccak256(name.encode())[:4]: function for name, function in functions.items()}

    def run(call: PrecompileCall) -> bytes:
        selector = call.input[:4]
        if len(selector) < 4:
            raise PrecompileFailure(
                f"missing function selector to precompile - input length ({len(selector)})"
            )
        function = by_selector.get(selector)
        if function is None:
            raise PrecompileFailure(f"invalid function selector: 0x{selector.hex()}")
        return function(call, call.input[4:])

    return run


CONTRACTS: Final = {
    addresses.DEPLOYER_ALLOW_LIST: _contract(_ALLOW_LIST),
    addresses.NATIVE_MINTER: _contract({**_ALLOW_LIST, "mintNativeCoin(address,uint256)": _mint}),
    addresses.TRANSACTION_ALLOW_LIST: _contract(_ALLOW_LIST),
    addresses.FEE_MANAGER: _contract(
        {
            **_ALLOW_LIST,
            f"setFeeConfig({','.join(['uint256'] * _FEES)})": _set_fees,
            "getFeeConfig()": _get_fees,
            "getFeeConfigLastChangedAt()": _fees_changed_at,
        }
    ),
    addresses.REWARD_MANAGER: _contract(
        {
            **_ALLOW_LIST,
            "allowFeeRecipients()": _allow_recipients,
            "areFeeRecipientsAllowed()": _are_recipients_allowed,
            "currentRewardAddress()": _current_reward_address,
            "disableRewards()": _disable_rewards,
            "setRewardAddress(address)": _set_reward_address,
        }
    ),
    addresses.WARP: _contract(
        {
            "getBlockchainID()": _blockchain_id,
            "getVerifiedWarpMessage(uint32)": _verified(
                INVALID_MESSAGE, "addressed payload", lambda one: one.message, "Hash"
            ),
            "getVerifiedWarpBlockHash(uint32)": _verified(
                INVALID_BLOCK_HASH,
                "block hash payload",
                lambda one: one.block_hash,
                "AddressedCall",
            ),
            "sendWarpMessage(bytes)": _send,
        }
    ),
}
"""The contracts by address; each executes a call and returns its output."""

"""The genesis file as a value: chain parameters, fields of block 0, and the first state.

The files that come with the node are in `genesis_files`; the schedule of rules is in `config`. Pure.
"""

import json
from collections.abc import Mapping, Set
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import Any, Final, NamedTuple

from cchain_app.config import BLACKHOLE, MIN_BASE_FEE, ChainConfig, at_least, parse_config
from cchain_app.evm.engine import AccountChange, AccountState, SlotChange, StateChanges
from cchain_app.evm.upgrades import EmptyState, upgrade_changes
from cchain_app.genesis_fields import (
    ROW_BITS,
    Document,
    GenesisFileError,
    parse_address,
    parse_word,
    read_bytes,
    read_object,
    read_optional_number,
)
from primitives import json_limits
from primitives.evm import ZERO_HASH, ZERO_WORD, Address, Hash, Slot, Word
from primitives.hashing import keccak256
from primitives.json_limits import FILE_VALUES, TooDeep, TooManyValues
from primitives.upgrades import UpgradeTimes

INITIAL_BASE_FEE = 1_000_000_000
"""Wei; the base fee of block 0 if the file has none (EIP-1559)."""

DEFAULT_GAS_LIMIT = 4_712_388
"""Gas limit of block 0 if the file says 0, as in geth."""

BUILT_IN = ("local", "mainnet", "testnet")
"""Names of the files that come with the node."""


_EIP_150_HASH: Final = "0x2086799aeebeae135c246c65021c82b4e15a2c451340993aacfd2751886514f0"
"""Ethereum's; it is in the genesis file of every network of avalanchego."""
_APRICOT: Final = "apricotPhase1BlockTimestamp"


class GenesisAccount(NamedTuple):
    """One entry of `alloc`."""

    balance: int
    """Wei."""
    nonce: int
    code: bytes
    storage: Mapping[Slot, Word]
    """Slots that are zero are left out."""


@dataclass(frozen=True, slots=True)
class Genesis:
    """The genesis of a chain, without the header fields that follow from the state."""

    config: ChainConfig
    alloc: Mapping[Address, GenesisAccount]
    timestamp: int
    """Unix seconds."""
    gas_limit: int
    difficulty: int
    extra_data: bytes
    """At most 32 bytes."""
    mix_hash: Hash
    nonce: bytes
    """8 bytes."""
    coinbase: Address
    base_fee: int | None
    """Wei; None before London."""
    number: int = 0
    gas_used: int = 0
    parent_hash: Hash = ZERO_HASH
    excess_blob_gas: int | None = None
    """None before Cancun."""
    blob_gas_used: int | None = None
    """None before Cancun."""
    parent_beacon_block_root: Hash | None = None
    """Zero since Cancun, None before."""
    is_of_coreth: bool = False
    """Whether the file is that of a network of avalanchego, whose C-Chain has coreth's rules."""
    stated_base_fee: int | None = None
    """Wei; the file's own value."""
    upgrades: UpgradeTimes | None = None
    """The upgrades of the network, if the chain has coreth's rules."""

    @property
    def fork(self) -> str:
        """The rule set of block 0."""
        return self.config.fork_at(self.number, self.timestamp, self.difficulty)

    def with_timestamp(self, timestamp: int) -> "Genesis":
        """Return the same chain with another start time, and the header fields of the fork at that time."""
        return _with_fields_of_fork(replace(self, timestamp=timestamp))

    def with_chain_id(self, chain_id: int) -> "Genesis":
        """Return the same chain with another chain ID; block 0 does not change."""
        return replace(self, config=replace(self.config, chain_id=chain_id))

    def state_changes(self) -> StateChanges:
        """Return the change that block 0 makes to the empty state: precompiles begin, then come the allocations.

        Unspecified: an allocation without balance, code, nonce and storage makes an empty account, as in geth.
        """
        begun = upgrade_changes(
            self.config.stateful, EmptyState(), parent=None, timestamp=self.timestamp, number=0
        )
        accounts, storage, codes = dict(begun.accounts), dict(begun.storage), dict(begun.codes)
        for address, account in self.alloc.items():
            code_hash = keccak256(account.code)
            accounts[address] = AccountChange(
                None, AccountState(account.nonce, account.balance, code_hash)
            )
            if account.code:
                codes[code_hash] = account.code
            for slot, word in account.storage.items():
                storage[address, slot] = SlotChange(ZERO_WORD, word)
        return StateChanges(accounts=accounts, storage=storage, codes=codes)


def load_genesis(
    text: str | bytes,
    *,
    min_base_fee: int = 0,
    coinbase: Address = BLACKHOLE,
    may_have_number: bool = False,
) -> Genesis:
    """Return the chain that a genesis file in geth's JSON format describes.

    Args:
        text: The file's content.
        min_base_fee: Floor of the base fee in wei, from settings; a floor in the file takes precedence.
        coinbase: Recipient of the tips, from settings.
        may_have_number: Whether the first block may have another number than 0.

    Raises:
        GenesisFileError: The file cannot be used.
    """
    try:
        json_limits.verify(text.encode() if isinstance(text, str) else text, values=FILE_VALUES)
        document = json.loads(text)
    except TooManyValues as error:
        raise GenesisFileError(f"more than {FILE_VALUES} values") from error
    except TooDeep as error:
        raise GenesisFileError(f"nested deeper than {json_limits.MAX_DEPTH}") from error
    except (ValueError, RecursionError) as error:
        raise GenesisFileError(f"not a JSON document: {error}") from error
    if not isinstance(document, Mapping):
        raise GenesisFileError("not a JSON object")
    return parse_genesis(
        document, min_base_fee=min_base_fee, coinbase=coinbase, may_have_number=may_have_number
    )


def complete_text(text: str | bytes, *, timestamp: int, config: ChainConfig) -> str:
    """Return a genesis file with everything that another node needs to begin the same chain.

    It includes the timestamp, which a local chain's file leaves to the first start, and the chain ID and the
    floor of the base fee, which settings may give. The rest is unchanged.

    Args:
        text: A file that `load_genesis` accepts.
        timestamp: Of block 0, in Unix seconds.
        config: The rules with which the chain began.
    """
    document = dict(json.loads(text))
    document["config"] = {
        **document["config"],
        "chainId": config.chain_id,
        MIN_BASE_FEE: config.min_base_fee,
    }
    document["timestamp"] = hex(timestamp)
    return json.dumps(document, separators=(",", ":"))


def fund_accounts(text: str | bytes, balances: Mapping[Address, int], old: Set[Address]) -> bytes:
    """Return a genesis file that allocates coins to some accounts in place of others; the same text if it does already.

    Args:
        text: A file that `load_genesis` accepts.
        balances: Wei by account; if an account has an allocation already, only its balance changes.
        old: Accounts whose allocation is removed, unless they are among the new ones.
    """
    document = dict(json.loads(text))
    allocated = {
        parse_address(key, f"alloc.{key}"): (key, entry) for key, entry in document["alloc"].items()
    }
    if balances == {
        address: read_optional_number(entry, "balance", bits=256)
        for address, (_, entry) in allocated.items()
        if address in old or address in balances
    }:
        return text.encode() if isinstance(text, str) else text
    kept = {
        address: entry
        for address, entry in allocated.items()
        if address not in old or address in balances
    }
    for address, balance in balances.items():
        key, entry = kept.get(address, (f"0x{address.hex()}", {}))
        kept[address] = (key, {**entry, "balance": hex(balance)})
    document["alloc"] = dict(kept.values())
    return json.dumps(document, separators=(",", ":")).encode()


def built_in_text(name: str) -> bytes:
    """Return a file that comes with the node, unchanged; `name` is one of `BUILT_IN`.

    Unspecified: mainnet and testnet begin with Cancun's rules and a base fee of 25 gwei, and their
    one allocation is the whole supply of two trillion coins.

    Raises:
        GenesisFileError: There is no such file.
    """
    if name not in BUILT_IN:
        raise GenesisFileError(f"no built-in genesis named {name}")
    return files("cchain_app").joinpath("genesis_files", f"{name}.json").read_bytes()


def parse_genesis(
    document: Document,
    *,
    min_base_fee: int = 0,
    coinbase: Address = BLACKHOLE,
    may_have_number: bool = False,
) -> Genesis:
    """Return the chain that a decoded genesis file describes; errors as `load_genesis`.

    Unspecified: a header field of a later fork than block 0's is dropped. geth writes `baseFeePerGas` and
    `excessBlobGas` into block 0 in that case too. Numbers with columns of their own have at most 63 bits, where geth takes
    64, and the base fee has at most 64, where geth takes 256.
    """
    for name in ("config", "gasLimit", "alloc"):
        if document.get(name) is None:
            raise GenesisFileError(f"{name}: missing")
    config_object = read_object(document, "config")
    config = parse_config(config_object, min_base_fee=min_base_fee, coinbase=coinbase)
    difficulty = read_quantity(document, "difficulty", bits=256)
    extra_data = read_bytes(document, "extraData")
    if len(extra_data) > 32:
        raise GenesisFileError(f"extraData: {len(extra_data)} bytes, want at most 32")
    number = read_quantity(document, "number", bits=ROW_BITS)
    if number and not may_have_number:
        raise GenesisFileError(f"number: {number}, want 0")
    genesis = Genesis(
        config=config,
        alloc=parse_alloc(read_object(document, "alloc")),
        timestamp=read_quantity(document, "timestamp", bits=ROW_BITS),
        gas_limit=read_quantity(document, "gasLimit", bits=ROW_BITS) or DEFAULT_GAS_LIMIT,
        difficulty=difficulty,
        extra_data=extra_data,
        mix_hash=Hash(read_bytes(document, "mixHash", length=32)),
        nonce=read_quantity(document, "nonce").to_bytes(8),
        coinbase=Address(read_bytes(document, "coinbase", length=20)),
        base_fee=_read_optional_quantity(document, "baseFeePerGas"),
        is_of_coreth=_is_of_coreth(config_object, difficulty),
        stated_base_fee=_read_optional_quantity(document, "baseFeePerGas"),
        number=number,
        gas_used=read_quantity(document, "gasUsed", bits=ROW_BITS),
        parent_hash=Hash(read_bytes(document, "parentHash", length=32)),
        excess_blob_gas=_read_optional_quantity(document, "excessBlobGas"),
        blob_gas_used=_read_optional_quantity(document, "blobGasUsed", bits=ROW_BITS),
        parent_beacon_block_root=Hash(read_bytes(document, "parentBeaconBlockRoot", length=32)),
    )
    return _with_fields_of_fork(genesis)


def _is_of_coreth(config: Mapping[str, Any], difficulty: int) -> bool:
    """Return whether the `config` object of a genesis file is that of a network of avalanchego.

    Such a file has Apricot's first time, or no fork after Muir Glacier, Ethereum's hash of EIP-150, with which these
    files began, and no difficulty, without which no block of Ethereum could follow by the rules of that time.
    """
    if _APRICOT in config:
        return True
    later = {"londonBlock", "berlinBlock", "terminalTotalDifficulty"}
    return not difficulty and config.get("eip150Hash") == _EIP_150_HASH and later.isdisjoint(config)


def _with_fields_of_fork(genesis: Genesis) -> Genesis:
    """Fill in the header fields that the fork of block 0 requires, and drop those of later forks."""
    has_base_fee, has_blobs = (at_least(genesis.fork, fork) for fork in ("london", "cancun"))
    base_fee = INITIAL_BASE_FEE if genesis.base_fee is None else genesis.base_fee
    return replace(
        genesis,
        base_fee=base_fee if has_base_fee else None,
        excess_blob_gas=genesis.excess_blob_gas or 0 if has_blobs else None,
        blob_gas_used=genesis.blob_gas_used or 0 if has_blobs else None,
        parent_beacon_block_root=genesis.parent_beacon_block_root or ZERO_HASH
        if has_blobs
        else None,
    )


def read_quantity(document: Document, name: str, path: str = "", *, bits: int = 64) -> int:
    """Return a number as `_read_optional_quantity` does; a missing one is 0."""
    return _read_optional_quantity(document, name, path, bits=bits) or 0


def _read_optional_quantity(
    document: Document, name: str, path: str = "", *, bits: int = 64
) -> int | None:
    """Return a number as geth's math.HexOrDecimal64 and HexOrDecimal256 read it: an empty string is 0."""
    if document.get(name) == "":
        return 0
    return read_optional_number(document, name, path, bits=bits)


def parse_alloc(document: Document) -> dict[Address, GenesisAccount]:
    """Return the entries of `alloc` by address.

    Raises:
        GenesisFileError: An entry is malformed, or an address occurs twice.
    """
    alloc: dict[Address, GenesisAccount] = {}
    for key in document:
        path = f"alloc.{key}"
        address = parse_address(key, path)
        if address in alloc:
            raise GenesisFileError(f"{path}: allocated twice")
        alloc[address] = _parse_account(read_object(document, key, "alloc."), f"{path}.")
    return alloc


def _parse_account(entry: Document, path: str) -> GenesisAccount:
    storage = {
        Slot(parse_word(slot, f"{path}storage")): Word(parse_word(word, f"{path}storage.{slot}"))
        for slot, word in read_object(entry, "storage", path).items()
    }
    return GenesisAccount(
        balance=read_quantity(entry, "balance", path, bits=256),
        nonce=read_quantity(entry, "nonce", path),
        code=read_bytes(entry, "code", path),
        storage={slot: word for slot, word in storage.items() if word != ZERO_WORD},
    )

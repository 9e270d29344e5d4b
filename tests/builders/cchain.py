"""State in memory, block environments, well-known keys, and signed transactions for engines."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from cchain_app.config import BLACKHOLE, FORKS, at_least
from cchain_app.evm.engine import AccountState, BlockEnv, CallMessage, StateChanges
from cchain_app.genesis import built_in_text, load_genesis
from cchain_app.txs.signing import sign_authorization
from cchain_app.txs.transaction import Authorization, Transaction
from primitives.evm import ZERO_HASH, ZERO_WORD, Address, Hash, Slot, Word
from primitives.hashing import EMPTY_HASH, EMPTY_ROOT, keccak256
from primitives.secp256k1 import address_of_private_key
from tests.builders.transactions import CHAIN_ID, signed

JUNK_KEYS = tuple(
    bytes.fromhex(key)
    for key in (
        "ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80",
        "59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d",
        "5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a",
        "7c852118294e51e653712a81e05800f419141751be58f605c371e15141b007a6",
        "47e179ec197488593b187f80a00eb0da91f1b9d0b13f8733639f19c30a34926a",
    )
)
"""Keys of the first accounts of the mnemonic "test test … junk"."""

SENDERS = tuple(address_of_private_key(key) for key in JUNK_KEYS)
COIN = 10**18
BASE_FEE = 10**9


@dataclass
class MemoryState:
    """A `StateReader` over dicts."""

    accounts: dict[Address, AccountState] = field(default_factory=dict)
    storages: dict[Address, dict[Slot, Word]] = field(default_factory=dict)
    codes: dict[Hash, bytes] = field(default_factory=dict)
    hashes: dict[int, Hash] = field(default_factory=dict)
    root: Hash = EMPTY_ROOT

    def account(self, address: Address) -> AccountState | None:
        return self.accounts.get(address)

    def storage(self, address: Address, slot: Slot) -> Word:
        return self.storages.get(address, {}).get(slot, ZERO_WORD)

    def has_storage(self, address: Address) -> bool:
        return any(word != ZERO_WORD for word in self.storages.get(address, {}).values())

    def code(self, code_hash: Hash) -> bytes:
        return self.codes[code_hash]

    def block_hash(self, number: int) -> Hash:
        return self.hashes.get(number, ZERO_HASH)

    def copy(self) -> "MemoryState":
        """Return an independent copy of the state."""
        storages = {address: dict(slots) for address, slots in self.storages.items()}
        return MemoryState(
            dict(self.accounts), storages, dict(self.codes), dict(self.hashes), self.root
        )

    def apply(self, changes: StateChanges) -> None:
        """Apply the changes of a block to the state."""
        self.codes |= changes.codes
        for address in changes.cleared:
            self.storages.pop(address, None)
        for address, change in changes.accounts.items():
            if change.after is None:
                self.accounts.pop(address)
                self.storages.pop(address, None)
            else:
                self.accounts[address] = change.after
        for (address, slot), of_slot in changes.storage.items():
            slots = self.storages.setdefault(address, {})
            slots[slot] = of_slot.after
            if of_slot.after == ZERO_WORD:
                del slots[slot]

    def put(
        self,
        address: Address,
        *,
        balance: int = 0,
        nonce: int = 0,
        code: bytes = b"",
        storage: Mapping[int, int] | None = None,
    ) -> Address:
        """Set an account and return its address."""
        code_hash = keccak256(code) if code else EMPTY_HASH
        if code:
            self.codes[code_hash] = code
        self.accounts[address] = AccountState(nonce, balance, code_hash)
        self.storages[address] = {
            Slot(slot.to_bytes(32, "big")): Word(value.to_bytes(32, "big"))
            for slot, value in (storage or {}).items()
        }
        return address


def genesis_state() -> MemoryState:
    """Return the state of the local network's genesis."""
    state = MemoryState()
    state.apply(load_genesis(built_in_text("local")).state_changes())
    return state


def block_env(fork: str = "prague", **changes: Any) -> BlockEnv:
    """Return the environment of block 5 under a fork's rules."""
    values: dict[str, Any] = {
        "fork": fork,
        "chain_id": CHAIN_ID,
        "number": 5,
        "timestamp": 1_700_000_000,
        "coinbase": BLACKHOLE,
        "gas_limit": 30_000_000,
        "base_fee": BASE_FEE if at_least(fork, "london") else None,
        "prev_randao": Hash(b"\x44" * 32),
        "difficulty": 0 if at_least(fork, "paris") else 131_072,
        "parent_hash": Hash(b"\x55" * 32),
    }
    if at_least(fork, "cancun"):
        values |= {
            "excess_blob_gas": 0,
            "blob_base_fee_update_fraction": 5_007_716,
            "parent_beacon_block_root": Hash(b"\x66" * 32),
        }
    return BlockEnv(**{**values, **changes})


def call_message(to: Address | None, data: bytes = b"", **changes: Any) -> CallMessage:
    """Return a call without a gas price from the first well-known account."""
    values: dict[str, Any] = {
        "sender": SENDERS[0],
        "to": to,
        "gas": 1_000_000,
        "gas_price": 0,
        "value": 0,
        "data": data,
    }
    return CallMessage(**{**values, **changes})


def transaction(sender: int = 0, **changes: Any) -> Transaction:
    """Return a transaction signed by the well-known account with this index."""
    return signed(key=JUNK_KEYS[sender], **changes)


def authorization(signer: int, to: Address, nonce: int, chain_id: int = CHAIN_ID) -> Authorization:
    """Return an account's authorization to run a contract's code as its own (EIP-7702)."""
    return sign_authorization(chain_id, to, nonce, JUNK_KEYS[signer])


ALL_FORKS = tuple(fork for fork in FORKS if not fork.startswith("bpo"))
"""Every fork with its own execution rules."""

"""A chain made by the executable specification, by its own rules of whole blocks, from Homestead to Osaka.

No code of the node is used. Each fork's `apply_body` executes the blocks with rewards, uncles,
withdrawals and system calls; they are assembled here. The result is geth's files: genesis and blocks.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from ethereum_rlp import rlp
from ethereum_types.bytes import Bytes8, Bytes20, Bytes32, Bytes256
from ethereum_types.numeric import U64, U256, Uint

from cchain_app.evm.reference_package import load_fork, recursion_for_nested_calls
from primitives.hashing import keccak256
from tests.builders.roots import fork_module

GAS_LIMIT = 10_000_000
EMPTY_OMMERS = keccak256(rlp.encode([]))

Header = Any
"""A header of the specification, in the type of the block's fork."""


@dataclass
class Account:
    """An account between blocks, independent of any fork's types."""

    nonce: int = 0
    balance: int = 0
    code: bytes = b""
    storage: dict[bytes, int] = field(default_factory=dict)


@dataclass
class SpecBlock:
    """A block of the chain."""

    header: Header
    raw: bytes

    @property
    def hash(self) -> bytes:
        """Keccak-256 of the header."""
        return keccak256(rlp.encode(self.header))


class SpecChain:
    """A chain to which blocks are added one by one.

    Args:
        forks: Name of the rule set from each block number on; the first is that of the genesis.
        alloc: Accounts of the genesis.
    """

    def __init__(self, forks: dict[int, str], alloc: dict[bytes, Account]) -> None:
        self.forks = forks
        self.state = {address: Account(**vars(one)) for address, one in alloc.items()}
        fork = forks[0]
        state = self._load(fork)
        genesis = self._header(
            fork,
            {
                "parent_hash": Bytes32(bytes(32)),
                "coinbase": Bytes20(bytes(20)),
                "difficulty": Uint(0 if _is_merged(fork) else 0x20000),
                "number": Uint(0),
                "gas_limit": Uint(GAS_LIMIT),
                "timestamp": U256(0),
                "state_root": fork_module(fork, "state").state_root(state),
                "base_fee_per_gas": Uint(10**9),
            },
        )
        self.blocks = [SpecBlock(genesis, b"")]

    def fork_at(self, number: int) -> str:
        """Return the name of a block's rule set."""
        return self.forks[max(first for first in self.forks if first <= number)]

    @property
    def file(self) -> bytes:
        """Return all blocks but the genesis in the format of geth's chain files."""
        return b"".join(block.raw for block in self.blocks)

    def mine(
        self,
        transactions: Sequence[bytes] = (),
        *,
        ommers: Sequence[Header] = (),
        withdrawals: Sequence[tuple[int, int, bytes, int]] = (),
        **chosen: Any,
    ) -> SpecBlock:
        """Make the next block; `chosen` overrides fields of its header."""
        header = self._next(**chosen)
        fork = self.fork_at(int(header["number"]))
        specification = load_fork(fork)
        state = self._load(fork)
        env = specification.build("BlockEnvironment", self._environment(header, state))
        body: list[Any] = [tuple(_read(raw, fork) for raw in transactions)]
        if not _is_merged(fork):
            body.append(tuple(ommers))
        elif hasattr(specification.fork, "process_withdrawals"):
            kind = fork_module(fork, "blocks").Withdrawal
            body.append(
                tuple(
                    kind(U64(index), U64(validator), Bytes20(address), U256(amount))
                    for index, validator, address, amount in withdrawals
                )
            )
        with recursion_for_nested_calls():
            output = specification.fork.apply_body(env, *body)
        self._store(state)
        root = specification.trie.root
        header |= {
            "state_root": fork_module(fork, "state").state_root(state),
            "transactions_root": root(output.transactions_trie),
            "receipt_root": root(output.receipts_trie),
            "bloom": Bytes256(fork_module(fork, "bloom").logs_bloom(output.block_logs)),
            "gas_used": Uint(output.block_gas_used),
        }
        if not _is_merged(fork):
            header["ommers_hash"] = Bytes32(keccak256(rlp.encode(tuple(ommers))))
        if hasattr(output, "withdrawals_trie"):
            header["withdrawals_root"] = root(output.withdrawals_trie)
        if hasattr(output, "blob_gas_used"):
            header["blob_gas_used"] = output.blob_gas_used
        if hasattr(output, "requests"):
            requests = fork_module(fork, "requests")
            header["requests_hash"] = Bytes32(requests.compute_requests_hash(output.requests))
        made = self._header(fork, header)
        parts: list[Any] = [made, body[0], tuple(ommers)]
        if hasattr(output, "withdrawals_trie"):
            parts.append(body[1])
        self.blocks.append(SpecBlock(made, rlp.encode(parts)))
        return self.blocks[-1]

    def sibling(self, number: int, coinbase: bytes) -> Header:
        """Return the header of a sibling of a block, for use as an uncle of later blocks."""
        header = self.blocks[number].header
        values = {item.name: getattr(header, item.name) for item in fields(header)}
        return type(header)(**values | {"coinbase": Bytes20(coinbase), "extra_data": b"uncle"})

    def _next(self, **chosen: Any) -> dict[str, Any]:
        parent = self.blocks[-1].header
        number = int(parent.number) + 1
        fork = self.fork_at(number)
        header = {
            "parent_hash": Bytes32(self.blocks[-1].hash),
            "coinbase": Bytes20(b"\xc0" * 20),
            "difficulty": Uint(0 if _is_merged(fork) else 0x20000 + number),
            "number": Uint(number),
            "gas_limit": parent.gas_limit,
            "timestamp": U256(int(parent.timestamp) + 12),
            **chosen,
        }
        rules = load_fork(fork).fork
        if hasattr(rules, "calculate_base_fee_per_gas"):
            if not hasattr(parent, "base_fee_per_gas"):
                header["gas_limit"] = Uint(int(parent.gas_limit) * 2)
                header["base_fee_per_gas"] = Uint(10**9)
            else:
                header["base_fee_per_gas"] = rules.calculate_base_fee_per_gas(
                    header["gas_limit"], parent.gas_limit, parent.gas_used, parent.base_fee_per_gas
                )
        gas = fork_module(fork, "vm.gas")
        if hasattr(gas, "calculate_excess_blob_gas"):
            if hasattr(parent, "excess_blob_gas"):
                # The specification treats headers of earlier forks as headers without blobs.
                values = {item.name: getattr(parent, item.name) for item in fields(parent)}
                parent = self._header(fork, values)
            header["excess_blob_gas"] = gas.calculate_excess_blob_gas(parent)
            header["parent_beacon_block_root"] = Bytes32(keccak256(bytes([number])))
        return header

    def _environment(self, header: dict[str, Any], state: Any) -> dict[str, Any]:
        return {
            "chain_id": U64(1337),
            "state": state,
            "block_gas_limit": header["gas_limit"],
            "block_hashes": [Bytes32(block.hash) for block in self.blocks[-256:]],
            "coinbase": header["coinbase"],
            "number": header["number"],
            "time": header["timestamp"],
            "difficulty": header["difficulty"],
            "base_fee_per_gas": header.get("base_fee_per_gas"),
            "prev_randao": Bytes32(header.get("prev_randao", bytes(32))),
            "excess_blob_gas": header.get("excess_blob_gas"),
            "parent_beacon_block_root": header.get("parent_beacon_block_root"),
        }

    def _header(self, fork: str, values: dict[str, Any]) -> Header:
        specification = load_fork(fork)
        empty = specification.trie.EMPTY_TRIE_ROOT
        defaults = {
            "ommers_hash": Bytes32(EMPTY_OMMERS),
            "transactions_root": empty,
            "receipt_root": empty,
            "bloom": Bytes256(bytes(256)),
            "gas_used": Uint(0),
            "extra_data": b"",
            "mix_digest": Bytes32(bytes(32)),
            "prev_randao": Bytes32(bytes(32)),
            "nonce": Bytes8(bytes(8)),
            "withdrawals_root": empty,
            "blob_gas_used": U64(0),
            "excess_blob_gas": U64(0),
            "parent_beacon_block_root": Bytes32(bytes(32)),
            "requests_hash": Bytes32(bytes(32)),
        }
        kind = fork_module(fork, "blocks").Header
        known = {**defaults, **values}
        return kind(**{item.name: known[item.name] for item in fields(kind)})

    def _load(self, fork: str) -> Any:
        """Return the state in a fork's types."""
        module, types = fork_module(fork, "state"), load_fork(fork).types
        state = module.State()
        for address, one in self.state.items():
            account = types.Account(Uint(one.nonce), U256(one.balance), one.code)
            module.set_account(state, Bytes20(address), account)
            for key, value in one.storage.items():
                module.set_storage(state, Bytes20(address), Bytes32(key), U256(value))
        return state

    def _store(self, state: Any) -> None:
        self.state = {}
        for address, account in state._main_trie._data.items():
            slots = state._storage_tries.get(address)
            self.state[bytes(address)] = Account(
                int(account.nonce),
                int(account.balance),
                bytes(account.code),
                {bytes(key): int(value) for key, value in slots._data.items()} if slots else {},
            )


def _is_merged(fork: str) -> bool:
    return not hasattr(load_fork(fork).fork, "pay_rewards")


def _read(raw: bytes, fork: str) -> Any:
    """Return a transaction as the fork's blocks hold it: legacy ones as values, others as bytes."""
    if raw[0] < 0x80:
        return raw
    types = load_fork(fork).transactions
    return rlp.decode_to(getattr(types, "LegacyTransaction", None) or types.Transaction, raw)

"""A history of every fork from Homestead to Osaka, made by the specification: geth's files, and what is right.

Two blocks of each: creations, calls that store and log, one that runs out of gas, contracts that destroy
themselves, uncles, withdrawals, blobs, delegations.
"""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ethereum_rlp import rlp
from ethereum_types.bytes import Bytes20, Bytes32
from ethereum_types.numeric import U64, U256, Uint

from cchain_app.txs.signing import sign_authorization, sign_transaction
from cchain_app.txs.transaction import ACCESS_LIST, DYNAMIC_FEE, LEGACY, SET_CODE
from primitives import secp256k1
from primitives.evm import Address
from tests.builders.bytecode import assemble, created, deploy_code
from tests.builders.roots import fork_module
from tests.builders.spec_chain import GAS_LIMIT, Account, SpecChain
from tests.builders.transactions import KEY, SENDER, unsigned

VECTORS = Path(__file__).parents[1] / "vectors" / "tracing"

CHAIN_ID = 1337

FORKS = {
    0: "homestead", 3: "tangerine_whistle", 5: "spurious_dragon", 7: "byzantium", 9: "constantinople",
    11: "istanbul", 13: "berlin", 15: "london", 17: "paris", 19: "shanghai", 21: "cancun", 23: "prague",
    25: "osaka",
}  # fmt: skip
"""Name of the rule set from each block on."""

LAST = 26
WITH_UNCLES = (4, 8, 10)
BYZANTIUM, LONDON, SHANGHAI, CANCUN, PRAGUE = 7, 15, 19, 21, 23

UNCLE = b"\xd1" * 20
WITHDRAWN = b"\xee" * 20
BLOB_HASH = b"\x01" + bytes(31)

_CONFIG = {
    "chainId": CHAIN_ID, "homesteadBlock": 0, "eip150Block": 3, "eip155Block": 5, "eip158Block": 5,
    "byzantiumBlock": 7, "constantinopleBlock": 9, "petersburgBlock": 9, "istanbulBlock": 11,
    "berlinBlock": 13, "londonBlock": 15, "terminalTotalDifficulty": 2**70, "shanghaiTime": 19 * 12,
    "cancunTime": 21 * 12, "pragueTime": 23 * 12, "osakaTime": 25 * 12,
}  # fmt: skip

_COUNTER = assemble("0 SLOAD 1 ADD 0 SSTORE 0 0 LOG0 STOP")
_SUICIDE = assemble("CALLER SELFDESTRUCT")


@dataclass(frozen=True)
class History:
    """The files, and the chain that they are of."""

    genesis: bytes
    chain: SpecChain
    states: tuple[dict[bytes, Account], ...]
    """After each block, from the genesis on."""

    transactions: tuple[bytes, ...]
    """Of all blocks, as envelopes."""

    @property
    def file(self) -> bytes:
        """All blocks but the genesis."""
        return self.chain.file


@cache
def history() -> History:
    """Return the history; it is always the same."""
    alloc = {bytes(SENDER): Account(balance=10**24), **_system_contracts()}
    chain = SpecChain(FORKS, alloc)
    states, transactions = [chain.state], []
    sender = _Sender()
    for number in range(1, LAST + 1):
        chosen: dict[str, Any] = {}
        if number in WITH_UNCLES:
            chosen["ommers"] = [chain.sibling(number - 2, UNCLE)]
        if number >= SHANGHAI:
            chosen["withdrawals"] = [(number, 7, WITHDRAWN, 5), (number + 1, 7, b"\xef" * 20, 0)]
        sent = sender.transactions(number)
        transactions += sent
        chain.mine(sent, **chosen)
        states.append(chain.state)
    document = {
        "config": _CONFIG,
        "gasLimit": hex(GAS_LIMIT),
        "difficulty": "0x20000",
        "timestamp": "0x0",
        "alloc": {address.hex(): _allocation(one) for address, one in alloc.items()},
    }
    return History(json.dumps(document).encode(), chain, tuple(states), tuple(transactions))


class _Sender:
    """Signs transactions of the one account, as the forks allow."""

    def __init__(self) -> None:
        self._nonce = 0

    def transactions(self, number: int) -> list[bytes]:
        """Return the transactions of a block."""
        made = [self._sign(number, to=None, value=0, data=deploy_code(_COUNTER))]
        counter = created(SENDER, self._nonce - 1)
        made.append(self._sign(number, to=counter))
        made.append(self._sign(number, to=counter, gas=21_500))
        made.append(self._sign(number, to=None, data=deploy_code(_SUICIDE)))
        suicide = created(SENDER, self._nonce - 1)
        made += [self._sign(number, to=suicide), self._sign(number, to=suicide)]
        made.append(self._sign(number, to=Address(b"\x22" * 20), value=0))
        if number >= LONDON:
            made += [self._sign(number, type=kind) for kind in (ACCESS_LIST, DYNAMIC_FEE)]
        if number >= CANCUN:
            made.append(self._blobs())
        if number >= PRAGUE:
            permission = sign_authorization(CHAIN_ID, counter, self._nonce + 1, KEY)
            made.append(self._sign(number, type=SET_CODE, authorizations=(permission,)))
            self._nonce += 1
        return made

    def _sign(self, number: int, **fields: Any) -> bytes:
        protected = number >= 5
        given = {
            "type": LEGACY,
            "chain_id": CHAIN_ID if protected else None,
            "nonce": self._nonce,
            "max_fee_per_gas": 20 * 10**9,
            "gas": 200_000,
            **fields,
        }
        self._nonce += 1
        return sign_transaction(unsigned(**given), KEY)

    def _blobs(self) -> bytes:
        module = fork_module("cancun", "transactions")
        fields = {
            "chain_id": U64(CHAIN_ID),
            "nonce": U256(self._nonce),
            "max_priority_fee_per_gas": Uint(1),
            "max_fee_per_gas": Uint(20 * 10**9),
            "gas": Uint(21_000),
            "to": Bytes20(b"\x33" * 20),
            "value": U256(1),
            "data": b"",
            "access_list": (),
            "max_fee_per_blob_gas": U256(10**9),
            "blob_versioned_hashes": (Bytes32(BLOB_HASH),) * 4,
        }
        self._nonce += 1
        bare = module.BlobTransaction(**fields, y_parity=U256(0), r=U256(0), s=U256(0))
        signature = secp256k1.sign(module.signing_hash_4844(bare), KEY)
        parts = (U256(signature.y_parity), U256(signature.r), U256(signature.s))
        whole = module.BlobTransaction(**fields, y_parity=parts[0], r=parts[1], s=parts[2])
        return b"\x03" + rlp.encode(whole)


def _system_contracts() -> dict[bytes, Account]:
    """Return the contracts that the vectors' genesis has."""
    alloc = json.loads((VECTORS / "genesis.json").read_text())["alloc"]
    return {
        bytes.fromhex(address.removeprefix("0x")): Account(
            int(one.get("nonce", "0x0"), 16),
            int(one["balance"], 16),
            bytes.fromhex(one["code"][2:]),
        )
        for address, one in alloc.items()
        if one.get("code")
    }


def _allocation(account: Account) -> dict[str, str]:
    return {
        "balance": hex(account.balance),
        "nonce": hex(account.nonce),
        "code": f"0x{account.code.hex()}",
    }

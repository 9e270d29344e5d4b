"""A chain with every fork from Homestead to BPO2, made by the specification: geth's files and the results.

Each fork has two blocks: creations, calls that store and log, a call that runs out of gas, contracts that
destroy themselves, uncles, withdrawals, blobs, delegations, requests for the consensus layer.
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
    25: "osaka", 27: "bpo1", 29: "bpo2",
}  # fmt: skip
"""Name of the rule set from each block number on."""

LAST = 30
WITH_UNCLES = (4, 8, 10)
BYZANTIUM, LONDON, SHANGHAI, CANCUN, PRAGUE, BPO1 = 7, 15, 19, 21, 23, 27

UNCLE = b"\xd1" * 20
WITHDRAWN = b"\xee" * 20
BLOB_HASH = b"\x01" + bytes(31)

_CONFIG = {
    "chainId": CHAIN_ID, "homesteadBlock": 0, "eip150Block": 3, "eip155Block": 5, "eip158Block": 5,
    "byzantiumBlock": 7, "constantinopleBlock": 9, "petersburgBlock": 9, "istanbulBlock": 11,
    "berlinBlock": 13, "londonBlock": 15, "terminalTotalDifficulty": 2**70, "shanghaiTime": 19 * 12,
    "cancunTime": 21 * 12, "pragueTime": 23 * 12, "osakaTime": 25 * 12, "bpo1Time": 27 * 12,
    "bpo2Time": 29 * 12,
    "blobSchedule": {
        "cancun": {"target": 3, "max": 6, "baseFeeUpdateFraction": 3338477},
        "prague": {"target": 6, "max": 9, "baseFeeUpdateFraction": 5007716},
        "osaka": {"target": 6, "max": 9, "baseFeeUpdateFraction": 5007716},
        "bpo1": {"target": 10, "max": 15, "baseFeeUpdateFraction": 8346193},
        "bpo2": {"target": 14, "max": 21, "baseFeeUpdateFraction": 11684671},
    },
}  # fmt: skip

EXITS = Address(bytes.fromhex("00000961ef480eb55e80d19ad83579a64c007002"))
CONSOLIDATIONS = Address(bytes.fromhex("0000bbddc7ce488642fb579f8b00f3a590007251"))
DEPOSITS = Address(bytes.fromhex("00000000219ab540356cbb839cbe05303d7705fa"))
"""The contracts for requests to the consensus layer (EIP-7002, EIP-7251, EIP-6110)."""

_DEPOSITED = 0x649BBC62D0E31342AFEA4E5CD82D4049E7E1EE912FC0889AA790803BE39038C5
DEPOSIT_LOGGER = assemble("CALLDATASIZE 0 0 CALLDATACOPY", _DEPOSITED, "CALLDATASIZE 0 LOG1 STOP")
"""A stand-in for the deposit contract: it logs its call data."""

_COUNTER = assemble("0 SLOAD 1 ADD 0 SSTORE 0 0 LOG0 STOP")
_SUICIDE = assemble("CALLER SELFDESTRUCT")


@dataclass(frozen=True)
class History:
    """The files, and the chain that they contain."""

    genesis: bytes
    chain: SpecChain
    states: tuple[dict[bytes, Account], ...]
    """The state after each block, starting with the genesis."""

    transactions: tuple[bytes, ...]
    """The transactions of all blocks, as envelopes."""

    @property
    def file(self) -> bytes:
        """Return all blocks but the genesis."""
        return self.chain.file


@cache
def history() -> History:
    """Return the history, which is always the same."""
    alloc = {
        bytes(SENDER): Account(balance=10**24),
        bytes(DEPOSITS): Account(nonce=1, code=DEPOSIT_LOGGER),
        **_system_contracts(),
    }
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
    """A signer of transactions of the one account, of the types that each fork allows."""

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
            made += self._requests(number)
        if number >= BPO1:
            made += [self._blobs(), self._blobs()]  # together with the first, too many for Osaka
        return made

    def _requests(self, number: int) -> list[bytes]:
        """Return a request of each kind: an exit, a consolidation, and a deposit."""
        key = bytes([number]) * 48
        return [
            self._sign(number, to=EXITS, value=1, data=key + (7).to_bytes(8, "big")),
            self._sign(number, to=CONSOLIDATIONS, value=1, data=key + b"\x02" * 48),
            self._sign(number, to=DEPOSITS, value=0, data=deposit_event(key)),
        ]

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


def deposit_event(key: bytes) -> bytes:
    """Return the log data of a deposit: five fields, each preceded by its offset and length."""
    fields = (key, b"\x02" * 32, (32 * 10**9).to_bytes(8, "little"), b"\x03" * 96, bytes(8))
    heads, tails = b"", b""
    for field in fields:
        heads += (32 * len(fields) + len(tails)).to_bytes(32, "big")
        tails += len(field).to_bytes(32, "big") + field.ljust(-(-len(field) // 32) * 32, b"\0")
    return heads + tails


def _system_contracts() -> dict[bytes, Account]:
    """Return the system contracts in the genesis of the vectors."""
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

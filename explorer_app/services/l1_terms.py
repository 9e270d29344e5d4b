"""The terms of an L1 that a user wants, and the genesis file of its chain."""

import hashlib
import json
import re
from typing import Any, Final, NamedTuple, Self

from explorer_app.managers.contract import MANAGER_ADDRESS, TERMS, ManagerKind, genesis_account
from explorer_app.managers.ports import ValidatorIdentity
from explorer_app.services.l1_node import NotCreated
from primitives import secp256k1
from primitives.cb58 import Cb58Error
from primitives.hexadecimal import decode_address
from primitives.ids import IdError, NodeID
from primitives.keys import EWOQ_KEY

PAYER: Final = secp256k1.address_of_private_key(EWOQ_KEY)
"""The account of the public key ewoq, which development tools have. It pays for the steps of the creation."""

MAX_NAME: Final = 128
_NAME: Final = re.compile(r"[A-Za-z0-9 ]+")
_GAS_LIMIT: Final = 12_000_000
_FEES: Final = {
    "gasLimit": _GAS_LIMIT,
    "targetBlockRate": 2,
    "minBaseFee": 1_000_000_000,
    "targetGas": 15_000_000,
    "baseFeeChangeDenominator": 36,
    "minBlockGasCost": 0,
    "maxBlockGasCost": 1_000_000,
    "blockGasCostStep": 200_000,
}
_COINS: Final = 10**24
"""Wei of the owner's account."""
_COINS_OF_PAYER: Final = 10**21
"""Wei of the account that pays, if it is not the owner's, for gas. It gets the stake of the second validator besides."""
SHARE: Final = 5
"""The second validator gets the first one's weight divided by this, so that the first one alone is a quorum."""


class L1Terms(NamedTuple):
    """The L1 that a user wants."""

    name: str
    """Of the blockchain."""
    chain_id: int
    """The EVM chain ID of a genesis that is made; 0 with a genesis file."""
    owner: str
    """The rich account of a genesis that is made, and owner of the manager: an address in hexadecimal digits."""
    manager: str
    """`poa`, `pos`, or the address of a manager on the C-Chain, for whom the node can sign."""
    weight: int
    """Of this node as the first validator."""
    balance: int
    """Of each validator, in the smallest unit."""
    validator: str = ""
    """The second validator, as `read_validator` reads it; empty: one whose keys this node makes."""
    genesis_hash: str = ""
    """SHA-256 of the genesis file in hexadecimal digits."""

    @property
    def kind(self) -> ManagerKind | None:
        """Who decides about the validators; None: an address on the C-Chain."""
        return None if self.manager.startswith("0x") else ManagerKind(self.manager)

    @property
    def second_weight(self) -> int:
        """The weight of the second validator."""
        return self.weight // SHARE

    @property
    def stake(self) -> int:
        """Wei that the account that pays stakes for the second validator."""
        return 0 if self.kind is None else self.second_weight * TERMS[self.kind].stake_per_weight

    def to_json(self) -> str:
        """Return the terms as JSON."""
        return json.dumps(self._asdict())

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Return the terms that `to_json` has written."""
        return cls(**json.loads(text))

    def verify(self) -> None:
        """Check the terms that the P-Chain does not check, or only later.

        Raises:
            NotCreated: The name is not valid; the second validator would have no weight; the manager would have no owner.
        """
        if not _NAME.fullmatch(self.name) or len(self.name) > MAX_NAME:
            raise NotCreated(
                f"the name of a chain has letters, digits and spaces, {MAX_NAME} at most"
            )
        if self.kind is not None and not self.second_weight:
            raise NotCreated(
                f"the weight must be at least {SHARE}: the second validator gets a fifth of it"
            )
        if self.kind is not None and not any(decode_address(self.owner)):
            raise NotCreated(f"the owner must not be {self.owner}: the manager would have no owner")


def read_validator(text: str) -> ValidatorIdentity:
    """Return a validator in the form `NodeID-…/0x<BLS key>/0x<proof of possession>`.

    Raises:
        ValueError: It has another form.
    """
    try:
        node_id, *parts = text.split("/")
        key, proof = (bytes.fromhex(part.removeprefix("0x")) for part in parts)
        found = ValidatorIdentity(NodeID.parse(node_id), key, proof)
    except (ValueError, IdError, Cb58Error):
        found = None
    if found is None or (len(found.public_key), len(found.proof)) != (48, 96):
        raise ValueError("a validator is NodeID-…/0x<BLS key>/0x<proof of possession>")
    return found


def genesis_of(terms: L1Terms, now: int) -> str:
    """Return the genesis file of a chain with warp messages, one rich account, and perhaps a manager.

    Args:
        terms: The terms of the L1.
        now: The time of the first block in Unix seconds.
    """
    warp = {"blockTimestamp": now, "quorumNumerator": 67, "requirePrimaryNetworkSigners": True}
    owner = decode_address(terms.owner)
    alloc: dict[str, Any] = {owner.hex(): {"balance": hex(_COINS)}}
    if terms.kind is not None:
        coins = _COINS if owner == PAYER else _COINS_OF_PAYER
        alloc[PAYER.hex()] = {"balance": hex(coins + terms.stake)}
        alloc[MANAGER_ADDRESS.hex()] = genesis_account(PAYER, TERMS[terms.kind])
    document = {
        "config": {"chainId": terms.chain_id, "feeConfig": _FEES, "warpConfig": warp},
        "gasLimit": hex(_GAS_LIMIT),
        "difficulty": "0x0",
        "timestamp": hex(now),
        "alloc": alloc,
    }
    return json.dumps(document, indent=2)


def hash_of(genesis: str) -> str:
    """Return the hash by which terms name a genesis file."""
    return hashlib.sha256(genesis.encode()).hexdigest()


def with_manager(genesis: str, terms: L1Terms) -> str:
    """Return a user's genesis file, with the manager if the terms want one.

    Raises:
        NotCreated: It is not JSON; the chain has no warp messages; the manager's address is taken; the account that pays
            for the steps has no coins, or too few for the stake of the second validator.
    """
    try:
        document = json.loads(genesis)
    except (ValueError, RecursionError) as error:
        raise NotCreated(f"the genesis file is not JSON: {error}") from error
    if terms.kind is None:
        return genesis
    if not isinstance(document, dict) or not isinstance(document.get("alloc"), dict):
        raise NotCreated("the genesis file has no object `alloc`")
    config, alloc = document.get("config"), document["alloc"]
    if not isinstance(config, dict) or not isinstance(config.get("warpConfig"), dict):
        raise NotCreated(
            "the genesis file has no `config.warpConfig`, without which the manager cannot speak to the P-Chain"
        )
    accounts = {str(key).lower().removeprefix("0x"): value for key, value in alloc.items()}
    if MANAGER_ADDRESS.hex() in accounts:
        raise NotCreated(f"the genesis file has an account 0x{MANAGER_ADDRESS.hex()} already")
    balance = _balance(accounts.get(PAYER.hex()))
    if not balance:
        raise NotCreated(
            f"the genesis file gives no coins to 0x{PAYER.hex()}, which pays for the calls of the manager"
        )
    if balance <= terms.stake:
        raise NotCreated(
            f"the genesis file gives {balance} wei to 0x{PAYER.hex()}, which stakes {terms.stake} wei for the second "
            "validator and pays for the calls of the manager: give it more, or choose a smaller weight"
        )
    alloc[MANAGER_ADDRESS.hex()] = genesis_account(PAYER, TERMS[terms.kind])
    return json.dumps(document, indent=2)


def _balance(account: object) -> int:
    """Return the balance of an entry of `alloc`; 0 if it is missing or unreadable."""
    text = account.get("balance") if isinstance(account, dict) else None
    try:
        return int(str(text), 16 if str(text).startswith("0x") else 10)
    except ValueError:
        return 0

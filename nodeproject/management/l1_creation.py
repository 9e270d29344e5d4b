"""The creation of an L1 on a local network: subnet, EVM chain and conversion, by calls to the running node."""

import json
import secrets
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

from nunatak.rpc import RpcError, Unreachable, call
from platform_app.txs.warp import initial_validation_id
from primitives.checksummed import TextEncoding, encode
from primitives.ids import ID

VM: Final = "subnetevm"
DEFAULT_MANAGER: Final = "0x0feedc0de0000000000000000000000000000000"
"""Where tools put a validator manager; on a local network none has to be there."""
WAIT_SECONDS: Final = 60.0
"""How long a transaction may take to get into a block."""

BEGIN_SECONDS: Final = 15.0
"""How long a node may take to run a chain that was created."""

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


class NotCreated(Exception):
    """A failure to create an L1. The transactions that were accepted before it stay."""


class L1Plan(NamedTuple):
    """The terms of a new L1."""

    name: str
    """Of the blockchain."""
    genesis: bytes
    manager: str
    """The address of the validator manager on the C-Chain, in hexadecimal."""
    weight: int
    """Of this node as the first validator."""
    balance: int
    """Of this node as the first validator, in the smallest unit."""
    key: str
    """The private key that pays and controls the subnet until its conversion, in the form of keystores."""


class CreatedL1(NamedTuple):
    """The IDs of a new L1."""

    subnet_id: str
    blockchain_id: str
    validation_id: str
    status: str
    """Of the blockchain on the node: Created if the node does not run it."""


def genesis_of(chain_id: int, owner: str, now: int) -> bytes:
    """Return the genesis file of a chain with warp messages and one rich account.

    Args:
        chain_id: The EVM chain ID.
        owner: The account's address, 0x and 40 hexadecimal digits.
        now: The time of the first block in Unix seconds.
    """
    warp = {"blockTimestamp": now, "quorumNumerator": 67, "requirePrimaryNetworkSigners": True}
    document = {
        "config": {"chainId": chain_id, "feeConfig": _FEES, "warpConfig": warp},
        "gasLimit": hex(_GAS_LIMIT),
        "difficulty": "0x0",
        "timestamp": hex(now),
        "alloc": {owner.removeprefix("0x"): {"balance": hex(_COINS)}},
    }
    return json.dumps(document, indent=2).encode()


class L1Creation:
    """Creates L1s through the interfaces of a running node.

    Args:
        url: The base of the node's URLs.
        headers: The headers of calls, such as a token.
    """

    def __init__(self, url: str, headers: Mapping[str, str]) -> None:
        self._url = url
        self._headers = headers

    def create(self, plan: L1Plan) -> CreatedL1:
        """Create a subnet with a chain, and convert it to an L1 with the node as its validator.

        Raises:
            NotCreated: The node refuses a step, or does not answer.
        """
        try:
            with self._user(plan.key) as user:
                return self._steps(plan, user)
        except (RpcError, Unreachable) as error:
            raise NotCreated(str(error)) from error

    def _steps(self, plan: L1Plan, user: Mapping[str, str]) -> CreatedL1:
        (address,) = self._platform("listAddresses", **user)["addresses"]
        subnet_id = self._act("createSubnet", user, controlKeys=[address], threshold=1)
        blockchain_id = self._act(
            "createBlockchain",
            user,
            subnetID=subnet_id,
            vmID=VM,
            name=plan.name,
            genesisData=encode(plan.genesis, TextEncoding.HEX),
            encoding=TextEncoding.HEX.value,
        )
        self._act(
            "convertSubnetToL1",
            user,
            subnetID=subnet_id,
            managerChainID="C",
            managerAddress=plan.manager,
            validators=[{"weight": plan.weight, "balance": str(plan.balance)}],
        )
        validation_id = initial_validation_id(ID.parse(subnet_id), 0)
        return CreatedL1(subnet_id, blockchain_id, str(validation_id), self._status(blockchain_id))

    def _status(self, blockchain_id: str) -> str:
        """Return the status of a blockchain as soon as the node runs it, or when it should have begun to."""
        until = time.monotonic() + BEGIN_SECONDS
        while True:
            status: str = self._platform("getBlockchainStatus", blockchainID=blockchain_id)[
                "status"
            ]
            if status != "Created" or time.monotonic() > until:
                return status
            time.sleep(0.1)

    @contextmanager
    def _user(self, key: str) -> Iterator[Mapping[str, str]]:
        """Create a user of the node's keystore with a key, and delete it at the end."""
        user = {"username": f"l1-{secrets.token_hex(8)}", "password": secrets.token_urlsafe(24)}
        self._call("/ext/keystore", "keystore.createUser", user)
        try:
            self._platform("importKey", **user, privateKey=key)
            yield user
        finally:
            self._call("/ext/keystore", "keystore.deleteUser", user)

    def _act(self, method: str, user: Mapping[str, str], **given: Any) -> str:
        """Issue a transaction; return its ID once it is accepted."""
        tx_id: str = self._platform(method, **user, **given)["txID"]
        until = time.monotonic() + WAIT_SECONDS
        while True:
            status = self._platform("getTxStatus", txID=tx_id)
            if status["status"] == "Committed":
                return tx_id
            if status["status"] == "Dropped" or time.monotonic() > until:
                reason = status.get("reason") or "no block contains it"
                raise NotCreated(f"platform.{method}: transaction {tx_id}: {reason}")
            time.sleep(0.1)

    def _platform(self, method: str, **given: Any) -> Any:
        return self._call("/ext/bc/P", f"platform.{method}", given)

    def _call(self, path: str, method: str, given: Mapping[str, Any]) -> Any:
        return call(f"{self._url}{path}", method, dict(given), headers=self._headers)

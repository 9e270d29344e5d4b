"""P-Chain transactions for load and funding. A wallet has one key and spends its coins without asking the node.

The SDK scripts show that other libraries can build transactions; here they are built because tests need many
of them quickly.
"""

import itertools
from collections.abc import Iterable, Sequence
from typing import Any

from platform_app.txs.base import BaseTx, SpendingTx, StakingPeriod, Tx, inner_output
from platform_app.txs.codec import CODEC
from platform_app.txs.staking import AddPermissionlessDelegatorTx, AddPermissionlessValidatorTx
from platform_app.txs.subnets import CreateSubnetTx
from primitives import checksummed
from primitives.addresses import format_address
from primitives.hashing import sha256
from primitives.ids import ID, NodeID
from primitives.keys import EWOQ_KEY, address_of
from tests.builders import platform
from tests.e2e.platform_client import PlatformClient
from tests.servers.node import RunningNode
from utxo.components import UTXO, OutputOwners, TransferableOutput, TransferOutput
from utxo.well_formed import sort_outputs

HRP = "local"
UNIT = platform.UNIT
FEE = platform.CONFIG.fees.tx
SUBNET_FEE = platform.CONFIG.fees.create_subnet

_SEEDS = itertools.count(1)


def new_keys(count: int) -> list[bytes]:
    """Return private keys that no other test uses, sorted by address."""
    keys = [sha256(b"e2e %d" % next(_SEEDS)) for _ in range(count)]
    return sorted(keys, key=address_of)


def address(key: bytes, chain: str = "P") -> str:
    """Return the address of a key as text."""
    return format_address(chain, HRP, address_of(key))


def raw(tx: Tx) -> str:
    """Return a transaction in the format of platform.issueTx."""
    return checksummed.encode(tx.raw)


class Wallet:
    """A key and its coins as of the last `look`. Building a transaction does not change them."""

    def __init__(self, key: bytes) -> None:
        self.key = key
        self.address = address(key)
        self.coins: list[UTXO] = []

    def look(self, client: PlatformClient) -> None:
        """Replace the coins with those that the node reports."""
        found: dict[ID, UTXO] = {}
        start: dict[str, str] = {}
        while True:
            page = client.call(
                "platform.getUTXOs", addresses=[self.address], startIndex=start, limit=1024
            )
            read = [CODEC.unmarshal(UTXO, checksummed.decode(other)) for other in page["utxos"]]
            found |= {item.utxo_id: item for item in read}
            if int(page["numFetched"]) < 1024:
                break
            start = page["endIndex"]
        self.coins = list(found.values())

    def pay(
        self, amounts: Sequence[tuple[bytes, int]], coin: UTXO | None = None, *, fee: int = FEE
    ) -> Tx:
        """Pay amounts to keys from a coin, by default the largest; the change goes back to this key."""
        spent = coin or max(self.coins, key=worth)
        left = worth(spent) - fee - sum(amount for _, amount in amounts)
        outputs = [(key, amount) for key, amount in [*amounts, (self.key, left)] if amount]
        return self._sign(BaseTx, spent, outputs)

    def create_subnet(self, coin: UTXO | None = None) -> Tx:
        """Create a subnet that the key controls."""
        spent = coin or max(self.coins, key=worth)
        left = [(self.key, worth(spent) - SUBNET_FEE)]
        return self._sign(CreateSubnetTx, spent, left, owner=self._mine)

    def add_validator(
        self,
        node_id: NodeID,
        end: int,
        coin: UTXO | None = None,
        *,
        weight: int = platform.CONFIG.min_validator_stake,
    ) -> Tx:
        """Stake as a validator from now until `end`; the default weight is the minimum for validators."""
        spent = coin or max(self.coins, key=worth)
        return self._sign(
            AddPermissionlessValidatorTx,
            spent,
            [(self.key, worth(spent) - weight - FEE)],
            validator=StakingPeriod(node_id, 0, end, weight),
            stake=self._stake(spent, weight),
            validation_rewards_owner=self._mine,
            delegation_rewards_owner=self._mine,
        )

    def delegate(
        self,
        node_id: NodeID,
        end: int,
        coin: UTXO | None = None,
        *,
        weight: int = platform.CONFIG.min_delegator_stake,
    ) -> Tx:
        """Delegate to a validator from now until `end`; the default weight is the minimum for delegators."""
        spent = coin or max(self.coins, key=worth)
        return self._sign(
            AddPermissionlessDelegatorTx,
            spent,
            [(self.key, worth(spent) - weight - FEE)],
            validator=StakingPeriod(node_id, 0, end, weight),
            stake=self._stake(spent, weight),
            rewards_owner=self._mine,
        )

    def back(self, tx: Tx) -> list[UTXO]:
        """Return the outputs of a committed transaction that belong to this key."""
        outputs: tuple[TransferableOutput, ...] = tx.unsigned.outputs
        return [
            UTXO(tx.tx_id, place, one.asset_id, one.output)
            for place, one in enumerate(outputs)
            if inner_output(one.output).owners == self._mine
        ]

    def _stake(self, spent: UTXO, weight: int) -> tuple[TransferableOutput, ...]:
        return (TransferableOutput(spent.asset_id, TransferOutput(weight, self._mine)),)

    @property
    def _mine(self) -> OutputOwners:
        return platform.owners(address_of(self.key))

    def _sign(
        self,
        kind: type[SpendingTx],
        spent: UTXO,
        amounts: Iterable[tuple[bytes, int]],
        **fields: Any,
    ) -> Tx:
        paid = (
            platform.output(amount, address_of(key), asset_id=spent.asset_id)
            for key, amount in amounts
        )
        outputs = sort_outputs(paid, CODEC)
        inputs = platform.spend_all(spent)
        return platform.signed(kind, [[self.key]], outputs=outputs, inputs=inputs, **fields)


def fund(node: RunningNode, amounts: Sequence[tuple[bytes, int]], *, fee: int = FEE) -> None:
    """Pay amounts, in the smallest unit, to keys from the genesis funds of a local network."""
    rich = Wallet(EWOQ_KEY)
    with PlatformClient(node.port) as client:
        rich.look(client)
        client.commit(raw(rich.pay(amounts, fee=fee)))


def worth(coin: UTXO) -> int:
    """Return the amount of a coin, in the smallest unit."""
    return inner_output(coin.output).amount

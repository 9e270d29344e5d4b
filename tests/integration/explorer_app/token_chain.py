"""A chain with tokens of all three kinds, whose contracts behave as a test specifies."""

from collections.abc import Iterable, Mapping
from typing import Any

from cchain_app.blocks.accepted import AcceptedBlock
from explorer_app import models
from explorer_app.services.tokens import index_tokens
from explorer_app.tokens import events
from primitives.evm import Address
from tests.builders import bytecode, puppet
from tests.builders.bytecode import words
from tests.builders.transactions import RECIPIENT, SENDER
from tests.integration.conftest import Chain

LONG = 60.0
NOW = 4_000_000_000
"""Wall time passed to the index: later than the clock shows when a chain is rewound."""
NOBODY = Address(bytes(20))
OTHER = Address(b"\x22" * 20)


class TokenChain:
    """A chain, its token contracts, and the index."""

    def __init__(self, chain: Chain) -> None:
        self.chain = chain

    def index(self, *, seconds: float = LONG, now: int = NOW) -> int:
        """Run the index."""
        return index_tokens(self.chain.evm, seconds=seconds, now=now)

    def deploy(self, answers: Mapping[bytes, bytes]) -> Address:
        """Deploy a puppet in a block of its own."""
        return self.create(puppet.deployed(answers))

    def create(self, code: bytes) -> Address:
        """Run init code in a block of its own; return the contract's address."""
        address = bytecode.created(SENDER, self.chain.nonce)
        self.chain.do(to=None, data=code, gas=4_000_000, value=0)
        return address

    def deploy_many(self, answers: Iterable[Mapping[bytes, bytes]]) -> list[Address]:
        """Deploy puppets in one block."""
        made: list[Address] = []
        for answer in answers:
            made.append(bytecode.created(SENDER, self.chain.nonce))
            code = puppet.deployed(answer)
            self.chain.send(self.chain.make(to=None, data=code, gas=1_500_000, value=0))
        block = self.chain.mine()
        assert [receipt.succeeded for receipt in block.receipts] == [True] * len(made)
        return made

    def call(self, to: Address, *calls: bytes) -> AcceptedBlock:
        """Call a contract one or more times, all in one block."""
        return self.call_each((to, data) for data in calls)

    def call_each(self, calls: Iterable[tuple[Address, bytes]]) -> AcceptedBlock:
        """Call contracts, all in one block."""
        sent = [self.chain.make(to=to, data=data, gas=500_000, value=0) for to, data in calls]
        self.chain.send(*sent)
        block = self.chain.mine()
        assert all(receipt.succeeded for receipt in block.receipts)
        return block

    def move(self, token: Address, sender: Address, to: Address, value: int) -> AcceptedBlock:
        """Have a puppet emit an ERC-20 transfer, without changing the values it returns."""
        return self.call(token, erc20(sender, to, value))


def erc20(sender: Address, to: Address, value: int) -> bytes:
    """Return call data that makes a puppet emit an ERC-20 transfer."""
    return puppet.emit((events.TRANSFER, sender, to), words(value))


def erc721(sender: Address, to: Address, token_id: int) -> bytes:
    """Return call data that makes a puppet emit an ERC-721 transfer."""
    return puppet.emit((events.TRANSFER, sender, to, token_id))


def erc1155(sender: Address, to: Address, token_id: int, value: int) -> bytes:
    """Return call data that makes a puppet emit an ERC-1155 transfer."""
    return puppet.emit((events.TRANSFER_SINGLE, SENDER, sender, to), words(token_id, value))


def transfers() -> list[tuple[Any, ...]]:
    """Return the fields of all transfer rows, in order."""
    columns = ("kind", "sender", "to", "token_id", "last_token_id", "value", "doubtful")
    return [tuple(row) for row in models.TokenTransfer.objects.order_by("id").values_list(*columns)]


def amounts(contract: bytes) -> dict[tuple[bytes, int | None], int]:
    """Return the amounts of a token by holder and token ID."""
    held = models.TokenBalance.objects.filter(contract=contract)
    return {(bytes(balance.holder), balance.token_id): balance.amount for balance in held}


def owners() -> dict[int, bytes | None]:
    """Return the owners of NFTs by token ID."""
    return dict(models.TokenItem.objects.values_list("token_id", "owner"))


def everything() -> dict[str, list[Any]]:
    """Return all rows of the index, without zero balances and without the heights of contract queries."""
    held = models.TokenBalance.objects.exclude(summed=0)
    of = {
        "tokens": models.Token.objects.order_by("pk").values(),
        "transfers": models.TokenTransfer.objects.order_by("pk").values(),
        "items": models.TokenItem.objects.order_by("pk").values(),
        "balances": held.order_by("pk").values(),
    }
    return {name: [{**row, "asked_height": None} for row in rows] for name, rows in of.items()}


def forget() -> None:
    """Delete all rows of the index, so that it starts from the beginning."""
    for model in (
        models.TokenTransfer,
        models.TokenBalance,
        models.TokenItem,
        models.Token,
        models.TokenProgress,
    ):
        model.objects.all().delete()


def used(tokens: TokenChain) -> tuple[Any, Any, Any]:
    """Deploy and use a token of each kind; only the puppets' logs report the transfers."""
    coin, cats, things = (
        tokens.deploy(answers)
        for answers in (puppet.of_erc20(), puppet.of_erc721(), puppet.of_erc1155())
    )
    tokens.call(coin, puppet.put(RECIPIENT, 100), erc20(NOBODY, RECIPIENT, 100))
    tokens.call(cats, puppet.put(SENDER, 2), erc721(NOBODY, SENDER, 1), erc721(NOBODY, SENDER, 2))
    batch = words(64, 160, 2, 7, 8, 2, 70, 80)
    told = puppet.emit((events.TRANSFER_BATCH, SENDER, NOBODY, SENDER), batch)
    tokens.call(things, told)
    tokens.call(things, erc1155(SENDER, RECIPIENT, 7, 30))
    tokens.call(cats, erc721(SENDER, RECIPIENT, 2))
    return coin, cats, things


__all__ = [
    "LONG",
    "NOBODY",
    "NOW",
    "OTHER",
    "RECIPIENT",
    "SENDER",
    "TokenChain",
    "erc20",
    "erc721",
    "erc1155",
]

"""Tokens: their own description, their transfers, and their holders.

With NODE_TOKEN_INDEX these rows are written from the rows of logs, some time after the block.
"""

from django.db import models
from django.db.models import Q
from typing_extensions import override

from cchain_app.models import Transaction
from chaindb.fields import AddressField, BytesField, RowIdField, UInt256Field
from explorer_app.tokens.events import TokenStandard


class TokenKind(models.IntegerChoices):
    """The standard of a token, by its number."""

    ERC20 = TokenStandard.ERC20.value, "ERC-20"
    ERC721 = TokenStandard.ERC721.value, "ERC-721"
    ERC1155 = TokenStandard.ERC1155.value, "ERC-1155"


class Token(models.Model):
    """A contract that has emitted a transfer; its answers decide whether it counts as a token."""

    address = AddressField(primary_key=True)
    first_log = models.BigIntegerField(
        unique=True, help_text="The key of its first transfer: of two tokens the lower one is older"
    )
    first_erc20_log = models.BigIntegerField(
        null=True,
        help_text="The key of its first Transfer as ERC-20 demands it; null: there is none",
    )
    kind = models.SmallIntegerField(
        choices=TokenKind.choices,
        null=True,
        help_text="Null: no token, as far as it has been asked",
    )
    name = models.TextField(  # noqa: DJ001  # a name may be missing, and is never empty
        null=True,
        help_text="What it calls itself, without what does not show; null: nothing that is a text",
    )
    symbol = models.TextField(null=True, help_text="Likewise")  # noqa: DJ001  # likewise
    name_likeness = models.TextField(help_text="What names that look alike have in common")
    symbol_likeness = models.TextField(help_text="Likewise")
    name_key = BytesField(
        null=True, help_text="What its name begins with, as it is looked for; null: it has none"
    )
    symbol_key = BytesField(null=True, help_text="Likewise")
    decimals = models.SmallIntegerField(
        null=True, help_text="Null: amounts are shown in smallest units"
    )
    total_supply = UInt256Field(null=True, help_text="As it says; null: it does not")
    asked_height = models.BigIntegerField(
        null=True, help_text="At which height it was asked the last time; null: never yet"
    )
    asks_at = models.BigIntegerField(
        null=True, help_text="Unix seconds from which on it is to be asked (again); null: not"
    )
    attempts = models.SmallIntegerField(
        default=0, help_text="How often in a row it was asked and did not answer all"
    )

    is_copy = False
    """Whether an earlier token has the same name or symbol; set by selectors."""

    class Meta:
        ordering = ["-first_log"]
        indexes = [
            models.Index(fields=["kind", "first_log"], name="explorer_token_by_kind"),
            models.Index(
                fields=["first_log"],
                name="explorer_token_in_order",
                condition=Q(kind__isnull=False),
            ),
            models.Index(fields=["name_likeness", "first_log"], name="explorer_token_by_name"),
            models.Index(fields=["symbol_likeness", "first_log"], name="explorer_token_by_symbol"),
            models.Index(
                fields=["name_key", "first_log"],
                name="explorer_token_found_by_name",
                condition=Q(name_key__isnull=False),
            ),
            models.Index(
                fields=["symbol_key", "first_log"],
                name="explorer_token_found_by_symbol",
                condition=Q(symbol_key__isnull=False),
            ),
            models.Index(
                fields=["asks_at"], name="explorer_token_to_ask", condition=Q(asks_at__isnull=False)
            ),
            models.Index(
                fields=["asks_at"],
                name="explorer_token_never_asked",
                condition=Q(asks_at__isnull=False, asked_height__isnull=True),
            ),
            models.Index(
                fields=["first_erc20_log"],
                name="explorer_token_by_erc20_log",
                condition=Q(first_erc20_log__isnull=False),
            ),
            models.Index(
                fields=["asked_height"],
                name="explorer_token_by_asking",
                condition=Q(asked_height__isnull=False),
            ),
        ]

    @override
    def __str__(self) -> str:
        return self.name or str(self.address)


class TokenTransfer(models.Model):
    """A transfer; its key combines the block's number and the index among the block's transfers."""

    id = RowIdField(primary_key=True)
    transaction = models.ForeignKey(
        Transaction, models.PROTECT, related_name="token_transfers", db_constraint=False
    )
    contract = models.ForeignKey(
        Token, models.PROTECT, related_name="transfers", db_index=False, db_constraint=False
    )
    log_index = models.IntegerField(help_text="Of its log, within the block")
    kind = models.SmallIntegerField(choices=TokenKind.choices, help_text="By its event")
    sender = AddressField(help_text="Zero: minted")
    to = AddressField(help_text="Zero: burned")
    token_id = UInt256Field(null=True, help_text="Null of ERC-20; of a range its first")
    last_token_id = UInt256Field(null=True, help_text="Of a range (ERC-2309) its last, else null")
    noted = models.SmallIntegerField(
        null=True, help_text="Of a range: from its first on so many have their owner noted"
    )
    value = UInt256Field(help_text="Smallest units; of ERC-721 how many tokens")
    hidden = models.BooleanField(
        help_text="Lists of an address leave it out at first: it moves nothing, or its sender is an account that "
        "did not sign the transaction"
    )

    class Meta:
        ordering = ["-id"]
        verbose_name = "token transfer"
        indexes = [
            models.Index(fields=["contract", "id"], name="explorer_transfer_by_token"),
            models.Index(fields=["contract", "token_id", "id"], name="explorer_transfer_by_item"),
            models.Index(
                fields=["contract", "id"],
                name="explorer_transfer_of_range",
                condition=Q(last_token_id__isnull=False),
            ),
            models.Index(
                fields=["contract", "token_id"],
                name="explorer_ranges_by_first",
                condition=Q(last_token_id__isnull=False),
            ),
            models.Index(fields=["sender", "id"], name="explorer_transfer_by_sender"),
            models.Index(fields=["to", "id"], name="explorer_transfer_by_recipient"),
            models.Index(
                fields=["sender", "id"], name="explorer_shown_by_sender", condition=Q(hidden=False)
            ),
            models.Index(
                fields=["to", "id"], name="explorer_shown_by_recipient", condition=Q(hidden=False)
            ),
        ]

    @override
    def __str__(self) -> str:
        return f"token transfer {self.id}"


class TokenBalance(models.Model):
    """The balance of a holder of a token; for ERC-1155 of one token ID."""

    key = BytesField(
        primary_key=True, help_text="Contract, holder, kind in two bytes, and of ERC-1155 the id"
    )
    contract = models.ForeignKey(
        Token, models.PROTECT, related_name="balances", db_index=False, db_constraint=False
    )
    holder = AddressField()
    kind = models.SmallIntegerField(choices=TokenKind.choices)
    token_id = UInt256Field(null=True, help_text="Of ERC-1155")
    summed = UInt256Field(help_text="What the transfers add up to, modulo 2^256")
    amount = UInt256Field(
        help_text="What the contract said, and what transfers have added since; the sum where it said nothing"
    )
    asked_height = models.BigIntegerField(
        null=True, help_text="At which height the contract said so; null: it did not"
    )
    differs = models.BooleanField(
        default=False, help_text="Whether it said something else than the transfers add up to"
    )
    to_ask = models.BooleanField(
        default=True, help_text="Whether there were transfers since the contract was asked"
    )

    class Meta:
        ordering = ["key"]
        verbose_name = "token balance"
        indexes = [
            models.Index(fields=["contract", "kind", "amount", "key"], name="explorer_holders"),
            models.Index(
                fields=["contract", "token_id", "amount", "key"],
                name="explorer_holders_of_item",
                condition=Q(token_id__isnull=False),
            ),
            models.Index(fields=["holder", "key"], name="explorer_balance_by_holder"),
            models.Index(fields=["key"], name="explorer_balance_to_ask", condition=Q(to_ask=True)),
            models.Index(
                fields=["asked_height"],
                name="explorer_balance_by_asking",
                condition=Q(asked_height__isnull=False),
            ),
        ]

    @override
    def __str__(self) -> str:
        return f"{self.holder} of {self.contract_id}"


class TokenItem(models.Model):
    """A token of an ERC-721 contract and its owner."""

    key = BytesField(primary_key=True, help_text="Contract and id")
    contract = models.ForeignKey(
        Token, models.PROTECT, related_name="items", db_index=False, db_constraint=False
    )
    token_id = UInt256Field()
    owner = AddressField(null=True, help_text="Null: it was burned")

    class Meta:
        ordering = ["key"]
        verbose_name = "token of a collection"
        verbose_name_plural = "tokens of collections"
        indexes = [
            models.Index(fields=["owner", "contract"], name="explorer_item_by_owner"),
            models.Index(
                fields=["contract", "token_id"],
                name="explorer_item_owned",
                condition=Q(owner__isnull=False),
            ),
        ]

    @override
    def __str__(self) -> str:
        return f"{self.contract_id} #{self.token_id}"


class TokenProgress(models.Model):
    """The progress of the index of transfers, in a single row."""

    id = models.SmallIntegerField(primary_key=True)
    next_log = models.BigIntegerField(
        help_text="The key of the next log: the transfers of all before it are written, of none from it on"
    )
    next_transfer = models.BigIntegerField(help_text="The key of the next transfer")

    class Meta:
        verbose_name = "progress of token transfers"

    @override
    def __str__(self) -> str:
        return f"logs up to {self.next_log}"

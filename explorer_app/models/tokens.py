"""Tokens: their own description, their transfers, and their holders.

With NODE_TOKEN_INDEX these rows are written from the rows of logs, some time after the block.
"""

from django.db import models
from django.db.models import Q
from typing_extensions import override

from cchain_app.models import Transaction
from chaindb.fields import AddressField, BytesField, RowIdField, UInt256Field
from explorer_app.tokens.events import TokenStandard
from primitives.hexadecimal import checksum_address


class TokenKind(models.IntegerChoices):
    """The standard of a token, by its number."""

    ERC20 = TokenStandard.ERC20.value, "ERC-20"
    ERC721 = TokenStandard.ERC721.value, "ERC-721"
    ERC1155 = TokenStandard.ERC1155.value, "ERC-1155"


class Token(models.Model):
    """A contract that has emitted a transfer; the results of its methods decide whether it is a token."""

    address = AddressField(primary_key=True)
    first_log = models.BigIntegerField(
        unique=True, help_text="Key of the log of its first transfer; older tokens have lower keys"
    )
    first_erc20_log = models.BigIntegerField(
        null=True,
        help_text="Key of its first Transfer log in the form that ERC-20 requires; null: none",
    )
    kind = models.SmallIntegerField(
        choices=TokenKind.choices,
        null=True,
        help_text="Null: not known to be a token",
    )
    name = models.TextField(  # noqa: DJ001  # a name may be missing, and is never empty
        null=True,
        help_text="Its name() without invisible characters; null: it returned no text",
    )
    symbol = models.TextField(  # noqa: DJ001  # as above
        null=True,
        help_text="Its symbol() without invisible characters; null: it returned no text",
    )
    name_likeness = models.TextField(
        help_text="Normalized form that is equal for names that look alike"
    )
    symbol_likeness = models.TextField(
        help_text="Normalized form that is equal for symbols that look alike"
    )
    name_key = BytesField(
        null=True, help_text="Normalized start of the name, for prefix search; null: no name"
    )
    symbol_key = BytesField(
        null=True, help_text="Normalized start of the symbol, for prefix search; null: no symbol"
    )
    decimals = models.SmallIntegerField(
        null=True, help_text="Its decimals(); null: unknown, amounts are shown in the smallest unit"
    )
    total_supply = UInt256Field(null=True, help_text="Its totalSupply(); null: it returned none")
    asked_height = models.BigIntegerField(
        null=True, help_text="Height at which its methods were last called; null: never"
    )
    asks_at = models.BigIntegerField(
        null=True, help_text="Unix seconds of the next call of its methods; null: none is due"
    )
    attempts = models.SmallIntegerField(
        default=0, help_text="Number of consecutive attempts in which a method failed"
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
        return self.name or checksum_address(self.address)


class TokenTransfer(models.Model):
    """A transfer; its key combines the block's number and the index among the block's transfers."""

    id = RowIdField(primary_key=True)
    transaction = models.ForeignKey(
        Transaction, models.PROTECT, related_name="token_transfers", db_constraint=False
    )
    contract = models.ForeignKey(
        Token, models.PROTECT, related_name="transfers", db_index=False, db_constraint=False
    )
    log_index = models.IntegerField(help_text="Index of its log in the block")
    kind = models.SmallIntegerField(choices=TokenKind.choices, help_text="Standard of the event")
    sender = AddressField(help_text="The zero address: minted")
    to = AddressField(help_text="The zero address: burned")
    token_id = UInt256Field(null=True, help_text="Null for ERC-20; the first ID of a range")
    last_token_id = UInt256Field(
        null=True, help_text="The last ID of a range (ERC-2309); else null"
    )
    noted = models.SmallIntegerField(
        null=True, help_text="For a range: number of its first IDs whose owners have rows"
    )
    value = UInt256Field(help_text="Amount in the smallest unit; for ERC-721 the number of tokens")
    doubtful = models.BooleanField(
        db_column="hidden",
        help_text="The value is zero, or the sender is an account that did not sign the transaction: contracts can emit "
        "such events to make it appear as the sender. Allowances look the same; balances tell them apart.",
    )

    is_confirmed = False
    """Whether the sender's balance, as the contract reports it, includes the transfer; set by selectors."""

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
        ]

    @override
    def __str__(self) -> str:
        return f"token transfer {self.id}"


class TokenBalance(models.Model):
    """The balance of a holder of a token; for ERC-1155 of one token ID."""

    key = BytesField(
        primary_key=True,
        help_text="Contract, holder, kind (two bytes), and for ERC-1155 the token ID",
    )
    contract = models.ForeignKey(
        Token, models.PROTECT, related_name="balances", db_index=False, db_constraint=False
    )
    holder = AddressField()
    kind = models.SmallIntegerField(choices=TokenKind.choices)
    token_id = UInt256Field(null=True, help_text="Null except for ERC-1155")
    summed = UInt256Field(help_text="Sum of the transfers, modulo 2^256")
    amount = UInt256Field(
        help_text="Balance that the contract last returned, plus later transfers; the sum if it returned none"
    )
    asked_height = models.BigIntegerField(
        null=True, help_text="Height at which the contract returned a balance; null: never"
    )
    differs = models.BooleanField(
        default=False,
        help_text="Whether the returned balance differs from the sum of the transfers",
    )
    to_ask = models.BooleanField(
        default=True, help_text="Whether there were transfers after the last call of the contract"
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
        return f"{checksum_address(self.holder)} of {checksum_address(self.contract_id)}"


class TokenItem(models.Model):
    """A token of an ERC-721 contract and its owner."""

    key = BytesField(primary_key=True, help_text="Contract and token ID")
    contract = models.ForeignKey(
        Token, models.PROTECT, related_name="items", db_index=False, db_constraint=False
    )
    token_id = UInt256Field()
    owner = AddressField(null=True, help_text="Null: burned")

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
        return f"{checksum_address(self.contract_id)} #{self.token_id}"


class TokenProgress(models.Model):
    """The progress of the index of transfers, in a single row."""

    id = models.SmallIntegerField(primary_key=True)
    next_log = models.BigIntegerField(
        help_text="Key of the next log; transfers of logs with lower keys have been written"
    )
    next_transfer = models.BigIntegerField(help_text="Key of the next transfer")

    class Meta:
        verbose_name = "progress of token transfers"

    @override
    def __str__(self) -> str:
        return f"logs up to {self.next_log}"

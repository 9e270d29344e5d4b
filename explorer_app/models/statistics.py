"""Figures that are summarised after the blocks: by day, and the accounts by balance; and the progress of the summary."""

from django.db import models
from typing_extensions import override

from chaindb.fields import AddressField, RowIdField, UInt256Field


class DayFigures(models.Model):
    """The sums over the C-Chain's blocks of one day (UTC), without the genesis block."""

    day = RowIdField(primary_key=True, help_text="Days since 1970-01-01")
    first_block = models.BigIntegerField()
    last_block = models.BigIntegerField()
    blocks = models.BigIntegerField()
    transactions = models.BigIntegerField()
    gas_used = models.BigIntegerField()
    gas_limit = models.BigIntegerField(help_text="Sum of the blocks' gas limits")
    burned = UInt256Field(help_text="Wei: base fees paid")
    new_accounts = models.BigIntegerField(
        null=True,
        help_text="Accounts that began to exist; null if a part of the changes was pruned before it was counted",
    )
    contracts = models.BigIntegerField(
        help_text="Contracts created; without an index of calls those that transactions created themselves"
    )

    class Meta:
        ordering = ["-day"]
        verbose_name = "figures of a day"
        verbose_name_plural = "figures of days"

    @override
    def __str__(self) -> str:
        return f"day {self.day}"


class RankedAccount(models.Model):
    """A copy of an account's balance with an index, so that pages can list accounts by balance.

    The state itself has no such index, because each block would have to write it.
    """

    address = AddressField(primary_key=True)
    balance = UInt256Field(help_text="Wei")
    block = models.BigIntegerField(
        db_index=True, help_text="The last block known to have changed the account, or a later one"
    )
    is_stale = models.BooleanField(
        help_text="Whether the block was reverted, so that the balance has to be copied again"
    )

    class Meta:
        ordering = ["-balance", "-address"]
        indexes = [
            models.Index(fields=["balance", "address"], name="explorer_account_by_balance"),
            models.Index(
                fields=["address"],
                name="explorer_stale_account",
                condition=models.Q(is_stale=True),
            ),
        ]

    @override
    def __str__(self) -> str:
        return str(self.address)


class StatisticsProgress(models.Model):
    """The progress of the summary, and its totals; a single row."""

    id = models.SmallIntegerField(primary_key=True)
    next_block = models.BigIntegerField(help_text="The next block to be counted by day")
    next_change = models.BigIntegerField(
        help_text="Key of the next change of an account to be copied"
    )
    copied_to = AddressField(
        null=True,
        help_text="The last account of the initial copy so far; null: all accounts are copied",
    )
    copied_at = models.BigIntegerField(help_text="Height of the head when the initial copy began")
    accounts = models.BigIntegerField(help_text="Number of accounts with a balance")
    supply = UInt256Field(help_text="Wei: sum of their balances")

    class Meta:
        verbose_name = "progress of the statistics"

    @override
    def __str__(self) -> str:
        return f"statistics up to block {self.next_block - 1}"

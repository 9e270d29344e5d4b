"""What was fetched of the chain that this one is a fork of (devnet.md 13). All of it is as of the pin, and stays so.

What our blocks made of it stands where any chain's state does (`state`): a value that was fetched is put there
too, without history.
"""

from django.db import models
from typing_extensions import override

from chaindb.fields import (
    AddressField,
    BytesField,
    HashField,
    RowIdField,
    UInt64Field,
    UInt256Field,
    WordField,
)


class ForkedAccount(models.Model):
    """One row is an account that was asked for, as it was at the pin; nulls: it did not exist there."""

    address = AddressField(primary_key=True)
    nonce = UInt64Field(null=True)
    balance = UInt256Field(null=True, help_text="Wei")
    code_hash = HashField(null=True)

    class Meta:
        ordering = ["address"]
        verbose_name = "fetched account"

    @override
    def __str__(self) -> str:
        return str(self.address)


class ForkedSlot(models.Model):
    """One row is a storage slot that was asked for, as it was at the pin."""

    key = BytesField(primary_key=True, help_text="Address (20 bytes) and slot (32 bytes)")
    value = WordField(help_text="Zero when it was not set")

    class Meta:
        ordering = ["key"]
        verbose_name = "fetched slot"

    @override
    def __str__(self) -> str:
        return str(self.key)


class ForkedHash(models.Model):
    """One row is the hash of a block before the pin that BLOCKHASH asked for."""

    number = RowIdField(primary_key=True)
    hash = HashField()

    class Meta:
        ordering = ["-number"]
        verbose_name = "fetched block hash"
        verbose_name_plural = "fetched block hashes"

    @override
    def __str__(self) -> str:
        return f"#{self.number}"


class ForkedLeaf(models.Model):
    """One row is an account or a slot that a fork's state roots count: those that changed since the pin."""

    key = BytesField(
        primary_key=True, help_text="Address (20 bytes), of a slot with that (32 bytes)"
    )
    number = models.BigIntegerField(
        db_index=True, help_text="The first block whose state root has it"
    )

    class Meta:
        ordering = ["key"]
        verbose_name = "leaf of a fork's trie"
        verbose_name_plural = "leaves of a fork's trie"

    @override
    def __str__(self) -> str:
        return str(self.key)

"""Data fetched from the chain that this chain was forked from (devnet.md 13), as of the fork block; it never changes.

The state after this chain's own blocks is in the same tables as any chain's (`state`). A fetched value is stored
there too, without history.
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
    """A requested account as of the fork block; null values: it did not exist there."""

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
    """A requested storage slot as of the fork block."""

    key = BytesField(primary_key=True, help_text="Address (20 bytes) and slot (32 bytes)")
    value = WordField(help_text="Zero when it was not set")

    class Meta:
        ordering = ["key"]
        verbose_name = "fetched slot"

    @override
    def __str__(self) -> str:
        return str(self.key)


class ForkedHash(models.Model):
    """The hash of a block before the fork block that BLOCKHASH requested."""

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
    """An account or slot that is part of a fork's state roots because it has changed since the fork block."""

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

"""The state: its current values, the values before each block, and the nodes of its trie.

A value at height N is in the oldest change after N; without such a change it is the current row. Data fetched from the
chain that this one was forked from (devnet.md 13) is as of the fork block and never changes.
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
    UncomparedUInt64Field,
    UncomparedUInt256Field,
    WordField,
)
from primitives.hashing import EMPTY_HASH
from primitives.hexadecimal import checksum_address


class Account(models.Model):
    """An account as of the head."""

    address = AddressField(primary_key=True)
    nonce = UInt64Field()
    balance = UInt256Field(help_text="Wei")
    code_hash = HashField(
        help_text="Keccak-256 of the code; of the empty string for an account without code"
    )

    class Meta:
        ordering = ["address"]
        indexes = [
            models.Index(
                fields=["address"],
                name="cchain_contract",
                condition=~models.Q(code_hash=EMPTY_HASH),
            ),
        ]

    @override
    def __str__(self) -> str:
        return checksum_address(self.address)


class Contract(Account):
    """An account with code, as of the head."""

    class Meta:
        proxy = True
        ordering = ["address"]


class AccountChange(models.Model):
    """An account before a block that changed it; null values: it did not exist."""

    id = RowIdField(primary_key=True)
    address = AddressField()
    number = models.BigIntegerField(help_text="The block that changed it")
    nonce = UncomparedUInt64Field(null=True)
    balance = UncomparedUInt256Field(null=True)
    code_hash = HashField(null=True, help_text="Empty bytes for an account without code")

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["address", "number"], name="cchain_account_changes_once_a_block"
            ),
        ]

    @override
    def __str__(self) -> str:
        return f"{checksum_address(self.address)} before #{self.number}"


class StorageSlot(models.Model):
    """A storage slot that is not zero at the head."""

    key = BytesField(primary_key=True, help_text="Address (20 bytes) and slot (32 bytes)")
    value = WordField()

    class Meta:
        ordering = ["key"]

    @override
    def __str__(self) -> str:
        return str(self.key)


class StorageChange(models.Model):
    """A slot before a block that changed it."""

    id = RowIdField(primary_key=True)
    key = BytesField(help_text="Address (20 bytes) and slot (32 bytes)")
    number = models.BigIntegerField(help_text="The block that changed it")
    value = WordField(help_text="Zero if the slot was not set")

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["key", "number"], name="cchain_slot_changes_once_a_block"
            ),
        ]

    @override
    def __str__(self) -> str:
        return f"{self.key} before #{self.number}"


class Code(models.Model):
    """A contract's code; accounts with equal code share it."""

    hash = HashField(primary_key=True)
    code = BytesField()

    class Meta:
        ordering = ["hash"]

    @override
    def __str__(self) -> str:
        return str(self.hash)


class TrieNode(models.Model):
    """A node of the state trie or of a storage trie at the head, by its path."""

    key = BytesField(primary_key=True, help_text="Trie and path, as encoded by `evm.trie`")
    rlp = BytesField()

    class Meta:
        ordering = ["key"]

    @override
    def __str__(self) -> str:
        return str(self.key)


class TrieNodeChange(models.Model):
    """A node of a trie as it was at the beginning of an interval of blocks that changed it (`store.trie_history`)."""

    id = models.BigAutoField(primary_key=True)
    key = BytesField(help_text="Trie and path, as encoded by `evm.trie`")
    number = models.BigIntegerField(help_text="The block after which the interval begins")
    rlp = BytesField(help_text="Empty if the node did not exist")

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(
                fields=["key", "number"], name="cchain_node_changes_once_an_interval"
            ),
        ]

    @override
    def __str__(self) -> str:
        return f"{self.key} after #{self.number}"


class TrieHistory(models.Model):
    """The interval to which the next block belongs, unless it has enough changes; a single row."""

    id = models.SmallIntegerField(primary_key=True, default=1)
    number = models.BigIntegerField(help_text="The block after which the interval begins")
    changes = models.BigIntegerField(help_text="Changes of accounts and slots in it")
    first = models.BigIntegerField(
        help_text="Intervals that begin below this block were deleted, at least in part"
    )

    class Meta:
        verbose_name_plural = "trie history"
        constraints = [
            models.CheckConstraint(condition=models.Q(id=1), name="cchain_one_trie_history")
        ]

    @override
    def __str__(self) -> str:
        return f"after #{self.number}"


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
        return checksum_address(self.address)


class ForkedSlot(models.Model):
    """A requested storage slot as of the fork block."""

    key = BytesField(primary_key=True, help_text="Address (20 bytes) and slot (32 bytes)")
    value = WordField(help_text="Zero if the slot was not set")

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

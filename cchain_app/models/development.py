"""Models of local networks only: manual changes of the state, overrides for future blocks, snapshots, accounts.

The rules are devnet.md 10: a development change belongs to the block that it precedes, and is part of the
state at the height at which it was made. Accounts are created on request, or can send without a key (impersonation).
"""

from django.db import models
from typing_extensions import override

from chaindb.fields import AddressField, BytesField, HashField, RowIdField, UInt256Field, WordField


class ChangeKind(models.IntegerChoices):
    """The part of an account that was changed."""

    BALANCE = 0, "balance"
    NONCE = 1, "nonce"
    CODE = 2, "code"
    STORAGE = 3, "storage"


class DevelopmentChange(models.Model):
    """A manual change of the state: setBalance and similar.

    Keys consist of the number of the block that it precedes, and its position among the changes before that block.
    """

    id = RowIdField(primary_key=True)
    number = models.BigIntegerField(help_text="The block that it precedes")
    kind = models.SmallIntegerField(choices=ChangeKind.choices)
    address = AddressField()
    slot = WordField(null=True, help_text="Of a change of storage")
    old = WordField(
        null=True,
        help_text="Balance, nonce, code hash or value before, as 32 bytes; null: the account did not exist",
    )
    new = WordField(help_text="The same afterwards")
    wrote_history = models.BooleanField(
        help_text="Whether the block before had not changed this account or slot, so that what it was before "
        "that block was written with this change"
    )

    class Meta:
        ordering = ["-id"]
        verbose_name = "development change"
        indexes = [models.Index(fields=["address", "id"], name="cchain_change_by_address")]

    @override
    def __str__(self) -> str:
        return f"{ChangeKind(self.kind).label} of {self.address}"


class DevelopmentSettings(models.Model):
    """The values set over RPC that override the node's settings; a single row."""

    id = models.SmallIntegerField(primary_key=True)
    instance_id = HashField(help_text="Drawn anew when the chain is reset")
    mining = models.CharField(  # noqa: DJ001  # no override differs from an empty one
        max_length=8, null=True, help_text="auto, interval or manual; null: NODE_MINING"
    )
    block_interval = models.FloatField(null=True, help_text="Seconds; null: NODE_BLOCK_INTERVAL")
    next_timestamp = models.BigIntegerField(null=True, help_text="Of the next block alone")
    timestamp_interval = models.BigIntegerField(
        null=True, help_text="Seconds from each block to the next one's time"
    )
    next_base_fee = UInt256Field(null=True, help_text="Wei; of the next block alone")
    next_prev_randao = HashField(null=True, help_text="Of the next block alone")
    coinbase = AddressField(null=True, help_text="Of all blocks from now on")
    gas_limit = models.BigIntegerField(null=True, help_text="Of all blocks from now on")
    next_snapshot = models.BigIntegerField(default=1, help_text="Numbers are never used again")
    rewinds = models.BigIntegerField(default=0, help_text="How often the chain went back")
    nonces_lowered = models.BooleanField(
        default=False, help_text="Whether an account's nonce was ever lowered by hand"
    )
    paused = models.BooleanField(
        default=False, help_text="Whether no blocks are made by themselves, whatever mining says"
    )

    class Meta:
        verbose_name = "development settings"
        verbose_name_plural = "development settings"

    @override
    def __str__(self) -> str:
        return "development settings"


class Rewind(models.Model):
    """A rewind of the chain: polled filters learn from it which blocks and logs to report again."""

    id = RowIdField(primary_key=True, help_text="Counts from 1")
    number = models.BigIntegerField(help_text="The head afterwards")

    class Meta:
        ordering = ["-id"]

    @override
    def __str__(self) -> str:
        return f"back to #{self.number}"


class Snapshot(models.Model):
    """A state of the chain that evm_revert can restore."""

    id = RowIdField(primary_key=True)
    number = models.BigIntegerField(help_text="The head")
    hash = HashField(help_text="Of the head")
    changes = models.IntegerField(
        help_text="Development changes that were made on the head before it"
    )
    clock_offset = models.BigIntegerField(help_text="Seconds by which the clock was ahead")
    pool = models.JSONField(help_text="Transactions that waited: envelope, sender, arrival")
    next_timestamp = models.BigIntegerField(null=True)
    next_base_fee = UInt256Field(null=True)
    next_prev_randao = HashField(null=True)
    chain_id = models.BigIntegerField(
        null=True,
        help_text="For which what waited is signed; null: of an older version, the chain's",
    )

    class Meta:
        ordering = ["-id"]
        indexes = [
            models.Index(fields=["number", "id"], name="cchain_snapshot_by_height"),
            models.Index(fields=["hash", "id"], name="cchain_snapshot_by_head"),
        ]

    @override
    def __str__(self) -> str:
        return f"snapshot {self.id}"


class Impersonation(models.Model):
    """An account that needs no key, or the setting that no account needs one; keys increase in order of creation."""

    id = models.BigAutoField(primary_key=True)
    address = AddressField(null=True, unique=True, help_text="Null: every account")

    class Meta:
        ordering = ["id"]

    @override
    def __str__(self) -> str:
        return "every account" if self.address is None else str(self.address)


class ImpersonatedSignature(models.Model):
    """A signature with the signer that ecrecover returns for it from a block on; keys increase in order of creation."""

    id = models.BigAutoField(primary_key=True)
    number = models.BigIntegerField(help_text="The first block that it is so in", db_index=True)
    signature = BytesField(help_text="r, s and v: 65 bytes")
    signer = AddressField()

    class Meta:
        ordering = ["id"]

    @override
    def __str__(self) -> str:
        return f"{self.signature} by {self.signer}"


class CreatedAccount(models.Model):
    """An account that personal_newAccount created; its key is derived from NODE_MNEMONIC and is not stored."""

    number = RowIdField(
        primary_key=True, help_text="Of the mnemonic's account, at the end of NODE_DERIVATION_PATH"
    )
    address = AddressField(unique=True)

    class Meta:
        ordering = ["number"]
        verbose_name = "created account"

    @override
    def __str__(self) -> str:
        return str(self.address)

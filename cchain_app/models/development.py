"""Models of local networks only: manual changes of the state, overrides for future blocks, snapshots, accounts.

The rules are devnet.md 10: a development change belongs to the block that it precedes, and is part of the
state at the height at which it was made. Accounts are created on request, or can send without a key (impersonation).
"""

from django.db import models
from typing_extensions import override

from chaindb.fields import AddressField, BytesField, HashField, RowIdField, UInt256Field, WordField
from primitives.hexadecimal import checksum_address


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
    number = models.BigIntegerField(help_text="Number of the block after the change")
    kind = models.SmallIntegerField(choices=ChangeKind.choices)
    address = AddressField()
    slot = WordField(null=True, help_text="The storage slot; null for other kinds")
    old = WordField(
        null=True,
        help_text="Previous balance, nonce, code hash or slot value, as 32 bytes; null: the account did not exist",
    )
    new = WordField(help_text="New balance, nonce, code hash or slot value, as 32 bytes")
    wrote_history = models.BooleanField(
        help_text="Whether this change wrote the history row of the previous block, because that block had not "
        "changed the account or slot"
    )

    class Meta:
        ordering = ["-id"]
        verbose_name = "development change"
        indexes = [models.Index(fields=["address", "id"], name="cchain_change_by_address")]

    @override
    def __str__(self) -> str:
        return f"{ChangeKind(self.kind).label} of {checksum_address(self.address)}"


class DevelopmentSettings(models.Model):
    """The values set over RPC that override the node's settings; a single row."""

    id = models.SmallIntegerField(primary_key=True)
    instance_id = HashField(help_text="Random; a new one is generated when the chain is reset")
    mining = models.CharField(  # noqa: DJ001  # no override differs from an empty one
        max_length=8, null=True, help_text="auto, interval or manual; null: NODE_MINING"
    )
    block_interval = models.FloatField(null=True, help_text="Seconds; null: NODE_BLOCK_INTERVAL")
    next_timestamp = models.BigIntegerField(
        null=True, help_text="Unix seconds; applies to the next block only"
    )
    timestamp_interval = models.BigIntegerField(
        null=True, help_text="Seconds between the timestamps of consecutive blocks"
    )
    next_base_fee = UInt256Field(null=True, help_text="Wei; applies to the next block only")
    next_prev_randao = HashField(null=True, help_text="Applies to the next block only")
    coinbase = AddressField(null=True, help_text="Applies to all later blocks")
    gas_limit = models.BigIntegerField(null=True, help_text="Applies to all later blocks")
    next_snapshot = models.BigIntegerField(
        default=1, help_text="ID of the next snapshot; IDs are never reused"
    )
    rewinds = models.BigIntegerField(default=0, help_text="Number of rewinds")
    nonces_lowered = models.BooleanField(
        default=False, help_text="Whether an account's nonce was ever lowered by a manual change"
    )
    paused = models.BooleanField(
        default=False, help_text="Whether automatic block production is paused, in any mining mode"
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
    number = models.BigIntegerField(help_text="Number of the head after the rewind")

    class Meta:
        ordering = ["-id"]

    @override
    def __str__(self) -> str:
        return f"back to #{self.number}"


class Snapshot(models.Model):
    """A state of the chain that evm_revert can restore."""

    id = RowIdField(primary_key=True)
    number = models.BigIntegerField(help_text="Number of the head")
    hash = HashField(help_text="Hash of the head")
    changes = models.IntegerField(
        help_text="Number of development changes made on the head before the snapshot"
    )
    clock_offset = models.BigIntegerField(
        help_text="Seconds by which the chain's clock was ahead of wall time"
    )
    pool = models.JSONField(help_text="Pending transactions: envelope, sender, time of arrival")
    next_timestamp = models.BigIntegerField(null=True)
    next_base_fee = UInt256Field(null=True)
    next_prev_randao = HashField(null=True)
    chain_id = models.BigIntegerField(
        null=True,
        help_text="Chain ID that the pending transactions are signed for; null: that of the chain",
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
        return "every account" if self.address is None else checksum_address(self.address)


class ImpersonatedSignature(models.Model):
    """A signature with the signer that ecrecover returns for it from a block on; keys increase in order of creation."""

    id = models.BigAutoField(primary_key=True)
    number = models.BigIntegerField(
        help_text="First block in which ecrecover returns the signer", db_index=True
    )
    signature = BytesField(help_text="r, s and v: 65 bytes")
    signer = AddressField()

    class Meta:
        ordering = ["id"]

    @override
    def __str__(self) -> str:
        return f"{self.signature} by {checksum_address(self.signer)}"


class CreatedAccount(models.Model):
    """An account that personal_newAccount created; its key is derived from NODE_MNEMONIC and is not stored."""

    number = RowIdField(
        primary_key=True, help_text="Account index in the derivation path (NODE_DERIVATION_PATH)"
    )
    address = AddressField(unique=True)

    class Meta:
        ordering = ["number"]
        verbose_name = "created account"

    @override
    def __str__(self) -> str:
        return checksum_address(self.address)

"""Accepted blocks with their transactions, receipts and logs; pending transactions; and the extent of the history."""

from django.db import models
from django.db.models import Q
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


class Chain(models.Model):
    """The properties of this database's chain that its genesis block does not contain; a single row."""

    genesis_hash = HashField(primary_key=True)
    chain_id = models.BigIntegerField(
        help_text="EIP-155 chain ID, which transaction signatures include"
    )
    first_chain_id = models.BigIntegerField(
        null=True,
        help_text="The chain ID at genesis if anvil_setChainId changed it; null: it was not changed",
    )
    makes_blocks = models.BooleanField(
        default=True, help_text="False on an imported chain, unless block production was requested"
    )
    fork_url = models.CharField(  # noqa: DJ001  # no fork differs from an empty URL
        max_length=300,
        null=True,
        help_text="Scheme and host of the node that this chain was forked from; null: not a fork. The state roots "
        "of a fork cover only the state that changed after the fork block",
    )
    fork_number = models.BigIntegerField(
        null=True,
        help_text="Number of the fork block, the last block of the original chain; genesis_hash is its hash",
    )
    fork_block = models.JSONField(
        null=True,
        help_text="The fork block as the remote node returned it, with transaction hashes",
    )
    fork_transaction = HashField(
        null=True,
        help_text="Last transaction replayed from the original block after the fork block; null: none",
    )

    @override
    def __str__(self) -> str:
        return f"chain {self.chain_id}"


class Block(models.Model):
    """An accepted block; the row with the highest number is the head."""

    number = RowIdField(primary_key=True)
    hash = HashField(unique=True)
    parent_hash = HashField()
    timestamp = models.BigIntegerField(db_index=True, help_text="Unix seconds")
    state_root = HashField()
    miner = AddressField()
    gas_limit = models.BigIntegerField()
    gas_used = models.BigIntegerField()
    base_fee = UncomparedUInt256Field(null=True, help_text="Wei per gas; null before London")
    size = models.IntegerField(
        help_text="Size of the RLP-encoded block in bytes, without the payload"
    )
    transaction_count = models.IntegerField()
    log_count = models.IntegerField()
    header = BytesField(help_text="RLP-encoded header; its Keccak-256 is the block hash")
    ommers = BytesField(
        null=True, help_text="RLP-encoded list of the uncles' headers; null: no uncles"
    )
    withdrawals = BytesField(null=True, help_text="RLP-encoded list; null: no withdrawals")
    payload = BytesField(
        null=True, help_text="Atomic transactions, to which extraData commits; null: none"
    )
    blob_gas_used = models.BigIntegerField(null=True, help_text="Null before Cancun")
    excess_blob_gas = UncomparedUInt64Field(
        null=True, help_text="From which the price of blob gas is computed; null before Cancun"
    )
    tips = models.JSONField(
        null=True,
        help_text="Each tip that its transactions paid, in wei per gas and lowest first, with the gas for which it was "
        "paid; null: no transactions",
    )

    class Meta:
        ordering = ["-number"]

    @override
    def __str__(self) -> str:
        return f"#{self.number}"


class Transaction(models.Model):
    """A transaction of an accepted block."""

    id = RowIdField(primary_key=True)
    hash = HashField(unique=True)
    block = models.ForeignKey(
        Block, models.PROTECT, related_name="transactions", db_index=False, db_constraint=False
    )
    index = models.IntegerField(help_text="Index in the block")
    type = models.SmallIntegerField()
    sender = AddressField()
    to = AddressField(null=True, help_text="Null for a contract creation")
    nonce = UncomparedUInt64Field()
    value = UncomparedUInt256Field(help_text="Wei")
    gas = models.BigIntegerField(help_text="Gas limit")
    max_fee_per_gas = UncomparedUInt256Field(help_text="Wei; the gas price for types 0 and 1")
    max_priority_fee_per_gas = UncomparedUInt256Field(
        help_text="Wei; the gas price for types 0 and 1"
    )
    raw = BytesField(help_text="Signed envelope; its Keccak-256 is the transaction hash")

    class Meta:
        ordering = ["-id"]
        indexes = [
            models.Index(fields=["sender", "id"], name="cchain_tx_by_sender"),
            models.Index(fields=["to", "id"], name="cchain_tx_by_recipient"),
        ]

    @override
    def __str__(self) -> str:
        return str(self.hash)


class Receipt(models.Model):
    """The receipt of a transaction."""

    transaction = models.OneToOneField(
        Transaction, models.PROTECT, primary_key=True, related_name="receipt", db_constraint=False
    )
    succeeded = models.BooleanField()
    state_root = HashField(
        null=True, help_text="State root after the transaction; only in blocks before Byzantium"
    )
    gas_used = models.BigIntegerField()
    cumulative_gas_used = models.BigIntegerField(
        help_text="Gas used in the block up to and including this transaction"
    )
    effective_gas_price = UncomparedUInt256Field(help_text="Wei")
    contract_address = AddressField(
        null=True, help_text="Address of the created contract, even if the creation failed"
    )
    first_log_index = models.IntegerField(help_text="Index of its first log in the block")
    log_count = models.IntegerField()

    class Meta:
        ordering = ["-transaction_id"]
        indexes = [
            models.Index(
                fields=["contract_address"],
                name="cchain_created_contract",
                condition=models.Q(contract_address__isnull=False),
            ),
        ]

    @override
    def __str__(self) -> str:
        return f"receipt {self.transaction_id}"


class Log(models.Model):
    """A log; its key consists of the block's number and the log's index in the block."""

    id = RowIdField(primary_key=True)
    block = models.ForeignKey(
        Block, models.PROTECT, related_name="logs", db_index=False, db_constraint=False
    )
    transaction = models.ForeignKey(
        Transaction, models.PROTECT, related_name="logs", db_index=False, db_constraint=False
    )
    index = models.IntegerField(help_text="Index in the block")
    address = AddressField()
    topic0 = WordField(null=True)
    topic1 = WordField(null=True)
    topic2 = WordField(null=True)
    topic3 = WordField(null=True)
    data = BytesField()

    class Meta:
        ordering = ["-id"]
        indexes = [
            models.Index(fields=["address", "topic0", "id"], name="cchain_log_by_address"),
            models.Index(fields=["topic0", "id"], name="cchain_log_by_topic0"),
        ]

    @override
    def __str__(self) -> str:
        return f"log {self.index} of #{self.block_id}"


class PoolTransaction(models.Model):
    """An acknowledged transaction that is in no block yet; keys increase in order of arrival."""

    id = models.BigAutoField(primary_key=True)
    hash = HashField(unique=True)
    sender = AddressField()
    nonce = UInt64Field()
    gas = models.BigIntegerField()
    max_fee_per_gas = UInt256Field()
    max_priority_fee_per_gas = UInt256Field()
    value = UInt256Field()
    size = models.IntegerField(help_text="Size of the envelope in bytes")
    received_at = models.BigIntegerField(help_text="Wall-clock time of arrival, in Unix seconds")
    authorities = BytesField(
        null=True,
        help_text="Addresses of the signers of its authorizations (EIP-7702), 20 bytes each",
    )
    raw = BytesField(help_text="The signed envelope")
    blobs = models.SmallIntegerField(default=0, help_text="Number of its blobs")
    max_fee_per_blob_gas = UInt256Field(default=0, help_text="Wei; 0 without blobs")

    class Meta:
        ordering = ["id"]
        verbose_name = "pending transaction"
        constraints = [
            models.UniqueConstraint(fields=["sender", "nonce"], name="cchain_pool_nonce_once"),
        ]

    @override
    def __str__(self) -> str:
        return str(self.hash)


class Blob(models.Model):
    """A blob of a transaction, pending or mined; deleted after some time (NODE_HISTORY_BLOBS)."""

    id = models.BigAutoField(primary_key=True)
    transaction_hash = HashField()
    index = models.SmallIntegerField(help_text="Index among the blobs of its transaction")
    versioned_hash = HashField(help_text="The hash in the transaction (EIP-4844)")
    version = models.SmallIntegerField(
        help_text="0: one proof for the blob (EIP-4844); 1: the proofs of its 128 cells (EIP-7594)"
    )
    commitment = BytesField(help_text="KZG commitment")
    proofs = BytesField(help_text="KZG proofs, 48 bytes each")
    blob = BytesField()
    received_at = models.BigIntegerField(help_text="Wall-clock time of arrival, in Unix seconds")

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(fields=["transaction_hash", "index"], name="cchain_blob_once"),
        ]
        indexes = [models.Index(fields=["versioned_hash"], name="cchain_blob_by_hash")]

    @override
    def __str__(self) -> str:
        return str(self.versioned_hash)


class KeptHistory(models.Model):
    """The extent of the history that was kept; a single row. Without it the history is complete."""

    id = models.SmallIntegerField(primary_key=True, default=1)
    first_state = models.BigIntegerField(
        default=0, help_text="The first block whose state can be read (NODE_HISTORY_STATE)"
    )
    first_call = models.BigIntegerField(
        default=0, help_text="The first block whose internal calls are stored (NODE_HISTORY_CALLS)"
    )

    class Meta:
        verbose_name_plural = "kept history"
        constraints = [models.CheckConstraint(condition=Q(id=1), name="cchain_one_kept_history")]

    @override
    def __str__(self) -> str:
        return f"states from #{self.first_state}, calls from #{self.first_call}"

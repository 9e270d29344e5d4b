"""Internal calls and creations of transactions, and the progress of indexing them.

With NODE_TRACE_INDEX, rows are written some time after the block: one for each frame, the same frames that
`trace_block` shows. Inputs and outputs are not stored. They would take as much space as all other columns
together, and a call that costs 100 gas can have megabytes of them. Executing a transaction again to
show them takes about a millisecond.
"""

from django.db import models
from django.db.models import Q
from typing_extensions import override

from cchain_app.models.chain import Transaction
from chaindb.fields import AddressField, BytesField, RowIdField, UInt256Field


class CallType(models.IntegerChoices):
    """The type of a frame, with geth's names."""

    CALL = 0, "CALL"
    CALLCODE = 1, "CALLCODE"
    DELEGATECALL = 2, "DELEGATECALL"
    STATICCALL = 3, "STATICCALL"
    CREATE = 4, "CREATE"
    CREATE2 = 5, "CREATE2"
    SELFDESTRUCT = 6, "SELFDESTRUCT"


class Call(models.Model):
    """A frame of a transaction: a call, creation or SELFDESTRUCT, including the transaction's own frame.

    Calls of precompiles below the top level have rows only if they transfer value, as in `trace_block`. Keys consist
    of the block's number and the position among the block's frames.
    """

    id = RowIdField(primary_key=True)
    transaction = models.ForeignKey(
        Transaction, models.PROTECT, related_name="calls", db_index=False, db_constraint=False
    )
    index = models.IntegerField(help_text="Index among the transaction's frames, depth first")
    depth = models.SmallIntegerField(help_text="0 for the transaction's own frame")
    trace_address = models.TextField(
        help_text="Index of each frame among its parent's calls, from the outermost to this one, such as "
        "0_2; empty for the transaction's own frame"
    )
    type = models.SmallIntegerField(choices=CallType.choices)
    creates = models.BooleanField(help_text="Whether it creates a contract")
    sender = AddressField(
        help_text="The caller or creator; for SELFDESTRUCT the destroyed contract"
    )
    to = AddressField(
        null=True,
        help_text="The called account, the created contract (even if the creation failed), or the "
        "beneficiary of a SELFDESTRUCT; null if a creation failed before it had an address",
    )
    value = UInt256Field(null=True, help_text="Wei; null if the frame type carries no value")
    gas = models.BigIntegerField(
        null=True,
        help_text="Gas limit of the frame; null if the transaction had too many frames to record, so that "
        "this row represents all of them",
    )
    gas_used = models.BigIntegerField(null=True, help_text="Before refunds; null if gas is null")
    selector = BytesField(
        null=True, help_text="The first four bytes of a call's input; null if shorter"
    )
    error = models.CharField(  # noqa: DJ001  # no error differs from an error without a message
        max_length=100,
        null=True,
        help_text="Error message as in geth; null if the frame did not fail",
    )
    revert_data = BytesField(null=True, help_text="First KiB of the data that REVERT returned")
    succeeded = models.BooleanField(
        help_text="Whether neither this frame nor any enclosing frame failed"
    )

    class Meta:
        ordering = ["-id"]
        verbose_name = "internal call"
        indexes = [
            models.Index(fields=["sender", "transaction", "index"], name="cchain_call_by_sender"),
            models.Index(fields=["to", "transaction", "index"], name="cchain_call_by_recipient"),
            models.Index(fields=["transaction", "index"], name="cchain_call_by_transaction"),
            models.Index(
                fields=["to", "transaction"],
                name="cchain_creation",
                condition=Q(creates=True, succeeded=True),
            ),
            models.Index(fields=["id"], name="cchain_creation_in_order", condition=Q(creates=True)),
            # An account may have sent millions of transactions without an internal call.
            models.Index(
                fields=["sender", "id"], name="cchain_inner_by_sender", condition=Q(depth__gt=0)
            ),
            models.Index(
                fields=["to", "id"], name="cchain_inner_by_recipient", condition=Q(depth__gt=0)
            ),
        ]

    @override
    def __str__(self) -> str:
        return f"{CallType(self.type).label} {self.index}"


class ContractCreation(Call):
    """A frame that creates a contract."""

    class Meta:
        proxy = True
        ordering = ["-id"]
        verbose_name = "contract creation"


class CallProgress(models.Model):
    """The progress of indexing calls; a single row."""

    id = models.SmallIntegerField(primary_key=True)
    next_call = models.BigIntegerField(
        help_text="Key of the next row; frames with lower keys have been written"
    )
    unrecorded = models.BigIntegerField(
        help_text="Number of transactions with too many frames to record, or that took too long to trace"
    )

    class Meta:
        verbose_name = "progress of internal calls"

    @override
    def __str__(self) -> str:
        return f"calls up to {self.next_call}"

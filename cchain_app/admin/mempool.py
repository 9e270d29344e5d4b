"""The mempool in the admin: pending transactions."""

from collections.abc import Sequence

from django.contrib import admin
from django.contrib.admin.models import DELETION
from django.db.models import Q
from django.utils.safestring import SafeString
from typing_extensions import override

from adminkit.actions import ActionEffect, ActionRefused, AdminAction
from adminkit.read_only import cached_on_row
from adminkit.terms import SearchTerm
from cchain_app.admin import display, pages, transactions
from cchain_app.admin.pages import RowsAdmin
from cchain_app.apps import evm_chain
from cchain_app.models import PoolTransaction
from cchain_app.services import removal
from cchain_app.txs.codec import decode_unsigned
from chaindb.fields import HexBytes
from primitives.evm import Hash


def _drop(row: PoolTransaction) -> ActionEffect:
    """Remove a transaction from the mempool."""
    if not removal.withdraw(evm_chain(), Hash(row.hash)):
        raise ActionRefused("the transaction is no longer pending: it was mined or dropped.")
    own = pages.objects(PoolTransaction).filter(sender=row.sender)
    later, left = own.filter(nonce__gt=row.nonce).count(), own.count()
    return ActionEffect(
        f"Dropped transaction {row.hash} from the mempool.",
        f"It had nonce {row.nonce:,}; {left:,} of its sender {'is' if left == 1 else 'are'} left, "
        f"{later:,} behind the gap.",
        [("Transactions of the sender", pages.search_page("pooltransaction", row.sender))],
    )


@admin.register(PoolTransaction)
class PoolTransactionAdmin(RowsAdmin):
    """Pending transactions, the latest arrival first."""

    absent_because = (
        "It is not pending: it was mined, replaced, dropped or expired, or was never received."
    )
    list_display = (
        "short_hash", "received", "short_sender", "nonce_text", "short_value", "gas_text",
        "max_fee", "max_tip",
    )  # fmt: skip
    list_defer = ("raw",)
    ordering = ("-id",)
    row_actions = (
        AdminAction(
            name="drop",
            button="Drop",
            question="Drop this transaction?",
            consequence="It leaves this node's mempool. Later nonces of the same sender stay behind the gap. A block that is "
            "being built may already contain it, and peers that have it may mine it or send it again.",
            permission="cchain_app.delete_pooltransaction",
            do=_drop,
            flag=DELETION,
        ),
    )
    search_fields = ("hash", "sender")
    search_help_text = "Hash or sender"
    unique_hash = "hash"
    fieldsets = (
        (None, {"fields": ("full_hash", "received", "full_sender", "to", "full_value")}),
        ("Gas", {"fields": ("gas_text", "max_fee", "max_tip", "cost")}),
        ("Envelope", {"fields": ("kind", "nonce_text", "call", "data", "extras", "envelope")}),
    )

    @override
    def branches(self, term: SearchTerm) -> list[Q]:
        if term.hash is not None:
            return [Q(hash=term.hash)]
        return [] if term.address is None else [Q(sender=term.address)]

    @override
    def order_for(self, term: SearchTerm) -> str:
        return "-id" if term.address is None else "nonce"  # the index of a sender's transactions

    @override
    def action_details(self, row: PoolTransaction) -> Sequence[tuple[str, object]]:
        return (
            ("Hash", display.full(row.hash)),
            ("From", display.full_account(row.sender)),
            ("Nonce", f"{row.nonce:,}"),
            ("Value", display.full_amount(row.value)),
        )

    @override
    def page_after_action(self, row: PoolTransaction) -> str:
        return pages.list_page("pooltransaction")

    @admin.display(description="Hash")
    def short_hash(self, waiting: PoolTransaction) -> SafeString:
        """Return the hash for the list."""
        return display.short(waiting.hash)

    @admin.display(description="Hash")
    def full_hash(self, waiting: PoolTransaction) -> SafeString:
        """Return the hash in full."""
        return display.full(waiting.hash)

    @admin.display(description="Received")
    def received(self, waiting: PoolTransaction) -> SafeString:
        """Return the time of arrival."""
        return display.moment(waiting.received_at)

    @admin.display(description="From")
    def short_sender(self, waiting: PoolTransaction) -> SafeString:
        """Return the sender for the list."""
        return display.short_account(waiting.sender)

    @admin.display(description="From")
    def full_sender(self, waiting: PoolTransaction) -> SafeString:
        """Return the sender."""
        return display.full_account(waiting.sender)

    @admin.display(description="To")
    @cached_on_row
    def to(self, waiting: PoolTransaction) -> SafeString:
        """Return the recipient, which only the envelope contains."""
        recipient = decode_unsigned(bytes(waiting.raw)).to
        if recipient is None:
            return display.badge("new contract", "note")
        return display.full_account(HexBytes(recipient))

    @admin.display(description="Nonce")
    def nonce_text(self, waiting: PoolTransaction) -> str:
        """Return the nonce."""
        return f"{waiting.nonce:,}"

    @admin.display(description="Value")
    def short_value(self, waiting: PoolTransaction) -> SafeString:
        """Return the value for the list."""
        return display.amount(waiting.value)

    @admin.display(description="Value")
    def full_value(self, waiting: PoolTransaction) -> SafeString:
        """Return the value in full."""
        return display.full_amount(waiting.value)

    @admin.display(description="Gas limit")
    def gas_text(self, waiting: PoolTransaction) -> str:
        """Return the gas limit."""
        return f"{waiting.gas:,}"

    @admin.display(description="Max fee")
    def max_fee(self, waiting: PoolTransaction) -> SafeString:
        """Return the fee cap."""
        return display.gas_price(waiting.max_fee_per_gas)

    @admin.display(description="Max priority fee")
    def max_tip(self, waiting: PoolTransaction) -> SafeString:
        """Return the tip cap."""
        return display.gas_price(waiting.max_priority_fee_per_gas)

    @admin.display(description="Maximum cost")
    def cost(self, waiting: PoolTransaction) -> SafeString:
        """Return the most that the transaction can cost its sender."""
        return display.full_fee(waiting.gas * waiting.max_fee_per_gas + waiting.value)

    @admin.display(description="Type")
    @cached_on_row
    def kind(self, waiting: PoolTransaction) -> str:
        """Return the transaction type."""
        return display.format_type(decode_unsigned(bytes(waiting.raw)).type)

    @admin.display(description="Function")
    @cached_on_row
    def call(self, waiting: PoolTransaction) -> SafeString:
        """Return the function that the input calls."""
        creates = decode_unsigned(bytes(waiting.raw)).to is None
        return transactions.show_function(waiting.raw, creates=creates)

    @admin.display(description="Input")
    @cached_on_row
    def data(self, waiting: PoolTransaction) -> SafeString:
        """Return the input."""
        return transactions.show_input(waiting.raw)

    @admin.display(description="Access list and authorizations")
    @cached_on_row
    def extras(self, waiting: PoolTransaction) -> SafeString:
        """Return the access list and the authorizations."""
        return transactions.show_lists(waiting.raw)

    @admin.display(description="Signed envelope")
    @cached_on_row
    def envelope(self, waiting: PoolTransaction) -> SafeString:
        """Return the bytes as they were received."""
        return display.box(waiting.raw)

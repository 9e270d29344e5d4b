"""The blobs of transactions in the admin, as long as they are kept."""

from collections.abc import Sequence

from django.contrib import admin
from django.db.models import Q
from django.utils.safestring import SafeString
from typing_extensions import override

from adminkit.terms import SearchTerm
from cchain_app.admin import display, pages
from cchain_app.admin.pages import RowsAdmin, objects
from cchain_app.apps import evm_chain
from cchain_app.models import Blob, PoolTransaction, Transaction
from cchain_app.txs.blobs import BYTES_PER_PROOF
from primitives.counting import counted

PROOFS = ("one proof for the blob (EIP-4844)", "proofs of its cells (EIP-7594)")
"""The proofs of a sidecar, by its version."""


@admin.register(Blob)
class BlobAdmin(RowsAdmin):
    """Blobs of pending and mined transactions, the latest arrival first."""

    absent_because = "It is no longer kept (NODE_HISTORY_BLOBS), or was never received."
    found_by = ""
    list_display = ("short_hash", "transaction_link", "state", "index", "received")
    list_defer = ("blob", "proofs", "commitment")
    ordering = ("-id",)
    search_fields = ("versioned_hash", "transaction_hash")
    search_help_text = "Versioned hash or transaction"
    fieldsets = (
        (None, {"fields": ("full_hash", "full_transaction", "state", "index", "received")}),
        ("KZG", {"fields": ("kind", "full_commitment", "all_proofs")}),
        ("Content", {"fields": ("content",)}),
    )

    @override
    def is_used(self) -> bool:
        return super().is_used() and evm_chain().is_development

    @override
    def empty_note(self) -> str:
        return "" if evm_chain().is_development else "Blobs exist on development chains only."

    @override
    def branches(self, term: SearchTerm) -> list[Q]:
        if term.hash is None:
            return []
        if _is_versioned_hash(term.hash):
            return [Q(versioned_hash=term.hash)]
        return [Q(transaction_hash=term.hash)]

    @override
    def order_for(self, term: SearchTerm) -> str:
        # The indexes of a versioned hash and of a transaction.
        return "-id" if term.hash is None or _is_versioned_hash(term.hash) else "index"

    @override
    def prepare(self, rows: Sequence[Blob]) -> None:
        """Find out which of the transactions are mined, and which are pending."""
        hashes = {bytes(row.transaction_hash) for row in rows}
        found = {
            state: {
                bytes(tx_hash)
                for tx_hash in objects(model)
                .filter(hash__in=hashes)
                .order_by()
                .values_list("hash", flat=True)
            }
            for state, model in (("mined", Transaction), ("pending", PoolTransaction))
        }
        for row in rows:
            states = [
                state for state, known in found.items() if bytes(row.transaction_hash) in known
            ]
            row.__dict__["_state"] = states[0] if states else "dropped"

    @admin.display(description="Versioned hash")
    def short_hash(self, row: Blob) -> SafeString:
        """Return the versioned hash for the list."""
        return display.short(row.versioned_hash)

    @admin.display(description="Versioned hash")
    def full_hash(self, row: Blob) -> SafeString:
        """Return the versioned hash in full."""
        return display.full(row.versioned_hash)

    @admin.display(description="Transaction")
    def transaction_link(self, row: Blob) -> SafeString:
        """Return the transaction for the list; a link unless it was dropped."""
        page = _page_of(row)
        tx_hash = row.transaction_hash
        return display.short_link(tx_hash, page) if page else display.short(tx_hash)

    @admin.display(description="Transaction")
    def full_transaction(self, row: Blob) -> SafeString:
        """Return the transaction; a link unless it was dropped."""
        page = _page_of(row)
        tx_hash = row.transaction_hash
        return display.full_link(tx_hash, page) if page else display.full(tx_hash)

    @admin.display(description="State")
    def state(self, row: Blob) -> SafeString:
        """Return whether the transaction is mined, pending, or has left the mempool without a block."""
        state = _state_of(row)
        return display.badge(state, {"mined": "good", "pending": "wait"}.get(state, "plain"))

    @admin.display(description="Received")
    def received(self, row: Blob) -> SafeString:
        """Return the time of arrival."""
        return display.moment(row.received_at)

    @admin.display(description="Proofs")
    def kind(self, row: Blob) -> str:
        """Return which proofs the blob came with."""
        count = len(row.proofs) // BYTES_PER_PROOF
        return f"{counted(count, 'proof')}: {PROOFS[row.version]}"

    @admin.display(description="Commitment")
    def full_commitment(self, row: Blob) -> SafeString:
        """Return the commitment."""
        return display.full(row.commitment)

    @admin.display(description="Proofs")
    def all_proofs(self, row: Blob) -> SafeString:
        """Return the proofs in a scrolling box."""
        return display.box(row.proofs)

    @admin.display(description="Blob")
    def content(self, row: Blob) -> SafeString:
        """Return the beginning of the blob in a scrolling box."""
        return display.box(row.blob)


def _state_of(row: Blob) -> str:
    state: str = row.__dict__["_state"]
    return state


def _page_of(row: Blob) -> str:
    """Return the page of the transaction, mined or pending; an empty text if it was dropped."""
    pages_of = {"mined": pages.transaction_page, "pending": pages.pool_page}
    page = pages_of.get(_state_of(row))
    return "" if page is None else page(row.transaction_hash)


def _is_versioned_hash(wanted: bytes) -> bool:
    """Return whether a blob with this versioned hash is kept."""
    return objects(Blob).filter(versioned_hash=wanted).exists()

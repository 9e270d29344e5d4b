"""What pages about accepted and about waiting transactions have in common: what is inside of them."""

from typing import Any, NamedTuple

from django.contrib import admin
from django.utils.safestring import SafeString

from adminkit.identifiers import IdentifierAdmin
from adminkit.read_only import asked_once
from platform_app.admin import decoded, display, flows
from platform_app.apps import platform_chain
from platform_app.store import rows
from platform_app.txs.base import Tx
from platform_app.txs.render import render_tx
from primitives.codec_errors import CodecError
from primitives.ids import ID


class Opened(NamedTuple):
    """A transaction read, with what its page needs to name things."""

    tx: Tx
    known_txs: set[ID]
    """Those accepted here among the transactions that it names."""
    staking_asset: ID


class OpenedTxAdmin(IdentifierAdmin):
    """Rows with a transaction's bytes in `raw`, under their `tx_id`."""

    list_defer = ("raw",)
    unique_hash = "tx_id"

    @asked_once
    def opened(self, row: Any) -> Opened | None:
        """Return the transaction of a row; None for bytes that this node cannot read."""
        tx = read(row.raw)
        if tx is None:
            return None
        return Opened(tx, flows.known_txs([tx]), platform_chain().network().asset_id)

    @admin.display(description="ID")
    def short_id(self, row: Any) -> SafeString:
        """Return the ID for the list."""
        return display.short(row.tx_id)

    @admin.display(description="ID")
    def full_id(self, row: Any) -> SafeString:
        """Return the ID in full."""
        return display.full(row.tx_id)

    @admin.display(description="Type")
    def type(self, row: Any) -> str:
        """Return the protocol's name of what it is."""
        return str(row.get_kind_display())

    @admin.display(description="Spends")
    @asked_once
    def inputs(self, row: Any) -> SafeString:
        """Return what it spends."""
        opened = self.opened(row)
        if opened is None:
            return display.NOTHING
        return flows.show_inputs(opened.tx, opened.known_txs, opened.staking_asset)

    @admin.display(description="JSON")
    @asked_once
    def json(self, row: Any) -> SafeString:
        """Return it as the API shows it."""
        opened = self.opened(row)
        if opened is None:
            return display.faint("These bytes are no transaction that this node knows.")
        return decoded.show_json(render_tx(opened.tx, display.format_owner), opened.known_txs)

    @admin.display(description="Bytes")
    @asked_once
    def raw_bytes(self, row: Any) -> SafeString:
        """Return it as it travelled."""
        return display.box(row.raw)


def read(raw: bytes) -> Tx | None:
    """Read a stored transaction; None for bytes that this node cannot read."""
    try:
        return rows.accepted_tx(raw)
    except CodecError:
        return None

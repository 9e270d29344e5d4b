"""Accepted transactions in the admin, decoded, and the parts shared with pending transactions."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.db.models.functions import Length
from django.http import HttpRequest
from django.utils.safestring import SafeString
from typing_extensions import override

from adminkit.changelist import ListChoice
from adminkit.read_only import IdentifierAdmin, cached_on_row
from adminkit.terms import IdentifierTerm
from chaindb.fields import HEIGHTS, row_id
from platform_app.admin import blocks, display, flows, links
from platform_app.apps import platform_chain
from platform_app.models import Block, Staker, Tx, TxKind
from platform_app.txs.base import Tx as SignedTx
from platform_app.txs.codec import GENESIS_CODEC, parse
from platform_app.txs.render import render_tx
from primitives.codec_errors import CodecError
from primitives.counting import counted
from primitives.ids import ID


class DecodedTx(NamedTuple):
    """A parsed transaction, with the data that its page needs for links and amounts."""

    tx: SignedTx
    known_txs: set[ID]
    """Those of the transactions that it names which this chain has accepted."""
    staking_asset: ID


class DecodedTxAdmin(IdentifierAdmin):
    """Rows with a transaction's bytes in `raw`, by `tx_id`."""

    list_defer = ("raw",)
    unique_hash = "tx_id"

    def decoded(self, row: Any) -> DecodedTx | None:
        """Return the transaction of a row, cached on the row; None for bytes that this node cannot parse."""
        if "decoded" not in row.__dict__:
            tx = parse_stored(row.raw)
            row.decoded = tx and DecodedTx(
                tx, flows.known_txs([tx]), platform_chain().network().asset_id
            )
        decoded: DecodedTx | None = row.decoded
        return decoded

    @admin.display(description="ID")
    def short_id(self, row: Any) -> SafeString:
        """Return the shortened ID for the list."""
        return display.short(row.tx_id)

    @admin.display(description="ID")
    def full_id(self, row: Any) -> SafeString:
        """Return the full ID."""
        return display.full(row.tx_id)

    @admin.display(description="Type")
    def type(self, row: Any) -> str:
        """Return the protocol's name of its type."""
        return str(row.get_kind_display())

    @admin.display(description="Inputs")
    @cached_on_row
    def inputs(self, row: Any) -> SafeString:
        """Return its inputs."""
        decoded = self.decoded(row)
        if decoded is None:
            return display.NOTHING
        return flows.show_inputs(decoded.tx, decoded.known_txs, decoded.staking_asset)

    @admin.display(description="JSON")
    @cached_on_row
    def json(self, row: Any) -> SafeString:
        """Return the transaction as JSON, as in the API."""
        decoded = self.decoded(row)
        if decoded is None:
            return display.muted("This node cannot parse these bytes as a transaction.")
        return blocks.show_json(render_tx(decoded.tx, display.format_owner), decoded.known_txs)

    @admin.display(description="Bytes")
    @cached_on_row
    def raw_bytes(self, row: Any) -> SafeString:
        """Return the serialised transaction."""
        return display.box(row.raw)


def parse_stored(raw: bytes) -> SignedTx | None:
    """Parse a stored transaction; None for bytes that this node cannot parse."""
    try:
        return parse(bytes(raw), GENESIS_CODEC)  # a genesis transaction may be of any size
    except CodecError:
        return None


def _of(name: str, title: str, *kinds: TxKind) -> ListChoice:
    return ListChoice(name, title, tuple(Q(kind=kind.value) for kind in kinds))


CHOICES = (
    ListChoice("all", "All"),
    _of("transfers", "Transfers", TxKind.BASE),
    _of("between", "Between chains", TxKind.EXPORT, TxKind.IMPORT),
    _of(
        "validators", "Validators",
        TxKind.ADD_VALIDATOR, TxKind.ADD_PERMISSIONLESS_VALIDATOR, TxKind.ADD_SUBNET_VALIDATOR,
        TxKind.REMOVE_SUBNET_VALIDATOR, TxKind.ADD_AUTO_RENEWED_VALIDATOR,
        TxKind.SET_AUTO_RENEWED_VALIDATOR_CONFIG,
    ),
    _of("delegators", "Delegators", TxKind.ADD_DELEGATOR, TxKind.ADD_PERMISSIONLESS_DELEGATOR),
    _of(
        "subnets", "Subnets",
        TxKind.CREATE_SUBNET, TxKind.TRANSFER_SUBNET_OWNERSHIP, TxKind.CREATE_CHAIN,
    ),
    _of(
        "rewards", "Rewards", TxKind.REWARD_VALIDATOR, TxKind.REWARD_AUTO_RENEWED_VALIDATOR
    ),
)  # fmt: skip


@admin.register(Tx)
class TxAdmin(DecodedTxAdmin):
    """Transactions of accepted blocks, the latest first."""

    absent_because = (
        "No accepted block contains it: it may be pending in the mempool, or was dropped."
    )
    choices = CHOICES
    list_display = ("short_id", "type", "status_badge", "block", "time", "fee", "size")
    ordering = ("-id",)
    search_fields = ("tx_id", "height")
    search_help_text = "ID of a transaction or block, or height"
    fieldsets = (
        (None, {"fields": ("full_id", "type", "status_badge", "place", "time", "fee", "size")}),
        ("Effect", {"fields": ("effect", "inputs", "outputs")}),
        ("Decoded", {"fields": ("json",)}),
        ("Signed bytes", {"fields": ("raw_bytes",)}),
    )

    @override
    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        txs: QuerySet[Any] = super().get_queryset(request).annotate(length=Length("raw"))
        return txs

    @override
    def branches(self, term: IdentifierTerm) -> list[Q]:
        if term.number is not None:
            return _in_block(term.number)
        if term.id is None:
            return []
        heights = Block.objects.filter(block_id=term.id).values_list("height", flat=True)
        height = heights.order_by("block_id").first()
        return [Q(tx_id=term.id), *([] if height is None else _in_block(height))]

    @override
    def prepare(self, txs: Sequence[Any]) -> None:
        heights = sorted({tx.height for tx in txs})
        times = dict(
            Block.objects.filter(pk__in=heights).order_by("pk").values_list("height", "time")
        )
        for tx in txs:
            tx.block_time = times[tx.height]

    @admin.display(description="Status")
    def status_badge(self, tx: Tx) -> SafeString:
        """Return its status."""
        return display.tx_status(tx)

    @admin.display(description="Block")
    def block(self, tx: Tx) -> SafeString:
        """Return the block for the list."""
        return display.block_link(tx.height)

    @admin.display(description="Block")
    def place(self, tx: Tx) -> SafeString:
        """Return the block and the index in it."""
        return display.side_by_side(
            display.block_link(tx.height), display.muted(f"position {tx.index:,} in the block")
        )

    @admin.display(description="Time")
    def time(self, tx: Any) -> SafeString:
        """Return chain time after its block."""
        return display.moment(tx.block_time)

    @admin.display(description="Burned")
    def fee(self, tx: Tx) -> SafeString:
        """Return the burned amount."""
        return display.burned(tx.burned)

    @admin.display(description="Size")
    def size(self, tx: Any) -> str:
        """Return the size in bytes."""
        return counted(tx.length, "byte")

    @admin.display(description="Effect")
    @cached_on_row
    def effect(self, tx: Tx) -> SafeString:
        """Return its effect besides its outputs: the staker, subnet or blockchain that it creates or changes."""
        show = _EFFECTS.get(TxKind(tx.kind))
        decoded = self.decoded(tx)
        return display.NOTHING if show is None or decoded is None else show(decoded.tx)

    @admin.display(description="Outputs")
    @cached_on_row
    def outputs(self, tx: Tx) -> SafeString:
        """Return its outputs with their status."""
        decoded = self.decoded(tx)
        if decoded is None:
            return display.NOTHING
        return flows.show_outputs(decoded.tx, decoded.staking_asset)


def _in_block(height: int) -> list[Q]:
    """Return the filter for the transactions of a block: a range of keys."""
    if height >= HEIGHTS:
        return []
    return [Q(pk__gte=row_id(height), pk__lt=row_id(height + 1))]


def _staker(tx: SignedTx) -> SafeString:
    return _staker_of(tx.tx_id)


def _rewarded_staker(tx: SignedTx) -> SafeString:
    unsigned: Any = tx.unsigned
    return display.side_by_side(display.muted("decides the reward of"), _staker_of(unsigned.tx_id))


def _changed_staker(tx: SignedTx) -> SafeString:
    unsigned: Any = tx.unsigned
    return display.side_by_side(display.muted("changes the renewal of"), _staker_of(unsigned.tx_id))


def _staker_of(tx_id: ID) -> SafeString:
    staker = (
        Staker.objects.filter(pk=tx_id).only("is_delegator", "node", "phase", "outcome").first()
    )
    if staker is None:
        return display.short(tx_id)
    page = links.staker_page(tx_id, is_delegator=staker.is_delegator)
    return display.side_by_side(
        "Delegation to" if staker.is_delegator else "Validator",
        display.full_link(staker.node, page),
        display.phase(staker.phase, staker.outcome),
    )


def _new_subnet(tx: SignedTx) -> SafeString:
    return display.link("The new subnet ›", links.subnet_page(tx.tx_id))


def _changed_subnet(tx: SignedTx) -> SafeString:
    unsigned: Any = tx.unsigned
    return display.side_by_side(display.muted("changes"), display.full_subnet(unsigned.subnet_id))


def _new_blockchain(tx: SignedTx) -> SafeString:
    return display.link("The new blockchain ›", links.page("blockchain", tx.tx_id))


_EFFECTS = {
    TxKind.ADD_VALIDATOR: _staker,
    TxKind.ADD_DELEGATOR: _staker,
    TxKind.ADD_SUBNET_VALIDATOR: _staker,
    TxKind.ADD_PERMISSIONLESS_VALIDATOR: _staker,
    TxKind.ADD_PERMISSIONLESS_DELEGATOR: _staker,
    TxKind.REWARD_VALIDATOR: _rewarded_staker,
    TxKind.ADD_AUTO_RENEWED_VALIDATOR: _staker,
    TxKind.SET_AUTO_RENEWED_VALIDATOR_CONFIG: _changed_staker,
    TxKind.REWARD_AUTO_RENEWED_VALIDATOR: _rewarded_staker,
    TxKind.CREATE_SUBNET: _new_subnet,
    TxKind.TRANSFER_SUBNET_OWNERSHIP: _changed_subnet,
    TxKind.REMOVE_SUBNET_VALIDATOR: _changed_subnet,
    TxKind.CREATE_CHAIN: _new_blockchain,
}

"""What a signed envelope says of its call: function, input, access list and authorizations."""

from django.utils.safestring import SafeString

from cchain_app.admin import display
from cchain_app.admin.signatures import function_of
from cchain_app.txs.codec import DecodedTransaction, decode_unsigned
from cchain_app.txs.errors import InvalidTransaction
from chaindb.fields import HexBytes


def show_function(raw: bytes, *, creates: bool) -> SafeString:
    """Return the selector of the input and its name where it is known; creations have none."""
    decoded = _decode(raw)
    if creates or decoded is None or len(decoded.data) < 4:
        return display.NOTHING
    known = function_of(decoded.data)
    selector = display.full(decoded.data[:4])
    return selector if known is None else display.line(display.badge(known.text), selector)


def show_input(raw: bytes) -> SafeString:
    """Return the input in a box that scrolls."""
    decoded = _decode(raw)
    return display.NOTHING if decoded is None else display.box(decoded.data)


def show_lists(raw: bytes) -> SafeString:
    """Return the access list and the authorizations, the entries of each in a table."""
    decoded = _decode(raw)
    if decoded is None or not (decoded.access_list or decoded.authorizations):
        return display.NOTHING
    parts = []
    if decoded.access_list:
        rows = (
            (display.short_account(HexBytes(address)), f"{len(slots):,}")
            for address, slots in decoded.access_list
        )
        parts.append(display.table(("Access list", "Slots"), rows))
    if decoded.authorizations:
        rows = (
            (display.short_account(HexBytes(entry.address)), f"{entry.nonce:,}")
            for entry in decoded.authorizations
        )
        parts.append(display.table(("Delegates to", "Nonce"), rows))
    return display.line(*parts)


def _decode(raw: bytes) -> DecodedTransaction | None:
    """Read an envelope; None for one of a type that this node does not make."""
    try:
        return decode_unsigned(bytes(raw))
    except InvalidTransaction:
        return None

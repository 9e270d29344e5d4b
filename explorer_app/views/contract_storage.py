"""A contract's storage, by the names of its variables if the layout is known, with look-ups in mappings."""

from http import HTTPStatus
from typing import Any, Final, NamedTuple

from django.http import Http404, HttpRequest, HttpResponse

from explorer_app.names.encoding import BadText, encode_key
from explorer_app.selectors import interfaces
from explorer_app.selectors.traces import Busy, execution_slot
from explorer_app.site import Explorer
from explorer_app.storage.layout import MAX_KEYS, StorageEncoding, VariableLayout, abi_type
from explorer_app.storage.reading import Fetch, StoredVariable, look_up, read_all
from explorer_app.views.addresses import framed
from explorer_app.views.page import cchain_page, is_part, rendered
from primitives.evm import Slot

_SLOT: Final = 32
_NO_MAPPING: Final = "The contract has no such mapping, or the mapping has too many keys."
_NO_SLOT: Final = "Not a storage slot. A slot is 0x followed by 64 hexadecimal digits."


class LookedUp(NamedTuple):
    """A mapping's value for some keys, or the reason why it was not looked up."""

    label: str
    """The mapping's type."""
    keys: list[str]
    """The keys as they were entered."""
    found: StoredVariable | None = None
    error: str = ""

    @property
    def shown(self) -> list[StoredVariable]:
        """The result as a list of variables."""
        return [] if self.found is None else [self.found]


@cchain_page
def storage(site: Explorer, request: HttpRequest, text: str) -> HttpResponse:
    """Show the variables of a contract; `?mapping=` with `slot` and keys `k0`, `k1` … looks a value up."""
    account, context = framed(site, text, "contract")
    layout = interfaces.storage_layout(site.evm, account.address)
    context |= {"part": "storage", "layout": layout}
    if layout is None:
        return _shown(site, request, context)
    try:
        with execution_slot(site.executing):
            fetch = interfaces.slots_reader(site.evm, account.address)
            if "mapping" in request.GET:
                context["looked_up"] = _looked_up(request, layout.layout, fetch)
            if not is_part(request):
                context["variables"] = read_all(layout.layout, fetch)
    except Busy as error:
        context["trouble"] = str(error)
    return _shown(site, request, context)


def _shown(site: Explorer, request: HttpRequest, context: dict[str, Any]) -> HttpResponse:
    """Return the page; for htmx only the looked-up value, always with status 200, because htmx ignores others."""
    if is_part(request):
        return rendered(site, request, "_looked_up.html", context)
    refused = "looked_up" in context and context["looked_up"].error
    status = HTTPStatus.BAD_REQUEST if refused else HTTPStatus.OK
    return rendered(site, request, "contract_storage.html", context, status)


def _looked_up(request: HttpRequest, layout: VariableLayout, fetch: Fetch) -> LookedUp:
    """Look a value up.

    Raises:
        Http404: The mapping does not exist or is nested too deeply, or the slot is invalid.
    """
    key = request.GET["mapping"]
    type_ = layout.types.get(key)
    if type_ is None or type_.encoding is not StorageEncoding.MAPPING:
        raise Http404(_NO_MAPPING)
    slot = _slot(request.GET.get("slot", ""))
    types = layout.key_types(key)
    if len(types) > MAX_KEYS:
        raise Http404(_NO_MAPPING)
    texts = [request.GET.get(f"k{index}", "") for index in range(len(types))]
    result = LookedUp(type_.short, texts)
    keys = []
    for key_type, key_text in zip(types, texts, strict=True):
        try:
            keys.append(encode_key(abi_type(key_type), key_text))
        except BadText as error:
            return result._replace(error=f"The key of type {key_type.short} {error}.")
    return result._replace(found=look_up(layout, key, slot, keys, fetch))


def _slot(text: str) -> Slot:
    try:
        slot = bytes.fromhex(text.removeprefix("0x"))
    except ValueError:
        raise Http404(_NO_SLOT) from None
    if len(slot) != _SLOT:
        raise Http404(_NO_SLOT)
    return Slot(slot)

"""What all pages of the network have in common."""

from typing_extensions import override

from chaindb.admin import ReadOnlyModelAdmin
from platform_app.admin.terms import Term, read_term
from primitives.ids import ID


class NetworkAdmin(ReadOnlyModelAdmin):
    """A window on rows of the network; its lanes take `platform_app.admin.terms.Term`."""

    @override
    def read_term(self, text: str) -> Term:
        return read_term(text)

    @override
    def read_hash(self, text: str) -> ID | None:
        return read_term(text).id

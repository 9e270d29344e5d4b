"""Pages of rows with identifiers of the P-Chain: IDs, node IDs or addresses."""

from typing_extensions import override

from adminkit.identifier_terms import IdentifierTerm, read_term
from adminkit.read_only import ReadOnlyModelAdmin
from primitives.ids import ID


class IdentifierAdmin(ReadOnlyModelAdmin):
    """An admin of rows with identifiers; its `branches` takes the `IdentifierTerm` of `identifier_terms`."""

    @override
    def read_term(self, text: str) -> IdentifierTerm:
        return read_term(text)

    @override
    def read_hash(self, text: str) -> ID | None:
        return read_term(text).id

"""The rows of this process's C-Chain, in whatever database they are."""

from typing import Any, TypeVar

from django.db.models import Model, QuerySet
from django.http import HttpRequest
from typing_extensions import override

from adminkit.read_only import ReadOnlyModelAdmin
from cchain_app.apps import evm_chain

M = TypeVar("M", bound=Model)


def objects(model: type[M]) -> QuerySet[M]:
    """Return all rows of a model."""
    return evm_chain().db.objects(model)


class RowsAdmin(ReadOnlyModelAdmin):
    """A window on rows of the C-Chain."""

    @override
    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        rows: QuerySet[Any] = super().get_queryset(request)
        return rows.using(evm_chain().db.alias)

"""The current supply of each staked asset, by the subnet that mints it."""

from collections.abc import Mapping
from typing import Protocol, Self

from typing_extensions import override

from platform_app.state.facet import FacetDiff
from primitives.ids import ID


class Supplies(Protocol):
    """The reads of this facet."""

    def get(self, subnet_id: ID) -> int | None:
        """Return the current supply of a subnet's staked asset; None if the subnet mints nothing."""


class SupplyDiff(FacetDiff[Supplies]):
    """Changes of supplies."""

    __slots__ = ("_supplies",)

    def __init__(self, parent: Supplies) -> None:
        super().__init__(parent)
        self._supplies: dict[ID, int] = {}

    def get(self, subnet_id: ID) -> int | None:
        """Return the current supply of a subnet's staked asset."""
        supply = self._supplies.get(subnet_id)
        return self._parent.get(subnet_id) if supply is None else supply

    def set(self, subnet_id: ID, supply: int) -> None:
        """Set the current supply of a subnet's staked asset."""
        self._supplies[subnet_id] = supply

    @override
    def apply(self, into: Self) -> None:
        """Repeat every change on another diff, which may be the parent."""
        for subnet_id, supply in self._supplies.items():
            into.set(subnet_id, supply)

    @override
    def changes(self) -> Mapping[ID, int]:
        """Return the new supplies by subnet."""
        return dict(self._supplies)

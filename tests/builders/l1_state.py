"""L1s and their validators in plain dictionaries."""

from collections.abc import Iterable, Iterator

from platform_app.state.l1_validators import Conversion, Expiry, L1Changes, L1Fees, L1Validator
from primitives.ids import ID, NodeID


class MemoryL1s:
    """The facet of L1s in memory."""

    def __init__(
        self,
        validators: Iterable[L1Validator] = (),
        conversions: Iterable[tuple[ID, Conversion]] = (),
        expiries: Iterable[Expiry] = (),
        fees: L1Fees = L1Fees(),  # noqa: B008 - it is immutable
    ) -> None:
        self.validators = {item.validation_id: item for item in validators}
        self.conversions = dict(conversions)
        self.expiries = set(expiries)
        self.state = fees

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MemoryL1s) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]

    def fees(self) -> L1Fees:
        return self.state

    def get(self, validation_id: ID) -> L1Validator | None:
        return self.validators.get(validation_id)

    def of_node(self, subnet_id: ID, node_id: NodeID) -> ID | None:
        key = (subnet_id, node_id)
        held = (item for item in self.validators.values() if (item.subnet_id, item.node_id) == key)
        return next((item.validation_id for item in held), None)

    def total_weight(self, subnet_id: ID) -> int:
        return sum(item.weight for item in self.validators.values() if item.subnet_id == subnet_id)

    def active(self) -> Iterator[L1Validator]:
        active = (item for item in self.validators.values() if item.is_active)
        return iter(sorted(active, key=lambda item: item.order))

    def active_count(self) -> int:
        return len(list(self.active()))

    def conversion(self, subnet_id: ID) -> Conversion | None:
        return self.conversions.get(subnet_id)

    def has_expiry(self, expiry: Expiry) -> bool:
        return expiry in self.expiries

    def expired(self, time: int) -> Iterable[Expiry]:
        return sorted(item for item in self.expiries if item.time <= time)

    def accept(self, changes: L1Changes) -> None:
        for validation_id, validator in changes.validators.items():
            self.validators.pop(validation_id, None)
            if validator.weight:
                self.validators[validation_id] = validator
        self.conversions |= changes.conversions
        for expiry, is_added in changes.expiries.items():
            (self.expiries.add if is_added else self.expiries.discard)(expiry)
        self.state = changes.fees or self.state

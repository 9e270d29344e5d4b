"""L1s and their validators for pages: balances, the times at which they run out, weights over time."""

from collections.abc import Collection, Iterable
from typing import Any, Final, NamedTuple, TypeAlias

from django.db.models import Count

from explorer_app.selectors import platform
from explorer_app.selectors.platform import Owners
from platform_app.chain import PlatformChain
from platform_app.executor.fees import validator_price
from platform_app.executor.l1 import balance_of
from platform_app.models import Blockchain, L1Conversion, L1Validator, L1Weight, Phase, Staker
from platform_app.selectors import l1_validators
from platform_app.store.l1_validators import owner_of, record_of
from platform_app.txs import l1
from platform_app.txs.base import Tx
from platform_app.txs.warp import (
    L1Message,
    L1ValidatorRegistration,
    L1ValidatorWeight,
    RegisterL1Validator,
    SubnetToL1Conversion,
    initial_validation_id,
    requested_by,
    statement_of,
)
from primitives.ids import ID, NodeID
from utxo.errors import InvalidTx

PAGE: Final = 100

ConvertedSubnet: TypeAlias = L1Conversion
"""The row of an L1, for callers without access to models."""


class ValidationRow(NamedTuple):
    """A validator of an L1."""

    row: L1Validator
    state: str
    """`active`, `inactive` or `removed`."""
    balance: int
    """After the last accepted block, in the smallest units."""
    ends: int | None
    """When the balance runs out, in Unix seconds; None if it is inactive, or lasts for more than ten years."""


class SubnetCounts(NamedTuple):
    """How many validators and blockchains a subnet has, and whether it is an L1."""

    is_l1: bool
    validators: int
    blockchains: int


class ValidationOwners(NamedTuple):
    """The owners of an L1 validator's balance, and of the right to disable it."""

    balance: Owners
    deactivation: Owners


class Statement(NamedTuple):
    """An unsigned warp message that the validators of the Primary Network sign."""

    title: str
    raw: bytes
    justification: bytes


def counts(chain: PlatformChain, subnet_ids: Collection[ID]) -> dict[ID, SubnetCounts]:
    """Return the counts of subnets."""
    keys = list(subnet_ids)
    converted = set(_keys(chain.db.objects(L1Conversion).filter(pk__in=keys)))
    of_l1s = _count(chain.db.objects(L1Validator).filter(subnet_id__in=keys, removed_height=None))
    others = chain.db.objects(Staker).filter(
        is_delegator__in=[False], subnet_id__in=keys, phase=Phase.CURRENT.value
    )
    of_subnets = _count(others)
    chains = _count(chain.db.objects(Blockchain).filter(subnet_id__in=keys))
    return {
        key: SubnetCounts(
            key in converted, of_l1s.get(key, 0) + of_subnets.get(key, 0), chains.get(key, 0)
        )
        for key in keys
    }


def conversion(chain: PlatformChain, subnet_id: ID) -> L1Conversion | None:
    """Return how a subnet was converted; None if it is no L1."""
    return chain.db.objects(L1Conversion).filter(pk=subnet_id).order_by().first()


def conversions(chain: PlatformChain) -> list[L1Conversion]:
    """Return the conversions of all L1s, the latest first."""
    return list(chain.db.objects(L1Conversion).order_by("-height"))


def named(chain: PlatformChain, name: str) -> list[L1Conversion]:
    """Return the conversions of the L1s that have a chain of this name."""
    subnets = chain.db.objects(Blockchain).filter(name=name).values_list("subnet_id", flat=True)
    return list(chain.db.objects(L1Conversion).filter(pk__in=list(subnets)))


def validators(
    chain: PlatformChain, subnet_id: ID, *, after: int = 0, count: int = PAGE
) -> list[ValidationRow]:
    """Return the validators of an L1 in the order in which they were added, starting at an offset."""
    rows = chain.db.objects(L1Validator).filter(subnet_id=subnet_id, removed_height=None)
    return _rows(chain, rows.order_by("added_height")[after : after + count])


def next_to_end(chain: PlatformChain, *, after: int = 0, count: int = PAGE) -> list[ValidationRow]:
    """Return the active validators of all L1s in the order in which their balances run out, starting at an offset."""
    rows = chain.db.objects(L1Validator).filter(is_active=True, end_accumulated_fee__gt=0)
    ordered = rows.order_by("end_accumulated_fee", "validation_id")
    return _rows(chain, ordered[after : after + count])


def of_node(chain: PlatformChain, node_id: NodeID, *, count: int = PAGE) -> list[ValidationRow]:
    """Return the validations of L1s by a node, the latest first, also those that were removed."""
    rows = chain.db.objects(L1Validator).filter(node_id=node_id)
    return _rows(chain, rows.order_by("-added_height")[:count])


def validation(chain: PlatformChain, validation_id: ID) -> ValidationRow | None:
    """Return a validation of an L1 by its ID, also if it was removed."""
    found = _rows(chain, chain.db.objects(L1Validator).filter(pk=validation_id).order_by())
    return found[0] if found else None


def owners(chain: PlatformChain, row: L1Validator) -> ValidationOwners:
    """Return the owners of a validator."""
    return ValidationOwners(
        *(
            platform.owners(chain, owner.threshold, owner.addresses)
            for owner in (owner_of(row.remaining_balance_owner), owner_of(row.deactivation_owner))
        )
    )


def weights(chain: PlatformChain, validation_id: ID, *, count: int = PAGE) -> list[L1Weight]:
    """Return the weights of a validator over time, the latest first."""
    rows = chain.db.objects(L1Weight).filter(validation_id=validation_id)
    return list(rows.order_by("-from_height")[:count])


def price(chain: PlatformChain) -> int:
    """Return what each active validator pays in a second, in the smallest units."""
    return validator_price(chain.config.validator_fees, chain.tip().l1s.fees.excess)


def active_count(chain: PlatformChain) -> int:
    """Return the number of active validators of all L1s."""
    return chain.tip().l1s.active


def conversion_statement(chain: PlatformChain, converted: L1Conversion) -> Statement:
    """Return the message with which a manager begins, which says that its subnet has become an L1."""
    content = SubnetToL1Conversion(ID(converted.conversion_id))
    return _statement(chain, "Conversion", content, bytes(converted.subnet_id))


def validation_statements(chain: PlatformChain, row: L1Validator) -> list[Statement]:
    """Return the messages about a validator that hold now."""
    if row.removed_height is not None:
        return []
    validation_id = ID(row.validation_id)
    made = [_statement(chain, "Registration", L1ValidatorRegistration(validation_id, True))]
    if row.min_nonce:
        content = L1ValidatorWeight(validation_id, row.min_nonce - 1, row.weight)
        made.append(_statement(chain, "Weight", content))
    return made


def validations_of_tx(tx: Tx) -> list[ID]:
    """Return the validations that a transaction begins or changes."""
    unsigned = tx.unsigned
    match unsigned:
        case l1.ConvertSubnetToL1Tx():
            places = range(len(unsigned.validators))
            return [initial_validation_id(unsigned.subnet_id, place) for place in places]
        case l1.RegisterL1ValidatorTx() | l1.SetL1ValidatorWeightTx():
            try:
                request = requested_by(unsigned.message)
            except InvalidTx:  # no accepted transaction has such a message
                return []
            if isinstance(request, (RegisterL1Validator, L1ValidatorWeight)):
                return [request.validation_id]
            return []
        case l1.IncreaseL1ValidatorBalanceTx() | l1.DisableL1ValidatorTx():
            return [unsigned.validation_id]
        case _:
            return []


def _rows(chain: PlatformChain, rows: Iterable[L1Validator]) -> list[ValidationRow]:
    found = list(rows)
    if not found:
        return []
    tip = chain.tip()
    shown = []
    for row in found:
        record = record_of(row)
        ends = l1_validators.end_of_balance(chain, tip, record)
        shown.append(ValidationRow(row, _state(row), balance_of(record, tip.l1s.fees), ends))
    return shown


def _state(row: L1Validator) -> str:
    if row.removed_height is not None:
        return "removed"
    return "active" if row.is_active else "inactive"


def _statement(
    chain: PlatformChain, title: str, content: L1Message, justification: bytes = b""
) -> Statement:
    return Statement(title, statement_of(chain.node.network_id, content).raw, justification)


def _keys(rows: Any) -> Iterable[ID]:
    return (ID(bytes(key)) for key in rows.order_by("pk").values_list("pk", flat=True))


def _count(rows: Any) -> dict[ID, int]:
    counted = rows.order_by("subnet_id").values_list("subnet_id").annotate(Count("pk"))
    return {ID(bytes(key)): number for key, number in counted}

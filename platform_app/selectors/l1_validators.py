"""L1s and their validators as they are after the last accepted block."""

from collections.abc import Collection, Sequence
from typing import Final

from platform_app.chain import PlatformChain
from platform_app.config import DAY
from platform_app.executor.fees import seconds_left
from platform_app.executor.l1 import balance_of
from platform_app.state.l1_validators import Conversion, L1Fees, L1Validator
from platform_app.store.blocks import Tip
from platform_app.store.l1_validators import COLUMNS, L1Rows, validator_of
from primitives.ids import ID, NodeID

MAX_SECONDS: Final = 10 * 365 * DAY
"""The longest time to the end of a balance that is calculated."""

_OF_NODE = (
    COLUMNS
    + "WHERE removed_height IS NULL AND node_id = %s AND subnet_id IN ({keys}) ORDER BY subnet_id"
)
_OF_SUBNET = COLUMNS + "WHERE removed_height IS NULL AND subnet_id = %s ORDER BY node_id"


def validator(chain: PlatformChain, validation_id: ID) -> L1Validator | None:
    """Return a validator, active or not; None if it was removed or never existed."""
    return _rows(chain).get(validation_id)


def of_subnet(chain: PlatformChain, subnet_id: ID) -> Sequence[L1Validator]:
    """Return the validators of an L1, active or not, in the order of their node IDs."""
    return list(map(validator_of, chain.db.rows(_OF_SUBNET, (subnet_id,))))


def conversion(chain: PlatformChain, subnet_id: ID) -> Conversion | None:
    """Return how a subnet was converted; None if it is no L1."""
    return _rows(chain).conversion(subnet_id)


def fees(chain: PlatformChain) -> L1Fees:
    """Return the state of the continuous fee.

    Raises:
        NoPlatformGenesis: The database holds no chain.
    """
    return chain.tip().l1s.fees


def of_node(
    chain: PlatformChain, node_id: NodeID, subnets: Collection[ID]
) -> Sequence[L1Validator]:
    """Return the validations of these L1s by a node, active or not: at most one for each.

    Anybody may name any node as a validator of their own L1, so the number of all its validations has no limit.
    """
    rows = chain.db.rows_by_keys(_OF_NODE, sorted(subnets), (node_id,))
    return [validator_of(row) for row in rows]


def end_of_balance(chain: PlatformChain, tip: Tip, record: L1Validator) -> int | None:
    """Return when a validator's balance runs out, in Unix seconds, if no other validator comes or goes.

    None: it is inactive, or the balance lasts for more than ten years.

    Args:
        chain: The chain.
        tip: Its last accepted block.
        record: The validator after that block.
    """
    if not record.is_active:
        return None
    left = seconds_left(
        chain.config.validator_fees,
        validators=tip.l1s.active,
        excess=tip.l1s.fees.excess,
        most=MAX_SECONDS,
        funds=balance_of(record, tip.l1s.fees),
    )
    return None if left == MAX_SECONDS else tip.timestamp + left


def _rows(chain: PlatformChain) -> L1Rows:
    return L1Rows(chain.db, chain.tip().l1s)

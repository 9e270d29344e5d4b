"""L1s and their validators as they are after the last accepted block."""

from collections.abc import Sequence

from platform_app.chain import PlatformChain
from platform_app.state.l1_validators import Conversion, L1Fees, L1Validator
from platform_app.store.l1_validators import COLUMNS, L1Rows, validator_of
from primitives.ids import ID

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


def _rows(chain: PlatformChain) -> L1Rows:
    return L1Rows(chain.db, chain.tip().l1s)

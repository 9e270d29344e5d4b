"""The values of a network that the rules of atomic transactions depend on."""

from dataclasses import dataclass
from typing import Final

from primitives.ids import ID

WEI_OF_GWEI: Final = 10**9


@dataclass(frozen=True, slots=True)
class AtomicParameters:
    """The chain and its peers as atomic transactions name them."""

    network_id: int
    blockchain_id: ID
    """This chain."""
    peers: frozenset[ID]
    """The other chains of the Primary Network."""
    asset_id: ID
    """The only asset that can be moved: the staking asset."""
    wei_per_unit: int
    """The wei of one unit of the asset as the other chains count it; a multiple of a gwei."""

    @property
    def gwei_per_unit(self) -> int:
        """The gwei of one unit: the denomination of withdrawals."""
        return self.wei_per_unit // WEI_OF_GWEI

"""The P-Chain as the source of the X-Chain's genesis and parameters, and of the IDs of other chains.

The two chains do not know each other; the code that composes the node connects them.
"""

from platform_app.api.params import find_chain_id
from platform_app.chain import NoPlatformGenesis, PlatformChain
from platform_app.selectors import accepted
from platform_app.txs.codec import GENESIS_CODEC, parse
from platform_app.txs.subnets import CreateChainTx
from primitives.ids import ID, P_CHAIN_ID, PRIMARY_NETWORK_ID
from xchain_app.chain import XChainOrigin
from xchain_app.config import AvmConfig


class PlatformNetwork:
    """The P-Chain of a node as its X-Chain sees it; a `xchain_app.chain.PrimaryNetwork`.

    Args:
        platform: The P-Chain.
    """

    def __init__(self, platform: PlatformChain) -> None:
        self._platform = platform

    def x_chain(self) -> XChainOrigin | None:
        """Return the transaction of the genesis that created the X-Chain; None before the genesis."""
        try:
            chain_id = self._platform.network().x_chain_id
        except NoPlatformGenesis:
            return None
        creation = accepted.tx(self._platform, chain_id)
        assert creation is not None, "every genesis creates an X-Chain"
        created = parse(creation.raw, GENESIS_CODEC).unsigned
        assert isinstance(created, CreateChainTx)
        return XChainOrigin(chain_id, created.genesis_data)

    def subnet_of(self, chain_id: ID) -> ID | None:
        """Return the subnet of a blockchain on the last accepted state; None for an unknown blockchain."""
        if chain_id == P_CHAIN_ID:
            return PRIMARY_NETWORK_ID
        return self._platform.state().subnets.of_blockchain(chain_id)

    def chain_id_of(self, alias: str) -> ID | None:
        """Return the blockchain ID of a chain of the Primary Network; None for an unknown alias or before the genesis."""
        try:
            return find_chain_id(self._platform, alias)
        except NoPlatformGenesis:
            return None

    def config(self) -> AvmConfig:
        """Return the X-Chain's parameters, from the set that NODE_PARAMETERS names."""
        config = self._platform.config
        return AvmConfig(
            network_id=config.network_id,
            hrp=config.hrp,
            tx_fee=config.fees.tx,
            create_asset_tx_fee=config.fees.create_asset,
        )

"""The `proposervm.*` methods of a chain, served at `/ext/bc/<chain>/proposervm` (etna.md 10).

Tools that pass messages between chains ask which P-Chain height's validators must have signed.
"""

from chaindb import clock
from jsonrpc.dispatch.registry import MethodRegistry
from network_app.chains.outer_blocks import OuterRows
from network_app.proposervm.epochs import NO_EPOCH
from network_app.proposervm.verification import epoch_of_child
from platform_app.api import PlatformRpc, errors
from platform_app.api.chains import proposed_height
from platform_app.api.wire import Json
from primitives.upgrades import UpgradeTimes


class OuterBlockInfo:
    """Contents of the outer block that would follow a chain's last accepted one.

    Args:
        rows: The outer blocks of the chain.
        platform: The P-Chain, whose heights they name.
        upgrades: The activation times of the rules.
    """

    def __init__(self, rows: OuterRows, platform: PlatformRpc, upgrades: UpgradeTimes) -> None:
        self._rows = rows
        self._platform = platform
        self._upgrades = upgrades

    def get_proposed_height(self) -> Json:
        """proposervm.getProposedHeight: the P-Chain height that the chain's next block may name."""
        return {"height": str(proposed_height(self._platform))}

    def get_current_epoch(self) -> Json:
        """proposervm.getCurrentEpoch: the epoch of a block that is built now; all zeros if it has none.

        The validators at the epoch's P-Chain height must have signed the messages in such a block.
        """
        self._platform.chain.network()  # refuses before the first start
        parent = self._rows.last()
        now = max(parent.time, clock.now())
        epoch = epoch_of_child(parent, now, self._upgrades) or NO_EPOCH
        return {
            "number": str(epoch.number),
            "startTime": str(epoch.start_time),
            "pChainHeight": str(epoch.p_chain_height),
        }


def methods(info: OuterBlockInfo) -> MethodRegistry:
    """Return the `proposervm.*` methods of a chain."""
    table = MethodRegistry(errors.to_error_object)
    table.add("proposervm.getProposedHeight", info.get_proposed_height)
    table.add("proposervm.getCurrentEpoch", info.get_current_epoch)
    return table

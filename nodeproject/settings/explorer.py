"""The settings of the explorer's verification of contracts."""

from dataclasses import dataclass

from nodeproject.settings.flags import flag
from nodeproject.settings.pool import PoolSettings


@dataclass(frozen=True, slots=True)
class ExplorerSettings(PoolSettings):
    """The operator's settings of verifications, with their defaults: a part of `NodeSettings`."""

    faucet: int = flag(
        10,
        "Coins that the faucet (page `/faucet`, `POST /faucet`) gives an address at once, on either chain: on a local "
        "network, and where NODE_FAUCET_KEY_FILE names a key. 0: there is none.",
        least=0,
        most=1_000_000,
    )
    faucet_hourly: int = flag(
        1000,
        "Most coins that the faucet gives in an hour, on both chains and by all processes together; 0: any.",
        least=0,
        most=10**9,
    )
    faucet_key_file: str = flag(
        "",
        "File with the private key, in hex, that the faucet pays with. Default: the local network's own.",
    )
    solc_directory: str = flag(
        "",
        "Directory with Solidity's compilers, npm's packages `solc` in its `node_modules`, also by other names: "
        "`npm install solc-0.8.20@npm:solc@0.8.20`. Empty: contracts are not verified, ABIs can be given.",
    )
    solc_socket: str = flag(
        "",
        "Unix socket of the process that runs the compilers, `python -m nodeproject.processes.compilers`; it and the node's other "
        "processes have the same. Empty: these run the compilers of NODE_SOLC_DIRECTORY themselves.",
    )
    solc_seconds: float = flag(
        120.0,
        "Most seconds for the verification of a contract, with all its compilations.",
        least=1,
    )
    solc_memory: int = flag(
        2_000_000_000, "Most bytes of memory that a compiler may have.", least=64 * 1024 * 1024
    )
    source_limit: int = flag(
        10_000_000, "Largest submission of a contract's sources, in bytes.", least=1
    )
    verifications: int = flag(
        100, "Most verifications that may wait; a tenth of them of one client.", least=1
    )

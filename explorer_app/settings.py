"""The settings of the explorer: its faucet, the verification of contracts, the index of tokens, and statistics."""

from dataclasses import dataclass

from primitives.networks import LOCAL
from primitives.settings import flag


@dataclass(frozen=True, slots=True)
class ExplorerSettings:
    """The settings of the explorer."""

    faucet: int = flag(
        10,
        "Coins that the faucet (page `/faucet`, `POST /faucet`) pays to an address per request, on any chain "
        "of the Primary Network; available on a local network, and with NODE_FAUCET_KEY_FILE. 0: no faucet.",
        least=0,
        most=1_000_000,
    )
    faucet_hourly: int = flag(
        1000,
        "Maximum coins that the faucet pays per hour, on all chains and by all processes together; 0: "
        "unlimited.",
        least=0,
        most=10**9,
    )
    faucet_key_file: str = flag(
        "",
        "File with the private key, in hex, from which the faucet pays. Default: the local network's own.",
    )
    solc_directory: str = flag(
        "",
        "Directory with Solidity compilers: the npm packages `solc` in its `node_modules`, also under other "
        "names: `npm install solc-0.8.20@npm:solc@0.8.20`. Empty: contracts cannot be verified, but ABIs can "
        "be submitted.",
    )
    solc_socket: str = flag(
        "",
        "Unix socket of the process that runs the compilers, `python -m nodeproject.compilers`; must be the "
        "same for it and for the node's other processes. Empty: these run the compilers of "
        "NODE_SOLC_DIRECTORY themselves.",
    )
    solc_seconds: float = flag(
        120.0,
        "Maximum seconds for the verification of a contract, including all its compilations.",
        least=1,
    )
    solc_memory: int = flag(
        2_000_000_000, "Maximum memory of a compiler, in bytes.", least=64 * 1024 * 1024
    )
    source_limit: int = flag(
        10_000_000, "Maximum size of a submission of a contract's sources, in bytes.", least=1
    )
    verifications: int = flag(
        100,
        "Maximum number of pending verifications; at most a tenth of them from one client.",
        least=1,
    )
    token_index: str = flag(
        "local",
        "Whether transfers and holders of tokens are stored as rows, after their blocks, for the explorer's "
        "pages. `local`: only on the local network.",
        choices=("local", "on", "off"),
    )

    statistics: str = flag(
        "local",
        "Whether the explorer's figures by day and its accounts by balance are stored as rows, after their "
        "blocks. They need about 300 bytes for each account. `local`: only on the local network.",
        choices=("local", "on", "off"),
    )

    def indexes_tokens(self, network_id: int) -> bool:
        """Return whether transfers and holders of tokens are stored as rows."""
        return self.token_index == "on" or (  # noqa: S105  # the tokens are ERC-20's
            self.token_index == "local" and network_id == LOCAL  # noqa: S105  # likewise
        )

    def summarises(self, network_id: int) -> bool:
        """Return whether figures by day and accounts by balance are stored as rows."""
        return self.statistics == "on" or (self.statistics == "local" and network_id == LOCAL)

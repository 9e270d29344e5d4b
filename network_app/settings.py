"""The settings of a node's peers and of voting (docs/network.md)."""

from dataclasses import dataclass

from primitives.settings import flag, group


@dataclass(frozen=True, slots=True)
class SnowSettings:
    """The parameters of Snowman: polls, and limits of undecided blocks."""

    sample_size: int = flag(20, "Units of stake that a poll queries.", least=1)
    preference_quorum_size: int = flag(
        0,
        "Votes of a poll that change the preferred block. 0: 15; on a local network of 4 to 9 validators 13, "
        "unless NODE_PARAMETERS is `avalanchego`.",
        least=0,
    )
    confidence_quorum_size: int = flag(
        0,
        "Votes from which a poll counts towards a decision. 0: the default of NODE_SNOW_PREFERENCE_QUORUM_SIZE.",
        least=0,
    )
    commit_threshold: int = flag(
        20,
        "Consecutive successful polls that decide a block: fewer are faster and less safe.",
        least=1,
    )
    concurrent_repolls: int = flag(
        4, "Target number of concurrent polls while blocks are undecided.", least=1
    )
    optimal_processing: int = flag(
        10, "Number of undecided blocks at which this node stops building further blocks.", least=1
    )
    max_processing: int = flag(
        256, "Number of undecided blocks above which the node is unhealthy.", least=1
    )
    max_time_processing: float = flag(
        30.0,
        "Seconds that a block may be undecided before the node is unhealthy.",
        least=0.01,
    )


@dataclass(frozen=True, slots=True)
class NetworkSettings:
    """The settings of a node in its peer network."""

    snow: SnowSettings = group(SnowSettings, "snow_")

    kept_decisions: int = flag(
        10_000, "Decided votes that are kept for inspection (`n_decisions`).", least=1
    )
    staking_host: str = flag("127.0.0.1", "Address that peers connect to.")
    staking_port: int = flag(
        9651, "Port that peers connect to; 0: one that is free.", least=0, most=65_535
    )
    public_ip: str = flag(
        "",
        "Address that this node advertises to its peers, IP or IP:PORT. Default: the address on which it "
        "listens.",
    )
    network_allow_private_ips: str = flag(
        "auto",
        "Whether the node connects to private addresses that validators claim (10.0.0.0/8, 127.0.0.0/8 and so"
        " on); it always connects to those of NODE_BOOTSTRAP. `auto`: on all networks but 1 and 5.",
        choices=("auto", "true", "false"),
    )
    network: bool = flag(
        True,
        "Whether this node connects to peers; in the production profile `runnetwork` does that.",
    )

    def dials_private(self, network_id: int) -> bool:
        """Return whether the node connects to private addresses that validators claim."""
        if self.network_allow_private_ips == "auto":
            return network_id not in (1, 5)
        return self.network_allow_private_ips == "true"

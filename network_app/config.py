"""Limits and periods of the peer protocol (p2p.md 2, 4, 5, 6, 7, 8, 9). Pure.

Tests make one with shorter periods; a running node has these, but for what its settings say.
"""

from dataclasses import dataclass

MIB = 1024 * 1024
UPGRADE_TIME = 1_607_144_400
"""Unix seconds of the latest upgrade, Granite: on this node's networks all are active since
2020-12-05 05:00 UTC, as on the reference's local one (info.upgrades)."""


@dataclass(frozen=True, slots=True)
class NetworkConfig:
    """Seconds, bytes and counts."""

    network_id: int
    upgrade_time: int = 0
    """Unix seconds of the latest upgrade, as the handshake tells it."""

    # connections
    handshake_timeout: float = 15.0
    """For TLS, and then for the peer's handshake."""
    dial_timeout: float = 30.0
    max_inbound: int = 256
    """Connections that strangers opened: nodes that neither validate nor bootstrap this one."""
    max_half_open: int = 64
    """Connections whose TLS is not done; of more, one of the oldest is closed."""
    inbound_per_prefix: int = 32
    """Strangers of one /24 (IPv4) or /64 (IPv6), and its hosts that may come in one cooldown."""
    inbound_per_second: int = 256
    inbound_cooldown: float = 10.0
    """Seconds before the same address may connect again; loopback may always."""
    idle_time: float = 60.0
    """Seconds without a chain's message after which a stranger gives way when all places are taken."""
    dials_per_second: int = 50
    first_retry: float = 1.0
    longest_retry: float = 60.0

    # keep-alive
    ping_interval: float = 22.5
    read_timeout: float = 30.0
    clock_tolerance: int = 60
    """Seconds by which a peer's clock may differ."""

    dials_private: bool = True
    """Whether private addresses that validators claim are dialled."""

    # throttling
    peer_rate: int = 4 * MIB
    """Bytes a second that are read from a validator, or from whom we dialled. Unspecified: eight
    times the reference's. Who bootstraps from few nodes waits for little else."""
    stranger_rate: int = 512 * 1024
    """Bytes a second that are read from anybody else; what it was asked for comes besides."""
    strangers_rate: int = 2 * MIB
    """Bytes a second that are read from all of those together: each has an equal part at most."""
    peer_burst: int = 2 * MIB
    peer_messages: int = 1024
    """Messages of one peer that may wait to be worked off."""
    stranger_messages: int = 8
    """The same for a stranger."""
    shared_pool: int = 6 * MIB
    """Bytes in work that all share, of which strangers leave half to the others."""
    shared_pool_of_one: int = 2 * MIB
    validator_pool: int = 32 * MIB
    """Bytes in work for validators, divided by stake."""
    send_queue: int = 8 * MIB
    """Bytes that wait to be sent to one peer."""
    send_queue_messages: int = 4096
    strangers_send_queue: int = 32 * MIB
    """Bytes that wait to be sent to all strangers."""

    # discovery
    peer_list_interval: float = 2.0
    peer_list_size: int = 15
    most_known_addresses: int = 4096
    filter_interval: float = 60.0

    # requests
    first_request_timeout: float = 5.0
    least_request_timeout: float = 2.0
    most_request_timeout: float = 10.0
    most_open_requests: int = 2048
    """Of one chain; half of them may be blocks that were pushed."""
    bench_above: float = 0.5
    bench_below: float = 0.2
    bench_time: float = 300.0

    # answers
    answer_bytes: int = 4 * MIB
    """Bytes a second that a stranger gets as answers: what a peer reads of one it has dialled."""
    strangers_answer_bytes: int = 8 * MIB
    """The same for all strangers together."""
    answer_time: float = 0.4
    """Seconds of threads, for each second, that a stranger's questions may cost."""
    strangers_answer_time: float = 0.6
    """The same for all strangers together."""

    # gossip
    push_interval: float = 0.02
    """Seconds between pushes of new transactions. The reference waits 0.5; nobody minds less."""
    push_again: float = 30.0
    pull_interval: float = 1.5
    pull_size: int = 20 * 1024
    pulls_per_hour: int = 2400

    # blocks
    frontier_sample: int = 20
    ancestors_count: int = 2000
    ancestors_bytes: int = 1_677_721
    ancestors_time: float = 0.05
    execute_batch: int = 64
    """Blocks that are committed together while bootstrapping."""
    most_fetched: int = 50_000
    """Fetched blocks that wait, above which the gap is fetched in pieces."""
    most_fetched_bytes: int = 4096 * MIB
    """Of fetched blocks of a chain that wait, above which a round has failed; a piece of
    `ancestors_count` blocks of the largest size fits. Nobody has verified such blocks, so that a
    peer that lies could else fill the disk: `most_fetched` of them may be a hundred GB."""
    fetch_again: float = 0.5
    """Seconds before all peers are asked once more for a block that none gave."""
    poll_interval: float = 0.1
    """Seconds between pull queries to a validator, whether or not blocks come (snowman.md 9)."""
    refused_again: float = 60.0
    """Seconds before the bytes of a block that was refused are tried again, whoever has accepted it."""
    unnamed_for: float = 300.0
    """Seconds after which a chain no longer stands before a block that was not refused again since."""
    sync_repeat: float = 10.0
    """Seconds that a failed round of bootstrapping waits at most, and between two bootstraps."""

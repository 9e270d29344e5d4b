"""Limits and periods of the peer protocol (p2p.md 2, 4, 5, 6, 7, 8, 9). Pure.

Tests use shorter periods; a running node uses these defaults except where its settings override them.
"""

from dataclasses import dataclass

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class NetworkConfig:
    """Limits in seconds, bytes and counts."""

    network_id: int
    upgrade_time: int = 0
    """Unix seconds of the latest upgrade, as sent in the handshake."""

    # connections
    handshake_timeout: float = 15.0
    """For the TLS handshake, and again for the peer's handshake."""
    dial_timeout: float = 30.0
    max_inbound: int = 256
    """Connections opened by unknown peers, which neither validate nor bootstrap this node."""
    max_half_open: int = 64
    """Connections without a completed TLS handshake; beyond this limit an old one is closed."""
    inbound_per_prefix: int = 32
    """Unknown peers from one /24 (IPv4) or /64 (IPv6), and hosts of it that may connect in one cooldown."""
    inbound_per_second: int = 256
    inbound_cooldown: float = 10.0
    """Seconds before the same address may connect again; loopback is exempt."""
    idle_time: float = 60.0
    """Seconds without a chain's message after which an unknown peer may be replaced when all places are taken."""
    dials_per_second: int = 50
    first_retry: float = 1.0
    longest_retry: float = 60.0

    # keep-alive
    ping_interval: float = 22.5
    read_timeout: float = 30.0
    clock_tolerance: int = 60
    """Seconds by which a peer's clock may differ from this node's."""

    dials_private: bool = True
    """Whether private addresses that validators claim are dialled."""

    # throttling
    peer_rate: int = 4 * MIB
    """Bytes per second read from a validator or a peer that this node dialled. Unspecified: eight times
    the reference's limit, because bootstrapping from few nodes depends mostly on this rate."""
    stranger_rate: int = 512 * 1024
    """Bytes per second read from an unknown peer, in addition to the answers that it was asked for."""
    strangers_rate: int = 2 * MIB
    """Bytes per second read from all unknown peers together; each gets at most an equal share."""
    peer_burst: int = 2 * MIB
    peer_messages: int = 1024
    """Messages of one peer that may be processed at a time."""
    stranger_messages: int = 8
    """The same limit for an unknown peer."""
    shared_pool: int = 6 * MIB
    """Shared bytes of messages in progress; unknown peers may use half of them."""
    shared_pool_of_one: int = 2 * MIB
    validator_pool: int = 32 * MIB
    """Bytes of messages in progress for validators, divided by stake."""
    send_queue: int = 8 * MIB
    """Bytes queued for one peer."""
    send_queue_messages: int = 4096
    strangers_send_queue: int = 32 * MIB
    """Bytes queued for all unknown peers together."""

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
    """Open requests of one chain; half of them may be for blocks that were pushed."""
    bench_above: float = 0.5
    bench_below: float = 0.2
    bench_time: float = 300.0

    # answers
    answer_bytes: int = 4 * MIB
    """Bytes per second of answers to an unknown peer, as much as a node reads from a peer that it dialled."""
    strangers_answer_bytes: int = 8 * MIB
    """The same limit for all unknown peers together."""
    answer_time: float = 0.4
    """Thread seconds per second that the requests of an unknown peer may cost."""
    strangers_answer_time: float = 0.6
    """The same limit for all unknown peers together."""

    # gossip
    push_interval: float = 0.02
    """Seconds between pushes of new transactions. The reference uses 0.5; a shorter period does no harm."""
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
    """Blocks committed together while bootstrapping."""
    most_fetched: int = 50_000
    """Number of waiting fetched blocks above which the gap is fetched in pieces."""
    most_fetched_bytes: int = 4096 * MIB
    """Total size of a chain's waiting fetched blocks above which a round fails. A piece of `ancestors_count`
    blocks of the largest size fits. The limit stops a lying peer from filling the disk, because these blocks
    are not verified: `most_fetched` of them may take a hundred GB."""
    fetch_again: float = 0.5
    """Seconds before all peers are asked again for a block that none of them sent."""
    poll_interval: float = 0.1
    """Seconds between pull queries to a validator, whether or not there are blocks (snowman.md 9)."""
    refused_again: float = 60.0
    """Seconds before a rejected block is tried again, whichever peers have accepted it."""
    unnamed_for: float = 300.0
    """Seconds after which a rejected block that was not rejected again no longer counts as an obstacle."""
    sync_repeat: float = 10.0
    """Longest wait after a failed round of bootstrapping, and the wait between two bootstraps, in seconds."""

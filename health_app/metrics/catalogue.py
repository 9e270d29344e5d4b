"""All metrics of this node by name, without the namespace and without the `_total` of counters.

Metrics of Django's own pages come from django-prometheus, those of memory and processor from the client
library. Amounts are in the smallest units.
"""

from collections.abc import Mapping
from typing import Final

HELP: Final[Mapping[str, str]] = {
    # Calls and connections
    "api_calls": "JSON-RPC calls by interface and method. Not executed were: unknown (no such method), "
    "refused (unreadable or not allowed), limited, overloaded, late.",
    "api_errors": "JSON-RPC calls that were answered with an error, by its code.",
    "api_call_duration_seconds": "Time in which JSON-RPC calls were executed.",
    "api_calls_processing": "JSON-RPC calls that run in threads or wait for one.",
    "api_oldest_call_started_seconds": "When the oldest call came that is not answered, by the "
    "machine's monotonic clock.",
    "api_longest_call_seconds": "For how long the oldest JSON-RPC call has been running, or waiting for "
    "a thread.",
    "http_requests": "Requests over HTTP by the interface or page they were for, and the reply's "
    "status; those that Django answers are in svc_django_http_responses_total_by_status_total.",
    "http_connections": "Open HTTP connections of clients.",
    "websocket_connections": "Open WebSocket connections.",
    "websocket_subscriptions": "Subscriptions of WebSocket clients.",
    # Work
    "block_processing_duration_seconds": "Time in which this node made blocks, or checked and accepted "
    "those of others.",
    "celery_task_duration_seconds": "Time that background tasks took.",
    "celery_tasks": "Background tasks by how they ended.",
    "celery_tasks_running": "Background tasks that run now.",
    "celery_task_last_ended_timestamp_seconds": "When a background task ended last.",
    # Database
    "database_statement_duration_seconds": "Time that statements of the database took, by their first "
    "word.",
    "database_errors": "Statements of the database that failed.",
    "database_connections_opened": "Connections to the database that threads opened or took from the "
    "pool.",
    "database_pool_connections": "Connections of the pools, by what they do.",
    "database_pool_waiting": "Threads that wait for a connection.",
    "database_pool_requests": "Connections that threads asked a pool for.",
    "database_pool_requests_queued": "Connections that a thread had to wait for.",
    "database_pool_wait_seconds": "Time that threads waited for connections.",
    "database_pool_requests_failed": "Connections that no thread got in time.",
    "database_pool_connections_lost": "Connections that were found to be broken.",
    "database_up": "Whether the database answered.",
    "database_size_bytes": "Size of the database.",
    "database_server_connections": "Connections that the server has, of all.",
    "database_migrations_unapplied": "Migrations of this code that the database does not have.",
    "backup_last_timestamp_seconds": "Unix time at which the last backup of this database was complete.",
    "backup_last_size_bytes": "Size of the last backup's file.",
    "backup_last_duration_seconds": "Time that the last backup took.",
    # The machine
    "data_directory_free_bytes": "Free space in the file system of the data directory.",
    "data_directory_size_bytes": "Size of the file system of the data directory.",
    "machine_memory_available_bytes": "Memory of the machine that programs can still get.",
    "machine_memory_total_bytes": "Memory of the machine.",
    "machine_time_seconds": "Unix time by the machine's clock, without the node's offset.",
    # Processes
    "build_info": "What the node is made of.",
    "cache_entries": "Entries in the memory of processes.",
    "cache_hits": "Questions that a cache in memory answered.",
    "cache_misses": "Questions that a cache in memory could not answer.",
    "python_threads": "Threads of the interpreter.",
    "python_gc_collections": "Runs of the garbage collector.",
    "python_gc_collected_objects": "Objects that the garbage collector freed.",
    # Health checks
    "health_checks_failing": "Health checks that fail.",
    "health_checks_failing_of_tag": "Health checks with a tag that fail.",
    "health_check_fails": "Whether a health check fails.",
    "health_check_duration_seconds": "Time that the last run of a check took.",
    "health_check_contiguous_failures": "Runs of a check that failed in a row.",
    # Both chains
    "chain_info": "1 for each alias of a chain; `chain` is what other metrics call it.",
    "chain_height": "Height of the last accepted block.",
    "chain_last_block_timestamp_seconds": "Time of the last accepted block.",
    "chain_last_block_age_seconds": "Age of the last accepted block by the node's clock.",
    "chain_recent_blocks": "Blocks of the last 60 seconds.",
    "chain_recent_transactions": "Transactions in blocks of the last 60 seconds.",
    "chain_bootstrapped": "Whether a chain has reached the network's frontier.",
    "mempool_transactions": "Transactions that wait for a block; queued ones wait for others first.",
    "mempool_bytes": "Bytes of the transactions that wait for a block.",
    "node_clock_offset_seconds": "How far the node's clock is ahead of wall time.",
    # C-Chain
    "cchain_base_fee_wei": "Base fee of the last block, for each gas.",
    "cchain_gas_used": "Gas used by the last block.",
    "cchain_gas_limit": "Gas limit of the last block.",
    "cchain_recent_gas_used": "Gas used in the last 60 seconds.",
    "cchain_last_block_bytes": "Size of the last block.",
    "cchain_calls_height": "Height up to which calls inside of transactions are rows (NODE_TRACE_INDEX).",
    "cchain_calls_unrecorded": "Transactions of which only the outermost call is a row.",
    "explorer_tokens_height": "Height up to which transfers of tokens are rows (NODE_TOKEN_INDEX).",
    # P-Chain
    "platform_local_staked": "Stake on this node, with delegations.",
    "platform_total_staked": "Stake of the Primary Network.",
    "platform_time_until_unstake": "Nanoseconds until this node's stay as a validator ends.",
    "platform_validators": "Validators of the Primary Network.",
    "platform_delegators": "Delegators of the Primary Network.",
    "platform_validator_uptime_ratio": "Part of their stay that validators were online, as this node "
    "sees it.",
    "platform_gas_capacity": "Gas that was left after the last block, as platform.getFeeState says; "
    "time since adds to it.",
    "platform_gas_excess": "Gas used above the target, after the last block: it drives the price; time "
    "since lowers it.",
    "platform_gas_price": "Price of one gas after the last block.",
    # Peers
    "network_peers": "Connected peers.",
    "network_peers_subnet": "Connected peers that track a subnet.",
    "network_peers_benched": "Connected peers that are not asked on a chain.",
    "network_known_nodes": "Validators and bootstrappers whose signed address is kept; no other peers, "
    "and not this node.",
    "network_process_up": "Whether the process that talks to peers reported recently.",
    "network_start_time_seconds": "When the process that talks to peers began.",
    "network_messages": "Messages to and from peers.",
    "network_bytes": "Bytes to and from peers.",
    "network_send_failures": "Messages that could not be sent.",
    "network_send_fail_rate": "Part of the latest messages that could not be sent.",
    "network_times_connected": "Peers that came.",
    "network_times_disconnected": "Peers that went.",
    "network_time_since_last_msg_sent": "Nanoseconds since the last message to a peer, before the first "
    "one since the start.",
    "network_time_since_last_msg_received": "Nanoseconds since the last message from a peer, before the "
    "first one since the start.",
    "network_bootstrapper_failing": "1 for each bootstrapper of NODE_BOOTSTRAP that is not connected, by the reason of "
    "the last attempt.",
    "network_bootstrapper_clock_offset_seconds": "Seconds by which this node's clock is ahead of a bootstrapper's, where "
    "the connection failed for that.",
    "network_connected_stake_ratio": "Part of the stake that is connected, with this node's own.",
    "network_node_uptime_weighted_average": "This node's uptime as its peers see it, in percent, "
    "weighted by stake.",
    "network_node_uptime_rewarding_stake": "Percent of the stake that saw this node online long enough "
    "for a reward.",
    "network_blocks_outstanding": "Blocks of peers that are not decided yet.",
    # Voting on blocks: names and units are the reference's
    "snowman_max_verified_height": "Height of the highest block that was verified.",
    "snowman_last_accepted_height": "Height of the last accepted block.",
    "snowman_last_accepted_timestamp": "Time of the last accepted block that is stored.",
    "snowman_bootstrap_finished": "Whether this node takes part in the voting on a chain.",
    "snowman_blks_processing": "Blocks that wait for their decision.",
    "snowman_blks_accepted": "Accepted blocks, and nanoseconds from issue to acceptance.",
    "snowman_blks_rejected": "Rejected blocks, and nanoseconds from issue to rejection.",
    "snowman_blks_polls_accepted": "Accepted blocks, and polls between issue and acceptance.",
    "snowman_blks_polls_rejected": "Rejected blocks, and polls between issue and rejection.",
    "snowman_blks_accepted_container_size_sum": "Bytes of accepted blocks.",
    "snowman_blks_rejected_container_size_sum": "Bytes of rejected blocks.",
    "snowman_blks_build_accept_latency": "Nanoseconds from accepted blocks' own time to their "
    "acceptance, together.",
    "snowman_consensus_latencies": "Nanoseconds from issue to acceptance.",
    "snowman_block_work_seconds": "Time in which this node built or verified, and accepted, each accepted "
    "block; without the wait for votes.",
    "snowman_polls_successful": "Polls that moved a decision on.",
    "snowman_polls_failed": "Polls that moved none.",
    "snowman_polls": "Open polls.",
    "snowman_poll_duration": "Finished polls, and nanoseconds for which they were open.",
    "snowman_poll_count": "Finished polls by why: all answered, or more answers could change nothing.",
    "snowman_poll_duration_by_reason": "Nanoseconds for which finished polls were open, by why they "
    "finished.",
    "snowman_requests": "Blocks that nodes are asked for.",
    "snowman_blocked": "Blocks that wait for their parents.",
    "snowman_blockers": "Blocks that others, or votes, wait for.",
    "snowman_non_verified_blks": "Blocks that are kept though they failed, for votes that name them.",
    "snowman_waiting": "Messages, answers and failures that wait for their turn.",
    "snowman_blks_built": "Blocks that this node has built.",
    "snowman_blk_builds_failed": "Attempts to build a block that failed.",
    "snowman_blks_built_time_skew": "Nanoseconds from this clock to the times of the blocks it built, summed.",
    "snowman_blks_issued": "Blocks that became processing, by what this node came to them.",
    "snowman_issuer_stake": "Stake of the peers that sent the blocks that became processing.",
    "snowman_num_useless_put_bytes": "Bytes of blocks that were sent though they were here.",
    "snowman_num_useless_push_query_bytes": "Bytes of blocks that queries brought though they were here.",
    "snowman_num_missing_accepted_blocks": "Accepted blocks that could not be named to who asked for their height.",
    "snowman_num_processing_ancestor_fetches_unneeded": "Votes that named a processing block.",
    "snowman_num_processing_ancestor_fetches_succeeded": "Votes that counted for an ancestor of what they named.",
    "snowman_num_processing_ancestor_fetches_dropped": "Votes that named a decided block.",
    "snowman_num_processing_ancestor_fetches_failed": "Votes that named an unknown block.",
    "snowman_selected_vote_index": "Which of its choices a vote counted for, the first being 0.",
    "proposervm_block_building_slot": "Slot of the block that was built here last.",
    "proposervm_accepted_blocks_slot": "Slot of the last accepted block that is signed.",
    "proposervm_last_accepted_timestamp": "Unix time of the last accepted block, inner and outer.",
    "snowman_restarts": "How often voting began anew after a failure.",
    "snowman_equivocations": "Blocks that a proposer signed for a slot for which it had signed another.",
    "stake_percent_connected": "Part of the stake, 0 to 1, that polls hear.",
    "stake_percent_needed": "Part of the stake, 0 to 1, without which no poll is sent.",
    "stake_total_weight": "Stake of the validators.",
    "stake_num_validators": "Validators.",
    # Bootstrapping
    "bootstrap_start_height": "Height at which the way to the frontier began.",
    "bootstrap_height": "Height that was reached.",
    "bootstrap_target_height": "Height of the frontier, as far as it is known.",
    "bootstrap_fetched_blocks": "Blocks that were fetched and not executed yet.",
    "bootstrap_blocks_per_second": "Blocks executed in a second.",
    "bootstrap_eta_seconds": "Time until the frontier, at that rate.",
    # Of this page
    "scrape_success": "Whether a part could be read.",
    "scrape_duration_seconds": "Time that reading a part took.",
}
"""The help text of each metric on the page."""

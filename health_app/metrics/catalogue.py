"""All metrics of this node by name, without the namespace and without the `_total` of counters.

Metrics of Django's own pages come from django-prometheus, those of memory and processor from the client
library.
"""

from collections.abc import Mapping
from typing import Final

HELP: Final[Mapping[str, str]] = {
    # Calls and connections
    "api_calls": "JSON-RPC calls by interface and method. Calls that were not executed have the methods unknown "
    "(no such method), refused (unreadable or not allowed), limited, overloaded, late or abandoned.",
    "api_errors": "JSON-RPC calls that were answered with an error, by interface, method and error code.",
    "api_call_duration_seconds": "Execution time of JSON-RPC calls in seconds, by interface and method, without "
    "the wait for a thread.",
    "api_calls_processing": "JSON-RPC calls that are running in threads or waiting for one.",
    "api_oldest_call_started_seconds": "Start of the oldest unanswered JSON-RPC call, in seconds of the "
    "machine's monotonic clock.",
    "api_longest_call_seconds": "Seconds for which the oldest unanswered JSON-RPC call has been running or "
    "waiting for a thread.",
    "http_requests": "HTTP requests by interface or page, method and response status. Requests that Django "
    "answers are counted in svc_django_http_responses_total_by_status_total instead.",
    "http_connections": "Open HTTP connections of clients.",
    "websocket_connections": "Open WebSocket connections of clients.",
    "websocket_subscriptions": "Active subscriptions of WebSocket clients, by kind.",
    # Blocks and tasks
    "block_processing_duration_seconds": "Seconds for building a block, or for verifying and accepting a block "
    "of another node, by chain.",
    "celery_task_duration_seconds": "Run time of background tasks in seconds, by task.",
    "celery_tasks": "Finished background tasks, by task and outcome.",
    "celery_tasks_running": "Background tasks that are running.",
    "celery_task_last_ended_timestamp_seconds": "Unix time at which a run of the task last ended.",
    # Database
    "database_statement_duration_seconds": "Run time of database statements in seconds, by the statement's first "
    "word.",
    "database_errors": "Database statements that failed, by the statement's first word and the class of the error.",
    "database_connections_opened": "Database connections that were opened, or taken from the pool, by threads.",
    "database_pool_connections": "Connections in the pools, by state: idle or used.",
    "database_pool_waiting": "Threads that are waiting for a connection of a pool.",
    "database_pool_requests": "Requests by threads for a connection of a pool.",
    "database_pool_requests_queued": "Requests for a connection of a pool that had to wait.",
    "database_pool_wait_seconds": "Total seconds for which threads waited for a connection of a pool.",
    "database_pool_requests_failed": "Requests for a connection of a pool that failed, for example by timeout.",
    "database_pool_connections_lost": "Connections of the pools that were found to be broken.",
    "database_up": "1 if the database answered, else 0.",
    "database_size_bytes": "Size of the database in bytes, by part: the database, and SQLite's write-ahead log.",
    "database_server_connections": "Connections to this database on the PostgreSQL server, of all clients, by state.",
    "database_replica_in_use": "1 if the read replica may answer, 0 if it is left out because it lags or fails.",
    "database_replica_behind_bytes": "Bytes of PostgreSQL's log that the read replica had not replayed when it was last "
    "asked.",
    "database_migrations_unapplied": "Migrations of this version that are not applied to the database.",
    "backup_last_timestamp_seconds": "Unix time at which the last backup of this database was complete.",
    "backup_last_size_bytes": "Size of the last backup's file in bytes.",
    "backup_last_duration_seconds": "Seconds that the last backup took.",
    # The machine
    "data_directory_free_bytes": "Free space in the file system of the data directory, in bytes.",
    "data_directory_size_bytes": "Size of the file system of the data directory, in bytes.",
    "machine_memory_available_bytes": "Memory of the machine that programs can still allocate, in bytes.",
    "machine_memory_total_bytes": "Total memory of the machine, in bytes.",
    "machine_time_seconds": "Unix time by the machine's clock, without the node's offset.",
    # Processes
    "build_info": "Always 1; the labels are versions and basic settings of the node.",
    "cache_entries": "Entries of an in-memory cache, summed over processes.",
    "cache_hits": "Lookups that an in-memory cache answered.",
    "cache_misses": "Lookups that an in-memory cache could not answer.",
    "python_threads": "Python threads, summed over processes.",
    "python_gc_collections": "Runs of Python's garbage collector, by generation.",
    "python_gc_collected_objects": "Objects freed by Python's garbage collector, by generation.",
    # Health checks
    "health_checks_failing": "Number of failing health checks.",
    "health_checks_failing_of_tag": "Number of failing health checks with a tag.",
    "health_check_fails": "1 if the health check fails, else 0.",
    "health_check_duration_seconds": "Seconds that the last run of the health check took.",
    "health_check_contiguous_failures": "Number of consecutive failed runs of the health check.",
    # Every chain
    "chain_info": "Always 1, for each alias of a chain; label chain has the name that other metrics use.",
    "xchain_assets": "Assets of the X-Chain.",
    "transfers_waiting": "Outputs that one chain has exported and the other has not imported yet, by chains and asset.",
    "transfers_waiting_amount": "Amount of these outputs, in the smallest units of the asset.",
    "chain_height": "Height of the last accepted block.",
    "chain_last_block_timestamp_seconds": "Timestamp of the last accepted block, in Unix seconds.",
    "chain_last_block_age_seconds": "Seconds since the timestamp of the last accepted block, by the node's clock.",
    "chain_recent_blocks": "Accepted blocks with a timestamp in the last 60 seconds, by the node's clock.",
    "chain_recent_transactions": "Transactions in accepted blocks with a timestamp in the last 60 seconds.",
    "chain_bootstrapped": "1 if the chain has finished bootstrapping, else 0.",
    "mempool_transactions": "Transactions in the mempool by state: pending ones can be included in the next "
    "block, queued ones need an earlier nonce or more balance first, atomic ones are imports and exports of the C-Chain.",
    "mempool_bytes": "Total size of the transactions in the mempool, in bytes.",
    "node_clock_offset_seconds": "Seconds by which the node's clock is ahead of wall time.",
    # C-Chain
    "cchain_base_fee_wei": "Base fee per gas of the last block, in wei.",
    "cchain_gas_used": "Gas used by the last block.",
    "cchain_gas_limit": "Gas limit of the last block.",
    "cchain_recent_gas_used": "Gas used by accepted blocks with a timestamp in the last 60 seconds.",
    "cchain_last_block_bytes": "Size of the last block in bytes.",
    "cchain_gas_target": "Gas per second at which the price does not move after the last block; this and the next three on "
    "networks of avalanchego nodes (ACP-176, ACP-226).",
    "cchain_gas_capacity": "Gas that the last block has left for the next one; it grows with time.",
    "cchain_gas_excess": "Gas used above the target, which determines the base fee, after the last block; it falls with time.",
    "cchain_min_block_delay_seconds": "Least time from the last block to the next one, in seconds.",
    "cchain_calls_height": "Height of the last block whose internal calls are indexed (NODE_TRACE_INDEX).",
    "cchain_calls_unrecorded": "Indexed transactions whose internal calls could not be recorded; only their "
    "outermost call is indexed.",
    "explorer_tokens_height": "Height of the last block whose token transfers are indexed (NODE_TOKEN_INDEX).",
    # P-Chain
    "platform_local_staked": "Stake of this node including delegations, in nAVAX.",
    "platform_total_staked": "Total stake of the Primary Network, in nAVAX.",
    "platform_time_until_unstake": "Nanoseconds until this node's staking period ends; 0 if it is no validator.",
    "platform_validators": "Validators of the Primary Network, by state: current or pending.",
    "platform_delegators": "Delegators of the Primary Network, by state: current or pending.",
    "platform_validator_uptime_ratio": "Fraction of the staking period, 0 to 1, in which validators were online "
    "as observed by this node: the unweighted average of all, and its own.",
    "platform_gas_capacity": "Gas capacity of the P-Chain after the last block (platform.getFeeState); it grows "
    "with time.",
    "platform_gas_excess": "Gas excess of the P-Chain after the last block (platform.getFeeState), which "
    "determines the price; it falls with time.",
    "platform_gas_price": "Gas price of the P-Chain after the last block, in nAVAX per gas.",
    "platform_l1_validators": "Active validators of all L1s.",
    "platform_l1_fee": "Fee of an active L1 validator after the last block, in nAVAX per second.",
    "platform_l1_balance_seconds": "Seconds for which the balance of this node as a validator of a tracked L1 lasts, at "
    "most ten years, if no other L1 validator comes or goes; 0: it is inactive. At most 100 L1s.",
    # Peers
    "network_peers": "Number of connected peers.",
    "network_peers_subnet": "Number of connected peers that track the subnet.",
    "network_peers_benched": "Number of connected peers that are benched on the chain: this node sends them no "
    "queries.",
    "network_known_nodes": "Validators and bootstrappers, other than this node, whose signed address is known.",
    "network_process_up": "1 if the network process has reported recently, else 0.",
    "network_start_time_seconds": "Start time of the network process, in Unix seconds.",
    "network_messages": "Messages exchanged with peers, by direction.",
    "network_bytes": "Bytes of messages exchanged with peers, by direction.",
    "network_send_failures": "Messages to peers that could not be sent.",
    "network_send_fail_rate": "Recent fraction of messages to peers that could not be sent, 0 to 1, as an "
    "exponential moving average.",
    "network_times_connected": "Connections to peers that were established.",
    "network_times_disconnected": "Connections to peers that ended.",
    "network_time_since_last_msg_sent": "Nanoseconds since the last message to a peer; before the first message, "
    "since the network process started.",
    "network_time_since_last_msg_received": "Nanoseconds since the last message from a peer; before the first "
    "message, since the network process started.",
    "network_bootstrapper_failing": "Always 1, for each bootstrapper of NODE_BOOTSTRAP that is not connected; "
    "label reason has the reason of the last failed attempt.",
    "network_bootstrapper_clock_offset_seconds": "Seconds by which this node's clock is ahead of a "
    "bootstrapper's, if the connection failed for that reason.",
    "network_connected_stake_ratio": "Fraction of the Primary Network's stake that is connected, 0 to 1, "
    "including this node's own.",
    "network_node_uptime_weighted_average": "Average uptime of this node as reported by its peers, weighted by "
    "their stake, in percent.",
    "network_node_uptime_rewarding_stake": "Percentage of the stake whose validators report enough uptime of "
    "this node for a reward.",
    "network_blocks_outstanding": "Blocks received from peers that are neither accepted nor rejected yet.",
    # Consensus: names and units are those of the reference
    "snowman_max_verified_height": "Height of the highest verified block.",
    "snowman_last_accepted_height": "Height of the last accepted block.",
    "snowman_last_accepted_timestamp": "Timestamp of the last accepted block, in Unix seconds.",
    "snowman_bootstrap_finished": "1 if this node takes part in consensus on the chain, else 0.",
    "snowman_blks_processing": "Blocks that are processing: verified, and neither accepted nor rejected.",
    "snowman_blks_accepted": "Number of accepted blocks, and the total of nanoseconds from issue to acceptance.",
    "snowman_blks_rejected": "Number of rejected blocks, and the total of nanoseconds from issue to rejection.",
    "snowman_blks_polls_accepted": "Number of accepted blocks, and the total of polls between issue and acceptance.",
    "snowman_blks_polls_rejected": "Number of rejected blocks, and the total of polls between issue and rejection.",
    "snowman_blks_accepted_container_size_sum": "Total size of accepted blocks in bytes.",
    "snowman_blks_rejected_container_size_sum": "Total size of rejected blocks in bytes.",
    "snowman_blks_build_accept_latency": "Total of nanoseconds from the timestamp of accepted blocks to their "
    "acceptance.",
    "snowman_consensus_latencies": "Nanoseconds from issue to acceptance of a block.",
    "snowman_block_work_seconds": "Seconds that this node spent on building or verifying, and accepting, each "
    "accepted block, without the wait for votes.",
    "snowman_polls_successful": "Finished polls that reached a quorum (alpha preference).",
    "snowman_polls_failed": "Finished polls that reached no quorum while blocks were processing.",
    "snowman_polls": "Open polls.",
    "snowman_poll_duration": "Number of finished polls, and the total of nanoseconds for which they were open.",
    "snowman_poll_count": "Finished polls by reason: all votes arrived, or further votes could not change the result.",
    "snowman_poll_duration_by_reason": "Total of nanoseconds for which finished polls were open, by the reason "
    "for finishing.",
    "snowman_requests": "Open requests to peers for blocks.",
    "snowman_blocked": "Blocks that wait for their parents.",
    "snowman_blockers": "Blocks that pending blocks or votes wait for.",
    "snowman_non_verified_blks": "Blocks that failed verification and are kept to map votes for them to an ancestor.",
    "snowman_waiting": "Messages, responses and failures in the queue of the consensus engine.",
    "snowman_blks_built": "Blocks that this node built.",
    "snowman_blk_builds_failed": "Attempts to build a block that failed.",
    "snowman_blks_built_time_skew": "Total over built blocks of the block's timestamp minus this node's clock, "
    "in nanoseconds.",
    "snowman_blks_issued": "Blocks issued into consensus, by the source from which this node learned of them.",
    "snowman_issuer_stake": "Number of issued blocks, and the total stake of the peers that named them, in nAVAX.",
    "snowman_num_useless_put_bytes": "Bytes of blocks in Put messages that this node already had.",
    "snowman_num_useless_push_query_bytes": "Bytes of blocks in PushQuery messages that this node already had.",
    "snowman_num_missing_accepted_blocks": "Requests for the accepted block at a height that this node could not "
    "find.",
    "snowman_num_processing_ancestor_fetches_unneeded": "Votes that named a processing block.",
    "snowman_num_processing_ancestor_fetches_succeeded": "Votes for an unverified block that counted for a "
    "processing ancestor of it.",
    "snowman_num_processing_ancestor_fetches_dropped": "Votes that named a block that is already decided.",
    "snowman_num_processing_ancestor_fetches_failed": "Votes that named an unknown block, or one with an unknown "
    "ancestor.",
    "snowman_selected_vote_index": "Number of votes that counted, and the total of their positions among the "
    "choices of their response; the first choice is 0.",
    "proposervm_block_building_slot": "Proposer slot of the block that this node built last.",
    "proposervm_accepted_blocks_slot": "Proposer slot of the last accepted signed block.",
    "proposervm_last_accepted_timestamp": "Timestamp of the last accepted block in Unix seconds, by block_type: "
    "outer or inner.",
    "snowman_restarts": "Restarts of the consensus engine after a failure.",
    "snowman_equivocations": "Blocks signed by a proposer that had already signed another block for the same slot.",
    "stake_percent_connected": "Fraction of the validators' stake, 0 to 1, that is connected and not benched.",
    "stake_percent_needed": "Fraction of the validators' stake, 0 to 1, that must be connected before this node "
    "sends polls.",
    "stake_total_weight": "Total stake of the validators, in nAVAX.",
    "stake_num_validators": "Number of validators.",
    # Bootstrapping
    "bootstrap_start_height": "Height of the last accepted block when bootstrapping started.",
    "bootstrap_height": "Height of the last accepted block while bootstrapping.",
    "bootstrap_target_height": "Greatest height that peers have accepted, as far as this node knows.",
    "bootstrap_fetched_blocks": "Blocks that were fetched and are not executed yet.",
    "bootstrap_blocks_per_second": "Blocks executed per second.",
    "bootstrap_eta_seconds": "Estimated seconds until the target height, at the current rate.",
    # This page
    "scrape_success": "1 if the part of this page could be read, else 0.",
    "scrape_duration_seconds": "Seconds that reading the part of this page took.",
}
"""The help text of each metric on the page."""

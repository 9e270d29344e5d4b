"""The table's rows in order, and which of them share a server."""

from benchmarks import node, peers
from benchmarks import workloads_aged as aged
from benchmarks import workloads_bootstrap as bootstrap
from benchmarks import workloads_busy as busy
from benchmarks import workloads_calls as calls
from benchmarks import workloads_devnet as devnet
from benchmarks import workloads_exchange as exchange
from benchmarks import workloads_history as history
from benchmarks import workloads_import as imports
from benchmarks import workloads_machines as machines
from benchmarks import workloads_memory as memory
from benchmarks import workloads_network as network
from benchmarks import workloads_platform_read as platform_reads
from benchmarks import workloads_platform_write as platform_writes
from benchmarks import workloads_read as reads
from benchmarks import workloads_slots as slots
from benchmarks import workloads_start as start
from benchmarks import workloads_strangers as strangers
from benchmarks import workloads_subnets as subnets
from benchmarks import workloads_traces as traces
from benchmarks import workloads_voting as voting
from benchmarks import workloads_write as writes
from benchmarks import workloads_ws as sockets
from benchmarks.production import PRODUCTION
from benchmarks.workload import Group, Workload

GROUPS = (
    Group(
        "reads",
        reads.prepare,
        (
            *reads.READS,
            *slots.SLOTS,
            sockets.BLOCK_NUMBER,
            sockets.NEW_HEADS,
            sockets.LOGS,
        ),
    ),
    Group(
        "more reads",
        reads.prepare,
        (
            reads.WORST_BATCH,
            sockets.NUMBERS_IN_FLIGHT,
            sockets.CALLS_IN_FLIGHT,
            sockets.FEW_HEADS,
            sockets.MORE_HEADS,
            *calls.LONG_CALLS,
            # The last one, because it is the memory after the others.
            memory.LOADED,
        ),
    ),
    Group("idle", memory.prepare, (memory.IDLE,)),
    Group(
        "traces",
        traces.prepare,
        traces.TRACES,
        kinds={"anvil": peers.ANVIL_WITH_STEPS, node.NODE.name: node.NODE_WITHOUT_KEPT_TRACES},
        left_out=(PRODUCTION.name,),
    ),
    Group(
        "kept traces",
        traces.prepare,
        traces.KEPT_TRACES,
        kinds={"anvil": peers.ANVIL_WITH_STEPS},
        left_out=(PRODUCTION.name,),
    ),
    # A separate server, because heavy calls continue after their clients are gone.
    Group("strangers", strangers.prepare, (strangers.BESIDE_HEAVY_CALLS,)),
    Group(
        "strangers and probes",
        strangers.prepare,
        (strangers.LIVENESS_BESIDE_HEAVY_CALLS,),
        alone=strangers.alone,
    ),
    Group("busy", busy.prepare, busy.BUSY),
    Group("cores", slots.prepare, (slots.ALL_CORES,), alone=slots.alone),
    Group("web machines", machines.prepare, (machines.TWO_MACHINES,), alone=machines.with_machines),
    # Separate servers: a peer that stalls in one row must not affect the next.
    Group("transfers", writes.prepare_singles, (writes.SINGLE_TRANSFERS,)),
    Group("batched transfers", writes.prepare_batches, (writes.BATCHED_TRANSFERS,)),
    Group("tokens", writes.prepare_tokens, (writes.TOKEN_TRANSFERS,)),
    Group("batched tokens", writes.prepare_token_batches, (writes.BATCHED_TOKENS,)),
    Group(
        "aged",
        aged.prepare,
        # The order matters: later rows use the chain that earlier ones have grown.
        (
            aged.FRESH,
            aged.FRESH_P99,
            aged.HIGH,
            aged.SPARSE,
            aged.WIDE,
            aged.MEMORY,
            aged.OLD_BALANCE,
            aged.OLD_CALL,
            devnet.SNAPSHOTS,
            aged.OLD_LOGS,
        ),
    ),
    Group(
        "start",
        start.prepare,
        (start.START, start.START_PROCESSOR),
        left_out=(*start.WITHOUT_FILES, PRODUCTION.name),
    ),
    Group("new", lambda _scene: None, (start.NEW,), left_out=(PRODUCTION.name,)),
    Group("devnet", devnet.prepare, (devnet.MINES, devnet.SUITE), left_out=(PRODUCTION.name,)),
    Group(
        "platform reads",
        platform_reads.prepare,
        (
            platform_reads.VALIDATORS,
            platform_reads.MANY_VALIDATORS,
            platform_reads.BALANCE,
            platform_reads.UTXOS,
        ),
        alone=platform_reads.young,
    ),
    Group(
        "small platform",
        platform_reads.prepare,
        platform_reads.SMALL,
        alone=platform_reads.small,
    ),
    Group(
        "aged platform",
        platform_reads.prepare,
        (platform_reads.OLD_VALIDATORS, platform_reads.CHANGED_VALIDATORS),
        alone=platform_reads.aged,
    ),
    Group(
        "platform transfers",
        platform_writes.prepare_coins,
        (platform_writes.TIME_TO_COMMIT, platform_writes.TRANSFERS),
        alone=platform_writes.fresh,
    ),
    Group("moves between chains", exchange.prepare_moves, exchange.MOVES, alone=exchange.fresh),
    Group("chains of subnets", subnets.prepare, subnets.SUBNETS, alone=subnets.alone),
    Group(
        "X-Chain transfers",
        exchange.prepare_x_coins,
        (exchange.X_TRANSFERS,),
        alone=exchange.fresh,
    ),
    Group("X-Chain reads", exchange.prepare_x_reads, exchange.X_READS, alone=exchange.fresh),
    Group(
        "time travel",
        platform_writes.prepare_journey,
        (platform_writes.JOURNEY_OVER_STAKERS,),
        alone=platform_writes.staked,
    ),
    Group("history", history.prepare, history.HISTORY, alone=history.alone),
    Group("bootstrap", bootstrap.prepare, bootstrap.BOOTSTRAP, alone=bootstrap.with_history),
    Group("import", imports.prepare, imports.IMPORTS, alone=bootstrap.with_history),
    Group(
        "network",
        network.prepare,
        # The rows under load come after those that need an otherwise idle node.
        (*network.WAYS, *network.PAGES),
        alone=network.alone,
    ),
    Group("voting", voting.prepare, voting.VOTING, alone=voting.alone),
)

WORKLOADS: dict[str, Workload] = {
    workload.name: workload for group in GROUPS for workload in group.workloads
}

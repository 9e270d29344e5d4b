"""The table's rows in their order, and which of them share a server."""

from benchmarks import workloads_aged as aged
from benchmarks import workloads_read as reads
from benchmarks import workloads_write as writes
from benchmarks import workloads_ws as sockets
from benchmarks.workload import Group, Workload

GROUPS = (
    Group("reads", reads.prepare, (*reads.READS, sockets.BLOCK_NUMBER, sockets.NEW_HEADS)),
    # One server each: a peer that stalls in one must not spoil the next.
    Group("transfers", writes.prepare_singles, (writes.SINGLE_TRANSFERS,)),
    Group("batched transfers", writes.prepare_batches, (writes.BATCHED_TRANSFERS,)),
    Group("tokens", writes.prepare_tokens, (writes.TOKEN_TRANSFERS,)),
    Group("batched tokens", writes.prepare_token_batches, (writes.BATCHED_TOKENS,)),
    Group(
        "aged",
        aged.prepare,
        # In this order: what is measured later finds the chain that was grown before.
        (
            aged.FRESH,
            aged.HIGH,
            aged.SPARSE,
            aged.WIDE,
            aged.MEMORY,
            aged.OLD_BALANCE,
            aged.OLD_CALL,
        ),
    ),
)

WORKLOADS: dict[str, Workload] = {
    workload.name: workload for group in GROUPS for workload in group.workloads
}

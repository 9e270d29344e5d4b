"""Cause and remedy of each failure of a check, found by the text of its error; docs/operations.md has the same list.

Pure. A test compares the two lists.
"""

import re
from typing import Final, NamedTuple


class Advice(NamedTuple):
    """A known failure, its cause and its remedy."""

    checks: str
    """The names of the checks that can fail in this way, as the documentation lists them; `each` means all."""
    message: str
    """The text of the failure; … matches any text."""
    cause: str
    action: str

    def fits(self, name: str, error: str) -> bool:
        """Return whether a check's error contains this failure, possibly among others."""
        if self.checks != EACH and name not in self.checks.split(", "):
            return False
        parts = [re.escape(part) for part in self.message.split("…") if part]
        return re.search(".*?".join(parts), error, re.DOTALL) is not None


EACH: Final = "each"
"""Any check may fail in this way."""

ALL: Final = (
    Advice(
        "C, P, X",
        "the database takes no writes: …",
        "the disk is full, the database is read-only, or the node lacks write permission; the message quotes the database",
        "free disk space, or make the database writable; no restart is needed",
    ),
    Advice(
        "C, P, X",
        "number of outstanding blocks … > …",
        "more blocks are undecided than the limit allows: votes are missing, or this node executes too slowly",
        "check the connected stake and the CPU load; where the validators vote, NODE_SNOW_MAX_PROCESSING is the limit",
    ),
    Advice(
        "C, P, X",
        "time for longest running block … > …",
        "building or deciding a block takes too long; in production the producer is not running, or it is blocked by the database",
        "check that runproducer and the worker are running, and check their logs; where the validators vote, NODE_SNOW_MAX_TIME_PROCESSING is the limit",
    ),
    Advice(
        "C, P, X",
        "… pending for …, but … builds no blocks",
        "the node that builds all blocks is connected but builds none",
        "check the health and the producer of that node",
    ),
    Advice(
        "C, P, X",
        "… pending for …, but …, which builds all blocks, is not connected",
        "this node has no connection to the node that builds all blocks",
        "check that the node is running and that its staking port is reachable; compare NODE_PRODUCER on all nodes",
    ),
    Advice(
        "C, P, X",
        "… pending for …, but the validators accept no blocks",
        "too little stake is voting",
        "check which validators are offline (admin: Peers, Consensus)",
    ),
    Advice(
        "P",
        "a staker change is overdue by …, but …",
        "no block is built that starts or ends a staking period",
        "as for pending transactions: check the node that builds all blocks, or the stake that votes",
    ),
    Advice(
        "C, P, X",
        "… accepted …-Chain block …, which this node's rules refuse: …",
        "this node follows another chain than its peers, or rejects a block that they accepted; the message says which",
        "compare genesis, version and settings with those of the peers; if this node is the one that differs, restore a backup or bootstrap again",
    ),
    Advice(
        "P",
        "connected to … of the stake < …",
        "validators are offline or do not respond",
        "start them; check that their staking ports are reachable",
    ),
    Advice(
        "bootstrapped",
        "subnets not bootstrapped…",
        "the chains are still being fetched, or no node to fetch them from was found; the message then gives the reason",
        "wait (manage.py bootstrap_progress), or correct NODE_BOOTSTRAP",
    ),
    Advice(
        "network",
        "the network's process has not reported for …",
        "runnetwork is not running or does not respond",
        "start it, and check its log",
    ),
    Advice(
        "network",
        "not connected to a minimum of … peer(s) only …",
        "no peer is connected",
        "check NODE_BOOTSTRAP, NODE_PUBLIC_IP, and that the staking port is reachable",
    ),
    Advice(
        "bootstrapped, network",
        "bootstrapper …: …",
        "this node cannot connect to a node of NODE_BOOTSTRAP; the message gives the reason of the last attempt",
        "correct the item that the message names: a clock, an address or port, NODE_NETWORK_ID, or a version",
    ),
    Advice(
        "network",
        "no messages received from network…",
        "peers are connected but send no messages",
        "check the peers, and firewalls that drop idle connections",
    ),
    Advice(
        "network",
        "no messages sent to network…",
        "this node cannot send messages",
        "check the peers and the firewall",
    ),
    Advice(
        "network",
        "rate of failed sends … > …",
        "peers accept no messages: they or the network link are overloaded",
        "check the bandwidth and the peers",
    ),
    Advice(
        "router",
        "number of outstanding requests … > …",
        "calls arrive faster than the node answers them",
        "add threads (NODE_RPC_THREADS) or, in the production profile, processes (NODE_WEB_WORKERS), or limit clients (NODE_RATE_LIMIT)",
    ),
    Advice(
        "router",
        "time for longest request … > …",
        "a call is blocked, most likely by a server that does not respond",
        "check PostgreSQL and Redis; NODE_RPC_CALL_TIMEOUT limits calls that execute code",
    ),
    Advice(
        "supply",
        "there are … than came into being",
        "coins have appeared or disappeared: rows were changed outside of this program, or a bug in this program",
        "run check_supply and compare its sums with those of another node; restore a backup, and report it",
    ),
    Advice(
        "supply",
        "coins cannot be counted reason: …",
        "the database did not answer, or a bug in this program",
        "run check_supply, which shows the error",
    ),
    Advice(
        "each",
        "the database does not answer: …",
        "the SQLite file is missing, damaged or locked by another process; the message quotes SQLite",
        "stop the other process, or restore a backup",
    ),
    Advice(
        "each",
        "the check raised an exception: …",
        "a bug in this program; the log has the traceback",
        "report it",
    ),
    Advice(
        "each",
        "PostgreSQL at … does not answer: …",
        "the server is down or does not respond",
        "restart the server; the node's processes then continue without a restart",
    ),
    Advice(
        "each",
        "Redis at … does not answer: …",
        "the server is down or does not respond",
        "restart the server; the node's processes then continue without a restart",
    ),
)


def find(name: str, error: str) -> list[Advice]:
    """Return the advice for the known failures that a check's error contains; empty for an unknown text."""
    return [advice for advice in ALL if advice.fits(name, error)]

"""Cause and remedy of each failure of a check, found by the text of its error; docs/operations.md has the same list.

Pure. A test compares the two lists.
"""

import re
from typing import Final, NamedTuple


class Advice(NamedTuple):
    """A known failure, its cause and its remedy."""

    checks: str
    """The names of the checks that can fail in this way, as the documentation lists them; `each` means all."""
    says: str
    """The text of the failure; … matches any text."""
    cause: str
    action: str

    def fits(self, name: str, error: str) -> bool:
        """Return whether a check's error contains this failure, possibly among others."""
        if self.checks != EACH and name not in self.checks.split(", "):
            return False
        parts = [re.escape(part) for part in self.says.split("…") if part]
        return re.search(".*?".join(parts), error, re.DOTALL) is not None


EACH: Final = "each"
"""Any check may fail in this way."""

ALL: Final = (
    Advice(
        "C, P",
        "the database takes no writes: …",
        "its disk is full, it is read-only, or its rights are gone; the words are its own",
        "make room, or let it write; nothing has to be restarted",
    ),
    Advice(
        "C, P",
        "number of outstanding blocks … > …",
        "more blocks wait for their decision than the limit: votes do not come in, or this node executes too slowly",
        "look at connected stake and at the processor; NODE_SNOW_MAX_PROCESSING is the limit where the validators vote",
    ),
    Advice(
        "C, P",
        "time for longest running block … > …",
        "one block is being made, or waits for its decision, for too long; in production: no producer runs, or it hangs at the database",
        "see that runproducer and the worker run, and what they log; NODE_SNOW_MAX_TIME_PROCESSING where the validators vote",
    ),
    Advice(
        "C, P",
        "… transaction(s) wait for … and … makes no blocks",
        "the node that makes all blocks is connected, and does not make any",
        "look at that node: its health, its producer",
    ),
    Advice(
        "C, P",
        "… transaction(s) wait for … and …, which makes the blocks, is not connected",
        "this node does not reach it",
        "see that it runs, and that its staking port can be reached; compare NODE_PRODUCER on all nodes",
    ),
    Advice(
        "C, P",
        "… transaction(s) wait for … and the validators accept none",
        "too little stake votes",
        "see which validators are away (admin: Peers, Consensus)",
    ),
    Advice(
        "P",
        "the change of a staker waits for … and …",
        "nobody makes the block with which a staker begins or ends",
        "as for transactions that wait: the maker of blocks, or the stake that votes",
    ),
    Advice(
        "C, P",
        "… accepted …-Chain block …, which this node's rules refuse: …",
        "this node is on another chain than its peers, or refuses a block of theirs; the words say which",
        "compare genesis, version and settings with theirs; restore, or bootstrap anew, if this node is the one that differs",
    ),
    Advice(
        "P",
        "connected to … of the stake < …",
        "validators are away, or do not answer",
        "start them; see that their staking ports can be reached",
    ),
    Advice(
        "X",
        "number of outstanding vertices … > …",
        "cannot come: nothing is issued on the X-Chain here",
        "report it",
    ),
    Advice(
        "bootstrapped",
        "subnets not bootstrapped…",
        "the chains are being fetched, or nobody is found to fetch them from; then the words say for whom it waits",
        "wait (manage.py bootstrap_progress), or correct NODE_BOOTSTRAP",
    ),
    Advice(
        "network",
        "the network's process has not reported for …",
        "runnetwork does not run, or hangs",
        "start it, and read its log",
    ),
    Advice(
        "network",
        "not connected to a minimum of … peer(s) only …",
        "no peer is connected",
        "see NODE_BOOTSTRAP, NODE_PUBLIC_IP, and that the staking port can be reached",
    ),
    Advice(
        "bootstrapped, network",
        "bootstrapper …: …",
        "this node cannot connect to a node of NODE_BOOTSTRAP; the words give the reason of the last attempt",
        "the words say what to correct: a clock, an address or port, NODE_NETWORK_ID, a version",
    ),
    Advice(
        "network",
        "no messages received from network…",
        "the connection is there, and nothing comes",
        "look at the peers, and at firewalls that drop what is idle",
    ),
    Advice(
        "network",
        "no messages sent to network…",
        "nothing can be sent",
        "look at the peers, and at the firewall",
    ),
    Advice(
        "network",
        "rate of failed sends … > …",
        "peers take nothing: they are overloaded, or the line is",
        "look at bandwidth, and at the peers",
    ),
    Advice(
        "router",
        "number of outstanding requests … > …",
        "more calls are under way than are answered",
        "add processes (NODE_WEB_WORKERS) or threads (NODE_RPC_THREADS), or limit clients (NODE_RATE_LIMIT)",
    ),
    Advice(
        "router",
        "time for longest request … > …",
        "one call hangs, most likely at a server that is away",
        "see PostgreSQL and Redis; NODE_RPC_CALL_TIMEOUT bounds calls that execute",
    ),
    Advice(
        "each",
        "the database does not answer: …",
        "SQLite's file is gone, damaged or held by another process; the words are its own",
        "end the other process, or restore a backup",
    ),
    Advice(
        "each",
        "the check could not be made: …",
        "a fault of this program; the log has its trace",
        "report it",
    ),
    Advice(
        "each",
        "PostgreSQL at … does not answer: …",
        "that server is away or hangs",
        "bring it back: all processes go on by themselves",
    ),
    Advice(
        "each",
        "Redis at … does not answer: …",
        "that server is away or hangs",
        "bring it back: all processes go on by themselves",
    ),
)


def find(name: str, error: str) -> list[Advice]:
    """Return the advice for the known failures that a check's error contains; empty for an unknown text."""
    return [advice for advice in ALL if advice.fits(name, error)]

"""Readers: processes of the embedded profile that answer reads of the C-Chain beside the node's own process.

With NODE_WEB_WORKERS above 1 the node's process (the writer) does everything that it does otherwise, and starts readers
that listen on the same port. Each has its own socket there (SO_REUSEPORT), so the kernel spreads connections.

A reader answers complete and plain requests to the C-Chain's interface whose calls only read accepted blocks, state
and pool (`protocol.READS`). It answers from its own memory and from the rows, which SQLite's write-ahead log lets it read while
the writer writes; its database connections are read-only. When anything else arrives on a connection, the reader hands
the connection over to the writer, socket and unread bytes together (`handover`), and it stays there: WebSockets,
transactions, polled filters, cheats, the P-Chain, and pages. No readers are started if calls are rate limited
(NODE_RATE_LIMIT) or the chain is a fork (`processes.wanted_readers`).

A head that one answer has shown is never missing from a later answer, whichever process answers. The writer publishes
a head, or a change by a cheat, in shared memory (`nodeproject.heads.shared_memory`), after the commit and before it answers any
request from it. A reader compares one number there with its own before each answer, and reads the rows first if they
differ (`head`). If a reader finds a commit in the rows that is not published yet, it waits for the publication before
it moves, so that it shows nothing sooner than the writer.

Readers end with the writer, whatever ended it, because the kernel closes their socket to it. A reader that dies is
started again, and connections wait for it in the meantime. Calls that readers answer are not in the transaction log.
"""

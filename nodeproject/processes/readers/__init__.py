"""Readers: processes of the embedded profile that answer reads of the C-Chain beside the node's own process.

With NODE_WEB_WORKERS above 1 the node's process (the writer) does all that it does without, and starts readers that
listen on the same port. Each has a socket of its own there (SO_REUSEPORT), so the kernel spreads connections.

What a reader answers: a request that is whole and plain, to the C-Chain's interface, all of whose calls only read
accepted blocks, state and pool (`methods`). It has them from its own memory and from the rows, which SQLite's
write-ahead log lets it read while the writer writes; its connections to the database refuse to write. With whatever
else comes on a connection, that connection goes over to the writer, socket and unread bytes together (`handover`),
and stays there: WebSockets, transactions, polled filters, changes by hand, the P-Chain, and pages. There are no readers
where calls are limited (NODE_RATE_LIMIT) or the chain is a fork (`processes.wanted_readers`).

Heads never go back, whichever process answers: what any answer has told of, every later one knows. The writer
tells of a head, and of a change by hand, in memory that all share (`nodeproject.heads.shared_memory`), after the commit and before it answers
anybody from it; a reader compares one number there with its own before each answer, and catches up with the rows
first where they differ (`head`). And where a reader finds in the rows what was committed and is not told yet, it
waits for that before it moves, so that it tells nobody sooner than the writer.

Readers end with the writer, whatever ended it, since the kernel closes their line to it; one that dies is started
again, and connections wait for it meanwhile. Calls that readers answer are not in the log of transactions.
"""

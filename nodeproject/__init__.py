"""Assembles the node: settings, paths, servers and workers. No other package imports it."""

import os

# Read by the crate's allocator when the crate is loaded, so it is set before all other modules are. With huge pages of the
# kernel each thread's small answers took 2 MiB: after a load a node had 30 MiB more, and was not faster.
os.environ.setdefault("MIMALLOC_ALLOW_THP", "0")

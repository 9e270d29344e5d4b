"""A local network of several nodes on one machine.

`directories` creates each node's initial files and settings; `processes` starts, stops and pauses the nodes;
`control` is the socket through which a second terminal controls them; `status` determines the network's
status; `running` shows it and combines them. The command is `management/commands/local_network.py`.
"""

from nodeproject.processes.local_network.directories import Files, begin, make_keys

__all__ = ["Files", "begin", "make_keys"]

"""A local network of several nodes on one machine.

`directories` makes what each node begins with, and its settings; `processes` starts, stops and pauses the
nodes; `control` is the socket by which a second terminal asks for that; `standing` says how the network
stands, `tables` shows it; `running` puts them together. The command is `management/commands/local_network.py`.
"""

from nodeproject.processes.local_network.directories import Files, begin, make_keys

__all__ = ["Files", "begin", "make_keys"]

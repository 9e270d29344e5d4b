"""The node's clock. Pure code gets time as an argument; services take it from here.

An offset that moves both chains forward on a local network (design: staking time travel) belongs
here, and nowhere else.
"""

import time


def now() -> int:
    """Return the node's time in Unix seconds."""
    return int(time.time())

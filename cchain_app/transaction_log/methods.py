"""Which RPC methods the log always names, and which only at level DEBUG. Pure."""

import re
from typing import Final

_ACTS: Final = re.compile(
    r"(evm|anvil|hardhat|personal|trace)_"
    r"|eth_(send|sign|call$|estimateGas$|createAccessList$|simulate)"
    r"|debug_(trace|set)"
)


def acts(method: str) -> bool:
    """Return whether a method changes or executes something; all others read, which clients do all the time.

    Unspecified: Anvil names all methods. Here the methods that only read are named at level DEBUG, since wallets
    and pages call them several times a second.
    """
    return _ACTS.match(method) is not None

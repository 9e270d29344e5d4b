"""Which RPC methods the log names always, and which only where everything is logged. Pure."""

import re
from typing import Final

_ACTS: Final = re.compile(
    r"(evm|anvil|hardhat|personal|trace)_"
    r"|eth_(send|sign|call$|estimateGas$|createAccessList$|simulate)"
    r"|debug_(trace|set)"
)


def acts(method: str) -> bool:
    """Say whether a method changes or executes something; all others read, which clients do all the time.

    Unspecified: Anvil names all methods. Here those that read are named at level DEBUG, since wallets and
    pages ask them several times a second.
    """
    return _ACTS.match(method) is not None

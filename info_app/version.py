"""Which product this is and in which version: what info.getNodeVersion says that needs no database."""

from collections.abc import Mapping
from importlib import metadata
from typing import Final

from cchain_app.api.node import NAME, VERSION

PRODUCT: Final = f"{NAME.lower()}/{VERSION}"
"""As operators and monitors see it. Peers are told another name: that of the protocol they expect."""

RPC_PROTOCOL: Final = 45
"""Of the protocol between a node and virtual machines that run as programs of their own.

Unspecified: here none does. It is the number of the reference's release whose peer protocol is spoken,
since tools that compare it choose their plugins by it.
"""

_ENGINES: Final[Mapping[str, str]] = {
    "revm": "cchain-native",
    "ethereum-execution": "ethereum-execution",
}
"""The package that an EVM engine comes from."""


def vm_versions(engine: str) -> Mapping[str, str]:
    """Return the version of each virtual machine by its name.

    The P-Chain's is the product's own, as is the little that there is of the X-Chain; the C-Chain's
    is that of the EVM engine which this process runs.
    """
    own = f"v{VERSION}"
    return {"avm": own, "evm": f"v{metadata.version(_ENGINES[engine])}", "platform": own}

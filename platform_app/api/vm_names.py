"""Virtual machines and their feature extensions by the names that the reference gives them.

Unspecified: this node runs none of them for other subnets, so every ID is one that somebody may run.
"""

from collections.abc import Mapping
from typing import Final

from platform_app.api.errors import refused, shortened
from primitives.cb58 import Cb58Error
from primitives.ids import (
    AVM_ID,
    EVM_ID,
    ID,
    NFT_FX_ID,
    PLATFORM_VM_ID,
    PROPERTY_FX_ID,
    SECP256K1_FX_ID,
    WrongIdLength,
)

_VMS: Final[Mapping[str, ID]] = {
    "platform": PLATFORM_VM_ID,
    "avm": AVM_ID,
    "evm": EVM_ID,
    "subnetevm": ID.of_name("subnetevm"),
    "xsvm": ID.of_name("xsvm"),
}
_FXS: Final[Mapping[str, ID]] = {
    "secp256k1fx": SECP256K1_FX_ID,
    "nftfx": NFT_FX_ID,
    "propertyfx": PROPERTY_FX_ID,
}


def vm_id_of(name: str) -> ID:
    """Return the ID of a virtual machine from its name, or from the ID as text.

    Raises:
        JsonRpcError: -32000, the text is neither.
    """
    found = _find(_VMS, name)
    if found is None:
        raise refused(f"no VM with ID '{shortened(name)}' found")
    return found


def fx_id_of(name: str) -> ID:
    """Return the ID of a feature extension from its name, or from the ID as text.

    Raises:
        JsonRpcError: -32000, the text is neither.
    """
    found = _find(_FXS, name)
    if found is None:
        raise refused(f"no FX with ID '{shortened(name)}' found")
    return found


def _find(known: Mapping[str, ID], name: str) -> ID | None:
    if name in known:
        return known[name]
    try:
        return ID.parse(name)
    except (Cb58Error, WrongIdLength):
        return None

"""Which engines are installed, and which blocks need the reference engine."""

from importlib.util import find_spec
from typing import Final

from cchain_app.evm.engine import BASE_FEE_BITS, BlockEnv

# pip would install an old cryptography with it (requirements/runtime.in)
INSTALL_REFERENCE: Final = "pip install 'nunatak[reference]' && pip install --no-deps ethereum-execution==2.20.0; in a checkout make setup"
"""How to install the reference engine."""


def has_native() -> bool:
    """Return whether the native engine was built and installed."""
    return find_spec("cchain_native") is not None


def has_reference() -> bool:
    """Return whether the reference engine was installed."""
    return find_spec("ethereum") is not None


def is_wide(env: BlockEnv) -> bool:
    """Return whether a block's base fee has more bits than the native engine reads."""
    return bool((env.base_fee or 0) >> BASE_FEE_BITS)


def missing_engine(env: BlockEnv) -> str:
    """Return which engine transactions in an environment need that is not installed; empty if none is missing."""
    if not is_wide(env) or has_reference():
        return ""
    wide = f"its base fee {env.base_fee} has more than {BASE_FEE_BITS} bits"
    return f"{wide}, which needs the reference engine: {INSTALL_REFERENCE}"

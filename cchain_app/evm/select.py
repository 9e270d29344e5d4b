"""Select the EVM engine: the one that the setting names, or the one that was built.

This is the only module that knows the engines by name; other modules choose what belongs to an engine by
`is_native`. Each choice is "native", "reference", or "auto": native if the crate was built, else the reference.
"""

from enum import StrEnum

from cchain_app.evm.installed import INSTALL_REFERENCE
from cchain_app.evm.installed import has_native as has_native  # noqa: PLC0414  # part of this module's interface
from cchain_app.evm.installed import has_reference as has_reference  # noqa: PLC0414  # likewise
from cchain_app.evm.kzg import CkzgLibrary, Kzg
from cchain_app.evm.tracing import TracingEngine
from cchain_app.evm.trie import StateTrie
from cchain_app.txs.codec import RecoverMany
from primitives import secp256k1
from primitives.reasons import ErrorWithReason

CHOICES = ("auto", "native", "reference")


class EngineReason(StrEnum):
    """Why the chosen engine is not available."""

    UNKNOWN = "no engine named {name}; there are {choices}"
    NATIVE_NOT_BUILT = "the native engine was not built; `make native` builds it"
    REFERENCE_NOT_INSTALLED = f"the reference engine is not installed: {INSTALL_REFERENCE}"


class EngineSelectionError(ErrorWithReason):
    """The chosen engine is not available."""


def verify_choice(name: str) -> None:
    """Check that the engine of this name is available.

    Raises:
        EngineSelectionError: There is no such engine, or it was not built or installed.
    """
    _resolve(name)


def is_native(name: str) -> bool:
    """Return whether this name means the native engine. Raises as `verify_choice`."""
    return _resolve(name) == "native"


def select_engine(name: str) -> TracingEngine:
    """Return the EVM engine of this name.

    Raises:
        EngineSelectionError: There is no such engine, or it was not built or installed.
    """
    if is_native(name):
        from cchain_app.evm.native import NativeEngine

        return NativeEngine()
    from cchain_app.evm.reference import ReferenceEngine

    return ReferenceEngine()


def select_trie(name: str, *, cache_bytes: int = 0, of_coreth: bool = False) -> StateTrie:
    """Return the state trie that belongs to an engine. Raises as `select_engine`.

    Args:
        name: The engine.
        cache_bytes: Bytes of keys and nodes that it keeps in memory, if the engine's trie can.
        of_coreth: Whether its accounts and slots are stored as on coreth.
    """
    if is_native(name):
        from cchain_app.evm.native_trie import NativeStateTrie

        return NativeStateTrie(cache_bytes, of_coreth=of_coreth)
    from cchain_app.evm.trie_python import PythonStateTrie

    return PythonStateTrie(of_coreth=of_coreth)


def select_recovery(name: str) -> RecoverMany:
    """Return the function that recovers the senders of many transactions. Raises as `select_engine`."""
    if is_native(name):
        from cchain_app.evm.native import recover_senders

        return recover_senders
    return secp256k1.recover_many


def select_kzg(name: str) -> Kzg:
    """Return the KZG functions that belong to an engine. Raises as `select_engine`."""
    if is_native(name):
        from cchain_app.evm.native_kzg import NativeKzg

        return NativeKzg()
    return CkzgLibrary()


def _resolve(name: str) -> str:
    if name not in CHOICES:
        raise EngineSelectionError(EngineReason.UNKNOWN, name=name, choices=", ".join(CHOICES))
    engine = name
    if name == "auto":
        engine = "native" if has_native() else "reference"
    if engine == "native" and not has_native():
        raise EngineSelectionError(EngineReason.NATIVE_NOT_BUILT)
    if engine == "reference" and not has_reference():
        raise EngineSelectionError(EngineReason.REFERENCE_NOT_INSTALLED)
    return engine

"""Which engine stands behind the port: the setting's choice, or what was built.

The only module that knows them by name; what goes with an engine elsewhere is chosen by `is_native`. Each choice is "native", "reference", or "auto": native where
the crate was built, else the reference.
"""

from importlib.util import find_spec

from cchain_app.evm.tracing import TracingEngine
from cchain_app.evm.trie import StateTrie
from cchain_app.txs.codec import RecoverMany
from primitives import secp256k1

CHOICES = ("auto", "native", "reference")


class EngineSelectionError(Exception):
    """An engine that cannot be had.

    EngineSelectionError
    ├── UnknownEngineError
    ├── NativeEngineMissingError
    └── ReferenceEngineMissingError
    """


class UnknownEngineError(EngineSelectionError):
    """A name that is none of `CHOICES`."""


class NativeEngineMissingError(EngineSelectionError):
    """The native engine is asked for and was not built."""


class ReferenceEngineMissingError(EngineSelectionError):
    """The reference engine is needed and is not installed: the package has it as an extra."""


def has_native() -> bool:
    """Tell whether the native engine was built and installed."""
    return find_spec("cchain_native") is not None


def has_reference() -> bool:
    """Tell whether the reference engine was installed."""
    return find_spec("ethereum") is not None


def verify_choice(name: str) -> None:
    """See that the engine of this name can be had.

    Raises:
        UnknownEngineError: There is none.
        NativeEngineMissingError: It was not built.
        ReferenceEngineMissingError: It was not installed.
    """
    _resolve(name)


def is_native(name: str) -> bool:
    """Tell whether this name means the native engine. Raises as `verify_choice`."""
    return _resolve(name) == "native"


def select_engine(name: str) -> TracingEngine:
    """Return the EVM engine of this name.

    Raises:
        UnknownEngineError: There is none.
        NativeEngineMissingError: It was not built.
        ReferenceEngineMissingError: It was not installed.
    """
    if is_native(name):
        from cchain_app.evm.native import NativeEngine

        return NativeEngine()
    from cchain_app.evm.reference import ReferenceEngine

    return ReferenceEngine()


def select_trie(name: str, *, cached: bool = True) -> StateTrie:
    """Return the state trie that goes with an engine. Raises as `select_engine`."""
    if is_native(name):
        from cchain_app.evm.native_trie import CACHE_BYTES, NativeStateTrie

        return NativeStateTrie(CACHE_BYTES if cached else 0)
    from cchain_app.evm.trie_python import PythonStateTrie

    return PythonStateTrie()


def select_recovery(name: str) -> RecoverMany:
    """Return what recovers the senders of many transactions. Raises as `select_engine`."""
    if is_native(name):
        from cchain_app.evm.native import recover_senders

        return recover_senders
    return secp256k1.recover_many


def _resolve(name: str) -> str:
    if name not in CHOICES:
        raise UnknownEngineError(f"no engine named {name}; there are {', '.join(CHOICES)}")
    found = name
    if name == "auto":
        found = "native" if has_native() else "reference"
    if found == "native" and not has_native():
        raise NativeEngineMissingError("the native engine was not built; `make native` builds it")
    if found == "reference" and not has_reference():
        raise ReferenceEngineMissingError(
            "the reference engine is not installed; `make setup` installs it in a checkout of the sources"
        )
    return found

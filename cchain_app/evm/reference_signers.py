"""Wrap the specification's ecrecover, so that it returns the signers that a block's environment defines.

It is wrapped once for each fork, and works as before in threads whose environment defines no signers. The original
function always runs first, so the gas is the same.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from threading import Lock, local
from typing import Any, Final

from ethereum_types.bytes import Bytes20

from cchain_app.evm.engine import BlockEnv
from cchain_app.evm.reference_env import fork_of
from cchain_app.evm.reference_package import ForkModules
from primitives.evm import Address

_ECRECOVER: Final = Bytes20(bytes(19) + b"\x01")
_current: Final = local()
_install_lock: Final = Lock()


@contextmanager
def given_signers(env: BlockEnv) -> Iterator[None]:
    """Make ecrecover return the environment's signers in code that this thread executes in the body.

    Raises:
        UnknownForkError: The specification has no such fork.
    """
    if not env.signers:
        yield
        return
    _install(fork_of(env))
    _current.signers = dict(env.signers)
    try:
        yield
    finally:
        _current.signers = None


def _install(fork: ForkModules) -> None:
    with _install_lock:
        precompiles = fork.precompiles.PRE_COMPILED_CONTRACTS
        if not hasattr(precompiles[_ECRECOVER], "__wrapped__"):
            precompiles[_ECRECOVER] = _answering(precompiles[_ECRECOVER])


def _answering(recover: Callable[[Any], None]) -> Callable[[Any], None]:
    @wraps(recover)
    def ecrecover(evm: Any) -> None:
        recover(evm)
        signers: Mapping[bytes, Address] | None = getattr(_current, "signers", None)
        if signers:
            data = bytes(evm.message.data[:128]).ljust(128, b"\0")
            signer = signers.get(data[64:] + data[63:64])
            if signer is not None:
                evm.output = signer.rjust(32, b"\0")

    return ecrecover

"""Wrap functions of the specification, to record where frames begin and end and to impersonate senders.

The functions of each fork are wrapped once. Without a recorder and an impersonated sender in the thread they work
as before.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from threading import Lock, local
from typing import Any, Final, Protocol

from ethereum_types.bytes import Bytes0, Bytes20

from cchain_app.evm.reference_package import ForkModules
from primitives.evm import Address

_current: Final = local()
_install_lock: Final = Lock()

Function = Callable[..., Any]


class FrameRecorder(Protocol):
    """An object that follows one transaction."""

    def begin_message(self, message: Any) -> None:
        """Record the target of the transaction, before authorizations are applied."""

    def end_message(self, message: Any, output: Any) -> None:
        """Record the result of the transaction."""

    def authorize(self, refund: int) -> None:
        """Record the refund of the authorizations."""

    def enter(self, message: Any) -> None:
        """Record that a frame begins."""

    def leave(self, evm: Any) -> None:
        """Record that the innermost frame has ended."""


@contextmanager
def recorded(recorder: FrameRecorder, fork: ForkModules) -> Iterator[None]:
    """Pass the frames that this thread executes in the body to a recorder."""
    _install(fork)
    _current.recorder = recorder
    try:
        yield
    finally:
        _current.recorder = None


@contextmanager
def sent_by(sender: Address | None, fork: ForkModules) -> Iterator[None]:
    """Use this sender, who did not sign, for transactions that this thread executes in the body; None: the signer."""
    if sender is None:
        yield
        return
    _install(fork)
    _current.sender = Bytes20(sender)
    try:
        yield
    finally:
        _current.sender = None


def _install(fork: ForkModules) -> None:
    with _install_lock:
        for module, name, wrap in (
            (fork.interpreter, "process_message", _call),
            (fork.interpreter, "process_create_message", _creation),
            (fork.interpreter, "process_message_call", _top),
            (fork.interpreter, "set_delegation", _authorizations),
            (fork.fork, "process_message_call", _top),
            (fork.fork, "check_transaction", _check),
            (fork.fork, "recover_sender", _recovery),
        ):
            names = vars(module)
            function = names.get(name)
            if function is not None and not hasattr(function, "__wrapped__"):
                names[name] = wrap(function)


def _recorder() -> FrameRecorder | None:
    recorder: FrameRecorder | None = getattr(_current, "recorder", None)
    return recorder


def _sender() -> Bytes20 | None:
    sender: Bytes20 | None = getattr(_current, "sender", None)
    return sender


def _top(process: Function) -> Function:
    @wraps(process)
    def process_message_call(message: Any) -> Any:
        recorder = _recorder()
        if recorder is None:
            return process(message)
        recorder.begin_message(message)
        output = process(message)
        recorder.end_message(message, output)
        return output

    return process_message_call


def _call(process: Function) -> Function:
    @wraps(process)
    def process_message(message: Any) -> Any:
        recorder = _recorder()
        if recorder is None or message.target == Bytes0():
            return process(message)
        return _framed(recorder, process, message)

    return process_message


def _creation(process: Function) -> Function:
    @wraps(process)
    def process_create_message(message: Any) -> Any:
        recorder = _recorder()
        return process(message) if recorder is None else _framed(recorder, process, message)

    return process_create_message


def _framed(recorder: FrameRecorder, process: Function, message: Any) -> Any:
    recorder.enter(message)
    evm = process(message)
    recorder.leave(evm)
    return evm


def _authorizations(apply: Function) -> Function:
    @wraps(apply)
    def set_delegation(message: Any) -> Any:
        refund = apply(message)
        recorder = _recorder()
        if recorder is not None:
            recorder.authorize(int(refund))
        return refund

    return set_delegation


def _check(check: Function) -> Function:
    """Hide senders' code when the block is accepted or the sender impersonated, so that EIP-3607 refuses nothing."""

    @wraps(check)
    def check_transaction(*arguments: Any, **named: Any) -> Any:
        if _recorder() is None and _sender() is None:
            return check(*arguments, **named)
        block_env = named["block_env"] if "block_env" in named else arguments[0]
        with block_env.state.without_code():
            return check(*arguments, **named)

    return check_transaction


def _recovery(recover: Function) -> Function:
    @wraps(recover)
    def recover_sender(*arguments: Any, **named: Any) -> Any:
        sender = _sender()
        return recover(*arguments, **named) if sender is None else sender

    return recover_sender

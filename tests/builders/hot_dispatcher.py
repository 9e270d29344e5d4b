"""The C-Chain's dispatcher as the event loop uses it, with time limits that suit a busy machine."""

from django.core.exceptions import SynchronousOnlyOperation

from cchain_app.api import registry
from cchain_app.api.loop_gas import one_request
from chaindb.connections import WouldBlock
from jsonrpc.dispatch.calls import CallObserver, DispatchLimits, Shortcut
from jsonrpc.dispatch.dispatcher import Dispatcher
from jsonrpc.limits.interpreter import LoopTurn
from nodeproject.apps import this_node


def hot_dispatcher(
    *,
    limits: DispatchLimits | None = None,
    observer: CallObserver | None = None,
    shortcut: Shortcut | None = None,
    thread_shortcut: Shortcut | None = None,
) -> Dispatcher:
    """Return a dispatcher for this process's C-Chain, without shortcuts unless they are given."""
    return Dispatcher(
        registry(this_node().evm_rpc),
        limits=limits or DispatchLimits(),
        would_block=(SynchronousOnlyOperation, WouldBlock),
        one_request=one_request,
        turn=LoopTurn(60.0),
        observer=observer,
        shortcut=shortcut,
        thread_shortcut=thread_shortcut,
    )

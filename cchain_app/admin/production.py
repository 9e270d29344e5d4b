"""Pausing and resuming block production from the admin, as the development methods do (devnet.md 2)."""

from collections.abc import Callable
from typing import Final

from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse

from adminkit.actions import ActionRefused, ActionTarget, AdminAction, ask
from cchain_app.chain import EvmChain
from cchain_app.development.errors import DevelopmentError, HasPeers
from cchain_app.selectors import development
from cchain_app.services import manual_mining

WORDS: Final = {
    "auto": "on arrival",
    "interval": "by the clock",
    "manual": "manual only",
}
"""When blocks are made, by mining mode, unless production is paused."""

_P_CHAIN: Final = "continues: its blocks follow the clock, by which stakers start and end"


def _stands_before(chain: EvmChain) -> str:
    """Return why this chain's production cannot be controlled; an empty text if it can."""
    if not chain.is_development:
        return (
            "others rely on this chain's blocks: production can only be paused on a local chain to develop against "
            "(NODE_DEVELOPMENT), without NODE_BOOTSTRAP and without votes. To end this node's part in it, stop the "
            "process that makes the blocks."
        )
    return f"{HasPeers()}." if chain.has_peers() else ""


def _cannot_pause(chain: EvmChain) -> str:
    if obstacle := _stands_before(chain):
        return obstacle
    if development.is_paused(chain):
        return "production is already paused."
    return "blocks are already made manually only." if _is_manual(chain) else ""


def _cannot_resume(chain: EvmChain) -> str:
    if obstacle := _stands_before(chain):
        return obstacle
    if development.is_paused(chain):
        return ""
    if _is_manual(chain) and not chain.has_development_methods:
        return "production is not paused. Mining is manual, as set by NODE_MINING."
    if _is_manual(chain):
        return (
            "production is not paused. Mining is manual, as set by NODE_MINING or evm_setAutomine: "
            "evm_setAutomine changes the mode."
        )
    return "blocks are already being produced."


def _is_manual(chain: EvmChain) -> bool:
    return development.mining(chain) == "manual"


def _change(how: Callable[[EvmChain], None], done: str) -> Callable[[EvmChain], str]:
    def do(chain: EvmChain) -> str:
        try:
            how(chain)
        except DevelopmentError as error:
            raise ActionRefused(f"{error}.") from error
        return done

    return do


_PERMISSION: Final = "cchain_app.change_developmentsettings"

PAUSE: Final = AdminAction(
    name="pause",
    button="Pause",
    question="Pause the production of blocks?",
    consequence="The C-Chain produces no blocks automatically, in any process and after any restart, until production is "
    "resumed, or in the embedded profile until evm_setAutomine or evm_setIntervalMining enables it. Transactions are "
    "still accepted and stay pending. Manual blocks (produce_block, evm_mine) still work.",
    permission=_PERMISSION,
    do=_change(manual_mining.pause, "Paused the C-Chain's production of blocks."),
    obstacle=_cannot_pause,
)
RESUME: Final = AdminAction(
    name="resume",
    button="Resume",
    question="Resume the production of blocks?",
    consequence="The C-Chain makes blocks again in the mode before the pause, or in the mode set over RPC since: on "
    "arrival, at intervals, or manually.",
    permission=_PERMISSION,
    do=_change(manual_mining.resume, "Resumed the C-Chain's production of blocks."),
    obstacle=_cannot_resume,
)


def ask_for(request: HttpRequest, chain: EvmChain, name: str) -> HttpResponse:
    """Ask for confirmation before pausing or resuming production, then do it.

    Raises:
        Http404: The name is neither of the two actions.
    """
    action = {value.name: value for value in (PAUSE, RESUME)}.get(name)
    if action is None:
        raise Http404
    development.refresh_mining_settings(chain)
    facts = (("C-Chain", f"mining {development.mining(chain)}"), ("P-Chain", _P_CHAIN))
    front = reverse("admin:index")
    return ask(
        request, action, ActionTarget(chain, "production of the C-Chain", facts, front, front)
    )

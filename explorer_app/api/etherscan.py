"""Etherscan's API: `module` and `action` select a function; all replies have status 200 (explorer.md 8)."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from django.core.exceptions import TooManyFieldsSent
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from cchain_app.chain import EvmChain
from chaindb.unavailable import unavailable
from explorer_app.api import (
    account_actions,
    chain_actions,
    contract_actions,
    stats_actions,
    token_actions,
)
from explorer_app.api.endpoint import (
    BodyTooLarge,
    api_view,
    client_of,
    json_response,
    read_form,
)
from explorer_app.api.forms import max_fields
from explorer_app.api.replies import ActionError, ActionReason, ActionReply, Bare, Query
from explorer_app.site import Explorer, pages_of
from explorer_app.verification.errors import SubmissionTooLarge
from jsonrpc.http.replies import read_head

Action = Callable[[Query], ActionReply | Bare]

MODULES: Final[Mapping[str, Mapping[str, Action]]] = {
    "account": {**account_actions.ACTIONS, **token_actions.OF_ACCOUNTS},
    "contract": contract_actions.ACTIONS,
    "transaction": chain_actions.OF_TRANSACTIONS,
    "block": chain_actions.OF_BLOCKS,
    "logs": chain_actions.OF_LOGS,
    "proxy": chain_actions.OF_PROXY,
    "stats": {**stats_actions.ACTIONS, **token_actions.OF_SUPPLY},
    "gastracker": stats_actions.OF_GAS,
    "token": token_actions.ACTIONS,
}
"""Functions by module and action, both in lower case."""


def answer(site: Explorer, request: HttpRequest) -> HttpResponse:
    """Answer `/api`, Etherscan's first version."""
    return _answer(site, request)


def answer_v2(site: Explorer, request: HttpRequest) -> HttpResponse:
    """Answer `/v2/api`, the second version: `chainid`, if given, selects the EVM chain."""
    return _answer(site, request)


def chain_list(site: Explorer, request: HttpRequest) -> HttpResponse:
    """Return the EVM chains that this node runs, in the second version's format."""
    base = request.build_absolute_uri(reverse("explorer:front")).rstrip("/")

    def row(chain: EvmChain) -> dict[str, Any]:
        chain_id = chain.genesis.config.chain_id
        front = request.build_absolute_uri(pages_of(chain).reverse("explorer:front"))
        return {
            "chainname": f"{chain.title} {chain_id}",
            "chainid": str(chain_id),
            "blockexplorer": front,
            "apiurl": f"{base}/v2/api?chainid={chain_id}",
            "status": 1,
            "comment": "",
        }

    rows = [row(chain) for chain in site.evms]
    return json_response({"comments": "", "totalcount": len(rows), "result": rows})


def solc_versions(site: Explorer, _request: HttpRequest) -> HttpResponse:
    """Return the installed compilers, in the format of Solidity's own lists."""
    builds = [{"version": version.short} for version in site.compilers.versions()]
    return json_response({"builds": builds})


def _answer(site: Explorer, request: HttpRequest) -> HttpResponse:
    try:
        reply = _act(site, request)
    except ActionError as error:
        reply = ActionReply.refusal(str(error))
    except BodyTooLarge:
        reply = ActionReply.refusal(
            f"The request is longer than {site.settings.source_limit} bytes"
        )
    except SubmissionTooLarge as refusal:
        reply = ActionReply.refusal(str(refusal))
    except TooManyFieldsSent:
        reply = ActionReply.refusal(f"The form has more than {max_fields()} fields")
    return json_response(reply.json())


def _act(site: Explorer, request: HttpRequest) -> ActionReply | Bare:
    form = read_form(site, request)
    site = _chosen(site, form)
    module = MODULES.get(form.get("module", "").lower())
    if module is None:
        raise ActionError(ActionReason.UNKNOWN_MODULE)
    action = module.get(form.get("action", "").lower())
    if action is None:
        raise ActionError(ActionReason.UNKNOWN_ACTION)
    if module is MODULES["proxy"]:
        _verify_token(site, request)
    return action(Query(site, form, client_of(site, request), request.method == "POST"))


def _verify_token(site: Explorer, request: HttpRequest) -> None:
    """Reject calls of JSON-RPC methods without the token that the JSON-RPC interface needs, if it needs one."""
    gate = site.rpc().gate
    if not gate.config.tokens.accepts(read_head(request).headers.get(b"authorization", b"")):
        raise ActionError(ActionReason.UNAUTHORIZED)


def _chosen(site: Explorer, form: Mapping[str, str]) -> Explorer:
    """Return the explorer of the chain that `chainid` selects, without it that of the URL.

    Unspecified: `chainid` counts in the first version too, where some clients send it. Below the path of a chain it must
    be the ID of this chain.

    Raises:
        ActionError: The node runs no such chain, or the URL names another one.
    """
    chain_id = form.get("chainid", "").strip()
    found = site.of_chain_id(chain_id) if chain_id else site
    is_other = found is not site and not site.is_of_cchain
    if found is None or is_other or not found.has_evm:
        raise ActionError(ActionReason.WRONG_CHAIN)
    return found


def _limited() -> HttpResponse:
    return json_response(ActionReply.refusal("Max rate limit reached").json())


def _away(error: Exception) -> HttpResponse:
    words = unavailable(error) or error
    return json_response(
        ActionReply.refusal(f"The chain cannot be read at the moment: {words}").json()
    )


def _malformed() -> HttpResponse:
    return json_response(ActionReply.refusal("The form cannot be read").json())


_api_view: Final = partial(api_view, limited=_limited, away=_away, malformed=_malformed)

api: Final = _api_view(answer)
api_v2: Final = _api_view(answer_v2)
chains: Final = _api_view(chain_list)
compilers: Final = _api_view(solc_versions)

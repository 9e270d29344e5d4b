"""Sourcify's API, version 2, and the single endpoint of version 1 that Hardhat 2 calls (explorer.md 3 and 5).

A chain ID in the path or the query selects the EVM chain.
"""

import uuid
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final

import msgspec
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect

from explorer_app.api.endpoint import (
    BodyTooLarge,
    api_view,
    client_of,
    json_response,
    read_body,
    when_over,
)
from explorer_app.api.sourcify_contract import FIELDS, FieldsUnknown, fields_of, minimal, nothing
from explorer_app.selectors import verified
from explorer_app.selectors.verified import VerificationProgress
from explorer_app.services import verification
from explorer_app.site import Explorer
from explorer_app.verification.errors import (
    AlreadyVerified,
    BadSubmission,
    NotDeployed,
    SubmissionReason,
    VerificationReason,
)
from explorer_app.verification.submission import Submission, from_metadata, from_sourcify
from primitives.evm import Address
from primitives.hexadecimal import HexError, decode_address

MAX_LISTED: Final = 200
MAX_LOOKED_UP: Final = 20
_STATUS: Final[Mapping[str, int]] = {
    VerificationReason.ALREADY_VERIFIED.code: 409,
    SubmissionReason.SUBMITTED_ALREADY.code: 429,
    SubmissionReason.TOO_MANY_WAITING.code: 429,
}
"""HTTP statuses of refusals by their code; all others have 400."""


def error(
    status: int, code: str, message: str, details: Mapping[str, Any] | None = None
) -> HttpResponse:
    """Return Sourcify's error object."""
    return json_response({**error_object(code, message), **(details or {})}, status)


def error_object(code: str, message: str) -> dict[str, str]:
    """Return Sourcify's error object as the answer about a verification contains it."""
    return {"customCode": code, "message": message, "errorId": str(uuid.uuid4())}


def verify(site: Explorer, request: HttpRequest, chain: str, address: str) -> HttpResponse:
    """Accept a standard JSON input for a contract."""
    return _submit(site, request, chain, address, _with_input)


def verify_metadata(site: Explorer, request: HttpRequest, chain: str, address: str) -> HttpResponse:
    """Accept metadata and sources for a contract."""
    return _submit(site, request, chain, address, _with_metadata)


def verify_similar(site: Explorer, request: HttpRequest, chain: str, address: str) -> HttpResponse:
    """Accept a request to use the sources of a contract with the same code.

    Unspecified: such contracts share their sources automatically, so there is nothing left to find here.
    """
    found = _chosen(site, chain, address)
    if isinstance(found, HttpResponse):
        return found
    return error(
        404, "no_similar_match_found", "Contracts with the same code share their sources already"
    )


def job(site: Explorer, request: HttpRequest, key: str) -> HttpResponse:
    """Return the state of a verification."""
    key = key.replace("-", "")
    others = [site.of(chain) for chain in site.evms if chain is not site.evm]
    site = next((one for one in others if verified.verification(one.evm, key)), site)
    progress = when_over(site, key)
    if progress is None:
        return error(404, "job_not_found", f"No verification job found for ID {key[:64]}")
    answer = {
        "isJobCompleted": progress.is_over,
        "verificationId": progress.key,
        "jobStartTime": moment(progress.submitted_at),
        "contract": _outcome(site, progress),
    }
    if progress.finished_at is not None:
        answer["jobFinishTime"] = moment(progress.finished_at)
        elapsed = progress.finished_at - progress.submitted_at
        answer["compilationTime"] = str(round(elapsed.total_seconds() * 1000))
    if progress.is_over and not progress.has_passed:
        answer["error"] = {
            **error_object(progress.reason, progress.message), **msgspec.json.decode(progress.details)
        }  # fmt: skip
    return json_response(answer)


def contract(site: Explorer, request: HttpRequest, chain: str, address: str) -> HttpResponse:
    """Return whether a contract is verified, and the requested `fields`."""
    found = _chosen(site, chain, address)
    if isinstance(found, HttpResponse):
        return found
    site = found
    chosen, omitted = (request.GET.get(name, "") for name in ("fields", "omit"))
    if chosen and omitted:
        return error(400, "invalid_parameter", "fields and omit exclude each other")
    at = decode_address(address)
    row = verified.own_contract(site.evm, at)
    if row is None:
        return json_response(nothing(chain, at), 404)
    shown = minimal(chain, at, row)
    if omitted:
        names = [name for name in FIELDS if name not in omitted.split(",")]
    else:
        names = list(FIELDS) if chosen == "all" else [name for name in chosen.split(",") if name]
    try:
        return json_response({**shown, **fields_of(site, at, row, names)})
    except FieldsUnknown as unknown:
        return error(400, "invalid_parameter", str(unknown))


def contract_on_all(site: Explorer, request: HttpRequest, address: str) -> HttpResponse:
    """Return the chains of this node on which a contract is verified."""
    try:
        at = decode_address(address)
    except HexError:
        return _no_address(address)
    sites = [site.of(chain) for chain in site.evms]
    rows = [(_chain_id(one), verified.own_contract(one.evm, at)) for one in sites]
    found = [minimal(chain, at, row) for chain, row in rows if row is not None]
    return json_response({"results": found})


def contracts(site: Explorer, request: HttpRequest, chain: str) -> HttpResponse:
    """Return verified contracts, the latest first; `afterMatchId` requests the rows after that one."""
    found = site.of_chain_id(chain)
    if found is None:
        return _unsupported(chain)
    site = found
    after, limit = (request.GET.get(name, "") for name in ("afterMatchId", "limit"))
    if any(text and not (text.isdecimal() and len(text) < 19) for text in (after, limit)):
        return error(400, "invalid_parameter", "limit and afterMatchId are numbers")
    rows = verified.contracts(
        site.evm,
        before=int(after) if after else None,
        count=min(int(limit or MAX_LISTED), MAX_LISTED),
    )
    return json_response(
        {"results": [minimal(chain, Address(bytes(row.address)), row) for row in rows]}
    )


def check_all(site: Explorer, request: HttpRequest) -> HttpResponse:
    """Return which addresses are verified, as version 1 did.

    Unspecified: this is the only endpoint of version 1, so that an enabled plug-in of Hardhat 2 does not fail.
    """
    ids = request.GET.get("chainIds", "").split(",")[:MAX_LOOKED_UP]
    wanted = {chain: found for chain in ids if (found := site.of_chain_id(chain)) is not None}
    answers: list[dict[str, Any]] = []
    for text in request.GET.get("addresses", "").split(",")[:MAX_LOOKED_UP]:
        try:
            address = decode_address(text)
        except HexError:
            return _no_address(text)
        rows = [(chain, verified.own_contract(one.evm, address)) for chain, one in wanted.items()]
        statuses = [
            {"chainId": chain, "status": _status_of(row)} for chain, row in rows if row is not None
        ]
        answers.append(
            {"address": text, "chainIds": statuses}
            if statuses
            else {"address": text, "status": "false"}
        )
    return json_response(answers)


def _status_of(row: Any) -> str:
    """Return version 1's word for the match of a verified contract."""
    return "perfect" if "exact_match" in {row.runtime_match, row.creation_match} else "partial"


def page(site: Explorer, _request: HttpRequest, chain: str, address: str) -> HttpResponse:
    """Redirect to a contract's page: clients print such links."""
    pages = (site.of_chain_id(chain) or site).pages
    return HttpResponseRedirect(f"{pages.reverse('explorer:address', [address])}?tab=contract")


def moment(at: datetime) -> str:
    """Return a time in Sourcify's format."""
    return at.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def _with_input(site: Explorer, address: Address, body: bytes) -> Submission:
    return from_sourcify(address, body, maximum=site.settings.source_limit)


def _with_metadata(site: Explorer, address: Address, body: bytes) -> Submission:
    return from_metadata(address, body, maximum=site.settings.source_limit)


def _submit(
    site: Explorer, request: HttpRequest, chain: str, address: str, read: Any
) -> HttpResponse:
    if request.method != "POST":
        return HttpResponse(status=405, headers={"Allow": "POST, OPTIONS"})
    found = _chosen(site, chain, address)
    if isinstance(found, HttpResponse):
        return found
    site, at = found, decode_address(address)
    try:
        verification.code_hash_at(site, at)  # fails early, before a long body is read
        submission = read(site, at, read_body(site, request))
        key = verification.submit(site, submission, client=client_of(site, request), both=True)
    except BodyTooLarge:
        return error(413, "invalid_parameter", "The request is too long")
    except (BadSubmission, NotDeployed, AlreadyVerified) as refused:
        status = _STATUS.get(refused.code, 400)
        return error(status, refused.code, str(refused), refused.data)
    return json_response({"verificationId": key}, 202)


def _outcome(site: Explorer, progress: VerificationProgress) -> dict[str, Any]:
    chain = _chain_id(site)
    if progress.contract is None:
        return nothing(chain, progress.address)
    return minimal(chain, progress.address, progress.contract)


def _chain_id(site: Explorer) -> str:
    return str(site.evm.genesis.config.chain_id)


def _chosen(site: Explorer, chain: str, address: str) -> Explorer | HttpResponse:
    """Return the explorer of the chain with an ID, or an error if the chain is unknown or the address is invalid."""
    found = site.of_chain_id(chain)
    if found is None:
        return _unsupported(chain)
    try:
        decode_address(address)
    except HexError:
        return _no_address(address)
    return found


def _no_address(text: str) -> HttpResponse:
    return error(400, "invalid_parameter", f"Invalid address: {text[:64]}")


def _unsupported(chain: str) -> HttpResponse:
    return error(
        400, "unsupported_chain", f"Chain {chain[:32]} is not supported: this node does not run it"
    )


def _limited() -> HttpResponse:
    return error(429, "too_many_requests", "Too many requests: try again later")


def _away(reason: Exception) -> HttpResponse:
    return error(503, "internal_error", f"The chain cannot be read at the moment: {reason}")


def _malformed() -> HttpResponse:
    return error(400, "invalid_parameter", "The request cannot be read")


_api_view: Final = partial(api_view, limited=_limited, away=_away, malformed=_malformed)

verify_view: Final = _api_view(verify)
metadata_view: Final = _api_view(verify_metadata)
similar_view: Final = _api_view(verify_similar)
job_view: Final = _api_view(job)
contract_view: Final = _api_view(contract)
all_chains_view: Final = _api_view(contract_on_all)
contracts_view: Final = _api_view(contracts)
check_all_view: Final = _api_view(check_all)
page_view: Final = _api_view(page)

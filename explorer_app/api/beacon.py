"""The three paths of the Beacon API that Anvil serves, by which rollups read blobs: blobs of a block, and the genesis.

Sources: the Beacon API (https://ethereum.github.io/beacon-APIs) and Anvil 1.7.1. A block takes the place of a slot. Errors
are JSON objects with `code`, the HTTP status, and `message`.
"""

import re
from http import HTTPStatus
from typing import Any, Final

from django.http import HttpRequest, HttpResponse

from cchain_app.api.block_tags import tag_height
from cchain_app.api.params.values import Tag
from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.selectors import blobs, blocks
from explorer_app.api.endpoint import api_view, json_response
from explorer_app.site import Explorer
from primitives.evm import ZERO_HASH, Hash
from primitives.hexadecimal import encode_data

_HASH: Final = re.compile("0x[0-9a-fA-F]{64}")
_NUMBER: Final = re.compile("0x[0-9a-fA-F]{1,16}|[0-9]{1,19}")
_TAGS: Final = {"head": Tag.LATEST, "genesis": Tag.EARLIEST, **{tag.value: tag for tag in Tag}}

_NO_VERSION: Final = "0x00000000"
_SSZ: Final = "application/octet-stream"


def _error(status: HTTPStatus, message: str) -> HttpResponse:
    return json_response({"code": status.value, "message": message}, status)


def _away(error: Exception) -> HttpResponse:
    return _error(HTTPStatus.INTERNAL_SERVER_ERROR, str(error) or "Internal server error")


def _limited() -> HttpResponse:
    return _error(HTTPStatus.TOO_MANY_REQUESTS, "rate limit exceeded")


def _malformed() -> HttpResponse:
    return _error(HTTPStatus.BAD_REQUEST, "Malformed request")


def _view(answer: Any) -> Any:
    return api_view(answer, _limited, _away, _malformed)


def _get_blobs(site: Explorer, request: HttpRequest, block_id: str) -> HttpResponse:
    """Answer GET /eth/v1/beacon/blobs/{block}: the blobs of a block in their order.

    `versioned_hashes` selects some of them, separated by commas or repeated. The answer is SSZ if the client prefers it.

    Unspecified: besides the numbers, hashes and tags that Anvil takes, the tags of the Beacon API, head and genesis, are
    taken. `pending` means the head, whose blobs are the last that are mined. A malformed versioned hash is refused, as the
    Beacon API has it; Anvil ignores it. If blobs of the block are no longer kept the answer is 404, never a part of them.
    """
    try:
        block = _find(site, block_id)
    except ValueError:
        return _error(HTTPStatus.BAD_REQUEST, f"Invalid block ID: {block_id[:80]}")
    if block is None:
        return _error(HTTPStatus.NOT_FOUND, "Block not found")
    texts = [
        text.strip()
        for given in request.GET.getlist("versioned_hashes")
        for text in given.split(",")
        if text.strip()
    ]
    wanted = set()
    for text in texts:
        if not _HASH.fullmatch(text):
            return _error(HTTPStatus.BAD_REQUEST, f"Invalid versioned hash: {text[:80]}")
        wanted.add(Hash(bytes.fromhex(text[2:])))
    try:
        found = blobs.of_block(site.evm, block)
    except blobs.BlobsDeleted as error:
        return _error(HTTPStatus.NOT_FOUND, str(error))
    chosen = [item.blob for item in found if not wanted or item.versioned_hash in wanted]
    if _prefers_ssz(request.headers.get("Accept", "")):
        return HttpResponse(b"".join(chosen), _SSZ)
    return json_response(
        {
            "execution_optimistic": False,
            "finalized": False,
            "data": [encode_data(blob) for blob in chosen],
        }
    )


def _refuse_sidecars(site: Explorer, request: HttpRequest, block_id: str) -> HttpResponse:
    """Answer GET /eth/v1/beacon/blob_sidecars/{block}, which the Beacon API has replaced: 410, as Anvil does."""
    return _error(
        HTTPStatus.GONE,
        "This endpoint is deprecated. Use `GET /eth/v1/beacon/blobs/{block_id}` instead.",
    )


def _get_genesis(site: Explorer, request: HttpRequest) -> HttpResponse:
    """Answer GET /eth/v1/beacon/genesis: the time of the first block; the other members are zeros, as in Anvil."""
    first = blocks.by_number(site.evm, site.evm.first_number)
    if first is None:
        raise blocks.NoGenesis
    members = {
        "genesis_time": str(first.header.timestamp),
        "genesis_validators_root": encode_data(ZERO_HASH),
        "genesis_fork_version": _NO_VERSION,
    }
    return json_response({"data": members})


def _find(site: Explorer, text: str) -> AcceptedBlock | None:
    """Return the block that an identifier names; None if the chain does not have it.

    Raises:
        ValueError: It is neither a number nor a hash nor a known tag.
    """
    chain = site.evm
    if _HASH.fullmatch(text):
        return blocks.by_hash(chain, Hash(bytes.fromhex(text[2:])))
    if (tag := _TAGS.get(text)) is not None:
        return blocks.by_number(chain, max(tag_height(chain, tag), chain.first_number))
    if not _NUMBER.fullmatch(text):
        raise ValueError(text)
    return blocks.by_number(chain, int(text, 16) if text.startswith("0x") else int(text))


def _prefers_ssz(accept: str) -> bool:
    """Return whether an Accept header prefers SSZ to JSON: by the quality of both, 0 for a type that is absent."""
    found = {_SSZ: 0.0, "application/json": 0.0}
    for part in accept.split(","):
        kind, *params = (text.strip() for text in part.split(";"))
        if kind in found:
            found[kind] = _quality(params)
    return found[_SSZ] > found["application/json"]


def _quality(params: list[str]) -> float:
    for param in params:
        if param.startswith("q="):
            try:
                return float(param.removeprefix("q="))
            except ValueError:
                return 1.0
    return 1.0


get_blobs = _view(_get_blobs)
refuse_sidecars = _view(_refuse_sidecars)
get_genesis = _view(_get_genesis)

"""Accepts ABIs for contracts without sources. They are unproven, so they are used for names only."""

from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from chaindb.locks import Lock
from explorer_app.names.abi_json import MalformedAbi, read_functions
from explorer_app.services.verification import code_hash_at
from explorer_app.site import Explorer
from explorer_app.store import contracts as contract_rows
from explorer_app.verification.errors import BadSubmission, SubmissionReason
from primitives import json_limits
from primitives.evm import Address
from primitives.json_limits import MAX_DEPTH, MAX_VALUES, TooDeep, TooManyValues
from primitives.networks import LOCAL

MAX_ABIS: Final = 10_000
MAX_ABI: Final = 256 * 1024
"""Size limit of a supplied ABI in bytes."""


def supply_abi(site: Explorer, address: Address, text: str, *, name: str = "") -> None:
    """Store an ABI for a contract without sources; it is displayed as not verified.

    Unspecified: on a local network it replaces the previous ABI, elsewhere the first ABI stays, because anyone can
    supply one.

    Raises:
        NotDeployed: There is no contract at the address.
        BadSubmission: The text is not an ABI; the contract is verified; the contract already has an
            ABI; or the limit of supplied ABIs is reached.
    """
    abi = _abi(text)
    code_hash = code_hash_at(site, address)
    db = site.evm.db
    with db.atomic(durable=True):
        db.acquire(Lock.VERIFICATION)
        if contract_rows.contract(db, address, code_hash) is not None:
            raise BadSubmission(SubmissionReason.HAS_SOURCES)
        there = contract_rows.is_supplied(db, address, code_hash)
        if there and site.node.network_id != LOCAL:
            raise BadSubmission(SubmissionReason.HAS_ABI)
        if not there and contract_rows.count_supplied(db) >= MAX_ABIS:
            raise BadSubmission(SubmissionReason.TOO_MANY_ABIS, maximum=MAX_ABIS)
        contract_rows.supply(
            db,
            address,
            code_hash,
            name=name[:200],
            abi=msgspec.json.encode(abi).decode(),
            now=datetime.now(UTC),
        )


def _abi(text: str) -> Any:
    if len(text) > MAX_ABI:
        raise BadSubmission(SubmissionReason.NO_ABI, cause=f"it has more than {MAX_ABI} characters")
    try:
        json_limits.verify(text.encode("utf-8", "surrogatepass"))
        abi = msgspec.json.decode(text)
        read_functions(abi)
    except MalformedAbi as error:
        raise BadSubmission(SubmissionReason.NO_ABI, cause=str(error)) from error
    except (TooManyValues, TooDeep) as error:
        raise BadSubmission(
            SubmissionReason.NO_ABI,
            cause=f"it has more than {MAX_VALUES} values, or {MAX_DEPTH} levels",
        ) from error
    except (msgspec.DecodeError, RecursionError, ValueError) as error:
        raise BadSubmission(SubmissionReason.NO_ABI, cause="it is not JSON") from error
    return abi

"""Accepts ABIs for contracts without sources. They are unproven, so they are used for names only."""

from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from chaindb.locks import Lock
from explorer_app.names.abi_json import MalformedAbi
from explorer_app.names.functions import read_functions
from explorer_app.services.verification import code_hash_at
from explorer_app.site import Explorer
from explorer_app.store import contracts as contract_rows
from explorer_app.verification.errors import HasAbi, HasSources, NoAbi, TooManyAbis
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
        NoAbi: The text is not an ABI.
        HasSources: The contract is verified.
        HasAbi: The contract already has an ABI.
        TooManyAbis: The limit of supplied ABIs is reached.
    """
    abi = _abi(text)
    code_hash = code_hash_at(site, address)
    db = site.evm.db
    with db.atomic(durable=True):
        db.acquire(Lock.VERIFICATION)
        if contract_rows.contract(db, address, code_hash) is not None:
            raise HasSources
        there = contract_rows.is_supplied(db, address, code_hash)
        if there and site.node.network_id != LOCAL:
            raise HasAbi
        if not there and contract_rows.count_supplied(db) >= MAX_ABIS:
            raise TooManyAbis(MAX_ABIS)
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
        raise NoAbi(f"it has more than {MAX_ABI} characters")
    try:
        json_limits.verify(text.encode("utf-8", "surrogatepass"))
        abi = msgspec.json.decode(text)
        read_functions(abi)
    except MalformedAbi as error:
        raise NoAbi(str(error)) from error
    except (TooManyValues, TooDeep) as error:
        raise NoAbi(f"it has more than {MAX_VALUES} values, or {MAX_DEPTH} levels") from error
    except (msgspec.DecodeError, RecursionError, ValueError) as error:
        raise NoAbi("it is not JSON") from error
    return abi

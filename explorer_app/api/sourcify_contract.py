"""A verified contract in Sourcify's format: the members that are always present, and the requested ones."""

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC
from typing import Any, Final

import msgspec

from explorer_app.selectors import accounts, proxies, verified
from explorer_app.services import indexes
from explorer_app.site import Explorer
from primitives.evm import Address
from primitives.hashing import keccak256
from primitives.hexadecimal import checksum_address


class FieldsUnknown(Exception):
    """There is no field with this name."""

    def __init__(self, name: str) -> None:
        super().__init__(f"There is no field {name[:64]!r}")


def nothing(chain: str, address: Address) -> dict[str, Any]:
    """Return the answer for a contract that is not verified."""
    return {
        "match": None, "creationMatch": None, "runtimeMatch": None,
        "chainId": chain, "address": checksum_address(address),
    }  # fmt: skip


def minimal(chain: str, address: Address, row: Any) -> dict[str, Any]:
    """Return the members that are always present in the answer for a verified contract."""
    matches = {row.runtime_match, row.creation_match}
    return {
        "match": "exact_match" if "exact_match" in matches else "match",
        "creationMatch": row.creation_match,
        "runtimeMatch": row.runtime_match,
        "chainId": chain,
        "address": checksum_address(address),
        "verifiedAt": row.verified_at.astimezone(UTC)
        .isoformat(timespec="seconds")
        .replace("+00:00", "Z"),
        "matchId": str(row.pk),
    }


class _Shown:
    """A contract whose fields are requested."""

    def __init__(self, site: Explorer, address: Address, row: Any) -> None:
        self.site = site
        self.address = address
        self.row = row
        self.input: Mapping[str, Any] = msgspec.json.decode(row.input)
        self.artifacts: Mapping[str, Any] = msgspec.json.decode(row.artifacts)


def fields_of(site: Explorer, address: Address, row: Any, names: Iterable[str]) -> dict[str, Any]:
    """Return fields of a contract; for `outer.inner` only the inner one.

    Raises:
        FieldsUnknown: There is no such field.
    """
    shown = _Shown(site, address, row)
    values: dict[str, Any] = {}
    fields: dict[str, Any] = {}
    for name in names:
        outer, _, inner = name.partition(".")
        if outer not in FIELDS:
            raise FieldsUnknown(name)
        if (
            outer not in values
        ):  # once per field, even if it is requested several times: some execute a transaction
            values[outer] = FIELDS[outer](shown)
        value = values[outer]
        if not inner:
            fields[outer] = value
        elif isinstance(value, Mapping) and inner in value:
            fields.setdefault(outer, {})[inner] = value[inner]
        else:
            raise FieldsUnknown(name)
    return fields


def _creation_bytecode(shown: _Shown) -> dict[str, Any]:
    creation = indexes.creation(shown.site, shown.address)
    code = accounts.init_code(shown.site.evm, shown.site.executing, shown.address, creation)
    return {"onchainBytecode": None if code is None else "0x" + code.hex()}


def _runtime_bytecode(shown: _Shown) -> dict[str, Any]:
    code = accounts.account(shown.site.evm, shown.address).code
    values = {
        "libraries": msgspec.json.decode(shown.row.libraries),
        "immutables": msgspec.json.decode(shown.row.immutables),
    }
    return {"onchainBytecode": "0x" + code.hex(), "transformationValues": values}


def _deployment(shown: _Shown) -> dict[str, Any]:
    creation = indexes.creation(shown.site, shown.address)
    if creation is None:
        names = ("transactionHash", "blockNumber", "transactionIndex", "deployer")
        return dict.fromkeys(names)
    row = creation.transaction
    return {
        "transactionHash": "0x" + row.hash.hex(),
        "blockNumber": str(row.number),
        "transactionIndex": str(row.position),
        "deployer": checksum_address(creation.factory or row.sender),
    }


def _compilation(shown: _Shown) -> dict[str, Any]:
    row = shown.row
    return {
        "language": row.language,
        "compiler": "solc",
        "compilerVersion": row.compiler,
        "compilerSettings": shown.input["settings"],
        "name": row.name,
        "fullyQualifiedName": f"{row.path}:{row.name}",
    }


def _source_ids(shown: _Shown) -> dict[str, Any]:
    """Return the IDs of the sources: their indexes in the order in which a compiler numbers them."""
    return {path: {"id": index} for index, path in enumerate(sorted(shown.input["sources"]))}


def _signatures(shown: _Shown) -> dict[str, list[dict[str, str]]]:
    abi = verified.read_abi_text(shown.row.abi)
    kinds = {"function": abi.functions, "event": abi.events, "error": abi.errors}
    return {
        kind: [
            {
                "signature": contract.signature,
                "signatureHash32": "0x" + keccak256(contract.signature.encode()).hex(),
                "signatureHash4": "0x" + contract.selector.hex(),
            }
            for contract in declarations
        ]
        for kind, declarations in kinds.items()
    }


def _proxy(shown: _Shown) -> dict[str, Any]:
    proxy = proxies.proxy(shown.site.evm, shown.address)
    if proxy is None:
        return {"isProxy": False, "proxyType": None, "implementations": []}
    names = verified.own_names(shown.site.evm, proxy.implementations)
    named = [
        {"address": checksum_address(implementation)}
        | ({"name": names[implementation]} if implementation in names else {})
        for implementation in proxy.implementations
    ]
    return {"isProxy": True, "proxyType": f"{proxy.kind}Proxy", "implementations": named}


FIELDS: Final[Mapping[str, Callable[[_Shown], Any]]] = {
    "creationBytecode": _creation_bytecode,
    "runtimeBytecode": _runtime_bytecode,
    "deployment": _deployment,
    "sources": lambda shown: shown.input["sources"],
    "compilation": _compilation,
    "abi": lambda shown: msgspec.json.decode(shown.row.abi),
    "metadata": lambda shown: msgspec.json.decode(shown.row.metadata or "null"),
    "storageLayout": lambda shown: shown.artifacts.get("storageLayout"),
    "userdoc": lambda shown: shown.artifacts.get("userdoc"),
    "devdoc": lambda shown: shown.artifacts.get("devdoc"),
    "sourceIds": _source_ids,
    "stdJsonInput": lambda shown: shown.input,
    "signatures": _signatures,
    "proxyResolution": _proxy,
}  # fmt: skip
"""The fields that can be requested. `stdJsonOutput` is not supported: the compiler's whole output is not stored."""

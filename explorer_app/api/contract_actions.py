"""Etherscan's module `contract`: ABIs, sources, creations, and verifications."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from explorer_app.api.endpoint import when_over
from explorer_app.api.replies import ActionError, ActionReason, ActionReply, Query, text_of
from explorer_app.selectors import accounts, proxies, verified
from explorer_app.selectors.verified import CodeInfo, ContractsTooLong, ListedContract
from explorer_app.services import indexes, supplied_abis, verification
from explorer_app.verification.errors import (
    AlreadyVerified,
    BadSubmission,
    NotDeployed,
    SubmittedAlready,
    TooManyWaiting,
    VerificationReason,
)
from explorer_app.verification.submission import from_form
from primitives.evm import Address

NOT_VERIFIED: Final = "Contract source code not verified"
ALREADY: Final = "Contract source code already verified"
PENDING: Final = "Pending in queue"
PASSED: Final = "Pass - Verified"
FAILED: Final = "Fail - Unable to verify"
"""Clients compare this text exactly, and retry once."""
WRONG_ARGUMENTS: Final = f"{FAILED}. Please check for correct constructor argument"
BUSY: Final = "Max rate limit reached"
MAX_CREATIONS: Final = 5
MAX_LISTED: Final = 100
LICENSES: Final[Mapping[str, str]] = {
    "1": "None", "2": "Unlicense", "3": "MIT", "4": "GNU GPLv2", "5": "GNU GPLv3", "6": "GNU LGPLv2.1",
    "7": "GNU LGPLv3", "8": "BSD-2-Clause", "9": "BSD-3-Clause", "10": "MPL-2.0", "11": "OSL-3.0",
    "12": "Apache-2.0", "13": "GNU AGPLv3", "14": "BSL 1.1",
}  # fmt: skip
"""Names of licenses by the number that a submission contains."""
_PROXY_GUID: Final = "proxy-"


def getabi(query: Query) -> ActionReply:
    """Return the ABI of a contract as text: its own, that of a contract with the same code, or a supplied one."""
    info = verified.code_info(query.site.evm, query.address())
    text = None if info is None else info.abi_text
    return ActionReply.refusal(NOT_VERIFIED) if text is None else ActionReply.ok(text)


def getsourcecode(query: Query) -> ActionReply:
    """Return the sources of a contract, including sources of the same code, and whether it is a proxy."""
    address = query.address()
    evm = query.site.evm
    info = verified.code_info(evm, address)
    proxy = None if info is None else proxies.proxy(evm, address)
    target = "" if proxy is None else text_of(proxy.implementations[0])
    row = {**_sources(info), "Proxy": "0" if proxy is None else "1", "Implementation": target}
    return ActionReply.ok([row])


def getcontractcreation(query: Query) -> ActionReply:
    """Return creator and transaction of contracts; genesis contracts are only named as such, other addresses omitted."""
    created = [
        row
        for address in query.addresses("contractaddresses", MAX_CREATIONS)
        if (row := _creation(query, address)) is not None
    ]
    return ActionReply.ok(created or None)


def verifysourcecode(query: Query) -> ActionReply:
    """Queue sources for compilation, and return the GUID for status queries."""
    query.must_post()
    site = query.site
    address = query.address("contractaddress")
    try:
        verification.code_hash_at(site, address)  # fails early, before long sources are parsed
        submission = from_form(address, query.form, maximum=site.settings.source_limit)
        key = verification.submit(site, submission, client=query.client)
    except SubmittedAlready as waiting:
        return ActionReply.ok(waiting.values["key"])
    except NotDeployed:
        return ActionReply.refusal(f"Unable to locate ContractCode at {text_of(address)}")
    except AlreadyVerified:
        return ActionReply.refusal(ALREADY)
    except TooManyWaiting as refusal:
        return ActionReply.refusal(BUSY, reason=str(refusal))
    except BadSubmission as refusal:
        return ActionReply.refusal(str(refusal))
    return ActionReply.ok(key)


def checkverifystatus(query: Query) -> ActionReply:
    """Return the state of a verification; the reason is a separate member, because clients compare the whole result."""
    progress = when_over(query.site, query.text("guid"))
    if progress is None:
        return ActionReply.refusal("Unknown UID")
    if not progress.is_over:
        return ActionReply.refusal(PENDING)
    if progress.has_passed:
        return ActionReply.ok(PASSED)
    if progress.reason == VerificationReason.ALREADY_VERIFIED.code:
        return ActionReply.refusal("Already Verified")
    text = WRONG_ARGUMENTS if progress.reason == VerificationReason.OTHER_ARGUMENTS.code else FAILED
    return ActionReply.refusal(text, reason=progress.message)


def verifyproxycontract(query: Query) -> ActionReply:
    """Accept a proxy, and return the GUID for status queries.

    Unspecified: proxies are resolved on each request, so nothing is stored: the GUID contains the address.
    """
    query.must_post()
    address = query.address()
    expected = query.text("expectedimplementation").lower()
    return ActionReply.ok(_PROXY_GUID + address.hex() + expected.removeprefix("0x"))


def checkproxyverification(query: Query) -> ActionReply:
    """Return the implementation of a proxy, by the GUID of `verifyproxycontract`."""
    digits = query.text("guid").removeprefix(_PROXY_GUID)
    address, expected = digits[:40], digits[40:]
    query = query._replace(form={"address": "0x" + address})
    proxy = proxies.proxy(query.site.evm, query.address())
    names = (
        [] if proxy is None else [implementation.hex() for implementation in proxy.implementations]
    )
    if not names or (expected and expected not in names):
        return ActionReply.refusal(
            "A corresponding implementation contract was unfortunately not detected for the proxy address."
        )
    return ActionReply.ok(
        f"The proxy's (0x{address}) implementation contract is found at 0x{expected or names[0]} and is "
        "successfully updated."
    )


def listcontracts(query: Query) -> ActionReply:
    """Return verified contracts, the latest first, as Blockscout does: at most `MAX_LISTED` per page."""
    range_ = query.range(count=10, maximum=MAX_LISTED)
    try:
        rows = verified.listed_contracts(query.site.evm, skip=range_.skip, count=range_.maximum)
    except ContractsTooLong as error:
        raise ActionError(ActionReason.TOO_MUCH) from error
    return ActionReply.ok([_listed(row) for row in rows])


def supplyabi(query: Query) -> ActionReply:
    """Store an ABI for a contract without sources: `address`, `abi` (JSON), `contractname`.

    Unspecified: Etherscan has no such action; its name follows the style of the others. The ABI is used for names of
    calls, events and errors, and for getabi. The contract does not count as verified.
    """
    query.must_post()
    address = query.address()
    try:
        supplied_abis.supply_abi(
            query.site, address, query.text("abi"), name=query.text("contractname")
        )
    except NotDeployed:
        return ActionReply.refusal(f"Unable to locate ContractCode at {text_of(address)}")
    except BadSubmission as refusal:
        return ActionReply.refusal(str(refusal))
    return ActionReply.ok("ABI supplied, not verified")


def _sources(info: CodeInfo | None) -> dict[str, str]:
    contract = None if info is None else info.contract
    if info is None or contract is None:
        return dict(_NOTHING)
    input_json = msgspec.json.decode(contract.input)
    settings = input_json["settings"]
    optimizer = settings.get("optimizer") or {}
    sources = input_json["sources"]
    text = (
        next(iter(sources.values()))["content"]
        if contract.is_single_file
        else "{" + contract.input + "}"
    )
    libraries = msgspec.json.decode(contract.libraries)
    return {
        **_NOTHING,
        "SourceCode": text,
        "ABI": contract.abi,
        "ContractName": contract.name,
        "CompilerVersion": f"v{contract.compiler}",
        "CompilerType": "Solc-Json",
        "OptimizationUsed": "1" if optimizer.get("enabled") else "0",
        "Runs": str(optimizer.get("runs", 200)),
        "ConstructorArguments": "" if info.arguments is None else info.arguments.hex(),
        "EVMVersion": str(settings.get("evmVersion", "Default")),
        "Library": ";".join(f"{name}:{at}" for name, at in libraries.items()),
        "ContractFileName": contract.path,
        "LicenseType": LICENSES.get(contract.license, "Unknown"),
        "SimilarMatch": "" if info.similar is None else text_of(info.similar),
    }


_NOTHING: Final[Mapping[str, str]] = {
    "SourceCode": "", "ABI": NOT_VERIFIED, "ContractName": "", "CompilerVersion": "", "CompilerType": "",
    "OptimizationUsed": "", "Runs": "", "ConstructorArguments": "", "EVMVersion": "Default", "Library": "",
    "ContractFileName": "", "LicenseType": "Unknown", "Proxy": "0", "Implementation": "", "SwarmSource": "",
    "SimilarMatch": "",
}  # fmt: skip


def _creation(query: Query, address: Address) -> dict[str, Any] | None:
    evm = query.site.evm
    creation = indexes.creation(query.site, address)
    if creation is None:
        if not accounts.is_of_genesis(evm, address):
            return None
        return {
            "contractAddress": text_of(address), "contractCreator": "GENESIS", "txHash": "GENESIS",
            "blockNumber": "0", "timestamp": str(evm.genesis.timestamp), "contractFactory": "",
            "creationBytecode": "",
        }  # fmt: skip
    code = accounts.init_code(evm, query.site.executing, address, creation)
    row = creation.transaction
    return {
        "contractAddress": text_of(address),
        "contractCreator": text_of(row.sender),
        "txHash": text_of(row.hash),
        "blockNumber": str(row.number),
        "timestamp": str(row.timestamp),
        "contractFactory": "" if creation.factory is None else text_of(creation.factory),
        "creationBytecode": "" if code is None else text_of(code),
    }


def _listed(row: ListedContract) -> dict[str, str]:
    return {
        "Address": text_of(row.address),
        "ABI": row.abi,
        "ContractName": row.name,
        "CompilerVersion": f"v{row.compiler}",
        "OptimizationUsed": "1" if row.is_optimized else "0",
    }


ACTIONS: Final = {
    action.__name__: action
    for action in (
        getabi,
        getsourcecode,
        getcontractcreation,
        verifysourcecode,
        checkverifystatus,
        verifyproxycontract,
        checkproxyverification,
        listcontracts,
        supplyabi,
    )
}

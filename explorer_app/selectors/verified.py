"""Contracts with known sources or ABIs, and verifications: for pages, and for decoding by an ABI."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

import msgspec
from django.db.models import QuerySet

from cchain_app.chain import EvmChain
from cchain_app.selectors import blocks
from cchain_app.selectors.state import prefetch_accounts, state_at, stored_code_hashes
from explorer_app.models import SuppliedAbi, Verification, VerificationState, VerifiedContract
from explorer_app.names.abi_json import MalformedAbi, read_abi
from explorer_app.names.book import NO_ABI, Abi
from explorer_app.selectors import accounts, proxies
from explorer_app.tokens.strings import search_key
from explorer_app.verification.comparing import Match
from primitives.evm import Address, Hash
from primitives.hashing import EMPTY_HASH, keccak256

PAGE: Final = 25
MAX_ABI: Final = 1_000_000
"""Limit of characters of the ABIs of all of a contract's facets."""
MAX_LISTED_ABIS: Final = 300_000
"""Limit of characters of the ABIs that are read for a list of transactions."""
MAX_LISTED: Final = 25_000_000
"""Limit of characters that are read for a list of contracts with their compilers."""

# Building this query by the ORM takes ten times as long as the database needs, and a page runs it twice.
_BEST: Final = """
SELECT code_hash, {column} FROM explorer_app_verifiedcontract WHERE id IN (
    SELECT COALESCE(MIN(id) FILTER (WHERE runtime_match = %s), MIN(id) FILTER (WHERE runtime_match IS NOT NULL))
    FROM explorer_app_verifiedcontract WHERE code_hash IN ({keys}) GROUP BY code_hash
)
"""


class CodeInfo(NamedTuple):
    """The sources or the ABI of the code at an address."""

    address: Address
    """The requested address."""
    code_hash: Hash
    contract: VerifiedContract | None
    """The sources; they may have been verified at another address with the same code."""
    supplied: SuppliedAbi | None
    """A supplied ABI; only used for addresses without sources."""

    @property
    def similar(self) -> Address | None:
        """The other address at which the sources were verified; None if it is this address."""
        if self.contract is None or bytes(self.contract.address) == self.address:
            return None
        return Address(bytes(self.contract.address))

    @property
    def arguments(self) -> bytes | None:
        """This contract's constructor arguments; None if unknown: those of another address are not used."""
        if self.contract is None or self.similar is not None:
            return None
        arguments: bytes | None = self.contract.arguments
        return arguments

    @property
    def abi_text(self) -> str | None:
        """The ABI as JSON, or None."""
        if self.contract is not None:
            return self.contract.abi
        return None if self.supplied is None else self.supplied.abi

    @property
    def abi(self) -> Abi:
        """The ABI as declarations; empty if the ABI is unknown."""
        return NO_ABI if self.abi_text is None else read_abi_text(self.abi_text)


def code_info(chain: EvmChain, address: Address) -> CodeInfo | None:
    """Return the sources or ABI of the contract that is currently at an address; None if there is no code."""
    account = accounts.account(chain, address)
    if not account.is_contract:
        return None
    return code_info_of(chain, address, Hash(keccak256(account.code)))


def code_info_of(chain: EvmChain, address: Address, code_hash: Hash) -> CodeInfo:
    """Return the sources or ABI for an address and the hash of its code."""
    rows = chain.db.objects(VerifiedContract).filter(code_hash=code_hash)
    contract = rows.filter(address=address).first() or _best(chain, code_hash)
    supplied = None
    if contract is None:
        abis = chain.db.objects(SuppliedAbi).filter(address=address, code_hash=code_hash)
        supplied = abis.first()
    return CodeInfo(address, code_hash, contract, supplied)


def own_contract(chain: EvmChain, address: Address) -> VerifiedContract | None:
    """Return the sources that were verified at this address itself; None if there are none."""
    info = code_info(chain, address)
    return None if info is None or info.similar is not None else info.contract


def abi_of(chain: EvmChain, address: Address) -> Abi:
    """Return the ABI for decoding calls, events and errors of an address; empty if nothing is known.

    For a proxy the implementation's ABI comes first, then its own. A contract without verified sources has the ABI
    of a contract with the same code, else a supplied one. Facets of a diamond are included while their ABIs have
    together at most `MAX_ABI` characters.
    """
    if not accounts.account(chain, address).is_contract:
        return NO_ABI
    targets = proxies.implementations(chain, address)
    texts = _abi_texts(chain, _code_hashes(chain, [*targets, address]))
    own = texts.get(address, "")
    read: list[Abi] = []
    left = MAX_ABI
    for target in targets:
        left -= len(texts.get(target, ""))
        if target != address and target in texts and left >= 0:
            read.append(read_abi_text(texts[target]))
    if own:
        read.append(read_abi_text(own))
    return _joined(read)


def _joined(abis: Sequence[Abi]) -> Abi:
    """Return the declarations of several ABIs; those of the first one come first."""
    return Abi(
        tuple(function for abi in abis for function in abi.functions),
        tuple(event for abi in abis for event in abi.events),
        tuple(error for abi in abis for error in abi.errors),
    )


def own_names(chain: EvmChain, addresses: Sequence[Address]) -> dict[Address, str]:
    """Return the names of contracts that were verified at these addresses themselves."""
    hashes = _code_hashes(chain, addresses)
    return _column(chain.db.objects(VerifiedContract), hashes, "name")


def names(chain: EvmChain, hashes: Mapping[Address, Hash]) -> dict[Address, str]:
    """Return the names of contracts with sources, also of those with the same code as others, in two statements.

    Args:
        chain: The chain.
        hashes: Contracts with the hashes of their codes.
    """
    return _of_sources(chain, hashes, "name")


def abis(chain: EvmChain, addresses: Collection[Address]) -> dict[Address, Abi]:
    """Return the ABIs of many contracts for a list, in few statements, each with that of its implementation first.

    Contracts without a known ABI have an empty one; addresses without code are omitted.

    Unspecified: implementations are those of `proxies.stored_targets`. ABIs are included while they have together at
    most `MAX_LISTED_ABIS` characters.
    """
    hashes = stored_code_hashes(chain, addresses)
    if not hashes:
        return {}
    stored = proxies.stored_targets(chain, hashes)
    targets = {address: target.address for address, target in stored.items()}
    others = stored_code_hashes(chain, set(targets.values()) - set(hashes)) if targets else {}
    texts = _abi_texts(chain, {**hashes, **others})
    read: dict[str, Abi] = {}
    left = MAX_LISTED_ABIS
    for text in texts.values():
        left -= 0 if text in read else len(text)
        if left >= 0 and text not in read:
            read[text] = read_abi_text(text)
    by_address = {at: read[text] for at, text in texts.items() if text in read}
    return {
        address: _joined(
            [by_address[at] for at in (targets.get(address), address) if at in by_address]
        )
        for address in hashes
    }


def _abi_texts(chain: EvmChain, hashes: Mapping[Address, Hash]) -> dict[Address, str]:
    """Return the ABIs of contracts as JSON, with the same number of statements for several as for one."""
    abis = _of_sources(chain, hashes, "abi")
    others = {at: code for at, code in hashes.items() if at not in abis}
    return abis | _column(chain.db.objects(SuppliedAbi), others, "abi")


def _of_sources(chain: EvmChain, hashes: Mapping[Address, Hash], column: str) -> dict[Address, str]:
    """Return a column of the sources of contracts: their own, else the best ones for their code."""
    own = _column(chain.db.objects(VerifiedContract), hashes, column)
    others = {at: code for at, code in hashes.items() if at not in own}
    best = _best_of(chain, set(others.values()), column)
    return own | {at: best[code] for at, code in others.items() if code in best}


def _best_of(chain: EvmChain, hashes: Collection[Hash], column: str) -> dict[Hash, str]:
    """Return a column of the best sources for some codes, by the same order as `_best`."""
    query = _BEST.replace("{column}", column)
    rows = chain.db.rows_by_keys(query, list(hashes), (Match.EXACT.value,))
    return {Hash(bytes(code)): text for code, text in rows}


def _code_hashes(chain: EvmChain, addresses: Sequence[Address]) -> dict[Address, Hash]:
    """Return the code hashes of the contracts that are currently at addresses; addresses without code are omitted."""
    head = blocks.head(chain).number
    prefetch_accounts(chain, addresses, head)
    state = state_at(chain, head)
    accounts_at = {address: state.account(address) for address in addresses}
    return {
        at: Hash(account.code_hash)
        for at, account in accounts_at.items()
        if account is not None and account.code_hash != EMPTY_HASH
    }


def _column(rows: QuerySet[Any], hashes: Mapping[Address, Hash], name: str) -> dict[Address, str]:
    """Return a column of the rows for addresses with these code hashes."""
    if not hashes:
        return {}
    near = rows.filter(address__in=list(hashes), code_hash__in=set(hashes.values()))
    values: dict[Address, str] = {}
    for at, code, value in near.order_by().values_list("address", "code_hash", name):
        if hashes[Address(bytes(at))] == bytes(code):
            values[Address(bytes(at))] = value
    return values


def contracts(
    chain: EvmChain, *, before: int | None = None, count: int = PAGE
) -> list[VerifiedContract]:
    """Return contracts with sources before a key, the last verified first; only with columns about the match."""
    rows = chain.db.objects(VerifiedContract).only(
        "address", "runtime_match", "creation_match", "verified_at"
    )
    if before is not None:
        rows = rows.filter(id__lt=before)
    return list(rows.order_by("-id")[:count])


def named(chain: EvmChain, text: str, *, count: int) -> list[VerifiedContract]:
    """Return contracts with sources whose name begins with a text, ignoring case and spaces; shorter names first.

    Contracts with the same name are ordered by verification. Long columns are not loaded.
    """
    key = search_key(text)
    if key is None:
        return []
    rows = chain.db.objects(VerifiedContract).filter(name_key__gte=key, name_key__lt=key + b"\xff")
    return list(rows.only("address", "name").order_by("name_key", "id")[:count])


class ListedContract(NamedTuple):
    """A contract with sources, with the columns of Blockscout's list."""

    address: Address
    name: str
    compiler: str
    abi: str
    """As JSON."""
    is_optimized: bool


class ContractsTooLong(Exception):
    """The contracts of the list have more characters than are read for it."""


class _CompilerInput(msgspec.Struct):
    """The part of a standard JSON input that is needed."""

    settings: dict[str, Any] = {}


def listed_contracts(chain: EvmChain, *, skip: int, count: int) -> list[ListedContract]:
    """Return contracts with sources, the last verified first. Only one input is in memory at a time.

    Raises:
        ContractsTooLong: Inputs and ABIs have more than `MAX_LISTED` characters.
    """
    rows = chain.db.objects(VerifiedContract).order_by("-id")
    columns = rows.values_list("address", "name", "compiler", "abi", "input")
    contracts: list[ListedContract] = []
    size = 0
    for address, name, compiler, abi, input_json in columns[skip : skip + count].iterator(
        chunk_size=1
    ):
        size += len(abi) + len(input_json)
        if size > MAX_LISTED:
            raise ContractsTooLong
        optimizer = (
            msgspec.json.decode(input_json, type=_CompilerInput).settings.get("optimizer") or {}
        )
        is_optimized = bool(optimizer.get("enabled"))
        contracts.append(ListedContract(Address(bytes(address)), name, compiler, abi, is_optimized))
    return contracts


class VerificationProgress(NamedTuple):
    """The state of a verification."""

    key: str
    address: Address
    state: VerificationState
    submitted_at: datetime
    finished_at: datetime | None
    reason: str
    """Sourcify's code of the failure."""
    message: str
    """The failure as a text for users."""
    details: str
    """As JSON."""
    contract: VerifiedContract | None
    """The verified contract, if the verification passed."""

    @property
    def is_over(self) -> bool:
        """Whether it has ended."""
        return self.state >= VerificationState.PASSED

    @property
    def has_passed(self) -> bool:
        """Whether the sources are the contract's."""
        return self.state == VerificationState.PASSED


def verification(chain: EvmChain, key: str) -> VerificationProgress | None:
    """Return the state of a verification by its GUID; None if it is unknown or was deleted."""
    if not key.isalnum():  # PostgreSQL rejects NUL characters
        return None
    rows = chain.db.objects(Verification).filter(pk=key).defer("input")
    row = rows.select_related("contract").first()
    if row is None:
        return None
    return VerificationProgress(
        row.id,
        Address(bytes(row.address)),
        VerificationState(row.state),
        row.submitted_at,
        row.finished_at,
        row.reason,
        row.message,
        row.details,
        row.contract,
    )


def is_over(chain: EvmChain, key: str) -> bool:
    """Return whether a verification has ended or is unknown."""
    rows = chain.db.objects(Verification).filter(pk=key, state__lt=VerificationState.PASSED)
    return not (key.isalnum() and rows.exists())


def _best(chain: EvmChain, code_hash: Hash) -> VerifiedContract | None:
    """Return the best sources for a code at any address: exact matches first, then the oldest."""
    rows = chain.db.objects(VerifiedContract).filter(code_hash=code_hash).order_by("id")
    exact = rows.filter(runtime_match=Match.EXACT.value).first()
    return exact or rows.filter(runtime_match__isnull=False).first()


def read_abi_text(text: str) -> Abi:
    """Return an ABI as declarations; empty if it is malformed."""
    try:
        return read_abi(msgspec.json.decode(text))
    except MalformedAbi:
        return NO_ABI


def any_waits(chain: EvmChain) -> bool:
    """Return whether any verification is pending or running."""
    rows = chain.db.objects(Verification).filter(state__lt=VerificationState.PASSED)
    return rows.exists()

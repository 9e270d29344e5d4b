"""Reads and writes verified contracts, supplied ABIs and verifications."""

from datetime import datetime
from typing import NamedTuple

import msgspec
from django.db.models import F, QuerySet

from chaindb.database import Database
from explorer_app.models import SuppliedAbi, Verification, VerificationState, VerifiedContract
from explorer_app.tokens.strings import search_key
from explorer_app.verification.attempts import VerificationResult
from explorer_app.verification.comparing import placed
from explorer_app.verification.compilers import CompilerVersion
from explorer_app.verification.errors import Refusal
from explorer_app.verification.submission import Submission
from primitives.evm import Address, Hash

_OPEN = VerificationState.PASSED
"""States below this one belong to verifications that are not finished."""
_MAX_WORDS = 10_000


class Job(NamedTuple):
    """A verification that a process is working on."""

    id: str
    code_hash: Hash
    submission: Submission
    submitted_at: datetime


def add(
    db: Database,
    key: str,
    submission: Submission,
    *,
    digest: bytes,
    code_hash: Hash,
    client: str,
    now: datetime,
) -> None:
    """Add a pending verification. The caller holds the lock and the transaction."""
    db.objects(Verification).create(
        id=key,
        digest=digest,
        address=submission.address,
        code_hash=code_hash,
        client=client[:64],
        input=_json(submission.input),
        compiler=submission.version.long,
        path=submission.path,
        name=submission.name,
        arguments=submission.arguments,
        is_single_file=submission.is_single_file,
        knows_evm_version=submission.knows_evm_version,
        license=submission.license,
        state=VerificationState.WAITING,
        worker="",
        tries=0,
        submitted_at=now,
        reason="",
        message="",
        details="{}",
    )


def has_open(db: Database) -> bool:
    """Return whether any verification is unfinished."""
    return _open(db).exists()


def open_with(db: Database, digest: bytes) -> str | None:
    """Return the key of an unfinished verification of an identical submission, or None."""
    return _open(db).filter(digest=digest).values_list("id", flat=True).first()


def count_open(db: Database, client: str | None = None) -> int:
    """Return the number of unfinished verifications, in total or of one client."""
    open_jobs = _open(db)
    return open_jobs.count() if client is None else open_jobs.filter(client=client[:64]).count()


def forget_before(db: Database, moment: datetime) -> None:
    """Delete verifications that finished before a time. The caller holds the transaction."""
    db.objects(Verification).filter(finished_at__lt=moment).delete()


def take(db: Database, worker: str, now: datetime) -> Job | None:
    """Assign the oldest pending verification to a process; those that were started before come last.

    The caller holds the lock and the transaction.
    """
    waiting = _open(db).filter(state=VerificationState.WAITING)
    row = waiting.order_by(F("started_at").asc(nulls_first=True), "submitted_at", "id").first()
    if row is None:
        return None
    row.state, row.worker, row.started_at = VerificationState.RUNNING, worker, now
    row.tries += 1
    row.save(update_fields=["state", "worker", "started_at", "tries"])
    return Job(row.id, Hash(bytes(row.code_hash)), _submission(row), row.submitted_at)


def count_running(db: Database) -> int:
    """Return the number of verifications in state running."""
    return _open(db).filter(state=VerificationState.RUNNING).count()


def give_back(db: Database, *, started_before: datetime | None = None) -> None:
    """Return abandoned verifications to the queue. The caller holds the transaction.

    Args:
        db: The database.
        started_before: Only verifications that a process took before this time; None for all.
    """
    running = _open(db).filter(state=VerificationState.RUNNING)
    if started_before is not None:
        running = running.filter(started_at__lt=started_before)
    running.update(state=VerificationState.WAITING)


def put_back(db: Database, key: str) -> None:
    """Return a verification to the queue without counting the attempt. The caller holds the transaction."""
    running = _open(db).filter(pk=key, state=VerificationState.RUNNING)
    running.update(state=VerificationState.WAITING, tries=F("tries") - 1)


def tries_of(db: Database, key: str) -> int:
    """Return the number of attempts at a verification."""
    tries = db.objects(Verification).filter(pk=key).values_list("tries", flat=True).first()
    return tries or 0


def fail(db: Database, key: str, refusal: Refusal, now: datetime) -> None:
    """Record the failure of a verification, and drop its input. The caller holds the transaction."""
    db.objects(Verification).filter(pk=key).update(
        input="",
        state=VerificationState.FAILED,
        finished_at=now,
        reason=refusal.code,
        message=printable(str(refusal)),
        details=_json(refusal.data),
    )


def succeed(db: Database, key: str, contract: VerifiedContract, now: datetime) -> None:
    """Record the success of a verification, and drop its input. The caller holds the transaction."""
    db.objects(Verification).filter(pk=key).update(
        input="", state=VerificationState.PASSED, finished_at=now, contract=contract
    )


def write_contract(
    db: Database, job: Job, verified: VerificationResult, version: CompilerVersion, now: datetime
) -> VerifiedContract:
    """Add or replace a contract's sources. The caller holds the lock and the transaction."""
    compiled, comparison = verified.compiled, verified.comparison
    filled = dict(placed(comparison))
    contract, _ = db.objects(VerifiedContract).update_or_create(
        address=job.submission.address,
        code_hash=job.code_hash,
        defaults={
            "runtime_match": comparison.runtime and comparison.runtime.value,
            "creation_match": comparison.creation and comparison.creation.value,
            "name": printable(compiled.name),
            "name_key": search_key(printable(compiled.name)),
            "path": printable(compiled.path),
            "language": verified.input["language"],
            "compiler": version.long,
            "input": _json(verified.input),
            "is_single_file": job.submission.is_single_file,
            "note": verified.note,
            "abi": _json(compiled.abi),
            "metadata": printable(compiled.metadata, len(compiled.metadata)),
            "artifacts": _json(compiled.others),
            "arguments": comparison.arguments,
            "libraries": _json(filled["libraries"]),
            "immutables": _json(filled["immutables"]),
            "license": job.submission.license,
            "verified_at": now,
        },
    )
    return contract


def contract(db: Database, address: Address, code_hash: Hash) -> VerifiedContract | None:
    """Return the sources of the contract at an address with this code, or None."""
    return db.objects(VerifiedContract).filter(address=address, code_hash=code_hash).first()


def supply(
    db: Database, address: Address, code_hash: Hash, *, name: str, abi: str, now: datetime
) -> None:
    """Add or replace a supplied ABI. The caller holds the lock and the transaction."""
    db.objects(SuppliedAbi).update_or_create(
        address=address,
        code_hash=code_hash,
        defaults={"name": printable(name), "abi": abi, "supplied_at": now},
    )


def is_supplied(db: Database, address: Address, code_hash: Hash) -> bool:
    """Return whether a contract has a supplied ABI."""
    return db.objects(SuppliedAbi).filter(address=address, code_hash=code_hash).exists()


def count_supplied(db: Database) -> int:
    """Return the number of supplied ABIs."""
    return db.objects(SuppliedAbi).count()


def _open(db: Database) -> QuerySet[Verification]:
    """Return the unfinished verifications. The condition matches the partial index, so finished rows cost nothing."""
    return db.objects(Verification).filter(state__lt=_OPEN)


def printable(text: str, maximum: int = _MAX_WORDS) -> str:
    """Return a text that every database accepts: without NUL and lone surrogates, and limited in length."""
    return text[:maximum].encode("utf-8", "replace").decode().replace("\0", "")


def _json(value: object) -> str:
    # JSON texts have no NUL (it is escaped) and no lone surrogates (they were rejected on input).
    return msgspec.json.encode(value).decode()


def _submission(row: Verification) -> Submission:
    return Submission(
        Address(bytes(row.address)),
        msgspec.json.decode(row.input),
        CompilerVersion.parse(row.compiler),
        row.path,
        row.name,
        None if row.arguments is None else bytes(row.arguments),
        is_single_file=row.is_single_file,
        knows_evm_version=row.knows_evm_version,
        license=row.license,
    )

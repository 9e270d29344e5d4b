"""The rows of verified contracts, supplied ABIs and verifications."""

from datetime import datetime
from typing import NamedTuple

import msgspec
from django.db.models import F, QuerySet

from chaindb.database import Database
from explorer_app.models import SuppliedAbi, Verification, VerificationState, VerifiedContract
from explorer_app.tokens.texts import search_key
from explorer_app.verification.attempts import Verified
from explorer_app.verification.comparing import placed
from explorer_app.verification.errors import Refusal
from explorer_app.verification.submission import Submission
from explorer_app.verification.versions import Version
from primitives.evm import Address, Hash

_OPEN = VerificationState.PASSED
"""States below it are those of what is not over."""
_MOST_WORDS = 10_000


class Job(NamedTuple):
    """A verification that a process has taken."""

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
    """Add a verification that waits. The caller holds the lock and the transaction."""
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
    """Say whether any verification is not over."""
    return _open(db).exists()


def open_with(db: Database, digest: bytes) -> str | None:
    """Return the key of a verification of the very same that is not over, or None."""
    return _open(db).filter(digest=digest).values_list("id", flat=True).first()


def count_open(db: Database, client: str | None = None) -> int:
    """Return how many verifications are not over, of all or of one client."""
    found = _open(db)
    return found.count() if client is None else found.filter(client=client[:64]).count()


def forget_before(db: Database, moment: datetime) -> None:
    """Delete verifications that were over before a moment. The caller holds the transaction."""
    db.objects(Verification).filter(finished_at__lt=moment).delete()


def take(db: Database, worker: str, now: datetime) -> Job | None:
    """Let a process have the verification that has waited longest, those last that were begun before.

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
    """Return how many verifications a process is at."""
    return _open(db).filter(state=VerificationState.RUNNING).count()


def give_back(db: Database, *, started_before: datetime | None = None) -> None:
    """Let verifications wait again that nobody is at any more. The caller holds the transaction.

    Args:
        db: Where they are.
        started_before: Those are meant that a process took so long ago; without, all.
    """
    found = _open(db).filter(state=VerificationState.RUNNING)
    if started_before is not None:
        found = found.filter(started_at__lt=started_before)
    found.update(state=VerificationState.WAITING)


def put_back(db: Database, key: str) -> None:
    """Let a verification wait again that could not be tried, which is no try. The caller holds the transaction."""
    running = _open(db).filter(pk=key, state=VerificationState.RUNNING)
    running.update(state=VerificationState.WAITING, tries=F("tries") - 1)


def tries_of(db: Database, key: str) -> int:
    """Return how often a process took a verification."""
    found = db.objects(Verification).filter(pk=key).values_list("tries", flat=True).first()
    return found or 0


def fail(db: Database, key: str, refusal: Refusal, now: datetime) -> None:
    """Write why a verification failed, and drop its input. The caller holds the transaction."""
    db.objects(Verification).filter(pk=key).update(
        input="",
        state=VerificationState.FAILED,
        finished_at=now,
        reason=refusal.code,
        message=printable(str(refusal)),
        details=_json(refusal.data),
    )


def succeed(db: Database, key: str, contract: VerifiedContract, now: datetime) -> None:
    """Write that a verification has found a contract's sources, and drop its input. The caller holds the transaction."""
    db.objects(Verification).filter(pk=key).update(
        input="", state=VerificationState.PASSED, finished_at=now, contract=contract
    )


def write_contract(
    db: Database, job: Job, verified: Verified, version: Version, now: datetime
) -> VerifiedContract:
    """Write a contract's sources in the place of those that are there. The caller holds the lock and the transaction."""
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
    """Return what is known of the contract at an address with this code."""
    return db.objects(VerifiedContract).filter(address=address, code_hash=code_hash).first()


def supply(
    db: Database, address: Address, code_hash: Hash, *, name: str, abi: str, now: datetime
) -> None:
    """Write an ABI in the place of the one that is there. The caller holds the lock and the transaction."""
    db.objects(SuppliedAbi).update_or_create(
        address=address,
        code_hash=code_hash,
        defaults={"name": printable(name), "abi": abi, "supplied_at": now},
    )


def is_supplied(db: Database, address: Address, code_hash: Hash) -> bool:
    """Say whether somebody gave an ABI for a contract."""
    return db.objects(SuppliedAbi).filter(address=address, code_hash=code_hash).exists()


def count_supplied(db: Database) -> int:
    """Return how many ABIs were given."""
    return db.objects(SuppliedAbi).count()


def _open(db: Database) -> QuerySet[Verification]:
    """Those that are not over. The index of them serves whatever names its condition, however many are over."""
    return db.objects(Verification).filter(state__lt=_OPEN)


def printable(text: str, most: int = _MOST_WORDS) -> str:
    """Return a text that every database takes: without NUL and halves of characters, and bounded."""
    return text[:most].encode("utf-8", "replace").decode().replace("\0", "")


def _json(value: object) -> str:
    # Its texts have no NUL (it is escaped there) and no halves of characters (they were refused when read).
    return msgspec.json.encode(value).decode()


def _submission(row: Verification) -> Submission:
    return Submission(
        Address(bytes(row.address)),
        msgspec.json.decode(row.input),
        Version.parse(row.compiler),
        row.path,
        row.name,
        None if row.arguments is None else bytes(row.arguments),
        is_single_file=row.is_single_file,
        knows_evm_version=row.knows_evm_version,
        license=row.license,
    )

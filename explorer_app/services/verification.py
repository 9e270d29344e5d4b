"""Verifying contracts: taking submissions, working them off one after the other.

A submission that was taken survives the end of the process: whoever worked on it has it again after that.
"""

import hashlib
import logging
import time
import uuid
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import msgspec
from celery import current_app
from django.db import transaction

from cchain_app.forking.errors import UpstreamError
from chaindb.locks import Lock
from explorer_app.selectors import accounts, creations
from explorer_app.site import VERIFY, Explorer
from explorer_app.store import contracts as rows
from explorer_app.store.contracts import Job
from explorer_app.verification.attempts import Verified, verify
from explorer_app.verification.comparing import Match, OnChain
from explorer_app.verification.errors import (
    AlreadyVerified,
    GivenUp,
    NotDeployed,
    Refusal,
    StateUnknown,
    SubmittedAlready,
    TooManyOfClient,
    TooManyWaiting,
)
from explorer_app.verification.submission import Submission
from explorer_app.verification.versions import Version
from primitives.evm import Address, Hash
from primitives.hashing import keccak256

KEPT: Final = timedelta(days=1)
"""So long verifications that are over can be asked for."""
MOST_TRIES: Final = 3
"""So often a verification is begun again whose process has ended in its midst."""
PATIENCE: Final = timedelta(minutes=10)
"""So long after its submission a verification waits for a fork's remote node that does not tell the state."""
_SLACK: Final = timedelta(seconds=30)

_log: Final = logging.getLogger(__name__)


def submit(
    site: Explorer,
    submission: Submission,
    *,
    client: str,
    both: bool = False,
) -> str:
    """Take a submission; it is compiled later.

    Unspecified: a client may have a tenth of what may wait, and the very same is not compiled twice at a time.

    Args:
        site: The explorer.
        submission: What was submitted.
        client: Who submits it.
        both: Whether only an exact match of both codes cannot become better, as Sourcify has it.

    Returns:
        The GUID by which to ask how it is.

    Raises:
        NotDeployed: There is no contract at the address.
        AlreadyVerified: It is verified, and no submission could match better.
        UnknownCompiler: The compiler is not installed.
        SubmittedAlready: The very same is waiting.
        TooManyWaiting: There is no room.
        TooManyOfClient: There is none for this client.
    """
    code_hash = code_hash_at(site, submission.address)
    site.compilers.require(submission.version)
    _verify_worth(site, submission.address, code_hash, both=both)
    digest = _digest(submission, code_hash)
    db, most, now = site.evm.db, site.settings.verifications, datetime.now(UTC)
    key = uuid.uuid4().hex
    with db.atomic(durable=True):
        db.acquire(Lock.VERIFICATION)
        rows.forget_before(db, now - KEPT)
        waiting = rows.open_with(db, digest)
        if waiting is not None:
            raise SubmittedAlready(waiting)
        if rows.count_open(db) >= most:
            raise TooManyWaiting(most)
        if rows.count_open(db, client) >= max(1, most // 10):
            raise TooManyOfClient(max(1, most // 10))
        rows.add(db, key, submission, digest=digest, code_hash=code_hash, client=client, now=now)
        transaction.on_commit(_request_work, using=db.alias, robust=True)
    return key


def work(site: Explorer, *, seconds: float) -> int:
    """Work verifications off, those that came first; return how many. None is begun after so many seconds.

    In the embedded profile the caller holds `site.verifying`: what is running then has been left by a process that
    ended, or by this one where its outcome could not be written.
    """
    until = time.monotonic() + seconds
    done = 0
    while (job := _take(site)) is not None:
        could_try = _do(site, job)
        done += 1
        if not could_try or time.monotonic() > until:
            break
    return done


def code_hash_at(site: Explorer, address: Address) -> Hash:
    """Return the hash of the code of the contract that is at an address now. Raises `NotDeployed`."""
    found = accounts.account(site.evm, address)
    if not found.is_contract:
        raise NotDeployed
    return Hash(keccak256(found.code))


def _verify_worth(site: Explorer, address: Address, code_hash: Hash, *, both: bool) -> None:
    there = rows.contract(site.evm.db, address, code_hash)
    if there is None:
        return
    exact = [one == Match.EXACT for one in (there.runtime_match, there.creation_match)]
    if all(exact) if both else any(exact):
        raise AlreadyVerified


def _digest(submission: Submission, code_hash: Hash) -> bytes:
    parts = (
        submission.input,
        submission.version,
        submission.full_name,
        submission.arguments,
        submission.license,
    )
    digest = hashlib.sha256(msgspec.json.encode(parts))
    digest.update(submission.address + code_hash)
    return digest.digest()


def _request_work() -> None:
    """Ask for work at once. If the broker is away the beat's tick asks for it."""
    try:
        current_app.signature(VERIFY).apply_async(expires=60)
    except Exception as error:  # whatever the broker says, the submission is stored
        _log.warning("the broker is away; the next tick begins the verification: %s", error)


def _take(site: Explorer) -> Job | None:
    """Take the next verification, unless another process is at one."""
    db, now = site.evm.db, datetime.now(UTC)
    if not rows.has_open(db):  # as most ticks find it: they take no lock and write nothing
        return None
    lease = timedelta(seconds=site.settings.solc_seconds) + _SLACK
    with db.atomic(durable=True):
        db.acquire(Lock.VERIFICATION)
        if site.settings.profile == "production":
            rows.give_back(db, started_before=now - lease)
        else:  # all is one process, and this thread alone is at any (`Explorer.verifying`)
            rows.give_back(db)
        if rows.count_running(db):
            return None
        return rows.take(db, site.worker, now)


def _do(site: Explorer, job: Job) -> bool:
    """Work on a verification. Return False where the next one may be as little tried now as this one."""
    if rows.tries_of(site.evm.db, job.id) > MOST_TRIES:
        _fail(site, job, GivenUp())
        return True
    found = _Run(site, job)
    try:
        verified = found.verify()
    except UpstreamError as error:
        _put_back(site, job, error)
        return False
    except Refusal as refusal:
        _fail(site, job, refusal)
    except Exception:
        _log.exception("a verification failed for a reason of the node's own")
        _fail(site, job, GivenUp())
    else:
        _write(site, job, verified, found.version)
    return True


class _Run:
    """One verification: what is at the address, and all compilations."""

    def __init__(self, site: Explorer, job: Job) -> None:
        self._site = site
        self._job = job
        self._until = time.monotonic() + site.settings.solc_seconds
        self.version: Version = job.submission.version
        """With the compiler's own commit, once it has run."""

    def verify(self) -> Verified:
        """Return what was found. Raises `VerificationFailed`, `UnknownCompiler` and, on a fork, `UpstreamError`."""
        return verify(self._job.submission, self._on_chain(), self._compile)

    def _on_chain(self) -> OnChain:
        evm, address = self._site.evm, self._job.submission.address
        found = accounts.account(evm, address)
        if not found.is_contract or keccak256(found.code) != self._job.code_hash:
            raise NotDeployed
        creation = creations.creation(evm, address)
        code = creations.init_code(evm, self._site.executing, address, creation, waits=True)
        return OnChain(found.code, code)

    def _compile(self, text: bytes) -> Any:
        made = self._site.compilers.compile(self._job.submission.version, text, until=self._until)
        self.version = made.version
        return made.output


def _put_back(site: Explorer, job: Job, error: UpstreamError) -> None:
    """Let a verification wait for the remote node, which each tick asks once more; at last it fails."""
    if datetime.now(UTC) - job.submitted_at > PATIENCE:
        _fail(site, job, StateUnknown(str(error)))
        return
    _log.warning("a verification waits for the remote node of the fork: %s", error)
    with site.evm.db.atomic(durable=True):
        rows.put_back(site.evm.db, job.id)


def _fail(site: Explorer, job: Job, refusal: Refusal) -> None:
    with site.evm.db.atomic(durable=True):
        rows.fail(site.evm.db, job.id, refusal, datetime.now(UTC))


def _write(site: Explorer, job: Job, verified: Verified, version: Version) -> None:
    """Write what was found, unless what is there is as good."""
    db, now = site.evm.db, datetime.now(UTC)
    with db.atomic(durable=True):
        db.acquire(Lock.VERIFICATION)
        there = rows.contract(db, job.submission.address, job.code_hash)
        if there is not None and _rank(there) >= verified.comparison.rank:
            rows.fail(db, job.id, AlreadyVerified(), now)
            return
        contract = rows.write_contract(db, job, verified, version, now)
        rows.succeed(db, job.id, contract, now)


def _rank(there: Any) -> tuple[int, int]:
    ranks = sorted(
        0 if one is None else Match(one).rank for one in (there.runtime_match, there.creation_match)
    )
    return ranks[1], ranks[0]

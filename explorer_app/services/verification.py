"""Verification of contracts: accepts submissions, and processes them one after the other.

An accepted submission survives the end of the process that works on it, and is then tried again.
"""

import hashlib
import logging
import time
import uuid
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, Final

import msgspec
from django.db import transaction

from cchain_app.forking.errors import UpstreamError
from cchain_app.services import calls
from chaindb.locks import Lock
from chaindb.wakeup import task_app
from explorer_app.selectors import accounts
from explorer_app.site import VERIFY, Explorer
from explorer_app.store import contracts as contract_rows
from explorer_app.store.contracts import Job
from explorer_app.verification.attempts import VerificationResult, verify
from explorer_app.verification.comparing import Match, OnChain
from explorer_app.verification.compilers import CompilerVersion
from explorer_app.verification.errors import (
    AlreadyVerified,
    NotDeployed,
    Refusal,
    SubmissionReason,
    SubmittedAlready,
    TooManyWaiting,
    VerificationFailed,
    VerificationReason,
)
from explorer_app.verification.submission import Submission
from primitives.evm import Address, Hash
from primitives.hashing import keccak256

KEPT: Final = timedelta(days=1)
"""Time for which finished verifications are kept."""
MAX_TRIES: Final = 3
"""Limit of attempts at a verification whose process ended before it was finished."""
PATIENCE: Final = timedelta(minutes=10)
"""Time after submission for which a verification waits for a fork's remote node to return the state."""
_SLACK: Final = timedelta(seconds=30)

_log: Final = logging.getLogger(__name__)


def submit(
    site: Explorer,
    submission: Submission,
    *,
    client: str,
    both: bool = False,
) -> str:
    """Queue a submission for compilation.

    Unspecified: a client may have at most a tenth of the pending verifications, and identical submissions are not
    queued twice at the same time.

    Args:
        site: The explorer.
        submission: The submission.
        client: The client that submits it.
        both: Whether only a contract with exact matches of both codes counts as verified, as in Sourcify.

    Returns:
        The GUID for status queries.

    Raises:
        NotDeployed: There is no contract at the address.
        AlreadyVerified: The contract is verified, and no submission could match better.
        BadSubmission: The compiler is not installed.
        SubmittedAlready: An identical submission is pending.
        TooManyWaiting: The limit of pending verifications is reached.
    """
    code_hash = code_hash_at(site, submission.address)
    site.compilers.require(submission.version)
    _verify_worth(site, submission.address, code_hash, both=both)
    digest = _digest(submission, code_hash)
    db, maximum, now = site.evm.db, site.settings.verifications, datetime.now(UTC)
    key = uuid.uuid4().hex
    with db.atomic(durable=True):
        db.acquire(Lock.VERIFICATION)
        contract_rows.forget_before(db, now - KEPT)
        waiting = contract_rows.open_with(db, digest)
        if waiting is not None:
            raise SubmittedAlready(SubmissionReason.SUBMITTED_ALREADY, key=waiting)
        if contract_rows.count_open(db) >= maximum:
            raise TooManyWaiting(SubmissionReason.TOO_MANY_WAITING, maximum=maximum)
        if contract_rows.count_open(db, client) >= max(1, maximum // 10):
            raise TooManyWaiting(SubmissionReason.TOO_MANY_OF_CLIENT, maximum=max(1, maximum // 10))
        contract_rows.add(
            db, key, submission, digest=digest, code_hash=code_hash, client=client, now=now
        )
        transaction.on_commit(partial(_request_work, site), using=db.alias, robust=True)
    return key


def work(site: Explorer, *, seconds: float) -> int:
    """Process pending verifications, the oldest first; return how many. None is started after `seconds`.

    In the embedded profile the caller holds `site.verifying`, so a verification in state running was left by a
    process that ended, or by this process if it could not write the outcome.
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
    """Return the code hash of the contract that is currently at an address. Raises `NotDeployed`."""
    account = accounts.account(site.evm, address)
    if not account.is_contract:
        raise NotDeployed(VerificationReason.NOT_DEPLOYED)
    return Hash(keccak256(account.code))


def _verify_worth(site: Explorer, address: Address, code_hash: Hash, *, both: bool) -> None:
    there = contract_rows.contract(site.evm.db, address, code_hash)
    if there is None:
        return
    exact = [match == Match.EXACT for match in (there.runtime_match, there.creation_match)]
    if all(exact) if both else any(exact):
        raise AlreadyVerified(VerificationReason.ALREADY_VERIFIED)


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


def _request_work(site: Explorer) -> None:
    """Request processing without delay. If the broker is away, the next tick of Celery beat starts it."""
    try:
        named = {} if site.is_of_cchain else {"chain": site.evm.name}
        task_app().signature(VERIFY, kwargs=named).apply_async(expires=60)
    except Exception as error:  # after any error of the broker: the submission is stored
        _log.warning("the broker is unavailable; the next tick starts the verification: %s", error)


def _take(site: Explorer) -> Job | None:
    """Take the next verification, unless another process is working on one."""
    db, now = site.evm.db, datetime.now(UTC)
    if not contract_rows.has_open(db):  # the usual case: most ticks take no lock and write nothing
        return None
    lease = timedelta(seconds=site.settings.solc_seconds) + _SLACK
    with db.atomic(durable=True):
        db.acquire(Lock.VERIFICATION)
        if site.node.profile == "production":
            contract_rows.give_back(db, started_before=now - lease)
        else:  # there is only one process, and only this thread verifies (`Explorer.verifying`)
            contract_rows.give_back(db)
        if contract_rows.count_running(db):
            return None
        return contract_rows.take(db, site.worker, now)


def _do(site: Explorer, job: Job) -> bool:
    """Process a verification. Return False if the next one cannot be processed now either."""
    if contract_rows.tries_of(site.evm.db, job.id) > MAX_TRIES:
        _fail(site, job, VerificationFailed(VerificationReason.GIVEN_UP))
        return True
    run = _Run(site, job)
    try:
        verified = run.verify()
    except UpstreamError as error:
        _put_back(site, job, error)
        return False
    except Refusal as refusal:
        _fail(site, job, refusal)
    except Exception:
        _log.exception("a verification failed because of an error of this node")
        _fail(site, job, VerificationFailed(VerificationReason.GIVEN_UP))
    else:
        _write(site, job, verified, run.version)
    return True


class _Run:
    """One verification: the code at the address, and all compilations."""

    def __init__(self, site: Explorer, job: Job) -> None:
        self._site = site
        self._job = job
        self._until = time.monotonic() + site.settings.solc_seconds
        self.version: CompilerVersion = job.submission.version
        """The version; after the first compilation with the compiler's own commit."""

    def verify(self) -> VerificationResult:
        """Return the verified sources. Raises `VerificationFailed`, `BadSubmission`, and on a fork `UpstreamError`."""
        return verify(self._job.submission, self._on_chain(), self._compile)

    def _on_chain(self) -> OnChain:
        evm, address = self._site.evm, self._job.submission.address
        account = accounts.account(evm, address)
        if not account.is_contract or keccak256(account.code) != self._job.code_hash:
            raise NotDeployed(VerificationReason.NOT_DEPLOYED)
        calls.wait_for_calls(evm)  # a factory may have created the contract just now
        creation = accounts.creation(evm, address)
        code = accounts.init_code(evm, self._site.executing, address, creation, waits=True)
        return OnChain(account.code, code)

    def _compile(self, text: bytes) -> Any:
        output = self._site.compilers.compile(self._job.submission.version, text, until=self._until)
        self.version = output.version
        return output.output


def _put_back(site: Explorer, job: Job, error: UpstreamError) -> None:
    """Return a verification to the queue until the remote node answers; after `PATIENCE` it fails."""
    if datetime.now(UTC) - job.submitted_at > PATIENCE:
        _fail(site, job, VerificationFailed(VerificationReason.STATE_UNKNOWN, cause=str(error)))
        return
    _log.warning("a verification waits for the remote node of the fork: %s", error)
    with site.evm.db.atomic(durable=True):
        contract_rows.put_back(site.evm.db, job.id)


def _fail(site: Explorer, job: Job, refusal: Refusal) -> None:
    with site.evm.db.atomic(durable=True):
        contract_rows.fail(site.evm.db, job.id, refusal, datetime.now(UTC))


def _write(
    site: Explorer, job: Job, verified: VerificationResult, version: CompilerVersion
) -> None:
    """Store the verified sources, unless the stored ones match equally well."""
    db, now = site.evm.db, datetime.now(UTC)
    with db.atomic(durable=True):
        db.acquire(Lock.VERIFICATION)
        there = contract_rows.contract(db, job.submission.address, job.code_hash)
        if there is not None and _rank(there) >= verified.comparison.rank:
            contract_rows.fail(
                db, job.id, AlreadyVerified(VerificationReason.ALREADY_VERIFIED), now
            )
            return
        contract = contract_rows.write_contract(db, job, verified, version, now)
        contract_rows.succeed(db, job.id, contract, now)


def _rank(there: Any) -> tuple[int, int]:
    ranks = sorted(
        0 if match is None else Match(match).rank
        for match in (there.runtime_match, there.creation_match)
    )
    return ranks[1], ranks[0]

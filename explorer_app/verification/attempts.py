"""A verification from its input to its match: as submitted, and what else is worth a compilation. Pure.

Compiling is handed in; it is what costs, so nothing is compiled that cannot help.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from explorer_app.verification.comparing import Comparison, OnChain, compare, may_need_twin
from explorer_app.verification.errors import (
    CompilerErrors,
    NoMatch,
    OtherArguments,
    VerificationFailed,
)
from explorer_app.verification.metadata import section_of
from explorer_app.verification.output import Compiled, read_output
from explorer_app.verification.standard_json import (
    Attempt,
    alternatives,
    other_rules,
    prepared,
    with_other_texts,
)
from explorer_app.verification.submission import Submission

Compile = Callable[[bytes], Any]
"""Takes a compiler's standard JSON input and returns its output; raises `VerificationFailed`."""


@dataclass(frozen=True)
class Verified:
    """Sources that are a contract's."""

    comparison: Comparison
    compiled: Compiled
    input: Mapping[str, Any]
    """The standard JSON input that matches."""
    note: str
    """What of it is not as it was submitted; empty: nothing."""


def verify(submission: Submission, chain: OnChain, run: Compile) -> Verified:
    """Find out whether a submission is the contract's.

    Args:
        submission: What was submitted.
        chain: The code at the address.
        run: Compiles.

    Raises:
        VerificationFailed: It is not, or cannot be compiled; which class says why.
    """
    found = _first(submission, chain, run)
    if found.comparison.is_exact or not _has_hash(found, chain):
        return found
    better = _attempts(submission, chain, run, alternatives(submission))
    return max((found, *better), key=lambda one: one.comparison.rank)


def _first(submission: Submission, chain: OnChain, run: Compile) -> Verified:
    try:
        return _attempt(submission, chain, run, Attempt(submission.input, ""))
    except OtherArguments:
        raise
    except (NoMatch, CompilerErrors):
        found = _attempts(submission, chain, run, other_rules(submission), exact=False)
        if not found:
            raise
        return found[0]


def _attempts(
    submission: Submission,
    chain: OnChain,
    run: Compile,
    attempts: Iterable[Attempt],
    *,
    exact: bool = True,
) -> list[Verified]:
    """Return what matched of some attempts, up to the first that matches exactly, or at all."""
    found: list[Verified] = []
    for attempt in attempts:
        try:
            found.append(_attempt(submission, chain, run, attempt))
        except VerificationFailed:
            continue  # what has matched already is as good as before
        if found[-1].comparison.is_exact or not exact:
            break
    return found


def _attempt(submission: Submission, chain: OnChain, run: Compile, attempt: Attempt) -> Verified:
    compiled = _compiled(submission, run, attempt.input)
    try:
        comparison = compare(compiled, chain, given=submission.arguments)
    except OtherArguments:
        raise
    except NoMatch:
        if not may_need_twin(compiled):
            raise
        twin = _compiled(submission, run, with_other_texts(attempt.input))
        comparison = compare(compiled, chain, given=submission.arguments, twin=twin)
    return Verified(comparison, compiled, attempt.input, attempt.what)


def _compiled(submission: Submission, run: Compile, given: Mapping[str, Any]) -> Compiled:
    path, name = submission.path, submission.name
    return read_output(run(prepared(given, submission.version, path, name)), path, name)


def _has_hash(found: Verified, chain: OnChain) -> bool:
    """Say whether both codes have a hash of metadata, so that another input may match better."""
    sections = section_of(found.compiled.runtime.code), section_of(chain.runtime)
    return all(one is not None and one.hash for one in sections)

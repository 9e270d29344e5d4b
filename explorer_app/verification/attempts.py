"""A verification from its input to its match: the input as submitted, and variants of it. Pure.

The caller provides the compiler. Compilations are expensive, so only promising variants are compiled.
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
from explorer_app.verification.output import CompilationResult, read_output
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
class VerificationResult:
    """Sources that were verified as a contract's."""

    comparison: Comparison
    compiled: CompilationResult
    input: Mapping[str, Any]
    """The standard JSON input that matches."""
    note: str
    """How it differs from the submitted input; empty if it does not."""


def verify(submission: Submission, chain: OnChain, run: Compile) -> VerificationResult:
    """Verify that a submission belongs to a contract.

    Args:
        submission: The submission.
        chain: The code at the address.
        run: Runs the compiler.

    Raises:
        VerificationFailed: The code does not match or cannot be compiled; the class says why.
    """
    result = _first(submission, chain, run)
    if result.comparison.is_exact or not _has_hash(result, chain):
        return result
    better = _attempts(submission, chain, run, alternatives(submission))
    return max((result, *better), key=lambda attempt: attempt.comparison.rank)


def _first(submission: Submission, chain: OnChain, run: Compile) -> VerificationResult:
    try:
        return _attempt(submission, chain, run, Attempt(submission.input, ""))
    except OtherArguments:
        raise
    except (NoMatch, CompilerErrors):
        result = _attempts(submission, chain, run, other_rules(submission), exact=False)
        if not result:
            raise
        return result[0]


def _attempts(
    submission: Submission,
    chain: OnChain,
    run: Compile,
    attempts: Iterable[Attempt],
    *,
    exact: bool = True,
) -> list[VerificationResult]:
    """Return the matches among some attempts, up to the first exact one, or up to the first one if not `exact`."""
    results: list[VerificationResult] = []
    for attempt in attempts:
        try:
            results.append(_attempt(submission, chain, run, attempt))
        except VerificationFailed:
            continue  # earlier matches remain valid
        if results[-1].comparison.is_exact or not exact:
            break
    return results


def _attempt(
    submission: Submission, chain: OnChain, run: Compile, attempt: Attempt
) -> VerificationResult:
    compiled = _compiled(submission, run, attempt.input)
    try:
        comparison = compare(compiled, chain, submitted_arguments=submission.arguments)
    except OtherArguments:
        raise
    except NoMatch:
        if not may_need_twin(compiled):
            raise
        twin = _compiled(submission, run, with_other_texts(attempt.input))
        comparison = compare(compiled, chain, submitted_arguments=submission.arguments, twin=twin)
    return VerificationResult(comparison, compiled, attempt.input, attempt.what)


def _compiled(
    submission: Submission, run: Compile, input_json: Mapping[str, Any]
) -> CompilationResult:
    path, name = submission.path, submission.name
    return read_output(run(prepared(input_json, submission.version, path, name)), path, name)


def _has_hash(result: VerificationResult, chain: OnChain) -> bool:
    """Return whether both codes contain a hash of metadata, so that another input may match better."""
    sections = section_of(result.compiled.runtime.code), section_of(chain.runtime)
    return all(section is not None and section.hash for section in sections)

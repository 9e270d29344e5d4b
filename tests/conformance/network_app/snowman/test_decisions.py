"""Single decisions, step by step against the reference: snowflake, which decides siblings, and snowball."""

from typing import Any

import pytest

from network_app.snowman.trie import Snowflake, UnarySnowflake
from tests.conformance.network_app.snowman.snowball import Snowball, UnarySnowball
from tests.conformance.network_app.snowman.vectors import parameters, snowman_cases

Decision = UnarySnowflake | Snowflake[int] | UnarySnowball | Snowball[int]


def begun(case: Any) -> Decision:
    """Return the initial decision of a case; among several choices the reference prefers the first."""
    rules, (choices, kind) = parameters(case), case["kind"].split()
    if choices == "unary":
        return UnarySnowball(rules) if kind == "snowball" else UnarySnowflake(rules)
    snowflake = Snowflake(rules, case.get("initial", 0))
    return Snowball(snowflake) if kind == "snowball" else snowflake


def stepped(decision: Decision, step: Any) -> Decision:
    """Execute one step; return the decision after it."""
    snowflake = decision if isinstance(decision, UnarySnowflake | Snowflake) else decision.snowflake
    if "extend" in step:
        assert isinstance(decision, UnarySnowflake | UnarySnowball)
        assert isinstance(snowflake, UnarySnowflake)
        copy, extended = snowflake.clone(), decision.extend(step["extend"])
        found = extended if isinstance(extended, Snowflake) else extended.snowflake
        assert (copy.confidence, copy.finalized) == (found.confidence, found.finalized)
        return extended
    if "reset" in step:
        snowflake.record_unsuccessful_poll()
    elif isinstance(decision, Snowflake | Snowball):
        decision.record_poll(*step["poll"])
    elif step["poll"][0] >= snowflake.parameters.alpha_preference:
        decision.record_poll(step["poll"][0])
    else:  # a trie passes no such poll to a single choice
        snowflake.record_unsuccessful_poll()
    return decision


def listed(decision: Decision, wanted: Any) -> dict[str, Any]:
    """Return the fields of a decision that the vectors contain, in their format."""
    snowflake = decision if isinstance(decision, UnarySnowflake | Snowflake) else decision.snowflake
    found: dict[str, Any] = {
        "confidence": snowflake.confidence,
        "finalized": snowflake.finalized,
        "maxStrength": 0,  # for a snowflake
    }
    if isinstance(snowflake, Snowflake):
        found["preference"] = found["flakePreference"] = snowflake.preference
    if isinstance(decision, UnarySnowball):
        found["strength"] = [decision.strength]
    if isinstance(decision, Snowball):
        strength = decision.strength
        found["preference"] = decision.preference
        found |= {
            "strength": [strength[0], strength[1]],
            "maxStrength": max(strength.values(), default=0),
        }
    assert wanted.keys() <= found.keys()
    return {name: found[name] for name in wanted}


@pytest.mark.parametrize("case", [*snowman_cases("instances"), *snowman_cases("nary")])
def test_one_decision(case: Any) -> None:
    decision = begun(case)
    for step in case["steps"]:
        decision = stepped(decision, step)
        assert listed(decision, step["out"]) == step["out"]

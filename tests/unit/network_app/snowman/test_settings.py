"""The parameters that an operator can set, and their defaults."""

from dataclasses import replace

import pytest

from network_app.settings import SnowSettings
from network_app.snowman.parameters import (
    InvalidParameters,
    SnowParameters,
    default_alpha,
    parameters_of,
)


@pytest.mark.parametrize(
    ("validators", "local", "alpha"),
    [
        (1, True, 15), (3, True, 15), (4, True, 13), (5, True, 13), (9, True, 13), (10, True, 15),
        (5, False, 15),
    ],
)  # fmt: skip
def test_few_validators_of_a_local_network_need_fewer_votes(
    validators: int, alpha: int, *, local: bool
) -> None:
    assert default_alpha(validators, local=local) == alpha


def test_the_defaults_are_the_references() -> None:
    assert parameters_of(SnowSettings(), 15) == SnowParameters()
    assert parameters_of(SnowSettings(), 13) == SnowParameters(
        alpha_preference=13, alpha_confidence=13
    )


def test_each_can_be_set() -> None:
    settings = SnowSettings(
        sample_size=10,
        preference_quorum_size=6,
        confidence_quorum_size=8,
        commit_threshold=9,
        concurrent_repolls=2,
        optimal_processing=3,
        max_processing=50,
        max_time_processing=2.5,
    )
    assert parameters_of(settings, 15) == SnowParameters(10, 6, 8, 9, 2, 3, 50, 2.5)
    assert parameters_of(replace(settings, confidence_quorum_size=0), 7).alpha_confidence == 7


def test_invalid_parameters_are_refused_with_avalanchegos_message() -> None:
    with pytest.raises(
        InvalidParameters, match=r"^parameters invalid: k = 31, alphaPreference = 15"
    ):
        parameters_of(SnowSettings(sample_size=31), 15)

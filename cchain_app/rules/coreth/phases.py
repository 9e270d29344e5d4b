"""The phases of coreth's rules: which upgrade is in force at a time (coreth.md 15)."""

from enum import IntEnum
from typing import Final

from cchain_app.evm.coreth import AssetContracts, CorethFeatures, DelegatedCalls
from primitives.upgrades import UpgradeTimes


class CorethPhase(IntEnum):
    """The upgrades of the C-Chain, oldest first; each includes those before it."""

    LAUNCH = 0
    APRICOT_1 = 1
    APRICOT_2 = 2
    APRICOT_3 = 3
    APRICOT_4 = 4
    APRICOT_5 = 5
    APRICOT_PRE_6 = 6
    APRICOT_6 = 7
    APRICOT_POST_6 = 8
    BANFF = 9
    CORTINA = 10
    DURANGO = 11
    ETNA = 12
    FORTUNA = 13
    GRANITE = 14
    HELICON = 15


_NEWEST_FIRST: Final = (
    (CorethPhase.HELICON, "helicon"),
    (CorethPhase.GRANITE, "granite"),
    (CorethPhase.FORTUNA, "fortuna"),
    (CorethPhase.ETNA, "etna"),
    (CorethPhase.DURANGO, "durango"),
    (CorethPhase.CORTINA, "cortina"),
    (CorethPhase.BANFF, "banff"),
    (CorethPhase.APRICOT_POST_6, "apricot_phase_post6"),
    (CorethPhase.APRICOT_6, "apricot_phase6"),
    (CorethPhase.APRICOT_PRE_6, "apricot_phase_pre6"),
    (CorethPhase.APRICOT_5, "apricot_phase5"),
    (CorethPhase.APRICOT_4, "apricot_phase4"),
    (CorethPhase.APRICOT_3, "apricot_phase3"),
    (CorethPhase.APRICOT_2, "apricot_phase2"),
    (CorethPhase.APRICOT_1, "apricot_phase1"),
)


def phase_at(upgrades: UpgradeTimes, timestamp: int) -> CorethPhase:
    """Return the phase of a block with this time in Unix seconds."""
    for phase, name in _NEWEST_FIRST:
        if timestamp >= getattr(upgrades, name):
            return phase
    return CorethPhase.LAUNCH


_DELEGATED_CALLS_INVALID: Final = 1_754_107_200
"""2025-08-02 04:00 UTC: since then no block may call a precompile of Avalanche by DELEGATECALL or CALLCODE."""


def features_at(phase: CorethPhase, timestamp: int) -> CorethFeatures:
    """Return the features of the EVM in a block of a phase and a time in Unix seconds (coreth.md 8.1)."""
    if phase < CorethPhase.APRICOT_2:
        contracts = AssetContracts.NONE
    elif phase == CorethPhase.APRICOT_PRE_6 or phase >= CorethPhase.BANFF:
        contracts = AssetContracts.REVERTING
    else:
        contracts = AssetContracts.WORKING
    if phase >= CorethPhase.GRANITE:
        delegated = DelegatedCalls.FAIL
    elif timestamp >= _DELEGATED_CALLS_INVALID:
        delegated = DelegatedCalls.INVALID
    else:
        delegated = DelegatedCalls.RUN
    return CorethFeatures(
        phase < CorethPhase.APRICOT_1, contracts, phase >= CorethPhase.GRANITE, delegated
    )

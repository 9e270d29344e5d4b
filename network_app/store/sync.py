"""Writes the progress of the chains."""

from datetime import UTC, datetime

from network_app.models import ChainSync, SyncPhase
from network_app.ports import SyncState

PERIOD = 2.0
"""Minimum period over which a rate is measured, in seconds."""
LONGEST = 365 * 86_400
"""Maximum of a forecast in seconds; beyond it there is no forecast."""
WEIGHT = 0.5
"""Weight of the newest measurement in the running average."""

_STATE = (
    "phase", "height", "target_height", "fetched", "beacons", "beacons_connected", "obstacle",
    "outstanding", "oldest_outstanding_at", "updated_at",
)  # fmt: skip
_END = ("finished_at", "seconds_left")


def write(alias: str, state: SyncState, now: datetime) -> None:
    """Store a chain's progress."""
    phase = SyncPhase.BOOTSTRAPPED if state.bootstrapped else SyncPhase.BOOTSTRAPPING
    row = ChainSync.objects.filter(chain=alias).first()
    if row is None or (row.phase != phase and phase == SyncPhase.BOOTSTRAPPING):
        row = _beginning(alias, state, now)
        row.save()
    row.phase = phase
    row.height, row.target_height = state.height, max(state.target_height, state.height)
    row.fetched, row.outstanding = state.fetched, state.outstanding
    waiting = state.waiting
    row.beacons = None if waiting is None else waiting.configured
    row.beacons_connected = None if waiting is None else waiting.connected
    row.obstacle = state.obstacle
    row.oldest_outstanding_at = _moment(state.oldest_outstanding)
    row.updated_at = now
    if phase == SyncPhase.BOOTSTRAPPED:
        row.finished_at = row.finished_at or now
        row.seconds_left = 0.0
    # Only these fields, because another process may be measuring the rate at the same time.
    row.save(update_fields=(*_STATE, *_END) if state.bootstrapped else _STATE)


def measure(now: datetime) -> list[ChainSync]:
    """Measure the rates of bootstrapping chains, and return their rows."""
    bootstrapping = ChainSync.objects.filter(phase=SyncPhase.BOOTSTRAPPING)
    for row in bootstrapping:
        elapsed = (now - row.measured_at).total_seconds()
        if elapsed < PERIOD:
            continue
        rate = max(0, row.height - row.measured_height) / elapsed
        known = row.blocks_per_second
        rate = rate if known is None else WEIGHT * rate + (1 - WEIGHT) * known
        left = row.target_height - row.height
        # No update if the chain has finished or restarted in the meantime, which changes the row.
        bootstrapping.filter(pk=row.pk, measured_at=row.measured_at).update(
            blocks_per_second=rate,
            measured_height=row.height,
            measured_at=now,
            seconds_left=_seconds(left, rate),
        )
    return list(bootstrapping.all())


def _seconds(left: int, rate: float) -> float | None:
    """Return the seconds until `left` blocks are executed; None if the forecast exceeds `LONGEST`.

    The average rate of a stalled chain approaches zero but does not reach it.
    """
    return left / rate if rate * LONGEST > left else None


def clear() -> None:
    """Delete the rows of an earlier run, because a starting node has to reach the frontier again."""
    ChainSync.objects.all().delete()


def _moment(seconds: float | None) -> datetime | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)


def _beginning(alias: str, state: SyncState, now: datetime) -> ChainSync:
    return ChainSync(
        chain=alias,
        phase=SyncPhase.BOOTSTRAPPING,
        start_height=state.start_height,
        height=state.height,
        target_height=state.target_height,
        fetched=state.fetched,
        outstanding=state.outstanding,
        updated_at=now,
        started_at=now,
        measured_height=state.height,
        measured_at=now,
    )

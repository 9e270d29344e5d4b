"""Converts reports to JSON of limited size, for the row that other processes read, and back."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from network_app.consensus.report import (
    ConsensusReport,
    ConsensusTotals,
    Equivocation,
    Issues,
    OpenPoll,
    Outcomes,
    ProducerRewind,
    Proposals,
    ReportedBlock,
    StakeReport,
    Tables,
    Work,
)
from network_app.snowman.parameters import SnowParameters
from network_app.snowman.polls import Reason
from primitives.ids import ID, NodeID

MAX_BLOCKS = 64
"""Maximum number of processing blocks listed, oldest first; `Tables.processing` counts all."""
MAX_POLLS = 32
"""Maximum number of open polls listed, oldest first."""
MAX_ABSENT = 64
"""Maximum number of absent validators listed, those with the most stake."""

Json = dict[str, Any]


def to_json(report: ConsensusReport) -> Json:
    """Return a report as JSON, without its decisions, which have rows of their own."""
    stake, totals = report.stake, report.totals
    absent = sorted(stake.absent.items(), key=lambda entry: entry[1], reverse=True)
    unnamed = stake.unnamed + sum(weight for _, weight in absent[MAX_ABSENT:])
    return {
        "alias": report.alias,
        "parameters": asdict(report.parameters),
        "is_running": report.is_running,
        "last_accepted": _text(report.last_accepted),
        "last_height": report.last_height,
        "preference": _text(report.preference),
        "max_verified_height": report.max_verified_height,
        "processing": [
            block._asdict()
            | {
                "block_id": str(block.block_id),
                "parent_id": str(block.parent_id),
                "proposer": _text(block.proposer),
            }
            for block in report.processing[:MAX_BLOCKS]
        ],
        "tables": asdict(report.tables),
        "stake": {
            "validators": stake.validators,
            "total": stake.total,
            "absent": {str(node_id): weight for node_id, weight in absent[:MAX_ABSENT]},
            "unnamed": unnamed,
        },
        "totals": {
            **asdict(totals),
            "finished_polls": _by_name(totals.finished_polls),
            "poll_seconds": _by_name(totals.poll_seconds),
            "issues": totals.issues._asdict(),
            "proposals": totals.proposals._asdict(),
        },
        "polls": [poll._asdict() for poll in report.polls[:MAX_POLLS]],
        "equivocations": [
            equivocation._asdict()
            | {
                "proposer": str(equivocation.proposer),
                "first": str(equivocation.first),
                "second": str(equivocation.second),
            }
            for equivocation in report.equivocations
        ],
        "contradiction": _contradiction_json(report.contradiction),
    }


def from_json(said: Mapping[str, Any]) -> ConsensusReport:
    """Return the report from the JSON of `to_json`, without decisions."""
    stake, totals = said["stake"], said["totals"]
    return ConsensusReport(
        alias=said["alias"],
        parameters=SnowParameters(**said["parameters"]),
        is_running=said["is_running"],
        last_accepted=_id(said["last_accepted"]),
        last_height=said["last_height"],
        preference=_id(said["preference"]),
        max_verified_height=said["max_verified_height"],
        processing=tuple(
            ReportedBlock(
                **entry
                | {
                    "block_id": ID.parse(entry["block_id"]),
                    "parent_id": ID.parse(entry["parent_id"]),
                    "proposer": _node(entry["proposer"]),
                }
            )
            for entry in said["processing"]
        ),
        decided=(),
        tables=Tables(**said["tables"]),
        stake=StakeReport(
            stake["validators"],
            stake["total"],
            {NodeID.parse(text): weight for text, weight in stake["absent"].items()},
            stake["unnamed"],
        ),
        totals=ConsensusTotals(
            **totals
            | {
                "finished_polls": _by_reason(totals["finished_polls"]),
                "poll_seconds": _by_reason(totals["poll_seconds"]),
                "accepted": Outcomes(*totals["accepted"]),
                "rejected": Outcomes(*totals["rejected"]),
                "latencies": tuple(totals["latencies"]),
                "work": Work(tuple(totals["work"][0]), totals["work"][1]),
                "issues": Issues(**totals.get("issues", {})),
                "proposals": Proposals(**totals.get("proposals", {})),
            }
        ),
        polls=tuple(OpenPoll(**item) for item in said["polls"]),
        equivocations=tuple(
            Equivocation(
                **other
                | {
                    "proposer": NodeID.parse(other["proposer"]),
                    "first": ID.parse(other["first"]),
                    "second": ID.parse(other["second"]),
                }
            )
            for other in said["equivocations"]
        ),
        contradiction=_contradiction(said.get("contradiction")),
    )


def _contradiction_json(found: ProducerRewind | None) -> Json | None:
    if found is None:
        return None
    return found._asdict() | {
        "producer": str(found.producer),
        "accepted_id": str(found.accepted_id),
    }


def _contradiction(said: Mapping[str, Any] | None) -> ProducerRewind | None:
    if said is None:
        return None
    return ProducerRewind(
        NodeID.parse(said["producer"]),
        ID.parse(said["accepted_id"]),
        said["accepted_height"],
        said["own_height"],
    )


def _text(item: object) -> Any:
    return None if item is None else str(item)


def _id(text: str | None) -> ID | None:
    return None if text is None else ID.parse(text)


def _node(text: str | None) -> NodeID | None:
    return None if text is None else NodeID.parse(text)


def _by_name(values: Mapping[Reason, float]) -> dict[str, float]:
    return {reason.value: value for reason, value in values.items()}


def _by_reason(values: Mapping[str, float]) -> dict[Reason, float]:
    return {Reason(name): value for name, value in values.items()}

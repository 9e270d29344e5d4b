"""The consensus on one chain, as cards and tables of the page "Consensus"."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime

from django.utils.html import format_html
from django.utils.safestring import SafeString

from adminkit.dashboard import Card, Overview, Panel
from adminkit.display import short, table
from adminkit.formats import percent
from network_app import selectors
from network_app.admin import display
from network_app.consensus.report import ConsensusReport, ReportedBlock
from network_app.models import BlockDecision
from platform_app.admin.display import round_coins
from primitives.counting import counted
from primitives.ids import ID, NodeID

LATEST = 10
"""Number of decisions shown."""
_DEEPEST = 8
"""Maximal indentation of a block in the tree, in steps."""


def overview(report: ConsensusReport, now: float, *, is_fresh: bool) -> Overview:
    """Return a chain's summary.

    Args:
        report: The last report of the network process.
        now: Unix seconds.
        is_fresh: Whether that process still reports.
    """
    panels = [Panel("Processing blocks", _processing(report, now))]
    if report.polls:
        panels.append(Panel("Open polls", _polls(report, now)))
    if report.stake.absent:
        panels.append(Panel("Silent validators", _absent(report)))
    if report.equivocations:
        panels.append(Panel("Equivocations", _equivocations(report, now)))
    panels.append(Panel("Last decisions", _decisions(report.alias)))
    cards = (
        _part_card(report, is_fresh=is_fresh),
        _stake_card(report),
        _accepted_card(report),
        _preference_card(report),
        _processing_card(report),
        _polls_card(report),
        _parameters_card(report),
        _equivocations_card(report),
    )
    return Overview(display.title(report.alias), cards, tuple(panels))


def outcome(row: BlockDecision) -> SafeString:
    """Return the decision as a badge."""
    return display.badge("accepted", "good") if row.accepted else display.badge("rejected", "bad")


def block_link(row: BlockDecision) -> SafeString:
    """Return a block's ID, as a link to its page if it was accepted; rejected blocks have no page."""
    if not row.accepted:
        return short(row.block_id)
    return display.short_link(row.block_id, display.outer_page(row.block_id))


def proposer_link(proposer: object) -> SafeString:
    """Return the signer of a block, as a link to all blocks that it proposed."""
    if proposer is None:
        return display.muted("unsigned")
    node_id = NodeID.parse(str(proposer))
    return display.node_link(node_id, display.proposer_page(node_id))


def format_seconds(seconds: float) -> str:
    """Return a duration: 0.21 s, 12.5 s, 90 s."""
    decimals = 2 if seconds < 1 else 1 if seconds < 60 else 0
    return f"{max(seconds, 0.0):,.{decimals}f} s"


# --- cards


def _part_card(report: ConsensusReport, *, is_fresh: bool) -> Card:
    if not is_fresh:
        state = display.badge("silent", "bad")
        return Card("This node", state, "the network process does not report; latest values")
    if not report.is_running:
        return Card("This node", display.badge("does not vote", "wait"), "it bootstraps the chain")
    if report.obstacle is not None:
        return Card("This node", display.badge("no quorum", "bad"), report.obstacle)
    return Card("This node", display.badge("votes", "good"), "enough stake responds")


def _stake_card(report: ConsensusReport) -> Card:
    stake, parameters = report.stake, report.parameters
    kind = "good" if stake.connected >= parameters.min_connected_to_be_healthy else "bad"
    thick = format_html('<span class="nd-way">{}</span>', display.bar(stake.percent, kind))
    needed = f"{100 * parameters.min_connected_to_poll:.0f} % needed for polls"
    healthy = f"{100 * parameters.min_connected_to_be_healthy:.0f} % to be healthy"
    responding = display.side_by_side(display.format_share(stake.connected), thick)
    return Card("Responding stake", responding, f"{needed}, {healthy}")


def _accepted_card(report: ConsensusReport) -> Card:
    page = display.inner_page(report.alias, report.last_height)
    return Card(
        "Last accepted",
        display.link(f"{report.last_height:,}", page),
        _short_id(report.last_accepted),
    )


def _preference_card(report: ConsensusReport) -> Card:
    preferred = {block.block_id: block.height for block in report.processing}
    if report.preference is None:
        return Card("Preference", display.NOTHING)
    height = preferred.get(report.preference)
    if height is None and report.preference == report.last_accepted:
        return Card("Preference", f"{report.last_height:,}", "the last accepted block")
    shown = display.NOTHING if height is None else f"{height:,}"
    return Card("Preference", shown, _short_id(report.preference))


def _processing_card(report: ConsensusReport) -> Card:
    count, most = report.tables.processing, report.parameters.max_outstanding_items
    return Card("Processing", f"{count:,}", f"unhealthy above {most:,}")


def _polls_card(report: ConsensusReport) -> Card:
    totals = report.totals
    ended = f"{totals.successful_polls:,} successful, {totals.failed_polls:,} failed"
    return Card("Open polls", f"{report.tables.polls:,}", ended)


def _parameters_card(report: ConsensusReport) -> Card:
    parameters = report.parameters
    polls = counted(parameters.beta, "poll")
    return Card(
        "Parameters",
        f"{parameters.alpha_confidence:,} of {parameters.k:,}, {counted(parameters.beta, 'time')}",
        f"k {parameters.k:,}, alpha {parameters.alpha_preference:,} and {parameters.alpha_confidence:,}, beta {polls}, "
        f"{parameters.concurrent_repolls:,} at a time",
    )


def _equivocations_card(report: ConsensusReport) -> Card:
    count = report.totals.equivocations
    shown = display.badge(f"{count:,}", "bad") if count else "0"
    return Card("Equivocations", shown, "second blocks signed by a proposer for the same slot")


# --- tables


def _processing(report: ConsensusReport, now: float) -> SafeString:
    if not report.processing:
        return display.muted("None: all known blocks are decided.")
    beta = report.parameters.beta
    rows = [
        (
            _branch(block.height, depth),
            display.side_by_side(
                short(block.block_id), display.badge("preferred", "note") if block.preferred else ""
            ),
            _confidence(block.confidence, beta),
            format_seconds(now - block.issued_at),
            proposer_link(block.proposer),
        )
        for block, depth in _tree(report.processing)
    ]
    shown = table(("Height", "Block", "Confidence", "Age", "Proposer"), rows)
    more = report.tables.processing - len(report.processing)
    return _followed(shown, display.muted(f"and {more:,} more")) if more > 0 else shown


def _tree(blocks: Sequence[ReportedBlock]) -> Iterator[tuple[ReportedBlock, int]]:
    """Yield blocks with their depth, each after its parent; siblings in the order of arrival."""
    here = {item.block_id for item in blocks}
    children: dict[ID | None, list[ReportedBlock]] = {}
    for element in blocks:
        parent = element.parent_id if element.parent_id in here else None
        children.setdefault(parent, []).append(element)
    waiting = [(other, 0) for other in reversed(children.get(None, []))]
    while waiting:
        block, depth = waiting.pop()
        yield block, depth
        waiting += [(entry, depth + 1) for entry in reversed(children.get(block.block_id, []))]


def _branch(height: int, depth: int) -> SafeString:
    """Return a height, indented by its block's depth in the tree."""
    return format_html(
        '<span class="nd-branch" style="padding-left:{}rem">{}{}</span>',
        0.75 * min(depth, _DEEPEST), "└ " if depth else "", f"{height:,}",
    )  # fmt: skip


def _confidence(confidence: int, beta: int) -> SafeString:
    return display.one_per_line(
        display.unbroken(f"{confidence:,} of {beta:,}"), display.bar(percent(confidence, beta))
    )


def _polls(report: ConsensusReport, now: float) -> SafeString:
    return table(
        ("Age", "Votes received or failed"),
        (
            (format_seconds(now - poll.began_at), f"{poll.answered:,} of {poll.asked:,}")
            for poll in report.polls
        ),
    )


def _absent(report: ConsensusReport) -> SafeString:
    stake = report.stake
    rows = [
        (
            display.node_link(node_id, display.validator_page(node_id)),
            round_coins(weight),
            display.format_share(weight / stake.total if stake.total else 0.0),
        )
        for node_id, weight in stake.absent.items()
    ]
    shown = table(("Node", "Stake", "Share"), rows)
    if not stake.unnamed:
        return shown
    return _followed(shown, display.muted(f"and others with {round_coins(stake.unnamed)}"))


def _equivocations(report: ConsensusReport, now: float) -> SafeString:
    return table(
        ("Proposer", "Height", "Slot", "First block", "Second block", "Seen"),
        (
            (
                proposer_link(equivocation.proposer),
                f"{equivocation.height:,}",
                f"{equivocation.slot:,}",
                short(equivocation.first),
                short(equivocation.second),
                display.age_of(_moment(equivocation.seen_at), _moment(now)),
            )
            for equivocation in reversed(report.equivocations)
        ),
    )


def _decisions(alias: str) -> SafeString:
    rows = selectors.decisions(alias, LATEST)
    if not rows:
        return display.muted("None yet.")
    page = display.list_page("blockdecision")
    shown = table(
        ("Height", "Block", "Decision", "Polls", "Decided after", "Proposer"),
        (
            (
                f"{row.height:,}",
                block_link(row),
                outcome(row),
                f"{row.polls:,}",
                format_seconds((row.decided_at - row.issued_at).total_seconds()),
                proposer_link(row.proposer),
            )
            for row in rows
        ),
    )
    return _followed(shown, display.link("All decisions ›", f"{page}?show={alias}"))


def _followed(shown: SafeString, remark: SafeString) -> SafeString:
    """Return a table with a line of text below it, outside of its scroll area."""
    return format_html('{}<div class="nd-beneath">{}</div>', shown, remark)


def states(reports: Mapping[str, ConsensusReport]) -> list[ConsensusReport]:
    """Return the reports of the chains in their order."""
    return [reports[alias] for alias in display.chain_names() if alias in reports]


def _short_id(block_id: ID | None) -> SafeString:
    return display.NOTHING if block_id is None else short(block_id)


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)

"""Texts with numbers: a noun after a variable number agrees with it ("1 log", "2 logs").

Pages, the admin and the output of commands use `primitives.counting.counted`, or its filter in templates. A text that is
shown for at least two things only may name the plural: it is in `PLURAL`.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.repository.test_layout import ROOT

PLACES = ("*/admin/**/*.py", "*/management/**/*.py", "*/views/**/*.py", "adminkit/*.py", "*/models/*.py", "*/models.py")  # fmt: skip
"""Sources of texts for people, beside the templates."""

NOUNS = (
    "account|address|addresse|argument|block|byte|call|change|character|check|coin|confirmation|contract|delegator|element|event|"
    "field|holder|hash|key|log|message|method|minute|node|output|peer|poll|row|second|signature|slot|time|token|transaction|"
    "transfer|tx|validator|value|vote"
)
PLURAL = {
    "The first {MAX_SLOTS} slots.": "a constant",
    "The first {MAX_CALLS} calls.": "a constant",
    "{row.rewinds:,} times": "one rewind is “once”",
    "{blocks_per_second:,.1f} blocks/s": "a unit",
    ", {row.blocks_per_second:,.0f} blocks/s": "a unit",
    "{done.blocks / seconds:,.0f} blocks/s, {done.gas / seconds / 1000000.0:,.1f} Mgas/s": "a unit",
    "{len(waiting)} of {len(txs)} transactions still wait": "several were sent",
    "the first {count(shown):,} of {self.value_count:,} values": "more values than are shown",
    '<div class="nd-muted">more than {} blocks in the last minute</div>': "a constant",
    "of {{ flow.addresses|length }} signatures": "of several owners",
    "{{ checks|length }} checks": "a node has several checks",
    "of {{ tx.log_count|number }} events": "more events than are shown",
    "of {{ count|number }} transactions": "more transactions than are shown",
    "{{ count }} methods": "the node has hundreds of methods",
}
"""Texts that are shown for two or more things only, each with the reason."""

_AFTER_VALUE = re.compile(rf"\}} (?:more |further |other )?(?:{NOUNS})s\b")
_IN_TEMPLATE = re.compile(
    rf"((?:first |of )?\{{\{{[^}}]*\}}\}})(?:</\w+>)? ((?:more )?(?:{NOUNS})s\b)"
)


def texts(source: str) -> Iterator[str]:
    """Yield the texts of a module with values in braces, f-strings with their expressions."""
    within = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.JoinedStr):
            within |= {id(part) for part in node.values}
            yield "".join(
                str(part.value) if isinstance(part, ast.Constant) else ast.unparse(ast.JoinedStr([part]))[2:-1]
                for part in node.values
            )  # fmt: skip
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in within:  # fmt: skip
            yield node.value


def plurals(source: str) -> list[str]:
    """Return the texts of a module in which a plural follows a value."""
    return [text for text in texts(source) if _AFTER_VALUE.search(text)]


def plurals_in_template(source: str) -> list[str]:
    """Return the places of a template in which a plural follows a value."""
    return [" ".join(match.groups()) for match in _IN_TEMPLATE.finditer(source)]


def test_the_check_finds_a_plural_after_a_number() -> None:
    assert plurals('f"{len(logs):,} logs of {block}"') == ["{len(logs):,} logs of {block}"]
    assert plurals('"{} bytes"') == ["{} bytes"]
    assert plurals("f\"{counted(2, 'log')} of {block}\"") == []
    assert plurals_in_template("{{ size|number }} bytes") == ["{{ size|number }} bytes"]
    assert plurals_in_template('{{ size|counted:"byte" }}, logs') == []


def test_nouns_agree_with_their_numbers() -> None:
    modules = {
        path for pattern in PLACES for path in ROOT.glob(pattern) if "build" not in path.parts
    }
    found = {
        text: path.relative_to(ROOT)
        for path in modules
        if not _is_foreign(path)
        for text in plurals(path.read_text())
    }
    in_templates = {
        text: path.relative_to(ROOT)
        for path in ROOT.glob("*/templates/**/*.html")
        for text in plurals_in_template(path.read_text())
    }
    wrong = {text: path for text, path in (found | in_templates).items() if text not in PLURAL}

    assert wrong == {}
    assert PLURAL.keys() - found.keys() - in_templates.keys() == set(), "these texts are gone"


def _is_foreign(path: Path) -> bool:
    return path.relative_to(ROOT).parts[0] in {"tests", "benchmarks", "build", "node_modules", ".venv"}  # fmt: skip

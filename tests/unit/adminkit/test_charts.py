"""Charts of the admin's first page consist of numbers and bars."""

import re

from adminkit import dashboard


def test_chart_shows_last_mean_and_maximum() -> None:
    shown = dashboard.rate("Blocks", [0, 30, 3_000, 6])
    assert '<div class="nd-figure">6</div>' in shown
    assert "759.0 a minute on average, 3,000 at most, in 4 min" in shown
    assert 'aria-label="Blocks, the last 4 minutes"' in shown


def test_bars_are_as_high_as_their_values_and_say_them() -> None:
    shown = dashboard.bars([0, 5, 10], "x")
    assert re.findall(r'height="([\d.]+)"', shown) == ["0.0", "20.0", "40.0"]
    assert re.findall(r'y="([\d.]+)"', shown) == ["40.0", "20.0", "0.0"]
    assert "<title>5, in the minute 1 min before that</title>" in shown
    assert "<title>10, in the last minute</title>" in shown


def test_bars_of_nothing_are_flat() -> None:
    assert re.findall(r'height="([\d.]+)"', dashboard.bars([0, 0], "x")) == ["0.0", "0.0"]


def test_block_count_above_the_limit_is_described_in_text() -> None:
    shown = dashboard.rate("Gas", [])
    assert "more than 2,000 blocks in the last minute" in shown
    assert "<svg" not in shown

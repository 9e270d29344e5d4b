"""Lines of names and values for the terminal, never truncated because users copy from them."""

from collections.abc import Mapping

from rich.console import Console


def print_facts(title: str, facts: Mapping[str, str]) -> None:
    """Print a title and one aligned line per fact, nothing without facts; values may contain rich's markup."""
    if not facts:
        return
    console = Console(soft_wrap=True, highlight=False)
    console.rule(f"[bold]{title}[/bold]", align="left")
    width = max(map(len, facts))
    for name, value in facts.items():
        console.print(f"  [bold]{name:<{width}}[/bold]  {value}")

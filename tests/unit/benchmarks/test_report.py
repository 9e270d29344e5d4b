"""The table: its columns, and the reference of each bar."""

from benchmarks.groups import WORKLOADS
from benchmarks.report import Results, markdown
from benchmarks.workload import Measurement

READ, RECEIPT = "balance", "receipt-time"
COLUMN = "Production's goal"


def table(servers: list[str], **figures: dict[str, float]) -> dict[str, dict[str, str]]:
    """Return the rows by title, with cells by column title."""
    results = Results(servers)
    for server, values in figures.items():
        for name, value in values.items():
            results.cells[server, name] = Measurement(value)
    table_of_all, *_ = [part for part in markdown(results, []).split("\n\n") if "First bar" in part]
    lines = table_of_all.strip().splitlines()
    header, _, *rows = ([cell.strip() for cell in line.split("|")[1:-1]] for line in lines)
    return {row[0]: dict(zip(header, row, strict=True)) for row in rows}


def test_production_is_held_against_the_embedded_profile() -> None:
    rows = table(
        ["anvil", "node", "production"],
        anvil={READ: 2_000.0},
        node={READ: 1_000.0, RECEIPT: 2.0},
        production={READ: 899.0, RECEIPT: 15.0},
    )

    read, receipt = rows[WORKLOADS[READ].title], rows[WORKLOADS[RECEIPT].title]
    assert read["Nunatak in production"] == "899"
    assert (read["× Anvil"], read["Goal"]) == ("0.50", "≥ Anvil ✗")
    assert read[COLUMN] == "≥ 0.9 × Nunatak ✗"
    assert receipt[COLUMN] == "≤ 15 ✓"
    assert not any("×" in column and "Nunatak" in column for column in read)


def test_production_passes_with_nine_tenths_of_the_embedded_profile() -> None:
    servers = ["node", "production"]
    rows = table(servers, node={READ: 1_000.0}, production={READ: 900.0})
    assert rows[WORKLOADS[READ].title][COLUMN] == "≥ 0.9 × Nunatak ✓"


def test_unmeasured_row_has_no_verdict() -> None:
    rows = table(["node", "production"], production={READ: 900.0})
    assert rows[WORKLOADS[READ].title][COLUMN] == "≥ 0.9 × Nunatak"


def test_the_table_has_no_column_for_a_profile_that_takes_no_part() -> None:
    rows = table(["anvil", "node"], node={READ: 1_000.0})
    assert COLUMN not in rows[WORKLOADS[READ].title]

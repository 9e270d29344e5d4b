"""URLs of the explorer's pages, which are stable.

The C-Chain's are those of EIP-3091, each other EVM chain's are the same below /chain/<name>, and the P-Chain's and the
X-Chain's are below /p/ and /x/.
"""

from django.urls import URLPattern, include, path

from explorer_app.api.urls import of_every_chain as of_programs
from explorer_app.views import (
    addresses,
    cchain,
    chains,
    charts,
    connect,
    contract_forms,
    contract_storage,
    contracts,
    downloads,
    faucet,
    front,
    gas,
    l1,
    l1_forms,
    moves,
    platform,
    platform_downloads,
    search,
    tokens,
    transactions,
    xchain,
    xchain_downloads,
)

app_name = "explorer"

of_every_chain: list[URLPattern] = [
    path("blocks", cchain.blocks, name="blocks"),
    path("block/<str:height>", cchain.block, name="block"),
    path("txs", cchain.txs, name="txs"),
    path("tx/<str:tx_hash>", transactions.tx, name="tx"),
    path("address/<str:text>", addresses.address, name="address"),
    path("address/<str:text>/read", contract_forms.read, name="contract-read"),
    path("address/<str:text>/write", contract_forms.write, name="contract-write"),
    path("address/<str:text>/storage", contract_storage.storage, name="contract-storage"),
    path("address/<str:text>/transactions.csv", downloads.transactions, name="csv-transactions"),
    path("address/<str:text>/transfers.csv", downloads.transfers, name="csv-transfers"),
    path("address/<str:text>/internal.csv", downloads.inner_calls, name="csv-internal"),
    path("address/<str:text>/events.csv", downloads.events, name="csv-events"),
    path("blocks.csv", downloads.blocks, name="csv-blocks"),
    path("txs.csv", downloads.all_transactions, name="csv-txs"),
    path("pool", cchain.pool, name="pool"),
    path("tokens", tokens.tokens, name="tokens"),
    path("token/<str:text>", tokens.token, name="token"),
    path("token/<str:text>/<str:token_id>", tokens.item, name="token-item"),
    path("contracts", contracts.contracts, name="contracts"),
    path("accounts", charts.accounts, name="accounts"),
    path("charts", charts.charts, name="charts"),
    path("charts.json", charts.chart_figures, name="chart-figures"),
    path("gas", gas.gas, name="gas"),
    path("gas.json", gas.gas_figures, name="gas-figures"),
    path("search", search.search, name="search"),
    path("suggest", search.suggest, name="suggest"),
    path("connect", connect.connect, name="connect"),
    path("faucet", faucet.faucet, name="faucet"),
]
"""The pages that each EVM chain has; their names are also in `site.OF_EVERY_CHAIN`."""

urlpatterns = [
    path("", include("explorer_app.api.urls")),
    path("", front.front, name="front"),
    *of_every_chain,
    path("chains", chains.chains, name="chains"),
    path("chains/new", l1_forms.new_l1, name="new-l1"),
    path("chains/l1/<str:text>", l1_forms.own_l1, name="own-l1"),
    path("chain/<str:chain_name>", front.front, name="chain-front"),
    path(
        "chain/<str:chain_name>/",
        include(([*of_programs, *of_every_chain], "chain"), namespace="chain"),
    ),
    path("p/blocks.csv", platform_downloads.blocks, name="csv-p-blocks"),
    path("p/txs.csv", platform_downloads.transactions, name="csv-p-txs"),
    path("p/validators.csv", platform_downloads.validators, name="csv-p-validators"),
    path("p/calendar.csv", platform_downloads.calendar, name="csv-p-calendar"),
    path("p/blocks", platform.blocks, name="p-blocks"),
    path("p/block/<str:text>", platform.block, name="p-block"),
    path("p/txs", platform.txs, name="p-txs"),
    path("p/tx/<str:text>", platform.tx, name="p-tx"),
    path("p/address/<str:text>", platform.address, name="p-address"),
    path("p/validators", platform.validators, name="p-validators"),
    path("p/validator/<str:text>", platform.validator, name="p-validator"),
    path("p/calendar", platform.calendar, name="p-calendar"),
    path("p/supply", platform.supply, name="p-supply"),
    path("p/supply.json", platform.supply_figures, name="p-supply-figures"),
    path("p/subnets", platform.subnets, name="p-subnets"),
    path("p/subnet/<str:text>", platform.subnet, name="p-subnet"),
    path("p/l1-validators", l1.l1_validators, name="p-l1-validators"),
    path("p/l1-validator/<str:text>", l1.l1_validator, name="p-l1-validator"),
    path("x/txs.csv", xchain_downloads.transactions, name="csv-x-txs"),
    path("x/blocks.csv", xchain_downloads.blocks, name="csv-x-blocks"),
    path("x/blocks", xchain.blocks, name="x-blocks"),
    path("x/block/<str:text>", xchain.block, name="x-block"),
    path("x/txs", xchain.txs, name="x-txs"),
    path("x/tx/<str:text>", xchain.tx, name="x-tx"),
    path("x/address/<str:text>", xchain.address, name="x-address"),
    path("x/assets", xchain.assets, name="x-assets"),
    path("x/asset/<str:text>", xchain.asset, name="x-asset"),
    path("atomic/<str:text>", moves.atomic_tx, name="atomic-tx"),
]

"""URLs of the explorer's pages. They are stable: EIP-3091's for the C-Chain, and those below /p/ for the P-Chain."""

from django.urls import include, path

from explorer_app.views import (
    addresses,
    cchain,
    connect,
    contract_forms,
    contract_storage,
    faucet,
    front,
    platform,
    search,
    tokens,
    transactions,
)

app_name = "explorer"

urlpatterns = [
    path("", include("explorer_app.api.urls")),
    path("", front.front, name="front"),
    path("blocks", cchain.blocks, name="blocks"),
    path("block/<str:height>", cchain.block, name="block"),
    path("txs", cchain.txs, name="txs"),
    path("tx/<str:tx_hash>", transactions.tx, name="tx"),
    path("address/<str:text>", addresses.address, name="address"),
    path("address/<str:text>/read", contract_forms.read, name="contract-read"),
    path("address/<str:text>/write", contract_forms.write, name="contract-write"),
    path("address/<str:text>/storage", contract_storage.storage, name="contract-storage"),
    path("pool", cchain.pool, name="pool"),
    path("tokens", tokens.tokens, name="tokens"),
    path("token/<str:text>", tokens.token, name="token"),
    path("token/<str:text>/<str:token_id>", tokens.item, name="token-item"),
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
    path("search", search.search, name="search"),
    path("suggest", search.suggest, name="suggest"),
    path("connect", connect.connect, name="connect"),
    path("faucet", faucet.faucet, name="faucet"),
]

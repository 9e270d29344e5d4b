"""The theme's frame around the admin's pages: titles and the menu. The pages do not depend on it."""

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest
from django.urls import reverse_lazy

from primitives.product import NAME

FAVICON = (
    "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E"
    "%3Crect width='16' height='16' rx='3' fill='%239810fa'/%3E"
    "%3Ccircle cx='8' cy='8' r='3.5' fill='white'/%3E%3C/svg%3E"
)


def _may_view(app: str, model: str) -> Callable[[HttpRequest], bool]:
    return lambda request: request.user.has_perm(f"{app}.view_{model}") and _is_used(app, model)


def _is_used(app: str, model: str) -> bool:
    """Return whether this node's settings allow rows in a list."""
    # Imported here because Django imports the settings first.
    from django.apps import apps
    from django.contrib import admin

    model_admin = admin.site.get_model_admin(apps.get_model(app, model))
    return bool(getattr(model_admin, "is_used", lambda: True)())


def menu_item(title: str, icon: str, app: str, model: str) -> dict[str, Any]:
    """Return the menu's entry for the list of a model, shown to users who may view it if it is used."""
    return {
        "title": title,
        "icon": icon,
        "link": reverse_lazy(f"admin:{app}_{model}_changelist"),
        "permission": _may_view(app, model),
    }


_COLORS = {
    "base": {
        "50": "#f6f6f8", "100": "#ececf1", "200": "#e4e4e9", "300": "#d0d0d8", "400": "#a1a1ad", "500": "#5f5f6b",
        "600": "#4a4a55", "700": "#3a3a44", "800": "#2c2c34", "900": "#18181d", "950": "#101014",
    },
    "primary": {
        "50": "#faf5ff", "100": "#f3e8ff", "200": "#e9d5ff", "300": "#d8b4fe", "400": "#c99bf5", "500": "#b578f9",
        "600": "#7e22ce", "700": "#6b21a8", "800": "#581c87", "900": "#4a1672", "950": "#3b0764",
    },
}  # fmt: skip
"""The explorer's palette (explorer/theme.css) in the theme's steps."""

UNFOLD: dict[str, Any] = {
    "SITE_TITLE": NAME,
    "SITE_HEADER": NAME,
    "SITE_ICON": FAVICON,
    "COLORS": _COLORS,
    "SITE_FAVICONS": [{"rel": "icon", "type": "image/svg+xml", "href": FAVICON}],
    "SITE_URL": reverse_lazy("explorer:front"),
    "LOGIN": {"form": "nodeproject.web.logins.LoginForm"},
    "SHOW_HISTORY": False,
    "SHOW_VIEW_ON_SITE": False,
    "ENVIRONMENT": "nodeproject.admin.site.network_label",
    "SIDEBAR": {
        "navigation": [
            {
                "title": "Node",
                "items": [
                    {
                        "title": "Overview",
                        "icon": "monitoring",
                        "link": reverse_lazy("admin:index"),
                    },
                    {
                        "title": "Snapshots",
                        "icon": "photo_camera",
                        "link": reverse_lazy("admin_snapshots"),
                        "permission": "nodeproject.copies.snapshot_view.is_shown",
                    },
                ],
            },
            {
                "title": "Network",
                "items": [
                    menu_item("Peers", "device_hub", "network_app", "peer"),
                    menu_item("Bootstrap", "downloading", "network_app", "chainsync"),
                    menu_item("Consensus", "how_to_vote", "network_app", "chainconsensus"),
                    menu_item("Decisions", "gavel", "network_app", "blockdecision"),
                    menu_item("Outer blocks", "deployed_code", "network_app", "outerblock"),
                    menu_item("Status", "sensors", "network_app", "networkstatus"),
                    menu_item("Health", "monitor_heart", "health_app", "healthchange"),
                ],
            },
            {
                "title": "P-Chain",
                "items": [
                    menu_item("Blocks", "view_in_ar", "platform_app", "block"),
                    menu_item("Transactions", "swap_horiz", "platform_app", "tx"),
                    menu_item("Validators", "verified_user", "platform_app", "validator"),
                    menu_item("Delegators", "handshake", "platform_app", "delegator"),
                    menu_item("Subnets", "lan", "platform_app", "subnet"),
                    menu_item("Blockchains", "link", "platform_app", "blockchain"),
                    menu_item("L1s", "hub", "platform_app", "l1conversion"),
                    menu_item("L1 validators", "shield_person", "platform_app", "l1validator"),
                    {
                        "title": "L1 steps",
                        "icon": "footprint",
                        "link": reverse_lazy("admin_l1_step", args=["subnet"]),
                        "permission": "platform_app.admin.l1_steps.may_take_steps",
                    },
                    menu_item("UTXOs", "toll", "platform_app", "utxo"),
                    menu_item("Between chains", "sync_alt", "shared_app", "sharedoutput"),
                    menu_item("Mempool", "hourglass_top", "platform_app", "mempooltx"),
                    menu_item("Dropped", "block", "platform_app", "droppedtx"),
                    menu_item("Keystore users", "key", "platform_app", "keystoreuser"),
                ],
            },
            {
                "title": "X-Chain",
                "items": [
                    menu_item("Blocks", "view_in_ar", "xchain_app", "xblock"),
                    menu_item("Transactions", "swap_horiz", "xchain_app", "xtransaction"),
                    menu_item("Assets", "category", "xchain_app", "xasset"),
                    menu_item("UTXOs", "toll", "xchain_app", "xoutput"),
                    menu_item("Mempool", "hourglass_top", "xchain_app", "xmempooltx"),
                    menu_item("Dropped", "block", "xchain_app", "xdroppedtx"),
                ],
            },
            {
                "title": "C-Chain",
                "items": [
                    menu_item("Blocks", "view_in_ar", "cchain_app", "block"),
                    menu_item("Transactions", "swap_horiz", "cchain_app", "transaction"),
                    menu_item("Logs", "receipt_long", "cchain_app", "log"),
                    menu_item("Accounts", "account_balance_wallet", "cchain_app", "account"),
                    menu_item("Contracts", "description", "cchain_app", "contract"),
                    menu_item("Internal calls", "account_tree", "cchain_app", "call"),
                    menu_item("Contract creations", "post_add", "cchain_app", "contractcreation"),
                    menu_item("Account changes", "history", "cchain_app", "accountchange"),
                    menu_item("Mempool", "hourglass_top", "cchain_app", "pooltransaction"),
                    menu_item("Imports and exports", "sync_alt", "cchain_app", "atomictransaction"),
                    menu_item(
                        "Pending imports, exports",
                        "hourglass_top",
                        "cchain_app",
                        "atomicpooltransaction",
                    ),
                    menu_item(
                        "Dropped imports, exports",
                        "block",
                        "cchain_app",
                        "droppedatomictransaction",
                    ),
                    menu_item("Blobs", "dataset", "cchain_app", "blob"),
                    menu_item(
                        "Development changes", "construction", "cchain_app", "developmentchange"
                    ),
                    menu_item("Development settings", "tune", "cchain_app", "developmentsettings"),
                    menu_item("Impersonated", "theater_comedy", "cchain_app", "impersonation"),
                    menu_item(
                        "Impersonated signatures", "draw", "cchain_app", "impersonatedsignature"
                    ),
                    menu_item("Created accounts", "person_add", "cchain_app", "createdaccount"),
                    menu_item("evm_snapshot", "photo_camera", "cchain_app", "snapshot"),
                    menu_item("Fetched accounts", "cloud_download", "cchain_app", "forkedaccount"),
                    menu_item("Fetched slots", "cloud_download", "cchain_app", "forkedslot"),
                    menu_item("Fetched hashes", "cloud_download", "cchain_app", "forkedhash"),
                    menu_item("Chains of subnets", "account_tree", "cchain_app", "subnetchain"),
                ],
            },
            {
                "title": "Tokens",
                "items": [
                    menu_item("Tokens", "token", "explorer_app", "token"),
                    menu_item("Transfers", "move_item", "explorer_app", "tokentransfer"),
                    menu_item("Balances", "savings", "explorer_app", "tokenbalance"),
                ],
            },
            {
                "title": "Access",
                "items": [
                    menu_item("Users", "person", "auth", "user"),
                    menu_item("Groups", "group", "auth", "group"),
                    menu_item("Entries", "history_edu", "admin", "logentry"),
                ],
            },
        ],
    },
}

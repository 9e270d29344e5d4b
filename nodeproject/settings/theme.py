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
    return lambda request: request.user.has_perm(f"{app}.view_{model}")


def _item(title: str, icon: str, app: str, model: str) -> dict[str, Any]:
    return {
        "title": title,
        "icon": icon,
        "link": reverse_lazy(f"admin:{app}_{model}_changelist"),
        "permission": _may_view(app, model),
    }


UNFOLD: dict[str, Any] = {
    "SITE_TITLE": NAME,
    "SITE_HEADER": NAME,
    "SITE_SYMBOL": "hub",
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
                    _item("Peers", "device_hub", "network_app", "peer"),
                    _item("Bootstrap", "downloading", "network_app", "chainsync"),
                    _item("Consensus", "how_to_vote", "network_app", "chainconsensus"),
                    _item("Decisions", "gavel", "network_app", "blockdecision"),
                    _item("Outer blocks", "deployed_code", "network_app", "outerblock"),
                    _item("Status", "sensors", "network_app", "networkstatus"),
                    _item("Health", "monitor_heart", "health_app", "healthchange"),
                ],
            },
            {
                "title": "P-Chain",
                "items": [
                    _item("Blocks", "view_in_ar", "platform_app", "block"),
                    _item("Transactions", "swap_horiz", "platform_app", "tx"),
                    _item("Validators", "verified_user", "platform_app", "validator"),
                    _item("Delegators", "handshake", "platform_app", "delegator"),
                    _item("Subnets", "lan", "platform_app", "subnet"),
                    _item("Blockchains", "link", "platform_app", "blockchain"),
                    _item("UTXOs", "toll", "platform_app", "utxo"),
                    _item("Between chains", "sync_alt", "platform_app", "sharedutxo"),
                    _item("Mempool", "hourglass_top", "platform_app", "mempooltx"),
                    _item("Dropped", "block", "platform_app", "droppedtx"),
                    _item("Keystore users", "key", "platform_app", "keystoreuser"),
                ],
            },
            {
                "title": "C-Chain",
                "items": [
                    _item("Blocks", "view_in_ar", "cchain_app", "block"),
                    _item("Transactions", "swap_horiz", "cchain_app", "transaction"),
                    _item("Logs", "receipt_long", "cchain_app", "log"),
                    _item("Accounts", "account_balance_wallet", "cchain_app", "account"),
                    _item("Contracts", "description", "cchain_app", "contract"),
                    _item("Internal calls", "account_tree", "cchain_app", "call"),
                    _item("Contract creations", "post_add", "cchain_app", "contractcreation"),
                    _item("Account changes", "history", "cchain_app", "accountchange"),
                    _item("Mempool", "hourglass_top", "cchain_app", "pooltransaction"),
                    _item("Development changes", "construction", "cchain_app", "developmentchange"),
                    _item("Development settings", "tune", "cchain_app", "developmentsettings"),
                    _item("Impersonated", "theater_comedy", "cchain_app", "impersonation"),
                    _item("Impersonated signatures", "draw", "cchain_app", "impersonatedsignature"),
                    _item("Created accounts", "person_add", "cchain_app", "createdaccount"),
                    _item("evm_snapshot", "photo_camera", "cchain_app", "snapshot"),
                    _item("Fetched accounts", "cloud_download", "cchain_app", "forkedaccount"),
                    _item("Fetched slots", "cloud_download", "cchain_app", "forkedslot"),
                    _item("Fetched hashes", "cloud_download", "cchain_app", "forkedhash"),
                ],
            },
            {
                "title": "Tokens",
                "items": [
                    _item("Tokens", "token", "explorer_app", "token"),
                    _item("Transfers", "move_item", "explorer_app", "tokentransfer"),
                    _item("Balances", "savings", "explorer_app", "tokenbalance"),
                ],
            },
            {
                "title": "Schedule",
                "items": [
                    _item("Periodic tasks", "schedule", "django_celery_beat", "periodictask"),
                    _item("Intervals", "timer", "django_celery_beat", "intervalschedule"),
                    _item("Crontabs", "calendar_month", "django_celery_beat", "crontabschedule"),
                ],
            },
            {
                "title": "Access",
                "items": [
                    _item("Users", "person", "auth", "user"),
                    _item("Groups", "group", "auth", "group"),
                    _item("Entries", "history_edu", "admin", "logentry"),
                ],
            },
        ],
    },
}

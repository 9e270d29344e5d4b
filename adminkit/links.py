"""Where the admin has the pages of an app's rows and lists."""

from dataclasses import dataclass
from urllib.parse import urlencode

from django.urls import reverse


@dataclass(frozen=True, slots=True)
class Pages:
    """The addresses of one app's pages; models are named in lower case."""

    app: str
    """Its label."""

    def page(self, model: str, key: object) -> str:
        """Return the address of the page of a row, by its key or by what else it is found by."""
        return reverse(f"admin:{self.app}_{model}_change", args=[key])

    def list_page(self, model: str) -> str:
        """Return the address of a list."""
        return reverse(f"admin:{self.app}_{model}_changelist")

    def search_page(self, model: str, term: object, **choice: str) -> str:
        """Return the address of a list searched for a term, in the part of it that is chosen."""
        return self.list_page(model) + "?" + urlencode({"q": str(term), **choice})

"""The addresses of the admin's pages for rows and lists of an app."""

from dataclasses import dataclass
from urllib.parse import urlencode

from django.urls import reverse


@dataclass(frozen=True, slots=True)
class PageLinks:
    """The addresses of one app's pages; models are named in lower case."""

    app: str
    """The app's label."""

    def page(self, model: str, key: object) -> str:
        """Return the address of a row's page, by its primary key or another key that the admin accepts."""
        return reverse(f"admin:{self.app}_{model}_change", args=[key])

    def list_page(self, model: str) -> str:
        """Return the address of a list."""
        return reverse(f"admin:{self.app}_{model}_changelist")

    def search_page(self, model: str, term: object, **choice: str) -> str:
        """Return the address of a list with a search term, in the given part of the list."""
        return self.list_page(model) + "?" + urlencode({"q": str(term), **choice})

"""Logins to the admin with a one-time code as second factor, by django-otp, which a site's own settings install.

docs/logins.md has these settings. Without them nothing imports this module, because django-otp is an optional dependency.
"""

from collections.abc import Callable
from typing import Any

from django import forms
from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest, HttpResponse
from django.utils.functional import SimpleLazyObject
from django_otp import devices_for_user
from django_otp.forms import OTPAuthenticationFormMixin
from typing_extensions import override
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextInputWidget

from nodeproject.web.logins import LoginForm


class CodeLoginForm(OTPAuthenticationFormMixin, LoginForm):  # type: ignore[misc]  # untyped
    """The login form with a field for a one-time code, and for the device if the user has several.

    The devices of a user are shown once the password is correct.
    """

    otp_device = forms.CharField(label="Device", required=False, widget=forms.HiddenInput)
    otp_token = forms.CharField(
        label="One-time code",
        required=False,  # so that a missing code has django-otp's own message
        widget=UnfoldAdminTextInputWidget(attrs={"autocomplete": "one-time-code"}),
    )

    @override
    def clean(self) -> dict[str, Any]:
        self.cleaned_data = super().clean()
        user = self.get_user()
        devices = list(devices_for_user(user)) if user is not None else []
        if len(devices) == 1:
            self.cleaned_data["otp_device"] = devices[0].persistent_id
        elif devices:
            self.fields["otp_device"].widget = UnfoldAdminSelectWidget()
        self.clean_otp(user)
        return self.cleaned_data


class VerifiedUsersOnly:
    """Middleware that treats users without a verified second factor as not logged in; after django-otp's own."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Pass a request on."""
        user: Any = request.user

        def verified() -> Any:
            return user if user.is_verified() else AnonymousUser()

        request.user = SimpleLazyObject(verified)  # type: ignore[assignment]  # a proxy, as Django's own middleware sets
        return self._get_response(request)

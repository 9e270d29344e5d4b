"""django-prometheus' middleware, for what Django itself answers: the admin and the OpenAPI page.

RPC, health and metrics are answered before Django and counted elsewhere.
"""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django_prometheus.middleware import (  # type: ignore[import-untyped]
    PrometheusAfterMiddleware,
    PrometheusBeforeMiddleware,
)
from typing_extensions import override


class Before(PrometheusBeforeMiddleware):  # type: ignore[misc]  # untyped
    """Outermost: measures a request with all other middleware."""


class After(PrometheusAfterMiddleware):  # type: ignore[misc]  # untyped
    """Innermost: measures the view."""

    @override
    def label_metric(
        self, metric: Any, request: HttpRequest, response: HttpResponse | None = None, **labels: str
    ) -> Any:
        """Return a metric's part with these labels.

        The base class makes a series of its own for whatever word a client sends as its method.
        """
        if "method" in labels:
            labels["method"] = self._method(request)
        return super().label_metric(metric, request, response, **labels)

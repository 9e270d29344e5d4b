"""JSON schemas of the parts of the Kubernetes API that the manifests use, with its field names and types.

Only used fields are listed, and no others are allowed. So a misspelled field, which a cluster would reject
or, worse, ignore, is unknown to every schema.
"""

from typing import Any, Final

STRING: Final = {"type": "string"}
WHOLE: Final = {"type": "integer"}
TRUTH: Final = {"type": "boolean"}
STRINGS: Final = {"type": "object", "additionalProperties": STRING}
QUANTITY: Final = {"type": "string", "pattern": r"^[0-9]+(\.[0-9]+)?(m|Ki|Mi|Gi|Ti)?$"}
NAME: Final = {"type": "string", "pattern": r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$"}
PORT_NAME: Final = {"type": "string", "pattern": r"^[a-z0-9]([a-z0-9-]{0,13}[a-z0-9])?$"}
PORT: Final = {"type": "integer", "minimum": 1, "maximum": 65_535}


def thing(*required: str, **fields: Any) -> dict[str, Any]:
    """Return the schema of an object that has these fields and no others."""
    return {
        "type": "object",
        "properties": fields,
        "required": list(required),
        "additionalProperties": False,
    }


def several(of: Any) -> dict[str, Any]:
    """Return the schema of a non-empty list."""
    return {"type": "array", "items": of, "minItems": 1}


METADATA: Final = thing("name", name=NAME, labels=STRINGS)
SELECTOR: Final = thing("matchLabels", matchLabels=STRINGS)
QUANTITIES: Final = thing(cpu=QUANTITY, memory=QUANTITY, storage=QUANTITY)
RESOURCES: Final = thing("requests", requests=QUANTITIES, limits=QUANTITIES)
PROBE: Final = thing(
    "httpGet",
    httpGet=thing("path", "port", path=STRING, port=PORT_NAME),
    periodSeconds=WHOLE,
    timeoutSeconds=WHOLE,
    failureThreshold=WHOLE,
)
CONTAINER: Final = thing(
    "name", "image", "command", "resources", "securityContext",
    name=NAME,
    image=STRING,
    command=several(STRING),
    envFrom=several(thing(configMapRef=thing("name", name=NAME), secretRef=thing("name", name=NAME))),
    env=several(
        thing(
            "name", "valueFrom",
            name=STRING,
            valueFrom=thing("configMapKeyRef", configMapKeyRef=thing("name", "key", name=NAME, key=STRING)),
        )
    ),
    securityContext=thing(
        allowPrivilegeEscalation=TRUTH,
        readOnlyRootFilesystem=TRUTH,
        capabilities=thing(drop=several(STRING)),
    ),
    resources=RESOURCES,
    ports=several(thing("name", "containerPort", name=PORT_NAME, containerPort=PORT)),
    startupProbe=PROBE,
    livenessProbe=PROBE,
    readinessProbe=PROBE,
    volumeMounts=several(
        thing("name", "mountPath", name=NAME, mountPath=STRING, subPath=STRING, readOnly=TRUTH)
    ),
)  # fmt: skip
POD: Final = thing(
    "containers",
    automountServiceAccountToken=TRUTH,
    enableServiceLinks=TRUTH,
    terminationGracePeriodSeconds=WHOLE,
    securityContext=thing(
        runAsNonRoot=TRUTH,
        runAsUser=WHOLE,
        runAsGroup=WHOLE,
        fsGroup=WHOLE,
        seccompProfile=thing("type", type={"enum": ["RuntimeDefault", "Localhost", "Unconfined"]}),
    ),
    initContainers=several(CONTAINER),
    containers=several(CONTAINER),
    volumes=several(
        thing(
            "name",
            name=NAME,
            secret=thing("secretName", secretName=NAME, defaultMode=WHOLE),
            emptyDir=thing(),
        )
    ),
)
CLAIM: Final = thing(
    "metadata", "spec",
    metadata=METADATA,
    spec=thing(
        "accessModes", "resources",
        accessModes=several({"enum": ["ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany"]}),
        resources=RESOURCES,
    ),
)  # fmt: skip


def _kind(version: str, kind: str, **fields: Any) -> dict[str, Any]:
    return thing(
        "apiVersion", "kind", "metadata", *fields,
        apiVersion={"const": version}, kind={"const": kind}, metadata=METADATA, **fields,
    )  # fmt: skip


KINDS: Final = {
    "ConfigMap": _kind("v1", "ConfigMap", data=STRINGS),
    "Service": _kind(
        "v1",
        "Service",
        spec=thing(
            "selector", "ports",
            type={"enum": ["ClusterIP", "NodePort", "LoadBalancer"]},
            selector=STRINGS,
            ports=several(
                thing("port", "targetPort", name=PORT_NAME, port=PORT, targetPort=PORT_NAME)
            ),
        ),
    ),
    "StatefulSet": _kind(
        "apps/v1",
        "StatefulSet",
        spec=thing(
            "serviceName", "selector", "template",
            serviceName=NAME,
            replicas=WHOLE,
            selector=SELECTOR,
            template=thing("metadata", "spec", metadata=thing("labels", labels=STRINGS), spec=POD),
            volumeClaimTemplates=several(CLAIM),
        ),
    ),
}  # fmt: skip

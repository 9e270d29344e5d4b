"""How JSON Schemas are put together: objects, arrays, maps, and names for what occurs again and again."""

from collections.abc import Mapping
from typing import Any, Final

Schema = Mapping[str, Any]
"""A JSON Schema of draft 7, as OpenRPC 1.3 has them."""

WHERE: Final = "#/components/schemas/"

NULL: Final[Schema] = {"type": "null"}
BOOLEAN: Final[Schema] = {"type": "boolean"}
TRUE: Final[Schema] = {"const": True}
TEXT: Final[Schema] = {"type": "string"}
NUMBER: Final[Schema] = {"type": "number"}
COUNT: Final[Schema] = {"type": "integer", "minimum": 0}
OBJECT: Final[Schema] = {"type": "object"}
NOTHING: Final[Schema] = {"type": "object", "additionalProperties": False}
"""An object without members: what methods by name answer that have nothing to say."""
ANYTHING: Final[Schema] = {}


def ref(name: str) -> Schema:
    """Return the schema of that name among the document's components."""
    return {"$ref": WHERE + name}


def array(of: Schema, **limits: int) -> Schema:
    """Return an array of equal things."""
    return {"type": "array", "items": of, **limits}


def mapping(of: Schema) -> Schema:
    """Return an object whose members, whatever their names, are equal things."""
    return {"type": "object", "additionalProperties": of}


def nullable(schema: Schema) -> Schema:
    """Return the same, or null."""
    return one_of(schema, NULL)


def one_of(*schemas: Schema) -> Schema:
    """Return what fits one of several. It may fit more: an empty array is one of anything."""
    return {"anyOf": list(schemas)}


def record(required: Mapping[str, Schema], optional: Mapping[str, Schema] | None = None) -> Schema:
    """Return an object with these members and no others."""
    return {
        "type": "object",
        "properties": {**required, **(optional or {})},
        "required": list(required),
        "additionalProperties": False,
    }


def options(**members: Schema) -> Schema:
    """Return an object that somebody sends: each of its members may be left out, others are ignored."""
    return {"type": "object", "properties": members}


def pattern(expression: str, description: str) -> Schema:
    """Return a text of one form."""
    return {"type": "string", "pattern": expression, "description": description}


def words(*allowed: str) -> Schema:
    """Return a text that is one of a few."""
    return {"type": "string", "enum": list(allowed)}


def described(schema: Schema, description: str) -> Schema:
    """Return the same with a description; beside a reference, which has no neighbours in draft 7, around it."""
    if "$ref" in schema:
        return {"allOf": [schema], "description": description}
    return {**schema, "description": description}

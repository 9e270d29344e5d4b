"""Builders of JSON Schemas: objects, arrays, maps, and names for recurring schemas."""

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
"""An object without members: the result of methods with named params that have nothing to report."""
ANYTHING: Final[Schema] = {}


def ref(name: str) -> Schema:
    """Return a reference to the schema of that name among the document's components."""
    return {"$ref": WHERE + name}


def array(of: Schema, **limits: int) -> Schema:
    """Return the schema of an array of elements of one kind."""
    return {"type": "array", "items": of, **limits}


def mapping(of: Schema) -> Schema:
    """Return the schema of an object with members of any name and of one kind."""
    return {"type": "object", "additionalProperties": of}


def nullable(schema: Schema) -> Schema:
    """Return a schema that also allows null."""
    return one_of(schema, NULL)


def one_of(*schemas: Schema) -> Schema:
    """Return the schema of a value that fits one of several. It may fit more: an empty array fits any array."""
    return {"anyOf": list(schemas)}


def record(required: Mapping[str, Schema], optional: Mapping[str, Schema] | None = None) -> Schema:
    """Return the schema of an object with these members and no others."""
    return {
        "type": "object",
        "properties": {**required, **(optional or {})},
        "required": list(required),
        "additionalProperties": False,
    }


def options(**members: Schema) -> Schema:
    """Return the schema of an object sent by a client: each member may be missing, unknown ones are ignored."""
    return {"type": "object", "properties": members}


def pattern(expression: str, description: str) -> Schema:
    """Return the schema of a text that matches an expression."""
    return {"type": "string", "pattern": expression, "description": description}


def words(*allowed: str) -> Schema:
    """Return the schema of a text that is one of a few."""
    return {"type": "string", "enum": list(allowed)}


def described(schema: Schema, description: str) -> Schema:
    """Return a schema with a description; a reference is wrapped, because draft 7 allows nothing beside it."""
    if "$ref" in schema:
        return {"allOf": [schema], "description": description}
    return {**schema, "description": description}

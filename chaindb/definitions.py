"""Copying the definitions of a schema's tables, indexes and views into another schema of the same database.

PostgreSQL has no statement for that. Its catalog returns each definition as a statement; names of other relations in it
have no schema while the source is the current one, so that the same statement makes the copy in another one.
"""

from typing import Final

from chaindb.database import Database

_NOT_OF_EXTENSION: Final = """
    NOT EXISTS (SELECT 1 FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = r.oid AND d.deptype = 'e')
"""
_TABLES: Final = f"""
    SELECT format('CREATE TABLE %%I (LIKE %%I.%%I INCLUDING DEFAULTS INCLUDING IDENTITY INCLUDING GENERATED INCLUDING STORAGE)',
        relname, current_schema(), relname)
    FROM pg_class r WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace AND {_NOT_OF_EXTENSION}
    ORDER BY oid
"""  # noqa: S608  # constants
_CONSTRAINTS: Final = f"""
    SELECT format('ALTER TABLE %%I ADD CONSTRAINT %%I %%s', r.relname, c.conname, pg_get_constraintdef(c.oid))
    FROM pg_constraint c JOIN pg_class r ON r.oid = c.conrelid
    WHERE r.relkind = 'r' AND r.relnamespace = current_schema()::regnamespace AND c.contype IN ('p', 'u', 'x', 'c', 'f')
      AND {_NOT_OF_EXTENSION}
    ORDER BY c.contype = 'f', c.oid
"""  # noqa: S608  # constants
_INDEXES: Final = f"""
    SELECT pg_get_indexdef(i.indexrelid, 0, true)
    FROM pg_index i JOIN pg_class r ON r.oid = i.indrelid
    WHERE r.relkind = 'r' AND r.relnamespace = current_schema()::regnamespace
      AND NOT EXISTS (SELECT 1 FROM pg_constraint c WHERE c.conindid = i.indexrelid AND c.contype IN ('p', 'u', 'x'))
      AND {_NOT_OF_EXTENSION}
    ORDER BY i.indexrelid
"""  # noqa: S608  # constants
_VIEWS: Final = f"""
    SELECT format('CREATE VIEW %%I AS %%s', relname, pg_get_viewdef(oid, true))
    FROM pg_class r
    WHERE relkind = 'v' AND relnamespace = current_schema()::regnamespace AND NOT starts_with(relname, %s)
      AND {_NOT_OF_EXTENSION}
    ORDER BY oid
"""  # noqa: S608  # constants


def copy_definitions(db: Database, schema: str, *, except_views: str) -> None:
    """Create a schema with the tables, indexes, constraints and views of the current schema, all without rows.

    The caller holds a transaction. Storage parameters, comments, triggers, permissions and what belongs to
    PostgreSQL's extensions are not copied.

    Args:
        db: The database.
        schema: The name of the new schema.
        except_views: The beginning of the names of views that are not copied.

    Raises:
        DatabaseError: The schema exists, or a definition cannot be copied, such as that of an operator's own table.
    """
    assert db.connection.in_atomic_block
    found = [
        *db.rows(_TABLES),
        *db.rows(_CONSTRAINTS),
        *db.rows(_INDEXES),
        *db.rows(_VIEWS, (except_views,)),
    ]
    statements = [str(statement).rstrip(";") for (statement,) in found]
    with db.connection.cursor() as cursor:
        cursor.execute("SELECT current_setting('search_path')")
        (before,) = cursor.fetchone()
        cursor.execute(f'CREATE SCHEMA "{schema}"')
        cursor.execute("SELECT set_config('search_path', quote_ident(%s), true)", (schema,))
        cursor.execute(";\n".join(statements))  # without parameters, so that it may be many
        cursor.execute("SELECT set_config('search_path', %s, true)", (before,))

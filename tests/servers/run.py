"""`python -m tests.servers.run COMMAND…`: runs a command with a PostgreSQL and a Redis server.

The command gets them through the node's settings and runs in the production profile.
"""

import os
import subprocess
import sys

from tests.servers.postgresql import PostgresqlServer
from tests.servers.redis import RedisServer


def main(command: list[str]) -> int:
    """Run the command and return its exit code."""
    postgresql = PostgresqlServer()
    try:
        redis = RedisServer()
        try:
            environment = {
                **os.environ,
                "NODE_PROFILE": "production",
                "NODE_DATABASE_URL": postgresql.create_database("node"),
                "NODE_REDIS_URL": redis.url,
            }
            return subprocess.run(command, env=environment, check=False).returncode
        finally:
            redis.stop()
    finally:
        postgresql.stop()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

#!/usr/bin/env bash
# Copy the primary once, and follow it; arguments are those of postgres.
set -euo pipefail
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  PGPASSWORD="$(cat "$REPLICATION_PASSWORD_FILE")"
  export PGPASSWORD
  until pg_basebackup --host "$PRIMARY_HOST" --username replication --pgdata "$PGDATA" \
    --write-recovery-conf --slot standby --checkpoint fast; do
    sleep 1
  done
  unset PGPASSWORD
  chmod 700 "$PGDATA"
fi
exec postgres "$@"

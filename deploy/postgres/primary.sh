#!/usr/bin/env bash
# Run once, when the primary's folder is made: roles, a slot for the standby, and commits that wait for it.
set -euo pipefail
psql --no-psqlrc --quiet --set ON_ERROR_STOP=1 --username "${POSTGRES_USER:-postgres}" --dbname postgres \
  --set replication="$(cat "$REPLICATION_PASSWORD_FILE")" --set discreet="$(cat "$DISCREET_PASSWORD_FILE")" <<'SQL'
CREATE ROLE replication LOGIN REPLICATION PASSWORD :'replication';
CREATE ROLE discreet LOGIN PASSWORD :'discreet';
CREATE DATABASE discreet OWNER discreet;
SELECT FROM pg_create_physical_replication_slot('standby', true);
ALTER SYSTEM SET synchronous_commit = 'remote_apply';
-- In force from the next start on: until there is a standby, no commit would return.
ALTER SYSTEM SET synchronous_standby_names = '*';
SQL
echo "host replication replication all scram-sha-256" >> "$PGDATA/pg_hba.conf"

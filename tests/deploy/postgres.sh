# Makes the database on the first start, and serves it.
set -euo pipefail
programs=$(echo /usr/lib/postgresql/*/bin)
data=/var/lib/postgresql/data/files
mkdir -p "$data" && chown -R postgres /var/lib/postgresql/data
if [ ! -e "$data/PG_VERSION" ]; then
    printf '%s' "$POSTGRES_PASSWORD" >/tmp/password
    chown postgres /tmp/password
    runuser -u postgres -- "$programs/initdb" -D "$data" -U "$POSTGRES_USER" -A scram-sha-256 --pwfile=/tmp/password
    echo "host all all all scram-sha-256" >>"$data/pg_hba.conf"
    runuser -u postgres -- "$programs/pg_ctl" -D "$data" -w -o "-c listen_addresses=" start
    PGPASSWORD=$POSTGRES_PASSWORD "$programs/createdb" -h /var/run/postgresql -U "$POSTGRES_USER" "$POSTGRES_DB"
    runuser -u postgres -- "$programs/pg_ctl" -D "$data" -w stop
fi
exec runuser -u postgres -- "$programs/postgres" -D "$data" -c "listen_addresses=*"

# shellcheck shell=bash disable=SC2016,SC2154 # conditions are asked again and again; what run has set
# The server is stopped.
# shellcheck disable=SC2034 # for run
stores="postgres redis"
fault() {
  fenceline enqueue mail >/dev/null
  if [ "$kind" = postgres ]; then
    export PGDATA=$FENCELINE_TEST_POSTGRES_DATA
    # As the server's own user, who may not stand here.
    mkdir bin
    printf '#!/bin/sh\ncd / && exec %s /usr/lib/postgresql/15/bin/pg_ctl "$@"\n' "$([ "$(id -u)" -ne 0 ] || echo runuser -u postgres --)" >bin/pg_ctl
    chmod +x bin/pg_ctl
    PATH=$folder/bin:$PATH
    pg_ctl stop -s -w -m fast -D "$PGDATA"
  else
    export REDIS_CONF=$FENCELINE_TEST_REDIS_FOLDER/redis.conf
    redis-cli --no-auth-warning -u "$FENCELINE_STORE" SHUTDOWN NOSAVE
    until_so '! redis-cli -u "$FENCELINE_STORE" PING >/dev/null 2>&1'
  fi
  finds store_away
}
mended() { fenceline jobs >/dev/null 2>&1; }

# shellcheck shell=bash disable=SC2016,SC2154 # conditions are asked again and again; what run has set
# Somebody writes into the store: the account of a schedule stands a day ahead.
fault() {
  export SCHEDULE=beat
  fenceline schedule add beat --every 1m --queue beats >/dev/null 2>&1
  case $kind in
    sqlite) sqlite3 "$DB" 'update fenceline_schedule set resolved_to = resolved_to + 86400000000' ;;
    postgres) psql -qX "$FENCELINE_STORE" -c 'update fenceline.schedule set resolved_to = resolved_to + 86400000000' ;;
    redis)
      redis-cli --no-auth-warning -u "$FENCELINE_STORE" EVAL "local s = cmsgpack.unpack(redis.call('HGET', KEYS[1], 'beat')) s[3] = s[3] + 86400000000
        redis.call('HSET', KEYS[1], 'beat', cmsgpack.pack(s)) return redis.call('ZADD', KEYS[2], string.format('%.0f', s[3]), 'beat')" 2 'fl:{default}:schedule' 'fl:{default}:schedules_at' >/dev/null
      ;;
  esac
  next_second
  shows 'schedule list' 'beat'
  shows 'sqlite3' '^beat\|'
  shows 'psql' ' beat '
  shows 'BYSCORE' '^beat$'
  finds schedules_ahead
}
mended() {
  local next
  next=$(fenceline schedule list --json | jq -r '.schedules[0].next')
  [ "$(date -d "$next" +%s)" -le $(($(date +%s) + 120)) ]
}

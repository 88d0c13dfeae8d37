-- needs: 00_core
-- ARGV: owner.
call('HDEL', P .. 'workers', ARGV[4])
call('HDEL', P .. 'orders', ARGV[4])
call('ZREM', P .. 'workers_seen', ARGV[4])
return {}

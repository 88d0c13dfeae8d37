-- needs: 00_core
-- The removal of a namespace is several short steps, of which each leaves a namespace that is whole, only with less in it: this one, then remove_waiters, remove_locks, remove_jobs and remove_schedules as often as they have something to do,
-- remove_rest and sweep_namespace. A removal that stops half-way can be repeated; what comes in the meantime is treated as if it had come before or after it.
-- ARGV: actor, reason. Answers the last order of enqueue: jobs behind it came later.
goes_on_when_full()
note_act(ARGV[4], 'namespace_removed', P:match('{(.*)}:$'), ARGV[5])
return num(last_order())

-- needs: 00_core 10_jobs
-- ARGV[4] queue, whose limit per key was changed. Answers 1 if there is more to do.
unpark_some(ARGV[4])
tell('Q ' .. ARGV[4])
return call('HEXISTS', P .. 'unparking', ARGV[4])

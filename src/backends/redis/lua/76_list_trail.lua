-- needs: 00_core
-- ARGV: limit. Answers the entries as note_act packs them, oldest first.
return call('LRANGE', P .. 'trail', -tonumber(ARGV[4]), -1)

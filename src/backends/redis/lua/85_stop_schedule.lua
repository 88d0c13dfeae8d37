-- needs: 00_core 10_jobs 16_schedule_rows 19_new_jobs 19_steps 19_schedule_changes
-- The same for a pause or a removal of which no job comes: a full server takes it.
goes_on_when_full()
return change_schedule()

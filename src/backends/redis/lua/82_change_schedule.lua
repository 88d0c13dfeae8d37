-- needs: 00_core 10_jobs 16_schedule_rows 19_new_jobs 19_steps 19_schedule_changes
-- See 19_schedule_changes.lua.
return change_schedule()

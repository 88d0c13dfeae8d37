"""Reads the lines of cron_cases; for each, the next ticks by croniter: a list of seconds, or {"error": ...}."""
import datetime
import json
import re
import sys


import pytz
from croniter import croniter

WEEKDAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]


def in_its_words(expression):
    """The second comes last there, and the last Friday is L5."""
    fields = expression.lower().split()
    if len(fields) == 6:
        fields.append(fields.pop(0))

    def last_weekday(found):
        day = found.group(1)
        return "l" + str(WEEKDAYS.index(day) if day in WEEKDAYS else day)

    fields[4] = ",".join(re.sub(r"^(\w+)l$", last_weekday, item) for item in fields[4].split(","))
    return " ".join(fields)


for line in sys.stdin:
    case = json.loads(line)
    start = datetime.datetime.fromtimestamp(case["from"], pytz.timezone(case["zone"]))
    try:
        ticks = croniter(in_its_words(case["cron"]), start, max_years_between_matches=200)
        print(json.dumps([int(ticks.get_next(float)) for _ in case["ticks"]]))
    except (ValueError, KeyError, OverflowError) as error:
        print(json.dumps({"error": type(error).__name__ + ": " + str(error)}))

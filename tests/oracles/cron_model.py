"""The rules of docs/schedules-time.md a third time, with the places where other readers of cron expressions differ as switches."""
import bisect
import datetime
import functools
import re
import zoneinfo

DAY = 86400
EPOCH_DAY = datetime.date(1970, 1, 1).toordinal()
SCAN = (int(datetime.datetime(2011, 12, 1, tzinfo=datetime.timezone.utc).timestamp()), int(datetime.datetime(2200, 1, 1, tzinfo=datetime.timezone.utc).timestamp()))


@functools.lru_cache(maxsize=None)
def stretches(zone_name):
    """[(begin, offset)] of the zone from 2011 to 2200, by looking at every day."""
    zone = zoneinfo.ZoneInfo(zone_name)

    def offset(at):
        return int(datetime.datetime.fromtimestamp(at, zone).utcoffset().total_seconds())

    found = [(SCAN[0], offset(SCAN[0]))]
    for noon in range(SCAN[0] + DAY, SCAN[1], DAY):
        if offset(noon) == found[-1][1]:
            continue
        before, after = noon - DAY, noon
        while after - before > 1:
            middle = (before + after) // 2
            before, after = (middle, after) if offset(middle) == found[-1][1] else (before, middle)
        found.append((after, offset(after)))
    return found


def changes(zone_name):
    """[(instant, by how much)]: positive is a gap."""
    all_of_it = stretches(zone_name)
    return [(begin, offset - all_of_it[i][1]) for i, (begin, offset) in enumerate(all_of_it[1:])]


class Expression:
    """What an expression names. `days(date)` tells whether a day matches; it is ours unless someone puts another there."""

    def __init__(self, case):
        self.fields = case["cron"].split()
        self.named = [frozenset(numbers) for numbers in case["named"]]
        self.last_day, self.last_weekdays = case["last_day"], frozenset(case["last_weekdays"])
        self.nth_weekdays = {tuple(pair) for pair in case["nth_weekdays"]}
        self.times = [sorted(numbers) for numbers in self.named[:3]]
        self.hour, self.day, self.weekday = self.fields[-4], self.fields[-3], self.fields[-1]
        self.elapsed = self.hour.startswith("*")
        self.days = self.days_by_our_rule

    def by_date(self, date):
        return date.day in self.named[3] or (self.last_day and (date + datetime.timedelta(1)).day == 1)

    def by_special_weekday(self, date):
        weekday = date.isoweekday() % 7
        is_last = (date + datetime.timedelta(7)).month != date.month
        return (is_last and weekday in self.last_weekdays) or (weekday, (date.day - 1) // 7 + 1) in self.nth_weekdays

    def by_weekday(self, date):
        return date.isoweekday() % 7 in self.named[5] or self.by_special_weekday(date)

    def days_by_our_rule(self, date):
        if self.day.startswith("*") or self.weekday.startswith("*"):
            return self.by_date(date) and self.by_weekday(date)
        return self.by_date(date) or self.by_weekday(date)

    def civil(self, begin, end):
        """The matching civil times in [begin, end), as seconds since 1970 there."""
        seconds, minutes, hours = self.times
        for day in range(begin // DAY, (end + DAY - 1) // DAY):
            date = datetime.date.fromordinal(EPOCH_DAY + day)
            if date.month not in self.named[4] or not self.days(date):
                continue
            for hour in hours:
                if day * DAY + hour * 3600 + 3600 <= begin:
                    continue
                for minute in minutes:
                    for second in seconds:
                        at = day * DAY + hour * 3600 + minute * 60 + second
                        if at >= end:
                            return
                        if at >= begin:
                            yield at


def ticks(expression, zone, start, count, longest_gap=10**9):
    """The first `count` ticks after `start`. A gap that is longer than `longest_gap` has none."""
    parts = stretches(zone)
    found = []
    i = bisect.bisect_right(parts, (start, 10**9)) - 1
    while i < len(parts) and len(found) < count:
        begin, offset = parts[i]
        end = parts[i + 1][0] if i + 1 < len(parts) else SCAN[1]
        shown = max([part_begin + parts[j][1] for j, (part_begin, _) in enumerate(parts[1:i + 1])][-3:], default=begin + offset)
        first = max(start + 1, begin) + offset
        if not expression.elapsed:
            gap = begin + offset - shown
            if 0 < gap <= longest_gap and begin > start and next(expression.civil(shown, begin + offset), None) is not None:
                found.append(begin)
            first = max(first, shown)
        for at in expression.civil(first, end + offset):
            if found and found[-1] == at - offset:
                continue
            found.append(at - offset)
            if len(found) >= count:
                break
        i += 1
    return found[:count]


def is_one_time_of_day(fields):
    """Second, minute and hour are one plain number each."""
    times = fields[:-3]
    return all(re.fullmatch(r"\d+", field) for field in times)

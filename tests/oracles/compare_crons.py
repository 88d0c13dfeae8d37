"""Compares what cron_cases, and others for the same lines, say about the next ticks:

    compare_crons.py CASES NAME=ANSWERS... [--into DOCUMENT]

Where they differ, ours have to be those of our rule, and the other's those of kinds below: a kind predicts the answer by a rule of its own. A difference that
nothing predicts fails the run. Prints the table of docs/schedules-time.md, and puts it there."""
import collections
import datetime
import itertools
import json
import sys
import zoneinfo

import cron_model

HOUR, DAY = 3600, 86400
LONGEST = [0, 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]  # months
BEGIN, END = "<!-- made by tests/oracles/cron -->\n", "<!-- end -->"
# pytz has no rules behind its tables.
END_OF_PYTZ = int(datetime.datetime(2037, 10, 1, tzinfo=datetime.timezone.utc).timestamp())

# kind: (what the other does, our rule)
KINDS = {
    "step of * is no *": ("a day field with `*/2` is joined with the other by *or*, as if it named days", "as Vixie cron: a field that begins with `*` must match together with the other"),
    "all values are *": ("a day field that lists all values counts as `*`", "what is written counts: `1-31` does not begin with `*`"),
    "only one time a day is kept": ("expressions with more than one time a day follow elapsed time, whatever their hour field says: nothing in a gap, twice in a repeated hour",
                                    "named hours run once at the gap's end, and at the first of a repeated hour"),
    "a long gap has no tick": ("a gap of more than three hours, as a day that was left out, has no tick", "one tick at the gap's end, however long it is"),
    "nth weekday beside a date": ("`1#2` or `5L` beside a day of month: the day of month is not looked at, or nothing is found", "either of them will do, as with plain days"),
    "date that never comes": ("a date that never comes (30 February) beside a day of week: nothing is found", "either of them will do: the day of week comes"),
    "nth weekday in a list": ("a weekday that is in the list plainly and with `#` or `L` counts with `#` or `L` only", "each item of a list adds its days"),
    "nth weekday in a list, refused": ("`1#2` or `5L` beside plain weekdays is refused", "each item of a list adds its days"),
    "short month": ("a search that meets a day which the month lacks (31 in February, say by `*/10`) goes on that many days later, and passes over the first days of the next month, or over `L`",
                    "a month has the days that it has"),
    "clocks changed": ("ticks around a change are counted in the offset of the start: 02:30 in a gap is 03:30, and ticks beside the change are an hour away, twice or missing", "the table above"),
    "behind 2037": ("its zones (pytz) have no rules after 2037", "the tz database's rules go on for ever"),
}


def month_before(date):
    return date - datetime.timedelta(date.day)


def start_of(case):
    return datetime.datetime.fromtimestamp(case["from"], zoneinfo.ZoneInfo(case["zone"])).date()


def croner_with(case, kinds):
    """What croner says if it differs in these kinds."""
    expression = cron_model.Expression(case)
    start = start_of(case)

    def both(by_date, by_weekday):
        any_day = "*" in (expression.day, expression.weekday) if "step of * is no *" in kinds else expression.day.startswith("*") or expression.weekday.startswith("*")
        return by_date and by_weekday if any_day else by_date or by_weekday

    def passed_over(date):
        before = month_before(date)
        if before.month not in expression.named[4] or start > before or date.day > 2:
            return False
        for beyond in range(before.day + 1, 32):
            weekday = (before + datetime.timedelta(beyond - before.day)).isoweekday() % 7
            by_weekday = weekday in expression.named[5] or weekday in expression.last_weekdays or (weekday, 5) in expression.nth_weekdays
            if both(beyond in expression.named[3], by_weekday):
                return date.day < beyond - before.day
        return False

    def days(date):
        return both(expression.by_date(date), expression.by_weekday(date)) and not ("short month" in kinds and passed_over(date))

    expression.days = days
    if "only one time a day is kept" in kinds:
        expression.elapsed = True
    return cron_model.ticks(expression, case["zone"], case["from"], len(case["ticks"]), longest_gap=3 * HOUR if "a long gap has no tick" in kinds else 10**9)


def croner(case, answer):
    """The fewest kinds that together predict croner's answer; None: nothing does."""
    if isinstance(answer, dict):
        return None
    expression = cron_model.Expression(case)
    kinds = ["step of * is no *", "short month"]
    if not expression.elapsed:
        kinds.append("a long gap has no tick" if cron_model.is_one_time_of_day(expression.fields) else "only one time a day is kept")
    for count in range(1, len(kinds) + 1):
        for some in itertools.combinations(kinds, count):
            if croner_with(case, some) == answer:
                return list(some)
    return None


def croniter_with(case, kinds, count):
    """What croniter says if it differs in these kinds, apart from changes of the clocks."""
    expression = cron_model.Expression(case)
    start = start_of(case)

    def by_date(date):
        if every_date or "short month" not in kinds:
            return every_date or expression.by_date(date)
        # The search takes the next day that is named, whether the month has it or not.
        before, after = month_before(date), date + datetime.timedelta(1)
        beyond = [day for day in expression.named[3] if day > before.day]
        if beyond and date.day < min(beyond) - before.day and before.month in expression.named[4] and start <= before:
            return False
        if after.day == 1 and date.day not in expression.named[3] and any(day > date.day for day in expression.named[3]) and start < date:
            return False
        return expression.by_date(date)

    special = {weekday for weekday, _ in expression.nth_weekdays} | expression.last_weekdays
    any_day, any_weekday = expression.day.startswith("*"), expression.weekday.startswith("*")
    if "step of * is no *" in kinds:
        any_day, any_weekday = expression.day == "*", expression.weekday == "*"
    every_date = "all values are *" in kinds and len(expression.named[3]) + expression.last_day == 31  # L is one of them
    every_weekday = "all values are *" in kinds and len(expression.named[5] | special) == 7
    any_day, any_weekday = any_day or every_date, any_weekday or every_weekday

    def days(date):
        by_weekday = expression.by_special_weekday(date) if special and "nth weekday in a list" in kinds else expression.by_weekday(date)
        if special and not any_day and not any_weekday and "nth weekday beside a date" in kinds:
            return by_weekday
        return by_date(date) and by_weekday if any_day or any_weekday else by_date(date) or by_weekday

    expression.days = days
    return cron_model.ticks(expression, case["zone"], case["from"], count)


def only_by_a_change(case, predicted, answer):
    """Whether two lists of ticks differ only at a change of the clocks after the start, or by its length, compared as far as both go."""
    until = min(max(predicted), max(answer))
    after_start = [(change, abs(by)) for change, by in cron_model.changes(case["zone"]) if case["from"] - DAY <= change <= until + DAY]
    if not after_start:
        return False
    if any(later <= earlier for earlier, later in zip(answer, answer[1:])):
        return True  # it stands still, or goes back

    all_ticks, different = set(predicted) | set(answer), [tick for tick in set(predicted) ^ set(answer) if tick <= until]
    moved = [tick for tick in different if any(abs(tick - change) <= 36 * HOUR or {tick - by, tick + by} & all_ticks for change, by in after_start)]
    # Behind one that was moved, others of its day are missing.
    return all(any(0 <= tick - other < DAY for other in moved) for tick in different)


def croniter(case, answer):
    """The fewest kinds that together predict croniter's answer; None: nothing does."""
    expression = cron_model.Expression(case)
    special = {weekday for weekday, _ in expression.nth_weekdays} | expression.last_weekdays
    if isinstance(answer, dict):
        if "does not support mixing" in answer["error"] and special and expression.named[5] - special:
            return ["nth weekday in a list, refused"]
        if "failed to find next date" in answer["error"] and special and expression.day != "*":
            return ["nth weekday beside a date"]
        if "failed to find next date" in answer["error"] and not any(day <= LONGEST[month] for day in expression.named[3] for month in expression.named[4]):
            return ["date that never comes"]
        return None
    kinds = ["step of * is no *", "all values are *", "nth weekday beside a date", "nth weekday in a list", "short month"]
    choices = [some for count in range(len(kinds) + 1) for some in itertools.combinations(kinds, count)]
    predictions = [(list(some), croniter_with(case, some, 3 * len(answer))) for some in choices]
    for some, predicted in predictions:
        if predicted[:len(answer)] == answer:
            return some
    for some, predicted in predictions:
        if max(answer) > END_OF_PYTZ and [tick for tick in predicted[:len(answer)] if tick < END_OF_PYTZ] == [tick for tick in answer if tick < END_OF_PYTZ]:
            return some + ["behind 2037"]
    for some, predicted in predictions:
        if only_by_a_change(case, predicted, answer):
            return some + ["clocks changed"]
    return None


def shown(ticks, zone):
    if isinstance(ticks, dict):
        return ticks["error"]
    return " ".join(datetime.datetime.fromtimestamp(tick, zoneinfo.ZoneInfo(zone)).isoformat() for tick in ticks)


def put_into(document, table):
    with open(document, encoding="utf-8") as file:
        text = file.read()
    begin, end = text.index(BEGIN) + len(BEGIN), text.index(END)
    with open(document, "w", encoding="utf-8") as file:
        file.write(text[:begin] + table + text[end:])


def main():
    arguments = sys.argv[1:]
    document = arguments[arguments.index("--into") + 1] if "--into" in arguments else None
    arguments = arguments[:arguments.index("--into")] if document else arguments
    with open(arguments[0], encoding="ascii") as lines:
        cases = [json.loads(line) for line in lines]
    rows, unexplained, compared = [], 0, []
    for argument in arguments[1:]:
        name, path = argument.split("=")
        with open(path, encoding="utf-8") as lines:
            answers = [json.loads(line) for line in lines]
        if len(answers) != len(cases):
            sys.exit(f"{name} answered {len(answers)} of {len(cases)} cases")
        counts, examples, same = collections.Counter(), {}, 0
        for case, answer in zip(cases, answers):
            if answer == case["ticks"]:
                same += 1
                continue
            by_our_rule = cron_model.ticks(cron_model.Expression(case), case["zone"], case["from"], len(case["ticks"]))
            kinds = {"croner": croner, "croniter": croniter}[name](case, answer) if by_our_rule == case["ticks"] else None
            if not kinds:
                unexplained += 1
                if unexplained <= 20:
                    print(f"{name} differs: {case['cron']} in {case['zone']} from {shown([case['from']], case['zone'])}\n  ours   {shown(case['ticks'], case['zone'])}\n  theirs {shown(answer, case['zone'])}", file=sys.stderr)
                continue
            for kind in kinds:
                counts[kind] += 1
                examples.setdefault(kind, f"`{case['cron']}` in {case['zone']}")
        compared.append(f"{name}: {same:,} of {len(cases):,} the same")
        rows += [f"| {name} | {count:,} | {KINDS[kind][0]} | {KINDS[kind][1]} | {examples[kind]} |" for kind, count in counts.most_common()]
        rows.insert(len(rows) - len(counts), f"| {name} | {same:,} | *the same ticks* | | |")
    table = "\n".join(["| reader | cases | what it does | our rule | for example |", "| --- | --- | --- | --- | --- |", *rows, ""])
    print(table)
    if document and not unexplained:
        put_into(document, table)
    print(f"{len(cases):,} cases; {'; '.join(compared)}; {unexplained} unexplained")
    sys.exit(1 if unexplained else 0)


main()

#!/usr/bin/env python3
"""check_alerts.py PROJECT: alerts, their tests, their runbooks, the dashboard and the list of metrics say the same.

promtool accepts the rules, passes their tests and accepts every expression of the dashboard. Every alert has a severity, words, a runbook that names it, and a case where it fires and one where it does not; every runbook has an alert and a file that plays its fault. Every metric that is
asked for is in docs/metrics.md."""
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

project = sys.argv[1]
wrong = []


def text(path):
    with open(os.path.join(project, path), encoding="utf-8") as file:
        return file.read()


def promtool(*words):
    done = subprocess.run(["promtool", *words], cwd=os.path.join(project, "ops/prometheus"), capture_output=True, text=True)
    if done.returncode != 0:
        wrong.append("promtool %s: %s%s" % (" ".join(words), done.stdout, done.stderr))


def parts(whole, head):
    """The parts of a text that begin with a line that has `head`, by what follows it."""
    pieces = re.split(r"(?m)^ +- %s: *(.*)$" % head, whole)
    return list(zip(pieces[1::2], pieces[2::2]))


def names(path):
    return {os.path.splitext(os.path.basename(file))[0] for file in glob.glob(os.path.join(project, path))}


rules = text("ops/prometheus/fenceline.rules.yml")
alerts = dict(parts(rules, "alert"))
if len(alerts) != len(parts(rules, "alert")):
    wrong.append("two alerts have one name")
promtool("check", "rules", "fenceline.rules.yml")
promtool("test", "rules", "fenceline.rules.test.yml")

# Words, and a runbook each.
read = {}
for name, body in alerts.items():
    for what in ("severity: (critical|warning|info)", "summary: .", "description: .", r"runbook: docs/runbooks/[a-z-]+\.md"):
        if not re.search(what, body):
            wrong.append("%s has no %s" % (name, what))
    runbook = re.search(r"runbook: docs/runbooks/([a-z-]+)\.md", body)
    if runbook:
        read.setdefault(runbook.group(1), []).append(name)
runbooks = names("docs/runbooks/*.md") - {"README"}
for runbook in sorted(runbooks ^ set(read)):
    wrong.append("docs/runbooks/%s.md has no alert, or is not there" % runbook)
for runbook in sorted(runbooks ^ (names("tests/runbooks/*.sh") - {"adopt"})):
    wrong.append("runbook %s has no tests/runbooks/%s.sh, or the other way round" % (runbook, runbook))
for runbook in sorted(runbooks & set(read)):
    page = text("docs/runbooks/%s.md" % runbook)
    for name in read[runbook]:
        if "`%s`" % name not in page:
            wrong.append("docs/runbooks/%s.md does not name %s" % (runbook, name))
    sections = re.findall(r"(?m)^## (.*)$", page)
    if sections != ["Diagnose", "Fix", "Drill"]:
        wrong.append("docs/runbooks/%s.md has the sections %s" % (runbook, sections))
table = text("docs/operating.md")
for name in alerts:
    if not re.search(r"(?m)^\|.*\b%s\b.*runbooks/" % name, table):
        wrong.append("the table of docs/operating.md does not have %s" % name)

# A case where it fires, and one where it does not; what is looked for is an exact list of alerts.
fires, silent = set(), set()
for title, body in parts(text("ops/prometheus/fenceline.rules.test.yml"), "name"):
    name, _, rest = title.partition(" ")
    looks = re.findall(r"exp_samples: \[(.*)\]", body)
    seen = [set(re.findall(r'alertname="(\w+)"', look)) for look in looks]
    if rest.startswith("fires") and any(name in look for look in seen):
        fires.add(name)
    if rest.startswith("is silent") and seen and not any(name in look for look in seen):
        silent.add(name)
for name in sorted(set(alerts) - fires):
    wrong.append("no test shows %s firing" % name)
for name in sorted(set(alerts) - silent):
    wrong.append("no test shows %s silent" % name)

# The dashboard.
board = json.loads(text("ops/grafana/fenceline.json"))
panels = board["panels"]
if board["schemaVersion"] < 36 or not any(v["type"] == "datasource" and v["query"] == "prometheus" for v in board["templating"]["list"]):
    wrong.append("the dashboard is none of Grafana 9 with a variable for its data source")
if len({panel["id"] for panel in panels}) != len(panels):
    wrong.append("two panels have one id")
rows = [panel["title"] for panel in panels if panel["type"] == "row"]
if rows != ["Health", "Jobs", "Leases", "Locks", "Schedules", "Store", "Tracker"]:
    wrong.append("the rows of the dashboard are %s" % rows)
taken = set()
for panel in panels:
    at = panel["gridPos"]
    cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
    if cells & taken or at["x"] + at["w"] > 24:
        wrong.append("panel %s lies on another one" % panel["title"])
    taken |= cells
    if panel["type"] != "row" and (panel["datasource"]["uid"] != "${datasource}" or not panel["targets"] or not panel.get("description")):
        wrong.append("panel %s has no data source, no target or no description" % panel["title"])
asked = [target["expr"] for panel in panels for target in panel.get("targets", [])]
asked += [v["query"]["query"] for v in board["templating"]["list"] if v["type"] == "query"]
as_rules = ["groups: [{name: dashboard, rules: ["]
for number, expr in enumerate(asked):
    expr = re.sub(r"^label_values\((.*), *\w+\)$", r"\1", expr)
    plain = expr.replace("$__rate_interval", "5m").replace("$job", "mail")
    if "$" in plain:
        wrong.append("a variable that nobody sets: " + expr)
    as_rules.append("{record: 'board:%d', expr: %s}," % (number, json.dumps(plain)))
with tempfile.NamedTemporaryFile("w", suffix=".yml") as file:
    file.write("\n".join(as_rules) + "]}]\n")
    file.flush()
    promtool("check", "rules", "--lint=none", file.name)

# Metrics.
known = set(re.findall(r"`((?:fenceline|process)_[a-z0-9_]+)[`{]", text("docs/metrics.md")))
for where, expressions in (("the rules", re.findall(r"(?ms)expr: (.*?)^        (?:for|labels):", rules)), ("the dashboard", asked)):
    used = set(re.findall(r"\b(?:fenceline|process)_[a-z0-9_]+", " ".join(expressions)))
    for metric in sorted(used):
        if metric not in known and re.sub(r"_(bucket|count|sum)$", "", metric) not in known:
            wrong.append("%s ask for %s, which docs/metrics.md does not have" % (where, metric))
checks = re.search(r'check!~"([^"]*)"', rules).group(1).split("|")
for check in sorted(set(re.findall(r'check="(\w+)"', rules)) - set(checks)):
    wrong.append("check %s has an alert of its own and is not left out of FencelineStoreFinding" % check)

print("%d alerts, %d runbooks, %d expressions of the dashboard" % (len(alerts), len(runbooks), len(asked)))
if wrong:
    sys.exit("\n".join(wrong))

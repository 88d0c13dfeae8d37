#!/usr/bin/env python3
"""healthy_fleet.py PROJECT FENCELINE: Debian's Prometheus, with the rules, scrapes two workers that are well, a holder of a lock, and a leader with one who stands by since long. No expression of an alert is true of them, no alert fires or is about to; every panel of the dashboard has something to show, but for
those that show trouble alone."""
import contextlib
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request

project, fenceline = os.path.realpath(sys.argv[1]), os.path.realpath(sys.argv[2])
folder = tempfile.mkdtemp()
started = []


def start(name, *words, **environment):
    with open(os.path.join(folder, name), "w", encoding="utf-8") as log:
        started.append(subprocess.Popen(words, cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env={**os.environ, "FENCELINE_STORE": "sqlite:%s/fenceline.db" % folder, **environment}))


def until(what, look):
    for _ in range(600):
        seen = look()
        if seen:
            return seen
        time.sleep(0.1)
    sys.exit("never so: " + what)


def address_in(name, sign):
    def look():
        with open(os.path.join(folder, name), encoding="utf-8") as log:
            for line in log:
                if sign in line:
                    return re.search(r"127\.0\.0\.1:[1-9][0-9]*", line).group(0)
        return None
    return until("%s says where it listens" % name, look)


def set_back(statement):
    with contextlib.closing(sqlite3.connect(os.path.join(folder, "fenceline.db"), timeout=10)) as db, db:
        return db.execute(statement).rowcount


def ask(expr):
    url = "http://%s/api/v1/query?%s" % (prometheus, urllib.parse.urlencode({"query": expr}))
    try:
        with urllib.request.urlopen(url) as answer:
            return json.load(answer)["data"]["result"]
    except urllib.error.HTTPError as error:
        sys.exit("%s: %s" % (expr, error.read().decode()))


def main():
    global prometheus
    # The leader's fence is seen at a gate; whoever stands by is made to do so for an hour already.
    start("leader", fenceline, "elect", "boss", "--", "sh", "-c", '"$0" gate run boss "$FENCELINE_FENCE" -- true && touch led && exec sleep 600', fenceline)
    until("somebody leads", lambda: os.path.exists(os.path.join(folder, "led")))
    start("standby", fenceline, "elect", "boss", "--", "true")
    until("somebody stands by", lambda: set_back("UPDATE fenceline_lock_waiter SET since = since - 3600000000") == 1)
    for one in ("first", "second"):
        start(one, fenceline, "work", "mail", "--metrics", "127.0.0.1:0", "--", "true", FENCELINE_LOG="info")
        address_in(one, "metrics_listening")
    start("holder", fenceline, "lock", "deploy", "--metrics", "127.0.0.1:0", "--", "sleep", "600", FENCELINE_LOG="info")
    targets = [address_in(one, "metrics_listening") for one in ("first", "second", "holder")]
    with open(os.path.join(folder, "prometheus.yml"), "w", encoding="utf-8") as file:
        json.dump({"global": {"scrape_interval": "1s", "evaluation_interval": "1s"}, "rule_files": [project + "/ops/prometheus/fenceline.rules.yml"],
                   "scrape_configs": [{"job_name": "mail", "static_configs": [{"targets": targets}]}]}, file)
    start("prometheus", "prometheus", "--config.file=prometheus.yml", "--storage.tsdb.path=tsdb", "--web.listen-address=127.0.0.1:0", "--log.format=json")
    prometheus = address_in("prometheus", "Listening on")
    subprocess.run([fenceline, "schedule", "add", "beat", "--every", "1s", "--queue", "mail"], cwd=folder, env={**os.environ, "FENCELINE_STORE": "sqlite:%s/fenceline.db" % folder}, check=True, stdout=subprocess.DEVNULL)
    until("all are scraped", lambda: len(ask("up == 1")) == 3)
    until("jobs are done", lambda: ask("sum(rate(fenceline_outcomes_total[5m])) > 0") and ask("sum(increase(fenceline_ticks_fired_total[5m])) > 3"))

    wrong = []
    with open(project + "/ops/prometheus/fenceline.rules.yml", encoding="utf-8") as file:
        rules = re.findall(r"(?ms)- alert: (\w+)\n(?: +#[^\n]*\n)*        expr: >?\n?(.*?)^        (?:for|labels):", file.read())
    for name, expr in rules:
        for seen in ask(expr):
            wrong.append("%s is true of a healthy fleet: %s" % (name, json.dumps(seen)))
    for seen in ask('ALERTS{alertname=~"Fenceline.*"}'):
        wrong.append("an alert: " + json.dumps(seen["metric"]))
    # Every check of the program has an alert of its own, or stands in the table of the one for all others.
    own = re.search(r'check!~"([^"]*)"', " ".join(expr for _, expr in rules)).group(1).split("|")
    with open(project + "/docs/runbooks/store-finding.md", encoding="utf-8") as file:
        others = set(re.findall(r"`(\w+)`", "".join(line for line in file if line.startswith("| `"))))
    alerts = {name for name, _ in rules} | {"FencelineOpen", "FencelineRead"}  # these two are the store's being away, as a command meets it
    for seen in ask("count by (check) (fenceline_finding)"):
        check = seen["metric"]["check"]
        if ("Fenceline" + "".join(word.capitalize() for word in check.split("_"))) not in alerts if check in own else check not in others:
            wrong.append("check %s has neither an alert nor a line in docs/runbooks/store-finding.md" % check)
    with open(project + "/ops/grafana/fenceline.json", encoding="utf-8") as file:
        panels = json.load(file)["panels"]
    asked = 0
    for panel in panels:
        for target in panel.get("targets", []):
            asked += 1
            expr = target["expr"].replace("$__rate_interval", "1m").replace("$job", "mail")
            if not ask(expr) and not expr.endswith("> 0") and "ALERTS" not in expr:
                wrong.append("panel %s shows nothing: %s" % (panel["title"], expr))
    print("%d alerts, %d expressions of the dashboard" % (len(rules), asked))
    if wrong or len(rules) < 20:
        sys.exit("\n".join(wrong))


try:
    main()
finally:
    for process in reversed(started):
        process.send_signal(signal.SIGTERM)
    for process in started:
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
    shutil.rmtree(folder)

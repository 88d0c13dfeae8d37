#!/usr/bin/env python3
"""A handler for `fenceline work invoices -- examples/python/invoice.py`: numbers an invoice and sends it, each once.

Reads {"to": ..., "amount": ...} on stdin; what it prints is the job's result. FENCELINE names the program, if it is not on
the PATH.
"""
import json
import os
import subprocess
import sys

FENCELINE = os.environ.get("FENCELINE", "fenceline")
LOST = 76  # the job waits for an operator, or another worker has it: nothing that we return counts


def effect(name, command, in_doubt="hold"):
    """Runs the command once for this job and gives back what it printed, then or in an earlier run."""
    words = [FENCELINE, "effect", name, "--in-doubt", in_doubt, "--", *command]
    ended = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    if ended.returncode != 0:
        sys.exit(ended.returncode)  # 75: again later; 76: it is over for us; else a failure, tried again
    return ended.stdout.decode()


def main():
    invoice = json.load(sys.stdin)
    folder = os.environ.get("INVOICES", ".")
    # The number is drawn once; a second run of this job gets the same one.
    number = effect("number", [sys.executable, "-c", NEXT_NUMBER, folder], in_doubt="repeat").strip()
    text = f"invoice {number} to {invoice['to']}: {invoice['amount']}"
    # A mail that may have gone out is not sent a second time: under `hold` a person decides.
    effect("mail", [sys.executable, "-c", SEND, folder, text])
    print(text)


# Drawn again after a doubt, it leaves a gap and never a number twice.
NEXT_NUMBER = """
import fcntl, os, sys
last = os.path.join(sys.argv[1], "last-number")
with open(last + ".lock", "w") as lock:
    fcntl.flock(lock, fcntl.LOCK_EX)
    number = int(open(last).read()) + 1 if os.path.exists(last) else 1
    with open(last + ".new", "w") as file:
        file.write(str(number))
        file.flush()
        os.fsync(file.fileno())
    os.replace(last + ".new", last)  # the old number or the new one, never none
print(number)
"""

# Stands for a mail server.
SEND = """
import os, sys
with open(os.path.join(sys.argv[1], "outbox"), "a") as outbox:
    outbox.write(sys.argv[2] + "\\n")
"""

if __name__ == "__main__":
    main()

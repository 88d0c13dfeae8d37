#!/usr/bin/env python3
"""Makes one payment: the command of `fenceline effect`.

    pay.py ORDER AMOUNT    exit 0: paid, the receipt is printed; 75: not paid, nobody was reached; else nobody knows
    pay.py --booked        exit 0: paid, the receipt is printed; 1: not paid; else nobody knows

The provider is $PAYMENTS_AT (HOST:PORT), and is given $FENCELINE_EFFECT_KEY to tell a repeat.
"""
import http.client
import json
import os
import sys

KEY = os.environ["FENCELINE_EFFECT_KEY"]
UNKNOWN = 3


def connected():
    provider = http.client.HTTPConnection(os.environ["PAYMENTS_AT"], timeout=5)
    try:
        provider.connect()
    except OSError as error:
        print(f"pay: the provider cannot be reached: {error}", file=sys.stderr)
        sys.exit(75)  # nothing was sent
    return provider


def ask(*request):
    provider = connected()
    try:
        provider.request(*request)
        reply = provider.getresponse()
        return reply.status, reply.read().decode()
    except (OSError, http.client.HTTPException) as error:
        print(f"pay: the reply got lost: {error}", file=sys.stderr)
        sys.exit(UNKNOWN)


if sys.argv[1] == "--booked":
    status, text = ask("GET", f"/payments/{KEY}")
    found = {200: 0, 404: 1}.get(status, UNKNOWN)
else:
    order, amount = sys.argv[1:]
    status, text = ask("POST", "/payments", json.dumps({"order": order, "amount": amount}), {"Idempotency-Key": KEY})
    found = 0 if status == 200 else UNKNOWN
if found == 0:
    print(text, end="")
sys.exit(found)

#!/usr/bin/env python3
"""A payment provider as they are: it books, and a fifth of its replies get lost on their way.

    provider.py BOOKS PORT_FILE [--forgetful]

Listens on a free port of the loopback, whose number it writes into PORT_FILE, and adds a line ORDER AMOUNT KEY to BOOKS for
each payment. POST /payments with an Idempotency-Key books once for each key; --forgetful: it does not know keys. GET
/payments/KEY says whether a payment was booked.
"""
import itertools
import json
import os
import random
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

BOOKS, PORT_FILE = sys.argv[1:3]
FORGETFUL = "--forgetful" in sys.argv[3:]
LOST_EVERY = 5  # replies
TAKES_MOST = 0.2  # seconds, before and after it books
booked = {}
replies = itertools.count(1)
lock = threading.Lock()


def book(key, order):
    with lock:
        if key in booked and not FORGETFUL:
            return booked[key]
        with open(BOOKS, "a") as books:
            books.write(f"{order['order']} {order['amount']} {key}\n")
        booked[key] = f"receipt-{len(booked) + 1}"
        return booked[key]


class Provider(BaseHTTPRequestHandler):
    def do_POST(self):
        order = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        time.sleep(random.random() * TAKES_MOST)
        receipt = book(self.headers.get("Idempotency-Key", ""), order)
        time.sleep(random.random() * TAKES_MOST)
        if next(replies) % LOST_EVERY == 0:
            self.close_connection = True  # it is booked, and nobody hears of it
            return
        self.answer(200, receipt)

    def do_GET(self):
        with lock:
            receipt = booked.get(self.path.removeprefix("/payments/"))
        self.answer(200 if receipt else 404, receipt or "no such payment")

    def answer(self, status, text):
        body = text.encode() + b"\n"
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    request_queue_size = 128

    def handle_error(self, *_):
        pass  # a client that was killed is nothing to talk about


server = Server(("127.0.0.1", 0), Provider)
with open(PORT_FILE + ".new", "w") as file:
    file.write(str(server.server_address[1]))
os.rename(PORT_FILE + ".new", PORT_FILE)
server.serve_forever()

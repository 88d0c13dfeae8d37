#!/usr/bin/env python3
"""A worker in Python on PostgreSQL, with nothing but SQL: it claims and commits, then works and completes in one transaction.

Run `fenceline migrate` first; DATABASE_URL names the database. Needs psycopg (Debian: python3-psycopg).
"""
import os
import threading
import uuid

import psycopg

URL = os.environ["DATABASE_URL"]
WORKER = f"python-{uuid.uuid4()}"  # one name for one start, never used again


class Lost(Exception):
    """Somebody else has the job now: what we did is undone, and we say no more about it."""


def enqueue_order(connection, order, cents):
    """The order and the job that tells the customer: both, or neither."""
    with connection.transaction():
        connection.execute("insert into py_order (id, cents) values (%s, %s)", (order, cents))
        connection.execute("select fenceline.enqueue('py-mails', jsonb_build_object('order', %s::int), key => %s)", (order, f"order {order}"))


def claim(connection, ttl="30 seconds", worker=WORKER):
    """One job, or None. Committed at once: work starts after the grant is sure."""
    with connection.transaction():
        return connection.execute("select job, fence, payload from fenceline.claim('py-mails', %s, ttl => %s)", (worker, ttl)).fetchone()


def work(connection, job, fence, payload, pause=lambda: None):
    """Our own row and the job's outcome are one commit."""
    try:
        with connection.transaction():
            connection.execute("insert into py_mail (order_id, fence) values (%s, %s)", (payload["order"], fence))
            connection.execute("select fenceline.complete(%s, %s, result => %s)", (job, fence, "sent"))
            pause()
    except psycopg.Error as error:
        if error.sqlstate == "FL007":
            return  # a first COMMIT of ours went through, though its answer was lost: the work is done
        if error.sqlstate == "FL004":
            raise Lost from error
        raise


def main():
    with psycopg.connect(URL, autocommit=True) as connection:
        connection.execute("create table if not exists py_order (id int primary key, cents int)")
        connection.execute("create table if not exists py_mail (order_id int, fence bigint)")
        connection.execute("truncate py_order, py_mail")  # it may be run again
        enqueue_order(connection, 1, 500)
        job, fence, payload = claim(connection)
        work(connection, job, fence, payload)
        print("order 1: mail sent,", connection.execute("select count(*) from py_mail").fetchone()[0], "row")

        # A worker that is paused in its transaction for longer than its lease; another one takes over.
        enqueue_order(connection, 2, 700)
        job, fence, payload = claim(connection, ttl="1 second")

        def others_turn():
            threading.Event().wait(1.2)
            with psycopg.connect(URL, autocommit=True) as other:
                again, newer, same = claim(other, worker=f"python-{uuid.uuid4()}")
                assert again == job and newer > fence
                work(other, again, newer, same)

        try:
            work(connection, job, fence, payload, pause=others_turn)
        except Lost:
            print("order 2: the late commit was refused")
        rows = connection.execute("select fence from py_mail where order_id = 2").fetchall()
        assert len(rows) == 1 and rows[0][0] > fence, rows
        print("order 2: one mail, by the worker that took over")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Runs a command with a terminal as its standard output and standard error, each its own.

terminal.py COMMAND... writes what reached the terminals to its own standard output, in hexadecimal digits.
"""
import os
import pty
import subprocess
import sys
import threading


def read(master, into):
    while True:
        try:
            piece = os.read(master, 65536)
        except OSError:
            return
        if not piece:
            return
        into.append(piece)


masters, slaves, pieces, threads = [], [], [[], []], []
for index in range(2):
    master, slave = pty.openpty()
    masters.append(master)
    slaves.append(slave)
child = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL, stdout=slaves[0], stderr=slaves[1])
for index in range(2):
    os.close(slaves[index])
    threads.append(threading.Thread(target=read, args=(masters[index], pieces[index])))
    threads[index].start()
try:
    child.wait(timeout=60)
except subprocess.TimeoutExpired:
    child.kill()
    child.wait()
for thread in threads:
    thread.join()
print(b"".join(pieces[0] + pieces[1]).replace(b"\r\n", b"\n").hex())

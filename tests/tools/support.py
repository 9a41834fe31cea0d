"""Shared by the tests of the command: running it, and making TFRecords.

$TOWERFLOW_COMMAND is the executable.
"""

import os
import re
import signal
import struct
import subprocess

COMMAND = os.environ["TOWERFLOW_COMMAND"]
LIMIT = 200  # seconds
# What a training says when it is stopped by a signal.
SAID_AT = {
    signal.SIGINT: ["towerflow: stopping after this step; another Ctrl-C stops at once and saves nothing"],
    signal.SIGTERM: ["towerflow: stopping after this step"],
}


def run(*arguments, **options):
    return subprocess.run([COMMAND, *map(str, arguments)], stdin=subprocess.DEVNULL, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=LIMIT,
                          check=False, **options)


def default_signals():
    """For Popen's preexec_fn, since these signals may be ignored where the tests run."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def masked_crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def record(content):
    """Returns a TFRecord with its checksums."""
    length = struct.pack("<Q", len(content))
    return (length + struct.pack("<I", masked_crc32c(length)) + content +
            struct.pack("<I", masked_crc32c(content)))


def first_step(process):
    """Returns the first line of a training that reports a step; "" if there is none. The table before
    it, of what the losses train, is left out."""
    line = process.stdout.readline()
    while line and not re.search(r"\bstep \d", line):
        line = process.stdout.readline()
    return line

#!/usr/bin/python3
"""Trains on two hosts: network namespaces of this machine, joined by a bridge."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

from ranks import LIMIT, MPIRUN, WITHOUT_MPIRUN, run_ranks

CHECKS = os.environ["PROCESS_CHECKS"]
HOSTS = ["tfhost1", "tfhost2"]
BRIDGE = "tfbridge"
NETWORK = "10.213.77"

# mpirun calls it as it would call ssh: agent HOST COMMAND.
AGENT = """#!/bin/sh
host=$1
shift
exec ip netns exec "$host" unshare --uts sh -c "hostname $host; $*"
"""


def ip(*arguments):
    subprocess.run(["ip", *arguments], check=True, capture_output=True, text=True)


def why_no_hosts():
    """Returns why there can be no namespaces, or None."""
    if not MPIRUN:
        return WITHOUT_MPIRUN
    if os.geteuid() != 0:
        return "network namespaces need root"
    for tool in ("ip", "tc", "unshare"):
        if not shutil.which(tool):
            return f"{tool} is not installed"
    try:
        ip("netns", "add", "tftrial")
        ip("link", "add", "tftrialbridge", "type", "bridge")
        ip("link", "add", "tftriallink", "type", "veth", "peer", "name", "eth0", "netns", "tftrial")
        subprocess.run(["ip", "netns", "exec", "tftrial", "tc", "qdisc", "add", "dev", "eth0", "root",
                        "tbf", "rate", "1mbit", "burst", "32kbit", "latency", "400ms"],
                       check=True, capture_output=True)
        return None
    except (OSError, subprocess.CalledProcessError) as error:
        return f"there are no network namespaces, bridges or slow links here: {error}"
    finally:
        for undo in (["link", "del", "tftriallink"], ["link", "del", "tftrialbridge"],
                     ["netns", "del", "tftrial"]):
            subprocess.run(["ip", *undo], capture_output=True, check=False)


WHY_NOT = why_no_hosts()


@unittest.skipIf(WHY_NOT, WHY_NOT)
class Hosts(unittest.TestCase):
    def setUp(self):
        self.addCleanup(self.remove_hosts)
        ip("link", "add", BRIDGE, "type", "bridge")
        ip("addr", "add", f"{NETWORK}.1/24", "dev", BRIDGE)
        ip("link", "set", BRIDGE, "up")
        for number, host in enumerate(HOSTS, 11):
            ip("netns", "add", host)
            ip("link", "add", f"v{host}", "type", "veth", "peer", "name", "eth0", "netns", host)
            ip("link", "set", f"v{host}", "master", BRIDGE, "up")
            ip("-n", host, "addr", "add", f"{NETWORK}.{number}/24", "dev", "eth0")
            ip("-n", host, "link", "set", "eth0", "up")
            ip("-n", host, "link", "set", "lo", "up")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.agent = pathlib.Path(folder.name) / "agent"
        self.agent.write_text(AGENT, encoding="utf-8")
        self.agent.chmod(0o755)

    @staticmethod
    def remove_hosts():
        for name in [*(f"v{host}" for host in HOSTS), BRIDGE]:
            subprocess.run(["ip", "link", "del", name], capture_output=True, check=False)
        for host in HOSTS:
            subprocess.run(["ip", "netns", "del", host], capture_output=True, check=False)

    def run_on_hosts(self, name):
        options = ["--host", ",".join(f"{host}:1" for host in HOSTS)]
        for key, value in {"plm_rsh_agent": self.agent, "btl": "self,tcp",
                           "btl_tcp_if_include": f"{NETWORK}.0/24",
                           "oob_tcp_if_include": f"{NETWORK}.0/24"}.items():
            options += ["--mca", key, str(value)]
        return run_ranks(len(HOSTS), [CHECKS, name], options)

    @staticmethod
    def limit_rate(rate):
        subprocess.run(["ip", "netns", "exec", HOSTS[0], "tc", "qdisc", "add", "dev", "eth0", "root",
                        "tbf", "rate", rate, "burst", "32kbit", "latency", "400ms"],
                       check=True, capture_output=True)

    def test_hosts_train_as_processes_of_one_do(self):
        together, _ = run_ranks(2, [CHECKS, "train_two"])
        done, _ = self.run_on_hosts("train_two")
        self.assertEqual(len(done.stdout.splitlines()), 2, done.stderr)
        self.assertEqual(done.stdout, together.stdout)

    def test_a_slow_link_is_waited_for(self):
        self.limit_rate("400kbit")
        done, _ = self.run_on_hosts("train_two")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_link_that_is_too_slow_ends_the_training(self):
        done, seconds = self.run_on_hosts("too_slow")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("did not end within 2 seconds: it waits for rank", done.stderr)
        self.assertIn("on tfhost", done.stderr)
        self.assertLess(seconds, LIMIT / 2)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])

"""Variables and slots are in locked pages; if that is forbidden, the command warns and goes on."""

import ctypes
import os
import resource
import subprocess
import unittest

COMMAND = os.environ["TOWERFLOW_COMMAND"]
# Number of elements of the trainable variables of MNIST; each also has a momentum.
PARAMETERS = (5 * 5 * 32 + 32 + 5 * 5 * 32 * 64 + 64 + 3136 * 1024 + 1024 + 1024 * 10 + 10 +
              10 * 10 + 10)
STEP = [COMMAND, "bench", "mnist", "--batch-size", "1", "--serve"]


def forbid_locks():
    """Forbids locking more than a page, whichever user runs the test."""
    resource.setrlimit(resource.RLIMIT_MEMLOCK, (4096, 4096))
    cap_ipc_lock, pr_capbset_drop = 14, 24
    ctypes.CDLL(None).prctl(pr_capbset_drop, cap_ipc_lock, 0, 0, 0)


def locked_kib(pid):
    with open("/proc/%d/status" % pid) as status:
        for line in status:
            if line.startswith("VmLck:"):
                return int(line.split()[1])
    return 0


class PinnedTest(unittest.TestCase):
    def start(self, **options):
        process = subprocess.Popen(STEP, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, **options)
        self.assertEqual(process.stdout.readline(), "ready\n")
        locked = locked_kib(process.pid)
        out, err = process.communicate("2\nquit\n")
        self.assertEqual(process.returncode, 0, err)
        self.assertGreater(float(out), 0)
        return locked, err

    def test_locked(self):
        soft, _ = resource.getrlimit(resource.RLIMIT_MEMLOCK)
        locked, err = self.start()
        if "cannot lock" in err:
            self.skipTest("the limit of locked memory here is %d bytes" % soft)
        self.assertGreaterEqual(locked * 1024, 2 * 4 * PARAMETERS)

    def test_forbidden(self):
        locked, err = self.start(preexec_fn=forbid_locks)
        self.assertLess(locked * 1024, 2 * 4 * PARAMETERS)
        self.assertEqual(err.count("cannot lock"), 1, err)
        self.assertIn("ulimit -l", err)


if __name__ == "__main__":
    unittest.main()

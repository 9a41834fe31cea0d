"""With little memory, or when an allocation fails, a program finishes or ends with an error. It
neither crashes nor hangs.

$TOWER_PROGRAM trains two towers with queues, $TOWERFLOW_COMMAND is the command. The first tests
limit the address space, the last one refuses a single request of the library's code.
$TOWERFLOW_MEMORY_ROUNDS is the number of rounds of each test.
"""

import collections
import os
import pathlib
import random
import resource
import subprocess
import tempfile
import unittest

COMMAND = os.environ["TOWERFLOW_COMMAND"]
PROGRAM = os.environ["TOWER_PROGRAM"]
SAMPLE = pathlib.Path(__file__).resolve().parents[2] / "samples" / "mnist"
ROUNDS = int(os.environ.get("TOWERFLOW_MEMORY_ROUNDS", 12))
HANG = 120  # seconds, far longer than any of these runs
MIB = 1 << 20


class MemoryTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.counts = collections.Counter()
        self.bad = []

    def run_once(self, arguments, what, limit=None):
        """Counts how the run ended and returns its output."""
        def limited():
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            if limit:
                resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        process = subprocess.Popen(arguments, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True, preexec_fn=limited)
        try:
            output, _ = process.communicate(timeout=HANG)
        except subprocess.TimeoutExpired:
            process.kill()
            output, _ = process.communicate()
            how = "hang"
        else:
            if process.returncode < 0:
                how = "signal"
            elif process.returncode == 3:
                how = "of no use afterwards"
            elif "error" in output or process.returncode != 0:
                how = "error" if output.strip() else "no message"
            else:
                how = "finished"
        self.counts[how] += 1
        if how not in ("finished", "error"):
            self.bad.append(f"{what}: {how} ({process.returncode}): {output[-600:]}")
        return output

    def finish(self, title):
        print(f"{title}: " + ", ".join(f"{n} {how}" for how, n in sorted(self.counts.items())))
        self.assertEqual(self.bad, [], f"{len(self.bad)} of {sum(self.counts.values())}:\n" +
                         "\n".join(self.bad[:20]))

    def limits(self):
        """Returns sizes of the address space from 300 to 600 MiB."""
        return [int((300 + 300 * i / max(ROUNDS - 1, 1)) * MIB) for i in range(ROUNDS)]

    def test_limited_program(self):
        for i, limit in enumerate(self.limits()):
            self.run_once([PROGRAM, str(self.folder / str(i))], f"{limit // MIB} MiB", limit)
        self.finish("the program with little memory")

    def test_limited_command(self):
        for i, limit in enumerate(self.limits()):
            self.run_once([COMMAND, "train", "mnist", "--data-dir", str(SAMPLE), "--train-dir",
                           str(self.folder / str(i)), "--max-steps", "2", "--batch-size", "8",
                           "--num-towers", "2"], f"{limit // MIB} MiB", limit)
        self.finish("the command with little memory")

    def test_refused_allocation(self):
        output = self.run_once([PROGRAM, str(self.folder / "counted"), "object", "0"], "none")
        taken = [int(n) for n in output.split("taken: ")[1].splitlines()[0].split()]
        self.counts.clear()
        draw = random.Random(os.environ.get("TOWERFLOW_MEMORY_SEED", 0))
        for i in range(ROUNDS):
            kind, most = list(zip(("object", "block", "thread"), taken))[(0, 0, 0, 1, 0, 2)[i % 6]]
            number = str(draw.randint(1, most))
            self.run_once([PROGRAM, str(self.folder / f"{kind}-{number}"), kind, number],
                          f"{kind} {number}")
        self.finish("the program with one allocation refused")


if __name__ == "__main__":
    unittest.main()

"""Programs that take turns: each runs a window of work on request, so that other load on the machine
affects all of them alike."""

import json
import statistics
import subprocess
import sys

# The models whose towers divide the batch that `towerflow bench MODEL --batch-size` gives.
DIVIDED = ("resnet20", "inception3")


def given_batch(model, examples, towers):
    """Returns the --batch-size that gives each tower so many examples."""
    return examples * (towers if model in DIVIDED else 1)


class Program:
    """A process that prints a line when it is ready, then answers each line of numbers with a line of
    JSON, until it reads "quit"."""

    def __init__(self, name, command):
        self.name = name
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True)
        if not self.process.stdout.readline():
            sys.exit("%s did not start: %s" % (name, " ".join(command)))

    def window(self, *numbers):
        self.process.stdin.write(" ".join(map(str, numbers)) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            sys.exit("%s ended early" % self.name)
        return json.loads(line)

    def peak_memory(self):
        """Returns the most memory that the process has held, in MB; None where it is unknown."""
        try:
            with open("/proc/%d/status" % self.process.pid, encoding="ascii") as status:
                return next(int(line.split()[1]) / 1000 for line in status if line.startswith("VmHWM"))
        except (OSError, StopIteration):
            return None

    def close(self):
        self.process.stdin.write("quit\n")
        self.process.stdin.close()
        self.process.wait()


def middle(values):
    """Returns the median and the bounds of the middle half of the values."""
    ordered = sorted(values)
    return (statistics.median(ordered), ordered[len(ordered) // 4],
            ordered[-1 - len(ordered) // 4])

#!/usr/bin/env python3
"""Averaging towers' gradients and updating the variables on the host, ours and TensorFlow's in
turns.

    compare_update.py --tf-python PYTHON --command build/towerflow [--num-towers N]
                      [--parameters P] [--optimizer NAME] [--windows W] [--steps K] [--json]

Prints the milliseconds of a step of both, the median of the windows and the middle half of them,
the ratio, and our share of the rate of a stream in the same program that reads and writes as many
bytes. The peer runs with as many threads as the machine has processors. A share and a ratio are
those of neighbouring windows, so that whatever else the machine does hits both alike.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent


class Updater:
    def __init__(self, name, command):
        self.name = name
        self.windows = []
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True)
        if not self.process.stdout.readline():
            sys.exit("%s did not start: %s" % (name, " ".join(command)))

    def window(self, steps):
        self.process.stdin.write("%d\n" % steps)
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            sys.exit("%s ended early" % self.name)
        self.windows.append(json.loads(line))

    def of(self, key):
        return [window[key] for window in self.windows]

    def close(self):
        self.process.stdin.write("quit\n")
        self.process.stdin.close()
        self.process.wait()


def middle(values):
    ordered = sorted(values)
    return (statistics.median(ordered), ordered[len(ordered) // 4],
            ordered[-1 - len(ordered) // 4])


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tf-python", required=True)
    parser.add_argument("--command", required=True)
    parser.add_argument("--num-towers", type=int, default=2)
    parser.add_argument("--parameters", type=int, default=123600000)
    parser.add_argument("--optimizer", default="adam")
    parser.add_argument("--windows", type=int, default=11)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    what = ["--num-towers", str(options.num_towers), "--parameters", str(options.parameters),
            "--optimizer", options.optimizer]
    threads = len(os.sched_getaffinity(0))
    ours = Updater("towerflow", [options.command, "bench", "update", "--serve", "--threads",
                                 str(threads)] + what)
    peer = Updater("tensorflow", [options.tf_python, str(HERE / "tf_update_step.py"), "--threads",
                                  str(threads)] + what)
    both = (ours, peer)
    for updater in both:
        updater.window(1)
        updater.windows.clear()
    for _ in range(options.windows):
        for updater in both:
            updater.window(options.steps)
    for updater in both:
        updater.close()
        print("%-12s %7.1f ms a step (middle half %.1f to %.1f)"
              % ((updater.name,) + middle(updater.of("ms"))))
    print("%-12s %7.1f GB/s (middle half %.1f to %.1f), a stream of as many bytes %.1f GB/s"
          % (("towerflow",) + middle(ours.of("gb_per_second"))
             + (statistics.median(ours.of("stream_gb_per_second")),)))
    ratio = middle([b / a for a, b in zip(ours.of("ms"), peer.of("ms"))])
    share = middle(ours.of("share_of_stream"))
    print("share of the stream: %.2f (middle half %.2f to %.2f)" % share)
    print("ratio to tensorflow: %.2f (middle half %.2f to %.2f)" % ratio)
    if options.json:
        print(json.dumps({"optimizer": options.optimizer, "towers": options.num_towers,
                          "parameters": options.parameters, "threads": threads,
                          "ms": statistics.median(ours.of("ms")),
                          "peer_ms": statistics.median(peer.of("ms")), "ratio": ratio[0],
                          "share_of_stream": share[0]}))


if __name__ == "__main__":
    main()

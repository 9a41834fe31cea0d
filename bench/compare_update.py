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

from turns import Program, middle

HERE = pathlib.Path(__file__).resolve().parent


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
    ours = Program("towerflow", [options.command, "bench", "update", "--serve", "--threads",
                                 str(threads)] + what)
    peer = Program("tensorflow", [options.tf_python, str(HERE / "tf_update_step.py"), "--threads",
                                  str(threads)] + what)
    both = (ours, peer)
    windows = {program: [] for program in both}
    for program in both:
        program.window(1)
    for _ in range(options.windows):
        for program in both:
            windows[program].append(program.window(options.steps))

    def of(program, key):
        return [window[key] for window in windows[program]]

    for program in both:
        program.close()
        print("%-12s %7.1f ms a step (middle half %.1f to %.1f)"
              % ((program.name,) + middle(of(program, "ms"))))
    print("%-12s %7.1f GB/s (middle half %.1f to %.1f), a stream of as many bytes %.1f GB/s"
          % (("towerflow",) + middle(of(ours, "gb_per_second"))
             + (statistics.median(of(ours, "stream_gb_per_second")),)))
    ratio = middle([b / a for a, b in zip(of(ours, "ms"), of(peer, "ms"))])
    share = middle(of(ours, "share_of_stream"))
    print("share of the stream: %.2f (middle half %.2f to %.2f)" % share)
    print("ratio to tensorflow: %.2f (middle half %.2f to %.2f)" % ratio)
    if options.json:
        print(json.dumps({"optimizer": options.optimizer, "towers": options.num_towers,
                          "parameters": options.parameters, "threads": threads,
                          "ms": statistics.median(of(ours, "ms")),
                          "peer_ms": statistics.median(of(peer, "ms")), "ratio": ratio[0],
                          "share_of_stream": share[0]}))


if __name__ == "__main__":
    main()

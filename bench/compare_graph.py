#!/usr/bin/env python3
"""What an operation costs to record, ours and TensorFlow's in turns, and whether it stays that way.

    compare_graph.py --tf-python PYTHON --command build/towerflow [--windows W]

Prints the microseconds an operation takes for graphs of growing size, the median of the windows and
the middle half of them. TensorFlow records the small graph only.
"""

import argparse
import pathlib

from turns import Program, middle

HERE = pathlib.Path(__file__).resolve().parent
SMALL, LARGER = 50, (500, 2400)  # layers; 2400 make more than 100,000 operations


def show(name, records):
    cost = middle([record["us_per_op"] for record in records])
    print("%-12s %7d operations: %7.2f us each (middle half %.2f to %.2f)"
          % ((name, records[0]["ops"]) + cost))
    return cost[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tf-python", required=True)
    parser.add_argument("--command", required=True)
    parser.add_argument("--windows", type=int, default=9)
    options = parser.parse_args()
    ours = Program("towerflow", [options.command, "bench", "graph", "--serve"])
    peer = Program("tensorflow", [options.tf_python, str(HERE / "tf_graph_building.py")])
    both = (ours, peer)
    for recorder in both:
        recorder.window(SMALL)
    records = {recorder: [] for recorder in both}
    for _ in range(options.windows):
        for recorder in both:
            records[recorder].append(recorder.window(SMALL))
    cost = {recorder: show(recorder.name, records[recorder]) for recorder in both}
    print("ratio to tensorflow: %.1f" % (cost[peer] / cost[ours]))
    for layers in LARGER:
        show(ours.name, [ours.window(layers) for _ in range(max(3, options.windows // 3))])
    for recorder in both:
        recorder.close()


if __name__ == "__main__":
    main()

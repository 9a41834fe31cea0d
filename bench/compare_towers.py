#!/usr/bin/env python3
"""Times several towers on logical CPUs and one tower with all cores, both ours, in turns.

    compare_towers.py [--command build/towerflow] [--model M] [--num-towers N] [--batch-size B]
                      [--whole-batch] [--devices D] [--windows W] [--steps K] [--json]

Both are `towerflow bench MODEL --serve` with all cores. A tower takes a batch of B examples a step,
and so does the one tower; with --whole-batch it takes N times as many, so that both train on as many
a step, and the ratio says what it costs to split a batch. The windows of both have as many examples.
The ratio is the median of the ratios of neighbouring windows, so that whatever else the machine does
hits both alike; above 1 the towers are faster. With --num-towers 1 it shows how exact the run is.
"""

import argparse
import json
import statistics

from turns import Program, given_batch, middle

def text(rate):
    """Returns the rate with a decimal if it is that of a large model."""
    return "%.*f" % (0 if rate >= 100 else 1, rate)


def plural(count, noun):
    return "%d %s%s" % (count, noun, "" if count == 1 else "s")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--command", default="build/towerflow")
    parser.add_argument("--model", default="mnist")
    parser.add_argument("--num-towers", type=int, default=2)
    parser.add_argument("--batch-size", type=int, default=64, help="of a tower")
    parser.add_argument("--whole-batch", action="store_true",
                        help="the one tower takes the batches of all towers")
    parser.add_argument("--devices", type=int,
                        help="logical CPUs of the towers; one a tower when not given")
    parser.add_argument("--windows", type=int, default=15)
    parser.add_argument("--steps", type=int, default=15, help="of the towers in a window")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    towers = options.num_towers
    for name in ("num_towers", "batch_size", "windows", "steps"):
        if getattr(options, name) < 1:
            parser.error("--%s must be at least 1" % name.replace("_", "-"))
    devices = towers if options.devices is None else options.devices
    one_batch = options.batch_size * (towers if options.whole_batch else 1)

    def started(name, count, batch_size, cpus):
        given = given_batch(options.model, batch_size, count)
        return Program(name, [options.command, "bench", options.model, "--serve", "--num-towers",
                              str(count), "--batch-size", str(given), "--devices", "cpu:%d" % cpus])

    many = started(plural(towers, "tower"), towers, options.batch_size, devices)
    one = started("one tower", 1, one_batch, 1)
    steps = {many: options.steps, one: options.steps * (1 if options.whole_batch else towers)}
    batch = {many: options.batch_size, one: one_batch}
    both = (many, one)
    rates = {program: [] for program in both}
    for program in both:
        program.window(steps[program])
    for index in range(options.windows):
        for program in both:
            rates[program].append(program.window(steps[program]))
        print("window %d of %d: %s" % (index + 1, options.windows, ", ".join(
            "%s %s" % (program.name, text(rates[program][-1])) for program in both)), flush=True)
    memory = {program: program.peak_memory() or 0 for program in both}
    for program in both:
        program.close()
        print("%-9s of %3d examples: %6s examples/s (middle half %s to %s), %.0f MB at most"
              % (program.name, batch[program], *map(text, middle(rates[program])), memory[program]))
    ratio, low, high = middle([a / b for a, b in zip(rates[many], rates[one])])
    print("ratio to one tower: %.2f (middle half %.2f to %.2f), %s, %s on %s"
          % (ratio, low, high, options.model, many.name, plural(devices, "logical CPU")))
    if options.json:
        print(json.dumps({"model": options.model, "towers": towers, "devices": devices,
                          "batch_size": options.batch_size, "one_batch_size": one_batch,
                          "ratio": ratio, "low": low, "high": high,
                          "memory": memory[many], "one_memory": memory[one],
                          "examples_per_second": statistics.median(rates[many]),
                          "one_examples_per_second": statistics.median(rates[one])}))


if __name__ == "__main__":
    main()

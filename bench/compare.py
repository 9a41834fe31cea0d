#!/usr/bin/env python3
"""Times two programs in turns and prints the ratio of their rates.

    compare.py --tf-python PYTHON --command build/towerflow [--model M] [--num-towers N] [--batch-size B]
               [--devices D] [--kernel K] [--relu-logits] [--by-hand] [--prefix P]
               [--data-dir DIR] [--busy-loops L] [--windows W] [--steps K] [--tf-threads T..]
               [--json]

Ours is `towerflow bench MODEL --serve`; the peer is bench/tf_mnist_step.py --serve, for other models
bench/tf_model_step.py, once with one thread and once with two, or as --tf-threads says: the best
counts. Options of the net are for MNIST only. Windows alternate, so that whatever else the
machine does hits all alike. The ratio is that of the medians; its spread is the middle half of the
ratios of neighbouring windows.

With --data-dir both take their batches from queues, which are filled from DIR/train.tfrecords while
a step runs: the whole program. --busy-loops keeps the machine busy with that many processes.
"""

import argparse
import contextlib
import json
import pathlib
import platform
import statistics
import subprocess
import sys

from turns import Program, given_batch, middle

HERE = pathlib.Path(__file__).resolve().parent


def commit():
    done = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=HERE, text=True,
                          capture_output=True)
    return done.stdout.strip() or "unknown"


@contextlib.contextmanager
def load(count):
    """Keeps the machine busy with `count` processes."""
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tf-python", required=True)
    parser.add_argument("--command", required=True)
    parser.add_argument("--model", default="mnist")
    parser.add_argument("--num-towers", type=int, default=1)
    parser.add_argument("--batch-size", type=int, default=64, help="of a tower")
    parser.add_argument("--devices", type=int, help="logical CPUs; one a tower when not given")
    parser.add_argument("--kernel", type=int, default=5)
    parser.add_argument("--relu-logits", action="store_true")
    parser.add_argument("--by-hand", action="store_true", help="ours: the hand-written averager")
    parser.add_argument("--prefix", default="", help="ours: other names")
    parser.add_argument("--data-dir", help="of both: the whole program with its input queues")
    parser.add_argument("--busy-loops", type=int, default=0, help="processes that load the machine")
    parser.add_argument("--windows", type=int, default=15)
    parser.add_argument("--steps", type=int, default=15)
    parser.add_argument("--tf-threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    shape = ["--num-towers", str(options.num_towers)]
    batch = given_batch(options.model, options.batch_size, options.num_towers)
    script = ["tf_model_step.py", "--model", options.model]
    if options.model == "mnist":
        shape += ["--kernel", str(options.kernel)] + ["--relu-logits"] * options.relu_logits
        script = ["tf_mnist_step.py", "--serve"]
    shape += ["--data-dir", options.data_dir] if options.data_dir else []
    devices = options.devices or options.num_towers
    ours = Program("towerflow", [options.command, "bench", options.model, "--serve", "--devices",
                                 "cpu:%d" % devices, "--batch-size", str(batch)] + shape +
                   ["--by-hand"] * options.by_hand +
                   (["--prefix", options.prefix] if options.prefix else []))
    peers = [Program("tensorflow, %d thread%s" % (threads, "s" if threads > 1 else ""),
                     [options.tf_python, str(HERE / script[0]), *script[1:], "--threads", str(threads),
                      "--devices", str(devices), "--batch-size", str(options.batch_size)] + shape)
             for threads in options.tf_threads]
    programs = [ours] + peers
    rates = {program: [] for program in programs}

    def rate(program):
        answer = program.window(options.steps)
        return answer["examples_per_second"] if isinstance(answer, dict) else answer

    for program in programs:
        rate(program)
    with load(options.busy_loops):
        for index in range(options.windows):
            for program in programs:
                rates[program].append(rate(program))
            print("window %d of %d: %s" % (index + 1, options.windows, ", ".join(
                "%s %.0f" % (program.name, rates[program][-1]) for program in programs)),
                flush=True)
    memory = {program: program.peak_memory() or 0 for program in programs}
    for program in programs:
        program.close()
        print("%-24s %6.0f examples/s (middle half %.0f to %.0f), %.0f MB at most"
              % (program.name, *middle(rates[program]), memory[program]))
    peer = max(peers, key=lambda program: statistics.median(rates[program]))
    ratio = statistics.median(rates[ours]) / statistics.median(rates[peer])
    _, low, high = middle([a / b for a, b in zip(rates[ours], rates[peer])])
    print("ratio to %s: %.2f (middle half %.2f to %.2f), %d towers, batch %d"
          % (peer.name, ratio, low, high, options.num_towers, options.batch_size))
    if options.json:
        print(json.dumps({"model": options.model, "towers": options.num_towers,
                          "input": bool(options.data_dir), "busy_loops": options.busy_loops,
                          "batch_size": options.batch_size, "ratio": ratio, "low": low,
                          "high": high, "peer": peer.name, "commit": commit(),
                          "machine": platform.processor() or platform.machine(),
                          "memory": memory[ours], "peer_memory": memory[peer],
                          "examples_per_second": statistics.median(rates[ours]),
                          "peer_examples_per_second": statistics.median(rates[peer])}))


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Reading and parsing MNIST's TFRecords on one core, ours and TensorFlow's in turns.

    compare_records.py --tf-python PYTHON --command build/towerflow [--from IDX_DIR] [--core C]
                       [--compression none gzip] [--windows W] [--batches K] [--batch-size B]
                       [--json]

55,000 Examples with image_raw and label: those of the IDX files in IDX_DIR, else the sample that
comes with the project, repeated. Ours is `towerflow bench records`. The peer is the same program,
and beside it tf.data's way, which parses a batch at once. All are bound to one core and read a file
that the system keeps in memory. A ratio is that of neighbouring windows, so that whatever else the
machine does hits all alike.
"""

import argparse
import gzip
import json
import os
import pathlib
import statistics
import struct
import subprocess
import tempfile

from turns import Program, middle

HERE = pathlib.Path(__file__).resolve().parent
SAMPLE = HERE.parent / "samples" / "mnist" / "train.tfrecords.gz"
EXAMPLES = 55000


def sample_repeated():
    """Returns as many records as MNIST's training set has, uncompressed."""
    data, ends = gzip.decompress(SAMPLE.read_bytes()), [0]
    while ends[-1] < len(data):
        ends.append(ends[-1] + 16 + struct.unpack_from("<Q", data, ends[-1])[0])
    whole, rest = divmod(EXAMPLES, len(ends) - 1)
    return data * whole + data[:ends[rest]]


def make_file(options, compression, folder):
    """Creates `folder` with train.tfrecords or train.tfrecords.gz; returns that file."""
    folder.mkdir()
    if options.idx_dir:
        subprocess.run([options.command, "convert", "mnist", "--from", options.idx_dir, "--to",
                        folder, "--compression", compression, "--without-geometry",
                        "--max-validation", "0", "--max-test", "0"], check=True,
                       stdout=subprocess.DEVNULL)
    elif compression == "gzip":
        (folder / "train.tfrecords.gz").write_bytes(gzip.compress(sample_repeated(), 6))
    else:
        (folder / "train.tfrecords").write_bytes(sample_repeated())
    return folder / ("train.tfrecords.gz" if compression == "gzip" else "train.tfrecords")


def compare(options, compression, folder):
    file = make_file(options, compression, folder)
    bound = ["taskset", "--cpu-list", str(options.core)]
    size = ["--batch-size", str(options.batch_size)]
    peer = [options.tf_python, str(HERE / "tf_records.py"), str(file), "--compression",
            compression] + size
    ours = Program("towerflow", bound + [options.command, "bench", "records", "--serve",
                                         "--data-dir", str(folder)] + size)
    queues = Program("tensorflow", bound + peer)
    data = Program("tensorflow's tf.data", bound + peer + ["--way", "data"])
    programs = (ours, queues, data)
    rates = {program: [] for program in programs}
    for window in range(-1, options.windows):
        for program in programs:
            rate = program.window(options.batches)["examples_per_second"]
            if window >= 0:
                rates[program].append(rate)
    print("%s, %d Examples, core %d:" % (file.name, EXAMPLES, options.core))
    for program in programs:
        program.close()
        print("  %-20s %8.0f examples/s (middle half %.0f to %.0f)"
              % ((program.name,) + middle(rates[program])))
    line = {"compression": compression,
            "examples_per_second": statistics.median(rates[ours])}
    for key, program in (("ratio", queues), ("ratio_to_data", data)):
        ratio = middle([a / b for a, b in zip(rates[ours], rates[program])])
        line[key] = ratio[0]
        print("  ratio to %s: %.2f (middle half %.2f to %.2f)" % ((program.name,) + ratio),
              flush=True)
    if options.json:
        print(json.dumps(line))


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tf-python", required=True)
    parser.add_argument("--command", required=True)
    parser.add_argument("--from", dest="idx_dir", help="folder of MNIST's IDX files")
    parser.add_argument("--core", type=int, default=max(os.sched_getaffinity(0)))
    parser.add_argument("--compression", nargs="+", choices=["none", "gzip"],
                        default=["none", "gzip"])
    parser.add_argument("--batch-size", type=int, default=128)
    parser.add_argument("--windows", type=int, default=9)
    parser.add_argument("--batches", type=int, default=100, help="of a window")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for compression in options.compression:
            compare(options, compression, pathlib.Path(folder) / compression)


if __name__ == "__main__":
    main()

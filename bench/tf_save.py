#!/usr/bin/env python3
"""What `towerflow bench save` does, done by TensorFlow: saving variables of random numbers.

    tf_save.py [--dir DIR] [--megabytes M] [--variables V]

Prints "ready", then for each line of standard input, a number of saves, a line of JSON:
mb_per_second, the median, and extra_mib, by how much the peak of memory was above what the process
had before. TensorFlow does not wait for the disk, so the files are written through and the time of
that counted; they are deleted afterwards. It ends at end of input or on the line "quit".
"""

import argparse
import json
import os
import pathlib
import shutil
import statistics
import sys
import tempfile
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

import tensorflow.compat.v1 as tf  # noqa: E402


def status_mib(name):
    for line in pathlib.Path("/proc/self/status").read_text().splitlines():
        if line.startswith(name + ":"):
            return int(line.split()[1]) / 1024
    sys.exit("/proc/self/status has no " + name)


def sync_to_disk(path):
    descriptor = os.open(path, os.O_RDONLY)
    os.fdatasync(descriptor)
    os.close(descriptor)


def save_once(saver, session, folder, megabytes):
    """Saves once; returns MB/s and the MiB by which the peak memory exceeded that before."""
    pathlib.Path("/proc/self/clear_refs").write_text("5")
    before = status_mib("VmRSS")
    start = time.perf_counter()
    saver.save(session, str(folder / "model.ckpt"), write_meta_graph=False)
    for file in folder.iterdir():
        sync_to_disk(file)
    seconds = time.perf_counter() - start
    extra = max(status_mib("VmHWM") - before, 0)
    for file in folder.iterdir():
        file.unlink()
    return megabytes / seconds, extra


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dir", default=".")
    parser.add_argument("--megabytes", type=int, default=500)
    parser.add_argument("--variables", type=int, default=4)
    options = parser.parse_args()
    tf.disable_v2_behavior()
    tf.disable_resource_variables()
    tf.logging.set_verbosity(tf.logging.ERROR)
    elements = options.megabytes * 250000 // options.variables
    for i in range(options.variables):
        tf.get_variable("variable_%d" % i, [elements],
                        initializer=tf.random_uniform_initializer(-1, 1))
    saver = tf.train.Saver(max_to_keep=0)
    session = tf.Session()
    for variable in tf.global_variables():
        session.run(variable.initializer)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="bench-save-", dir=options.dir))
    try:
        save_once(saver, session, folder, options.megabytes)
        print("ready", flush=True)
        for line in sys.stdin:
            if line.strip() == "quit":
                break
            saves = [save_once(saver, session, folder, options.megabytes)
                     for _ in range(int(line))]
            print(json.dumps({"mb_per_second": statistics.median(rate for rate, _ in saves),
                              "extra_mib": max(extra for _, extra in saves)}), flush=True)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()

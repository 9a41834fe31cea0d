"""Mistakes of `towerflow train` and `eval`: wrong options, values that are not finite, and files that
hold something else give one message each.

$TOWERFLOW_COMMAND is the executable.
"""

import gzip
import os
import re
import signal
import struct
import sys
import unittest

sys.dont_write_bytecode = True
from support import LIMIT, record, run  # noqa: E402
from train_test import MODELS, SAMPLE, Scratch, first_records  # noqa: E402


class Mistakes(Scratch):
    def test_options(self):
        for subcommand in ("train", "bench"):
            for option, value in (("--num-towers", "0"), ("--batch-size", "-1"),
                                  ("--threads", "0"), ("--devices", "gpu:1")):
                self.assert_error(run(subcommand, "mnist", option, value), 2, option, f"'{value}'")
            self.assert_error(run(subcommand, "word2vec"), 2, "'word2vec'", "known: " + MODELS)
            self.assert_error(run(subcommand), 2, "needs one of: " + MODELS)
        self.assert_error(run("train", "mnist", "--learning-rate", "nan"), 2, "'nan'")
        self.assert_error(run("eval", "word2vec"), 2, "'word2vec'", "known: " + MODELS)
        self.assert_error(run("eval", "mnst"), 2, "nearest existing: 'mnist'")

    def test_diverged(self):
        folder = self.folder / "run"
        self.file.write_bytes(first_records(100))
        done = run("train", "mnist", "--data-dir", self.folder, "--batch-size", 8, "--save-every", 1,
                   "--train-dir", folder, "--learning-rate", "1e20", "--num-epochs", 1)
        self.assert_error(done, 1, "Model diverged with loss = NaN", "learning rate below 1e+20")
        # The last checkpoint has the variables from which the NaN loss was computed.
        step = int(re.search(r"at step (\d+)", done.stderr)[1])
        self.assertRegex((folder / "checkpoint").read_text(),
                         fr'\Amodel_checkpoint_path: ".*model\.ckpt-{step}"\n')

    def test_training_files(self):
        train = ["train", "mnist", "--data-dir", self.folder, "--num-epochs", 1]
        self.assert_error(run(*train), 1, "no train.tfrecords", str(self.folder))
        whole = first_records(100)
        flipped = bytearray(whole)
        flipped[500] ^= 1
        for damaged, part in ((b"", "holds no examples"), (whole[:-5], "truncated"),
                              (bytes(flipped), "checksum"), (b"no record at all", "record 0"),
                              (whole[:9], "record 0"), (whole + b"\0" * 30, "record 100")):
            self.file.write_bytes(damaged)
            self.assert_error(run(*train), 1, str(self.file), part)
        self.file.write_bytes(first_records(20))
        self.assert_error(run(*train), 1, "20 examples", "64")
        self.file.unlink()
        packed = gzip.compress(whole)
        self.file = self.folder / "train.tfrecords.gz"
        for damaged in (packed[:-20], b"\x1f\x8b" + bytes(50), packed[:200] + b"?" + packed[201:]):
            self.file.write_bytes(damaged)
            self.assert_error(run(*train), 1, str(self.file))
        self.file.unlink()
        self.file.mkdir()
        self.assert_error(run(*train), 1, str(self.file))
        self.file.rmdir()
        os.mkfifo(self.file)
        self.assert_error(run(*train), 1, str(self.file), "pipe")

    def test_records_that_hold_something_else(self):
        train = ["train", "mnist", "--data-dir", self.folder, "--num-epochs", 1]
        whole = first_records(80)
        length = struct.unpack_from("<Q", whole)[0]
        example = whole[12:12 + length]
        for content, part in ((b"no Example", "Example"), (b"", "image_raw"),
                              (example.replace(b"image_raw", b"image_RAW"), "image_raw"),
                              (example.replace(b"label", b"lable"), "label")):
            self.file.write_bytes(b"".join(map(record, [content] * 80)))
            self.assert_error(run(*train), 1, part)

    def test_eval(self):
        evaluate = ["eval", "mnist", "--data-dir", SAMPLE, "--train-dir"]
        os.mkfifo(self.folder / "checkpoint")
        self.assert_error(run(*evaluate, self.folder), 1, "pipe", "no checkpoint")
        (self.folder / "checkpoint").unlink()
        self.assert_error(run(*evaluate, self.folder / "none"), 1, "no checkpoint")
        (self.folder / "checkpoint").write_text('model_checkpoint_path: "model.ckpt-1"\n')
        self.assert_error(run(*evaluate, self.folder), 1, "model.ckpt-1")
        for ending in ("index", "data-00000-of-00001"):
            (self.folder / f"model.ckpt-1.{ending}").write_bytes(b"damaged" * 20)
        self.assert_error(run(*evaluate, self.folder), 1, "model.ckpt-1")

    def test_train_dir_that_is_a_file(self):
        taken = self.folder / "taken"
        taken.write_text("x")
        self.assert_error(run("train", "mnist", "--max-steps", 1, "--train-dir", taken), 1,
                          str(taken))


if __name__ == "__main__":
    signal.alarm(LIMIT)
    unittest.main()

"""The towerflow command from a user's view: help, mistakes, converting, progress on a terminal.

$TOWERFLOW_COMMAND is the executable.
"""

import gzip
import json
import os
import pathlib
import pty
import re
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import unittest

COMMAND = os.environ["TOWERFLOW_COMMAND"]
LIMIT = 50  # seconds
# A grey image of 2 x 3 pixels.
JPEG = bytes.fromhex(
    "ffd8ffe000104a46494600010100000100010000ffdb004300100b0c0e0c0a100e0d0e1211101318281a181616183123"
    "251d283a333d3c3933383740485c4e404457453738506d51575f626768673e4d71797064785c656763ffc0000b080003"
    "000201011100ffc40014000100000000000000000000000000000000ffc4001410010000000000000000000000000000"
    "0000ffda0008010100003f003fffd9")


def run(*arguments, **options):
    return subprocess.run([COMMAND, *map(str, arguments)], stdin=subprocess.DEVNULL, text=True,
                          timeout=LIMIT, check=False,
                          **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options})


def write_idx(folder, name, count):
    """Writes IDX files of `count` blank digits, the labels with gzip."""
    images = struct.pack(">iiii", 0x803, count, 28, 28) + bytes(784 * count)
    labels = struct.pack(">ii", 0x801, count) + bytes(i % 10 for i in range(count))
    (folder / f"{name}-images-idx3-ubyte").write_bytes(images)
    (folder / f"{name}-labels-idx1-ubyte.gz").write_bytes(gzip.compress(labels))


def count_records(data):
    """Returns the number of records in the bytes of a TFRecord file."""
    count, at = 0, 0
    while at < len(data):
        (length,) = struct.unpack_from("<Q", data, at)
        at += 12 + length + 4
        count += 1
    assert at == len(data)
    return count


class Scratch(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.out = self.folder / "out"

    def assert_error(self, result, code, *parts):
        """Asserts one message on stderr and nothing on stdout."""
        self.assertEqual((result.returncode, result.stdout), (code, ""), result.stderr)
        self.assertRegex(result.stderr, r"\Atowerflow: [^\n]+\n\Z")
        for part in parts:
            self.assertIn(part, result.stderr)


class Usage(Scratch):
    def test_help_and_version(self):
        for arguments in (["--help"], ["-h"], ["convert", "--help"], ["convert", "mnist", "-h"]):
            result = run(*arguments)
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            self.assertIn("Usage: towerflow", result.stdout)
        self.assertIn("Example: towerflow convert mnist", run("convert", "mnist", "--help").stdout)
        self.assertIn("convert", run("--help").stdout)
        self.assertRegex(run("--version").stdout, r"\Atowerflow \d+\.\d+\.\d+\n")

    def test_every_help_teaches(self):
        """Each help has a paragraph on what the command does and an example with its options."""
        commands = [[]]
        for path in commands:  # grows in the loop: subcommands of subcommands
            result = run(*path, "--help")
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            _, _, listed = result.stdout.partition("\nSubcommands:\n")
            commands += [[*path, name] for name in re.findall(r"^  (\w+) ", listed, re.M)]
            if listed:
                continue
            name = " ".join(path)
            example = re.search(rf"^Example: towerflow {name}(.*)$", result.stdout, re.M)
            self.assertIsNotNone(example, name)
            before = result.stdout[:example.start()].rstrip()
            self.assertGreater(len(before.rpartition("\n\n")[2]), 80, name)
            for option in re.findall(r"--[\w-]+", example[1]):
                self.assertIn(option, before)
        self.assertGreater(len(commands), 12)

    def test_mistakes(self):
        paths = ["--from", self.folder, "--to", self.out]
        for arguments, *parts in (
                ([], "needs one of: bench, compare, compare-bn, convert, devices, equivalence, "
                     "eval, explain, inspect, mistakes, scale, train", "see towerflow --help"),
                (["convert"], "needs one of: mnist"),
                (["convrt", "mnist"], "has no subcommand 'convrt'", "'convert'"),
                (["convert", "imagenet"], "has no subcommand 'imagenet'", "known: mnist, cifar10, inception3",
                 "see towerflow convert --help"),
                (["--jsn", "convert"], "does not take '--jsn'"),
                (["convert", "mnist"], "--from is required", "see towerflow convert mnist --help"),
                (["convert", "mnist", "--from"], "--from needs a value"),
                (["convert", "mnist", *paths, "--to", "x"], "--to was given more than once"),
                (["convert", "mnist", *paths, "--jsno"], "does not take '--jsno'", "'--json'"),
                (["convert", "mnist", *paths, "more"], "does not take 'more'"),
                (["convert", "mnist", *paths, "--max-train", "-1"],
                 "--max-train: must be a whole number of at least 0, got '-1'"),
                (["convert", "mnist", *paths, "--max-test=many"], "--max-test", "'many'"),
                (["convert", "mnist", *paths, "--compression", "lz4"],
                 "must be one of none, gzip, zlib, got 'lz4'")):
            with self.subTest(arguments):
                self.assert_error(run(*arguments), 2, *parts)
        self.assertFalse(self.out.exists())

    def test_mistakes_that_nobody_can_be_told_of(self):
        for arguments, code in ((["train", "mnist", "--max-steps", "0"], 2),
                                (["inspect", self.folder / "nothing"], 1)):
            with open("/dev/full", "w", encoding="utf-8") as full:
                self.assertEqual(run(*arguments, stderr=full).returncode, code)
            closed = run(*arguments, stderr=None, preexec_fn=lambda: os.close(2))
            self.assertEqual(closed.returncode, code)


class ConvertMnist(Scratch):
    def convert(self, *more, **options):
        return run("convert", "mnist", "--from", self.folder, "--to", self.out, *more, **options)

    def records(self):
        return {f.name: count_records(f.read_bytes()) for f in self.out.iterdir()}

    def test_counts(self):
        write_idx(self.folder, "train", 30)
        write_idx(self.folder, "t10k", 7)
        result = self.convert("--validation-size", 10, "--json")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertIn("20 training, 10 validation and 7 test digits", result.stdout)
        self.assertEqual(json.loads(result.stdout.splitlines()[-1]),
                         {"dataset": "mnist", "train": 20, "validation": 10, "test": 7})
        self.assertEqual(self.records(), {"train.tfrecords": 20, "validation.tfrecords": 10,
                                          "test.tfrecords": 7})

    def test_limits_and_gzip(self):
        write_idx(self.folder, "train", 30)
        write_idx(self.folder, "t10k", 7)
        result = self.convert("--validation-size", 10, "--max-train", 3, "--max-validation", 0,
                              "--compression", "gzip")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(sorted(f.name for f in self.out.iterdir()),
                         ["test.tfrecords.gz", "train.tfrecords.gz"])
        data = gzip.decompress((self.out / "train.tfrecords.gz").read_bytes())
        self.assertEqual(count_records(data), 3)
        # No old file could be mistaken for one of the next conversion.
        self.assertEqual(self.convert("--validation-size", 10).returncode, 0)
        self.assertEqual(self.records(), {"train.tfrecords": 20, "validation.tfrecords": 10,
                                          "test.tfrecords": 7})

    def test_missing_empty_and_damaged_input(self):
        self.assert_error(self.convert(), 1, "train-images-idx3-ubyte", str(self.folder))
        write_idx(self.folder, "train", 30)
        write_idx(self.folder, "t10k", 7)
        self.assert_error(self.convert(), 1, "5000", "30")  # the default size of the validation set
        images = self.folder / "train-images-idx3-ubyte"
        whole = images.read_bytes()
        for damaged in (b"", whole[:10], whole[:-1], b"\xff" * len(whole)):
            images.write_bytes(damaged)
            self.assert_error(self.convert("--validation-size", 10), 1, "train-images-idx3-ubyte")
        self.assertEqual(list(self.out.glob("*")), [])

    def test_output_that_cannot_be_written(self):
        write_idx(self.folder, "train", 30)
        write_idx(self.folder, "t10k", 7)
        self.out.write_text("a file where a folder is wanted")
        self.assert_error(self.convert("--validation-size", 10), 1, str(self.out))
        self.out.unlink()
        with open("/dev/full", "w", encoding="utf-8") as full:
            result = self.convert("--validation-size", 10, stdout=full)
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stderr, r"\Atowerflow: cannot write to the standard output: .*\n\Z")

    def test_progress_on_a_terminal(self):
        write_idx(self.folder, "train", 2000)
        write_idx(self.folder, "t10k", 7)
        try:
            main, side = pty.openpty()
        except OSError as error:  # a chroot may have no /dev/pts
            self.skipTest(f"no terminal to be had: {error}")
        shown = []

        def read():
            try:
                while part := os.read(main, 4096):
                    shown.append(part)
            except OSError:
                pass  # the command's side is closed

        reader = threading.Thread(target=read)
        reader.start()
        result = self.convert("--validation-size", 10, stderr=side)
        os.close(side)
        reader.join(LIMIT)
        os.close(main)
        self.assertEqual(result.returncode, 0)
        text = b"".join(shown).decode()
        self.assertIn("converting  [", text)
        self.assertIn("of 2007", text)
        self.assertTrue(text.endswith("\r\033[K"), text)

    def test_a_terminal_that_goes_away(self):
        write_idx(self.folder, "train", 2000)
        write_idx(self.folder, "t10k", 7)
        try:
            main, side = pty.openpty()
        except OSError as error:
            self.skipTest(f"no terminal to be had: {error}")
        os.close(main)
        result = self.convert("--validation-size", 10, stderr=side)
        os.close(side)
        self.assertEqual(result.returncode, 0)
        self.assertEqual(self.records(), {"train.tfrecords": 1990, "validation.tfrecords": 10,
                                          "test.tfrecords": 7})


class ConvertInception3(Scratch):
    def convert(self, *more):
        return run("convert", "inception3", "--from", self.folder / "train", "--to", self.out, *more)

    def add_images(self, part, label, count):
        folder = self.folder / part / label
        folder.mkdir(parents=True, exist_ok=True)
        for i in range(count):
            (folder / f"{i}.jpg").write_bytes(JPEG)

    def test_counts(self):
        self.add_images("train", "tulips", 4)
        self.add_images("train", "roses", 3)
        self.add_images("validation", "roses", 2)
        result = self.convert("--validation", self.folder / "validation", "--train-shards", 3, "--json")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertIn("7 training and 2 validation images of 2 labels", result.stdout)
        self.assertEqual(json.loads(result.stdout.splitlines()[-1]),
                         {"dataset": "inception3", "train": 7, "validation": 2, "labels": 2})
        self.assertEqual((self.out / "labels.txt").read_text(encoding="utf-8"), "roses\ntulips\n")
        self.assertEqual({f.name: count_records(f.read_bytes()) for f in self.out.glob("*-of-*")},
                         {"train-00000-of-00003": 2, "train-00001-of-00003": 2,
                          "train-00002-of-00003": 3, "validation-00000-of-00002": 1,
                          "validation-00001-of-00002": 1})
        said = run("inspect", self.out / "train-00000-of-00003").stdout
        for feature in ("image/encoded", "image/class/label", "image/filename", "image/height"):
            self.assertIn(feature, said)
        # A list of labels gives other numbers, and leaves out what it does not name.
        (self.folder / "labels").write_text("tulips\n", encoding="utf-8")
        self.assertIn("4 training and 0 validation images of 1 labels",
                      self.convert("--labels", self.folder / "labels").stdout)
        self.assertFalse(list(self.out.glob("validation-*")))

    def test_wrong_input(self):
        self.assert_error(self.convert(), 1, str(self.folder / "train"))
        self.add_images("train", "roses", 1)
        bad = self.folder / "train/roses/bad.jpg"
        for content in (b"", JPEG[:-60], b"\x89PNG\r\n\x1a\n"):
            bad.write_bytes(content)
            self.assert_error(self.convert(), 1, str(bad), "only JPEGs")
        self.assertEqual(list(self.out.glob("*")), [])
        self.assert_error(self.convert("--train-shards", 0), 2, "--train-shards")
        self.assert_error(self.convert("--labels", self.folder / "none"), 1,
                          str(self.folder / "none"))


if __name__ == "__main__":
    signal.alarm(LIMIT)
    sys.dont_write_bytecode = True
    unittest.main()

"""`towerflow inspect`: files of every kind, valid and damaged, recognized by their contents.

$TOWERFLOW_COMMAND is the executable.
"""

import gzip
import json
import os
import pathlib
import random
import shutil
import signal
import struct
import sys
import tempfile
import unittest
import zlib

sys.dont_write_bytecode = True
from support import LIMIT, masked_crc32c, record, run  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
SAMPLE = ROOT / "samples" / "mnist"
FIXTURES = ROOT / "tests" / "data" / "fixtures"
GOLDEN = ROOT / "tests" / "train" / "checkpoint" / "golden"


def field(number, content):
    """Returns a length-delimited protobuf field of fewer than 128 bytes."""
    assert len(content) < 128
    return bytes([number << 3 | 2, len(content)]) + content


def example(**features):
    """Returns a tf.train.Example with int64 features."""
    entries = [field(1, field(1, name.encode()) + field(2, field(3, field(1, bytes(values)))))
               for name, values in features.items()]
    return field(1, b"".join(entries))


def idx(code, sizes, data):
    return bytes([0, 0, code, len(sizes)]) + struct.pack(f">{len(sizes)}I", *sizes) + data


class Scratch(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.file = self.folder / "anything"

    def inspect(self, path, *more):
        """Returns the output without its last line, and the JSON in its last line."""
        result = run("inspect", path, "--json", *more)
        self.assertEqual((result.returncode, result.stderr), (0, ""), result.stdout)
        *lines, last = result.stdout.splitlines()
        return "\n".join(lines), json.loads(last)

    def assert_error(self, result, *parts):
        """Asserts exit code 1 and one message on stderr."""
        self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
        self.assertRegex(result.stderr, r"\Atowerflow: [^\n]+\n\Z")
        for part in parts:
            self.assertIn(part, result.stderr)


class Records(Scratch):
    def test_the_sample(self):
        text, found = self.inspect(SAMPLE / "test.tfrecords.gz")
        self.assertIn("TFRecord, gzip", text)
        self.assertIn("1000 records", text)
        self.assertIn("all are tf.train.Example", text)
        self.assertEqual((found["kind"], found["compression"]), ("TFRecord", "gzip"))
        self.assertEqual((found["records"], found["examples"]), (1000, 1000))
        self.assertIsNone(found["damage"])
        data = gzip.decompress((SAMPLE / "test.tfrecords.gz").read_bytes())
        self.assertEqual(found["bytes"], len(data))
        features = {feature["name"]: feature for feature in found["features"]}
        self.assertEqual(list(features), sorted(features))
        label, image = features["label"], features["image_raw"]
        self.assertEqual((label["kind"], label["min"], label["max"]), ("int64", 0, 9))
        self.assertEqual((image["kind"], image["least_bytes"], image["most_bytes"]),
                         ("bytes", 784, 784))
        self.assertRegex(text, r"label +int64 +1 +0 to 9 +\d")

    def test_by_content_whatever_the_name(self):
        plain = record(example(a=[3], b=[1, 2])) + record(example(a=[5]))
        for data, compression in ((plain, "none"), (gzip.compress(plain), "gzip"),
                                  (zlib.compress(plain), "zlib"), (zlib.compress(plain, 0), "zlib")):
            for name in ("anything", "train.ckpt.index", "t10k-images-idx3-ubyte", "checkpoint"):
                path = self.folder / name
                path.write_bytes(data)
                _, found = self.inspect(path)
                self.assertEqual((found["kind"], found["compression"]), ("TFRecord", compression))
                self.assertEqual((found["records"], found["bytes"]), (2, len(plain)))
                self.assertEqual([(f["name"], f["examples"]) for f in found["features"]],
                                 [("a", 2), ("b", 1)])
                path.unlink()

    def test_records_that_are_no_examples(self):
        text, found = self.inspect(FIXTURES / "small.tfrecord.zlib")
        self.assertIn("5 records of 0 to 5000 bytes, none is a tf.train.Example", text)
        self.assertEqual((found["records"], found["examples"], found["features"]), (5, 0, []))
        self.file.write_bytes(b"")
        text, found = self.inspect(self.file)
        self.assertIn("no record", text)
        self.assertEqual(found["records"], 0)

    def test_names_from_outside_do_no_harm(self):
        self.file.write_bytes(record(field(1, field(1, field(1, b"\x1b[31m\xff\n") +
                                                    field(2, field(3, field(1, b"\1")))))))
        text, found = self.inspect(self.file)
        self.assertIn(r"\x1b[31m\xff\x0a", text)
        self.assertNotIn("\x1b", text)
        self.assertEqual(len(found["features"]), 1)

    def test_damage(self):
        whole = b"".join(record(example(a=[i])) for i in range(5))
        size = len(whole) // 5
        flipped = bytearray(whole)
        flipped[3 * size + 14] ^= 1
        for data, name, at in ((whole[:-1], "truncated", 4), (bytes(flipped), "corrupted", 3),
                               (whole[:2 * size + 5], "truncated", 2)):
            for pack in (bytes, gzip.compress, zlib.compress):
                self.file.write_bytes(pack(data))
                result = run("inspect", self.file, "--json")
                self.assert_error(result, f"{name} record {at} at byte {at * size} of {self.file}")
                *lines, last = result.stdout.splitlines()
                self.assertIn(f"Damaged: reading stops at record {at} at byte {at * size}.",
                              lines)
                found = json.loads(last)
                self.assertEqual((found["records"], found["examples"]), (at, at))
                self.assertEqual((found["damage"]["record"], found["damage"]["byte"]),
                                 (at, at * size))
        packed = gzip.compress(whole * 40)
        self.file.write_bytes(packed[:-9])
        self.assert_error(run("inspect", self.file), "compressed data is truncated at byte")
        self.file.write_bytes(packed[:10])
        self.assert_error(run("inspect", self.file), "compressed data is truncated at byte")

    def test_an_impossible_length_takes_no_memory(self):
        header = struct.pack("<Q", 1 << 62)
        self.file.write_bytes(header + struct.pack("<I", masked_crc32c(header)) + b"x" * 20)
        self.assert_error(run("inspect", self.file), "record 0 at byte 0", "limit")


class Events(Scratch):
    def test_tags(self):
        shutil.copy(FIXTURES / "events.tfevents", self.file)
        text, found = self.inspect(self.file)
        self.assertIn("events, brain.Event:2", text)
        self.assertRegex(text, r"loss +scalar +3 +0 to 20 +2\.5 to 1 +0\.75 to 2\.5\n")
        self.assertRegex(text, r"rate +scalar +1 +10 +nan +1 not finite\n")
        self.assertRegex(text, r"weights +histogram +1 +20")
        self.assertEqual((found["kind"], found["events"], found["graphs"]), ("events", 5, 1))
        self.assertEqual([(one["tag"], one["kind"], one["points"]) for one in found["tags"]],
                         [("loss", "scalar", 3), ("rate", "scalar", 1),
                          ("weights", "histogram", 1)])
        self.assertEqual(found["last_time"], 1700000003.25)

    def test_damage(self):
        whole = (FIXTURES / "events.tfevents").read_bytes()
        self.file.write_bytes(whole[:-1])
        result = run("inspect", self.file, "--json")
        self.assert_error(result, "truncated record 4 at byte")
        self.assertEqual(json.loads(result.stdout.splitlines()[-1])["events"], 4)
        self.file.write_bytes(whole + record(b"no event"))
        self.assert_error(run("inspect", self.file), f"record 5 at byte {len(whole)}",
                          "is not an event")


class Idx(Scratch):
    def test_labels_and_images(self):
        labels = idx(8, [7], bytes([3, 1, 3, 9, 0, 3, 1]))
        for data, compression in ((labels, "none"), (gzip.compress(labels), "gzip")):
            self.file.write_bytes(data)
            text, found = self.inspect(self.file)
            self.assertIn("uint8 (7,), 0 to 9, mean 2.85714", text)
            self.assertIn("how often each value occurs: 0: 1, 1: 2, 3: 3, 9: 1", text)
            self.assertEqual((found["kind"], found["compression"]), ("IDX", compression))
            self.assertEqual((found["dtype"], found["shape"]), ("uint8", [7]))
            self.assertEqual(found["counts"], {"0": 1, "1": 2, "3": 3, "9": 1})
        self.file.write_bytes(idx(13, [2, 2], struct.pack(">4f", 0.5, -2, float("nan"), 1)))
        text, found = self.inspect(self.file)
        self.assertIn("float32 (2, 2), -2 to 1", text)
        self.assertIn("1 NaN", text)
        self.assertEqual(found["statistics"]["nan"], 1)
        self.assertNotIn("counts", found)

    def test_damage(self):
        whole = idx(8, [2, 3], b"abcdef")
        for data in (whole[:-1], whole + b"g", whole[:9], whole[:5]):
            for pack in (bytes, gzip.compress):
                self.file.write_bytes(pack(data))
                self.assert_error(run("inspect", self.file), str(self.file), "byte")
        self.file.write_bytes(gzip.compress(idx(8, [1 << 20, 1 << 30], bytes(1 << 20))))
        self.assert_error(run("inspect", self.file), "holds 1048576 bytes of data")


class Checkpoints(Scratch):
    def copy(self, name):
        for file in GOLDEN.glob(name + ".*"):
            shutil.copy(file, self.folder)
        return self.folder / name

    def test_prefix_index_and_data_file(self):
        prefix = self.copy("all.ckpt")
        for path in (prefix, f"{prefix}.index", f"{prefix}.data-00000-of-00001"):
            text, found = self.inspect(path)
            self.assertEqual((found["kind"], found["file"]), ("checkpoint", str(prefix)))
            tensors = {tensor["name"]: tensor for tensor in found["tensors"]}
            self.assertEqual(len(tensors), 25)
            self.assertIn("25 tensors", text)
            self.assertIn("'', 'xxx", text)
            wide = tensors["dtype/float64"]
            self.assertEqual((wide["dtype"], wide["shape"], wide["bytes"]), ("float64", [2, 3], 48))
            self.assertNotIn("statistics", wide)
            self.assertEqual(tensors["string/scalar"]["values"], ["one"])
            self.assertEqual(tensors["empty"]["values"], [])

    def test_values(self):
        _, found = self.inspect(self.copy("all.ckpt"), "--values")
        tensors = {tensor["name"]: tensor for tensor in found["tensors"]}
        # Byte j of a value is (37 j + 11) mod 251.
        numbers = struct.unpack("<6i", bytes((37 * j + 11) % 251 for j in range(24)))
        statistics = tensors["dtype/int32"]["statistics"]
        self.assertEqual((statistics["min"], statistics["max"]), (min(numbers), max(numbers)))
        self.assertAlmostEqual(statistics["mean"] / (sum(numbers) / 6), 1)
        self.assertNotIn("statistics", tensors["dtype/complex64"])

    def test_several_data_files_and_slices(self):
        _, found = self.inspect(self.copy("sharded.ckpt"), "--values")
        self.assertEqual(found["data_files"], 2)
        self.assertEqual({tensor["shard"] for tensor in found["tensors"]}, {0, 1})
        text, found = self.inspect(self.copy("sliced.ckpt"), "--values")
        self.assertIn("stored in slices", text)

    def test_damage(self):
        prefix = self.copy("all.ckpt")
        data = self.folder / "all.ckpt.data-00000-of-00001"
        _, found = self.inspect(prefix, "--values")
        place = next(t["offset"] for t in found["tensors"] if t["name"] == "dtype/float32")
        whole = data.read_bytes()
        data.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1:])
        result = run("inspect", prefix, "--values", "--json")
        self.assert_error(result, "'dtype/float32'", "wrong checksum", f"begin at byte {place}")
        self.assertIn("Damaged: 1 tensor not readable.", result.stdout)
        found = json.loads(result.stdout.splitlines()[-1])
        self.assertEqual([t["name"] for t in found["tensors"] if "damage" in t], ["dtype/float32"])
        data.write_bytes(whole[:-1])
        self.assert_error(run("inspect", prefix, "--values"), "the file ends at")
        data.unlink()
        self.assert_error(run("inspect", prefix), "data-00000-of-00001 is missing")
        index = self.folder / "all.ckpt.index"
        table = bytearray(index.read_bytes())
        table[40] ^= 1
        index.write_bytes(table)
        self.assert_error(run("inspect", prefix), "wrong checksum of the block at byte 0")
        index.rename(self.folder / "renamed")
        self.assert_error(run("inspect", self.folder / "renamed"), "does not end in .index")

    def test_training_folder(self):
        self.copy("sharded.ckpt")
        self.copy("all.ckpt")
        state = self.folder / "checkpoint"
        state.write_text('model_checkpoint_path: "all.ckpt"\n'
                         'all_model_checkpoint_paths: "lost.ckpt"\n'
                         'all_model_checkpoint_paths: "sharded.ckpt"\n'
                         'all_model_checkpoint_paths: "all.ckpt"\n')
        for path in (self.folder, state):
            text, found = self.inspect(path)
            self.assertIn("training folder, 3 checkpoints", text)
            self.assertRegex(text, r"lost\.ckpt +gone")
            self.assertEqual([(pathlib.Path(one["prefix"]).name, one["exists"], one["newest"])
                              for one in found["checkpoints"]],
                             [("lost.ckpt", False, False), ("sharded.ckpt", True, False),
                              ("all.ckpt", True, True)])
            self.assertEqual(len(found["newest"]["tensors"]), 25)
        state.unlink()
        os.utime(self.folder / "sharded.ckpt.index", (2e9, 2e9))
        text, found = self.inspect(self.folder)
        self.assertIn("no readable state file", text)
        self.assertEqual(found["newest"]["file"], str(self.folder / "sharded.ckpt"))
        state.write_text('model_checkpoint_path: "lost.ckpt"\n')
        self.assert_error(run("inspect", self.folder), "lost.ckpt, is gone")


class Others(Scratch):
    def test_what_is_of_no_kind(self):
        self.file.write_text("A text that says nothing.")
        result = run("inspect", self.file)
        self.assert_error(result, str(self.file), "of a known kind", "TFRecord", "checkpoint", "IDX")
        self.assertEqual(result.stdout, "")
        self.assert_error(run("inspect", self.folder), "neither a file `checkpoint` nor an .index")
        shutil.copy(GOLDEN / "all.ckpt.index", self.folder / "model.ckpt-100.index")
        self.assert_error(run("inspect", self.folder / "model.ckpt-10"), "there is no file",
                          "'model.ckpt-100'")
        self.assert_error(run("inspect", "/dev/zero"), "not a file but a device")
        result = run("inspect")
        self.assertEqual(result.returncode, 2)
        self.assertIn("FILE is required", result.stderr)

    def test_changed_bytes_end_in_a_report_or_an_error(self):
        """Randomly changed bytes cause no crash and no exit without a message."""
        numbers = random.Random(7)
        index = GOLDEN / "all.ckpt.index"
        shutil.copy(GOLDEN / "all.ckpt.data-00000-of-00001", self.folder)
        for source in (record(example(a=[3], b=[1, 2])) * 3, gzip.compress(idx(8, [3], b"abc")),
                       index.read_bytes(), b'model_checkpoint_path: "m"\n'):
            name = "all.ckpt.index" if source == index.read_bytes() else "checkpoint"
            for _ in range(15):
                changed = bytearray(source)
                for _ in range(numbers.randint(1, 4)):
                    changed[numbers.randrange(len(changed))] = numbers.randrange(256)
                path = self.folder / name
                path.write_bytes(changed)
                result = run("inspect", path, "--values")
                self.assertIn(result.returncode, (0, 1), (bytes(changed), result.stderr))
                self.assertEqual(result.returncode == 1, "towerflow: " in result.stderr)
                path.unlink()


if __name__ == "__main__":
    signal.alarm(LIMIT)
    unittest.main()

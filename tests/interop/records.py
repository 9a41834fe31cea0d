#!/usr/bin/env python3
"""TensorFlow reads our TFRecord files and Examples, and we read TensorFlow's."""

import gzip
import json
import sys
import zlib

sys.dont_write_bytecode = True
from support import (  # noqa: E402
    InteropTest, OurError, main, ours, read_arrays, strings, tensor, tensorflow, write_arrays)

COMPRESSIONS = {"none": "", "gzip": "GZIP", "zlib": "ZLIB"}
UNPACK = {"none": bytes, "gzip": gzip.decompress, "zlib": zlib.decompress}
SPEC = {
    "label": {"kind": "fixed", "dtype": "int64", "shape": []},
    "box": {"kind": "fixed", "dtype": "float32", "shape": [2, 2]},
    "name": {"kind": "fixed", "dtype": "string", "shape": [1], "default": ["nobody"]},
    "size": {"kind": "fixed", "dtype": "int64", "shape": [2], "default": [-1, 7]},
    "words": {"kind": "variable", "dtype": "string"},
    "weights": {"kind": "variable", "dtype": "float32"},
    "steps": {"kind": "sequence", "dtype": "int64", "shape": [3]},
}


def records():
    """Returns records: empty ones, all bytes, and one of 3 MiB, larger than any buffer."""
    import numpy as np
    big = np.random.default_rng(1).integers(0, 256, 3 << 20, np.uint8).tobytes()
    return [b"", b"one", bytes(range(256)), b"", big, b"\0" * 100000, b"last", b""]


def examples():
    """Returns the features of each Example: all three kinds, present, absent and empty."""
    import numpy as np
    floats = np.array([0x7fc00001, 0x80000000, 1, 0x7f800000], np.uint32).view(np.float32)
    limits = np.array([-2**63, 2**63 - 1, 0, 1, -1, 300], np.int64)
    return [
        {"label": limits[:1], "box": floats, "name": strings([b"a\0b\xff"]), "size": limits[3:5],
         "words": strings([b"", b"x" * 300, b"\xc3\xa9"]), "weights": floats, "steps": limits},
        {"label": limits[1:2], "box": floats[::-1], "words": strings([]), "weights": floats[:0]},
        {"label": limits[5:], "box": floats, "weights": floats[1:2], "steps": limits[:3],
         "passed over": strings([b"?"])},
    ]


class Records(InteropTest):
    @classmethod
    def setUpClass(cls):
        cls.tf = tensorflow()

    def write_theirs(self, file, compression, content):
        options = self.tf.io.TFRecordOptions(compression_type=COMPRESSIONS[compression])
        with self.tf.io.TFRecordWriter(str(file), options) as writer:
            for record in content:
                writer.write(record)

    def read_theirs(self, file, compression):
        """Returns the records before an error, and the kind of the error."""
        options = self.tf.io.TFRecordOptions(compression_type=COMPRESSIONS[compression])
        found = []
        try:
            for record in self.tf.python_io.tf_record_iterator(str(file), options):
                found.append(record)
        except self.tf.errors.OpError as error:
            return found, type(error).__name__
        return found, None

    def write_ours(self, file, compression, content):
        ours("write_records", write_arrays(self.folder / "in", {"records": strings(content)}), file,
             compression)

    def read_ours(self, file, compression):
        kind = None
        try:
            ours("read_records", file, compression, self.folder / "out")
        except OurError as error:
            kind = error.kind
        return read_arrays(self.folder / "out")["records"].tolist(), kind

    def test_both_ways(self):
        for compression in COMPRESSIONS:
            for content in (records(), []):
                with self.subTest(compression=compression, records=len(content)):
                    our_file, their_file = self.folder / "ours", self.folder / "theirs"
                    self.write_ours(our_file, compression, content)
                    self.write_theirs(their_file, compression, content)
                    self.assertEqual(self.read_theirs(our_file, compression), (content, None))
                    self.assertEqual(self.read_ours(their_file, compression), (content, None))
                    unpack = UNPACK[compression]
                    self.assertEqual(unpack(our_file.read_bytes()), unpack(their_file.read_bytes()))

    def test_damage(self):
        """Flips a bit in each part of the second record, or truncates the file there. TensorFlow
        accepts a file that ends inside a header (docs/differences.md)."""
        file = self.folder / "damaged"
        self.write_theirs(file, "none", [b"first", b"second", b"third"])
        whole, start = file.read_bytes(), 12 + 5 + 4
        places = {"length": 0, "its checksum": 8, "data": 12, "checksum of the data": 18}
        for part, place in places.items():
            damaged = bytearray(whole)
            damaged[start + place] ^= 1
            for what, content in (("turned", bytes(damaged)), ("ended", whole[:start + place + 1])):
                with self.subTest(part=part, what=what):
                    file.write_bytes(content)
                    header_ended = what == "ended" and place < 12
                    self.assertEqual(self.read_theirs(file, "none"),
                                     ([b"first"], None if header_ended else "DataLossError"))
                    self.assertEqual(self.read_ours(file, "none"), ([b"first"], "DataLossError"))

    def test_damage_of_compressed_files(self):
        """We always report an error, TensorFlow not always, and return no fewer records before."""
        file, content = self.folder / "damaged", [bytes([i]) * (50 * i) for i in range(40)]
        for compression in ("gzip", "zlib"):
            self.write_theirs(file, compression, content)
            whole, header = file.read_bytes(), 10 if compression == "gzip" else 2
            half = len(whole) // 2
            damaged = {f"ends at {n}": whole[:n] for n in (1, header, half, len(whole) - 1)}
            for place in (0, half, len(whole) - 6, len(whole) - 1):
                turned = bytearray(whole)
                turned[place] ^= 1
                damaged[f"bit at {place}"] = bytes(turned)
            damaged["more behind it"] = whole + b"more"
            for what, stored in damaged.items():
                with self.subTest(compression=compression, what=what):
                    file.write_bytes(stored)
                    theirs, their_kind = self.read_theirs(file, compression)
                    found, kind = self.read_ours(file, compression)
                    self.assertEqual(kind, "DataLossError")
                    self.assertIn(their_kind, ("DataLossError", None))
                    self.assertEqual(found, content[:len(found)])
                    self.assertEqual(theirs, found[:len(theirs)])

    def serialize_theirs(self, features):
        tf, example = self.tf, self.tf.train.Example()
        for name, values in features.items():
            feature = example.features.feature[name]
            kind = {"int64": "int64_list", "float32": "float_list", "object": "bytes_list"}
            found = getattr(feature, kind[str(values.dtype)])
            found.value.extend(values.tolist())
            found.SetInParent()
        return example.SerializeToString(deterministic=True)

    def serialize_ours(self):
        named = {f"{number}/{name}": values for number, features in enumerate(examples())
                 for name, values in features.items()}
        ours("write_examples", write_arrays(self.folder / "in", named), self.folder / "out")
        return read_arrays(self.folder / "out")["examples"].tolist()

    def test_examples_are_equal_bytes(self):
        theirs = [self.serialize_theirs(features) for features in examples()]
        self.assertEqual(self.serialize_ours(), theirs)

    def their_features(self, spec):
        tf, made = self.tf, {}
        for key, one in spec.items():
            dtype = tf.as_dtype(one["dtype"])
            if one["kind"] == "variable":
                made[key] = tf.VarLenFeature(dtype)
            elif one["kind"] == "sequence":
                made[key] = tf.FixedLenSequenceFeature(one["shape"], dtype, allow_missing=True)
            else:
                made[key] = tf.FixedLenFeature(one["shape"], dtype, one.get("default"))
        return made

    def parse_theirs(self, file, compression, spec):
        """Names the results like our program: number/key, number/key/indices, ..."""
        tf, found = self.tf, {}
        with tf.Graph().as_default(), tf.Session() as session:
            files = tf.FIFOQueue(1, [tf.string], [[]])
            options = tf.io.TFRecordOptions(compression_type=COMPRESSIONS[compression])
            parsed = tf.parse_single_example(tf.TFRecordReader(options=options).read(files)[1],
                                             self.their_features(spec))
            session.run(files.enqueue([str(file)]))
            session.run(files.close())
            try:
                for number in range(1000):
                    for key, value in session.run(parsed).items():
                        if isinstance(value, tf.SparseTensorValue):
                            for part in value._fields:
                                found[f"{number}/{key}/{part}"] = getattr(value, part)
                        else:
                            found[f"{number}/{key}"] = tensor(value)
            except tf.errors.OutOfRangeError:
                return found

    def parse_ours(self, file, compression, spec):
        (self.folder / "spec.json").write_text(json.dumps(spec))
        ours("parse_examples", file, compression, self.folder / "spec.json", self.folder / "parsed")
        return read_arrays(self.folder / "parsed")

    def test_examples_through_graphs(self):
        """Parses our file with TensorFlow's reader and parser, and TensorFlow's file with ours."""
        for compression in COMPRESSIONS:
            with self.subTest(compression=compression):
                our_file, their_file = self.folder / "ours", self.folder / "theirs"
                self.write_ours(our_file, compression, self.serialize_ours())
                self.write_theirs(their_file, compression, map(self.serialize_theirs, examples()))
                theirs = self.parse_theirs(our_file, compression, SPEC)
                self.assertEqual(len(theirs), len(examples()) * (5 + 2 * 3))
                self.assert_same_arrays(self.parse_ours(their_file, compression, SPEC), theirs)

    def test_what_cannot_be_parsed(self):
        file = self.folder / "records"
        good = self.serialize_theirs(examples()[0])
        label = {"kind": "fixed", "dtype": "int64", "shape": []}
        cases = {
            "no example": (b"no example", {"label": label}),
            "missing": (good, {"other": label}),
            "another dtype": (good, {"label": dict(label, dtype="float32")}),
            "another number": (good, {"label": dict(label, shape=[2])}),
            "variable of another dtype": (good, {"words": {"kind": "variable", "dtype": "int64"}}),
            "no whole row": (good, {"steps": dict(SPEC["steps"], shape=[4])}),
        }
        for what, (record, spec) in cases.items():
            with self.subTest(what):
                self.write_theirs(file, "none", [record])
                with self.assertRaises(self.tf.errors.InvalidArgumentError):
                    self.parse_theirs(file, "none", spec)
                with self.assertRaises(OurError) as caught:
                    self.parse_ours(file, "none", spec)
                self.assertEqual(caught.exception.kind, "InvalidArgumentError")


if __name__ == "__main__":
    sys.exit(main())

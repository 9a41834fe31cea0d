#!/usr/bin/env python3
"""Compares what we and TensorFlow read from files of other programs.

The files are in tfrecord/, checkpoints/ and events/ of $TOWERFLOW_DATA, by default ../shared/data
from the project's root.
"""

import json
import os
import pathlib
import subprocess
import sys

sys.dont_write_bytecode = True
from support import (  # noqa: E402
    InteropTest, LIMIT, ROOT, main, ours, read_arrays, tensor, tensorflow)

DATA = pathlib.Path(os.environ.get("TOWERFLOW_DATA") or ROOT.parent / "shared" / "data")
EVENT_KINDS = {"simple_value": "scalar", "histo": "histogram", "tensor": "tensor", "image": "image",
               "audio": "audio"}


def inspect(path, *more):
    """Returns the JSON of `towerflow inspect`."""
    command = [os.environ["TOWERFLOW_COMMAND"], "inspect", str(path), "--json", *more]
    result = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                            timeout=LIMIT, check=True)
    return json.loads(result.stdout.splitlines()[-1])


def files(folder, pattern="*"):
    return sorted(path for path in (DATA / folder).rglob(pattern) if path.is_file())


class Feature:
    """Computes our command's report on a feature of all Examples from TensorFlow's messages."""

    def __init__(self):
        self.kinds, self.counts, self.values = set(), [], []

    def add(self, feature):
        kind = feature.WhichOneof("kind")
        found = list(getattr(feature, kind).value) if kind else []
        self.kinds.add({"bytes_list": "bytes", "float_list": "float", "int64_list": "int64",
                        None: "empty"}[kind])
        self.counts.append(len(found))
        self.values += found

    def described(self):
        known = [kind for kind in ("empty", "bytes", "float", "int64") if kind in self.kinds]
        found = {"kind": ", ".join(known), "examples": len(self.counts),
                 "least_values": min(self.counts), "most_values": max(self.counts)}
        if self.values and isinstance(self.values[0], bytes):
            lengths = [len(value) for value in self.values]
            found.update(least_bytes=min(lengths), most_bytes=max(lengths))
        elif self.values:
            found.update(min=min(self.values), max=max(self.values))
        return found


class RealFiles(InteropTest):
    @classmethod
    def setUpClass(cls):
        cls.tf = tensorflow()

    def their_records(self, path):
        kind = "GZIP" if path.suffix == ".gz" else ""
        options = self.tf.io.TFRecordOptions(compression_type=kind)
        return list(self.tf.python_io.tf_record_iterator(str(path), options))

    def check_records(self, path, theirs):
        ours("read_records", path, "gzip" if path.suffix == ".gz" else "none", self.folder / "out")
        self.assertEqual(read_arrays(self.folder / "out")["records"].tolist(), theirs)

    def check_features(self, listed, records):
        theirs, examples = {}, 0
        for record in records:
            example = self.tf.train.Example.FromString(record)
            examples += len(example.features.feature) > 0
            for name, feature in example.features.feature.items():
                theirs.setdefault(name, Feature()).add(feature)
        self.assertEqual(listed["examples"], examples)
        self.assertEqual([one["name"] for one in listed["features"]], sorted(theirs))
        for one in listed["features"]:
            found = theirs[one["name"]].described()
            self.assertEqual({key: one[key] for key in found}, found, one["name"])
        return len(theirs)

    def test_records(self):
        found = files("tfrecord")
        self.assertTrue(found)
        for path in found:
            with self.subTest(path.name):
                theirs = self.their_records(path)
                self.check_records(path, theirs)
                listed = inspect(path)
                self.assertEqual((listed["kind"], listed["records"], listed["damage"]),
                                 ("TFRecord", len(theirs), None))
                features = self.check_features(listed, theirs)
                print(f"{path.name}: {len(theirs)} records, {features} features")

    def test_checkpoints(self):
        found = files("checkpoints", "*.index")
        self.assertTrue(found)
        for path in found:
            prefix = path.with_suffix("")
            with self.subTest(str(prefix.relative_to(DATA))):
                reader = self.tf.train.NewCheckpointReader(str(prefix))
                types = reader.get_variable_to_dtype_map()
                theirs = {name: tensor(reader.get_tensor(name)) for name in types}
                self.assertEqual(ours("read_tensors", prefix, self.folder / "out"), [])
                self.assert_same_arrays(read_arrays(self.folder / "out"), theirs)
                listed = inspect(path, "--values")["tensors"]
                self.assertEqual([(one["name"], one["dtype"], one["shape"]) for one in listed],
                                 [(name, types[name].name, list(theirs[name].shape))
                                  for name in sorted(theirs)])
                print(f"{prefix.relative_to(DATA)}: {len(theirs)} tensors")

    def test_training_folders(self):
        for state in files("checkpoints", "checkpoint"):
            with self.subTest(state.parent.name):
                self.assertEqual(inspect(state.parent)["newest"]["file"],
                                 self.tf.train.latest_checkpoint(str(state.parent)))

    def their_tags(self, path):
        """Returns the numbers of events and graphs, and for each tag its (step, value) pairs."""
        tags, events, graphs = {}, 0, 0
        for event in self.tf.train.summary_iterator(str(path)):
            events += 1
            graphs += event.WhichOneof("what") == "graph_def"
            for value in event.summary.value:
                tags.setdefault(value.tag, []).append((event.step, value))
        return events, graphs, tags

    def test_events(self):
        found = files("events")
        self.assertTrue(found)
        for path in found:
            with self.subTest(path.name):
                self.check_records(path, self.their_records(path))
                listed, (events, graphs, tags) = inspect(path), self.their_tags(path)
                self.assertEqual((listed["kind"], listed["events"], listed["graphs"]),
                                 ("events", events, graphs))
                self.assertEqual([one["tag"] for one in listed["tags"]], sorted(tags))
                for one in listed["tags"]:
                    (first, start), (last, end) = tags[one["tag"]][0], tags[one["tag"]][-1]
                    self.assertEqual((one["points"], one["first_step"], one["last_step"]),
                                     (len(tags[one["tag"]]), first, last), one["tag"])
                    self.assertEqual(one["kind"], EVENT_KINDS[end.WhichOneof("value")], one["tag"])
                    if one["kind"] == "scalar":
                        self.assertEqual((one["first_value"], one["last_value"]),
                                         (start.simple_value, end.simple_value), one["tag"])
                print(f"{path.name}: {events} events, {len(tags)} tags")


if __name__ == "__main__":
    if os.environ.get("TOWERFLOW_DATA") and not DATA.is_dir():
        sys.exit(f"TOWERFLOW_DATA names no folder: {DATA}")
    if not any(files(folder) for folder in ("tfrecord", "checkpoints", "events")):
        print(f"SKIPPED: there are no files of other programs in {DATA}")
        sys.exit(77)
    sys.exit(main())

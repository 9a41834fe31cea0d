#!/usr/bin/env python3
"""TensorBoard reads an event file that the library wrote.

    events.py    runs $WRITE_EVENTS, the program of write_events.cc

Needs a Python with TensorBoard, which TensorFlow does not install; see support.py.
"""

import os
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
from support import main  # noqa: E402

X = [-1.0, 0.0, 0.5, 2.0]
SCALARS = {"tower_0/mean_1": 0.375, "tower_1/mean_1": 0.375, "rates/rates/of_family": 2.0}
HISTOGRAMS = ["tower_0/x_1", "tower_1/x_1"]
STEPS = [0, 10, 20]


class Events(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        subprocess.run([os.environ["WRITE_EVENTS"], cls.folder.name], check=True)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def accumulator(self, module, kind):
        from importlib import import_module
        package = import_module("tensorboard.backend.event_processing." + module)
        # Zero keeps all events; the default keeps only the last histogram.
        sizes = {"scalars": 0, "histograms": 0, "tensors": 0}
        accumulator = getattr(package, kind)(self.folder.name, size_guidance=sizes)
        accumulator.Reload()
        return accumulator

    def check_graph(self, accumulator):
        nodes = {node.name: node for node in accumulator.Graph().node}
        self.assertEqual(nodes["tower_1/x_1"].op, "HistogramSummary")
        self.assertEqual(list(nodes["tower_1/mean_1"].input), ["tower_1/mean_1/tags", "tower_1/Mean"])
        self.assertEqual(nodes["tower_1/mul"].device, "/device:GPU:1")
        sizes = nodes["tower_0/mul"].attr["_output_shapes"].list.shape[0].dim
        self.assertEqual([dim.size for dim in sizes], [4])

    def test_accumulator(self):
        accumulator = self.accumulator("event_accumulator", "EventAccumulator")
        tags = accumulator.Tags()
        self.assertEqual(sorted(tags["scalars"]), sorted(SCALARS))
        self.assertEqual(sorted(tags["histograms"]), HISTOGRAMS)
        self.assertTrue(tags["graph"])
        for tag, factor in SCALARS.items():
            events = accumulator.Scalars(tag)
            self.assertEqual([(e.step, e.value) for e in events],
                             [(step, factor * step / 10) for step in STEPS])
            self.assertTrue(all(e.wall_time > 1.7e9 for e in events))
        for tag in HISTOGRAMS:
            for event, step in zip(accumulator.Histograms(tag), STEPS, strict=True):
                values = [x * step / 10 for x in X]
                value = event.histogram_value
                self.assertEqual(event.step, step)
                self.assertEqual((value.min, value.max, value.num), (min(values), max(values), 4))
                self.assertEqual((value.sum, value.sum_squares),
                                 (sum(values), sum(v * v for v in values)))
                self.assertEqual(sum(value.bucket), 4)
                self.assertEqual(len(value.bucket), len(value.bucket_limit))
        self.check_graph(accumulator)

    def test_what_the_server_reads(self):
        accumulator = self.accumulator("plugin_event_accumulator", "EventAccumulator")
        self.assertEqual(sorted(accumulator.PluginTagToContent("scalars")), sorted(SCALARS))
        self.assertEqual(sorted(accumulator.PluginTagToContent("histograms")), HISTOGRAMS)
        for tag in [*SCALARS, *HISTOGRAMS]:
            self.assertEqual([event.step for event in accumulator.Tensors(tag)], STEPS)
        self.check_graph(accumulator)


if __name__ == "__main__":
    sys.exit(main("tensorboard"))

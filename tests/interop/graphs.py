#!/usr/bin/env python3
"""Graphs that we export, imported and run by TensorFlow from the same values."""

import sys

sys.dont_write_bytecode = True
from support import InteropTest, main, ours, read_arrays, tensorflow  # noqa: E402

TOLERANCE = 1e-5


class Graphs(InteropTest):
    @classmethod
    def setUpClass(cls):
        cls.tf = tensorflow()

    def assert_close(self, found, wanted):
        import numpy as np
        for name, value in wanted.items():
            np.testing.assert_allclose(found[name], value, TOLERANCE, TOLERANCE, err_msg=name)

    def check(self, folder, graph_def):
        tf = self.tf
        with tf.Graph().as_default() as graph:
            tf.import_graph_def(graph_def, name="")
            feeds, variables = read_arrays(folder / "feeds"), read_arrays(folder / "variables")
            outputs = read_arrays(folder / "outputs")
            initial = {name: tf.assign(graph.get_tensor_by_name(name), value)
                       for name, value in variables.items()}
            config = tf.ConfigProto(device_count={"CPU": 2}, allow_soft_placement=True)
            with tf.Session(config=config) as session:
                session.run(list(initial.values()))
                self.assert_close(session.run(dict(zip(outputs, outputs)), feeds), outputs)
                for target in (folder / "targets").read_text().split():
                    session.run(target, feeds)
                updated = read_arrays(folder / "updated")
                if updated:
                    self.assert_close(session.run(dict(zip(updated, updated))), updated)
                self.assert_close(session.run(dict(zip(outputs, outputs)), feeds),
                                  read_arrays(folder / "outputs_then"))

    def test_graphs(self):
        from google.protobuf import text_format
        from tensorflow.python.framework import op_def_registry
        ours("graphs", self.folder)
        for name in ("ops", "mnist", "gan"):
            with self.subTest(name=name):
                graph_def = self.tf.GraphDef()
                graph_def.ParseFromString((self.folder / name / "graph.pb").read_bytes())
                text = (self.folder / name / "graph.pbtxt").read_text()
                self.assertEqual(text_format.Parse(text, self.tf.GraphDef()), graph_def)
                if any(op_def_registry.get(node.op) is None for node in graph_def.node):
                    graph_def = self.without_gradients(self.folder / name, graph_def)
                self.check(self.folder / name, graph_def)

    def without_gradients(self, folder, graph_def):
        """What the outputs need: some gradients are ops that TensorFlow lacks (docs/differences.md)."""
        names = [*read_arrays(folder / "outputs"), *read_arrays(folder / "variables")]
        (folder / "targets").write_text("")
        for then, first in (("updated", "variables"), ("outputs_then", "outputs")):
            for file in ("list.json", "values.bin"):
                (folder / then / file).write_bytes((folder / first / file).read_bytes())
        return self.tf.graph_util.extract_sub_graph(graph_def, [n.split(":")[0] for n in names])


if __name__ == "__main__":
    sys.exit(main())

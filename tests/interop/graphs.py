#!/usr/bin/env python3
"""TensorFlow imports and runs our exported graphs from the same values, and we run TensorFlow's."""

import os
import sys

sys.dont_write_bytecode = True
from support import InteropTest, main, ours, read_arrays, tensorflow, write_arrays  # noqa: E402

TOLERANCE = 1e-5
ROUNDING = 1e-6  # of a gradient, by its largest element
PROGRAMS = ("batch_norm", "char_lstm", "mnist", "multi_gpu_model", "ops", "slices",
            "three_stage_gan")

# What TensorFlow's kernels for CPUs, or its shape functions, refuse: its words, and how many of the
# cases meet them. A MatrixDiag whose k is not constant counts as one diagonal in its shape
# functions, even if k has two elements.
REFUSED = {
    "AvgPoolingOp only supports NHWC": 1,
    "MaxPoolingOp only supports NHWC": 1,
    "Conv2DCustomBackpropFilterOp only supports NHWC": 3,
    "do not yet support dilation rates larger than 1": 3,
    "Gradients for grouped convolutions are not supported on CPU": 1,
    "Depthwise convolution on CPU is only supported for NHWC": 1,
    "does not support dilations": 2,
    "FusedBatchNormGrad with is_training=False only support NHWC": 1,
    "support Op 'SpaceToDepth'": 1,
    "Shapes must be equal rank, but are 3 and 4": 8,
    "doesn't match the number of diagonals implied": 4,
}
# A convolution in groups has two gradients, and either may be refused first.
SAME_REFUSAL = {"filter_size does not have enough elements":
                "Gradients for grouped convolutions are not supported on CPU"}


class Graphs(InteropTest):
    scaled = False  # whether errors are relative to the largest number of an array

    @classmethod
    def setUpClass(cls):
        os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"  # its sums differ between runs
        cls.tf = tensorflow()

    def assert_close(self, found, wanted, slack=None):
        """Compares arrays by name; `slack` has wider tolerances of some elements."""
        import numpy as np
        for name, value in wanted.items():
            self.assertEqual(found[name].dtype, value.dtype, name)
            if value.dtype == object:
                self.assertEqual(found[name].tolist(), value.tolist(), name)
            else:
                scale = 1
                if self.scaled:
                    scale = np.abs(value[np.isfinite(value)]).max(initial=1)
                given = found[name]
                if slack and name in slack:
                    given = np.where(np.abs(given - value) <= slack[name], value, given)
                np.testing.assert_allclose(given, value, TOLERANCE, TOLERANCE * scale,
                                           err_msg=name)

    @staticmethod
    def slack_of_adam(before, updated):
        """Adam divides a gradient by its size: the rounding of a gradient that is almost zero turns
        into a share of a whole step."""
        import numpy as np
        slack = {}
        for name, value in updated.items():
            moment, square = (updated.get(name.replace(":", f"/{slot}:"))
                              for slot in ("Adam", "Adam_1"))
            if moment is not None and square is not None:
                size = np.maximum(np.sqrt(square), np.finfo(np.float32).tiny)
                share = np.minimum(ROUNDING * np.abs(moment).max() / size, 1)
                slack[name] = np.abs(value - before[name]).max() * share
        return slack

    def values(self, session, names, feeds=None):
        import numpy as np
        found = session.run({name: name for name in names}, feeds)
        return {name: np.asarray(value, object if isinstance(value, bytes) else None)
                for name, value in found.items()}

    def session(self):
        config = self.tf.ConfigProto(device_count={"CPU": 2}, allow_soft_placement=True)
        return self.tf.Session(config=config)

    def check_runs(self, folder, session, feeds):
        """Repeats the runs of write_runs in graphs.cc from the same values."""
        outputs, updated = read_arrays(folder / "outputs"), read_arrays(folder / "updated")
        self.assert_close(self.values(session, outputs, feeds), outputs)
        for target in (folder / "targets").read_text().split():
            session.run(target, feeds)
        if updated:
            slack = self.slack_of_adam(read_arrays(folder / "variables"), updated)
            self.assert_close(self.values(session, updated), updated, slack)
            self.assert_close(self.values(session, outputs, feeds),
                              read_arrays(folder / "outputs_then"))
        if (folder / "unordered_step").exists():
            session.run((folder / "unordered_step").read_text(), feeds)
            trained = read_arrays(folder / "trained")
            self.assert_close(self.values(session, trained), trained)

    def graph_def(self, folder):
        graph_def = self.tf.GraphDef()
        graph_def.ParseFromString((folder / "graph.pb").read_bytes())
        return graph_def

    def initialize(self, session, init, variables):
        """Checks that the random initial values are equal up to rounding, then assigns ours."""
        graph = session.graph
        session.run(init)
        if variables:
            self.assert_close(self.values(session, variables), variables)
        session.run([self.tf.assign(graph.get_tensor_by_name(name), value)
                     for name, value in variables.items()])

    def check(self, folder):
        tf = self.tf
        with tf.Graph().as_default():
            tf.import_graph_def(self.graph_def(folder), name="")
            with self.session() as session:
                self.initialize(session, (folder / "init").read_text(),
                                read_arrays(folder / "variables"))
                self.check_runs(folder, session, read_arrays(folder / "feeds"))

    def check_meta_graph(self, folder):
        tf = self.tf
        with tf.Graph().as_default() as graph:
            saver = tf.train.import_meta_graph(str(folder / "graph.meta"))
            variables = read_arrays(folder / "variables")
            self.check_collections(folder)
            self.assertEqual([v.name for v in tf.global_variables()], list(variables))
            with self.session() as session:
                self.initialize(session, tf.global_variables_initializer(), variables)
                prefix = saver.save(session, str(folder / "saved"))
                self.check_runs(folder, session, read_arrays(folder / "feeds"))
                saver.restore(session, prefix)
                self.assert_close(self.values(session, variables), variables)
            self.check_reexported(folder, graph)

    def check_collections(self, folder):
        """Checks that both sides have the same names in the same order."""
        listed = [line.split(" ") for line in (folder / "collections").read_text().splitlines()]
        for key in {key for key, _ in listed}:
            wanted = [name for one, name in listed if one == key]
            self.assertEqual([item.name for item in self.tf.get_collection(key)], wanted, key)
        self.assertIn("variables", {key for key, _ in listed})

    def check_reexported(self, folder, graph):
        """Checks that TensorFlow keeps the attributes from which we restore our own ops."""
        noted = {node.name: node.attr["_original_op"].s
                 for node in self.graph_def(folder).node if "_original_op" in node.attr}
        kept = {node.name: node.attr["_original_op"].s
                for node in graph.as_graph_def().node if "_original_op" in node.attr}
        self.assertEqual(noted, {name: kept[name] for name in noted})

    def test_graphs(self):
        from google.protobuf import text_format
        ours("graphs", self.folder)
        for name in PROGRAMS:
            folder = self.folder / "programs" / name
            with self.subTest(program=name):
                text = (folder / "graph.pbtxt").read_text()
                self.assertEqual(text_format.Parse(text, self.tf.GraphDef()),
                                 self.graph_def(folder))
                self.check(folder)
                if name != "ops":
                    self.check_meta_graph(folder)
        cases = sorted((self.folder / "cases").iterdir())
        self.assertGreater(len(cases), 200)
        self.scaled = True  # gradients are sums of numbers with both signs
        refused = dict.fromkeys(REFUSED, 0)
        for folder in cases:
            with self.subTest(case=folder.name):
                try:
                    self.check(folder)
                except (ValueError, self.tf.errors.OpError) as error:
                    refusal = next((text for text in REFUSED if text in str(error)), None)
                    if refusal is None:
                        raise
                    refused[refusal] += 1
        self.maxDiff = None
        self.assertEqual(refused, REFUSED)

    def build_program(self):
        """Builds a two-layer classifier with an unknown batch size and a weight loss."""
        tf = self.tf
        x = tf.placeholder(tf.float32, [None, 4], name="x")
        labels = tf.placeholder(tf.int64, [None], name="labels")
        with tf.variable_scope("layers", regularizer=tf.nn.l2_loss):
            w = tf.get_variable("w", [4, 3], initializer=tf.truncated_normal_initializer(seed=1))
            b = tf.get_variable("b", [3], initializer=tf.zeros_initializer(), regularizer=None)
            scale = tf.get_variable("scale", [], initializer=tf.ones_initializer(),
                                    trainable=False, regularizer=None)
        hidden = tf.tanh(tf.matmul(x, w) * scale + b)
        entropy = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=hidden)
        tf.add_to_collection(tf.GraphKeys.LOSSES, tf.reduce_mean(entropy, name="entropy"))
        squares = tf.reduce_sum(tf.square(hidden - tf.reduce_mean(hidden, 0)), name="squares")
        tf.add_to_collection(tf.GraphKeys.LOSSES, squares)
        total = tf.add_n(tf.get_collection(tf.GraphKeys.LOSSES))
        step = tf.train.get_or_create_global_step()
        train_op = tf.train.MomentumOptimizer(0.1, 0.9).minimize(total, global_step=step)
        assert tf.get_collection(tf.GraphKeys.TRAIN_OP) == [train_op]
        return {"x:0": [[1, 2, 3, 4], [0, -1, 2, 1], [1, 0, 0, 2]], "labels:0": [0, 2, 1]}

    def test_meta_graph_of_tensorflow(self):
        import numpy as np
        tf = self.tf
        with tf.Graph().as_default():
            feeds = self.build_program()
            feeds = {"x:0": np.array(feeds["x:0"], np.float32),
                     "labels:0": np.array(feeds["labels:0"], np.int64)}
            write_arrays(self.folder / "feeds", feeds)
            with self.session() as session:
                session.run(tf.global_variables_initializer())
                tf.train.Saver().save(session, str(self.folder / "model"))
                variables = [v.name for v in tf.global_variables()]
                trainable = [v.name for v in tf.trainable_variables()]
                initial = self.values(session, variables)
                ours("run_meta_graph", self.folder)
                found = read_arrays(self.folder / "ours" / "variables")
                self.assertEqual(list(found), variables)
                self.assert_close(initial, found)
                self.assertEqual(list(read_arrays(self.folder / "trainable")), trainable)
                self.check_collections(self.folder)
                self.check_runs(self.folder / "ours", session, feeds)


if __name__ == "__main__":
    sys.exit(main())

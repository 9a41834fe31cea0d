#!/usr/bin/env python3
"""TensorFlow restores our checkpoints, and we restore TensorFlow's, bit for bit."""

import os
import sys

sys.dont_write_bytecode = True
from support import (  # noqa: E402
    InteropTest, OurError, main, ours, read_arrays, strings, tensor, tensorflow, write_arrays)

NUMBERS = ["float16", "bfloat16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8",
           "uint16", "uint32", "uint64", "complex64", "complex128", "bool"]


def tensors():
    """Returns tensors of every dtype that can be saved, with random bits, and unusual shapes."""
    import numpy as np
    from support import dtype_called
    random, made = np.random.default_rng(2), {}
    for name in NUMBERS:
        dtype = dtype_called(name)
        raw = random.integers(0, 2 if name == "bool" else 256, 6 * dtype.itemsize, np.uint8)
        made["dtype/" + name] = np.frombuffer(raw.tobytes(), dtype).reshape(2, 3)
        made["scalar/" + name] = made["dtype/" + name][0, 0].reshape([])
        made["empty/" + name] = np.zeros([0, 3], dtype)
    made["string/matrix"] = strings([b"", b"x" * 300, b"a\0b\xff", b"end"]).reshape(2, 2)
    made["string/scalar"] = strings([b"one"]).reshape([])
    made["string/empty"] = strings([])
    made["string/long"] = strings([b"y" * 100000])
    made["A"], made["a.b"] = np.arange(4, dtype=np.int32), np.arange(3, dtype=np.int32)
    made["big"] = random.standard_normal([300, 1000]).astype(np.float32)
    # Long names without a common prefix, so that the index has more than one block of 256 KiB.
    for i in range(40):
        made[f"{i:02}" + "long" * 2000] = np.array(i, np.int32)
    return made


class Checkpoints(InteropTest):
    @classmethod
    def setUpClass(cls):
        cls.tf = tensorflow()

    def save_theirs(self, arrays, prefix, keep, steps, **options):
        tf = self.tf
        with tf.Graph().as_default(), tf.Session() as session:
            variables = {name: tf.Variable(tf.placeholder_with_default(value, value.shape))
                         for name, value in arrays.items()}
            saver = tf.train.Saver(variables, max_to_keep=keep, **options)
            session.run(tf.global_variables_initializer())
            for step in steps:
                saver.save(session, str(prefix), global_step=step)

    def restore_theirs(self, arrays, prefix):
        import numpy as np
        tf = self.tf
        with tf.Graph().as_default(), tf.Session() as session:
            variables = {name: tf.Variable(np.zeros_like(value), dtype=tf.as_dtype(value.dtype))
                         if value.dtype != object else
                         tf.Variable(tf.fill(value.shape, ""), validate_shape=True)
                         for name, value in arrays.items()}
            tf.train.Saver(variables).restore(session, str(prefix))
            got = session.run(variables)
        return {name: tensor(value) for name, value in got.items()}

    def read_theirs(self, prefix):
        reader = self.tf.train.NewCheckpointReader(str(prefix))
        return {name: tensor(reader.get_tensor(name))
                for name in reader.get_variable_to_shape_map()}

    def read_ours(self, prefix):
        printed = ours("read_tensors", prefix, self.folder / "read")
        return read_arrays(self.folder / "read"), printed

    def test_ours_restored_by_tensorflow(self):
        arrays = tensors()
        ours("save", write_arrays(self.folder / "in", arrays), self.folder / "model.ckpt", 5, 3)
        prefix = self.folder / "model.ckpt-3"
        self.assertEqual(self.tf.train.latest_checkpoint(str(self.folder)), str(prefix))
        self.assert_same_arrays(arrays, self.read_theirs(prefix))
        self.assert_same_arrays(arrays, self.restore_theirs(arrays, prefix))

    def test_theirs_restored_by_us(self):
        arrays = tensors()
        self.save_theirs(arrays, self.folder / "model.ckpt", 5, [4])
        prefix = self.folder / "model.ckpt-4"
        found, unreadable = self.read_ours(prefix)
        self.assertEqual(unreadable, [])
        self.assert_same_arrays(found, arrays)
        printed = ours("restore", write_arrays(self.folder / "in", arrays), self.folder,
                       self.folder / "out")
        self.assertEqual(printed, [str(prefix)])
        self.assert_same_arrays(read_arrays(self.folder / "out"), arrays)

    def test_files_are_equal_bytes(self):
        arrays = tensors()
        for who in ("ours", "theirs"):
            (self.folder / who).mkdir()
        ours("save", write_arrays(self.folder / "in", arrays), self.folder / "ours" / "m", 5, 1)
        self.save_theirs(arrays, self.folder / "theirs" / "m", 5, [1])
        for end in ("m-1.index", "m-1.data-00000-of-00001"):
            self.assertEqual((self.folder / "ours" / end).read_bytes(),
                             (self.folder / "theirs" / end).read_bytes(), end)

    def test_several_data_files(self):
        arrays = {name: value for name, value in tensors().items() if name.startswith("dtype/")}
        self.save_theirs(arrays, self.folder / "model.ckpt", 5, [1], sharded=True)
        self.assert_same_arrays(self.read_ours(self.folder / "model.ckpt-1")[0], arrays)

    def kept(self):
        return sorted(name for name in os.listdir(self.folder) if name.endswith(".index"))

    def test_state_files(self):
        """Checks max_to_keep, and which checkpoint the other side considers the newest."""
        import numpy as np
        arrays = {"w": np.arange(3, dtype=np.float32)}
        source = write_arrays(self.folder / "in", arrays)
        ours("save", source, self.folder / "m", 2, 1, 2, 3)
        self.assertEqual(self.kept(), ["m-2.index", "m-3.index"])
        state = self.tf.train.get_checkpoint_state(str(self.folder))
        self.assertEqual([os.path.basename(path) for path in state.all_model_checkpoint_paths],
                         ["m-2", "m-3"])
        self.assertEqual(self.tf.train.latest_checkpoint(str(self.folder)),
                         str(self.folder / "m-3"))

        written = (self.folder / "checkpoint").read_bytes()
        self.save_theirs(arrays, self.folder / "m", 2, [1, 2, 3])
        self.assertEqual(written, (self.folder / "checkpoint").read_bytes())
        self.save_theirs(arrays, self.folder / "t", 2, [7, 8, 9])
        self.assertEqual([name for name in self.kept() if name.startswith("t")],
                         ["t-8.index", "t-9.index"])
        printed = ours("restore", source, self.folder, self.folder / "out")
        self.assertEqual(printed, [str(self.folder / "t-9")])
        self.save_theirs(arrays, self.folder / "r", 2, [1], save_relative_paths=True)
        self.assertEqual(ours("restore", source, self.folder, self.folder / "out"),
                         [str(self.folder / "r-1")])

    def test_partitioned_variables(self):
        """docs/differences.md: our parts are saved as variables, TensorFlow's as slices of one."""
        import numpy as np
        tf, whole = self.tf, np.arange(12, dtype=np.float32).reshape(4, 3)
        ours("save_in_parts", write_arrays(self.folder / "in", {"w": whole}), self.folder / "ours")
        self.assert_same_arrays({"w/part_0": whole[:2], "w/part_1": whole[2:]},
                                self.read_theirs(self.folder / "ours"))
        with tf.Graph().as_default(), tf.Session() as session:
            tf.get_variable("w", initializer=tf.constant(whole),
                            partitioner=tf.fixed_size_partitioner(2))
            session.run(tf.global_variables_initializer())
            tf.train.Saver().save(session, str(self.folder / "theirs"))
        self.assertEqual(self.read_ours(self.folder / "theirs"), ({}, ["w UnimplementedError"]))

    def test_what_cannot_be_restored(self):
        import numpy as np
        saved = {"w": np.zeros([2], np.float32)}
        ours("save", write_arrays(self.folder / "in", saved), self.folder / "m", 5, 1)
        for wanted, kind in (({"other": saved["w"]}, "NotFoundError"),
                             ({"w": np.zeros([3], np.float32)}, "InvalidArgumentError"),
                             ({"w": np.zeros([2], np.int32)}, "InvalidArgumentError")):
            with self.subTest(kind=kind, wanted=str(wanted)):
                with self.assertRaises(self.tf.errors.OpError) as theirs:
                    self.restore_theirs(wanted, self.folder / "m-1")
                self.assertEqual(type(theirs.exception).__name__, kind)
                with self.assertRaises(OurError) as caught:
                    ours("restore", write_arrays(self.folder / "in", wanted), self.folder / "m-1",
                         self.folder / "out")
                self.assertEqual(caught.exception.kind, kind)


if __name__ == "__main__":
    sys.exit(main())

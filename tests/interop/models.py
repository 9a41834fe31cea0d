#!/usr/bin/env python3
"""TensorFlow runs the exported graph of each model from our checkpoint, trains two steps, and we
continue from its checkpoint."""

import os
import sys

sys.dont_write_bytecode = True
from support import InteropTest, main, ours, read_arrays, tensorflow  # noqa: E402

LIMIT = 1e-5  # of the relative error of a loss
STEPS = 2  # of each stage, that TensorFlow trains


class Models(InteropTest):
    @classmethod
    def setUpClass(cls):
        os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"  # its sums differ between runs
        cls.tf = tensorflow()

    def session(self):
        return self.tf.Session(config=self.tf.ConfigProto(
            device_count={"CPU": 2}, allow_soft_placement=True))

    def assert_close(self, found, wanted):
        self.assertEqual(sorted(found), sorted(wanted))
        far = max(abs(float(found[name]) - float(value)) / max(abs(float(value)), 1e-3)
                  for name, value in wanted.items())
        self.assertLessEqual(far, LIMIT)
        return far

    def losses(self, session, names):
        """Returns the losses as ours are computed: those of a stage in one run."""
        stages, found = {}, {}
        for name in names:
            stages.setdefault(name.split("/", 1)[-1].split(":")[0], []).append(name)
        for stage in stages.values():
            found.update(session.run({name: name for name in stage}))
        return found

    def check(self, folder):
        tf = self.tf
        wanted = read_arrays(folder / "losses")
        with tf.Graph().as_default():
            saver = tf.train.import_meta_graph(str(folder / "graph.meta"))
            with self.session() as session:
                saver.restore(session, str(folder / "ours"))
                there = self.assert_close(self.losses(session, wanted), wanted)
                for op in (folder / "train_ops").read_text().split():
                    for _ in range(STEPS):
                        session.run(op)
                saver.save(session, str(folder / "theirs"))
            with self.session() as session:  # random numbers start over
                saver.restore(session, str(folder / "theirs"))
                trained = self.losses(session, wanted)
        ours("restore_model", folder.name, folder / "theirs", folder / "found")
        back = self.assert_close(read_arrays(folder / "found"), trained)
        print(f"{folder.name}: greatest relative distance of {len(wanted)} losses {there:.2g} from"
              f" our checkpoint, {back:.2g} from TensorFlow's")

    def test_models(self):
        ours("write_models", self.folder)
        folders = sorted(self.folder.iterdir())
        self.assertGreaterEqual(len(folders), 3)
        for folder in folders:
            with self.subTest(model=folder.name):
                self.check(folder)


if __name__ == "__main__":
    sys.exit(main())

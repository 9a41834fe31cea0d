#!/usr/bin/env python3
"""The MNIST net on two towers: one side trains, the other continues from its checkpoint.

Both sides continue from each checkpoint on the same batches of the sample's digits. The checkpoints
have the same tensors, including Momentum's slots and the global step, and the losses agree.
"""

import sys

sys.dont_write_bytecode = True
from support import (  # noqa: E402
    InteropTest, ROOT, SAMPLE, main, ours, read_arrays, tensorflow, write_arrays)

sys.path.insert(0, str(ROOT / "tests" / "golden"))
TOWERS, BATCH, RATE, MOMENTUM = 2, 16, 0.01, 0.9  # the rates are those of training.cc
FIRST, NEXT = 5, 10  # steps before the checkpoint and after it
LIMIT = 1e-5  # of the relative error of a loss


class Training(InteropTest):
    @classmethod
    def setUpClass(cls):
        cls.tf = tensorflow()
        cls.digits = cls.read_digits()

    @classmethod
    def read_digits(cls):
        """Returns as many images and labels of the sample as the steps need."""
        import numpy as np
        tf = cls.tf
        file = str(SAMPLE / "train.tfrecords.gz")
        options = tf.io.TFRecordOptions(compression_type="GZIP")
        images, labels = [], []
        for record in tf.python_io.tf_record_iterator(file, options):
            features = tf.train.Example.FromString(record).features.feature
            raw = features["image_raw"].bytes_list.value[0]
            images.append(np.frombuffer(raw, np.uint8).astype(np.float32) / 255 - np.float32(0.5))
            labels.append(features["label"].int64_list.value[0])
            if len(labels) == (FIRST + NEXT) * TOWERS * BATCH:
                break
        return np.array(images), np.array(labels, np.int32)

    def batches(self, first, count):
        """Returns the arrays that training.cc reads; steps count from 0 in each part."""
        images, labels = self.digits
        found = {}
        for step in range(count):
            for tower in range(TOWERS):
                start = ((first + step) * TOWERS + tower) * BATCH
                found[f"images/{step}/{tower}"] = images[start:start + BATCH]
                found[f"labels/{step}/{tower}"] = labels[start:start + BATCH]
        return found

    def initial(self):
        """Returns values like those of the program's initializers, but with a larger last layer, as
        with its small weights ten steps would hardly change the losses."""
        import numpy as np
        from oracle import mnist_net
        random = np.random.default_rng(3)
        values = {name: (np.full(shape, mnist_net.SOURCE_BIASES[name], np.float32)
                         if stddev is None else random.normal(0, stddev, shape).astype(np.float32))
                  for name, shape, _, stddev in mnist_net.VARIABLES}
        return dict(values, **{"softmax_linear/weight": values["softmax_linear/weight"] * 50})

    def train_ours(self, part, batches, prefix=None):
        """Returns the losses [step, tower] and the prefix of the checkpoint after them."""
        folder = write_arrays(self.folder / (part + "_in"), batches)
        out = self.folder / part
        ours("train", folder, out, *([prefix] if prefix else []))
        return read_arrays(out)["losses"], self.tf.train.latest_checkpoint(str(out))

    def train_theirs(self, part, batches, prefix=None):
        """Same with TensorFlow. Gradients are fetched and then fed to the update: in a single run
        TensorFlow may update a variable that another gradient still reads."""
        import numpy as np
        from oracle import mnist_net
        tf, out, losses = self.tf, self.folder / part, []
        out.mkdir()
        with tf.Graph().as_default(), tf.Session() as session:
            step = tf.get_variable("global_step", [], initializer=tf.zeros_initializer(),
                                   trainable=False)
            made = mnist_net.make_variables(
                lambda name, shape: tf.constant_initializer(batches.get(name, 0.0)))
            optimizer = tf.train.MomentumOptimizer(RATE, MOMENTUM, use_nesterov=True)
            images = [tf.placeholder(tf.float32, [BATCH, 784]) for _ in range(TOWERS)]
            labels = [tf.placeholder(tf.int64, [BATCH]) for _ in range(TOWERS)]
            towers = [mnist_net.loss(x, y, made, False)[0] for x, y in zip(images, labels)]
            averaged = mnist_net.average([optimizer.compute_gradients(loss) for loss in towers])
            fed = [tf.placeholder(tf.float32, v.shape) for _, v in averaged]
            train = optimizer.apply_gradients([(g, v) for g, (_, v) in zip(fed, averaged)], step)
            saver = tf.train.Saver()
            if prefix:
                saver.restore(session, prefix)
            else:
                session.run(tf.global_variables_initializer())
            number = 0
            while f"images/{number}/0" in batches:
                feeds = {}
                for tower in range(TOWERS):
                    feeds[images[tower]] = batches[f"images/{number}/{tower}"]
                    feeds[labels[tower]] = batches[f"labels/{number}/{tower}"]
                loss, gradients = session.run([towers, [g for g, _ in averaged]], feeds)
                losses.append(loss)
                session.run(train, dict(zip(fed, gradients)))
                number += 1
            saved = saver.save(session, str(out / "model.ckpt"), global_step=int(session.run(step)))
        return np.array(losses, np.float32), saved

    def described(self, prefix):
        reader = self.tf.train.NewCheckpointReader(prefix)
        types = reader.get_variable_to_dtype_map()
        return {name: (types[name], shape)
                for name, shape in reader.get_variable_to_shape_map().items()}

    def assert_close(self, ours, theirs, part):
        import numpy as np
        far = float(np.max(np.abs(ours.astype(np.float64) / theirs - 1)))
        print(f"{part}: losses {ours[0].mean():.3f} to {ours[-1].mean():.3f}, greatest relative"
              f" distance {far:.2g}")
        self.assertEqual(ours.shape, theirs.shape)
        self.assertLessEqual(far, LIMIT, part)

    def test_continued(self):
        start = {**self.initial(), **self.batches(0, FIRST)}
        our_losses, our_prefix = self.train_ours("start_ours", start)
        their_losses, their_prefix = self.train_theirs("start_theirs", start)
        self.assert_close(our_losses, their_losses, "from the same values")
        self.assertEqual(self.described(our_prefix), self.described(their_prefix))
        self.assertEqual(len(self.described(our_prefix)), 2 * 10 + 1)
        follow = self.batches(FIRST, NEXT)
        for who, prefix in (("ours", our_prefix), ("theirs", their_prefix)):
            with self.subTest(checkpoint=who):
                self.assertEqual(prefix.rsplit("-", 1)[1], str(FIRST))
                our_losses, last = self.train_ours("next_ours_of_" + who, follow, prefix)
                their_losses, _ = self.train_theirs("next_theirs_of_" + who, follow, prefix)
                self.assertEqual(last.rsplit("-", 1)[1], str(FIRST + NEXT))
                self.assert_close(our_losses, their_losses, "from a checkpoint of " + who)
                self.assertLess(our_losses[-3:].mean(), our_losses[:3].mean())


if __name__ == "__main__":
    sys.exit(main())

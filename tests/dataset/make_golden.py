"""Records the datasets of dataset_cases.cc with TensorFlow: nodes, dtypes and shapes of the elements,
the elements themselves, and the class of the error that ends them. Also writes the files in data/.

usage, from the project's root: python tests/dataset/make_golden.py"""

import gzip
import json
import pathlib

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
tf.disable_resource_variables()

FOLDER = pathlib.Path("tests/dataset")
DATA = FOLDER / "data"
D = tf.data.Dataset


def write_files():
    DATA.mkdir(exist_ok=True)
    for name, count in (("a", 4), ("b", 1), ("c", 3), ("d", 2)):
        with tf.io.TFRecordWriter(str(DATA / f"{name}.tfrecord")) as writer:
            for i in range(count):
                writer.write(f"{name}{i}".encode())
    options = tf.io.TFRecordOptions(compression_type="GZIP")
    with tf.io.TFRecordWriter(str(DATA / "packed.tfrecord.gz"), options) as writer:
        writer.write(b"p0")
        writer.write(b"p1")
    (DATA / "lines.txt").write_bytes(b"one\ntwo\r\n\nfour")
    with open(DATA / "lines.txt.gz", "wb") as file:
        with gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed:
            packed.write(b"packed one\npacked two\n")
    (DATA / "fixed.bin").write_bytes(b"HHabcdefghF")


def path(name):
    return str(DATA / name)


def numbers(n):
    return np.arange(n, dtype=np.float32)


def generator():
    for i in range(3):
        yield (i, [i, i + 0.5])


def bad_generator():
    yield 1
    yield [2, 3]


def captured_variable():
    v = tf.get_variable("v", initializer=np.int64(10))
    k = tf.constant(np.int64(3))
    return D.range(3).map(lambda x: x * k + v)


def nested_capture():
    k = tf.constant([1, 2], tf.int64) * 2
    return D.range(3).flat_map(lambda x: D.from_tensor_slices(k).map(lambda y: y + x + k[0]))


def shuffle_zip():
    shuffled = D.range(6).shuffle(4, seed=2)
    return D.zip((shuffled, shuffled))


def fails_at_2(x):
    return tf.gather(tf.constant([5, 6]), tf.where(tf.equal(x, 2), np.int64(7), np.int64(1)))


# By name: a function that makes the dataset; its graph's seed and number of passes if they matter.
CASES = {
    "tensors": lambda: D.from_tensors([[1, 2], [3, 4]]),
    "tensors tuple": lambda: D.from_tensors((1, [2.5, 3.5], "x")),
    "slices": lambda: D.from_tensor_slices([[1, 2], [3, 4], [5, 6]]),
    "slices dict": lambda: D.from_tensor_slices({"b": numbers(3), "a": [b"x", b"yy", b""]}),
    "slices nested": lambda: D.from_tensor_slices((numbers(2), {"k": [1, 2]})),
    "range": lambda: D.range(4),
    "range down": lambda: D.range(10, 1, -4),
    "range none": lambda: D.range(3, 3),
    "range bad step": lambda: D.range(1, 3, 0),
    "generator": lambda: D.from_generator(generator, (tf.int32, tf.float32), ((), (None,))),
    "generator bad": lambda: D.from_generator(bad_generator, tf.int32, ()),
    "zip": lambda: D.zip((D.range(3), D.from_tensor_slices(["a", "b"]))),
    "zip dict": lambda: D.zip({"b": D.range(2), "a": D.range(5, 9)}),
    "zip one": lambda: D.zip((D.range(2),)),
    "concatenate": lambda: D.from_tensors([1, 2]).concatenate(D.from_tensors([3])),
    "map": lambda: D.range(4).map(lambda x: x * x),
    "map tuple": lambda: D.zip((D.range(3), D.range(5, 8))).map(lambda a, b: (a + b, a * b)),
    "map dict": lambda: D.range(3).map(lambda x: {"y": x + 1, "x": tf.cast(x, tf.float32)}),
    "map of dict": lambda: D.from_tensor_slices({"a": [1, 2], "b": [3, 4]}).map(
        lambda d: d["a"] - d["b"]),
    "map nested": lambda: D.zip((D.range(2), D.zip((D.range(3, 5), D.range(7, 9))))).map(
        lambda a, b: a + b[0] * b[1]),
    "map constant": lambda: D.range(2).map(lambda x: (x, 7)),
    "map parallel": lambda: D.range(20).map(lambda x: x * 2, num_parallel_calls=3),
    "map twice": lambda: D.range(3).map(lambda x: x + 1).map(lambda x: x * 3).batch(2),
    "map error": lambda: D.range(4).map(fails_at_2),
    "map random": (lambda: D.range(3).map(
        lambda x: tf.random_uniform([], seed=3)).repeat(2), {"passes": 2}),
    "map random, graph seed": (lambda: D.range(3).map(
        lambda x: tf.random_uniform([])).repeat(2), {"seed": 4}),
    "map capture": captured_variable,
    "nested capture": nested_capture,
    "filter": lambda: D.range(10).filter(lambda x: tf.equal(x % 3, 1)),
    "flat_map": lambda: D.range(4).flat_map(lambda x: D.range(x)),
    "flat_map tensors": lambda: D.from_tensor_slices([[1, 2], [3, 4]]).flat_map(
        lambda x: D.from_tensor_slices(x)),
    "interleave": lambda: D.range(1, 6).interleave(
        lambda x: D.range(x * 10, x * 10 + 4 - x % 3), cycle_length=3, block_length=1),
    "interleave blocks": lambda: D.range(1, 6).interleave(
        lambda x: D.from_tensors(x).repeat(x), cycle_length=2, block_length=2),
    "interleave parallel": lambda: D.range(1, 6).interleave(
        lambda x: D.range(x * 10, x * 10 + 4 - x % 3), cycle_length=3, block_length=2,
        num_parallel_calls=2),
    "interleave zero": lambda: D.range(2).interleave(lambda x: D.range(x), cycle_length=0),
    "batch": lambda: D.range(7).batch(3),
    "batch dropped": lambda: D.range(7).batch(3, drop_remainder=True),
    "batch strings": lambda: D.from_tensor_slices(["a", "bb", "c"]).batch(2),
    "batch of batches": lambda: D.range(8).batch(2).batch(3),
    "batch zero": lambda: D.range(3).batch(0),
    "batch ragged": lambda: D.range(3).map(lambda x: tf.fill([x], x)).batch(2),
    "padded_batch": lambda: D.range(1, 6).map(lambda x: tf.fill([x], x)).padded_batch(2, [None]),
    "padded_batch to 7": lambda: D.range(1, 6).map(lambda x: tf.fill([x], x)).padded_batch(
        2, [7], padding_values=np.int64(-1), drop_remainder=True),
    "padded_batch default": lambda: D.range(1, 4).map(
        lambda x: (tf.fill([x, 2], x), tf.fill([x], "s"), x)).padded_batch(3),
    "padded_batch matrix": lambda: D.range(1, 4).map(
        lambda x: tf.fill([x, 4 - x], x)).padded_batch(3, [None, 4]),
    "padded_batch too small": lambda: D.range(1, 5).map(
        lambda x: tf.fill([x], x)).padded_batch(2, [2]),
    "shuffle": (lambda: D.range(10).shuffle(4, seed=5), {"passes": 2}),
    "shuffle repeat": lambda: D.range(10).shuffle(4, seed=5).repeat(3),
    "shuffle once": lambda: D.range(10).shuffle(
        4, seed=5, reshuffle_each_iteration=False).repeat(2),
    "shuffle all": lambda: D.range(10).shuffle(40, seed=5).repeat(2),
    "shuffle graph seed": (lambda: D.range(10).shuffle(4).repeat(2), {"seed": 7}),
    "shuffle both seeds": (lambda: D.range(10).shuffle(4, seed=3), {"seed": 7}),
    "shuffle two": (lambda: D.range(9).shuffle(4).map(lambda x: x + 1).shuffle(3), {"seed": 9}),
    "shuffle after repeat": lambda: D.range(5).repeat(2).shuffle(4, seed=5),
    "shuffle seed 0": lambda: D.range(9).shuffle(4, seed=0),
    "shuffle zip": shuffle_zip,
    "shuffle of zero": lambda: D.range(3).shuffle(0, seed=1),
    "repeat zero": lambda: D.range(3).repeat(0),
    "repeat empty": lambda: D.range(0).repeat(),
    "repeat take": lambda: D.range(3).repeat().take(7),
    "take all": lambda: D.range(3).take(-1),
    "skip": lambda: D.range(5).skip(3),
    "skip all": lambda: D.range(5).skip(-1),
    "shard": lambda: D.range(10).shard(3, 1),
    "shard bad": lambda: D.range(10).shard(3, 3),
    "cache": lambda: D.range(3).cache().repeat(2),
    "cache shuffle": lambda: D.range(5).shuffle(5, seed=1).cache().repeat(2),
    "prefetch": lambda: D.range(5).prefetch(2),
    "prefetch zero": lambda: D.range(5).prefetch(0),
    "enumerate": lambda: D.from_tensor_slices(["a", "b"]).enumerate(5),
    "apply": lambda: D.range(5).apply(lambda d: d.skip(2).batch(2)),
    "whole": lambda: D.from_tensor_slices((np.arange(24, dtype=np.float32).reshape(12, 2),
                                           np.arange(12))).shuffle(5, seed=8).repeat(2).map(
        lambda x, y: (tf.reduce_sum(x), y * 2), num_parallel_calls=2).batch(
            5, drop_remainder=True).prefetch(1),
    "records": lambda: tf.data.TFRecordDataset([path("a.tfrecord"), path("b.tfrecord")]),
    "records in turns": lambda: tf.data.TFRecordDataset(
        [path(f"{name}.tfrecord") for name in "abcd"], num_parallel_reads=2),
    "records of a dataset": lambda: tf.data.TFRecordDataset(
        D.from_tensor_slices([path("b.tfrecord"), path("a.tfrecord")])),
    "records packed": lambda: tf.data.TFRecordDataset(path("packed.tfrecord.gz"), "GZIP"),
    "records missing": lambda: tf.data.TFRecordDataset(path("missing")),
    "records damaged": lambda: tf.data.TFRecordDataset(path("lines.txt")),
    "lines": lambda: tf.data.TextLineDataset(path("lines.txt")),
    "lines packed": lambda: tf.data.TextLineDataset(path("lines.txt.gz"), "GZIP"),
    "lines skipped": lambda: D.from_tensor_slices([path("lines.txt")] * 2).flat_map(
        lambda name: tf.data.TextLineDataset(name).skip(1)),
    "fixed": lambda: tf.data.FixedLengthRecordDataset(path("fixed.bin"), 4, 2, 1),
    "fixed partial": lambda: tf.data.FixedLengthRecordDataset(path("fixed.bin"), 4),
    "files": lambda: D.list_files(path("*.tfrecord"), shuffle=False),
    "files shuffled": lambda: D.list_files(path("*.tfrecord"), seed=3),
    "files missing": lambda: D.list_files(path("*.nothing")),
}

# Errors of the call.
CALL_ERRORS = {
    "slices of a scalar": lambda: D.from_tensor_slices(1),
    "slices that differ": lambda: D.from_tensor_slices(([1, 2], [1, 2, 3])),
    "filter by a number": lambda: D.range(3).filter(lambda x: x),
    "concatenate dtypes": lambda: D.range(3).concatenate(D.from_tensors(1.0)),
    "concatenate structures": lambda: D.range(3).concatenate(D.from_tensors((1, 2))),
    "padded to less": lambda: D.from_tensors([1, 2, 3]).padded_batch(2, [2]),
    "padded without rank": lambda: D.from_tensors(tf.placeholder(tf.int32)).padded_batch(2),
    "padded with another dtype": lambda: D.range(3).padded_batch(
        2, [], padding_values=tf.constant(1.5)),
    "names are numbers": lambda: tf.data.TFRecordDataset([1, 2]),
    "one shot of a placeholder": lambda: D.from_tensors(
        tf.placeholder(tf.int32)).make_one_shot_iterator(),
    "one shot of a variable": lambda: D.from_tensors(
        tf.get_variable("v", [])).make_one_shot_iterator(),
    "initializer of one shot": lambda: D.range(3).make_one_shot_iterator().initializer,
    "initializer of another dtype": lambda: tf.data.Iterator.from_structure(
        tf.int32, []).make_initializer(D.range(2)),
    "initializer of another shape": lambda: tf.data.Iterator.from_structure(
        tf.int64, [2]).make_initializer(D.range(2)),
}


def value_of(array):
    array = np.asarray(array)
    strings = array.dtype.kind in "OSU"
    flat = [v.decode() if isinstance(v, bytes) else v for v in array.ravel().tolist()]
    return {"dtype": "string" if strings else array.dtype.name, "shape": list(array.shape),
            "values": flat}


def class_of(error):
    return type(error).__name__


def record(make, seed=None, passes=1):
    with tf.Graph().as_default() as graph:
        tf.set_random_seed(seed)
        dataset = make()
        iterator = tf.data.make_initializable_iterator(dataset)
        following = tf.nest.flatten(iterator.get_next())
        after = tf.constant(1)
        nodes = [[op.name, op.type] for op in graph.get_operations()]
        result = {"nodes": nodes, "after": after.name,
                  "types": [t.name for t in tf.nest.flatten(
                      tf.data.get_output_types(dataset))],
                  "shapes": [str(t.shape) for t in following], "passes": []}
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            for _ in range(passes):
                elements, errors = [], []
                try:
                    session.run(iterator.initializer)
                    while len(errors) < 3:
                        try:
                            elements.append([value_of(v) for v in session.run(following)])
                        except tf.errors.OutOfRangeError:
                            break
                        except tf.errors.OpError as error:
                            errors.append([len(elements), class_of(error)])
                except tf.errors.OpError as error:
                    errors.append([-1, class_of(error)])
                result["passes"].append({"elements": elements, "errors": errors})
    return result


def record_error(make):
    with tf.Graph().as_default():
        try:
            make()
        except Exception as error:  # noqa: BLE001: its class is what is recorded
            return class_of(error)
    return "none"


def main():
    write_files()
    cases = {}
    for name, case in CASES.items():
        make, options = case if isinstance(case, tuple) else (case, {})
        cases[name] = record(make, **options)
    errors = {name: record_error(make) for name, make in CALL_ERRORS.items()}
    lines = ["{\"cases\": {"]
    lines.append(",\n".join(f"{json.dumps(name)}: {json.dumps(case)}"
                            for name, case in cases.items()))
    lines.append("},\n\"errors\": {")
    lines.append(",\n".join(f"{json.dumps(name)}: {json.dumps(error)}"
                            for name, error in errors.items()))
    lines.append("}}")
    (FOLDER / "golden.json").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()

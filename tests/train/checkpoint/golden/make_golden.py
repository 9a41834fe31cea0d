#!/usr/bin/env python3
"""Writes the reference files of golden_test.cc to its own folder with TensorFlow 2.21 (compat.v1).

Usage: TF_CPP_MIN_LOG_LEVEL=3 python make_golden.py
Every value follows a rule that support.h repeats, so the test needs no other file with the values.
"""

import os
import shutil
import tempfile

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
tf.disable_resource_variables()

HERE = os.path.dirname(os.path.abspath(__file__))
DTYPES = ["float16", "bfloat16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8",
          "uint16", "uint32", "uint64", "complex64", "complex128", "bool"]


def pattern(dtype, shape):
    """Returns a tensor whose byte j is (37 j + 11) mod 251, or j mod 2 for bool."""
    numpy_dtype = np.dtype(tf.as_dtype(dtype).as_numpy_dtype)
    count = int(np.prod(shape)) * numpy_dtype.itemsize
    step, base, modulus = (1, 0, 2) if dtype == "bool" else (37, 11, 251)
    data = bytes((step * j + base) % modulus for j in range(count))
    return np.frombuffer(data, dtype=numpy_dtype).reshape(shape)


def tensors():
    named = {"dtype/" + dtype: pattern(dtype, (2, 3)) for dtype in DTYPES}
    named["scalar"] = pattern("float32", ())
    named["empty"] = pattern("float32", (0, 3))
    named["rank5"] = pattern("int16", (1, 2, 1, 3, 1))
    named["a"] = pattern("int32", (1,))
    named["a/b"] = pattern("int32", (2,))
    named["a.b"] = pattern("int32", (3,))
    named["A"] = pattern("int32", (4,))
    named["string/matrix"] = np.array([[b"", b"x" * 300], [b"a\0b\xff", b"end"]], dtype=object)
    named["string/scalar"] = np.array(b"one", dtype=object)
    named["string/empty"] = np.zeros((0,), dtype=object)
    return named


def clean(*prefixes):
    for name in os.listdir(HERE):
        if name.startswith(prefixes):
            os.remove(os.path.join(HERE, name))


def save(prefix, variables, **options):
    saver = tf.train.Saver(variables, **options)
    config = tf.ConfigProto(device_count={"CPU": 2})
    with tf.Session(config=config) as session:
        session.run(tf.global_variables_initializer())
        saver.save(session, os.path.join(HERE, prefix), write_meta_graph=False, write_state=False)


def write_all_dtypes():
    with tf.Graph().as_default():
        save("all.ckpt", {
            name: tf.Variable(value, dtype=tf.string if value.dtype == object else None,
                              trainable=False)
            for name, value in tensors().items()})


def write_sharded():
    with tf.Graph().as_default():
        with tf.device("/cpu:0"):
            first = tf.Variable(pattern("float32", (2, 3)), name="first")
        with tf.device("/cpu:1"):
            second = tf.Variable(pattern("int64", (4,)), name="second", trainable=False)
        save("sharded.ckpt", [first, second], sharded=True)


def write_sliced():
    with tf.Graph().as_default():
        tf.get_variable("parts", initializer=tf.constant(pattern("float32", (4, 2))),
                        partitioner=tf.fixed_size_partitioner(2))
        tf.get_variable("whole", initializer=tf.constant(pattern("float32", (2,))))
        save("sliced.ckpt", None)


def write_many():
    """Saves 4,000 tensors, so that the index takes two blocks; keeps only sizes and checksums."""
    count = 4000
    names = ["%08x/%s" % (i * 2654435761 % 2**32, "weights_" * 8) for i in range(count)]
    with tempfile.TemporaryDirectory() as scratch:
        prefix = os.path.join(scratch, "many")
        with tf.Graph().as_default(), tf.Session() as session:
            values = tf.unstack(tf.range(count, dtype=tf.int32))
            session.run(tf.raw_ops.SaveV2(prefix=prefix, tensor_names=names,
                                          shape_and_slices=[""] * count, tensors=values))
        with open(os.path.join(HERE, "many.txt"), "w") as out:
            for suffix in ["index", "data-00000-of-00001"]:
                with open(prefix + "." + suffix, "rb") as file:
                    data = file.read()
                out.write("%s %d %08x\n" % (suffix, len(data), crc32c(data)))


def crc32c(data):
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = (byte >> 1) ^ (0x82f63b78 if byte & 1 else 0)
        table.append(byte)
    crc = 0xffffffff
    for byte in data:
        crc = (crc >> 8) ^ table[(crc ^ byte) & 0xff]
    return crc ^ 0xffffffff


def write_states():
    """Writes state files of a relative and an absolute folder, with names that need escapes."""
    with tempfile.TemporaryDirectory() as scratch:
        os.chdir(scratch)
        os.makedirs("run")
        for folder, name in [("run", "relative_folder.txt"),
                             (os.path.join(scratch, "run"), "absolute_folder.txt")]:
            paths = ["run/model.ckpt-1", "/other/model.ckpt-2", "model \"3\"\\\n\u00e9"]
            tf.train.update_checkpoint_state(folder, paths[-1], list(paths))
            shutil.copy("run/checkpoint", os.path.join(HERE, name))


def main():
    clean("all.ckpt", "sharded.ckpt", "sliced.ckpt")
    write_all_dtypes()
    write_sharded()
    write_sliced()
    write_many()
    write_states()


if __name__ == "__main__":
    main()

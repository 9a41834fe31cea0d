"""Queues: their nodes, and what they do when it does not depend on threads."""

from oracle.builder import Program


def fifo():
    p = Program("fifo", "a FIFO queue of two components, closed, and its end")
    q = p.FIFOQueue(10, ["float32", "int32"], [[2], []], name="q")
    put = p.enqueue(q, [[1.0, 2.0], 7])
    many = p.enqueue_many(q, [[[3.0, 4.0], [5.0, 6.0]], [8, 9]])
    one, three = p.dequeue(q), p.dequeue_many(q, 3)
    some, size, close = p.dequeue_up_to(q, 4), p.queue_size(q), p.close_queue(q)
    p.run([size]), p.run([put]), p.run([many]), p.run([size])
    p.run([one[0], one[1]])
    p.run([many])
    p.run([three[0], three[1]])
    p.run([close])
    p.run([some[0], some[1]])
    p.run([some[0]])
    p.run([one[0]])
    p.run([three[0]])
    p.run([put])
    p.run([size])
    return p


def single():
    p = Program("single", "one component, no name, no shape")
    q = p.FIFOQueue(3, ["string"], [[]])
    p.run([p.enqueue_many(q, [["a", "b", "c"]])])
    value = p.dequeue(q)
    for _ in range(3):
        p.run([value])
    r = p.FIFOQueue(3, ["float32"])
    p.run([p.enqueue(r, [[1.0, 2.0]]), p.enqueue(r, [[1.0]])], compare="shape")
    p.dequeue(r)
    p.dequeue_many(r, 2)
    return p


def wrong():
    p = Program("wrong", "components that do not fit")
    q = p.FIFOQueue(10, ["float32", "int32"], [[2], []], name="q")
    p.enqueue(q, [[1.0, 2.0]])
    p.enqueue(q, [[1.0, 2.0, 3.0], 1])
    p.enqueue(q, [[1.0, 2.0], 1.5])
    p.enqueue_many(q, [[1.0, 2.0], [1]])
    p.FIFOQueue(10, ["float32", "int32"], [[2]])
    return p


def shuffle_queue():
    p = Program("shuffle_queue", "nodes of a RandomShuffleQueue; its order is our own")
    q = p.RandomShuffleQueue(10, 2, ["int32"], [[]], seed=3, name="s")
    put, close = p.enqueue_many(q, [[1, 2, 3, 4]]), p.close_queue(q)
    some = p.dequeue_up_to(q, 8)
    p.run([put]), p.run([p.queue_size(q)]), p.run([close])
    p.run([some], compare="shape")
    p.run([some])
    return p


def producer():
    p = Program("producer", "string_input_producer with and without epochs, several times")
    p.string_input_producer(["a", "b"])
    p.string_input_producer(["a", "b"], 5)
    p.string_input_producer(["a"], shuffle=False, name="files")
    with p.name_scope("input"):
        p.string_input_producer(["a"], num_epochs=1)
    p.string_input_producer([])
    p.string_input_producer(["a"], num_epochs=0)
    p.local_variables()
    return p


def batches():
    p = Program("batches", "batch and shuffle_batch")
    x, y = p.placeholder("float32", [4], name="x"), p.placeholder("int32", [], name="y")
    p.batch([x, y], 8)
    p.shuffle_batch([x, y], 8, 100, 50)
    p.shuffle_batch([x], 8, 100, 50, num_threads=2, name="mine")
    with p.name_scope("input"):
        p.shuffle_batch([x, y], 8, 100, 50, num_threads=2, allow_smaller_final_batch=True)
    p.batch([p.placeholder("float32")], 8)
    p.shuffle_batch([x], 8, 40, 50)
    return p


def readers():
    p = Program("readers", "TFRecordReader, parse_single_example, decode_raw")
    queue = p.string_input_producer(["a"])
    key_value = p.reader_read(p.TFRecordReader(), queue)
    features = p.parse_single_example(key_value[1], [["image_raw", [], "string"],
                                                     ["label", [], "int64"]])
    image = p.decode_raw(features["image_raw"], "uint8")
    p.set_shape(image, [784])
    p.cast(image, "float32") * (1.0 / 255) - 0.5
    p.cast(features["label"], "int32")
    p.run([p.decode_raw(p.constant(["abcd", "efgh"]), "uint8"),
           p.decode_raw(p.constant("abcd"), "int32")])
    p.run([p.decode_raw(p.constant("abc"), "int32")])
    return p


def programs():
    return [fifo(), single(), wrong(), shuffle_queue(), producer(), batches(), readers()]

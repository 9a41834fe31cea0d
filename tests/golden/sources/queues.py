"""Queues: their nodes, and their behaviour where it does not depend on threads."""

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


def padding():
    p = Program("padding", "a PaddingFIFOQueue: elements that differ in size, and its end")
    q = p.PaddingFIFOQueue(10, ["float32", "string"], [[None, 2], [None]], name="q")
    one = p.enqueue(q, [[[1.0, 2.0]], ["a", "b", "c"]])
    more = p.enqueue(q, [[[3.0, 4.0], [5.0, 6.0]], ["d"]])
    many = p.enqueue_many(q, [[[[7.0, 8.0]], [[9.0, 0.5]]], [["e"], ["f"]]])
    next_, three = p.dequeue(q), p.dequeue_many(q, 3)
    none, some = p.dequeue_many(q, 0), p.dequeue_up_to(q, 4)
    p.run([one]), p.run([more]), p.run([many])
    p.run([none[0], none[1]])
    p.run([three[0], three[1]])
    p.run([next_[0], next_[1]])
    p.run([more]), p.run([one]), p.run([p.queue_size(q)]), p.run([p.close_queue(q)])
    p.run([some[0], some[1]])
    p.run([some[0]])
    return p


def padding_wrong():
    p = Program("padding_wrong", "what a PaddingFIFOQueue refuses")
    q = p.PaddingFIFOQueue(10, ["float32", "int32"], [[None, 2], []])
    p.enqueue(q, [[[1.0, 2.0, 3.0]], 1])
    p.enqueue(q, [[1.0, 2.0], 1])
    p.enqueue_many(q, [[[1.0, 2.0]], [1]])
    p.PaddingFIFOQueue(10, ["float32", "int32"], [[None]])
    x = p.placeholder("float32")
    put = p.enqueue(q, [x, 1])
    p.run([put], feeds=[[x, [1.0, 2.0]]])
    p.run([put], feeds=[[x, [[1.0, 2.0]]]])
    p.run([p.queue_size(q)])
    return p


def joins():
    p = Program("joins", "batches of several lists, and of examples that differ in size")
    x, y = p.placeholder("float32", [4], name="x"), p.placeholder("int32", [], name="y")
    z, v = p.placeholder("float32", [4], name="z"), p.placeholder("float32", [None, 2], name="v")
    p.batch([v, y], 8, dynamic_pad=True)
    p.batch([v], 8)
    p.batch([v, x], 3, dynamic_pad=True, allow_smaller_final_batch=True, name="padded")
    p.batch_join([[x, y], [z, y]], 8)
    p.batch_join([[x], [z]], 8, capacity=100, allow_smaller_final_batch=True, name="mine")
    p.batch_join([[x], [z]], 8, enqueue_many=True)
    p.batch_join([[v], [v]], 8, dynamic_pad=True)
    p.batch_join([[x], [v]], 8)
    p.batch_join([[x], [p.placeholder("int32", [4])]], 8)
    p.batch_join([[p.placeholder("float32")]], 8)
    p.batch_join([], 8)
    p.shuffle_batch_join([[x, y], [z, y]], 8, 100, 50)
    with p.name_scope("input"):
        p.shuffle_batch_join([[x], [z]], 8, 100, 50, seed=3, allow_smaller_final_batch=True)
    return p


def rows():
    p = Program("rows", "range_input_producer and slice_input_producer")
    p.dequeue(p.range_input_producer(10))
    p.dequeue(p.range_input_producer(4, num_epochs=2, shuffle=False, name="numbers"))
    p.slice_input_producer([[1.0, 2.0, 3.0], [4, 5, 6]])
    x = p.constant([[1.0, 2.0], [3.0, 4.0]])
    p.slice_input_producer([x, ["a", "b"]], num_epochs=3, seed=4, capacity=8, name="slices")
    p.slice_input_producer([x], shuffle=False)
    p.slice_input_producer([])
    p.range_input_producer(3, num_epochs=0)
    return p


def file_readers():
    p = Program("file_readers", "readers of records of one length, of lines, of whole files")
    queue = p.FIFOQueue(3, ["string"], [[]])
    record = p.reader_read(p.FixedLengthRecordReader(3073), queue)
    p.decode_raw(record[1], "uint8")
    p.reader_read(p.FixedLengthRecordReader(3, 1, 2, 5, name="mine"), queue, name="next")
    p.reader_read(p.TextLineReader(), queue)
    p.reader_read(p.TextLineReader(skip_header_lines=1), queue)
    p.reader_read(p.WholeFileReader(), queue)
    return p


def programs():
    return [fifo(), single(), wrong(), shuffle_queue(), producer(), batches(), readers(),
            padding(), padding_wrong(), joins(), rows(), file_readers()]

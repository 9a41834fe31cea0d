"""The ops of `tf.*` and `tf.nn.*`."""

import tensorflow.compat.v1 as tf

from .handlers import handler, method, plain

plain("placeholder", tf.placeholder, "dtype shape name")
plain("constant", tf.constant, "value dtype shape name")
for name in ("add", "subtract", "multiply", "divide", "truediv", "equal", "not_equal", "greater",
             "greater_equal", "less", "less_equal", "maximum", "minimum", "pow"):
    plain(name, getattr(tf, name), "x y name")
for name in ("negative", "square", "sqrt", "exp", "log", "tanh", "sigmoid", "abs"):
    plain(name, getattr(tf, name), "x name")
plain("reshape", tf.reshape, "tensor shape name")
plain("shape", tf.shape, "input name out_type")
plain("size", tf.size, "input name out_type")
plain("rank", tf.rank, "input name")
plain("transpose", tf.transpose, "a perm name")
plain("concat", tf.concat, "values axis name")
plain("stack", tf.stack, "values axis name")
plain("split", tf.split, "value num_or_size_splits axis num name")
plain("pad", tf.pad, "tensor paddings mode name constant_values")
plain("one_hot", tf.one_hot, "indices depth on_value off_value axis dtype name")
plain("tile", tf.tile, "input multiples name")
plain("expand_dims", tf.expand_dims, "input axis name")
plain("squeeze", tf.squeeze, "input axis name")
plain("cast", tf.cast, "x dtype name")
plain("argmax", tf.argmax, "input axis name output_type")
plain("stop_gradient", tf.stop_gradient, "input name")
plain("identity", tf.identity, "input name")
for name in ("reduce_sum", "reduce_mean", "reduce_max"):
    plain(name, getattr(tf, name), "input_tensor axis keepdims name")
plain("add_n", tf.add_n, "inputs name")
plain("zeros", tf.zeros, "shape dtype name")
plain("ones", tf.ones, "shape dtype name")
plain("fill", tf.fill, "dims value name")
plain("zeros_like", tf.zeros_like, "tensor dtype name")
plain("ones_like", tf.ones_like, "tensor dtype name")

for name in ("relu", "elu", "selu", "softplus", "softsign", "relu6"):
    plain(name, getattr(tf.nn, name), "features name")
plain("leaky_relu", tf.nn.leaky_relu, "features alpha name")
plain("dropout", tf.nn.dropout, "x keep_prob noise_shape seed name")
plain("l2_normalize", tf.nn.l2_normalize, "x axis epsilon name")
plain("in_top_k", tf.nn.in_top_k, "predictions targets k name")


@handler
def sparse_softmax_cross_entropy_with_logits(interpreter, labels, logits, name=None):
    return tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits, name=name)


plain("random_uniform", tf.random_uniform, "shape minval maxval dtype seed name")
plain("random_normal", tf.random_normal, "shape mean stddev dtype seed name")
plain("truncated_normal", tf.truncated_normal, "shape mean stddev dtype seed name")
plain("random_shuffle", tf.random_shuffle, "value seed name")

for name in ("assign", "assign_add", "assign_sub"):
    plain(name, getattr(tf, name), "ref value name")
plain("no_op", tf.no_op, "name")


@handler
def group(interpreter, inputs, name=None):
    return tf.group(*inputs, name=name)


plain("FIFOQueue", tf.FIFOQueue, "capacity dtypes shapes name")
plain("RandomShuffleQueue", tf.RandomShuffleQueue,
      "capacity min_after_dequeue dtypes shapes seed name")
plain("PaddingFIFOQueue", tf.PaddingFIFOQueue, "capacity dtypes shapes name")
method("enqueue", "queue", "enqueue", "vals name")
method("enqueue_many", "queue", "enqueue_many", "vals name")
method("dequeue", "queue", "dequeue", "name")
method("dequeue_many", "queue", "dequeue_many", "n name")
method("dequeue_up_to", "queue", "dequeue_up_to", "n name")
method("close_queue", "queue", "close", "cancel_pending_enqueues name")
method("queue_size", "queue", "size", "name")

plain("string_input_producer", tf.train.string_input_producer,
      "string_tensor num_epochs shuffle seed capacity name")
plain("batch", tf.train.batch,
      "tensors batch_size num_threads capacity dynamic_pad allow_smaller_final_batch name")
plain("shuffle_batch", tf.train.shuffle_batch,
      "tensors batch_size capacity min_after_dequeue num_threads seed "
      "allow_smaller_final_batch name")
plain("batch_join", tf.train.batch_join,
      "tensors_list batch_size capacity enqueue_many dynamic_pad allow_smaller_final_batch name")
plain("shuffle_batch_join", tf.train.shuffle_batch_join,
      "tensors_list batch_size capacity min_after_dequeue seed enqueue_many "
      "allow_smaller_final_batch name")
plain("range_input_producer", tf.train.range_input_producer,
      "limit num_epochs shuffle seed capacity name")
plain("slice_input_producer", tf.train.slice_input_producer,
      "tensor_list num_epochs shuffle seed capacity name")
plain("TFRecordReader", tf.TFRecordReader, "name")
plain("FixedLengthRecordReader", tf.FixedLengthRecordReader,
      "record_bytes header_bytes footer_bytes hop_bytes name encoding")
plain("TextLineReader", tf.TextLineReader, "skip_header_lines name")
plain("WholeFileReader", tf.WholeFileReader, "name")
method("reader_read", "reader", "read", "queue name")
plain("decode_raw", tf.decode_raw, "input_bytes out_type name")


@handler
def parse_single_example(interpreter, serialized, features, name=None):
    """`features` is a list of [key, shape, dtype]."""
    fixed = {key: tf.FixedLenFeature(shape, tf.as_dtype(dtype)) for key, shape, dtype in features}
    return tf.parse_single_example(serialized, fixed, name=name)

"""TensorFlow (compat.v1) programs that end with the errors that docs/errors.md quotes.

A function is named after the heading of its section. If a section has several programs, each name
ends with two underscores and a distinct word. `blocks.py fill PAGE --tensorflow` runs them.
"""

import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
tf.disable_resource_variables()


def a_variable_already_exists__towers():
    for tower in range(2):
        with tf.name_scope("tower_%d" % tower):
            tf.get_variable("fc/weights", [3, 2])


def a_variable_already_exists__partitioned():
    tf.get_variable("w", [4, 2], partitioner=tf.fixed_size_partitioner(2))
    tf.get_variable("w", [4, 2])


def a_variable_does_not_exist__scopes():
    with tf.variable_scope("discriminator"):
        with tf.variable_scope("real"):
            tf.get_variable("w", [3, 1])
        with tf.variable_scope("fake", reuse=True):
            tf.get_variable("w", [3, 1])


def a_variable_does_not_exist__default_name():
    with tf.variable_scope(tf.get_variable_scope()):
        for tower in range(2):
            with tf.variable_scope(None, default_name="conv"):
                tf.get_variable("w", [2])
            tf.get_variable_scope().reuse_variables()


def a_variable_does_not_exist__slots():
    w = tf.get_variable("w", [2], initializer=tf.ones_initializer())
    tf.get_variable_scope().reuse_variables()
    tf.train.MomentumOptimizer(0.1, 0.9).minimize(tf.reduce_sum(w))


def a_shared_variable_has_another_shape_or_dtype__shape():
    with tf.variable_scope("net"):
        tf.get_variable("w", [3, 2])
    with tf.variable_scope("net", reuse=True):
        tf.get_variable("w", [3, 4])


def a_shared_variable_has_another_shape_or_dtype__dtype():
    with tf.variable_scope("net"):
        tf.get_variable("w", [3, 2])
    with tf.variable_scope("net", reuse=True):
        tf.get_variable("w", [3, 2], tf.float64)


def invalid_shape_dtype_or_value_of_a_new_variable__no_shape():
    tf.get_variable("w")


def invalid_shape_dtype_or_value_of_a_new_variable__unknown_shape():
    tf.get_variable("w", [None, 2])


def invalid_shape_dtype_or_value_of_a_new_variable__value_and_shape():
    tf.get_variable("w", [2], initializer=[1.0, 2.0])


def invalid_shape_dtype_or_value_of_a_new_variable__dtype():
    tf.get_variable("steps", dtype=tf.float32, initializer=3)


def invalid_scopes_and_devices__reuse():
    with tf.variable_scope(None, "layer", reuse=True):
        pass


def invalid_scopes_and_devices__name():
    with tf.name_scope("my scope"):
        pass


def invalid_scopes_and_devices__device():
    with tf.device("/gpu:first"):
        tf.constant(1.0)


def invalid_scopes_and_devices__nesting():
    outer = tf.variable_scope("outer")
    inner = tf.variable_scope("inner")
    outer.__enter__()
    inner.__enter__()
    outer.__exit__(None, None, None)


def an_operation_cannot_be_added_to_the_graph__duplicate_name():
    tf.constant(1.0, name="a/c/")
    tf.constant(1.0, name="a/c/")


def an_operation_cannot_be_added_to_the_graph__two_graphs():
    a = tf.constant(1.0, name="a")
    with tf.Graph().as_default():
        tf.add(a, tf.constant(2.0, name="b"))


def an_operation_cannot_be_added_to_the_graph__finalized():
    tf.get_default_graph().finalize()
    tf.constant(1.0)


def operands_do_not_match__shapes():
    tf.matmul(tf.ones([2, 3]), tf.ones([2, 3]))


def operands_do_not_match__dtypes():
    tf.constant(1.0) + tf.constant(1)


def a_lookup_fails__operation():
    tf.constant(1.0, name="loss")
    tf.get_default_graph().get_operation_by_name("los")


def a_lookup_fails__tensor():
    tf.constant(1.0, name="loss")
    tf.get_default_graph().get_tensor_by_name("loss")


def a_lookup_fails__collection():
    with tf.name_scope("tower_0"):
        tf.add_to_collection("losses", tf.constant(1.0, name="loss"))
    tf.add_n(tf.get_collection("losses", "tower_1"))


def a_lookup_fails__variables():
    with tf.name_scope("tower_0"):
        w = tf.get_variable("w", [2])
        loss = tf.reduce_sum(w)
    mine = tf.get_collection(tf.GraphKeys.TRAINABLE_VARIABLES, "tower_0")
    tf.train.GradientDescentOptimizer(0.1).compute_gradients(loss, mine)


def invalid_arguments_of_compute_gradients__loss():
    w = tf.get_variable("w", [2], initializer=tf.ones_initializer())
    loss = tf.reduce_sum(tf.cast(w, tf.int32))
    tf.train.GradientDescentOptimizer(0.1).compute_gradients(loss)


def invalid_arguments_of_compute_gradients__gate():
    w = tf.get_variable("w", [2])
    tf.train.GradientDescentOptimizer(0.1).compute_gradients(tf.reduce_sum(w), gate_gradients=3)


def a_gradient_is_absent__all():
    w = tf.get_variable("w", [2], initializer=tf.ones_initializer())
    loss = tf.reduce_sum(tf.stop_gradient(w, name="frozen"))
    tf.train.GradientDescentOptimizer(0.1).minimize(loss)


def a_gradient_is_absent__used():
    with tf.name_scope("tower_1"):
        used = tf.get_variable("used", [2])
        unused = tf.get_variable("unused", [2])
        loss = tf.reduce_sum(used, name="loss")
        pairs = tf.train.GradientDescentOptimizer(0.1).compute_gradients(loss)
    tf.expand_dims(pairs[1][0], 0)


def gradient_registration__missing():
    x = tf.constant([1.0, 2.0])
    tf.gradients(tf.is_finite(x, name="good"), [x])


def gradient_registration__override():
    x = tf.constant([1.0, 2.0])
    with tf.get_default_graph().gradient_override_map({"Relu": "GuidedRelu"}):
        y = tf.nn.relu(x)
    tf.gradients(y, [x])


def gradient_registration__twice():
    tf.RegisterGradient("Relu")(lambda op, dy: dy)


def custom_gradients():
    w = tf.get_variable("w", [2])
    scaled = tf.custom_gradient(lambda x: (x * w, lambda dy: dy))
    scaled(tf.constant([1.0, 2.0]))


def a_missing_or_mismatched_value__variable():
    w = tf.get_variable("w", [2])
    with tf.Session() as session:
        session.run(w)


def a_missing_or_mismatched_value__placeholder():
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    y = x * 2.0
    with tf.Session() as session:
        session.run(y)


def a_missing_or_mismatched_value__feed():
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    with tf.Session() as session:
        session.run(x * 2.0, {x: [[1.0, 2.0, 3.0]]})


def invalid_examples__feature():
    features = tf.train.Features(feature={
        "label": tf.train.Feature(int64_list=tf.train.Int64List(value=[7]))})
    record = tf.train.Example(features=features).SerializeToString()
    parsed = tf.parse_single_example(record, {"labl": tf.FixedLenFeature([], tf.int64)})
    with tf.Session() as session:
        session.run(parsed["labl"])


def invalid_examples__shape():
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    tf.train.batch([x], 4)


def a_closed_session_or_queue__session():
    x = tf.constant(1.0)
    session = tf.Session()
    session.close()
    session.run(x)


def a_closed_session_or_queue__queue():
    queue = tf.FIFOQueue(2, [tf.float32], name="input")
    close = queue.close()
    item = queue.dequeue()
    with tf.Session() as session:
        session.run(close)
        session.run(item)

"""The text's multi_gpu_model with objects in collections, its mistakes corrected: towers reuse the
variables, and the averaged gradients, not the function, are zipped with them. `next_batch` is what a
model takes where nothing is fed."""

import tensorflow.compat.v1 as tf

PIXELS, HIDDEN, CLASSES = 784, 64, 10
PATCHES, PATCH_CODES = 98, 256
GRAPHS = [dict(towers=1, batch=8), dict(towers=2, batch=8),
          dict(towers=2, batch=8, averager="second"), dict(towers=2, batch=8, embedding=True)]
CURVES = [dict(towers=2, batch=8), dict(towers=2, batch=8, averager="second"),
          dict(towers=2, batch=8, embedding=True)]
EXPONENTS = {}


def inputs(batch):
    return [("float32", [batch, PIXELS], -1), ("int32", [batch], CLASSES)]


def dense(name, x, inputs, outputs):
    with tf.variable_scope(name):
        w = tf.get_variable("w", [inputs, outputs])
        b = tf.get_variable("b", [outputs], initializer=tf.zeros_initializer())
        return tf.matmul(x, w) + b


def patch_ids(x):
    patches = tf.reshape(tf.transpose(tf.reshape(x, [-1, 14, 2, 7, 4]), [0, 1, 3, 2, 4]),
                         [-1, PATCHES, 8])
    ink = tf.cast(tf.greater(patches, 0.0), tf.int32)
    codes = tf.reduce_sum(ink * tf.constant([1, 2, 4, 8, 16, 32, 64, 128]), 2)
    return codes + tf.range(PATCHES) * PATCH_CODES


def embedded(name, x, outputs):
    with tf.variable_scope(name):
        table = tf.get_variable("table", [PATCHES * PATCH_CODES, outputs])
        b = tf.get_variable("b", [outputs], initializer=tf.zeros_initializer())
        return tf.reduce_sum(tf.nn.embedding_lookup(table, patch_ids(x)), 1) + b


class Model:
    def __init__(self, is_training, embedding, batch=None):
        if batch is not None:
            self.x = tf.placeholder_with_default(batch[0], [None, PIXELS], name="x")
            self.y = tf.placeholder_with_default(batch[1], [None], name="y")
        else:
            self.x = tf.placeholder(tf.float32, [None, PIXELS], name="x")
            self.y = tf.placeholder(tf.int32, [None], name="y")
        hidden = tf.tanh(embedded("hidden", self.x, HIDDEN) if embedding
                         else dense("hidden", self.x, PIXELS, HIDDEN))
        logits = dense("output", hidden, HIDDEN, CLASSES)
        self.loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(
            labels=self.y, logits=logits), name="loss")
        self.predict = tf.argmax(logits, 1, name="predict")
        self.merge_summary = tf.summary.merge([tf.summary.scalar("loss_summary", self.loss)])
        if is_training:
            self.grad = tf.gradients(self.loss, tf.trainable_variables())
        tf.add_to_collection("loss", self.loss)
        tf.add_to_collection("predict", self.predict)
        tf.add_to_collection("merge_summary", self.merge_summary)


def average_gradients(grads):
    averaged_grads = []
    for grads_per_var in zip(*grads):
        grads = []
        for grad in grads_per_var:
            expanded_grad = tf.expand_dims(grad, 0)
            grads.append(expanded_grad)
        grads = tf.concat(grads, 0)
        grads = tf.reduce_mean(grads, 0)
        averaged_grads.append(grads)
    return averaged_grads


def average_packed(grads):
    """The second version. With IndexedSlices it raises TypeError: the list cannot be packed."""
    averaged_grads = []
    for grads_per_var in zip(*grads):
        grads = tf.reduce_mean(grads_per_var, 0)
        averaged_grads.append(grads)
    return averaged_grads


def multi_gpu_model(num_gpus, next_batch, averager, embedding, learning_rate, global_step):
    grads = []
    with tf.variable_scope(tf.get_variable_scope()):
        for i in range(num_gpus):
            with tf.device("/gpu:%d" % i):
                with tf.name_scope("tower_%d" % i):
                    model = Model(True, embedding, next_batch() if next_batch else None)
                    tf.add_to_collection("train_model", model)
                    grads.append(model.grad)
                    tf.get_variable_scope().reuse_variables()
    with tf.device("cpu:0"):
        averaged_gradients = (average_packed if averager == "second" else average_gradients)(grads)
        opt = tf.train.GradientDescentOptimizer(learning_rate)
        # tf.gradients does not gate: a variable could change while a gradient still reads it.
        with tf.control_dependencies(averaged_gradients):
            return opt.apply_gradients(zip(averaged_gradients, tf.trainable_variables()),
                                       global_step=global_step)


def train(next_batch, towers, batch, averager="first", embedding=False, learning_rate=0.5):
    global_step = tf.train.get_or_create_global_step()
    with tf.name_scope("train") as train_scope:
        train_op = multi_gpu_model(towers, next_batch, averager, embedding, learning_rate,
                                   global_step)
    with tf.name_scope("test"):
        with tf.variable_scope(tf.get_variable_scope(), reuse=True):
            tf.add_to_collection("test_model", Model(False, embedding))
    return tf.get_collection("loss", train_scope), [train_op]

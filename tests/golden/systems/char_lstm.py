"""A character LSTM on towers. The network, its names, its schedule and its summaries are those of
char-rnn-tensorflow (model.py and train.py); the towers and the average of their gradients, which are
slices for the embedding, those of multi-GPU language models such as lm (language_model.py), which
divides dense gradients only. `next_batch` replaces the input where batches are fed."""

import tensorflow.compat.v1 as tf

NUM_LAYERS, DECAY_RATE = 2, 0.97
HELD_OUT = 90  # bytes at the end of the text
SMALL = dict(batch=4, rnn_size=8, classes=12)
GRAPHS = [dict(SMALL, towers=towers, optimizer=optimizer, static_unrolling=static, seq_length=length)
          for towers, optimizer, static, length in
          [(1, "adam", False, 6), (2, "sgd", False, 6), (2, "adagrad", True, 3)]]
# So few examples that the rate falls, and a norm so small that all gradients are clipped.
CURVES = [dict(SMALL, towers=towers, optimizer=optimizer, static_unrolling=static, seq_length=6,
               examples=32, learning_rate=rate, grad_clip=0.25)
          for towers, optimizer, static, rate in
          [(1, "sgd", False, 0.5), (2, "momentum", False, 0.5), (2, "adagrad", False, 0.1),
           (2, "adam", False, 0.02), (2, "adam", True, 0.02)]]
INNER = ["update_embedding"]  # a dozen nodes here, one op in Towerflow
# Exponents of the generated initial values.
EXPONENTS = {"embedding": -1, "rnnlm/softmax_w": -1, "rnnlm/softmax_b": -2,
             "rnnlm/multi_rnn_cell/cell_0/basic_lstm_cell/kernel": -1,
             "rnnlm/multi_rnn_cell/cell_1/basic_lstm_cell/kernel": -1}


def inputs(batch, seq_length=50, classes=66):
    return [("int32", [batch, seq_length], classes)] * 2


def windows(filenames, examples, batch_size, seq_length, codes, num_threads):
    """Windows of the text in random order, each with the character after its last one."""
    with tf.name_scope("input"):
        characters = tf.get_variable("characters", initializer=codes, trainable=False)
        filename_queue = tf.train.string_input_producer(filenames)
        reader = tf.FixedLengthRecordReader(record_bytes=seq_length + 1, footer_bytes=HELD_OUT,
                                            hop_bytes=seq_length)
        _, value = reader.read(filename_queue)
        window = tf.decode_raw(value, tf.uint8)
        window.set_shape([seq_length + 1])
        queue = tf.RandomShuffleQueue(examples + 3 * batch_size, examples, [tf.uint8],
                                      [[seq_length + 1]])
        enqueue = queue.enqueue([window])
        tf.train.add_queue_runner(tf.train.QueueRunner(queue, [enqueue] * num_threads))

    def next_batch():
        with tf.name_scope("input"):
            text = queue.dequeue_many(batch_size)
            ids = tf.gather(characters, tf.cast(text, tf.int32))
            return ids[:, :-1], ids[:, 1:]

    return next_batch


def make_optimizer(name, lr):
    return {"sgd": lambda: tf.train.GradientDescentOptimizer(lr),
            "momentum": lambda: tf.train.MomentumOptimizer(lr, 0.9),
            "adagrad": lambda: tf.train.AdagradOptimizer(lr),
            "adam": lambda: tf.train.AdamOptimizer(lr)}[name]()


def inference(input_data, rnn_size, classes, static_unrolling):
    batch_size, seq_length = input_data.shape.as_list()
    cells = [tf.nn.rnn_cell.BasicLSTMCell(rnn_size) for _ in range(NUM_LAYERS)]
    cell = tf.nn.rnn_cell.MultiRNNCell(cells, state_is_tuple=True)
    initial_state = cell.zero_state(batch_size, tf.float32)
    with tf.variable_scope("rnnlm"):
        softmax_w = tf.get_variable("softmax_w", [rnn_size, classes])
        softmax_b = tf.get_variable("softmax_b", [classes])
    embedding = tf.get_variable("embedding", [classes, rnn_size])
    inputs = tf.nn.embedding_lookup(embedding, input_data)
    if static_unrolling:
        inputs = tf.split(inputs, seq_length, 1)
        inputs = [tf.squeeze(input_, [1]) for input_ in inputs]
        outputs, last_state = tf.nn.static_rnn(cell, inputs, initial_state=initial_state,
                                               scope="rnnlm")
        output = tf.reshape(tf.concat(outputs, 1), [-1, rnn_size])
    else:
        outputs, last_state = tf.nn.dynamic_rnn(cell, inputs, initial_state=initial_state,
                                                scope="rnnlm")
        output = tf.reshape(outputs, [-1, rnn_size])
    return tf.matmul(output, softmax_w) + softmax_b


def tower_cost(input_data, targets, rnn_size, classes, static_unrolling):
    logits = inference(input_data, rnn_size, classes, static_unrolling)
    loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=tf.reshape(targets, [-1]),
                                                          logits=logits)
    with tf.name_scope("cost"):
        cost = tf.reduce_mean(loss)
    tf.summary.histogram("logits", logits)
    tf.summary.histogram("loss", loss)
    tf.summary.scalar("train_loss", cost)
    return cost


def average_gradients(tower_grads):
    average_grads = []
    for grad_and_vars in zip(*tower_grads):
        grads = [g for g, _ in grad_and_vars]
        if isinstance(grads[0], tf.IndexedSlices):
            grad = grads[0]
            if len(grads) > 1:
                values = tf.concat([g.values for g in grads], 0)
                indices = tf.concat([g.indices for g in grads], 0)
                grad = tf.IndexedSlices(values / len(grads), indices, grads[0].dense_shape)
        else:
            grad = tf.concat(axis=0, values=[tf.expand_dims(g, 0) for g in grads])
            grad = tf.reduce_mean(grad, 0)
        average_grads.append((grad, grad_and_vars[0][1]))
    return average_grads


def train(next_batch, towers, batch, rnn_size=128, classes=66, optimizer="adam",
          static_unrolling=False, seq_length=50, examples=400, learning_rate=0.002, grad_clip=5.0):
    with tf.device("/cpu:0"):
        global_step = tf.train.get_or_create_global_step()
        lr = tf.train.exponential_decay(learning_rate, global_step, examples // (batch * towers),
                                        DECAY_RATE, staircase=True)
        opt = make_optimizer(optimizer, lr)
        if next_batch is None:
            next_batch = windows(["text.txt"], examples, batch, seq_length, [0] * 256, 16)
        tower_grads, costs = [], []
        with tf.variable_scope(tf.get_variable_scope()):
            for i in range(towers):
                with tf.device(tf.train.replica_device_setter(
                        ps_tasks=1, ps_device="/cpu:0", worker_device="/gpu:%d" % i)):
                    with tf.name_scope("tower_%d" % i) as scope:
                        input_data, targets = next_batch()
                        cost = tower_cost(input_data, targets, rnn_size, classes,
                                          static_unrolling)
                        tf.get_variable_scope().reuse_variables()
                        summaries = tf.get_collection(tf.GraphKeys.SUMMARIES, scope)
                        tower_grads.append(opt.compute_gradients(cost))
                        costs.append(cost)
        grads, tvars = zip(*average_gradients(tower_grads))
        grads, _ = tf.clip_by_global_norm(grads, grad_clip)
        grads = list(zip(grads, tvars))
        train_op = opt.apply_gradients(grads, global_step=global_step)
        summaries.append(tf.summary.scalar("learning_rate", lr))
        for grad, var in grads:
            summaries.append(tf.summary.histogram(var.op.name + "/gradients", grad))
        for var in tf.trainable_variables():
            summaries.append(tf.summary.histogram(var.op.name, var))
        tf.summary.merge(summaries)
        return costs, [train_op]

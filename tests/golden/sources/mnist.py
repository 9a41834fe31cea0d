"""The MNIST tower program (seed S3) for 1, 2 and 3 towers: built, not run."""

from oracle.builder import Program, initializer

BATCH = 64
VARIABLES = ["conv1/weights", "conv1/biases", "conv2/weights", "conv2/biases", "local3/weights",
             "local3/biases", "local4/weight", "local4/biases", "softmax_linear/weight",
             "softmax_linear/biases"]


def variable_on_cpu(p, name, shape, init):
    with p.device("/cpu:0"):
        return p.get_variable(name, shape, "float32", init)


def truncated(stddev):
    return initializer("truncated_normal", stddev=stddev)


def constant(value):
    return initializer("constant", value=value)


def inputs(p):
    with p.name_scope("input"):
        queue = p.string_input_producer(["train.tfrecords"], num_epochs=5)
        record = p.reader_read(p.TFRecordReader(), queue)
        features = p.parse_single_example(record[1], [["image_raw", [], "string"],
                                                      ["label", [], "int64"]])
        image = p.decode_raw(features["image_raw"], "uint8")
        p.set_shape(image, [784])
        image = p.cast(image, "float32") * (1.0 / 255) - 0.5
        label = p.cast(features["label"], "int32")
        return p.shuffle_batch([image, label], BATCH, 1000 + 3 * BATCH, 1000, num_threads=2)


def convolution(p, name, x, shape, bias, weights_first):
    with p.variable_scope(name):
        kernel = variable_on_cpu(p, "weights", shape, truncated(5e-2))
        if weights_first:
            biases = variable_on_cpu(p, "biases", shape[-1:], constant(bias))
        conv = p.conv2d(x, kernel, [1, 1, 1, 1], "SAME")
        if not weights_first:
            biases = variable_on_cpu(p, "biases", shape[-1:], constant(bias))
        return p.relu(p.bias_add(conv, biases), name=name)


def dense(p, name, weight, x, shape, stddev, bias, relu):
    weights = variable_on_cpu(p, weight, shape, truncated(stddev))
    biases = variable_on_cpu(p, "biases", shape[1:], constant(bias))
    if not relu:
        return p.add(p.matmul(x, weights), biases, name=name)
    return p.relu(p.matmul(x, weights) + biases, name=name)


def inference(p, images, relu_logits):
    x = p.reshape(images, [-1, 28, 28, 1])
    pool = [1, 2, 2, 1]
    x = convolution(p, "conv1", x, [5, 5, 1, 32], 0.0, True)
    x = p.max_pool(x, pool, pool, "SAME", name="pool1")
    x = convolution(p, "conv2", x, [5, 5, 32, 64], 0.1, False)
    x = p.max_pool(x, pool, pool, "SAME", name="pool2")
    with p.variable_scope("local3"):
        x = p.reshape(x, [-1, 7 * 7 * 64])
        x = dense(p, "local3", "weights", x, [7 * 7 * 64, 1024], 0.04, 0.1, True)
    with p.variable_scope("local4"):
        x = dense(p, "local4", "weight", x, [1024, 10], 0.04, 0.1, relu_logits)
    with p.variable_scope("softmax_linear"):
        return dense(p, "softmax_linear", "weight", x, [10, 10], 1 / 192.0, 0.0, False)


def tower_loss(p, scope, relu_logits, tb_logging):
    batch = inputs(p)
    logits = inference(p, batch[0], relu_logits)
    labels = p.cast(batch[1], "int64")
    entropy = p.sparse_softmax_cross_entropy_with_logits(labels, logits,
                                                         name="cross_entropy_per_example")
    mean = p.reduce_mean(entropy, name="cross_entropy")
    p.add_to_collection("losses", mean)
    p.add_n(p.get_collection("losses"), name="total_loss")
    total = p.add_n(p.get_collection("losses", scope), name="total_loss")
    if tb_logging:
        # Names of operations without `tower_[0-9]*/`.
        for name, value in ("cross_entropy", mean), ("total_loss_1", total):
            p.summary_scalar(name, value)
    return total


def train(towers, relu_logits, tb_logging=False):
    p = Program("mnist_%d%s" % (towers, "_relu" if relu_logits else ""),
                "the S3 program with %d towers, %s ReLU on local4"
                % (towers, "with the source's" if relu_logits else "without"))
    with p.device("/cpu:0"):
        step = p.get_variable("global_step", [], initializer=constant(0), trainable=False)
        opt = p.MomentumOptimizer(0.005, 0.9, use_nesterov=True, use_locking=True)
        pairs = []
        with p.variable_scope(p.get_variable_scope()):
            for i in range(towers):
                with p.device("/gpu:%d" % i), p.name_scope("tower_%d" % i) as scope:
                    loss = tower_loss(p, scope, relu_logits, tb_logging)
                    p.reuse_variables(p.get_variable_scope())
                    summaries = p.get_collection("summaries", scope)
                    pairs.append(p.compute_gradients(opt, loss, gate_gradients=0))
        averaged = []
        for v in range(10):
            grads = [p.expand_dims(tower[v][0], 0) for tower in pairs]
            averaged.append([p.reduce_mean(p.concat(grads, 0), 0), pairs[0][v][1]])
        p.apply_gradients(opt, averaged, step)
        p.get_slot_names(opt), p.optimizer_variables(opt)
        p.group([p.global_variables_initializer(), p.local_variables_initializer()])
        if tb_logging:
            more = [p.summary_scalar("learning_rate", 0.005)]
            more += [p.summary_histogram(name + "/gradients", pair[0])
                     for name, pair in zip(VARIABLES, averaged)]
            more += [p.summary_histogram(name, pair[1]) for name, pair in zip(VARIABLES, averaged)]
            p.summary_merge([summaries[i] for i in range(4)] + more)
    return p


def programs():
    return [train(1, True), train(2, True), train(3, True), train(2, False)]

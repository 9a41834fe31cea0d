"""Batch normalization on towers with updates collected in four ways."""

from oracle.builder import Program, generate, initializer

MOVING = ["variables", "model_variables"]


def moving(p, name, size, kind):
    return p.get_variable(name, [size], initializer=initializer(kind), trainable=False,
                          collections=MOVING)


def batch_norm(p, x, channels):
    beta = p.get_variable("beta", [channels], initializer=initializer("zeros"))
    gamma = p.get_variable("gamma", [channels], initializer=initializer("ones"))
    mean = moving(p, "moving_mean", channels, "zeros")
    variance = moving(p, "moving_variance", channels, "ones")
    moments = p.moments(x, [0, 1, 2])
    p.add_to_collection("update_ops", p.assign_moving_average(mean, moments[0], 0.9,
                                                              zero_debias=False))
    p.add_to_collection("update_ops", p.assign_moving_average(variance, moments[1], 0.9,
                                                              zero_debias=False))
    return (p.batch_normalization(x, moments[0], moments[1], beta, gamma, 0.001),
            [beta, gamma, mean, variance])


def tower(p):
    images = p.placeholder("float32", [None, 6, 6, 2], name="images")
    labels = p.placeholder("int64", [None], name="labels")
    with p.variable_scope("conv"):
        kernel = p.get_variable("weights", [3, 3, 2, 4])
        conv = p.conv2d(images, kernel, [1, 1, 1, 1], "SAME")
        conv, of_norm = batch_norm(p, conv, 4)
        conv = p.relu(conv)
    with p.variable_scope("fc"):
        weights = p.get_variable("weights", [6 * 6 * 4, 3])
        biases = p.get_variable("biases", [3], initializer=initializer("zeros"))
        logits = p.matmul(p.reshape(conv, [-1, 6 * 6 * 4]), weights) + biases
    entropy = p.sparse_softmax_cross_entropy_with_logits(labels, logits)
    loss = p.reduce_mean(entropy, name="loss")
    return images, labels, loss, [kernel] + of_norm + [weights, biases]


def build(collecting, num_gpus):
    p = Program("%s_%d" % (collecting, num_gpus), "%d towers, updates %s" % (
        num_gpus, collecting.replace("_", " ")))
    p.set_random_seed(1)
    with p.device("/cpu:0"):
        step = p.get_or_create_global_step()
        opt = p.GradientDescentOptimizer(0.5)
        towers, pairs, updates = [], [], []
        with p.variable_scope(p.get_variable_scope()):
            for i in range(num_gpus):
                with p.device("/gpu:%d" % i), p.name_scope("device_%d" % i) as scope:
                    towers.append(tower(p))
                    p.reuse_variables(p.get_variable_scope())
                    pairs.append(p.compute_gradients(opt, towers[-1][2]))
                    so_far = p.get_collection("update_ops")
                    count = 2 * (i + 1)
                    if collecting == "extended_in_loop":
                        updates += [so_far[k] for k in range(count)]
                    if collecting == "replaced_in_loop":
                        updates = [so_far[k] for k in range(count)]
                    if collecting == "first_tower" and i == 0:
                        found = p.get_collection("update_ops", scope)
                        updates = [found[k] for k in range(count)]
        grads = []
        for v in range(5):
            towers_grads = [p.expand_dims(tower_pairs[v][0], 0) for tower_pairs in pairs]
            grads.append([p.reduce_mean(p.concat(towers_grads, 0), 0), pairs[0][v][1]])
        train = [p.apply_gradients(opt, grads[:3], step), p.apply_gradients(opt, grads[3:])]
        trained = p.trainable_variables()
        ema = p.ExponentialMovingAverage(0.9999, step)
        averages = p.ema_apply(ema, [trained[v] for v in range(5)])
        if collecting == "after_loop":
            found = p.get_collection("update_ops")
            updates = [found[k] for k in range(2 * num_gpus)]
        if collecting == "replaced_in_loop":
            p.group(train + [averages, p.group(updates)])
        else:
            with p.control_dependencies(updates):
                p.group(train + [averages])
    if collecting != "after_loop":
        return p
    variables = towers[0][3]
    p.run([p.global_variables_initializer()])
    # One run per update, since in a joint run their order is undefined in TensorFlow.
    for number in range(2):
        feeds = []
        for i, (images, labels, _, _) in enumerate(towers):
            stream = 10 * number + 2 * i
            feeds += [[images, generate(stream, [4, 6, 6, 2])],
                      [labels, generate(stream + 1, [4], modulo=3, dtype="int64")]]
        for update in updates:
            p.run([update], feeds)
        p.run([t[2] for t in towers] + train, feeds)
        p.run([averages])
        p.run(variables + [step] + [p.ema_average(ema, v) for v in (variables[0], variables[1])])
    return p


def programs():
    ways = ("extended_in_loop", "after_loop", "replaced_in_loop", "first_tower")
    return [build(way, 2) for way in ways] + [build("after_loop", 1)]

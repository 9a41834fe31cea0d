"""tf.losses: every loss, reduction and kind of weights; the loss collection, also with towers."""

from oracle.builder import Program, generate, initializer

REDUCTIONS = ("none", "weighted_sum", "weighted_sum_over_batch_size", "weighted_mean",
              "weighted_sum_by_nonzero_weights")
ROWS, CLASSES = 4, 3


class Inputs:
    def __init__(self, p):
        shape = [ROWS, CLASSES]
        self.x = p.get_variable("x", initializer=generate(1, shape, exponent=1))
        self.chance = p.get_variable("chance", initializer=generate(2, shape, kind="positive"))
        self.y = p.constant(generate(3, shape, exponent=1), name="y")
        self.bits = p.constant([[0.0, 1.0, 1.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0] * 3])
        self.ids = p.constant([2, 0, 1, 2], name="ids")
        self.one_hot = p.constant([[0, 0, 1], [1, 0, 0], [0, 1, 0], [0, 0, 1]], name="one_hot")


def kinds(p, t):
    """Returns each loss as a function of its other arguments."""
    return [lambda **a: p.absolute_difference(t.y, t.x, **a),
            lambda **a: p.mean_squared_error(t.y, t.x, **a),
            lambda **a: p.cosine_distance(t.y, t.x, 1, **a),
            lambda **a: p.hinge_loss(t.bits, t.x, **a),
            lambda **a: p.huber_loss(t.y, t.x, **a),
            lambda **a: p.log_loss(t.bits, t.chance, **a),
            lambda **a: p.sigmoid_cross_entropy(t.bits, t.x, **a),
            lambda **a: p.softmax_cross_entropy(t.one_hot, t.x, **a),
            lambda **a: p.sparse_softmax_cross_entropy(t.ids, t.x, **a)]


PER_EXAMPLE = [[0.5], [0.0], [2.0], [1.0]]
# Weights for the losses above that have one value per row.
FLAT = [0.5, 0.0, 2.0, 1.0]


def numbers(p, t, losses):
    """Runs the losses and the gradient of their sum with a different factor for each."""
    grads = p.gradients(losses, [t.x, t.chance],
                        [p.fill(p.shape(loss), 0.5 + 0.25 * i) for i, loss in enumerate(losses)])
    p.run([p.global_variables_initializer()])
    p.run(losses + [grads[0], grads[1]])


def plain():
    p = Program("plain", "each loss without weights, and its gradients")
    t = Inputs(p)
    losses = [loss() for loss in kinds(p, t)]
    grads = [p.gradients([loss], [t.chance if i == 5 else t.x]) for i, loss in enumerate(losses)]
    p.run([p.global_variables_initializer()])
    p.run(losses + [grad[0] for grad in grads])
    p.get_losses()
    return p


def reductions():
    p = Program("reductions", "reductions, weights per example and of a number")
    t = Inputs(p)
    losses = []
    for i, loss in enumerate(kinds(p, t)):
        weights = FLAT if i > 6 else PER_EXAMPLE
        # The reductions are the same code for all losses: only two losses get all of them.
        for k, reduction in enumerate(REDUCTIONS):
            if i in (1, 8) or k == i % 5:
                losses.append(loss(weights=weights, reduction=reduction))
    for reduction in REDUCTIONS:
        losses.append(kinds(p, t)[1](weights=2, reduction=reduction))
        losses.append(kinds(p, t)[8](weights=0.0, reduction=reduction, scope="named"))
    numbers(p, t, losses)
    return p


def weights():
    p = Program("weights", "tensors and variables as weights; those that do not fit")
    t = Inputs(p)
    scale = p.get_variable("scale", initializer=0.75)
    rows = p.get_variable("rows", initializer=PER_EXAMPLE)
    columns = p.constant([[1.0, 0.0, 3.0]])
    each = p.constant(generate(9, [ROWS, CLASSES]))
    losses = [p.mean_squared_error(t.y, t.x, scale), p.mean_squared_error(t.y, t.x, rows),
              p.mean_squared_error(t.y, t.x, columns), p.mean_squared_error(t.y, t.x, each),
              p.mean_squared_error(t.y, t.x, p.constant(3)),
              p.mean_squared_error(t.y, t.x, p.constant(0.5, "float64")),
              p.mean_squared_error(t.y, t.x, [[1, 2, 0]]),
              p.sparse_softmax_cross_entropy(t.ids, t.x, p.constant(FLAT)),
              p.sparse_softmax_cross_entropy(t.ids, t.x, rows),
              p.sparse_softmax_cross_entropy(p.expand_dims(t.ids, -1), t.x, scale),
              p.compute_weighted_loss(t.x, each), p.compute_weighted_loss([1, 2, 3], 0.5),
              p.compute_weighted_loss([[1.0, 2.0]], [[3.0], [4.0]][0:1], scope="given"),
              p.absolute_difference([1, 2], [4.0, 8.0], [0.5, 1.0])]
    ours = [p.gradients([loss], [scale, rows, t.x]) for loss in losses]
    p.run([p.global_variables_initializer()])
    p.run(losses)
    p.run([ours[0][0], ours[1][1], ours[8][1], ours[9][0], ours[3][2]])
    p.mean_squared_error(t.y, t.x, FLAT)
    p.mean_squared_error(t.y, t.x, [[1.0, 2.0]])
    p.mean_squared_error(t.y, t.x, [[1.0], [2.0]])
    p.mean_squared_error(t.y, t.x, [[[1.0]]])
    p.sparse_softmax_cross_entropy(t.ids, t.x, [1.0, 2.0])
    p.mean_squared_error(t.y, [1.0, 2.0])
    p.sigmoid_cross_entropy(t.bits, [1.0, 2.0])
    p.sparse_softmax_cross_entropy(t.ids, [1.0, 2.0])
    p.get_losses()
    return p


def options():
    p = Program("options", "scopes, collections, and what a single loss alone takes")
    t = Inputs(p)
    losses = [p.huber_loss(t.y, t.x, delta=0.25), p.huber_loss(t.y, t.x, PER_EXAMPLE, 2.0),
              p.log_loss(t.bits, t.chance, epsilon=0.125),
              p.sigmoid_cross_entropy(t.bits, t.x, label_smoothing=0.2),
              p.softmax_cross_entropy(t.one_hot, t.x, label_smoothing=0.1),
              p.softmax_cross_entropy(t.one_hot, t.x, FLAT, 0.3, "smooth"),
              p.softmax_cross_entropy(t.one_hot, t.x * 100.0),
              p.mean_squared_error(t.y, t.x, scope="error"),
              p.mean_squared_error(t.y, t.x, scope="error"),
              p.mean_squared_error(t.y, t.x, loss_collection="mine"),
              p.mean_squared_error(t.y, t.x, loss_collection=None)]
    with p.name_scope("inner"), p.device("/cpu:0"):
        losses.append(p.absolute_difference(t.y, t.x))
        losses.append(p.absolute_difference(t.y, t.x, scope="inner/given/"))
    wide = p.cast(t.x, "float64")
    losses += [p.softmax_cross_entropy(t.one_hot, wide), p.sparse_softmax_cross_entropy(t.ids, wide),
               p.sigmoid_cross_entropy(t.one_hot, wide, PER_EXAMPLE),
               p.absolute_difference(wide, t.x)]
    numbers(p, t, losses[:13])
    grads = [p.gradients([loss], [t.x]) for loss in losses[13:]]
    p.run(losses[13:] + [grad[0] for grad in grads])
    p.get_losses()
    p.get_losses(loss_collection="mine")
    p.get_losses("inner")
    return p


def listed():
    p = Program("listed", "losses of towers and of regularizers, alone and together")
    p.get_regularization_loss()
    p.get_total_loss()
    with p.variable_scope(p.get_variable_scope()):
        for i in range(2):
            with p.name_scope("tower_%d" % i) as scope:
                w = p.get_variable("w", [2, 2], initializer=initializer("ones"), regularizer="l2")
                b = p.get_variable("b", [2], initializer=initializer("ones"), regularizer="l2")
                x = p.constant(generate(i, [3, 2]))
                p.mean_squared_error(p.constant(generate(5 + i, [3, 2])), p.matmul(x, w) + b)
                p.add_loss(p.reduce_sum(b, name="extra"))
                p.add_loss(p.reduce_sum(w, name="other"), "mine")
                p.add_loss(p.reduce_sum(w, name="nowhere"), None)
                p.get_losses(scope)
                one = p.get_total_loss(scope=scope, name="tower_loss")
                p.reuse_variables(p.get_variable_scope())
    p.get_losses()
    p.get_regularization_losses()
    p.get_regularization_losses("w")
    totals = [one, p.get_total_loss(), p.get_total_loss(False), p.get_regularization_loss(),
              p.get_regularization_loss("b", "of_b"), p.get_total_loss(True, "named", "tower_1")]
    p.get_total_loss(scope="elsewhere")
    grads = p.gradients([totals[1]], [w, b])
    p.run([p.global_variables_initializer()])
    p.run(totals + [grads[0], grads[1]])
    return p


def unknown_sizes():
    p = Program("unknown_sizes", "batches whose size a run tells")
    x = p.placeholder("float32", [None, CLASSES], name="x")
    ids = p.placeholder("int64", [None], name="ids")
    one_hot = p.placeholder("float32", [None, CLASSES], name="one_hot")
    losses = [p.sparse_softmax_cross_entropy(ids, x), p.softmax_cross_entropy(one_hot, x),
              p.mean_squared_error(one_hot, x), p.sigmoid_cross_entropy(one_hot, x, 0.5),
              p.mean_squared_error(one_hot, x, reduction="weighted_mean"),
              p.mean_squared_error(one_hot, x, reduction="weighted_sum_over_batch_size"),
              p.log_loss(one_hot, p.sigmoid(x), reduction="none"),
              p.softmax_cross_entropy(one_hot, x, label_smoothing=0.1)]
    grads = [p.gradients([loss], [x]) for loss in losses]
    for rows in (1, 5, 0):
        p.run(losses + [grad[0] for grad in grads],
              [[x, generate(1, [rows, CLASSES])], [ids, generate(2, [rows], modulo=CLASSES,
                                                                 dtype="int64")],
               [one_hot, generate(3, [rows, CLASSES], kind="positive")]])
    return p


def unknown_weights():
    p = Program("unknown_weights", "weights that fit, or do not, as a run tells")
    x = p.placeholder("float32", [None, CLASSES], name="x")
    ids = p.placeholder("int32", [None], name="ids")
    flat = p.placeholder("float32", [None], name="flat")
    rows = p.placeholder("float32", [None, 1], name="rows")
    losses = [p.sparse_softmax_cross_entropy(ids, x, flat), p.absolute_difference(x, x * 2.0, rows),
              p.absolute_difference(x, x * 2.0, rows, reduction="weighted_mean")]
    p.absolute_difference(x, x * 2.0, flat)
    grads = [p.gradients([loss], [x, flat, rows]) for loss in losses]
    for count in (4, 1, 3):
        p.run(losses + [grads[0][0], grads[1][0]],
              [[x, generate(1, [4, CLASSES])], [ids, [2, 0, 1, 1]],
               [flat, generate(2, [count], kind="positive")],
               [rows, generate(3, [count, 1], kind="positive")]])
    return p


def ops():
    p = Program("ops", "what losses are made of: quotients by zero, cross entropy of classes")
    a = p.get_variable("a", initializer=[1.0, -2.0, 0.0, 4.0])
    b = p.get_variable("b", initializer=[0.0, 4.0, 0.0, -0.5])
    quotients = [p.div_no_nan(a, b), p.div_no_nan(a, 0.0), p.div_no_nan(3.0, b, name="named"),
                 p.div_no_nan([1, 6], [0, 4]), p.div_no_nan(a, 2.0)]
    x = p.get_variable("x", initializer=generate(1, [2, 3, 4], exponent=2))
    labels = p.get_variable("labels", initializer=generate(2, [2, 3, 4], kind="positive"))
    entropies = [p.softmax_cross_entropy_with_logits_v2(labels, x),
                 p.softmax_cross_entropy_with_logits(labels, x, "named"),
                 p.softmax_cross_entropy_with_logits(labels, x)]
    p.softmax_cross_entropy_with_logits_v2(labels, [1.0, 2.0])
    grads = [p.gradients([quotients[0]], [a, b]), p.gradients([quotients[2]], [b])]
    grads += [p.gradients([p.square(entropy)], [x, labels]) for entropy in entropies]
    second = p.gradients([p.square(grads[2][0])], [x])
    p.run([p.global_variables_initializer()])
    p.run(quotients + entropies)
    p.run([grads[0][0], grads[0][1], grads[1][0], grads[2][0], grads[2][1], grads[3][0],
           grads[4][0], second[0]])
    return p


def programs():
    return [plain(), reductions(), weights(), options(), listed(), unknown_sizes(),
            unknown_weights(), ops()]

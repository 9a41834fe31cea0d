"""Clipping tensors and slices by value and norm; decaying learning rates; losses and moments."""

from oracle.builder import Program, generate, initializer


def by_value():
    p = Program("by_value", "values beyond a bound, on it, and inside")
    x = p.get_variable("x", initializer=[[-3.0, -1.0, 0.5], [1.0, 2.0, 0.0]])
    bound = p.placeholder("float32", [], name="bound")
    results = [p.clip_by_value(x, -1.0, 1.0), p.clip_by_value(x, bound, 1.5, name="named"),
               p.clip_by_value(x, [[-1.0, -2.0, 0.0], [0.0, 0.0, 0.0]], x),
               p.clip_by_value([1, 5, 9], 2, 6)]
    grads = [p.gradients([p.reduce_sum(p.square(results[i]))], [x]) for i in range(3)]
    p.clip_by_value(p.constant(1.0), [-1.0, 0.0], 1.0)
    p.clip_by_value(x, -1, 1.0)
    p.run([p.global_variables_initializer()])
    p.run(results + [grad[0] for grad in grads], [[bound, -0.75]])
    return p


def by_norm():
    p = Program("by_norm", "tensors longer and shorter than allowed, and of length zero")
    x = p.get_variable("x", initializer=[[3.0, 4.0], [0.0, 0.0], [0.1, 0.2]])
    limit = p.placeholder("float32", [], name="limit")
    results = [p.clip_by_norm(x, 1.0), p.clip_by_norm(x, 100.0), p.clip_by_norm(x, 1.0, [1]),
               p.clip_by_norm(x, limit, name="named"), p.clip_by_norm(x, -1.0, [0])]
    grads = [p.gradients([p.reduce_sum(p.square(results[i]))], [x]) for i in range(4)]
    p.run([p.global_variables_initializer()])
    for value in (0.5, -2.0):
        p.run(results + [grad[0] for grad in grads], [[limit, value]])
    return p


def by_global_norm():
    p = Program("by_global_norm", "all gradients by one factor; absent ones, slices, bad norms")
    w = p.get_variable("w", initializer=generate(3, [5, 2]))
    with p.device("/gpu:0"):
        b = p.get_variable("b", initializer=generate(4, [2]))
    unused = p.get_variable("unused", [2])
    rows = p.gather(w, p.constant([3, 1, 3]))
    loss = p.reduce_sum(p.square(rows * b))
    opt = p.GradientDescentOptimizer(0.5)
    pairs = p.compute_gradients(opt, loss, [w, b, unused])
    grads = [pairs[i][0] for i in range(3)]
    norm = p.global_norm(grads)
    limit = p.placeholder("float32", [], name="limit")
    clipped = [p.clip_by_global_norm(grads, 1.0), p.clip_by_global_norm(grads, limit, name="named"),
               p.clip_by_global_norm(grads, 2, p.constant(8.0)),
               p.clip_by_global_norm([b, b * 2.0], 0.25)]
    p.clip_by_value(grads[0], -0.25, 0.25)
    p.clip_by_norm(grads[0], 0.5)
    with p.name_scope("train"):
        p.clip_by_global_norm([grads[1]], 1.0)
    train = p.apply_gradients(opt, [[clipped[0][0][i], pairs[i][1]] for i in range(3)])
    values = [norm] + [clipped[k][1] for k in range(4)]
    values += [clipped[k][0][1] for k in range(4)]
    p.run([p.global_variables_initializer()])
    for value in (0.5, 1000.0, 0.0):
        p.run(values, [[limit, value]])
    p.run([train])
    p.run([w, b])
    broken = p.constant([1.0]) / 0.0
    wrong = p.clip_by_global_norm([broken, b], 1.0)
    p.run([wrong[0][0], wrong[0][1], wrong[1]])
    p.global_norm([])
    p.global_norm([grads[2]])
    p.clip_by_global_norm([], 1.0)
    return p


def rates():
    p = Program("decaying_rates", "exponential_decay, smooth and in steps")
    step = p.get_or_create_global_step()
    other = p.get_variable("other", [], initializer=initializer("zeros"), trainable=False)
    rate = p.constant(0.5, "float64")
    results = [p.exponential_decay(0.1, step, 3, 0.5),
               p.exponential_decay(0.1, step, 3, 0.5, staircase=True, name="stairs"),
               p.exponential_decay(rate, step, 2.5, 0.9),
               p.exponential_decay(0.1, other, p.constant(4), 0.5),
               p.exponential_decay(0.25, 7, 2, 0.5)]
    with p.name_scope("train"):
        p.exponential_decay(0.1, step, 100000, 0.96)
    p.run([p.global_variables_initializer()])
    for i in range(4):
        p.run(results)
        p.run([p.assign_add(step, 2), p.assign_add(other, 1.5)], compare="shape")
    return p


def more_rates():
    p = Program("falling_rates", "natural, inverse time, polynomial and cosine decay")
    step = p.get_or_create_global_step()
    rate = p.constant(0.5, "float64")
    results = [p.natural_exp_decay(0.1, step, 3, 0.5),
               p.natural_exp_decay(0.1, step, 3, p.constant(0.25), staircase=True, name="natural"),
               p.inverse_time_decay(0.1, step, 3, 0.5),
               p.inverse_time_decay(rate, step, 3, 0.5, staircase=True, name="inverse"),
               p.polynomial_decay(0.1, step, 5),
               p.polynomial_decay(0.1, step, 5, 0.01, 2.0, name="squared"),
               p.polynomial_decay(rate, step, 2, 0.01, power=0.5, cycle=True),
               p.polynomial_decay(0.1, step, 2.0, cycle=True, name="again"),
               p.cosine_decay(0.1, step, 5), p.cosine_decay(0.1, step, 4, 0.2, name="wave"),
               p.cosine_decay(0.25, 7, 100)]
    with p.name_scope("train"):
        p.inverse_time_decay(0.1, step, 100, 0.96), p.polynomial_decay(0.1, step, 100)
        p.cosine_decay(0.1, step, 100), p.natural_exp_decay(0.1, step, 100, 0.9)
    p.cosine_decay(rate, step, 100), p.polynomial_decay(0.1, step, p.constant(4), cycle=True)
    p.run([p.global_variables_initializer()])
    for i in range(4):
        p.run(results)
        p.run([p.assign_add(step, 2)], compare="shape")
    return p


def layers():
    p = Program("layers", "moments, batch normalisation, sigmoid cross entropy")
    x = p.get_variable("x", initializer=generate(1, [4, 3, 2], exponent=1))
    vector = p.get_variable("vector", initializer=generate(2, [2], kind="positive"))
    results = []
    for axes, keep in (([0, 1], False), ([0], True), ([2], False), ([-1, 0], False)):
        pair = p.moments(x, axes, keepdims=keep)
        results += [pair[0], pair[1]]
    p.moments(x, [3])
    pair = p.moments(x, [0, 1], name="stats")
    results += [p.batch_normalization(x, pair[0], pair[1], vector, vector, 0.001),
                p.batch_normalization(x, pair[0], pair[1], None, vector, 0.001),
                p.batch_normalization(x, pair[0], pair[1], vector, None, 0.001, name="norm"),
                p.batch_normalization(x, pair[0], pair[1], None, None, 0.1)]
    labels = p.constant(generate(3, [4, 3, 2], kind="positive"))
    results += [p.sigmoid_cross_entropy_with_logits(labels, x),
                p.sigmoid_cross_entropy_with_logits(labels, x * 100.0, name="far")]
    p.sigmoid_cross_entropy_with_logits(labels, vector)
    p.sigmoid_cross_entropy_with_logits(labels)
    # Weighted, since the plain sum of squares of normalized values hardly depends on x.
    losses = [p.reduce_sum(p.square(r) * labels) for r in results[8:]]
    grads = [p.gradients([loss], [x]) for loss in losses]
    p.run([p.global_variables_initializer()])
    p.run(results)
    p.run([grad[0] for grad in grads])
    return p


def summaries():
    p = Program("merged", "merged summaries, their names and collections")
    x = p.placeholder("float32", [], name="x")
    one, two = p.summary_scalar("one", x), p.summary_scalar("two", x * 2.0)
    both = p.summary_merge([one, two])
    named = p.summary_merge([both], name="all of it", collections=["mine", "summary_op"])
    with p.name_scope("tower_0"):
        p.summary_merge([one])
    twice = p.summary_merge([one, both])
    p.summary_merge([x])
    p.summary_merge([])
    p.run([both, named], [[x, 1.5]])
    p.run([twice], [[x, 1.5]])
    return p


def programs():
    return [by_value(), by_norm(), by_global_norm(), rates(), more_rates(), layers(), summaries()]

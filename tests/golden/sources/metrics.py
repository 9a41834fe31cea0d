"""tf.metrics: nodes, local variables, collections and values over several batches."""

from oracle.builder import Program, generate

THRESHOLDS = [0.25, 0.5, 0.75]
WEIGHTS = [1.0, 0.5, 0.0, 2.0]


def of_values(p, x):
    return [lambda **a: p.metric_mean(x, **a),
            lambda **a: p.metric_mean_tensor(x, **a),
            lambda **a: p.metric_percentage_below(x, 0.25, **a)]


def of_numbers(p, y, x):
    return [lambda **a: p.metric_mean_absolute_error(y, x, **a),
            lambda **a: p.metric_mean_squared_error(y, x, **a),
            lambda **a: p.metric_root_mean_squared_error(y, x, **a),
            lambda **a: p.metric_mean_relative_error(y, x, y, **a)]


COUNTS = ("true_positives", "true_negatives", "false_positives", "false_negatives", "precision",
          "recall")


def of_truths(p, y, x):
    return [lambda kind=kind, **a: getattr(p, "metric_" + kind)(y, x, **a)
            for kind in ("accuracy",) + COUNTS]


def of_scores(p, y, x):
    return ([lambda kind=kind, **a: getattr(p, "metric_%s_at_thresholds" % kind)(
                 y, x, THRESHOLDS, **a) for kind in COUNTS] +
            [lambda curve=curve, method=method, **a: p.metric_auc(
                 y, x, num_thresholds=5, curve=curve, summation_method=method, **a)
             for curve in ("ROC", "PR")
             for method in ("trapezoidal", "careful_interpolation", "minoring", "majoring")])


def batches(p, metrics, feeds):
    p.run([p.local_variables_initializer()])
    p.run([metric[0] for metric in metrics], feeds[0])
    for feed in feeds:
        for metric in metrics:  # each update in a run of its own: their order is not fixed
            p.run([metric[1]], feed)
        p.run([metric[0] for metric in metrics], feed)


def numbers(name, shape, weights):
    p = Program(name, "means of numbers over two batches")
    x = p.placeholder("float32", shape, name="x")
    y = p.placeholder("float32", shape, name="y")
    made = of_values(p, x) if None not in shape else of_values(p, x)[::2]
    made += of_numbers(p, y, x)
    metrics = [kind() for kind in made] + [kind(weights=weights) for kind in made]
    fed = [4 if size is None else size for size in shape]
    batches(p, metrics, [[[x, generate(2 * i, fed)], [y, generate(2 * i + 1, fed)]]
                         for i in range(2)])
    p.get_collection("metric_variables"), p.get_collection("local_variables")
    return p


def truths(name, shape, weights):
    p = Program(name, "counts, precision and recall over two batches")
    x = p.placeholder("int32", shape, name="x")
    y = p.placeholder("int64", shape, name="y")
    made = of_truths(p, y, x)
    metrics = [kind() for kind in made] + [kind(weights=weights) for kind in made]
    fed = [4 if size is None else size for size in shape]
    batches(p, metrics, [[[x, generate(2 * i + 7, fed, dtype="int32", modulo=2)],
                          [y, generate(2 * i + 8, fed, dtype="int64", modulo=2)]]
                         for i in range(2)])
    return p


def scores(name, shape, weights):
    p = Program(name, "counts at thresholds and areas below curves over two batches")
    x = p.placeholder("float32", shape, name="x")
    y = p.placeholder("bool", shape, name="y")
    made = of_scores(p, y, x)
    metrics = [kind() for kind in made] + [kind(weights=weights) for kind in made[::3]]
    metrics.append(p.metric_auc(y, x, thresholds=THRESHOLDS[::-1]))
    rows = 4
    truth = [[True, False, True, True], [False, False, True, False]]
    batches(p, metrics, [[[x, generate(i + 20, [rows], kind="positive")], [y, truth[i]]]
                         for i in range(2)])
    return p


def shapes():
    p = Program("metrics_shapes", "last dimensions of size 1, names, scopes, collections, errors")
    wide = p.placeholder("float32", [4, 1], name="wide")
    flat = p.placeholder("int32", [4], name="flat")
    row = p.constant([1.0, 2.0, 3.0, 4.0])
    p.metric_accuracy(flat, wide)
    p.metric_accuracy(wide, flat, name="right")
    p.metric_accuracy(wide, flat, name="right")
    p.metric_mean_squared_error(p.constant([[1.0], [2.0], [3.0], [4.0]]), row)
    p.metric_accuracy([1, 2], [1, 3])
    p.metric_mean([1.0, 2.0])
    p.metric_mean_cosine_distance(p.constant([[0.6, 0.8]]), p.constant([[1.0, 0.0]]), 1)
    p.metric_mean_cosine_distance(p.constant([[0.6, 0.8]]), p.constant([[1.0, 0.0]]), 1,
                                  weights=[[0.5]], metrics_collections=["m"])
    for kind in (p.metric_mean_absolute_error, p.metric_root_mean_squared_error,
                 p.metric_precision, p.metric_recall, p.metric_true_positives):
        kind(row, row, metrics_collections=["kept"], updates_collections=["updates", "more"],
             name="mine")
        kind(row, p.constant([[1.0], [2.0], [3.0], [4.0]]), weights=[[1.0], [2.0], [3.0], [4.0]])
        kind(row, p.constant([1.0, 2.0, 3.0]))
        kind(row, row, weights=[1.0, 2.0, 3.0])
        kind(row, row, weights=[[1.0, 2.0], [1.0, 2.0], [1.0, 2.0], [1.0, 2.0]])
    p.metric_auc(p.constant([True]), p.constant([0.5]), curve="other")
    p.metric_auc(p.constant([True]), p.constant([0.5]), summation_method="other")
    with p.variable_scope("net"):
        with p.name_scope("eval"):
            p.metric_mean(row, metrics_collections=["kept"])
            p.metric_recall(flat, flat, updates_collections=["kept"])
    p.get_collection("kept"), p.get_collection("updates"), p.get_collection("more")
    p.get_collection("m"), p.get_collection("metric_variables")
    return p


COMPRESSED = True  # nobody reads so much


def programs():
    return [numbers("metrics_numbers", [4, 3], 0.5),
            numbers("metrics_numbers_weighted", [4, 3], [[weight] for weight in WEIGHTS]),
            numbers("metrics_numbers_unknown", [None, 3], [[weight] for weight in WEIGHTS]),
            truths("metrics_truths", [4], WEIGHTS),
            truths("metrics_truths_unknown", [None], 2.0),
            truths("metrics_truths_matrix", [4, 2], [[weight] for weight in WEIGHTS]),
            scores("metrics_scores", [4], WEIGHTS),
            scores("metrics_scores_unknown", [None], 0.5), shapes()]

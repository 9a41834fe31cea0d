"""Values, shapes and errors at the edges of calls, which a change of the kernels must not alter
unseen: found by tests/mutation."""

from oracle.builder import Program


def array(dtype, shape, values):
    return {"array": {"dtype": dtype, "shape": shape, "values": values}}


def shapes():
    p = Program("edges_shapes", "static shapes, and what a gradient reads")
    rows, some = p.placeholder("float32", [None, 3]), p.placeholder("float32")
    p.get_variable("w", [3], partitioner=["min_max", 9, 0])
    flat = p.reshape(rows, [-1])
    p.run([p.gradients([flat], [rows])[0]], feeds=[[rows, [[1.0, 2.0, 3.0]]]])
    p.run([p.gradients([flat], [rows], grad_ys=[p.constant([1.0] * 6)])[0]])
    ones = array("float32", [2, 2, 1, 2], [1.0] * 8)
    p.depthwise_conv2d_backprop_input([1, 4, 4, 1], p.constant(ones), p.placeholder(
        "float32", [1, 4, 4, 2]), [1, 1, 1, 1], "SAME")
    p.grayscale_to_rgb(p.placeholder("float32", [5, 1]))
    p.grayscale_to_rgb(p.placeholder("float32", [1]))
    image = p.placeholder("float32", [1, 4, 4, 1])
    p.atrous_conv2d_transpose(image, p.constant(array("float32", [1, 1, 1, 1], [1.0])),
                              [1, 4, 4, 1], 0, "SAME")
    p.map_fn({"function": {"parameters": ["x"], "calls": [], "returns": {"ref": "x"}}},
             p.constant(1.0))
    p.fill([2], some)
    p.fill([2], p.placeholder("float32", [2]))
    for data_format in ("channels_first", "channels_last"):
        line = p.constant(array("float32", [1, 4, 2], [float(i) for i in range(8)]))
        pooled = p.layer_average_pooling1d(line, 2, 2, data_format=data_format)
        p.run([pooled])
        pooled = p.layer_max_pooling1d(line, 2, 1, data_format=data_format)
        p.run([pooled])
    return p


def random():
    p = Program("edges_random", "every place of a crop, and the draws of a second run")
    p.set_random_seed(5)
    crop = p.random_crop(p.constant([0, 1, 2, 3, 4]), [3], seed=2)
    whole = p.random_crop(p.constant([0, 1, 2]), [3], seed=2)
    chosen = p.multinomial(p.constant([[0.0, 1.0, 0.5], [1.0, 1.0, 1.0]]), 5, seed=3)
    one = p.multinomial(p.constant([[0.0, 1.0, 0.5], [1.0, 1.0, 1.0]]), 1, seed=4)
    for _ in range(6):
        p.run([crop, whole, chosen, one])
    p.run([p.random_shuffle(array("float32", [0, 2], [])), p.random_shuffle([7]),
           p.random_shuffle(array("float32", [4, 0], []))])
    return p


def areas():
    p = Program("edges_areas", "areas under curves of few predictions")
    for method in ("careful_interpolation", "trapezoidal"):
        area = p.metric_auc([False, True, True], p.constant([0.9, 0.6, 0.3]), num_thresholds=4,
                            curve="PR", summation_method=method)
        p.run([p.local_variables_initializer()])
        p.run([area[1]])
        p.run([area[0]])
    return p


def parts_of_metrics():
    p = Program("edges_metrics", "columns, and weights below 1")
    column = p.constant(array("float32", [3, 1], [1.0, 2.0, 4.0]))
    error = p.metric_mean_relative_error(column, p.constant(array(
        "float32", [3, 1], [1.5, 2.0, 3.0])), column)
    iou = p.metric_mean_iou(p.constant([0, 1, 1, 2]), p.constant([0, 1, 0, 1]), 4, weights=p.constant(
        [0.25, 0.5, 0.125, 0.25]))
    same = p.metric_mean_iou(p.constant([1, 1]), p.constant([1, 1]), 3)
    p.run([p.local_variables_initializer()])
    p.run([error[1], iou[1], same[1]])
    p.run([error[0], iou[0], same[0]])
    return p


def bytes_of_numbers():
    p = Program("edges_decode_raw", "numbers from their bytes")
    for dtype in ("float32", "float64", "int16", "uint8"):
        p.run([p.decode_raw(p.constant(["abcdefgh", "ABCDEFGH"]), dtype)])
        p.run([p.decode_raw(p.constant(["abcdefgh"]), dtype)])
        p.run([p.decode_raw(p.constant(array("string", [0], [])), dtype)])
    return p


def datasets():
    p = Program("edges_datasets", "datasets that take nothing")
    for count in (0, -1, 2):
        taken = p.dataset_take(p.dataset_from_tensor_slices([1, 2, 3]), count)
        element = p.get_next(p.one_shot_iterator(taken))
        for _ in range(4):
            p.run([element])
    numbers = p.dataset_range([3])
    single = p.function(lambda e: p.dataset_from_tensors(e), "e")
    for length in (1, -1):
        mixed = p.dataset_interleave(numbers, single, cycle_length=2, block_length=length)
        p.run([p.get_next(p.one_shot_iterator(mixed))])
    kept = p.dataset_skip(p.dataset_cache(p.dataset_from_tensor_slices([0, 1, 2, 3, 4])), 1)
    element = p.get_next(p.one_shot_iterator(p.dataset_skip(p.dataset_repeat(kept, 3), 9)))
    for _ in range(4):
        p.run([element])
    return p


def static_sizes():
    p = Program("edges_sizes", "sizes of which some are known")
    count, rows = p.placeholder("int32", []), p.placeholder("float32", [None, 3])
    p.zeros(p.stack([count, 3]))
    p.zeros(p.stack([count, 0]))
    p.reshape(rows, p.stack([3, count]))
    p.depthwise_conv2d_backprop_input(p.stack([count, 4, 4, 1]), p.placeholder(
        "float32", [2, 2, 1, 2]), p.placeholder("float32", [None, 4, 4, 2]), [1, 1, 1, 1], "SAME")
    p.slim_softmax(p.placeholder("float32", [2, None, 3]))
    pieces = p.TensorArray("float32", 1)
    pieces = p.array_split(pieces, p.placeholder("float32", [4, 2]), [4])
    p.array_read(pieces, 0)
    p.einsum("...i,...i->...i", [p.placeholder("float32", [1, 3]), rows])
    p.einsum("ij,ij->ij", [p.placeholder("float32", [1, 3]), rows])
    p.einsum("...i,...i->...i", [rows, p.placeholder("float32", [1, 3])])
    return p


def products():
    p = Program("edges_products", "products of batches, quotients and products of segments")
    x = p.constant(array("float32", [2, 3, 4], [float(i) for i in range(24)]))
    y = p.constant(array("float32", [3, 2], [1.0, -1.0, 2.0, 0.5, 3.0, 0.25]))
    p.run([p.matmul(x, y, transpose_a=True), p.matmul(y, x, transpose_a=True)])
    wide = array("float64", [2], [4.0, 0.0])
    p.run([p.div_no_nan(3.0, p.constant(wide)), p.div_no_nan(p.constant(wide), 2.0),
           p.div_no_nan(p.constant([3, 0]), p.constant([2, 0]))])
    line = array("float32", [1, 4, 1], [1.0, 2.0, 3.0, 4.0])
    weights = array("float32", [2, 1, 1], [1.0, -1.0])
    p.run([p.convolution(line, weights, padding="VALID"),
           p.convolution(p.constant(line), weights, padding="VALID"),
           p.convolution(line, p.constant(weights), padding="VALID")])
    data = p.constant([1.0, 2.0, 3.0, 0.0, 5.0, 0.0, 0.0, 7.0, 1.0])
    product = p.unsorted_segment_prod(data, [0, 0, 0, 1, 1, 2, 2, 3, 3], 4)
    p.run([product, p.gradients([product], [data])[0]])
    return p


def programs():
    return [static_sizes(), products(), parts_of_metrics(), shapes(), random(), areas(), bytes_of_numbers(), datasets()]

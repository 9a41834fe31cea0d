"""More plain calls that `sweep --kind calls` found to differ (called.py has the first ones)."""

from oracle.builder import Program


def array(dtype, shape, values):
    return {"array": {"dtype": dtype, "shape": shape, "values": values}}


def shapes():
    p = Program("called_again_shapes", "shapes of operands of unknown rank")
    some, column = p.placeholder("float32"), p.placeholder("float32", [None, 2])
    for order in ([0], [1, 0], [], [2, 0], array("int64", [], [0]), p.placeholder("int32", [1]),
                  p.placeholder("int32", [2])):
        p.transpose(some, order)
    for multiples in ([1, 0], [0], [-1, 0], p.placeholder("int32", [2])):
        p.tile(some, multiples)
        p.tile(column, multiples)
    vector, matrix = p.placeholder("float32", [2]), p.placeholder("float32", [2, None])
    for equation in ("abc,cd->abd", "ab,bc->ac", "a,b->ab", "...a,ab->...b", "aa,ab->ab"):
        for pair in ([some, vector], [vector, some], [matrix, some], [some, some]):
            p.einsum(equation, pair)
    index = p.placeholder("int32", [2])
    for depth in ([3], p.placeholder("int32", [1]), p.placeholder("int32", [None])):
        p.one_hot(index, depth)
    return p


def nodes():
    p = Program("called_again_nodes", "constants and copies that a call makes")
    some, photo = p.placeholder("float32"), p.placeholder("float32", [2, 4, 6, 3])
    p.argsort(some, -2), p.sort(some, -2, "DESCENDING")
    for values in ([[5, -2]], [[5, -2], [1, 2]]):
        p.stack([array("int64", [2], row) for row in values])
    p.stack([array("float32", [2], [5.0, -2.0]), [1.0, 2.0]])
    p.stack([array("float64", [2], [5.0, -2.0]), [1.0, 2.0]])
    p.stack([array("int64", [2], [5, -2])], axis=1)
    p.stack([array("int64", [2], [5, 6]), [1, 2]], axis=1)
    p.stack([array("float64", [2], [5.0, 6.0]), p.constant([1.0, 2.0])])
    p.stack([p.constant([1.0, 2.0]), [3.0, 4.0]]), p.stack([[1, 2], p.constant([3, 4]), [5, 6]])
    p.stack([[[1], [2]], p.constant([[3], [4]])]), p.stack([1.0, p.constant(2.0)])
    p.resize_images(photo, [4, 6], preserve_aspect_ratio=True)
    p.resize_images(photo, [3, 3], preserve_aspect_ratio=True)
    p.resize_images(photo, [4, 6])
    return p


def paddings():
    p = Program("called_again_paddings", "dimensions without elements have no mirror")
    for mode in ("REFLECT", "SYMMETRIC"):
        for shape, around in (([0], [[0, 0]]), ([2, 0], [[1, 1], [0, 0]]), ([1], [[0, 0]])):
            given = p.constant(array("float32", shape, [1.0] if shape == [1] else []))
            padded = p.pad(given, around, mode)
            p.run([padded])
            p.run([p.gradients([padded], [given])[0]])
    return p


def gradients():
    p = Program("called_again_gradients", "gradients of gathers of unknown rank, of empty rows")
    table, places = p.placeholder("float32"), p.placeholder("int64")
    numbers = array("float32", [2, 3, 2], [float(i) for i in range(12)])
    for axis, batch_dims in ((1, 0), (-1, 0), (2, 1), (-2, 1)):
        rows = p.gather(table, places, axis=axis, batch_dims=batch_dims)
        slope = p.gradients([rows], [table])
        p.run([rows, slope[0]], feeds=[[table, numbers], [places, [[0, 1], [1, 1]]]])
    p.gradients([p.gather(table, places, axis=1, batch_dims=-1)], [table])
    mask = p.placeholder("bool", [None])
    chosen = p.boolean_mask(table, mask, axis=1)
    slope = p.gradients([chosen], [table])
    p.run([chosen, slope[0]], feeds=[[table, numbers], [mask, [True, False, True]]])
    image, unit = p.placeholder("float32", [1, 2, 1, 2]), [1.0, 1.0]
    normal = p.fused_batch_norm(image, unit, unit, array("float32", [2], ["nan", 0.5]), unit,
                                is_training=False)
    slope = p.gradients([normal[0]], [image])
    p.run([slope[0]], feeds=[[image, array("float32", [1, 2, 1, 2], ["nan", 2.0, 3.0, 4.0])]])
    empty = p.constant(array("float32", [0, 4, 2], []))
    largest = p.top_k(empty, 0)
    p.run([p.gradients([largest[0]], [empty])[0]])
    return p


def errors():
    p = Program("called_again_errors", "what the graph refuses, and what the run does")
    logits, targets = p.placeholder("float32", [2, 5]), p.placeholder("int32", [2])
    feeds = [[logits, [[1.0, 2.0, 3.0, 4.0, 5.0]] * 2], [targets, [4, 1]]]
    for k in ([1, 1], p.constant([1]), 2):
        p.run([p.in_top_k(logits, targets, k)], feeds=feeds)
    vector, block = p.placeholder("float32", [None]), p.placeholder("int64", [3, 1, 3])
    for op in (p.tensor_scatter_nd_update, p.tensor_scatter_nd_add):
        p.run([op(vector, [[0], [2], [1]], p.constant(1.0))], feeds=[[vector, [1.0, 2.0, 3.0]]])
        op(block, [0, 0, 0, 1], p.placeholder("int64", [1]))
        op(block, p.placeholder("int32", [2, None]), p.placeholder("int64", [3, 3, 3]))
        op(block, p.placeholder("int32", [0, 1]), p.placeholder("int64", []))
        op(p.placeholder("int64", []), [[0]], p.placeholder("int64", [1]))
    p.scatter_nd([[0], [2]], p.constant(1.0), [3])
    p.scatter_nd([0, 2], p.placeholder("float32", [1]), [3])
    p.scatter_nd([0, 2], p.placeholder("float32", [3]), [3])
    one = p.placeholder("float32", [1])
    for sizes in ([3, -1], [-1]):
        p.run([p.broadcast_to(one, sizes)], feeds=[[one, [1.0]]])
    table, sizes = p.placeholder("float32", [3, 2]), p.placeholder("int32", [2])
    large = p.broadcast_to(table, sizes)
    for fed in ([3, 2], [3, 1], [2, 2]):
        p.run([large], feeds=[[table, [[1.0, 2.0]] * 3], [sizes, fed]])
    p.broadcast_to(p.placeholder("float32", [3, 2]), [-1, -1, 2])
    p.scalar_mul(p.placeholder("float32"), one)
    p.broadcast_to(p.placeholder("float32", [3, 2]), [3, -2])
    p.run([p.tile(one, [-1])], feeds=[[one, [1.0]]])
    nothing = p.placeholder("float32", [0])
    p.run([p.tile(nothing, [-1])], feeds=[[nothing, []]])
    blank = p.placeholder("float32", [2, 5, 4, 0])
    for padding in ("VALID", "SAME"):
        p.max_pool(blank, [1, 3, 2, 1], [1, 1, 3, 1], padding)
        p.avg_pool(blank, [1, 3, 2, 1], [1, 1, 3, 1], padding)
        p.max_pool_with_argmax(blank, [1, 3, 2, 1], [1, 1, 3, 1], padding)
    p.atrous_conv2d(p.placeholder("float32", [1, 3, 3, 1]), p.placeholder("float32", [2, 1, 1, 2, 1]),
                    2, "SAME")
    p.logical_xor([[], []], array("bool", [2, 1, 3], [True, False, True, False, True, True]))
    p.logical_and([], array("bool", [1], [True]))
    p.logical_or(array("bool", [1], [True]), [])
    return p


def programs():
    return [shapes(), nodes(), paddings(), gradients(), errors()]

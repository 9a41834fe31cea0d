"""Plain calls that `sweep --kind calls` found to differ: shapes from values, names, errors."""

from oracle.builder import Program


def array(dtype, shape, values):
    return {"array": {"dtype": dtype, "shape": shape, "values": values}}


def shapes():
    p = Program("called_shapes", "what the graph knows of shapes when sizes are unknown or zero")
    some = p.placeholder("float32", [None, None])
    none = p.constant(array("float32", [1, 0], []))
    p.xlogy(none, some)
    p.multiply(some, p.constant(array("float32", [0, 3], [])))
    sizes = p.placeholder("int64", [2])
    p.broadcast_to([1.0, 2.0], sizes)
    p.broadcast_to(p.placeholder("float32", [2, 1]), sizes)
    p.broadcast_to([], p.constant([2, 3]))
    p.broadcast_to([1.0, 2.0], p.constant([2, 3]))
    p.tile(some, [0, 2])
    p.einsum("ij,jk->ik", [p.placeholder("float32"), p.placeholder("float32", [3, 2])])
    p.where([[True, False]], some, p.placeholder("float32", [None, None]))
    p.matrix_set_diag(p.placeholder("float32", [None, 2, 2]), [[1.0, 2.0], [3.0, 4.0]])
    p.matrix_set_diag(p.placeholder("float32"), [[1.0, 2.0], [3.0, 4.0]])
    p.invert_permutation(p.placeholder("int32"))
    p.size(p.placeholder("int64", [None, 0]))
    p.tile(none, p.placeholder("int32", [2]))
    p.matrix_band_part(some, p.placeholder("int64"), p.constant(array("int64", [2], [3, 1])))
    p.expand_dims(some, p.placeholder("int32", []))
    axis = p.placeholder("int32", [])
    p.split(p.placeholder("float32", [2, 3]), [3], axis)
    return p


def blocks():
    p = Program("called_blocks", "blocks of unknown sizes, images of another rank")
    block = p.placeholder("int32", [2])
    images = p.placeholder("float32", [2, 4, 4, 3])
    p.space_to_batch_nd(images, block, [[0, 0], [0, 0]])
    p.batch_to_space_nd(p.placeholder("float32", [8, 2, 2, 3]), block, [[0, 0], [0, 0]])
    p.batch_to_space(p.placeholder("float32"), [[0, 0], [0, 0]], 2)
    p.space_to_batch(p.placeholder("float32", [1, 4, 4]), [[0, 0], [0, 0]], 2)
    p.space_to_batch_nd(images, p.placeholder("int32"), [[0, 0], [0, 0]])
    p.required_space_to_batch_paddings([4], p.placeholder("int32"), [[0, 0]])
    unknown = p.placeholder("float32")
    kernel = p.constant([[[[1.0]], [[2.0]]], [[[3.0]], [[4.0]]]])
    dilated = p.atrous_conv2d(unknown, kernel, 2, "SAME")
    image = array("float32", [1, 3, 3, 1], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0])
    p.run([dilated], feeds=[[unknown, image]])
    rows = p.placeholder("float32", [None, 2, 2, 1])
    p.conv2d_transpose(rows, kernel, [2, 4, 4, 1], [1, 2, 2, 1], "SAME")
    return p


def names():
    p = Program("called_names", "names and dtypes of the constants that calls make")
    p.transpose(array("float64", [1, 2], [1.0, 2.0]), [1, 0])
    p.unstack([[1.0, 2.0]], num=1)
    p.unstack([[1.0, 2.0]])
    p.round([1.5, 2.5])
    p.round([1, 2])
    p.range(array("float64", [], [2.0]))
    p.range(p.constant(array("int64", [], [3])))
    p.run([p.range(0, p.constant(2.0), 1)])
    p.sequence_mask(p.placeholder("int32"))
    p.matrix_band_part([[1.0, 2.0]], array("int64", [], [0]), array("int64", [], [1]))
    return p


def images():
    p = Program("called_images", "images of unknown sizes, and one of a single column")
    p.hsv_to_rgb(p.placeholder("float32", [1, 1, None]))
    p.extract_image_patches(p.placeholder("float32", [1, None, 4, 2]), [1, 1, 2, 1],
                            [1, 1, 1, 1], [1, 1, 1, 1], "VALID")
    column = array("float32", [1, 4, 1, 1], [1.0, 2.0, 4.0, 8.0])
    p.run([p.resize_area(p.constant(column), [6, 2], align_corners=True)])
    grey = p.placeholder("float32")
    coloured = p.grayscale_to_rgb(grey)
    ends = p.constant(array("float32", [1, 1, 2, 3], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]))
    slope = p.gradients([coloured], [grey], [ends])
    p.run([slope[0]], feeds=[[grey, array("float32", [1, 1, 2, 1], [1.0, 2.0])]])
    return p


def gradients():
    p = Program("called_gradients", "gradients that need no feed, or are dense")
    labels = p.placeholder("float32", [None])
    loss = p.softmax_cross_entropy_with_logits_v2(labels, [1.0, 2.0])
    p.run([p.gradients([loss], [labels])[0]])
    table = p.constant([[1.0, 2.0], [3.0, 4.0]])
    rows = p.gather(table, [1, 0, 1], axis=-2)
    p.run([p.gradients([rows], [table])[0]])
    p.gather(p.placeholder("float32", [None, None, None]), p.placeholder("int32", [3, 1]), axis=2,
             batch_dims=1)
    p.embedding_lookup(array("float32", [2, 1], [1.0, 2.0]), p.constant([1]))
    row = p.embedding_lookup(table, p.constant(1), max_norm=1.0)
    p.run([row])
    return p


def errors():
    p = Program("called_errors", "errors of values that the graph knows, and of the run")
    p.confusion_matrix([1, 1], p.constant([3, 1]), num_classes=p.constant(2))
    p.confusion_matrix(p.constant([1, -1]), [0, 1])
    left = p.placeholder("int32", [2])
    p.bias_add([[1.0, 2.0]], [1.0, 2.0], data_format="NCHW")
    p.scatter_nd(array("int32", [1, 1], [0]), p.placeholder("float32"), p.constant([0]))
    p.scatter_nd(array("int64", [2, 3, 1, 2], [0] * 12), p.constant([[1, 2, 3], [4, 5, 6]]),
                 array("int64", [1], [2]))
    p.tensor_scatter_nd_add(p.constant(array("float32", [0, 2], [])), [[0, 0]],
                            p.placeholder("float32"))
    p.run([p.where(p.constant(True))])
    p.run([p.unique_with_counts(p.constant(1.0))[0]])
    for op in (p.truncatemod, p.truncatediv, p.floormod, p.floordiv):
        p.run([op(left, [1, 0])], feeds=[[left, [1, 2]]])
    return p


def programs():
    return [shapes(), blocks(), names(), images(), gradients(), errors()]

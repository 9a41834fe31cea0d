"""Convolutions and pooling."""

from .writer import FLOATS

# TensorFlow's kernels of float64 have gaps: docs/differences.md.
KINDS = ("float32", "float32", "float32", "float64")


def padding(w):
    return w.pick(("SAME", "VALID")) if w.chance(0.97) else w.pick(("same", "FULL"))


def image(w, dtypes=KINDS, channels=None, order="NHWC", least=3):
    """Returns a batch of images."""
    sizes = [w.pick((1, 2)), w.rng.randrange(least, 7), w.rng.randrange(least, 7),
             channels or w.pick((1, 2, 3))]
    if order == "NCHW":
        sizes = [sizes[0], sizes[3], sizes[1], sizes[2]]
    return w.operand(dtypes, sizes, "fine")


def spatial(w, high, low, order="NHWC"):
    return [1, high, low, 1] if order == "NHWC" else [1, 1, high, low]


def order_of(w):
    # TensorFlow's kernels for CPUs know only NHWC.
    return {"data_format": "NHWC"} if w.chance(0.2) else {}


def window(w):
    """Returns strides or dilations larger than one, not both."""
    if w.chance(0.25):
        return {"strides": [1, 1, 1, 1],
                "dilations": spatial(w, w.pick((1, 2)), w.pick((1, 2, 3)))}
    return {"strides": w.pick((spatial(w, w.pick((1, 2)), w.pick((1, 2, 3))), [1, 1, 1, 1]))}


def conv2d(w):
    x = image(w)
    if len(x.sizes) != 4:
        return None
    groups = w.pick((1, 1, 1, 2)) if x.sizes[3] % 2 == 0 else 1
    kernel = [w.pick((1, 2, 3)), w.pick((1, 2, 3)), x.sizes[3] // groups, groups * w.pick((1, 2))]
    args = {"input": x, "filter": w.operand(x.dtype, kernel, "fine"), "padding": padding(w),
            **window(w), **order_of(w)}
    if w.chance(0.1):
        args["padding"] = [[0, 0], [w.pick((0, 1)), w.pick((0, 2))], [1, 0], [0, 0]]
    return args


def out_size(size, kernel, stride, padded):
    return -(-size // stride) if padded == "SAME" else max(-(-(size - kernel + 1) // stride), 0)


def backward(w, depthwise=False):
    """Returns the sizes of a convolution: of images, kernel and result, and its arguments."""
    sizes = [w.pick((1, 2)), w.rng.randrange(3, 7), w.rng.randrange(3, 7), w.pick((1, 2, 3))]
    kernel = [w.pick((1, 2, 3)), w.pick((1, 2, 3)), sizes[3], w.pick((1, 2))]
    padded, step = w.pick(("SAME", "VALID")), w.pick((1, 2))
    out = [sizes[0]] + [out_size(sizes[i], kernel[i - 1], step, padded) for i in (1, 2)] + \
        [kernel[3] * (kernel[2] if depthwise else 1)]
    return sizes, kernel, out, {"strides": [1, step, step, 1], "padding": padded}


def backprop_input(depthwise):
    def make(w):
        sizes, kernel, out, args = backward(w, depthwise)
        dtype = w.pick(FLOATS)
        return dict(args, input_sizes=w.integers(sizes, only="int32"),
                    filter=w.operand(dtype, kernel, "fine"),
                    out_backprop=w.operand(dtype, out, "fine"))
    return make


def backprop_filter(depthwise):
    def make(w):
        sizes, kernel, out, args = backward(w, depthwise)
        dtype = w.pick(FLOATS)
        return dict(args, input=w.operand(dtype, sizes, "fine"),
                    filter_sizes=w.integers(kernel, only="int32"),
                    out_backprop=w.operand(dtype, out, "fine"))
    return make


def transposed(w):
    sizes, kernel, out, args = backward(w)
    dtype = w.pick(FLOATS)
    if w.chance(0.4):
        args["strides"] = args["strides"][1]
    return dict(args, value=w.operand(dtype, out, "fine"),
                filter=w.operand(dtype, kernel, "fine"),
                output_shape=w.integers(sizes, only="int32"))


def depthwise_native(w):
    x = image(w)
    if len(x.sizes) != 4:
        return None
    step = w.pick((1, 1, 2))
    kernel = [w.pick((1, 2, 3)), w.pick((1, 2, 3)), x.sizes[3], w.pick((1, 2))]
    return {"input": x, "filter": w.operand(x.dtype, kernel, "fine"),
            "strides": [1, step, step, 1], "padding": padding(w)}


def depthwise(w):
    args = depthwise_native(w)
    if args is not None and w.chance(0.3):
        args.update(strides=[1, 1, 1, 1], rate=[w.pick((1, 2)), w.pick((1, 2))])
    return args


def separable(w):
    args = depthwise(w)
    if args is None:
        return None
    kernel = args.pop("filter")
    if len(kernel.sizes) != 4:
        return None
    points = [1, 1, kernel.sizes[2] * kernel.sizes[3], w.pick((1, 2, 3))]
    return dict(args, depthwise_filter=kernel, pointwise_filter=w.operand(kernel.dtype, points))


def conv1d(w):
    channels = w.pick((1, 2, 3))
    x = w.operand(KINDS, [w.pick((1, 2)), w.rng.randrange(3, 8), channels], "fine")
    args = {"value": x, "padding": padding(w), "stride": w.pick((1, 1, 2, 3)),
            "filters": w.operand(x.dtype, [w.pick((1, 2, 3)), channels, w.pick((1, 2))], "fine")}
    if args["stride"] == 1:
        args.update(w.maybe(0.25, dilations=2))
    if "dilations" in args:
        args["dilations"] = [args["dilations"]]
    return args


def convolution(w):
    dims = w.pick((1, 2, 2))
    channels = w.pick((1, 2))
    x = w.operand(KINDS, [w.pick((1, 2))] + [w.rng.randrange(3, 8) for _ in range(dims)]
                  + [channels], "fine")
    kernel = [w.pick((1, 2, 3)) for _ in range(dims)] + [channels, w.pick((1, 2))]
    args = {"input": x, "filter": w.operand(x.dtype, kernel, "fine"), "padding": padding(w)}
    which = w.pick(("strides", "dilation_rate", ""))
    if which:
        args[which] = [w.pick((1, 2)) for _ in range(dims)]
    return args


def atrous(w):
    x = image(w)
    if len(x.sizes) != 4:
        return None
    kernel = [w.pick((1, 2, 3)), w.pick((1, 2, 3)), x.sizes[3], w.pick((1, 2))]
    return {"value": x, "filters": w.operand(x.dtype, kernel, "fine"),
            "rate": w.pick((1, 2, 3)), "padding": padding(w)}


def atrous_transposed(w):
    sizes = [w.pick((1, 2)), w.rng.randrange(5, 9), w.rng.randrange(5, 9), w.pick((1, 2))]
    kernel = [w.pick((1, 2, 3)), w.pick((1, 2, 3)), sizes[3], w.pick((1, 2))]
    rate, padded = w.pick((1, 2)), w.pick(("SAME", "VALID"))
    out = [sizes[0]] + [out_size(sizes[i], (kernel[i - 1] - 1) * rate + 1, 1, padded)
                        for i in (1, 2)] + [kernel[3]]
    dtype = w.pick(FLOATS)
    return {"value": w.operand(dtype, out, "fine"), "filters": w.operand(dtype, kernel, "fine"),
            "output_shape": sizes, "rate": rate, "padding": padded}


def pooling(w):
    x = image(w, KINDS)
    return {"value": x, "ksize": spatial(w, w.pick((1, 2, 3)), w.pick((1, 2, 3))),
            "strides": spatial(w, w.pick((1, 2)), w.pick((1, 2, 3))), "padding": padding(w)}


def pool(w):
    dims = w.pick((1, 2, 2))
    x = w.operand(KINDS, [w.pick((1, 2))] + [w.rng.randrange(3, 8) for _ in range(dims)] + [2],
                  "fine")
    args = {"input": x, "window_shape": [w.pick((1, 2, 3)) for _ in range(dims)],
            "pooling_type": w.pick(("MAX", "AVG")), "padding": padding(w)}
    which = w.pick(("strides", "dilation_rate", ""))
    if which:
        args[which] = [w.pick((1, 2)) for _ in range(dims)]
    return args


def max_pool_with_argmax(w):
    x = image(w, ("float32", "float32", "float64"))
    return {"input": x, "ksize": spatial(w, w.pick((1, 2, 3)), w.pick((1, 2, 3))),
            "strides": spatial(w, w.pick((1, 2)), w.pick((1, 2))), "padding": padding(w),
            **w.maybe(0.3, include_batch_in_index=True),
            **w.maybe(0.3, Targmax=w.pick(("int32", "int64")))}


CALLS = [("conv2d", conv2d), ("conv2d", conv2d), ("conv2d_backprop_input", backprop_input(False)),
         ("conv2d_backprop_filter", backprop_filter(False)), ("conv2d_transpose", transposed),
         ("depthwise_conv2d_native", depthwise_native),
         ("depthwise_conv2d_backprop_input", backprop_input(True)),
         ("depthwise_conv2d_backprop_filter", backprop_filter(True)),
         ("depthwise_conv2d", depthwise), ("separable_conv2d", separable), ("conv1d", conv1d),
         ("convolution", convolution), ("atrous_conv2d", atrous),
         ("atrous_conv2d_transpose", atrous_transposed), ("max_pool", pooling),
         ("avg_pool", pooling), ("pool", pool), ("max_pool_with_argmax", max_pool_with_argmax)]

"""The plain calls: functions of tensors and values; the words of `sweep --kind calls`."""

import tensorflow.compat.v1 as tf

from .handlers import handler, plain

# Indices, masks, partitions, sets.
plain("where", tf.where, "condition x y name")
plain("where_v2", tf.where_v2, "condition x y name")
plain("slice", tf.slice, "input_ begin size name")
plain("strided_slice", tf.strided_slice,
      "input_ begin end strides begin_mask end_mask ellipsis_mask new_axis_mask shrink_axis_mask "
      "name")
plain("gather", tf.gather, "params indices name axis batch_dims")
plain("gather_nd", tf.gather_nd, "params indices name")
plain("scatter_nd", tf.scatter_nd, "indices updates shape name")
for name in ("tensor_scatter_nd_update", "tensor_scatter_nd_add", "tensor_scatter_nd_sub"):
    plain(name, getattr(tf, name), "tensor indices updates name")
plain("sparse_to_dense", tf.sparse_to_dense,
      "sparse_indices output_shape sparse_values default_value validate_indices name")
plain("unique", tf.unique, "x out_idx name")
plain("unique_with_counts", tf.unique_with_counts, "x out_idx name")
plain("setdiff1d", tf.setdiff1d, "x y index_dtype name")
plain("dynamic_partition", tf.dynamic_partition, "data partitions num_partitions name")
plain("dynamic_stitch", tf.dynamic_stitch, "indices data name")
plain("sort", tf.sort, "values axis direction name")
plain("argsort", tf.argsort, "values axis direction stable name")
plain("top_k", tf.nn.top_k, "input k sorted name")
plain("argmin", tf.argmin, "input axis name output_type")

# Tensors that are made or rearranged.
plain("diag", tf.diag, "diagonal name")
plain("diag_part", tf.diag_part, "input name")
plain("matrix_diag", tf.matrix_diag,
      "diagonal name k num_rows num_cols padding_value align")
plain("matrix_diag_part", tf.matrix_diag_part, "input name k padding_value align")
plain("matrix_set_diag", tf.matrix_set_diag, "input diagonal name k align")
plain("matrix_band_part", tf.matrix_band_part, "input num_lower num_upper name")
plain("trace", tf.trace, "x name")
plain("eye", tf.eye, "num_rows num_columns batch_shape dtype name")
plain("linspace", tf.linspace, "start stop num name")
plain("sequence_mask", tf.sequence_mask, "lengths maxlen dtype name")
plain("space_to_batch_nd", tf.space_to_batch_nd, "input block_shape paddings name")
plain("batch_to_space_nd", tf.batch_to_space_nd, "input block_shape crops name")
plain("space_to_batch", tf.space_to_batch, "input paddings block_size name")
plain("batch_to_space", tf.batch_to_space, "input crops block_size name")
plain("required_space_to_batch_paddings", tf.required_space_to_batch_paddings,
      "input_shape block_shape base_paddings name")
for name in ("space_to_depth", "depth_to_space"):
    plain(name, getattr(tf, name), "input block_size name data_format")
for name in ("to_float", "to_double", "to_int32", "to_int64"):
    plain(name, getattr(tf, name), "x name")
plain("saturate_cast", tf.saturate_cast, "value dtype name")
plain("broadcast_to", tf.broadcast_to, "input shape name")
plain("ensure_shape", tf.ensure_shape, "x shape name")
plain("placeholder_with_default", tf.placeholder_with_default, "input shape name")
plain("reverse", tf.reverse, "tensor axis name")
plain("roll", tf.roll, "input shift axis name")
plain("reverse_sequence", tf.reverse_sequence, "input seq_lengths seq_axis batch_axis name")
plain("invert_permutation", tf.invert_permutation, "x name")

# Mathematics.
for name in ("cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "asinh", "acosh", "atanh",
             "erf", "erfc", "lgamma", "digamma", "rint", "ceil", "round", "is_inf", "is_finite",
             "logical_not"):
    plain(name, getattr(tf, name), "x name")
for name in ("div", "realdiv", "floor_div", "truncatediv", "truncatemod", "mod", "logical_and",
             "logical_or", "logical_xor"):
    plain(name, getattr(tf, name), "x y name")
for name in ("xdivy", "xlogy", "xlog1py"):
    plain(name, getattr(tf.math, name), "x y name")
plain("atan2", tf.atan2, "y x name")
plain("polygamma", tf.polygamma, "a x name")
plain("scalar_mul", tf.scalar_mul, "scalar x name")
for name in ("reduce_all", "reduce_any", "reduce_logsumexp"):
    plain(name, getattr(tf, name), "input_tensor axis keepdims name")
for name in ("reduce_variance", "reduce_std"):
    plain(name, getattr(tf.math, name), "input_tensor axis keepdims name")
plain("norm", tf.norm, "tensor ord axis keepdims name")
plain("l2_loss", tf.nn.l2_loss, "t name")
for name in ("cumsum", "cumprod"):
    plain(name, getattr(tf, name), "x axis exclusive reverse name")
for name in ("sum", "mean", "prod", "max", "min"):
    plain("segment_" + name, getattr(tf, "segment_" + name), "data segment_ids name")
for name in ("sum", "prod", "max", "min", "mean", "sqrt_n"):
    plain("unsorted_segment_" + name, getattr(tf, "unsorted_segment_" + name),
          "data segment_ids num_segments name")
plain("matmul", tf.matmul, "a b transpose_a transpose_b adjoint_a adjoint_b name")
plain("tensordot", tf.tensordot, "a b axes name")
plain("cross", tf.cross, "a b name")
plain("bincount", tf.bincount, "arr weights minlength maxlength dtype")
plain("histogram_fixed_width", tf.histogram_fixed_width, "values value_range nbins dtype name")
plain("confusion_matrix", tf.confusion_matrix, "labels predictions num_classes dtype name weights")
plain("check_numerics", tf.check_numerics, "tensor message name")

# Neural networks.
plain("softmax", tf.nn.softmax, "logits axis name")
plain("log_softmax", tf.nn.log_softmax, "logits axis name")
plain("softmax_cross_entropy_with_logits_v2", tf.nn.softmax_cross_entropy_with_logits_v2,
      "labels logits axis name")
plain("softmax_cross_entropy_with_logits",
      lambda labels=None, logits=None, dim=-1, name=None: tf.nn.softmax_cross_entropy_with_logits(
          labels=labels, logits=logits, dim=dim, name=name), "labels logits dim name")
plain("weighted_cross_entropy_with_logits", tf.nn.weighted_cross_entropy_with_logits,
      "labels logits pos_weight name")
plain("log_poisson_loss", tf.nn.log_poisson_loss, "targets log_input compute_full_loss name")
plain("mean_pairwise_squared_error", tf.losses.mean_pairwise_squared_error,
      "labels predictions weights scope")
plain("bias_add", tf.nn.bias_add, "value bias data_format name")
for name in ("xw_plus_b", "relu_layer"):
    plain(name, getattr(tf.nn, name), "x weights biases name")
plain("crelu", tf.nn.crelu, "features name axis")
plain("zero_fraction", tf.nn.zero_fraction, "value name")
plain("lrn", tf.nn.lrn, "input depth_radius bias alpha beta name")
plain("embedding_lookup", tf.nn.embedding_lookup, "params ids partition_strategy name max_norm")
plain("fused_batch_norm", tf.nn.fused_batch_norm,
      "x scale offset mean variance epsilon data_format is_training name exponential_avg_factor")
plain("weighted_moments", tf.nn.weighted_moments, "x axes frequency_weights name keep_dims")
plain("sufficient_statistics", tf.nn.sufficient_statistics, "x axes shift keep_dims name")
plain("normalize_moments", tf.nn.normalize_moments, "counts mean_ss variance_ss shift name")
plain("multinomial", tf.multinomial, "logits num_samples seed name output_dtype")
plain("random_crop", tf.random_crop, "value size seed name")

# Convolutions and pooling.
plain("conv2d", tf.nn.conv2d, "input filter strides padding data_format dilations name")
plain("conv2d_backprop_input", tf.nn.conv2d_backprop_input,
      "input_sizes filter out_backprop strides padding data_format dilations name")
plain("conv2d_backprop_filter", tf.nn.conv2d_backprop_filter,
      "input filter_sizes out_backprop strides padding data_format dilations name")
plain("conv2d_transpose", tf.nn.conv2d_transpose,
      "value filter output_shape strides padding data_format name dilations")
plain("depthwise_conv2d_native", tf.nn.depthwise_conv2d_native,
      "input filter strides padding data_format dilations name")
plain("depthwise_conv2d_backprop_input", tf.nn.depthwise_conv2d_backprop_input,
      "input_sizes filter out_backprop strides padding data_format dilations name")
plain("depthwise_conv2d_backprop_filter", tf.nn.depthwise_conv2d_backprop_filter,
      "input filter_sizes out_backprop strides padding data_format dilations name")
plain("depthwise_conv2d", tf.nn.depthwise_conv2d,
      "input filter strides padding rate name data_format")
plain("separable_conv2d", tf.nn.separable_conv2d,
      "input depthwise_filter pointwise_filter strides padding rate name data_format")
plain("conv1d", tf.nn.conv1d, "value filters stride padding data_format name dilations")
plain("convolution", tf.nn.convolution,
      "input filter padding strides dilation_rate name data_format")
plain("atrous_conv2d", tf.nn.atrous_conv2d, "value filters rate padding name")
plain("atrous_conv2d_transpose", tf.nn.atrous_conv2d_transpose,
      "value filters output_shape rate padding name")
for name in ("max_pool", "avg_pool"):
    plain(name, getattr(tf.nn, name), "value ksize strides padding data_format name")
plain("pool", tf.nn.pool,
      "input window_shape pooling_type padding dilation_rate strides name data_format")
plain("max_pool_with_argmax", tf.nn.max_pool_with_argmax,
      "input ksize strides padding Targmax name include_batch_in_index")

# Images.
for name in ("rgb_to_hsv", "hsv_to_rgb", "grayscale_to_rgb", "rgb_to_grayscale"):
    plain(name, getattr(tf.image, name), "images name")
plain("adjust_brightness", tf.image.adjust_brightness, "image delta")
plain("adjust_contrast", tf.image.adjust_contrast, "images contrast_factor")
plain("adjust_gamma", tf.image.adjust_gamma, "image gamma gain")
plain("adjust_hue", tf.image.adjust_hue, "image delta name")
plain("adjust_saturation", tf.image.adjust_saturation, "image saturation_factor name")
for name in ("random_brightness", "random_hue"):
    plain(name, getattr(tf.image, name), "image max_delta seed")
for name in ("random_contrast", "random_saturation"):
    plain(name, getattr(tf.image, name), "image lower upper seed")
for name in ("per_image_standardization", "flip_left_right", "flip_up_down"):
    plain(name, getattr(tf.image, name), "image")
plain("transpose_image", tf.image.transpose_image, "image name")
plain("convert_image_dtype", tf.image.convert_image_dtype, "image dtype saturate name")
for name in ("crop_to_bounding_box", "pad_to_bounding_box"):
    plain(name, getattr(tf.image, name),
          "image offset_height offset_width target_height target_width")
plain("resize_image_with_crop_or_pad", tf.image.resize_image_with_crop_or_pad,
      "image target_height target_width")
plain("central_crop", tf.image.central_crop, "image central_fraction")
plain("extract_image_patches", tf.image.extract_image_patches,
      "images ksizes strides rates padding name")
plain("total_variation", tf.image.total_variation, "images name")
for name in ("resize_bilinear", "resize_nearest_neighbor", "resize_bicubic"):
    plain(name, getattr(tf.image, name), "images size align_corners name half_pixel_centers")
plain("resize_area", tf.image.resize_area, "images size align_corners name")
plain("resize_images", tf.image.resize_images,
      "images size method align_corners preserve_aspect_ratio name")
plain("crop_and_resize", tf.image.crop_and_resize,
      "image boxes box_ind crop_size method extrapolation_value name")
plain("non_max_suppression", tf.image.non_max_suppression,
      "boxes scores max_output_size iou_threshold score_threshold name")


@handler
def getitem(interpreter, tensor, index):
    """Returns tensor[index]; an entry is a number, a tensor, None for a new dimension, "..." or
    [begin, end, step]."""

    def entry(part):
        if isinstance(part, list):
            return slice(*part)
        return Ellipsis if isinstance(part, str) else part

    return tensor[tuple(entry(part) for part in index)]


@handler
def meshgrid(interpreter, args, indexing="xy", name=None):
    return tf.meshgrid(*args, indexing=indexing, **({} if name is None else {"name": name}))


@handler
def einsum(interpreter, equation, inputs, name=None):
    return tf.einsum(equation, *inputs, **({} if name is None else {"name": name}))


@handler
def range_(interpreter, start, limit=None, delta=1, name=None):
    return tf.range(start, limit, delta, **({} if name is None else {"name": name}))

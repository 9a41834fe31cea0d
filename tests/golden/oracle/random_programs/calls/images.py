"""Calls of tf.image."""

from .writer import FLOATS, NUMBERS, SIGNED

ANY_IMAGE = ("float32", "float32", "uint8", "uint8", "int32", "float64")


def image(w, dtypes=ANY_IMAGE, channels=3, batch=0.4, kind=None):
    """Returns an image or a batch of them."""
    sizes = [w.rng.randrange(1, 7), w.rng.randrange(1, 7),
             channels or w.pick((1, 2, 3))]
    if w.chance(batch):
        sizes = [w.pick((1, 2))] + sizes
    dtype = w.pick(dtypes)
    if kind is None:
        kind = (0, 255) if dtype in ("uint8", "int32") else "probability"
    return w.operand(dtype, sizes, kind)


def colours(channels):
    return lambda w: {"images": image(w, FLOATS if channels == 3 else ANY_IMAGE, channels)}


def grey(w):
    return {"images": image(w)}


def brightness(w):
    return {"image": image(w), "delta": w.pick((0.1, 0.25, -0.3, 0.0))}


def contrast(w):
    return {"images": image(w), "contrast_factor": w.pick((0.5, 1.0, 2.0, 1.7))}


def gamma(w):
    return {"image": image(w, FLOATS), **w.maybe(0.7, gamma=w.pick((0.5, 1.0, 2.2))),
            **w.maybe(gain=w.pick((0.5, 2.0)))}


def hue(w):
    return {"image": image(w, FLOATS), "delta": w.pick((0.1, -0.2, 0.5, 0.0))}


def saturation(w):
    return {"image": image(w, FLOATS), "saturation_factor": w.pick((0.0, 0.5, 1.0, 2.0))}


def seeded(w):
    return {"seed": w.rng.randrange(1, 100)}


def random_delta(w):
    return {"image": image(w, FLOATS), "max_delta": w.pick((0.1, 0.3, 0.5)), **seeded(w)}


def random_factor(w):
    return {"image": image(w, FLOATS), "lower": w.pick((0.2, 0.5)), "upper": w.pick((1.0, 1.5)),
            **seeded(w)}


def standardize(w):
    return {"image": image(w, ANY_IMAGE, None)}


def convert(w):
    return {"image": image(w), "dtype": w.pick(("float32", "float64", "uint8", "int32")),
            **w.maybe(0.4, saturate=True)}


def flip(w):
    return {"image": image(w, NUMBERS, None)}


def crop(w):
    x = image(w, NUMBERS, None)
    high, low = x.sizes[-3:-1] if len(x.sizes) > 2 else (3, 3)
    top, left = w.rng.randrange(max(high, 1)), w.rng.randrange(max(low, 1))
    return {"image": x, "offset_height": top, "offset_width": left,
            "target_height": w.rng.randrange(1, max(high - top, 1) + 1) + (w.chance(0.05)),
            "target_width": w.rng.randrange(1, max(low - left, 1) + 1)}


def pad(w):
    x = image(w, NUMBERS, None)
    high, low = x.sizes[-3:-1] if len(x.sizes) > 2 else (3, 3)
    top, left = w.rng.randrange(3), w.rng.randrange(3)
    return {"image": x, "offset_height": top, "offset_width": left,
            "target_height": top + high + w.rng.randrange(3) - (w.chance(0.05)),
            "target_width": left + low + w.rng.randrange(3)}


def crop_or_pad(w):
    return {"image": image(w, NUMBERS, None), "target_height": w.rng.randrange(1, 9),
            "target_width": w.rng.randrange(1, 9)}


def central_crop(w):
    return {"image": image(w, NUMBERS, None), "central_fraction": w.pick((0.5, 0.25, 1.0, 0.7))}


def patches(w):
    x = w.operand(NUMBERS, [w.pick((1, 2)), w.rng.randrange(3, 7), w.rng.randrange(3, 7), 2])
    return {"images": x, "ksizes": [1, w.pick((1, 2, 3)), w.pick((1, 2)), 1],
            "strides": [1, w.pick((1, 2)), w.pick((1, 2, 3)), 1],
            "rates": [1, w.pick((1, 1, 2)), w.pick((1, 2)), 1],
            "padding": w.pick(("SAME", "VALID"))}


def variation(w):
    sizes = [w.pick((1, 3)), w.pick((1, 4)), 2]
    return {"images": w.operand(SIGNED, ([2] if w.chance(0.5) else []) + sizes, tensor=True)}


def size(w):
    return w.integers([w.rng.randrange(1, 9), w.rng.randrange(1, 9)], only="int32")


def resize(w):
    x = image(w, ANY_IMAGE, None, batch=0.95)
    args = {"images": x, "size": size(w)}
    which = w.pick(("", "", "align_corners", "half_pixel_centers"))
    return dict(args, **({which: True} if which else {}))


def resize_area(w):
    return {"images": image(w, ANY_IMAGE, None, batch=0.95), "size": size(w),
            **w.maybe(0.3, align_corners=True)}


def resize_images(w):
    return {"images": image(w, ANY_IMAGE, None), "size": size(w),
            **w.maybe(0.7, method=w.pick((0, 1, 2, 3))), **w.maybe(0.3, align_corners=True),
            **w.maybe(0.15, preserve_aspect_ratio=True)}


def crop_and_resize(w):
    boxes = w.pick((1, 2, 3))
    x = image(w, ("float32", "float32", "uint8", "int32", "float64"), None, batch=1)
    return {"image": x, "boxes": w.operand("float32", [boxes, 4], (-0.3, 1.3)),
            "box_ind": w.operand("int32", [boxes], (0, max(x.sizes[0] - 1, 0))),
            "crop_size": size(w), **w.maybe(0.3, method=w.pick(("bilinear", "nearest"))),
            **w.maybe(0.3, extrapolation_value=0.5)}


def suppression(w):
    count = w.rng.randrange(0, 6)
    return {"boxes": w.operand("float32", [count, 4], "fine"),
            "scores": w.operand("float32", [count], "fine"),
            "max_output_size": w.integers(w.rng.randrange(0, 6), only="int32"),
            **w.maybe(0.5, iou_threshold=w.pick((0.0, 0.3, 0.5, 1.0))),
            **w.maybe(0.3, score_threshold=w.pick((0.0, -1.0, 0.5)))}


CALLS = [("rgb_to_hsv", colours(3)), ("hsv_to_rgb", colours(3)), ("grayscale_to_rgb", colours(1)),
         ("rgb_to_grayscale", grey), ("adjust_brightness", brightness),
         ("adjust_contrast", contrast), ("adjust_gamma", gamma), ("adjust_hue", hue),
         ("adjust_saturation", saturation), ("random_brightness", random_delta),
         ("random_hue", random_delta), ("random_contrast", random_factor),
         ("random_saturation", random_factor), ("per_image_standardization", standardize),
         ("convert_image_dtype", convert), ("flip_left_right", flip), ("flip_up_down", flip),
         ("transpose_image", flip), ("crop_to_bounding_box", crop), ("pad_to_bounding_box", pad),
         ("resize_image_with_crop_or_pad", crop_or_pad), ("central_crop", central_crop),
         ("extract_image_patches", patches), ("total_variation", variation),
         ("resize_bilinear", resize), ("resize_nearest_neighbor", resize),
         ("resize_bicubic", resize), ("resize_area", resize_area),
         ("resize_images", resize_images), ("crop_and_resize", crop_and_resize),
         ("non_max_suppression", suppression)]

// Plain calls of tf::image.
#include "ops/image/adjust.h"
#include "ops/image/boxes.h"
#include "ops/image/colour_spaces.h"
#include "ops/image/convert_dtype.h"
#include "ops/image/geometry.h"
#include "ops/image/orientation.h"
#include "ops/image/patches.h"
#include "ops/image/resize.h"
#include "tests/golden/call.h"

namespace towerflow::golden {
namespace {

template <auto kFunction>
void add_colours(HandlerTable& table, const char* op) {
  add_call(table, op, [](const Args& a) {
    return kFunction(a.operand("images"), with<image::ColourSpaceOptions>(a), Site::current());
  });
}

std::optional<std::int64_t> seed_of(const Args& args) { return args.optional_integer("seed"); }

void add_adjustments(HandlerTable& table) {
  add_colours<image::rgb_to_hsv>(table, "rgb_to_hsv");
  add_colours<image::hsv_to_rgb>(table, "hsv_to_rgb");
  add_colours<image::grayscale_to_rgb>(table, "grayscale_to_rgb");
  add_colours<image::rgb_to_grayscale>(table, "rgb_to_grayscale");
  add_call(table, "adjust_brightness", [](const Args& a) {
    return image::adjust_brightness(a.operand("image"), a.operand("delta"));
  });
  add_call(table, "adjust_contrast", [](const Args& a) {
    return image::adjust_contrast(a.operand("images"), a.operand("contrast_factor"));
  });
  add_call(table, "adjust_gamma", [](const Args& a) {
    const Operand gamma = a.has("gamma") ? a.operand("gamma") : Operand(1);
    const Operand gain = a.has("gain") ? a.operand("gain") : Operand(1);
    return image::adjust_gamma(a.operand("image"), gamma, gain);
  });
  add_call(table, "adjust_hue", [](const Args& a) {
    return image::adjust_hue(a.operand("image"), a.operand("delta"),
                             with<image::AdjustColourOptions>(a));
  });
  add_call(table, "adjust_saturation", [](const Args& a) {
    return image::adjust_saturation(a.operand("image"), a.operand("saturation_factor"),
                                    with<image::AdjustColourOptions>(a));
  });
  add_call(table, "random_brightness", [](const Args& a) {
    return image::random_brightness(a.operand("image"), a.number("max_delta"),
                                    {.seed = seed_of(a)});
  });
  add_call(table, "random_contrast", [](const Args& a) {
    return image::random_contrast(a.operand("image"), a.number("lower"), a.number("upper"),
                                  {.seed = seed_of(a)});
  });
  add_call(table, "random_hue", [](const Args& a) {
    return image::random_hue(a.operand("image"), a.number("max_delta"), {.seed = seed_of(a)});
  });
  add_call(table, "random_saturation", [](const Args& a) {
    return image::random_saturation(a.operand("image"), a.number("lower"), a.number("upper"),
                                    {.seed = seed_of(a)});
  });
  add_call(table, "per_image_standardization",
           [](const Args& a) { return image::per_image_standardization(a.operand("image")); });
  add_call(table, "convert_image_dtype", [](const Args& a) {
    using O = image::ConvertImageDtypeOptions;
    return image::convert_image_dtype(a.operand("image"), a.dtype("dtype"),
                                      with<O>(a, "saturate", &O::saturate));
  });
}

void add_geometry(HandlerTable& table) {
  add_call(table, "flip_left_right",
           [](const Args& a) { return image::flip_left_right(a.operand("image")); });
  add_call(table, "flip_up_down",
           [](const Args& a) { return image::flip_up_down(a.operand("image")); });
  add_call(table, "transpose_image", [](const Args& a) {
    return image::transpose_image(a.operand("image"), with<image::TransposeImageOptions>(a));
  });
  add_call(table, "crop_to_bounding_box", [](const Args& a) {
    return image::crop_to_bounding_box(a.operand("image"), a.operand("offset_height"),
                                       a.operand("offset_width"), a.operand("target_height"),
                                       a.operand("target_width"));
  });
  add_call(table, "pad_to_bounding_box", [](const Args& a) {
    return image::pad_to_bounding_box(a.operand("image"), a.operand("offset_height"),
                                      a.operand("offset_width"), a.operand("target_height"),
                                      a.operand("target_width"));
  });
  add_call(table, "resize_image_with_crop_or_pad", [](const Args& a) {
    return image::resize_image_with_crop_or_pad(a.operand("image"), a.operand("target_height"),
                                                a.operand("target_width"));
  });
  add_call(table, "central_crop", [](const Args& a) {
    return image::central_crop(a.operand("image"), a.number("central_fraction"));
  });
  add_call(table, "extract_image_patches", [](const Args& a) {
    return image::extract_image_patches(a.operand("images"), nn::Extents(integers(a, "ksizes")),
                                        nn::Extents(integers(a, "strides")),
                                        nn::Extents(integers(a, "rates")), a.text("padding"),
                                        with<image::ExtractImagePatchesOptions>(a));
  });
  add_call(table, "total_variation", [](const Args& a) {
    return image::total_variation(a.tensor("images"), with<image::TotalVariationOptions>(a));
  });
}

template <auto kFunction>
void add_resize(HandlerTable& table, const char* op) {
  add_call(table, op, [](const Args& a) {
    using O = image::ResizeOptions;
    return kFunction(a.operand("images"), a.operand("size"),
                     with<O>(a, "align_corners", &O::align_corners, "half_pixel_centers",
                             &O::half_pixel_centers),
                     Site::current());
  });
}

void add_resizing(HandlerTable& table) {
  add_resize<image::resize_bilinear>(table, "resize_bilinear");
  add_resize<image::resize_nearest_neighbor>(table, "resize_nearest_neighbor");
  add_resize<image::resize_bicubic>(table, "resize_bicubic");
  add_call(table, "resize_area", [](const Args& a) {
    using O = image::ResizeAreaOptions;
    return image::resize_area(a.operand("images"), a.operand("size"),
                              with<O>(a, "align_corners", &O::align_corners));
  });
  add_call(table, "resize_images", [](const Args& a) {
    using O = image::ResizeImagesOptions;
    return image::resize_images(a.operand("images"), a.operand("size"),
                                static_cast<image::ResizeMethod>(a.integer("method")),
                                with<O>(a, "align_corners", &O::align_corners,
                                        "preserve_aspect_ratio", &O::preserve_aspect_ratio));
  });
}

void add_boxes(HandlerTable& table) {
  add_call(table, "crop_and_resize", [](const Args& a) {
    using O = image::CropAndResizeOptions;
    return image::crop_and_resize(
        a.operand("image"), a.operand("boxes"), a.operand("box_ind"), a.operand("crop_size"),
        with<O>(a, "method", &O::method, "extrapolation_value", &O::extrapolation_value));
  });
  add_call(table, "non_max_suppression", [](const Args& a) {
    using O = image::NonMaxSuppressionOptions;
    const Operand threshold = a.has("iou_threshold") ? a.operand("iou_threshold") : Operand(0.5);
    return image::non_max_suppression(a.operand("boxes"), a.operand("scores"),
                                      a.operand("max_output_size"), threshold,
                                      with<O>(a, "score_threshold", &O::score_threshold));
  });
}

}  // namespace

void add_image_calls(HandlerTable& table) {
  add_adjustments(table);
  add_geometry(table);
  add_resizing(table);
  add_boxes(table);
}

}  // namespace towerflow::golden

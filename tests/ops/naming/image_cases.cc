// Calls about images.
#include "tests/ops/naming/cases.h"

namespace towerflow::testing {
namespace {

using In = const Inputs&;

Tensor image_of(Shape shape = {4, 5, 3}, DType dtype = float32) {
  return placeholder(dtype, {.shape = std::move(shape), .name = "image"});
}
Tensor contents(Shape shape = {}) {
  return placeholder(string, {.shape = std::move(shape), .name = "contents"});
}

void add_image_files(Cases& c) {
  c["image decode_jpeg"] = [](In) { image::decode_jpeg("abc"); };
  c["image decode_jpeg named"] = [](In) {
    image::decode_jpeg(contents(), {.channels = 3, .name = "k"});
  };
  c["image decode_jpeg vector"] = [](In) { image::decode_jpeg(contents({2})); };
  c["image decode_jpeg channels"] = [](In) { image::decode_jpeg(contents(), {.channels = -1}); };
  c["image decode_jpeg two channels"] = [](In) { image::decode_jpeg(contents(), {.channels = 2}); };
  c["image decode_jpeg number"] = [](In t) { image::decode_jpeg(t.x); };
  c["image decode_png"] = [](In) { image::decode_png(contents(), {.dtype = uint16}); };
  c["image decode_png dtype"] = [](In) { image::decode_png(contents(), {.dtype = float32}); };
  c["image decode_image"] = [](In) { image::decode_image("abc", {.channels = 3, .name = "k"}); };
  c["image decode_image no animation"] = [](In) {
    image::decode_image(contents(), {.expand_animations = false});
  };
  c["image decode_image dtype"] = [](In) { image::decode_image(contents(), {.dtype = float64}); };
  c["image extract_jpeg_shape"] = [](In) { image::extract_jpeg_shape(contents()); };
  c["image extract_jpeg_shape dtype"] = [](In) {
    image::extract_jpeg_shape(contents(), {.output_type = float32});
  };
  c["image encode_jpeg"] = [](In) { image::encode_jpeg(image_of({4, 5, 3}, uint8)); };
  c["image encode_jpeg rank"] = [](In) { image::encode_jpeg(image_of({2, 3}, uint8)); };
  c["image encode_jpeg dtype"] = [](In) { image::encode_jpeg(image_of()); };
  c["image encode_jpeg format"] = [](In) {
    image::encode_jpeg(image_of({4, 5, 3}, uint8), {.format = "cmyk"});
  };
  c["image encode_png"] = [](In) {
    image::encode_png(image_of({2, 4, 5, 3}, uint8), 3, {.name = "k"});
  };
  c["image encode_png unknown"] = [](In) { image::encode_png(image_of(Shape::unknown(), uint8)); };
  c["image encode_png rank"] = [](In) { image::encode_png(image_of({2, 3}, uint8)); };
  c["image encode_png dtype"] = [](In) { image::encode_png(image_of()); };
}

void add_image_shapes(Cases& c) {
  c["image convert same"] = [](In) {
    image::convert_image_dtype(image_of(), float32, {.name = "k"});
  };
  c["image convert"] = [](In) {
    image::convert_image_dtype(image_of(), uint8, {.saturate = true, .name = "k"});
  };
  c["image convert value"] = [](In) { image::convert_image_dtype({1.0, 2.0}, int32); };
  c["image saturate_cast"] = [](In t) { saturate_cast(t.x, uint8); };
  c["image saturate_cast named"] = [](In t) { saturate_cast(t.i, float32, {.name = "k"}); };
  c["image flip_left_right"] = [](In) { image::flip_left_right(image_of()); };
  c["image flip_left_right unknown"] = [](In) {
    image::flip_left_right(image_of({None, None, 3}));
  };
  c["image flip_up_down batch"] = [](In) { image::flip_up_down(image_of({2, 4, 5, 3})); };
  c["image flip_up_down rank"] = [](In) { image::flip_up_down(image_of({2, 4, 5, 3, 1})); };
  c["image flip_up_down flat"] = [](In t) { image::flip_up_down(t.x); };
  c["image flip_up_down empty"] = [](In) { image::flip_up_down(image_of({0, 4, 1})); };
  c["image transpose"] = [](In) { image::transpose_image(image_of({None, None, None})); };
  c["image transpose named"] = [](In) { image::transpose_image(image_of(), {.name = "k"}); };
  c["image crop"] = [](In) { image::crop_to_bounding_box(image_of(), 1, 1, 2, 2); };
  c["image crop unknown"] = [](In) {
    image::crop_to_bounding_box(image_of({None, None, 3}), 1, 1, 2, 2);
  };
  c["image crop no rank"] = [](In) {
    image::crop_to_bounding_box(image_of(Shape::unknown()), 1, 1, 2, 2);
  };
  c["image crop outside"] = [](In) { image::crop_to_bounding_box(image_of(), 1, 1, 4, 2); };
  c["image crop negative"] = [](In) { image::crop_to_bounding_box(image_of(), -1, 1, 2, 2); };
  c["image crop rank"] = [](In t) { image::crop_to_bounding_box(t.x, 1, 1, 2, 2); };
  c["image pad"] = [](In) { image::pad_to_bounding_box(image_of(), 1, 1, 6, 7); };
  c["image pad unknown"] = [](In) {
    image::pad_to_bounding_box(image_of({2, None, 5, 3}), 1, 1, 6, 7);
  };
  c["image pad too small"] = [](In) { image::pad_to_bounding_box(image_of(), 1, 1, 4, 7); };
  c["image crop_or_pad"] = [](In) { image::resize_image_with_crop_or_pad(image_of(), 6, 2); };
  c["image crop_or_pad zero"] = [](In) { image::resize_image_with_crop_or_pad(image_of(), 0, 2); };
  c["image central_crop"] = [](In) { image::central_crop(image_of(), 0.5); };
  c["image central_crop unknown"] = [](In) { image::central_crop(image_of({None, 5, 3}), 0.5); };
  c["image central_crop whole"] = [](In) { image::central_crop(image_of(), 1.0); };
  c["image central_crop too much"] = [](In) { image::central_crop(image_of(), 1.5); };
}

void add_image_colours(Cases& c) {
  c["image adjust_brightness"] = [](In) { image::adjust_brightness(image_of(), 0.1); };
  c["image adjust_brightness tensor"] = [](In) {
    const Tensor x = image_of();
    image::adjust_brightness(x, constant(0.1));
  };
  c["image adjust_contrast rank"] = [](In t) { image::adjust_contrast(t.x, 2.0); };
  c["image adjust_gamma negative"] = [](In) { image::adjust_gamma(image_of(), -1.0); };
  c["image adjust_gamma"] = [](In) { image::adjust_gamma(image_of()); };
  c["image adjust_hue"] = [](In) { image::adjust_hue(image_of(), 0.1, {.name = "k"}); };
  c["image adjust_saturation"] = [](In) {
    image::adjust_saturation(image_of({None, None, None}), 0.1);
  };
  c["image random_hue"] = [](In) { image::random_hue(image_of(), 0.6); };
  c["image random_hue negative"] = [](In) { image::random_hue(image_of(), -0.1); };
  c["image random_contrast"] = [](In) { image::random_contrast(image_of(), 2.0, 1.0); };
  c["image random_brightness"] = [](In) { image::random_brightness(image_of(), 0.2, {.seed = 3}); };
  c["image random_brightness negative"] = [](In) { image::random_brightness(image_of(), -0.2); };
  c["image random_saturation"] = [](In) { image::random_saturation(image_of(), -1.0, 1.0); };
  c["image rgb_to_grayscale"] = [](In) { image::rgb_to_grayscale(image_of()); };
  c["image rgb_to_grayscale unknown"] = [](In) {
    image::rgb_to_grayscale(image_of({None, None, 3}, uint8));
  };
  c["image rgb_to_hsv"] = [](In t) { image::rgb_to_hsv(t.x); };
  c["image rgb_to_hsv channels"] = [](In) { image::rgb_to_hsv(image_of({2, 4})); };
  c["image hsv_to_rgb dtype"] = [](In t) { image::hsv_to_rgb(t.i); };
  c["image hsv_to_rgb"] = [](In) { image::hsv_to_rgb({{0.1, 0.2, 0.3}}, {.name = "k"}); };
  c["image grayscale_to_rgb"] = [](In) { image::grayscale_to_rgb(image_of({4, 5, 1})); };
  c["image grayscale_to_rgb unknown"] = [](In) { image::grayscale_to_rgb(image_of({None, 5, 1})); };
  c["image grayscale_to_rgb colour"] = [](In) { image::grayscale_to_rgb(image_of()); };
  c["image standardization"] = [](In) { image::per_image_standardization(image_of()); };
  c["image standardization unknown"] = [](In) {
    image::per_image_standardization(image_of({None, None, 3}));
  };
}

void add_image_sizes(Cases& c) {
  c["image resize"] = [](In) { image::resize_images(image_of(), {2, 3}); };
  c["image resize tensor"] = [](In t) { image::resize_images(image_of({1, 4, 5, 3}), t.j); };
  c["image resize same"] = [](In) { image::resize_images(image_of(), {4, 5}); };
  c["image resize area"] = [](In) {
    image::resize_images(image_of(), {2, 3}, image::ResizeMethod::AREA);
  };
  c["image resize proportions"] = [](In) {
    image::resize_images(image_of({None, None, 3}), {2, 3}, {.preserve_aspect_ratio = true});
  };
  c["image resize rank"] = [](In t) { image::resize_images(t.x, {2, 3}); };
  c["image resize no rank"] = [](In t) { image::resize_images(t.q, {2, 3}); };
  c["image resize three"] = [](In) { image::resize_images(image_of(), {2, 3, 4}); };
  c["image resize float"] = [](In) { image::resize_images(image_of(), {2.5, 3.0}); };
  c["image resize_bilinear"] = [](In) {
    image::resize_bilinear(image_of({1, 4, 5, 3}), {2, 3}, {.name = "k"});
  };
  c["image resize_bilinear rank"] = [](In) { image::resize_bilinear(image_of(), {2, 3}); };
  c["image resize_bilinear dtype"] = [](In) {
    image::resize_bilinear(image_of({1, 4, 5, 3}, bool_), {2, 3});
  };
  c["image resize_bicubic size"] = [](In) {
    image::resize_bicubic(image_of({1, 4, 5, 3}), {2, 3, 4});
  };
  c["image resize_nearest"] = [](In) {
    image::resize_nearest_neighbor(image_of(Shape::unknown(), uint8), {2, 3});
  };
  c["image resize_area"] = [](In) { image::resize_area(image_of({None, 4, 5, None}), {2, 3}); };
}

void add_image_comparisons(Cases& c) {
  const auto psnr = [](Shape a, Shape b, DType dtype, int range, const std::string& name = "") {
    const Tensor one = image_of(std::move(a), dtype);
    const Tensor other = image_of(std::move(b), dtype);
    image::psnr(one, other, range, {.name = name});
  };
  c["image psnr"] = [=](In) { psnr({4, 5, 3}, {4, 5, 3}, float32, 1); };
  c["image psnr bytes"] = [=](In) { psnr({None, 4, 5, 3}, {4, None, 3}, uint8, 255, "k"); };
  c["image psnr rank"] = [](In t) { image::psnr(t.x, t.x, 1); };
  c["image psnr shapes"] = [=](In) { psnr({4, 5, 3}, {4, 4, 3}, float32, 1); };
  c["image psnr batches"] = [=](In) { psnr({2, 4, 5, 3}, {3, 4, 5, 3}, float32, 1); };
  c["image psnr broadcast"] = [=](In) { psnr({2, 4, 5, 3}, {1, 4, 5, 3}, float32, 1); };
  c["image rot90 rank"] = [](In t) { image::rot90(t.x); };
  c["image rot90 k"] = [](In t) { image::rot90(image_of(), t.j); };
  c["image random_flip rank"] = [](In) {
    image::random_flip_left_right(image_of({2, 3, 4, 5, 3}));
  };
  c["image random_flip batch"] = [](In) {
    image::random_flip_up_down(image_of({2, 4, 5, 3}), {.seed = 3});
  };
  c["image summary"] = [](In) { summary::image("k", image_of({2, 4, 5, 3})); };
  c["image summary family"] = [](In) {
    summary::image("k", image_of({None, None, None, None}, uint8), 1,
                   {.collections = {{"kept"}}, .family = "f"});
  };
  c["image summary rank"] = [](In) { summary::image("k", image_of()); };
  c["image summary dtype"] = [](In) { summary::image("k", image_of({2, 4, 5, 3}, int32)); };
  c["image summary none"] = [](In) { summary::image("k", image_of({2, 4, 5, 3}), 0); };
}

}  // namespace

void add_image_cases(Cases& cases) {
  add_image_files(cases);
  add_image_shapes(cases);
  add_image_colours(cases);
  add_image_sizes(cases);
  add_image_comparisons(cases);
}

}  // namespace towerflow::testing

// Images: geometry, colour, sizes, patches and boxes.
#include <fmt/format.h>

#include "core/graph/op_builder.h"
#include "tests/ops/cases/families.h"
#include "towerflow/tf.h"

namespace towerflow::testing {
namespace {

void add_conversion_cases(std::vector<OpCase>& cases) {
  const auto convert = [&](const char* name, DType from, DType to, bool saturate) {
    cases.push_back(
        {.name = fmt::format("convert_image_dtype {}", name),
         .inputs = {from == DType::float32 ? random_input({2, 3, 3}, saturate ? -0.5 : 0.01, 1.5)
                                           : random_input({2, 3, 3}, 0, 100)},
         .call = [=](In t) { return image::convert_image_dtype(t.x, to, {.saturate = saturate}); },
         .python = fmt::format("tf.image.convert_image_dtype(x, tf.{}, saturate={})",
                               dtype_name(to), saturate ? "True" : "False"),
         .dtypes = {from},
         .gradients = CaseGradients::elsewhere});
  };
  convert("of bytes to floats", DType::uint8, DType::float32, false);
  convert("of integers to doubles", DType::int32, DType::float64, false);
  convert("of bytes to integers", DType::uint8, DType::int32, false);
  convert("of bytes to integers, within limits", DType::uint8, DType::int64, true);
  convert("of integers to bytes", DType::int32, DType::uint8, false);
  convert("of long integers to bytes, within limits", DType::int64, DType::uint8, true);
  convert("of floats to bytes, within limits", DType::float32, DType::uint8, true);
  convert("of floats to integers, within limits", DType::float32, DType::int32, true);
  convert("of floats to doubles", DType::float32, DType::float64, false);
  convert("to the same", DType::float32, DType::float32, false);
  const auto clip = [&](const char* name, CaseInput low, CaseInput high) {
    cases.push_back({.name = name,
                     .inputs = {random_input({3, 4}), std::move(low), std::move(high)},
                     .call =
                         [](In t) {
                           return OpBuilder("ClipByValue", "", Site::current(), {})
                               .input(t.x, "t")
                               .input(t.y, "clip_value_min")
                               .input(t.z, "clip_value_max")
                               .output();
                         },
                     .python = "tf.raw_ops.ClipByValue(t=x, clip_value_min=y, clip_value_max=z)"});
  };
  clip("ClipByValue", random_input({}, -0.5, -0.4), random_input({}, 0.4, 0.5));
  clip("ClipByValue of each element", random_input({3, 4}, -0.7, -0.3),
       random_input({3, 4}, 0.3, 0.7));
}

void add_geometry_cases(std::vector<OpCase>& cases) {
  const auto geometry = [&](const char* name, Shape shape, std::function<Tensor(In)> call,
                            const char* python) {
    cases.push_back({.name = name,
                     .inputs = {random_input(std::move(shape))},
                     .call = [call = std::move(call)](In t) { return CaseResults(call(t)); },
                     .python = python});
  };
  geometry(
      "flip_left_right", {2, 3, 2}, [](In t) { return image::flip_left_right(t.x); },
      "tf.image.flip_left_right(x)");
  geometry(
      "flip_left_right of a batch", {2, 2, 3, 2}, [](In t) { return image::flip_left_right(t.x); },
      "tf.image.flip_left_right(x)");
  geometry(
      "flip_up_down", {2, 3, 2}, [](In t) { return image::flip_up_down(t.x); },
      "tf.image.flip_up_down(x)");
  geometry(
      "transpose_image", {2, 3, 2}, [](In t) { return image::transpose_image(t.x); },
      "tf.image.transpose_image(x)");
  geometry(
      "transpose_image of a batch", {2, 2, 3, 2},
      [](In t) { return image::transpose_image(t.x, {.name = "k"}); },
      "tf.image.transpose_image(x, name='k')");
  geometry(
      "crop_to_bounding_box", {4, 5, 2},
      [](In t) { return image::crop_to_bounding_box(t.x, 1, 2, 3, 2); },
      "tf.image.crop_to_bounding_box(x, 1, 2, 3, 2)");
  geometry(
      "crop_to_bounding_box of a batch", {2, 4, 5, 1},
      [](In t) {
        const Tensor offset = constant(1);
        return image::crop_to_bounding_box(t.x, offset, 0, 2, 5);
      },
      "tf.image.crop_to_bounding_box(x, tf.constant(1), 0, 2, 5)");
  geometry(
      "pad_to_bounding_box", {2, 3, 2},
      [](In t) { return image::pad_to_bounding_box(t.x, 1, 2, 4, 6); },
      "tf.image.pad_to_bounding_box(x, 1, 2, 4, 6)");
  geometry(
      "pad_to_bounding_box of a batch", {2, 2, 3, 1},
      [](In t) {
        const Tensor width = constant(5);
        return image::pad_to_bounding_box(t.x, 0, 1, 2, width);
      },
      "tf.image.pad_to_bounding_box(x, 0, 1, 2, tf.constant(5))");
  geometry(
      "resize_image_with_crop_or_pad", {3, 6, 2},
      [](In t) { return image::resize_image_with_crop_or_pad(t.x, 6, 3); },
      "tf.image.resize_image_with_crop_or_pad(x, 6, 3)");
  geometry(
      "resize_image_with_crop_or_pad to a tensor", {2, 4, 3, 1},
      [](In t) {
        const Tensor height = constant(3);
        return image::resize_image_with_crop_or_pad(t.x, height, 5);
      },
      "tf.image.resize_image_with_crop_or_pad(x, tf.constant(3), 5)");
  geometry(
      "central_crop", {5, 6, 2}, [](In t) { return image::central_crop(t.x, 0.5); },
      "tf.image.central_crop(x, 0.5)");
  geometry(
      "central_crop of a batch", {2, 8, 7, 2}, [](In t) { return image::central_crop(t.x, 0.3); },
      "tf.image.central_crop(x, 0.3)");
}

void add_colour_cases(std::vector<OpCase>& cases) {
  const auto colour = [&](const char* name, DType dtype, std::function<Tensor(In)> call,
                          const char* python) {
    cases.push_back({.name = name,
                     .inputs = {dtype == DType::uint8 ? random_input({2, 3, 4, 3}, 0, 256)
                                                      : random_input({2, 3, 4, 3}, 0.01, 0.99)},
                     .call = [call = std::move(call)](In t) { return CaseResults(call(t)); },
                     .python = python,
                     .dtypes = {dtype},
                     .gradients = CaseGradients::elsewhere});
    if (dtype == DType::float32) cases.back().large = {random_input({8, 128, 128, 3}, 0.01, 0.99)};
  };
  colour(
      "adjust_brightness", DType::float32, [](In t) { return image::adjust_brightness(t.x, 0.2); },
      "tf.image.adjust_brightness(x, 0.2)");
  colour(
      "adjust_brightness of bytes", DType::uint8,
      [](In t) { return image::adjust_brightness(t.x, 0.2); },
      "tf.image.adjust_brightness(x, 0.2)");
  colour(
      "adjust_contrast", DType::float32, [](In t) { return image::adjust_contrast(t.x, 1.7); },
      "tf.image.adjust_contrast(x, 1.7)");
  colour(
      "adjust_contrast of bytes", DType::uint8,
      [](In t) { return image::adjust_contrast(t.x, 0.5); }, "tf.image.adjust_contrast(x, 0.5)");
  colour(
      "adjust_gamma", DType::float32, [](In t) { return image::adjust_gamma(t.x, 0.7, 2); },
      "tf.image.adjust_gamma(x, 0.7, 2)");
  colour(
      "adjust_gamma by a tensor", DType::float32,
      [](In t) {
        const Tensor gamma = constant(2.0);
        return image::adjust_gamma(t.x, gamma);
      },
      "tf.image.adjust_gamma(x, tf.constant(2.0))");
  colour(
      "adjust_hue", DType::float32, [](In t) { return image::adjust_hue(t.x, 0.3); },
      "tf.image.adjust_hue(x, 0.3)");
  colour(
      "adjust_hue of bytes", DType::uint8, [](In t) { return image::adjust_hue(t.x, -0.45); },
      "tf.image.adjust_hue(x, -0.45)");
  colour(
      "adjust_saturation", DType::float32, [](In t) { return image::adjust_saturation(t.x, 1.6); },
      "tf.image.adjust_saturation(x, 1.6)");
  colour(
      "adjust_saturation of bytes", DType::uint8,
      [](In t) { return image::adjust_saturation(t.x, 0.4); },
      "tf.image.adjust_saturation(x, 0.4)");
  colour(
      "random_brightness", DType::float32,
      [](In t) { return image::random_brightness(t.x, 0.3, {.seed = 4}); },
      "tf.image.random_brightness(x, 0.3, seed=4)");
  colour(
      "random_contrast", DType::float32,
      [](In t) { return image::random_contrast(t.x, 0.3, 1.8, {.seed = 5}); },
      "tf.image.random_contrast(x, 0.3, 1.8, seed=5)");
  colour(
      "random_hue", DType::float32, [](In t) { return image::random_hue(t.x, 0.4, {.seed = 6}); },
      "tf.image.random_hue(x, 0.4, seed=6)");
  colour(
      "random_saturation", DType::float32,
      [](In t) { return image::random_saturation(t.x, 0.3, 1.8, {.seed = 7}); },
      "tf.image.random_saturation(x, 0.3, 1.8, seed=7)");
  cases.push_back({.name = "RGBToHSV",
                   .inputs = {random_input({3, 4, 3}, 0.05, 0.95)},
                   .call = [](In t) { return image::rgb_to_hsv(t.x); },
                   .python = "tf.image.rgb_to_hsv(x)",
                   .tolerance = 1e-4,
                   .large = {random_input({8, 128, 128, 3}, 0.05, 0.95)}});
  cases.push_back({.name = "HSVToRGB",
                   .inputs = {random_input({3, 4, 3}, 0.01, 0.99)},
                   .call = [](In t) { return image::hsv_to_rgb(t.x); },
                   .python = "tf.image.hsv_to_rgb(x)",
                   .gradients = CaseGradients::none,
                   .large = {random_input({8, 128, 128, 3}, 0.01, 0.99)}});
  cases.push_back({.name = "grayscale_to_rgb",
                   .inputs = {random_input({2, 3, 1})},
                   .call = [](In t) { return image::grayscale_to_rgb(t.x, {.name = "k"}); },
                   .python = "tf.image.grayscale_to_rgb(x, name='k')"});
  colour(
      "rgb_to_grayscale", DType::float32,
      [](In t) { return image::rgb_to_grayscale(t.x, {.name = "k"}); },
      "tf.image.rgb_to_grayscale(x, name='k')");
  colour(
      "rgb_to_grayscale of bytes", DType::uint8, [](In t) { return image::rgb_to_grayscale(t.x); },
      "tf.image.rgb_to_grayscale(x)");
  cases.push_back({.name = "per_image_standardization",
                   .inputs = {random_input({2, 3, 4, 2})},
                   .call = [](In t) { return image::per_image_standardization(t.x); },
                   .python = "tf.image.per_image_standardization(x)",
                   .dtypes = {DType::float32},
                   .gradients = CaseGradients::elsewhere});
}

void add_resizing_cases(std::vector<OpCase>& cases) {
  const Shape small{2, 4, 5, 3};
  // The result is float32, whose rounding asks for large steps, without error for linear functions.
  const auto resize = [&](const std::string& name, std::function<Tensor(In)> call,
                          const std::string& python, CaseGradients gradients) {
    cases.push_back(
        {.name = name,
         .inputs = {random_input(small)},
         .call = [call = std::move(call)](In t) { return CaseResults(cast(call(t), t.dtype)); },
         .python = fmt::format("tf.cast({}, dtype)", python),
         .python_dtype = DType::float32,
         .gradients = gradients,
         .step = 0.25});
  };
  const auto all_sizes = [&](const char* op, const char* function, auto call) {
    const auto with = [&](const char* suffix, int height, int width, image::ResizeOptions options,
                          const char* python) {
      resize(
          fmt::format("{}{}", op, suffix),
          [=](In t) {
            return call(t.x, std::vector<int>{height, width}, options);
          },
          fmt::format("tf.image.{}(x, [{}, {}]{})", function, height, width, python),
          CaseGradients::first);
    };
    with("", 7, 9, {}, "");
    cases.back().large = {random_input({8, 64, 64, 3})};
    with(" to less", 2, 3, {}, "");
    with(" of corners", 6, 11, {.align_corners = true}, ", align_corners=True");
    with(" of half pixels", 9, 3, {.half_pixel_centers = true}, ", half_pixel_centers=True");
    with(" to one pixel", 1, 1, {.name = "k"}, ", name='k'");
  };
  using image::ResizeOptions;
  all_sizes("ResizeBilinear", "resize_bilinear",
            [](const Tensor& x, const std::vector<int>& size, const ResizeOptions& options) {
              return image::resize_bilinear(x, size, options);
            });
  all_sizes("ResizeBicubic", "resize_bicubic",
            [](const Tensor& x, const std::vector<int>& size, const ResizeOptions& options) {
              return image::resize_bicubic(x, size, options);
            });
  all_sizes("ResizeNearestNeighbor", "resize_nearest_neighbor",
            [](const Tensor& x, const std::vector<int>& size, const ResizeOptions& options) {
              return image::resize_nearest_neighbor(x, size, options);
            });
  const auto area = [&](const char* suffix, int height, int width, bool corners) {
    resize(
        fmt::format("ResizeArea{}", suffix),
        [=](In t) {
          return image::resize_area(t.x, {height, width}, {.align_corners = corners});
        },
        fmt::format("tf.image.resize_area(x, [{}, {}], align_corners={})", height, width,
                    corners ? "True" : "False"),
        CaseGradients::elsewhere);
  };
  area("", 3, 2, false);
  cases.back().large = {random_input({8, 64, 64, 3})};
  area(" to more", 7, 9, false);
  area(" of corners", 3, 7, true);
  cases.push_back({.name = "ResizeNearestNeighborGrad of bytes",
                   .inputs = {random_input({1, 6, 5, 2}, 0, 100)},
                   .call =
                       [](In t) {
                         return OpBuilder("ResizeNearestNeighborGrad", "", Site::current(), {})
                             .input(t.x, "grads")
                             .input({3, 4}, "size", DType::int32)
                             .output();
                       },
                   .python = "tf.raw_ops.ResizeNearestNeighborGrad(grads=x, size=[3, 4])",
                   .other_nodes = true,
                   .dtypes = {DType::float32, DType::uint8, DType::int32},
                   .gradients = CaseGradients::elsewhere});
  const auto any_dtype_of = [&](const char* name, auto call, const char* python) {
    cases.push_back({.name = fmt::format("{} of numbers", name),
                     .inputs = {random_input({1, 3, 4, 2}, 0, 100)},
                     .call = [call](In t) { return CaseResults(call(t.x)); },
                     .python = python,
                     .python_dtype = DType::uint8,
                     .dtypes = {DType::uint8, DType::int32, DType::int64, DType::uint16,
                                DType::int16, DType::int8},
                     .gradients = CaseGradients::none});
  };
  any_dtype_of(
      "ResizeBilinear",
      [](const Tensor& x) {
        return image::resize_bilinear(x, {5, 7});
      },
      "tf.image.resize_bilinear(x, [5, 7])");
  any_dtype_of(
      "ResizeBicubic",
      [](const Tensor& x) {
        return image::resize_bicubic(x, {5, 7});
      },
      "tf.image.resize_bicubic(x, [5, 7])");
  any_dtype_of(
      "ResizeNearestNeighbor",
      [](const Tensor& x) {
        return image::resize_nearest_neighbor(x, {5, 7});
      },
      "tf.image.resize_nearest_neighbor(x, [5, 7])");
  any_dtype_of(
      "ResizeArea",
      [](const Tensor& x) {
        return image::resize_area(x, {5, 7});
      },
      "tf.image.resize_area(x, [5, 7])");
  const auto images = [&](const char* name, Shape shape, std::function<Tensor(In)> call,
                          const char* python) {
    cases.push_back({.name = fmt::format("resize_images {}", name),
                     .inputs = {random_input(std::move(shape))},
                     .call = [call = std::move(call)](In t) { return CaseResults(call(t)); },
                     .python = python,
                     .dtypes = {DType::float32},
                     .gradients = CaseGradients::elsewhere});
  };
  using image::ResizeMethod;
  images(
      "of an image", {4, 5, 2},
      [](In t) {
        return image::resize_images(t.x, {7, 3});
      },
      "tf.image.resize_images(x, [7, 3])");
  images(
      "by name", {1, 4, 5, 2},
      [](In t) {
        return image::resize_images(t.x, {7, 3}, ResizeMethod::BICUBIC,
                                    {.align_corners = true, .name = "k"});
      },
      "tf.image.resize_images(x, [7, 3], tf.image.ResizeMethod.BICUBIC, align_corners=True, "
      "name='k')");
  images(
      "of the same size", {4, 5, 2},
      [](In t) {
        return image::resize_images(t.x, {4, 5});
      },
      "tf.image.resize_images(x, [4, 5])");
  images(
      "of the same proportions", {2, 4, 6, 2},
      [](In t) {
        return image::resize_images(t.x, {9, 9}, ResizeMethod::NEAREST_NEIGHBOR,
                                    {.preserve_aspect_ratio = true});
      },
      "tf.image.resize_images(x, [9, 9], tf.image.ResizeMethod.NEAREST_NEIGHBOR, "
      "preserve_aspect_ratio=True)");
  images(
      "by area", {2, 4, 6, 2},
      [](In t) {
        return image::resize_images(t.x, constant({2, 3}), ResizeMethod::AREA);
      },
      "tf.image.resize_images(x, tf.constant([2, 3]), tf.image.ResizeMethod.AREA)");
}

void add_patch_cases(std::vector<OpCase>& cases) {
  const auto patches = [&](const char* name, int size, int stride, int rate, const char* padding) {
    cases.push_back({.name = name,
                     .inputs = {random_input({2, 5, 6, 2})},
                     .call =
                         [=](In t) {
                           return image::extract_image_patches(t.x, {1, size, size, 1},
                                                               {1, stride, stride, 1},
                                                               {1, rate, rate, 1}, padding);
                         },
                     .python = fmt::format("tf.image.extract_image_patches(x, [1, {0}, {0}, 1], "
                                           "[1, {1}, {1}, 1], [1, {2}, {2}, 1], '{3}')",
                                           size, stride, rate, padding)});
  };
  patches("ExtractImagePatches", 3, 2, 1, "SAME");
  cases.back().large = {random_input({8, 64, 64, 3})};
  patches("ExtractImagePatches inside", 2, 1, 1, "VALID");
  patches("ExtractImagePatches with gaps", 2, 1, 3, "SAME");
  const auto variation = [&](const char* name, Shape shape) {
    cases.push_back({.name = name,
                     .inputs = {random_input(std::move(shape))},
                     .call = [](In t) { return image::total_variation(t.x); },
                     .python = "tf.image.total_variation(x)"});
  };
  variation("total_variation", {3, 4, 2});
  variation("total_variation of a batch", {2, 3, 4, 2});
}

void add_box_cases(std::vector<OpCase>& cases) {
  const CaseInput boxes = input_of(
      {3, 4}, {0.1, 0.2, 0.7, 0.9, 0.8, 0.9, 0.15, 0.05, -0.2, 0.1, 1.3, 0.6}, DType::float32);
  const CaseInput images = input_of({3}, {1, 0, 1}, DType::int32);
  const auto crop = [&](const char* name, int height, int width,
                        image::CropAndResizeOptions options, const char* python) {
    cases.push_back({.name = name,
                     .inputs = {random_input({2, 5, 4, 2}), boxes, images},
                     .call =
                         [=](In t) {
                           return image::crop_and_resize(t.x, t.y, t.z, {height, width}, options);
                         },
                     .python = fmt::format("tf.image.crop_and_resize(x, y, z, [{}, {}]{})", height,
                                           width, python),
                     .python_dtype = DType::float32,
                     .dtypes = {DType::float32, DType::uint8},
                     .gradients = CaseGradients::elsewhere});
  };
  crop("CropAndResize", 3, 4, {}, "");
  cases.back().large = {random_input({8, 64, 64, 3}), boxes, images};
  crop("CropAndResize to a pixel", 1, 1, {.extrapolation_value = 2.5}, ", extrapolation_value=2.5");
  crop("CropAndResize to the nearest", 3, 2, {.method = "nearest", .name = "k"},
       ", method='nearest', name='k'");
  // The boxes, which are float32, are no operand, so that differences tell the gradient.
  cases.push_back(
      {.name = "CropAndResize of doubles",
       .inputs = {random_input({2, 5, 4, 2})},
       .call =
           [](In t) {
             const Tensor part = constant({{0.1, 0.2, 0.7, 0.9}, {0.8, 0.9, 0.15, 0.05}});
             return cast(image::crop_and_resize(t.x, part, {1, 0}, {3, 4}), t.dtype);
           },
       .python = "tf.cast(tf.image.crop_and_resize(x, tf.constant([[0.1, 0.2, 0.7, 0.9], "
                 "[0.8, 0.9, 0.15, 0.05]]), [1, 0], [3, 4]), dtype)",
       .gradients = CaseGradients::first,
       .step = 0.25});
  cases.push_back({.name = "CropAndResize of bytes",
                   .inputs = {random_input({2, 5, 4, 2}, 0, 256), boxes, images},
                   .call =
                       [](In t) {
                         return image::crop_and_resize(t.x, t.y, t.z, {3, 4});
                       },
                   .python = "tf.image.crop_and_resize(x, y, z, [3, 4])",
                   .dtypes = {DType::uint8},
                   .gradients = CaseGradients::first});
  const auto draw = [&](const char* name, const Shape& shape, int count, const char* options,
                        image::DrawBoundingBoxesOptions cpp_options) {
    cases.push_back(
        {.name = name,
         .inputs = {random_input(shape), random_input({shape.size(0), count, 4}, -0.3, 1.3)},
         .call = [=](In t) { return image::draw_bounding_boxes(t.x, t.y, cpp_options); },
         .python = fmt::format("tf.image.draw_bounding_boxes(x, y{})", options),
         .dtypes = {DType::float32},
         .gradients = CaseGradients::none});
  };
  draw("DrawBoundingBoxes", {2, 9, 8, 3}, 12, "", {});
  draw("DrawBoundingBoxes of grey images", {1, 6, 7, 1}, 2, ", name='k'", {.name = "k"});
  draw("DrawBoundingBoxes of images with opacity", {1, 6, 7, 4}, 3, "", {});
  const auto sample = [&](const char* name, image::SampleDistortedBoundingBoxOptions options,
                          const char* python) {
    cases.push_back(
        {.name = fmt::format("SampleDistortedBoundingBoxV2 {}", name),
         .inputs = {input_of({3}, {110, 95, 3}, DType::int32),
                    input_of({1, 2, 4}, {0.1, 0.2, 0.5, 0.6, 0.4, 0.3, 0.9, 0.8}, DType::float32)},
         .call =
             [options](In t) {
               const auto found = image::sample_distorted_bounding_box(t.x, t.y, options);
               return CaseResults(std::vector<Tensor>{found.begin, found.size, found.bboxes});
             },
         .python = fmt::format("list(tf.image.sample_distorted_bounding_box(x, y{}))", python),
         .dtypes = {DType::float32},
         .gradients = CaseGradients::elsewhere});
  };
  sample("of any part", {.seed = 3, .seed2 = 4}, ", seed=3, seed2=4");
  sample("of a large part",
         {.seed = 5,
          .seed2 = 6,
          .min_object_covered = 0.9,
          .aspect_ratio_range = {0.5F, 2.0F},
          .area_range = {0.3F, 0.9F},
          .max_attempts = 20},
         ", seed=5, seed2=6, min_object_covered=0.9, aspect_ratio_range=[0.5, 2.0], "
         "area_range=[0.3, 0.9], max_attempts=20");
  sample("named", {.seed = 1, .seed2 = 9, .name = "k"}, ", seed=1, seed2=9, name='k'");
  const auto suppress = [&](const char* name, std::function<Tensor(In)> call, const char* python) {
    cases.push_back({.name = name,
                     .inputs = {input_of({6, 4}, {0, 0,  1, 1,  0, 0.1,  1, 1.1,  0, -0.1, 1, 0.9,
                                                  0, 10, 1, 11, 0, 10.1, 1, 11.1, 0, 100,  1, 101},
                                         DType::float32),
                                input_of({6}, {0.9, 0.75, 0.6, 0.95, 0.5, 0.3}, DType::float32)},
                     .call = [call = std::move(call)](In t) { return CaseResults(call(t)); },
                     .python = python,
                     .dtypes = {DType::float32},
                     .gradients = CaseGradients::none});
  };
  suppress(
      "NonMaxSuppressionV3", [](In t) { return image::non_max_suppression(t.x, t.y, 3); },
      "tf.image.non_max_suppression(x, y, 3)");
  suppress(
      "NonMaxSuppressionV3 of good scores",
      [](In t) {
        return image::non_max_suppression(t.x, t.y, 9, 0.95, {.score_threshold = 0.4, .name = "k"});
      },
      "tf.image.non_max_suppression(x, y, 9, 0.95, 0.4, name='k')");
}

}  // namespace

void add_image_cases(std::vector<OpCase>& cases) {
  add_conversion_cases(cases);
  add_geometry_cases(cases);
  add_colour_cases(cases);
  add_resizing_cases(cases);
  add_patch_cases(cases);
  add_box_cases(cases);
}

}  // namespace towerflow::testing

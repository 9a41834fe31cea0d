#include "ops/image/orientation.h"

#include <fmt/format.h>

#include "core/graph/op_builder.h"
#include "core/graph/scopes.h"
#include "ops/array/cast.h"
#include "ops/array/rank_size.h"
#include "ops/array/reverse.h"
#include "ops/array/shape_of.h"
#include "ops/array/strided_slice.h"
#include "ops/array/transpose.h"
#include "ops/array/view.h"
#include "ops/control/case.h"
#include "ops/control/cond.h"
#include "ops/image/checks.h"
#include "ops/math/binary.h"
#include "ops/math/unary.h"
#include "ops/random/random_ops.h"

namespace towerflow::image {
namespace {

/// Calls the function for the rank of an image: at run time if it is not known yet.
template <class F>
Tensor of_image_or_batch(const Tensor& image, const char* op, const F& of_rank, Site site) {
  check_image_or_batch(image, op, site);
  if (image.shape().has_rank()) return of_rank(image.shape().rank());
  const Tensor dimensions = rank(image, {}, site);
  const Tensor is_image = equal(dimensions, 3, {}, site);
  return cond(
      is_image, [&] { return of_rank(3); }, [&] { return of_rank(4); }, {}, site);
}

/// Sets the shape of an image that was flipped. (fix_image_flip_shape)
Tensor with_shape_of(const Tensor& image, Tensor result, Site site) {
  result.set_shape(image.shape().has_rank() ? image.shape() : Shape::of_rank(3), site);
  return result;
}

Tensor flipped(const Operand& image, int axis, const char* op, Site site) {
  Graph& graph = graph_of(image);
  const NameScope scope(graph, op, site);
  const Tensor given = convert_operand(graph, image, "image", std::nullopt);
  const Tensor checked = assert_at_least_3d(given, op, site);
  const auto of_rank = [&](std::size_t dimensions) {
    if (dimensions == 4) return reverse(checked, std::vector<int>{axis + 1}, {}, site);
    return with_shape_of(checked, reverse(checked, std::vector<int>{axis}, {}, site), site);
  };
  return of_image_or_batch(checked, op, of_rank, site);
}

Tensor randomly_flipped(const Operand& image, int axis, const char* op,
                        const RandomFlipOptions& options, Site site) {
  Graph& graph = graph_of(image);
  const NameScope scope(graph, op, site);
  const Tensor given = convert_operand(graph, image, "image", std::nullopt);
  const Tensor checked = assert_at_least_3d(given, op, site);
  const auto draw = [&](const Operand& sizes) {
    return random_uniform(sizes, {.minval = 0, .maxval = 1.0, .seed = options.seed}, site);
  };
  const auto of_rank = [&](std::size_t dimensions) {
    if (dimensions == 3) {
      const Tensor drawn = draw(Shape{});
      const Tensor is_mirrored = less(drawn, 0.5, {}, site);
      const Tensor result = cond(
          is_mirrored, [&] { return reverse(checked, std::vector<int>{axis}, {}, site); },
          [&] { return checked; }, {.name = scope.name()}, site);
      return with_shape_of(checked, result, site);
    }
    const Tensor count = take_index(shape(checked, {}, site), 0, site);
    const Tensor drawn = draw({count});
    const Tensor column = reshape(drawn, {count, 1, 1, 1}, {}, site);
    const Tensor flips = cast(round(column, {}, site), checked.dtype(), {}, site);
    const Tensor mirrored = reverse(checked, std::vector<int>{axis + 1}, {}, site);
    const Tensor taken = Operand(flips, site) * mirrored;
    const Tensor others = Operand(1, site) - flips;
    const Tensor kept = Operand(others, site) * checked;
    return Tensor(Operand(taken, site) + kept);
  };
  return of_image_or_batch(checked, op, of_rank, site);
}

/// Turns an image, or a batch if `first` is 1, the axis of the height.
Tensor turned(const Tensor& image, const Tensor& k, int first, const std::string& scope,
              Site site) {
  const std::vector<int> rows{first}, columns{first + 1}, both{first, first + 1};
  const std::vector<int> order =
      first == 0 ? std::vector<int>{1, 0, 2} : std::vector<int>{0, 2, 1, 3};
  const auto once = [&] { return transpose(reverse(image, columns, {}, site), order, {}, site); };
  const auto twice = [&] { return reverse(image, both, {}, site); };
  const auto thrice = [&] { return reverse(transpose(image, order, {}, site), columns, {}, site); };
  CasePairs<Tensor> turns;
  turns.emplace_back(equal(k, 1, {}, site), once);
  turns.emplace_back(equal(k, 2, {}, site), twice);
  turns.emplace_back(equal(k, 3, {}, site), thrice);
  Tensor result = case_(
      turns, [&] { return image; }, {.exclusive = true, .name = scope}, site);
  const Shape found = first == 0 ? image.shape() : result.shape();
  std::vector<Dim> sizes{Dim(std::nullopt), Dim(std::nullopt),
                         found.has_rank() ? found[found.rank() - 1] : Dim(std::nullopt)};
  if (first == 1) sizes.insert(sizes.begin(), found.has_rank() ? found[0] : Dim(std::nullopt));
  result.set_shape(Shape(std::move(sizes)), site);
  return result;
}

}  // namespace

Tensor flip_left_right(const Operand& image, Site site) {
  return flipped(image, 1, "flip_left_right", site);
}

Tensor flip_up_down(const Operand& image, Site site) {
  return flipped(image, 0, "flip_up_down", site);
}

Tensor random_flip_left_right(const Operand& image, RandomFlipOptions options, Site site) {
  return randomly_flipped(image, 1, "random_flip_left_right", options, site);
}

Tensor random_flip_up_down(const Operand& image, RandomFlipOptions options, Site site) {
  return randomly_flipped(image, 0, "random_flip_up_down", options, site);
}

Tensor transpose_image(const Operand& image, TransposeImageOptions options, Site site) {
  constexpr const char* kOp = "transpose";
  Graph& graph = graph_of(image);
  const NameScope scope(graph, options.name.empty() ? kOp : options.name, site);
  const Tensor given = convert_operand(graph, image, "image", std::nullopt);
  const Tensor checked = assert_at_least_3d(given, kOp, site);
  const auto of_rank = [&](std::size_t dimensions) {
    const std::vector<int> order =
        dimensions == 3 ? std::vector<int>{1, 0, 2} : std::vector<int>{0, 2, 1, 3};
    return transpose(checked, order, {.name = options.name}, site);
  };
  return of_image_or_batch(checked, kOp, of_rank, site);
}

Tensor rot90(const Operand& image, const ScalarOperand& k, Rot90Options options, Site site) {
  constexpr const char* kOp = "rot90";
  Graph& graph = graph_of(image, k);
  const NameScope scope(graph, options.name.empty() ? kOp : options.name, site);
  const Tensor given = convert_operand(graph, image, "image", std::nullopt);
  const Tensor checked = assert_at_least_3d(given, kOp, site);
  const Tensor turns = convert_operand(graph, k, "k", DType::int32);
  if (turns.shape().has_rank() && turns.shape().rank() != 0) {
    throw ValueError(fmt::format("Shape {} must have rank 0", turns.shape().text()),
                     {.site = site, .op = kOp, .hint = "k is one number"});
  }
  const Tensor quarter = mod(turns, 4, {.name = "mod"}, site);
  const auto of_rank = [&](std::size_t dimensions) {
    return turned(checked, quarter, static_cast<int>(dimensions) - 3, scope.name(), site);
  };
  return of_image_or_batch(checked, kOp, of_rank, site);
}

}  // namespace towerflow::image

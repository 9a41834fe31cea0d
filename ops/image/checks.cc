#include "ops/image/checks.h"

#include <fmt/format.h>

#include "core/graph/scopes.h"
#include "ops/array/rank_size.h"
#include "ops/array/shape_of.h"
#include "ops/array/strided_slice.h"
#include "ops/control/tuple.h"
#include "ops/data_flow/assert.h"
#include "ops/math/binary.h"
#include "ops/math/reduce.h"

namespace towerflow::image {
namespace {

/// The nodes of check_ops.assert_positive(sizes, [message]).
Operation assert_sizes_positive(const Tensor& sizes, const char* message, Site site) {
  Graph& graph = sizes.graph();
  const NameScope scope(graph, "assert_positive", site);
  const Tensor zero = convert_operand(graph, Operand(0, site), "Const", sizes.dtype());
  const NameScope inner(graph, "assert_less", site);
  const Tensor holds = reduce_all(less(zero, sizes, {}, site), {}, site);
  return Assert(holds, {Operand(message, site)}, {}, site);
}

/// The nodes of check_ops.assert_greater_equal and assert_equal.
Operation assert_number(const char* name, const Tensor& x, int y, const char* symbol,
                        const char* message, Site site) {
  Graph& graph = x.graph();
  if (*symbol == '=') {
    const NameScope opened_twice(graph, name, site);  // by TensorFlow, which uses up a name
  }
  const NameScope scope(graph, name, site);
  const Tensor limit = convert_operand(graph, Operand(y, site), "y", x.dtype());
  const Tensor compared =
      *symbol == '>' ? greater_equal(x, limit, {}, site) : equal(x, limit, {}, site);
  const Tensor holds = reduce_all(compared, {}, site);
  return Assert(holds,
                {message, fmt::format("Condition x {} y did not hold element-wise:", symbol),
                 fmt::format("x ({}) = ", x.name()), Operand(x, site),
                 fmt::format("y ({}) = ", limit.name()), Operand(limit, site)},
                {}, site);
}

[[noreturn]] void fail_image(const std::string& message, const char* op, Site site) {
  throw ValueError(message, {.site = site, .op = op});
}

}  // namespace

std::vector<Operation> check_at_least_3d(const Tensor& image, const char* op, Site site) {
  const Shape& known = image.shape();
  if (known.has_rank() && known.rank() < 3) {
    fail_image(fmt::format("'image' (shape {}) must be at least three-dimensional.", known.text()),
               op, site);
  }
  bool sizes_known = known.has_rank();
  for (std::size_t i = 0; known.has_rank() && i < 3; ++i) {
    const Dim size = known[known.rank() - 1 - i];
    if (size == Dim(0)) {
      fail_image(fmt::format("inner 3 dims of 'image.shape' must be > 0: {}", known.text()), op,
                 site);
    }
    sizes_known = sizes_known && size.known();
  }
  if (sizes_known) return {};
  const Tensor sizes = take_range(shape(image, {}, site), -3, std::nullopt, site);
  const Operation positive =
      assert_sizes_positive(sizes, "inner 3 dims of 'image.shape' must be > 0.", site);
  const Tensor dimensions = rank(image, {}, site);
  const Operation enough = assert_number("assert_greater_equal", dimensions, 3,
                                         ">=", "'image' must be at least three-dimensional.", site);
  return {positive, enough};
}

Tensor assert_at_least_3d(const Tensor& image, const char* op, Site site) {
  return with_dependencies(check_at_least_3d(image, op, site), image, {}, site);
}

std::vector<Operation> check_greyscale(const Tensor& image, Site site) {
  constexpr const char* kOp = "grayscale_to_rgb";
  const Shape& known = image.shape();
  if (known.has_rank() && known.rank() < 2) {
    fail_image(
        fmt::format("A grayscale image (shape {}) must be at least two-dimensional.", known.text()),
        kOp, site);
  }
  constexpr const char* kOne = "Last dimension of a grayscale image should be size 1.";
  if (known.fully_known()) {
    if (known.size(known.rank() - 1) != 1) fail_image(kOne, kOp, site);
    return {};
  }
  const Tensor last = take_index(shape(image, {}, site), -1, site);
  const Operation one = assert_number("assert_equal", last, 1, "==", kOne, site);
  const Tensor dimensions = rank(image, {}, site);
  const Operation enough =
      assert_number("assert_greater_equal", dimensions, 3,
                    ">=", "A grayscale image must be at least two-dimensional.", site);
  return {one, enough};
}

void check_image_or_batch(const Tensor& image, const char* op, Site site) {
  const Shape& known = image.shape();
  if (!known.has_rank() || known.rank() == 3 || known.rank() == 4) return;
  fail_image(fmt::format("'image' (shape {}) must have either 3 or 4 dimensions.", known.text()),
             op, site);
}

}  // namespace towerflow::image

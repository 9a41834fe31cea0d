#include "layers/tensordot.h"

#include <numeric>

#include "ops/array/concat.h"
#include "ops/array/gather.h"
#include "ops/array/shape_of.h"
#include "ops/array/stack.h"
#include "ops/array/transpose.h"
#include "ops/array/view.h"
#include "ops/math/matmul.h"
#include "ops/math/reduce.h"

namespace towerflow::layers {
namespace {

Operand int_list(std::vector<std::int64_t> values, Site site) {
  return Operand(Nested(std::vector<Nested>(values.begin(), values.end())), site);
}

/// The dimensions before the last of a tensor of known shape, and the tensor as a matrix.
Tensor known_rows(const Tensor& x, std::size_t axis, Site site) {
  const std::int64_t inputs = x.shape().size(axis);
  std::int64_t rows = 1;
  for (std::size_t i = 0; i < axis; ++i) rows *= x.shape().size(i);
  return reshape(Operand(x, site), int_list({rows, inputs}, site), {}, site);
}

Tensor tensordot_of_known(const Tensor& x, std::size_t axis, const Variable& matrix,
                          const std::string& scope, Site site) {
  const Tensor rows = known_rows(x, axis, site);
  const Tensor result = matmul(Operand(rows, site), Operand(matrix, site), {}, site);
  std::vector<std::int64_t> sizes = x.shape().sizes();
  sizes.back() = matrix.shape().size(1);
  return reshape(Operand(result, site), int_list(std::move(sizes), site), {.name = scope}, site);
}

Tensor tensordot_of_unknown(const Tensor& x, std::size_t axis, const Variable& matrix,
                            const std::string& scope, Site site) {
  std::vector<std::int64_t> before(axis);
  std::iota(before.begin(), before.end(), 0);
  const Tensor axes = convert_operand(x.graph(), int_list({static_cast<std::int64_t>(axis)}, site),
                                      "axes", DType::int32);
  const Tensor free = convert_operand(x.graph(), int_list(before, site), "free", DType::int32);
  const Tensor sizes = towerflow::shape(Operand(x, site), {}, site);
  const Tensor free_sizes = gather(Operand(sizes, site), Operand(free, site), {}, site);
  const Tensor axes_sizes = gather(Operand(sizes, site), Operand(axes, site), {}, site);
  const Tensor rows = reduce_prod(Operand(free_sizes, site), {}, site);
  const Tensor columns = reduce_prod(Operand(axes_sizes, site), {}, site);
  const Tensor order = concat({free, axes}, 0, {}, site);
  const Tensor shape = stack({rows, columns}, {}, site);
  const Tensor turned = transpose(Operand(x, site), Operand(order, site), {}, site);
  const Tensor flat = reshape(Operand(turned, site), Operand(shape, site), {}, site);
  const Tensor result = matmul(Operand(flat, site), Operand(matrix, site), {}, site);
  const Tensor outputs =
      convert_operand(x.graph(), int_list({matrix.shape().size(1)}, site), "Const", DType::int32);
  const Tensor target = concat({free_sizes, outputs}, 0, {}, site);
  return reshape(Operand(result, site), Operand(target, site), {.name = scope}, site);
}

}  // namespace

Tensor tensordot_last(const Tensor& x, std::size_t axis, const Variable& matrix, Site site) {
  const NameScope scope(x.graph(), "Tensordot", site);
  return x.shape().fully_known() ? tensordot_of_known(x, axis, matrix, scope.name(), site)
                                 : tensordot_of_unknown(x, axis, matrix, scope.name(), site);
}

}  // namespace towerflow::layers

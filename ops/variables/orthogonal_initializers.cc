#include "ops/variables/orthogonal_initializers.h"

#include <fmt/format.h>

#include "core/graph/error.h"
#include "ops/array/diagonal.h"
#include "ops/array/grid.h"
#include "ops/array/slice.h"
#include "ops/array/transpose.h"
#include "ops/array/view.h"
#include "ops/math/binary.h"
#include "ops/math/qr.h"
#include "ops/math/unary.h"
#include "ops/random/random_ops.h"

namespace towerflow {
namespace {

void check_matrix_rank(bool fits, const Shape& shape, const char* op, Site site) {
  if (fits) return;
  throw ValueError(fmt::format("The tensor to initialize, specified by argument `shape` must be at "
                               "least two-dimensional. Received shape={}",
                               shape.text()),
                   {.site = site, .op = op});
}

Tensor orthogonal_value(const OrthogonalInitializerOptions& options, const Shape& shape,
                        DType dtype, Site site) {
  check_matrix_rank(shape.rank() >= 2, shape, "orthogonal_initializer", site);
  std::int64_t rows = 1;
  for (std::size_t i = 0; i + 1 < shape.rank(); ++i) rows *= shape.size(i);
  const std::int64_t columns = shape.size(shape.rank() - 1);
  const bool wide = rows < columns;
  const Nested sizes = wide ? Nested({columns, rows}) : Nested({rows, columns});
  const Tensor noise =
      random_normal(Operand(sizes, site), {.dtype = dtype, .seed = options.seed}, site);
  const QrFactors factors = qr(Operand(noise, site), {}, site);
  const Tensor diagonal = diag_part(Operand(factors.r, site), {}, site);
  const Tensor signs = sign(Operand(diagonal, site), {}, site);
  Tensor q = Operand(factors.q, site) * Operand(signs, site);
  if (wide) q = matrix_transpose(Operand(q, site), {}, site);
  const Tensor shaped = reshape(Operand(q, site), Operand(shape_to_array(shape), site), {}, site);
  return Operand(options.gain, site) * Operand(shaped, site);
}

Tensor identity_value(const IdentityInitializerOptions& options, const Shape& shape, DType dtype,
                      const PartitionInfo* partition, Site site) {
  const Shape& whole = partition != nullptr ? partition->full_shape : shape;
  check_matrix_rank(whole.rank() == 2, shape, "identity_initializer", site);
  Tensor value = eye(ScalarOperand(whole.size(0), site), ScalarOperand(whole.size(1), site),
                     {.dtype = dtype}, site);
  if (partition != nullptr) {
    const std::vector<Nested> offsets(partition->var_offset.begin(), partition->var_offset.end());
    value = slice(Operand(value, site), Operand(Nested(offsets), site),
                  Operand(shape_to_array(shape), site), {}, site);
  }
  return Operand(options.gain, site) * Operand(value, site);
}

}  // namespace

Initializer orthogonal_initializer(OrthogonalInitializerOptions options) {
  return PartInitializerFunction(
      [options](const Shape& shape, DType dtype, const PartitionInfo*, Site site) {
        return orthogonal_value(options, shape, dtype, site);
      });
}

Initializer identity_initializer(IdentityInitializerOptions options) {
  return PartInitializerFunction(
      [options](const Shape& shape, DType dtype, const PartitionInfo* partition, Site site) {
        return identity_value(options, shape, dtype, partition, site);
      });
}

}  // namespace towerflow

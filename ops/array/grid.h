#pragma once

#include <string>
#include <vector>

#include "core/graph/operand.h"
#include "ops/operand_list.h"

namespace towerflow {

struct EyeOptions {
  ByName by_name = ByName();
  std::vector<std::int64_t> batch_shape{};
  DType dtype = DType::float32;
  std::string name{};
};

/// Returns identity matrices: ones on the main diagonal, zeros elsewhere.
///
/// shapes   num_rows [], num_columns [] -> batch_shape + [num_rows, num_columns]
/// dtypes   all but strings; sizes int32
/// grads    none: a constant
/// errors   ValueError: a negative size; TypeError: a size that is not an integer
/// source   tf.eye
Tensor eye(const ScalarOperand& num_rows, EyeOptions options = {}, Site site = Site::current());
Tensor eye(const ScalarOperand& num_rows, const ScalarOperand& num_columns, EyeOptions options = {},
           Site site = Site::current());

struct MeshgridOptions {
  std::string indexing = "xy";  ///< "ij": the first vector varies along the first dimension
  std::string name{};
};

/// Returns for each vector a tensor of its values at all points of the grid that they span. With
/// "xy" the first vector varies along the second dimension and the second along the first.
///
/// shapes   n vectors [d1], .., [dn] -> n times [d2, d1, .., dn], or [d1, .., dn] with "ij"
/// dtypes   all numbers, the same for all
/// grads    the vectors: dy summed over the other dimensions
/// errors   ValueError: indexing
/// source   tf.meshgrid
std::vector<Tensor> meshgrid(const OperandList& args, MeshgridOptions options = {},
                             Site site = Site::current());

struct LinspaceOptions {
  std::string name{};
};

/// Returns `num` numbers at equal distances from `start` to `stop`, both included; just `start` if
/// num is 1.
///
/// shapes   start [], stop [], num [] -> [num]
/// dtypes   start and stop float32, float64 (start decides); num int32, int64
/// grads    start, stop: dy weighted by the nearness to each; num: none
/// errors   TypeError: dtypes; at run time InvalidArgumentError: num below 0
/// source   tf.linspace of scalars
Tensor linspace(const ScalarOperand& start, const ScalarOperand& stop, const ScalarOperand& num,
                LinspaceOptions options = {}, Site site = Site::current());
/// The same. (tf.lin_space)
inline Tensor lin_space(const ScalarOperand& start, const ScalarOperand& stop,
                        const ScalarOperand& num, LinspaceOptions options = {},
                        Site site = Site::current()) {
  return linspace(start, stop, num, std::move(options), site);
}

}  // namespace towerflow

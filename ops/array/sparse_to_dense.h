#pragma once

#include <string>

#include "core/graph/operand.h"

namespace towerflow {

struct SparseToDenseOptions {
  ByName by_name = ByName();
  bool validate_indices = true;  ///< whether indices must be in ascending order without repeats
  std::string name{};
};

/// Makes a tensor of `default_value` with `sparse_values` at the given places.
///
/// shapes   sparse_indices [n, rank] ([n] or [] for a vector), output_shape [rank], sparse_values
/// [n]
///          or one for all, default_value [] -> output_shape
/// dtypes   sparse_indices and output_shape int32, int64, the same; values all
/// grads    sparse_values, default_value
/// errors   TypeError: dtypes that differ; at run time InvalidArgumentError: shapes other than
/// these,
///          an index outside the shape, or one that is repeated or out of order if indices are
///          validated
/// source   tf.sparse_to_dense
Tensor sparse_to_dense(const Operand& sparse_indices, const Operand& output_shape,
                       const Operand& sparse_values, const ScalarOperand& default_value,
                       SparseToDenseOptions options = {}, Site site = Site::current());
inline Tensor sparse_to_dense(const Operand& sparse_indices, const Operand& output_shape,
                              const Operand& sparse_values, SparseToDenseOptions options = {},
                              Site site = Site::current()) {
  return sparse_to_dense(sparse_indices, output_shape, sparse_values, ScalarOperand(0, site),
                         std::move(options), site);
}

}  // namespace towerflow

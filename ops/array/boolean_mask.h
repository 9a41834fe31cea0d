#pragma once

#include <string>
#include <utility>

#include "core/graph/operand.h"

namespace towerflow {

struct WhereOptions {
  ByName by_name = ByName();
  std::string name{};
};

/// Returns the coordinates of the true or nonzero elements, in row-major order (op Where).
///
/// shapes   condition [d1, .., dk] -> [n, k], n known only at run time
/// dtypes   bool and numbers -> int64
/// grads    none: coordinates are integers
/// errors   TypeError: strings
/// source   tf.where with one argument
Tensor where(const Operand& condition, WhereOptions options = {}, Site site = Site::current());
/// The same. (tf.where_v2 with one argument)
inline Tensor where_v2(const Operand& condition, WhereOptions options = {},
                       Site site = Site::current()) {
  return where(condition, std::move(options), site);
}

struct BooleanMaskOptions {
  std::string name = "boolean_mask";
  int axis = 0;  ///< the first dimension that the mask applies to
};

/// Returns the slices of `tensor` for which `mask` is true, one after another.
///
/// shapes   tensor [.., m1, .., mk, ..], mask [m1, .., mk] -> [.., n, ..]
/// dtypes   tensor all; mask bool or numbers
/// grads    tensor: from the ops it is composed of, reshape and gather
/// errors   ValueError: a mask that is a scalar, of unknown rank, or of the wrong shape
/// source   tf.boolean_mask
Tensor boolean_mask(const Operand& tensor, const Operand& mask, BooleanMaskOptions options = {},
                    Site site = Site::current());

}  // namespace towerflow

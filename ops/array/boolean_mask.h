#pragma once

#include <string>

#include "core/graph/operand.h"

namespace towerflow {

struct WhereOptions {
  ByName by_name = ByName();
  std::string name{};
};

/// The places of the elements that are true, or not zero, in row-major order (op Where).
///
/// shapes   condition [d1, .., dk] -> [n, k], n known in the run only
/// dtypes   bool and numbers -> int64
/// grads    none: a place is an integer
/// errors   TypeError: strings
/// source   tf.where with one argument
Tensor where(const Operand& condition, WhereOptions options = {}, Site site = Site::current());

struct BooleanMaskOptions {
  std::string name = "boolean_mask";
  int axis = 0;  ///< the first dimension that the mask stands for
};

/// The slices of `tensor` for which `mask` is true, one after another.
///
/// shapes   tensor [.., m1, .., mk, ..], mask [m1, .., mk] -> [.., n, ..]
/// dtypes   tensor all; mask bool or numbers
/// grads    tensor: of the ops it is made of, reshape and gather
/// errors   ValueError: a mask without dimensions, of unknown rank, or of other sizes
/// source   tf.boolean_mask
Tensor boolean_mask(const Operand& tensor, const Operand& mask, BooleanMaskOptions options = {},
                    Site site = Site::current());

}  // namespace towerflow

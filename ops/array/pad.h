#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "core/graph/operand.h"

namespace towerflow {

struct PadOptions {
  ByName by_name = ByName();
  Operand constant_values = 0;  ///< what is put around, of CONSTANT
  std::string name{};
};

/// The tensor with elements put around it: paddings[d][0] before and paddings[d][1] behind those of
/// dimension d. `mode` is CONSTANT; REFLECT, the tensor mirrored at its outermost elements; or
/// SYMMETRIC, mirrored at its borders, so that these come twice. Upper or lower case.
///
/// shapes   tensor [d0, ..], paddings [rank, 2] -> [before + d0 + behind, ..]
/// dtypes   tensor all, constant_values the same; paddings int32, int64
/// grads    tensor: dy inside, of the mirrored modes the sum of all copies; the others: none
/// errors   ValueError: an unknown mode, paddings of another shape or negative; in a run
///          InvalidArgumentError: REFLECT by more than d - 1, SYMMETRIC by more than d
/// source   tf.pad
Tensor pad(const Operand& tensor, const Operand& paddings, std::string_view mode = "CONSTANT",
           PadOptions options = {}, Site site = Site::current());
inline Tensor pad(const Operand& tensor, const Operand& paddings, PadOptions options,
                  Site site = Site::current()) {
  return pad(tensor, paddings, "CONSTANT", std::move(options), site);
}

}  // namespace towerflow

#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "core/graph/operand.h"

namespace towerflow {

struct PadOptions {
  ByName by_name = ByName();
  Operand constant_values = 0;  ///< the value of the padding in CONSTANT mode
  std::string name{};
};

/// Pads a tensor: paddings[d][0] elements before and paddings[d][1] after those of dimension d.
/// `mode` is CONSTANT; REFLECT, mirrored at the outermost elements, which are not repeated; or
/// SYMMETRIC, mirrored at the borders, so that they are repeated. Case does not matter.
///
/// shapes   tensor [d0, ..], paddings [rank, 2] -> [before + d0 + after, ..]
/// dtypes   tensor all, constant_values the same; paddings int32, int64
/// grads    tensor: dy inside, in the mirrored modes plus dy of all copies; the others: none
/// errors   ValueError: an unknown mode, paddings of another shape or negative; at run time
///          InvalidArgumentError: REFLECT by more than d - 1, SYMMETRIC by more than d
/// source   tf.pad
Tensor pad(const Operand& tensor, const Operand& paddings, std::string_view mode = "CONSTANT",
           PadOptions options = {}, Site site = Site::current());
inline Tensor pad(const Operand& tensor, const Operand& paddings, PadOptions options,
                  Site site = Site::current()) {
  return pad(tensor, paddings, "CONSTANT", std::move(options), site);
}

}  // namespace towerflow

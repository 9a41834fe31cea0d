#pragma once

#include <string>
#include <vector>

#include "ops/operand_list.h"

namespace towerflow {

struct IdentityNOptions {
  std::string name{};
};

/// Returns the same values as outputs of one op, whose gradient function sees all of them together.
///
/// shapes   input [...] each -> the same     dtypes  all, mixed
/// grads    input: dy of each; zeros where an output received none while another did
/// source   tf.identity_n
std::vector<Tensor> identity_n(const OperandList& input, IdentityNOptions options = {},
                               Site site = Site::current());

}  // namespace towerflow

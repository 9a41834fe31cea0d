#pragma once

#include <string>

#include "core/device/backend.h"
#include "core/graph/attr_fields.h"

namespace towerflow {

/// Attributes of op Einsum.
struct EinsumAttrs {
  std::string equation;
  static constexpr auto fields = std::tuple{attr::required("equation", &EinsumAttrs::equation)};
};

/// Registers the kernels of op Einsum.
void register_einsum_kernels(KernelTable& table);

}  // namespace towerflow

#pragma once

#include <cstdint>

#include "core/graph/attr_fields.h"

namespace towerflow {

/// Attributes of ReverseSequence.
struct ReverseSequenceAttrs {
  std::int64_t seq_dim = 0;
  std::int64_t batch_dim = 0;
  static constexpr auto fields =
      std::tuple{attr::required("seq_dim", &ReverseSequenceAttrs::seq_dim),
                 attr::field("batch_dim", &ReverseSequenceAttrs::batch_dim)};
};

}  // namespace towerflow

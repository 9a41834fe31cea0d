#pragma once

#include <cstdint>
#include <tuple>

#include "core/graph/attr_fields.h"
#include "core/graph/types.h"

namespace towerflow::data::types {

/// Which records of each file a reader reads: `index`, `index + count`, `index + 2 count`, ..,
/// where the first record is number 0. With an index each, `count` readers share the records.
struct RecordShare {
  std::int64_t index = 0;
  std::int64_t count = 1;  ///< 1: all records
  static constexpr auto fields = std::tuple{attr::field("_index", &RecordShare::index),
                                            attr::field("_count", &RecordShare::count)};
  bool operator==(const RecordShare&) const = default;
};

}  // namespace towerflow::data::types

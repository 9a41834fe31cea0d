#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "tests/data/support.h"
#include "towerflow/tf.h"
#include "train/summary/event_reader.h"

namespace towerflow::testing {

inline const std::string kSummaryGolden = "tests/train/summary/golden/";

/// Returns make_golden.py's values: exact in float32, with magnitudes so different that a sum
/// depends on its order.
template <class T>
std::vector<T> varied_values(int count) {
  std::vector<T> values;
  for (int i = 0; i < count; ++i) {
    values.push_back(static_cast<T>(std::ldexp((37 * i + 11) % 251 - 125, (7 * i) % 60 - 40)));
  }
  return values;
}

inline std::vector<summary::Event> read_events(const std::filesystem::path& path) {
  summary::EventReader reader(path);
  std::vector<summary::Event> events;
  while (auto event = reader.next()) events.push_back(std::move(*event));
  CHECK(reader.events_read() == events.size());
  return events;
}

}  // namespace towerflow::testing

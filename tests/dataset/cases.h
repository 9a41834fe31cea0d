#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "dataset/iterator.h"
#include "dataset/record_datasets.h"

namespace towerflow::testing {

/// A dataset that make_golden.py makes under the same name.
struct DatasetCase {
  std::string name;
  std::function<data::Dataset()> make;
  std::optional<std::int64_t> seed{};  ///< of the graph
};
std::vector<DatasetCase> dataset_cases();

/// A call that raises an error, also in make_golden.py.
struct CallError {
  std::string name;
  std::function<void()> call;
};
std::vector<CallError> dataset_call_errors();

}  // namespace towerflow::testing

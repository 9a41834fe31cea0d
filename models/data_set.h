#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/graph/operand.h"
#include "data/record_share.h"
#include "models/option_values.h"

namespace towerflow::models {

/// Data sets, and how a model reads them.

/// What a tower reads in a step. The shapes depend on the model: images [N, ...] and the number of
/// the class of each, or texts and the characters that follow. A model without classes ignores the
/// labels.
struct Batch {
  Tensor features;
  Tensor labels;
};
/// Returns the next batch; called once in each tower, within its scopes.
using BatchFunction = std::function<Batch()>;
/// Builds the input that all towers share, and returns what each tower calls.
using InputFunction = std::function<BatchFunction()>;

enum class Part : std::uint8_t { train, test };

/// A data set: the files that it consists of. Functions take the folder's name.
struct DataSet {
  std::string name;      ///< "cifar10"
  std::string examples;  ///< what it holds, in the plural: "images"
  std::string files;     ///< the files that a folder must have, for the help
  /// Describes the small set that `make` writes: "2,000 images of stripes".
  std::string made;
  /// Returns the files of a part. Throws NotFoundError if there are none.
  std::vector<std::string> (*files_of)(const std::string& folder, Part part);
  /// Returns the number of examples in files. Throws DataLossError if one is damaged.
  std::int64_t (*count)(const std::vector<std::string>& files);
  /// Writes a small set to a folder, the same each time; null if the project ships a sample.
  void (*make)(const std::string& folder);
};

/// Returns the number of records in TFRecord files. Throws DataLossError if one is damaged.
std::int64_t count_records(const std::vector<std::string>& files);

struct InputOptions {
  std::vector<std::string> files{};
  std::int64_t examples = 0;     ///< in these files
  std::int64_t batch_size = 64;  ///< per tower
  int num_towers = 1;
  std::optional<int> num_epochs{};  ///< no limit if absent
  int num_threads = 2;
  /// Which records of the files are read, where several processes share them.
  data::RecordShare share{};
  OptionValues values{};  ///< the model's specific options
};

}  // namespace towerflow::models

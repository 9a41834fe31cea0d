#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "core/graph/operand.h"

namespace towerflow::models {

/// Batches of handwritten digits, on which the models are trained.

inline constexpr std::int64_t kImagePixels = 784;  ///< 28 x 28

/// A batch: images [N, 784] float32 in -0.5 .. 0.5, labels [N] int32.
struct Batch {
  Tensor images;
  Tensor labels;
};
using BatchFunction = std::function<Batch()>;

struct InputOptions {
  std::int64_t batch_size = 64;
  int num_epochs = 1;
  std::optional<std::int64_t> seed{};
  int num_threads = 2;
};

/// Returns shuffled batches from a TFRecord file of Examples with `image_raw` and `label`.
Batch inputs(const std::string& file, InputOptions options);

/// Returns batches of a TFRecord file's Examples, once and in file order; the last batch may be
/// smaller.
Batch ordered_inputs(const std::string& file, std::int64_t batch_size);

/// Returns a batch stored in two variables: uniform noise as images, labels 0 to 9 in turn.
Batch batch_in_memory(std::int64_t batch_size);

/// Returns `folder/name.tfrecords` or `folder/name.tfrecords.gz`; throws NotFoundError with both
/// names if neither exists.
std::string record_file(const std::string& folder, const std::string& name);

}  // namespace towerflow::models

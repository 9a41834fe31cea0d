#pragma once

#include <cstdint>

#include "models/data_set.h"

namespace towerflow::models {

/// Batches of the handwritten digits of MNIST: images [N, 784] in -0.5 .. 0.5.

inline constexpr std::int64_t kImagePixels = 784;  ///< 28 x 28

/// MNIST as `towerflow convert mnist` writes it. Its small set is the sample of the project.
extern const DataSet kDigits;

/// Returns shuffled batches from a TFRecord file of Examples with `image_raw` and `label`.
Batch inputs(const InputOptions& options);

/// Returns a function that builds such an input in each tower.
BatchFunction digits_of_towers(const InputOptions& options);

/// Returns batches of a TFRecord file's Examples, once and in file order; the last batch may be
/// smaller.
Batch ordered_inputs(const std::vector<std::string>& files, std::int64_t batch_size);

/// Returns a batch stored in two variables: uniform noise as images, labels 0 to 9 in turn.
Batch batch_in_memory(std::int64_t batch_size);

}  // namespace towerflow::models

#pragma once

#include <filesystem>
#include <string>

#include "core/graph/array.h"

namespace towerflow::data::types {

/// The images of one of MNIST's two sets and as many labels.
struct MnistSet {
  Array images;  ///< uint8 (N, 28, 28), 0 background to 255 ink
  Array labels;  ///< uint8 (N), 0 to 9
};

}  // namespace towerflow::data::types

namespace towerflow::data {

/// Reads an IDX file, the format of the MNIST database (http://yann.lecun.com/exdb/mnist): two zero
/// bytes, a type byte (8 uint8, 9 int8, 11 int16, 12 int32, 13 float32, 14 float64), the number of
/// dimensions, their sizes and the elements, all in big endian. Plain or gzip (told apart by the
/// first bytes).
///
/// Returns an Array of the file's dtype and shape: uint8 (60000, 28, 28) for MNIST's images, uint8
/// (60000) for its labels. Throws DataLossError, with the file's name and the numbers, for a bad
/// magic number or a size that does not match the header. Allocates only as much memory as the file
/// has data.
Array read_idx(const std::filesystem::path& path);

/// Reads `NAME-images-idx3-ubyte` and `NAME-labels-idx1-ubyte` (or the same with `.gz`) of a
/// folder; `name` is "train" or "t10k". Throws NotFoundError if a file is missing, DataLossError if
/// one is damaged, InvalidArgumentError if both are intact but are not MNIST images and as many
/// labels.
MnistSet read_mnist_set(const std::filesystem::path& folder, const std::string& name);

}  // namespace towerflow::data

#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>

#include "core/graph/array.h"
#include "data/compression.h"
#include "data/statistics.h"

namespace towerflow::data {

/// Reads an IDX file, the format of the MNIST database (http://yann.lecun.com/exdb/mnist): two zero
/// bytes, a type byte (8 uint8, 9 int8, 11 int16, 12 int32, 13 float32, 14 float64), the number of
/// dimensions, their sizes and the elements, all in big endian. Plain or gzip, by its first bytes.
///
/// Returns an Array of the file's dtype and shape: uint8 (60000, 28, 28) for MNIST's images, uint8
/// (60000) for its labels. DataLossError, with the file's name and the figures, for a bad magic
/// number and for a file with fewer or more bytes than its sizes say; memory is taken only as far
/// as the file holds data.
Array read_idx(const std::filesystem::path& path);

/// What an IDX file holds, said without holding it.
struct IdxSummary {
  DType dtype = DType::invalid;
  Shape shape;
  Compression compression = Compression::none;
  Statistics values{};
  /// How often each value occurs, where the dtype is uint8.
  std::array<std::uint64_t, 256> counts{};
};

/// Reads an IDX file to its end in pieces. `progress`, when given, is called between them with the
/// bytes of data read and to be read. Memory: one piece of 64 KiB. Throws as `read_idx` does.
IdxSummary summarize_idx(
    const std::filesystem::path& path,
    const std::function<void(std::uint64_t done, std::uint64_t total)>& progress = {});

/// The digits of one of MNIST's two sets, of equal number.
struct MnistSet {
  Array images;  ///< uint8 (N, 28, 28), 0 background to 255 ink
  Array labels;  ///< uint8 (N), 0 to 9
};

/// Reads `NAME-images-idx3-ubyte` and `NAME-labels-idx1-ubyte` (or the same with `.gz`) of a
/// folder; `name` is "train" or "t10k". NotFoundError where a file is absent, DataLossError where
/// one is damaged, InvalidArgumentError where both are whole but not digits that belong together.
MnistSet read_mnist_set(const std::filesystem::path& folder, const std::string& name);

}  // namespace towerflow::data

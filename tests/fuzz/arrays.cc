// IDX and CIFAR-10 files.
#include <optional>

#include "data/cifar10.h"
#include "data/idx.h"
#include "data/idx_summary.h"
#include "tests/fuzz/records.h"
#include "tests/fuzz/scratch.h"
#include "tests/fuzz/target.h"

namespace towerflow::fuzz {
namespace {

void read_idx(std::string_view bytes) {
  const std::filesystem::path path = scratch_file("idx", bytes);
  std::optional<Array> array;
  std::optional<data::IdxSummary> summary;
  const bool whole = succeeds([&] { array = data::read_idx(path); });
  require(succeeds([&] { summary = data::summarize_idx(path); }) == whole,
          "a summary wants the same of a file");
  if (!whole) return;
  require(array->shape() == summary->shape && array->dtype() == summary->dtype &&
              summary->values.count() == static_cast<std::uint64_t>(array->elements()),
          "a summary sees the same array");
}

void read_cifar10(std::string_view bytes) {
  const data::Cifar10Set set = data::read_cifar10_file(scratch_file("cifar10", bytes));
  const Shape& shape = set.images.shape();
  require(shape == Shape({set.labels.elements(), 32, 32, 3}) && set.labels.elements() > 0,
          "each picture has its label");
}

void mutate_arrays(std::string& bytes, std::size_t most, Random& random, const Mutate& plain) {
  mutate_unpacked(bytes, most, random, plain, plain);
}

}  // namespace

const Target kIdx{"idx", read_idx, mutate_arrays};
const Target kCifar10{"cifar10", read_cifar10, mutate_arrays};

}  // namespace towerflow::fuzz

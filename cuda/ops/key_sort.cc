#include "cuda/ops/key_sort.h"

#include <utility>

namespace towerflow::cuda {
namespace {

constexpr std::int64_t kKeysOfBlock = 1024;
constexpr int kBitsOfDigit = 4;

}  // namespace

KeySort::KeySort(Device& device, std::int64_t keys, const char* op)
    : keys_(keys),
      tiles_(static_cast<unsigned>((keys + kKeysOfBlock - 1) / kKeysOfBlock)),
      counts_((std::size_t{tiles_} << kBitsOfDigit) * sizeof(std::uint32_t)),
      count_(device.kernel("SortCount")),
      scan_(device.kernel("SortScan")),
      move_(device.kernel("SortMove")) {
  check_32_bits(keys, op);
}

std::size_t KeySort::part() const {
  return rounded_to_pack(static_cast<std::size_t>(keys_) * sizeof(std::uint32_t));
}

KeySort::Rows KeySort::run(CudaQueue& queue, Rows given, std::byte* workspace, int bits) const {
  if (keys_ == 0) return given;
  const bool is_first = given.keys == words(workspace, 0);
  Rows other{words(workspace, is_first ? 2 : 0), words(workspace, is_first ? 3 : 1)};
  std::uint32_t* const counts = words(workspace, 4);
  const std::int64_t all_counts = std::int64_t{tiles_} << kBitsOfDigit;
  for (int shift = 0; shift < bits; shift += kBitsOfDigit) {
    launch(queue, count_, dim3(tiles_), given.keys, counts, keys_, shift);
    launch(queue, scan_, dim3(1), counts, all_counts);
    launch(queue, move_, dim3(tiles_), given.keys, given.rows, counts, other.keys, other.rows,
           keys_, shift);
    std::swap(given, other);
  }
  return given;
}

int bits_of(std::int64_t largest) {
  int bits = 0;
  while (largest >> bits != 0) ++bits;
  return bits;
}

}  // namespace towerflow::cuda

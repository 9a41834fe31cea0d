#pragma once

#include <utility>

#include "tests/cuda/device_memory.h"

namespace towerflow::cuda::testing {

/// Sorts n keys of `bits` bits and the rows with them, as the code that launches kernels does.
inline void sort_by_keys(DeviceMemory& memory, std::uint32_t*& keys, std::uint32_t*& rows,
                         std::size_t n, int bits) {
  using Constant = const std::uint32_t*;
  const auto tiles = static_cast<unsigned>((n + 1023) / 1024);
  const auto count = static_cast<std::int64_t>(n);
  auto *other_keys = memory.allocate<std::uint32_t>(n),
       *other_rows = memory.allocate<std::uint32_t>(n);
  auto* counts = memory.allocate<std::uint32_t>(16 * tiles);
  for (int shift = 0; shift < bits; shift += 4) {
    const host::Launch launch{dim3(tiles), dim3(256), 0};
    memory.run("SortCount", launch, Constant(keys), counts, count, shift);
    memory.run("SortScan", {dim3(1), dim3(256), 0}, counts, std::int64_t{16 * tiles});
    memory.run("SortMove", launch, Constant(keys), Constant(rows), Constant(counts), other_keys,
               other_rows, count, shift);
    std::swap(keys, other_keys);
    std::swap(rows, other_rows);
  }
}

/// Ids sorted as the kernels do: the keys and the rows.
struct Sorted {
  std::uint32_t *keys, *rows;
  int error;
  template <class Id>
  Sorted(DeviceMemory& memory, const std::vector<Id>& ids, std::int64_t segments,
         const char* kernel) {
    const std::size_t n = ids.size();
    keys = memory.allocate<std::uint32_t>(n);
    rows = memory.allocate<std::uint32_t>(n);
    device::DataError* wrong = memory.upload(std::vector<device::DataError>{{}});
    memory.run(kernel, launch_for(n), static_cast<const Id*>(memory.upload(ids)), keys, rows, wrong,
               static_cast<std::int64_t>(n), segments);
    error = memory.download(wrong, 1)[0].found;
    int bits = 0;
    while (segments >> bits != 0) ++bits;
    sort_by_keys(memory, keys, rows, n, bits);
  }
};

}  // namespace towerflow::cuda::testing

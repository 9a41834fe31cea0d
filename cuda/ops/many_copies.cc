#include "cuda/ops/many_copies.h"

#include <fmt/format.h>

#include <array>

namespace towerflow::cuda {
namespace {

/// Counts all copies in the widest elements, up to 16 bytes, that fit. Returns their bytes.
std::size_t widen(std::vector<RowsCopy>& copies, std::size_t bytes) {
  constexpr std::size_t kWidest = 16;
  for (std::size_t wide = kWidest; wide > bytes; wide /= 2) {
    const auto times = static_cast<std::int64_t>(wide / bytes);
    const auto numbers = [](RowsCopy& copy) {
      return std::array{&copy.width, &copy.from_offset, &copy.from_pitch, &copy.to_offset,
                        &copy.to_pitch};
    };
    bool fits = true;
    for (RowsCopy& copy : copies) {
      for (const std::int64_t* number : numbers(copy)) fits = fits && *number % times == 0;
    }
    if (!fits) continue;
    for (RowsCopy& copy : copies) {
      for (std::int64_t* number : numbers(copy)) *number /= times;
    }
    return wide;
  }
  return bytes;
}

/// One launch; the addresses in the list are offsets until then.
struct CopyBatch {
  device::CopyList list;
  std::vector<RowsCopy> copies;
  std::int64_t blocks = 0;
};

std::vector<CopyBatch> batches_of(const std::vector<RowsCopy>& copies) {
  std::vector<CopyBatch> batches;
  for (const RowsCopy& copy : copies) {
    if (copy.rows * copy.width == 0) continue;
    if (batches.empty() || batches.back().list.count == device::kMaxCopies) batches.emplace_back();
    CopyBatch& batch = batches.back();
    batch.list.copies[batch.list.count++] = {
        .from_pitch = copy.from_pitch,
        .to_pitch = copy.to_pitch,
        .width = copy.width,
        .rows = copy.rows,
        .first_block = static_cast<std::uint32_t>(batch.blocks)};
    batch.copies.push_back(copy);
    batch.blocks += (copy.rows * copy.width + device::kCopyChunk - 1) / device::kCopyChunk;
    check_32_bits(batch.blocks, "a copy");
  }
  return batches;
}

}  // namespace

std::unique_ptr<PreparedKernel> prepare_copies(Device& device, DType dtype,
                                               std::vector<RowsCopy> copies) {
  const std::size_t bytes = widen(copies, dtype_size(dtype));
  const cudaKernel_t kernel = device.kernel(fmt::format("CopyMany_{}", bytes));
  return make_kernel(
      [kernel, bytes, batches = batches_of(copies)](CudaQueue& queue, const LaunchArgs& args) {
        const auto moved = [bytes](std::int64_t elements) {
          return elements * static_cast<std::int64_t>(bytes);
        };
        for (const CopyBatch& batch : batches) {
          device::CopyList list = batch.list;
          for (std::size_t i = 0; i < batch.copies.size(); ++i) {
            const RowsCopy& copy = batch.copies[i];
            list.copies[i].from = args.input<std::byte>(copy.input) + moved(copy.from_offset);
            list.copies[i].to = args.output<std::byte>(copy.output) + moved(copy.to_offset);
          }
          launch(queue, kernel, one_block_each(batch.blocks), list);
        }
      });
}

}  // namespace towerflow::cuda

#include "cuda/ops/reduction.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/graph/short_float.h"
#include "ops/math/reduction_dims.h"

namespace towerflow::cuda {
namespace {

constexpr std::int64_t kWarp = 32, kBlock = kBlockThreads;
constexpr std::int64_t kMostGridY = 65535;
/// Rows from this length on are reduced by a whole block each.
constexpr std::int64_t kLongRow = 1024;

std::int64_t divided_up(std::int64_t n, std::int64_t by) { return (n + by - 1) / by; }

std::int64_t multiprocessors(const Device& device) {
  return device.properties().multiProcessorCount;
}

/// Returns into how many parts the `elements` of each result are divided, so that `blocks` blocks
/// for each part fill the device, and a part has at least `least` elements.
std::int64_t parts_of(const Device& device, std::int64_t blocks, std::int64_t elements,
                      std::int64_t least) {
  const std::int64_t wanted = 2 * multiprocessors(device) / std::max<std::int64_t>(blocks, 1);
  return std::clamp<std::int64_t>(std::min(wanted, elements / least), 1, kMostGridY);
}

/// Returns the kernel of a form for numbers of a dtype; its results are not short.
cudaKernel_t reduction_kernel(Device& device, const ReductionSpec& spec, const char* form,
                              DType dtype) {
  return device.kernel(fmt::format("{}_{}_{}", spec.op, form, dtype_name(dtype)));
}

}  // namespace

CudaReduction::CudaReduction(Device& device, const ReductionSpec& spec) {
  bool flags[kMaxKernelRank] = {};
  std::copy(spec.reduced.begin(), spec.reduced.end(), flags);
  const ReductionDims dims(spec.shape, flags);
  const std::int64_t elements = dims.count(true);
  results_ = dims.count(false);
  is_empty_ = results_ == 0;
  if (is_empty_) return;
  const bool last = dims.rank > 0 && dims.reduced[dims.rank - 1];
  const bool columns = dims.rank == 2 && dims.reduced[0];
  const bool middle = dims.rank == 3 && dims.reduced[1] && dims.size[0] <= kMostGridY;
  if (dims.rank <= 1 || elements == 0 || (dims.rank == 2 && last)) {
    plan_rows(device, spec, results_, elements);
  } else if (columns || middle) {
    plan_columns(device, spec, middle ? dims.size[0] : 1, elements, dims.size[dims.rank - 1]);
  } else {
    plan_general(device, spec);
  }
  if (!is_short_float(spec.dtype)) return;
  rounding_ = device.kernel(fmt::format("Cast_float32_{}", dtype_name(spec.dtype)));
  wide_at_ = rounded_to_pack(workspace_);
  workspace_ = wide_at_ + static_cast<std::size_t>(results_) * sizeof(float);
}

void CudaReduction::plan_rows(Device& device, const ReductionSpec& spec, std::int64_t rows,
                              std::int64_t columns) {
  const auto pass = [&](DType dtype, std::int64_t length, std::int64_t parts, double divisor) {
    const std::int64_t group = length >= kLongRow ? kBlock : kWarp;
    const std::int64_t blocks =
        std::min(divided_up(rows, kBlock / group), 16 * multiprocessors(device));
    return Pass{.form = Pass::Form::rows,
                .kernel = reduction_kernel(device, spec, "rows", dtype),
                .blocks = dim3(static_cast<unsigned>(blocks), static_cast<unsigned>(parts)),
                .rows = rows,
                .columns = length,
                .group = static_cast<int>(group),
                .divisor = divisor};
  };
  constexpr std::int64_t kLeast = 8192;
  const std::int64_t parts = parts_of(device, rows, columns, kLeast);
  passes_.push_back(pass(spec.dtype, columns, parts, parts == 1 ? spec.divisor : 1));
  if (parts == 1) return;
  passes_.push_back(pass(widened(spec.dtype), parts, 1, spec.divisor));
  workspace_ = static_cast<std::size_t>(rows * parts) * dtype_size(widened(spec.dtype));
}

void CudaReduction::plan_columns(Device& device, const ReductionSpec& spec, std::int64_t outer,
                                 std::int64_t rows, std::int64_t columns) {
  const auto pack = static_cast<std::int64_t>(16 / dtype_size(widened(spec.dtype)));
  const bool packed = columns % pack == 0;
  const std::int64_t tiles = divided_up(packed ? columns / pack : columns, kBlock);
  const auto pass = [&](DType dtype, std::int64_t length, std::int64_t parts, double divisor) {
    return Pass{.form = Pass::Form::columns,
                .kernel = reduction_kernel(device, spec, "columns", dtype),
                .blocks = dim3(static_cast<unsigned>(tiles), static_cast<unsigned>(outer),
                               static_cast<unsigned>(parts)),
                .rows = length,
                .columns = columns,
                .group = packed ? 1 : 0,
                .divisor = divisor};
  };
  check_32_bits(tiles, spec.op.c_str());
  constexpr std::int64_t kLeast = 128;
  const std::int64_t parts = parts_of(device, tiles * outer, rows, kLeast);
  passes_.push_back(pass(spec.dtype, rows, parts, parts == 1 ? spec.divisor : 1));
  if (parts == 1) return;
  passes_.push_back(pass(widened(spec.dtype), parts, 1, spec.divisor));
  workspace_ = static_cast<std::size_t>(outer * parts * columns) * dtype_size(widened(spec.dtype));
}

void CudaReduction::plan_general(Device& device, const ReductionSpec& spec) {
  bool flags[kMaxKernelRank] = {};
  std::copy(spec.reduced.begin(), spec.reduced.end(), flags);
  const ReductionDims dims(spec.shape, flags);
  View<1> kept, reduced;
  for (std::size_t d = 0; d < dims.rank; ++d) {
    (dims.reduced[d] ? reduced : kept).add(dims.size[d], {dims.stride[d]});
  }
  const std::int64_t results = dims.count(false);
  passes_.push_back({.form = Pass::Form::general,
                     .kernel = reduction_kernel(device, spec, "general", spec.dtype),
                     .blocks = blocks_for(device, results * kWarp),
                     .rows = results,
                     .columns = dims.count(true),
                     .kept = kept.strided(spec.op.c_str()),
                     .reduced = reduced.strided(spec.op.c_str()),
                     .divisor = spec.divisor});
}

void CudaReduction::launch_pass(CudaQueue& queue, const Pass& pass, const void* x, void* y) {
  if (pass.form == Pass::Form::general) {
    return launch(queue, pass.kernel, pass.blocks, x, y, pass.rows, pass.kept, pass.columns,
                  pass.reduced, pass.divisor);
  }
  launch(queue, pass.kernel, pass.blocks, x, y, pass.rows, pass.columns, pass.group, pass.divisor);
}

void CudaReduction::run(CudaQueue& queue, const void* x, void* y, std::byte* workspace) const {
  if (is_empty_) return;
  void* const result = rounding_ == nullptr ? y : workspace + wide_at_;
  if (passes_.size() == 1) {
    launch_pass(queue, passes_[0], x, result);
  } else {
    launch_pass(queue, passes_[0], x, workspace);
    launch_pass(queue, passes_[1], workspace, result);
  }
  if (rounding_ == nullptr) return;
  launch(queue, rounding_, blocks_for(queue.device(), results_), result, y, results_);
}

std::unique_ptr<PreparedKernel> prepare_reduction(Device& device, const ReductionSpec& spec,
                                                  std::size_t input) {
  const CudaReduction reduction(device, spec);
  return make_kernel(
      [reduction, input](CudaQueue& queue, const LaunchArgs& args) {
        reduction.run(queue, args.inputs[input], args.outputs[0], args.workspace);
      },
      {.workspace = reduction.workspace_bytes()});
}

}  // namespace towerflow::cuda

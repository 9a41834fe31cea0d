#include <fmt/format.h>

#include "core/device/cpu/cpu_backend.h"
#include "core/device/cpu/cpu_kernel.h"
#include "core/device/cpu/thread_pool.h"
#include "ops/family.h"
#include "ops/random/attributes.h"
#include "ops/random/distributions.h"
#include "ops/random/generator.h"

namespace towerflow {
namespace {

/// 64 KiB of output, less than in other loops, since drawing a number takes longer than adding one.
constexpr std::int64_t kGroupsPerSlice = 4096;

/// Reserves a run's part of the stream, then fills it in slices that depend only on the count.
/// `Fill::check(args)`, called before anything is reserved, throws for invalid arguments; then
/// `Fill::fill(args, base, out, groups)` is called for each slice.
template <class T, class Fill>
class DrawKernel final : public PreparedKernel {
 public:
  DrawKernel(std::string node, random::Seeds seeds, std::int64_t count)
      : node_(std::move(node)), seeds_(seeds), count_(count) {}

  bool may_fail() const override { return Fill::kMayThrow; }
  void enqueue(Queue& queue, const LaunchArgs& args) const override {
    if (count_ == 0) return;
    Fill::check(args);
    const random::Philox base = random::generator_of(args, node_, seeds_).reserve_outputs(count_);
    const std::span<T> out(args.output<T>(0), static_cast<std::size_t>(count_));
    const std::int64_t groups = random::group_count<T>(count_);
    const int slices = slice_count(groups, kGroupsPerSlice);
    static_cast<CpuQueue&>(queue).pool().parallel(slices, [&](int slice) {
      const SliceRange range = slice_range(groups, slices, slice);
      Fill::fill(args, base, out, random::GroupRange{range.begin, range.end});
    });
  }

 private:
  std::string node_;
  random::Seeds seeds_;
  std::int64_t count_;
};

template <class T>
struct Uniform {
  static constexpr bool kMayThrow = false;
  static void check(const LaunchArgs&) {}
  static void fill(const LaunchArgs&, const random::Philox& base, std::span<T> out,
                   random::GroupRange range) {
    random::fill_uniform(base, out, range);
  }
};

template <class T>
struct Normal {
  static constexpr bool kMayThrow = false;
  static void check(const LaunchArgs&) {}
  static void fill(const LaunchArgs&, const random::Philox& base, std::span<T> out,
                   random::GroupRange range) {
    random::fill_normal(base, out, range);
  }
};

template <class T>
struct Truncated {
  static constexpr bool kMayThrow = false;
  static void check(const LaunchArgs&) {}
  static void fill(const LaunchArgs&, const random::Philox& base, std::span<T> out,
                   random::GroupRange range) {
    random::fill_truncated_normal(base, out, range);
  }
};

template <class T>
struct Integers {
  static constexpr bool kMayThrow = true;
  static void check(const LaunchArgs& args) {
    const T low = *args.input<T>(1), high = *args.input<T>(2);
    if (low < high) return;
    throw errors::InvalidArgumentError(
        fmt::format("Need minval < maxval, got {} >= {}", low, high));
  }
  static void fill(const LaunchArgs& args, const random::Philox& base, std::span<T> out,
                   random::GroupRange range) {
    random::fill_uniform_int(base, *args.input<T>(1), *args.input<T>(2), out, range);
  }
};

template <class T, template <class> class Fill>
std::unique_ptr<PreparedKernel> prepare(const KernelRequest& request) {
  const Shape& shape = request.outputs[0].shape;
  if (!shape.fully_known()) {
    throw errors::InvalidArgumentError(
        fmt::format("Cannot draw numbers of shape {}: every size must be >= 0", shape.text()));
  }
  return std::make_unique<DrawKernel<T, Fill<T>>>(
      request.node, request.attributes<DrawAttrs>().seeds, shape.elements());
}

template <class T, template <class> class Fill>
void add_draw_kernel(KernelTable& table, const char* op) {
  table.add({.op = op,
             .label = "philox",
             .accepts = [](const KernelRequest& r) { return r.outputs[0].dtype == dtype_of<T>(); },
             .prepare = prepare<T, Fill>});
}

}  // namespace

static void register_draw_kernels(KernelTable& table) {
  add_draw_kernel<float, Uniform>(table, "RandomUniform");
  add_draw_kernel<double, Uniform>(table, "RandomUniform");
  add_draw_kernel<std::int32_t, Integers>(table, "RandomUniformInt");
  add_draw_kernel<std::int64_t, Integers>(table, "RandomUniformInt");
  add_draw_kernel<float, Normal>(table, "RandomStandardNormal");
  add_draw_kernel<double, Normal>(table, "RandomStandardNormal");
  add_draw_kernel<float, Truncated>(table, "TruncatedNormal");
  add_draw_kernel<double, Truncated>(table, "TruncatedNormal");
}

OpFamily draw_cpu_family() { return {.kernels = register_draw_kernels}; }

}  // namespace towerflow

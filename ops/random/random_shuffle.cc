#include "ops/random/random_ops.h"

#include <algorithm>
#include <cstring>

#include "core/device/cpu/cpu_backend.h"
#include "core/device/cpu/cpu_kernel.h"
#include "core/device/cpu/thread_pool.h"
#include "core/graph/op_builder.h"
#include "ops/family.h"
#include "ops/random/attributes.h"
#include "ops/random/generator.h"
#include "ops/random/shuffle.h"

namespace towerflow {
namespace {

class ShuffleKernel final : public PreparedKernel {
 public:
  explicit ShuffleKernel(const KernelRequest& request)
      : node_(request.node),
        seeds_(request.attributes<ShuffleAttrs>().seeds),
        text_(request.inputs[0].dtype == DType::string) {
    const Shape& shape = request.inputs[0].shape;
    const std::int64_t elements = shape.elements();
    if (elements == 0) return;
    rows_ = shape.rank() == 0 ? 1 : shape.size(0);
    row_elements_ = elements / rows_;
    row_bytes_ = row_elements_ * static_cast<std::int64_t>(dtype_size(request.inputs[0].dtype));
    random::check_rows(rows_);
  }

  std::size_t workspace_bytes() const override {
    return static_cast<std::size_t>(rows_) * sizeof(std::uint32_t);
  }

  bool may_fail() const override { return text_; }
  void enqueue(Queue& queue, const LaunchArgs& args) const override {
    if (rows_ == 0) return;
    const std::span<std::uint32_t> order(reinterpret_cast<std::uint32_t*>(args.workspace),
                                         static_cast<std::size_t>(rows_));
    random::shuffle_order(random::generator_of(args, node_, seeds_), order);
    const int slices = row_slices(rows_, row_elements_);
    static_cast<CpuQueue&>(queue).pool().parallel(slices, [&](int slice) {
      const SliceRange range = slice_range(rows_, slices, slice);
      for (std::int64_t row = range.begin; row < range.end; ++row) {
        copy_row(args, order[static_cast<std::size_t>(row)], row);
      }
    });
  }

 private:
  void copy_row(const LaunchArgs& args, std::int64_t from, std::int64_t to) const {
    if (text_) {
      std::copy_n(args.input<std::string>(0) + from * row_elements_, row_elements_,
                  args.output<std::string>(0) + to * row_elements_);
    } else {
      std::memcpy(args.output<std::byte>(0) + to * row_bytes_,
                  args.input<std::byte>(0) + from * row_bytes_,
                  static_cast<std::size_t>(row_bytes_));
    }
  }

  std::string node_;
  random::Seeds seeds_;
  bool text_;
  std::int64_t rows_ = 0;  // 0 for a tensor without elements, which draws nothing
  std::int64_t row_elements_ = 0;
  std::int64_t row_bytes_ = 0;
};

}  // namespace

static void register_shuffle_ops(OpRegistry& registry) {
  registry.add({.name = "RandomShuffle",
                .inputs = {"value: T"},
                .outputs = {"output: T"},
                .attrs = attributes<ShuffleAttrs>(),
                .shape =
                    [](InferenceContext& context) {
                      context.add_output(context.dtype(0), context.shape(0));
                    },
                .gradient = NoGradient{"TensorFlow defines none for random_shuffle: gather rows by "
                                       "a shuffled range instead"},
                .effect = Effect::random});
}

static void register_shuffle_kernels(KernelTable& table) {
  table.add(
      {.op = "RandomShuffle",
       .label = "philox",
       .accepts = [](const KernelRequest& r) { return r.inputs[0].dtype != DType::resource; },
       .prepare =
           [](const KernelRequest& request) { return std::make_unique<ShuffleKernel>(request); }});
}

OpFamily random_shuffle_family() {
  return {.ops = register_shuffle_ops, .kernels = register_shuffle_kernels};
}

Tensor random_shuffle(const Operand& value, RandomShuffleOptions options, Site site) {
  OpBuilder builder("RandomShuffle", options.name, site, {&value});
  Graph& graph = builder.graph();
  const random::Seeds seeds = random::get_seed(graph.seed, options.seed, graph.next_op_seed);
  return builder.input(value, "value").attrs(ShuffleAttrs{seeds}).output();
}

}  // namespace towerflow

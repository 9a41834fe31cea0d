#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "core/device/cpu/cpu_backend.h"
#include "core/device/cpu/slicing.h"
#include "core/device/cpu/thread_pool.h"
#include "core/graph/op_builder.h"
#include "ops/family.h"
#include "ops/kernel_dims.h"
#include "ops/random/attributes.h"
#include "ops/random/generator.h"
#include "ops/random/random_ops.h"
#include "ops/random/words.h"

namespace towerflow {
namespace {

void multinomial_shape(InferenceContext& context) {
  if (!is_floating(context.dtype(0)) && !is_integer(context.dtype(0))) {
    context.fail_type(fmt::format("logits of {} are not numbers", dtype_name(context.dtype(0))));
  }
  if (context.dtype(1) != DType::int32) {
    context.fail_type(fmt::format("num_samples is {}, not int32", dtype_name(context.dtype(1))));
  }
  const Shape& logits = context.shape(0);
  if (logits.has_rank() && logits.rank() != 2) {
    context.fail(fmt::format("Shape must be rank 2 but is rank {}: logits", logits.rank()));
  }
  if (context.shape(1).has_rank() && context.shape(1).rank() != 0) {
    context.fail(
        fmt::format("Shape must be rank 0 but is rank {}: num_samples", context.shape(1).rank()));
  }
  Dim samples(None);
  if (const Array* count = context.constant(1)) {
    const std::int64_t given = integers_of(*count)[0];
    if (given < 0) {
      context.fail(fmt::format("num_samples must be non-negative but is {}", given));
    }
    samples = Dim(given);
  }
  context.add_output(context.attrs<MultinomialAttrs>().output_dtype,
                     Shape{logits.has_rank() ? logits[0] : Dim(None), samples});
}

/// Fills `sums` with the running sums of exp(logits - their maximum) over finite logits. Returns
/// the last one.
template <class T>
double sum_weights(const T* logits, std::int64_t classes, double* sums) {
  T largest = std::numeric_limits<T>::lowest();
  for (std::int64_t j = 0; j < classes; ++j) {
    if (std::isfinite(logits[j])) largest = std::max(largest, logits[j]);
  }
  double total = 0;
  for (std::int64_t j = 0; j < classes; ++j) {
    if (std::isfinite(logits[j])) {
      total += std::exp(static_cast<double>(logits[j]) - static_cast<double>(largest));
    }
    sums[j] = total;
  }
  return total;
}

struct MultinomialSizes {
  std::int64_t batch, classes, samples;
};

/// Draws the samples of the rows in `range`. A sample takes two words, in the order of the samples.
template <class T, class Out>
void draw_classes(const MultinomialSizes& n, const LaunchArgs& args, random::Philox base,
                  SliceRange range, double* sums) {
  const std::int64_t first_word = 2 * range.begin * n.samples;
  base.skip(static_cast<std::uint64_t>(first_word / 4));
  random::PhiloxWords words(base);
  if (first_word % 4 != 0) random::next_double(words);
  Out* out = args.output<Out>(0) + range.begin * n.samples;
  for (std::int64_t b = range.begin; b < range.end; ++b) {
    const double total = sum_weights(args.input<T>(0) + b * n.classes, n.classes, sums);
    for (std::int64_t j = 0; j < n.samples; ++j) {
      const double wanted = random::next_double(words) * total;
      *out++ = static_cast<Out>(std::upper_bound(sums, sums + n.classes, wanted) - sums);
    }
  }
}

/// Reserves a run's part of the stream, then draws the rows in slices. The workspace holds the sums
/// of a row of each slice.
class MultinomialKernel final : public PreparedKernel {
 public:
  MultinomialKernel(const KernelRequest& request, MultinomialSizes sizes)
      : n_(sizes),
        node_(request.node),
        seeds_(request.attributes<MultinomialAttrs>().seeds),
        from_(request.inputs[0].dtype),
        to_(request.outputs[0].dtype),
        slices_(n_.samples == 0
                    ? 0
                    : slice_count(n_.batch, std::max<std::int64_t>(1, kWorkPerSlice / work()))) {}

  bool may_fail() const override { return false; }
  std::size_t workspace_bytes() const override {
    return static_cast<std::size_t>(slices_ * n_.classes) * sizeof(double);
  }
  void enqueue(Queue& queue, const LaunchArgs& args) const override {
    if (n_.batch == 0 || n_.samples == 0) return;
    // The amount that TensorFlow reserves, in words for doubles.
    const std::int64_t reserved = n_.batch * ((n_.samples + 3) / 4 * 4) * 2;
    const random::Philox base = random::generator_of(args, node_, seeds_).reserve_outputs(reserved);
    static_cast<CpuQueue&>(queue).pool().parallel(slices_, [&](int slice) {
      double* sums = reinterpret_cast<double*>(args.workspace) + slice * n_.classes;
      const SliceRange range = slice_range(n_.batch, slices_, slice);
      const auto draw = [&]<class T>() {
        if (to_ == DType::int32) return draw_classes<T, std::int32_t>(n_, args, base, range, sums);
        draw_classes<T, std::int64_t>(n_, args, base, range, sums);
      };
      if (from_ == DType::float32) return draw.template operator()<float>();
      draw.template operator()<double>();
    });
  }

 private:
  static constexpr std::int64_t kWorkPerSlice = 4096;  // exponentials and samples
  std::int64_t work() const { return n_.classes + n_.samples; }

  MultinomialSizes n_;
  std::string node_;
  random::Seeds seeds_;
  DType from_, to_;
  int slices_;
};

std::unique_ptr<PreparedKernel> multinomial_kernel(const KernelRequest& request) {
  const Shape &logits = request.inputs[0].shape, &out = request.outputs[0].shape;
  if (!out.fully_known()) {
    throw errors::InvalidArgumentError("the number of samples must be at least 0");
  }
  const MultinomialSizes n{logits.size(0), logits.size(1), out.size(1)};
  if (n.classes == 0 && n.samples > 0) {
    throw errors::InvalidArgumentError("num_classes should be positive, got 0");
  }
  if (n.samples > (std::int64_t{1} << 31) || n.batch > (std::int64_t{1} << 31)) {
    throw errors::InvalidArgumentError("too many samples are drawn at once");
  }
  return std::make_unique<MultinomialKernel>(request, n);
}

}  // namespace

static void register_multinomial_ops(OpRegistry& registry) {
  registry.add({.name = "Multinomial",
                .inputs = {"logits: T", "num_samples: int32"},
                .outputs = {"output: output_dtype"},
                .attrs = attributes<MultinomialAttrs>(),
                .shape = multinomial_shape,
                .gradient = NoGradient{"the results are integers"},
                .effect = Effect::random});
}

static void register_multinomial_kernels(KernelTable& table) {
  table.add({.op = "Multinomial",
             .label = "philox",
             .accepts =
                 [](const KernelRequest& r) {
                   return r.inputs[0].dtype == DType::float32 ||
                          r.inputs[0].dtype == DType::float64;
                 },
             .prepare = multinomial_kernel});
}

OpFamily multinomial_family() {
  return {.ops = register_multinomial_ops, .kernels = register_multinomial_kernels};
}

Tensor multinomial(const Operand& logits, const ScalarOperand& num_samples,
                   MultinomialOptions options, Site site) {
  Graph& graph = graph_of(logits);
  const NameScope scope(graph, options.name.empty() ? "multinomial" : options.name, site);
  const Tensor rows = convert_operand(graph, logits, "logits", std::nullopt);
  const DType dtype = options.output_dtype;
  if (dtype != DType::int32 && dtype != DType::int64) {
    throw ValueError(
        fmt::format("Argument `dtype` got invalid value {}. Accepted dtypes are int32, "
                    "int64.",
                    dtype_name(dtype)),
        {.site = site, .op = "Multinomial"});
  }
  const random::Seeds seeds = random::get_seed(graph.seed, options.seed, graph.next_op_seed);
  return OpBuilder("Multinomial", "", site, {})
      .input(rows, "logits")
      .input(num_samples, "num_samples", DType::int32)
      .attrs(MultinomialAttrs{seeds, dtype})
      .output();
}

}  // namespace towerflow

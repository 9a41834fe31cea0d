#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "core/device/cpu/launch.h"
#include "core/graph/op_builder.h"
#include "ops/family.h"
#include "ops/kernel_dims.h"
#include "ops/random/generator.h"
#include "ops/random/random_ops.h"
#include "ops/random/words.h"

namespace towerflow {
namespace {

struct MultinomialAttrs {
  random::Seeds seeds{};
  DType output_dtype = DType::int64;
  static constexpr auto fields =
      std::tuple{attr::included(&MultinomialAttrs::seeds),
                 attr::field("output_dtype", &MultinomialAttrs::output_dtype)};
};

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

template <class T, class Out>
void draw_classes(const MultinomialSizes& n, const LaunchArgs& args, random::PhiloxWords words) {
  double* sums = reinterpret_cast<double*>(args.workspace);
  Out* out = args.output<Out>(0);
  for (std::int64_t b = 0; b < n.batch; ++b) {
    const double total = sum_weights(args.input<T>(0) + b * n.classes, n.classes, sums);
    for (std::int64_t j = 0; j < n.samples; ++j) {
      const double wanted = random::next_double(words) * total;
      *out++ = static_cast<Out>(std::upper_bound(sums, sums + n.classes, wanted) - sums);
    }
  }
}

std::unique_ptr<PreparedKernel> multinomial_kernel(const KernelRequest& request) {
  const Shape &logits = request.inputs[0].shape, &out = request.outputs[0].shape;
  if (!out.fully_known()) {
    throw errors::InvalidArgumentError("the number of samples must be at least 0");
  }
  const MultinomialSizes n{logits.size(0), logits.size(1), out.size(1)};
  if (n.classes == 0 && n.samples > 0) {
    throw errors::InvalidArgumentError("num_classes should be positive, got 0");
  }
  // The amount that TensorFlow reserves, in words for doubles.
  if (n.samples > (std::int64_t{1} << 31) || n.batch > (std::int64_t{1} << 31)) {
    throw errors::InvalidArgumentError("too many samples are drawn at once");
  }
  const std::int64_t reserved = n.batch * ((n.samples + 3) / 4 * 4) * 2;
  const auto run =
      [n, reserved, node = request.node, seeds = request.attributes<MultinomialAttrs>().seeds,
       from = request.inputs[0].dtype, to = request.outputs[0].dtype](const LaunchArgs& args) {
        if (n.batch == 0 || n.samples == 0) return;
        const random::PhiloxWords words(
            random::generator_of(args, node, seeds).reserve_outputs(reserved));
        const auto draw = [&]<class T>() {
          if (to == DType::int32) return draw_classes<T, std::int32_t>(n, args, words);
          draw_classes<T, std::int64_t>(n, args, words);
        };
        if (from == DType::float32) return draw.template operator()<float>();
        draw.template operator()<double>();
      };
  return function_kernel(
      run,
      {.may_fail = false, .workspace_bytes = static_cast<std::size_t>(n.classes) * sizeof(double)});
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

#include "ops/random/candidate_sampler.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <limits>

#include "core/device/cpu/launch.h"
#include "core/graph/op_builder.h"
#include "ops/family.h"
#include "ops/random/generator.h"
#include "ops/random/words.h"

namespace towerflow::nn {
namespace {

constexpr std::int64_t kMostSampled = std::int64_t{1} << 32;

struct CandidateAttrs {
  std::int64_t num_true = 1;
  std::int64_t num_sampled = 1;
  bool unique = true;
  std::int64_t range_max = 1;
  random::Seeds seeds{};
  static constexpr auto fields =
      std::tuple{attr::required("num_true", &CandidateAttrs::num_true),
                 attr::required("num_sampled", &CandidateAttrs::num_sampled),
                 attr::required("unique", &CandidateAttrs::unique),
                 attr::required("range_max", &CandidateAttrs::range_max),
                 attr::included(&CandidateAttrs::seeds)};
};

struct HitsAttrs {
  std::int64_t num_true = 1;
  random::Seeds seeds{};
  static constexpr auto fields = std::tuple{attr::required("num_true", &HitsAttrs::num_true),
                                            attr::included(&HitsAttrs::seeds)};
};

void check_true_classes(const InferenceContext& context, std::int64_t num_true, bool check_width) {
  if (context.dtype(0) != DType::int64) {
    context.fail_type(fmt::format("true_classes is {}, not int64", dtype_name(context.dtype(0))));
  }
  const Shape& classes = context.shape(0);
  if (classes.has_rank() && classes.rank() != 2) {
    context.fail(fmt::format("Shape must be rank 2 but is rank {}: true_classes", classes.rank()));
  }
  if (check_width && classes.has_rank() && classes[1].known() && classes[1].size() != num_true) {
    context.fail(fmt::format("Dimension must be {} but is {}: the true classes of a row", num_true,
                             classes[1].size()));
  }
}

void candidate_shape(InferenceContext& context) {
  const auto& attrs = context.attrs<CandidateAttrs>();
  const std::pair<const char*, std::int64_t> numbers[] = {{"num_true", attrs.num_true},
                                                          {"num_sampled", attrs.num_sampled},
                                                          {"range_max", attrs.range_max}};
  for (const auto& [name, number] : numbers) {
    if (number < 1) {
      context.fail(fmt::format("Attr '{}' passed {} less than minimum 1.", name, number));
    }
  }
  if (attrs.num_sampled > kMostSampled) {
    context.fail(fmt::format("{} classes cannot be drawn at once", attrs.num_sampled));
  }
  check_true_classes(context, attrs.num_true, false);
  const Dim rows = context.shape(0).has_rank() ? context.shape(0)[0] : Dim(None);
  context.add_output(DType::int64, Shape{attrs.num_sampled});
  context.add_output(DType::float32, Shape{rows, Dim(attrs.num_true)});
  context.add_output(DType::float32, Shape{attrs.num_sampled});
}

struct UniformClasses {
  std::int64_t range;
  float probability;
  explicit UniformClasses(std::int64_t count)
      : range(count), probability(static_cast<float>(1.0 / static_cast<double>(count))) {}
  std::int64_t draw(random::PhiloxWords& words) const {
    return static_cast<std::int64_t>(random::next_below(words, static_cast<std::uint64_t>(range)));
  }
  float probability_of(std::int64_t) const { return probability; }
};

struct LogUniformClasses {
  std::int64_t range;
  double log_range;
  explicit LogUniformClasses(std::int64_t count)
      : range(count), log_range(std::log1p(static_cast<double>(count))) {}
  std::int64_t draw(random::PhiloxWords& words) const {
    const double scaled = std::exp(random::next_double(words) * log_range);
    return (static_cast<std::int64_t>(scaled) - 1) % range;
  }
  float probability_of(std::int64_t value) const {
    const double k = static_cast<double>(value);
    return static_cast<float>(std::log((k + 2.0) / (k + 1.0)) / log_range);
  }
};

/// A set of classes in memory of the run: a table of which at most half is used.
class ClassSet {
 public:
  static std::size_t slots_for(std::int64_t count) {
    return std::bit_ceil(static_cast<std::size_t>(count) * 2);
  }
  ClassSet(std::byte* memory, std::size_t slots)
      : table_(reinterpret_cast<std::int64_t*>(memory)), slots_(slots) {
    std::fill_n(table_, slots_, kEmpty);
  }
  /// Returns whether the class is new.
  bool insert(std::int64_t value) {
    std::size_t at = static_cast<std::size_t>(value) * 0x9E3779B97F4A7C15 & (slots_ - 1);
    while (table_[at] != kEmpty) {
      if (table_[at] == value) return false;
      at = (at + 1) & (slots_ - 1);
    }
    table_[at] = value;
    return true;
  }

 private:
  static constexpr std::int64_t kEmpty = -1;
  std::int64_t* table_;
  std::size_t slots_;
};

/// How often a class of probability `p` is expected in the sample, in TensorFlow's precision.
float expected_count(float p, std::int64_t sampled, std::int64_t tries) {
  if (tries == sampled) return p * static_cast<float>(sampled);
  return -std::expm1(static_cast<float>(tries) * std::log1p(-p));
}

template <class Classes>
void sample_classes(const CandidateAttrs& attrs, std::int64_t true_count, const LaunchArgs& args,
                    random::PhiloxWords words) {
  const Classes classes(attrs.range_max);
  std::int64_t* sampled = args.output<std::int64_t>(0);
  std::int64_t tries = attrs.num_sampled;
  if (attrs.unique) {
    ClassSet seen(args.workspace, ClassSet::slots_for(attrs.num_sampled));
    tries = 0;
    for (std::int64_t found = 0; found < attrs.num_sampled;) {
      if (++tries == std::numeric_limits<std::int32_t>::max()) {
        throw errors::ResourceExhaustedError("so many different classes are hardly ever drawn");
      }
      const std::int64_t value = classes.draw(words);
      if (seen.insert(value)) sampled[found++] = value;
    }
  } else {
    for (std::int64_t i = 0; i < attrs.num_sampled; ++i) sampled[i] = classes.draw(words);
  }
  const auto count = [&](std::int64_t value) {
    return expected_count(classes.probability_of(value), attrs.num_sampled, tries);
  };
  const std::int64_t* wanted = args.input<std::int64_t>(0);
  for (std::int64_t i = 0; i < true_count; ++i) args.output<float>(1)[i] = count(wanted[i]);
  for (std::int64_t i = 0; i < attrs.num_sampled; ++i) args.output<float>(2)[i] = count(sampled[i]);
}

template <class Classes>
std::unique_ptr<PreparedKernel> candidate_kernel(const KernelRequest& request) {
  const auto& attrs = request.attributes<CandidateAttrs>();
  const Shape& classes = request.inputs[0].shape;
  if (classes.rank() != 2 || classes.size(1) != attrs.num_true) {
    throw errors::InvalidArgumentError(
        fmt::format("true_classes must have num_true = {} columns, but has the shape {}",
                    attrs.num_true, classes.text()));
  }
  if (attrs.unique && attrs.num_sampled > attrs.range_max) {
    throw errors::InvalidArgumentError(
        fmt::format("Sampler's range is too small: {} different classes of {} are drawn",
                    attrs.num_sampled, attrs.range_max));
  }
  const auto run = [attrs, true_count = classes.elements(),
                    node = request.node](const LaunchArgs& args) {
    // TensorFlow reserves this many words, since drawing different classes takes more tries.
    const random::PhiloxWords words(
        random::generator_of(args, node, attrs.seeds).reserve_words(2048 * attrs.num_sampled));
    sample_classes<Classes>(attrs, true_count, args, words);
  };
  const std::size_t slots = attrs.unique ? ClassSet::slots_for(attrs.num_sampled) : 0;
  return function_kernel(run, {.workspace_bytes = slots * sizeof(std::int64_t)});
}

void hits_shape(InferenceContext& context) {
  check_true_classes(context, context.attrs<HitsAttrs>().num_true, true);
  if (context.dtype(1) != DType::int64) {
    context.fail_type(
        fmt::format("sampled_candidates is {}, not int64", dtype_name(context.dtype(1))));
  }
  if (context.shape(1).has_rank() && context.shape(1).rank() != 1) {
    context.fail(fmt::format("Shape must be rank 1 but is rank {}: sampled_candidates",
                             context.shape(1).rank()));
  }
  for (const DType dtype : {DType::int32, DType::int64, DType::float32}) {
    context.add_output(dtype, Shape{None});
  }
}

/// Returns the last position of a class in the sample, or -1.
std::int64_t position_of(const std::int64_t* sampled, std::int64_t count, std::int64_t wanted) {
  while (count-- > 0) {
    if (sampled[count] == wanted) return count;
  }
  return -1;
}

std::unique_ptr<PreparedKernel> hits_kernel(const KernelRequest& request) {
  const Shape& classes = request.inputs[0].shape;
  const std::int64_t num_true = request.attributes<HitsAttrs>().num_true;
  if (classes.rank() != 2 || classes.size(1) != num_true) {
    throw errors::InvalidArgumentError(
        fmt::format("true_classes must have num_true = {} columns, but has the shape {}", num_true,
                    classes.text()));
  }
  const Shape said[] = {request.outputs[0].shape, request.outputs[1].shape,
                        request.outputs[2].shape};
  return function_kernel([rows = classes.size(0), num_true,
                          sampled = request.inputs[1].shape.elements(), first = said[0],
                          second = said[1], third = said[2]](const LaunchArgs& args) {
    const std::int64_t* wanted = args.input<std::int64_t>(0);
    const std::int64_t* drawn = args.input<std::int64_t>(1);
    std::int64_t hits = 0;
    for (std::int64_t i = 0; i < rows * num_true; ++i) {
      hits += position_of(drawn, sampled, wanted[i]) >= 0;
    }
    const Shape found{hits};
    auto* indices = static_cast<std::int32_t*>(args.output_memory(0, found, first));
    auto* ids = static_cast<std::int64_t*>(args.output_memory(1, found, second));
    auto* weights = static_cast<float*>(args.output_memory(2, found, third));
    for (std::int64_t i = 0, at = 0; i < rows * num_true; ++i) {
      const std::int64_t position = position_of(drawn, sampled, wanted[i]);
      if (position < 0) continue;
      indices[at] = static_cast<std::int32_t>(i / num_true);
      ids[at] = position;
      weights[at++] = std::numeric_limits<float>::lowest();
    }
  });
}

SampledCandidates sample_with(const char* op, const Operand& true_classes, CandidateAttrs attrs,
                              const CandidateSamplerOptions& options, Site site) {
  Graph& graph = graph_of(true_classes);
  attrs.seeds = random::get_seed(graph.seed, options.seed, graph.next_op_seed);
  const Operation made = OpBuilder(op, options.name, site, {&true_classes})
                             .input(true_classes, "true_classes", DType::int64)
                             .attrs(attrs)
                             .build();
  return {made.output(0), made.output(1), made.output(2)};
}

constexpr const char* kUniform = "UniformCandidateSampler";
constexpr const char* kLogUniform = "LogUniformCandidateSampler";
constexpr const char* kHits = "ComputeAccidentalHits";

}  // namespace

static void register_candidate_ops(OpRegistry& registry) {
  for (const char* op : {kUniform, kLogUniform}) {
    registry.add(
        {.name = op,
         .inputs = {"true_classes: int64"},
         .outputs = {"sampled_candidates: int64", "true_expected_count: float32",
                     "sampled_expected_count: float32"},
         .attrs = attributes<CandidateAttrs>(),
         .shape = candidate_shape,
         .gradient = NoGradient{"classes are integers and their expected counts constants"},
         .effect = Effect::random});
  }
  registry.add({.name = kHits,
                .inputs = {"true_classes: int64", "sampled_candidates: int64"},
                .outputs = {"indices: int32", "ids: int64", "weights: float32"},
                .attrs = attributes<HitsAttrs>(),
                .shape = hits_shape,
                .gradient = NoGradient{"classes are integers"}});
}

static void register_candidate_kernels(KernelTable& table) {
  table.add({.op = kUniform,
             .label = "philox",
             .accepts = {},
             .prepare = candidate_kernel<UniformClasses>});
  table.add({.op = kLogUniform,
             .label = "philox",
             .accepts = {},
             .prepare = candidate_kernel<LogUniformClasses>});
  table.add({.op = kHits, .label = "loop", .accepts = {}, .prepare = hits_kernel});
}

SampledCandidates uniform_candidate_sampler(const Operand& true_classes, std::int64_t num_true,
                                            std::int64_t num_sampled, bool unique,
                                            std::int64_t range_max, CandidateSamplerOptions options,
                                            Site site) {
  return sample_with(kUniform, true_classes, {num_true, num_sampled, unique, range_max}, options,
                     site);
}

SampledCandidates log_uniform_candidate_sampler(const Operand& true_classes, std::int64_t num_true,
                                                std::int64_t num_sampled, bool unique,
                                                std::int64_t range_max,
                                                CandidateSamplerOptions options, Site site) {
  return sample_with(kLogUniform, true_classes, {num_true, num_sampled, unique, range_max}, options,
                     site);
}

AccidentalHits compute_accidental_hits(const Operand& true_classes,
                                       const Operand& sampled_candidates, std::int64_t num_true,
                                       CandidateSamplerOptions options, Site site) {
  Graph& graph = graph_of(true_classes, sampled_candidates);
  HitsAttrs attrs{.num_true = num_true};
  attrs.seeds = random::get_seed(graph.seed, options.seed, graph.next_op_seed);
  const Operation made = OpBuilder(kHits, options.name, site, {&true_classes, &sampled_candidates})
                             .input(true_classes, "true_classes", DType::int64)
                             .input(sampled_candidates, "sampled_candidates", DType::int64)
                             .attrs(attrs)
                             .build();
  return {made.output(0), made.output(1), made.output(2)};
}

}  // namespace towerflow::nn

namespace towerflow {
OpFamily candidate_sampler_family() {
  return {.ops = nn::register_candidate_ops, .kernels = nn::register_candidate_kernels};
}
}  // namespace towerflow

#include "train/summary/merge.h"

#include <fmt/format.h>

#include <set>

#include "core/device/backend.h"
#include "core/device/cpu/launch.h"
#include "core/graph/collections.h"
#include "core/graph/op_builder.h"
#include "core/graph/op_def.h"
#include "core/graph/scopes.h"
#include "ops/family.h"
#include "train/summary/summary.pb.h"
#include "train/summary/tag.h"

namespace towerflow {
namespace {

std::unique_ptr<PreparedKernel> merge_kernel(const KernelRequest& request) {
  std::vector<std::int64_t> counts;
  for (const TensorDesc& input : request.inputs) counts.push_back(input.shape.elements());
  return function_kernel([counts](const LaunchArgs& args) {
    proto::Summary merged;
    std::set<std::string> tags;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      for (std::int64_t k = 0; k < counts[i]; ++k) {
        proto::Summary part;
        if (!part.ParseFromString(args.input<std::string>(i)[k])) {
          throw errors::InvalidArgumentError("Could not parse one of the summary inputs");
        }
        for (const proto::Summary::Value& value : part.value()) {
          if (!tags.insert(value.tag()).second) {
            throw errors::InvalidArgumentError(
                fmt::format("Duplicate tag {} found in summary inputs", value.tag()),
                {.hint = "each tower's summaries need tags of their own: a name scope gives them"});
          }
          *merged.add_value() = value;
        }
      }
    }
    merged.SerializeToString(args.output<std::string>(0));
  });
}

}  // namespace

static void register_merge_summary_ops(OpRegistry& registry) {
  registry.add({.name = "MergeSummary",
                .inputs = {"inputs: N * string"},
                .outputs = {"summary: string"},
                .shape =
                    [](InferenceContext& context) {
                      for (std::size_t i = 0; i < context.num_inputs(); ++i) {
                        if (context.dtype(i) != DType::string) {
                          context.fail_type("a summary is a string");
                        }
                      }
                      context.add_output(DType::string, Shape{});
                    },
                .gradient = NoGradient{"a summary is a string"}});
}

static void register_merge_summary_kernels(KernelTable& table) {
  table.add({.op = "MergeSummary", .label = "protobuf", .accepts = {}, .prepare = merge_kernel});
}

OpFamily merge_summary_family() {
  return {.ops = register_merge_summary_ops, .kernels = register_merge_summary_kernels};
}

namespace summary {

Tensor merge(const Collected<Tensor>& inputs, MergeOptions options, Site site) {
  if (inputs.empty()) {
    throw ValueError(
        "List argument 'inputs' to 'MergeSummary' Op with length 0 shorter than "
        "minimum length 1.",
        {.site = site, .op = "MergeSummary", .hint = inputs.explain()});
  }
  const std::string name = clean_tag(options.name, site);
  // The name is used twice: for the scope and for the node inside it.
  const NameScope scope(inputs[0].graph(), name.empty() ? "Merge" : name, site);
  const Operand first(inputs[0], site);
  const Tensor made =
      OpBuilder("MergeSummary", name, site, {&first}).inputs(inputs, "inputs").output();
  return add_summary_to_collections(made, options.collections);
}

std::optional<Tensor> merge_all(MergeAllOptions options, Site site) {
  const auto found = get_default_graph().collections().get<Tensor>(options.key, options.scope);
  if (found.empty()) return std::nullopt;
  return merge(found, {.name = options.name}, site);
}

}  // namespace summary
}  // namespace towerflow

// The pass that lets accelerators average the gradients of mirrored variables among themselves
// (core/graph/all_reduce.h). After it, each device has the averages in its own memory, and the
// updates of the variables there read them. AllReduce::gather needs no pass: every update reads all
// gradients.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "core/graph/all_reduce_schedule.h"
#include "ops/family.h"
#include "ops/variables/all_reduce_attrs.h"
#include "ops/variables/all_reduce_plan.h"

namespace towerflow {
namespace {

/// Finds the sums of towers' gradients that the updates of mirrored variables read.
class SumFinder {
 public:
  explicit SumFinder(const PlanGraph& graph) : graph_(graph), leads_(graph.nodes.size(), false) {}

  std::vector<TowerSum> find() {
    std::vector<TowerSum> sums;
    for (std::size_t i = graph_.nodes.size(); i-- > 0;) {
      const PlanNode& node = graph_.nodes[i];
      if (node.dead) continue;
      if (leads_[i]) {
        if (auto sum = sum_at(static_cast<int>(i))) {
          sums.push_back(std::move(*sum));
          continue;
        }
      }
      const bool passes_on = leads_[i] && node.op->effect == Effect::pure;
      if (!passes_on && !updates_mirrored(node)) continue;
      for (const ValueId input : node.inputs) leads_[static_cast<std::size_t>(input.node)] = true;
    }
    std::stable_sort(sums.begin(), sums.end(),
                     [](const TowerSum& a, const TowerSum& b) { return a.ready < b.ready; });
    return sums;
  }

  /// Per node: whether an update of a mirrored variable depends on it through pure nodes.
  const std::vector<bool>& leads_to_update() const { return leads_; }

 private:
  bool updates_mirrored(const PlanNode& node) const {
    if (node.op->effect != Effect::writes_variable || node.op->written.empty()) return false;
    const int variable =
        graph_.root_variable(node.inputs[static_cast<std::size_t>(node.op->written.front())]);
    return variable >= 0 && graph_.is_mirrored(variable);
  }

  /// Returns the sum that a node computes of gradients that lie on different accelerators.
  std::optional<TowerSum> sum_at(int id) const {
    const PlanNode& node = graph_.nodes[static_cast<std::size_t>(id)];
    const auto form = form_of(node);
    if (!form || !node.guards.empty() || node.is_known(0)) return std::nullopt;
    const OutputSpec& spec = node.outputs[0];
    const bool floating = spec.dtype == DType::float32 || spec.dtype == DType::float64;
    // A sum to one element is computed in another order: its gradients are gathered.
    if (!floating || !spec.shape.fully_known() || spec.shape.elements() < 2) return std::nullopt;
    TowerSum sum{.node = id, .form = *form};
    const auto towers = node.inputs.begin() + form->towers;
    sum.gradients.assign(node.inputs.begin(), towers);
    sum.scalars.assign(towers, node.inputs.end());
    for (const ValueId gradient : sum.gradients) {
      const PlanNode& producer = graph_.node(gradient);
      const bool moves = producer.feed < 0 && graph_.root_variable(gradient) < 0 &&
                         !producer.is_known(static_cast<std::size_t>(gradient.output)) &&
                         producer.guards.empty() && graph_.spec(gradient).shape == spec.shape &&
                         graph_.accelerators[static_cast<std::size_t>(producer.device)];
      if (!moves) return std::nullopt;
      sum.devices.push_back(producer.device);
      sum.last_input = std::max(sum.last_input, gradient.node);
    }
    sum.ready = sum.gradients.front().node;
    const int first = sum.devices.front();
    const bool one_device = std::all_of(sum.devices.begin(), sum.devices.end(),
                                        [&](int device) { return device == first; });
    return one_device ? std::nullopt : std::optional(std::move(sum));
  }

  static std::optional<GradientForm> form_of(const PlanNode& node) {
    if (node.op->name == "_MeanOfN") return node.attrs.as<GradientForm>();
    if (node.op->name != "AddN" || node.inputs.size() > kMaxTowers) return std::nullopt;
    return GradientForm{.towers = static_cast<int>(node.inputs.size())};
  }

  const PlanGraph& graph_;
  std::vector<bool> leads_;
};

/// Divides sums, in the order in which they are ready, into buckets that travel together: with the
/// same towers and the same scalars, and all ready before the first of them is read.
std::vector<std::vector<TowerSum>> buckets_of(const PlanGraph& graph, std::vector<TowerSum> sums) {
  std::vector<std::vector<TowerSum>> buckets;
  std::size_t bytes = 0;
  int last_input = 0, first_sum = 0;
  for (TowerSum& sum : sums) {
    const OutputSpec& spec = graph.nodes[static_cast<std::size_t>(sum.node)].outputs[0];
    const std::size_t more = spec.shape.bytes(dtype_size(spec.dtype));
    bool joins = !buckets.empty() && bytes < graph.all_reduce.bucket_bytes;
    if (joins) {
      const TowerSum& other = buckets.back().front();
      const DType dtype = graph.nodes[static_cast<std::size_t>(other.node)].outputs[0].dtype;
      joins = sum.devices == other.devices && sum.scalars == other.scalars &&
              Attrs(sum.form) == Attrs(other.form) && spec.dtype == dtype &&
              std::max(last_input, sum.last_input) < std::min(first_sum, sum.node);
    }
    if (!joins) {
      buckets.emplace_back();
      bytes = 0;
      last_input = 0;
      first_sum = sum.node;
    }
    bytes += more;
    last_input = std::max(last_input, sum.last_input);
    first_sum = std::min(first_sum, sum.node);
    buckets.back().push_back(std::move(sum));
  }
  return buckets;
}

std::string run_all_reduce(PlanGraph& graph) {
  if (graph.all_reduce.algorithm == AllReduce::gather) return "";
  SumFinder finder(graph);
  const auto buckets = buckets_of(graph, finder.find());
  AllReducePlan plan(graph);
  std::size_t gradients = 0, sent = 0;
  for (const std::vector<TowerSum>& bucket : buckets) {
    if (!plan.add(bucket)) continue;
    gradients += bucket.size();
    ++sent;
  }
  if (sent == 0) return "";
  plan.finish(finder.leads_to_update());
  return fmt::format("{} averaged {} gradients in {} buckets",
                     all_reduce_name(graph.all_reduce.algorithm), gradients, sent);
}

}  // namespace

static void register_all_reduce_passes(std::vector<PlanPass>& passes) {
  passes.push_back({"all-reduce", run_all_reduce});
}

static void register_all_reduce_ops(OpRegistry& registry) {
  registry.add({.name = "_AllReduce",
                .inputs = {"value: T"},
                .outputs = {"output: T"},
                .attrs = attributes<AllReduceAttrs>(),
                .shape =
                    [](InferenceContext& context) {
                      context.add_output(context.dtype(0), context.shape(0));
                    },
                .gradient = NoGradient{"it is created after the gradients, in plans only"},
                .plan_only = true});
}

OpFamily all_reduce_family() {
  return {.ops = register_all_reduce_ops, .passes = register_all_reduce_passes};
}

}  // namespace towerflow

#include "train/input/random_position.h"

#include <set>

#include "core/graph/op_builder.h"
#include "core/graph/scopes.h"
#include "ops/family.h"
#include "ops/random/generator.h"
#include "train/queue_runner.h"

namespace towerflow {
namespace {

constexpr const char* kNoRandomPositionGradient = "a position in random numbers has no gradient";

/// The random op that is meant.
struct RandomPositionAttrs {
  random::Seeds seeds{};
  std::string op{};  ///< its name
  static constexpr auto fields = std::tuple{attr::included(&RandomPositionAttrs::seeds),
                                            attr::required("op", &RandomPositionAttrs::op)};
};

/// Kernel of _RandomPosition and _SetRandomPosition.
class RandomPositionKernel final : public PreparedKernel {
 public:
  explicit RandomPositionKernel(const KernelRequest& request)
      : attrs_(request.attributes<RandomPositionAttrs>()), sets_(!request.inputs.empty()) {}
  void enqueue(towerflow::Queue&, const LaunchArgs& args) const override {
    random::GuardedPhilox& generator = random::generator_of(args, attrs_.op, attrs_.seeds);
    if (sets_) {
      generator.resume(static_cast<std::uint64_t>(*args.input<std::int64_t>(0)));
    } else {
      *args.output<std::int64_t>(0) = static_cast<std::int64_t>(generator.taken());
    }
  }

 private:
  RandomPositionAttrs attrs_;
  bool sets_;
};

}  // namespace

static void register_random_position_ops(OpRegistry& registry) {
  registry.add({.name = "_RandomPosition",
                .inputs = {},
                .outputs = {"taken: int64"},
                .attrs = attributes<RandomPositionAttrs>(),
                .shape = [](InferenceContext& context) { context.add_output(int64, Shape{}); },
                .gradient = NoGradient{kNoRandomPositionGradient},
                .effect = Effect::stateful});
  registry.add({.name = "_SetRandomPosition",
                .inputs = {"taken: int64"},
                .attrs = attributes<RandomPositionAttrs>(),
                .shape = [](InferenceContext&) {},
                .gradient = NoGradient{kNoRandomPositionGradient},
                .effect = Effect::stateful});
}

static void register_random_position_kernels(KernelTable& table) {
  for (const char* op : {"_RandomPosition", "_SetRandomPosition"}) {
    table.add(
        {.op = op, .label = "random", .accepts = {}, .prepare = [](const KernelRequest& request) {
           return std::make_unique<RandomPositionKernel>(request);
         }});
  }
}

OpFamily random_position_family() {
  return {.ops = register_random_position_ops, .kernels = register_random_position_kernels};
}

namespace train {
namespace {

class RandomSaveable final : public SaveableObject {
 public:
  RandomSaveable(const std::string& name, RandomPositionAttrs attrs, const Tensor& taken)
      : SaveableObject(name, {{taken, name + "/taken"}}), attrs_(std::move(attrs)) {}

  Operation restore(const std::vector<Tensor>& restored, Site site) const override {
    OpBuilder builder("_SetRandomPosition", "", "set_random_position", site, {});
    builder.inputs(restored, "taken").attrs(attrs_);
    return builder.build();
  }

 private:
  RandomPositionAttrs attrs_;
};

/// Returns the nodes on which input queues and initial values depend, with these.
std::set<const Node*> nodes_that_start_over() {
  std::vector<const Node*> stack;
  for (const QueueRunner& runner : get_collection<QueueRunner>(GraphKeys::QUEUE_RUNNERS)) {
    for (const Operation& operation : runner.enqueue_ops()) stack.push_back(&operation.node());
  }
  for (const char* key : {GraphKeys::GLOBAL_VARIABLES, GraphKeys::LOCAL_VARIABLES}) {
    for (const Variable& variable : get_collection<Variable>(key)) {
      stack.push_back(&variable.initializer().node());
    }
  }
  std::set<const Node*> seen;
  while (!stack.empty()) {
    const Node* node = stack.back();
    stack.pop_back();
    if (!seen.insert(node).second) continue;
    for (const Tensor& input : node->inputs) stack.push_back(&input.node());
    for (const Node* control : node->control_inputs) stack.push_back(control);
  }
  return seen;
}

random::Seeds seeds_of_node(const Node& node) {
  random::Seeds seeds;
  node.attrs.for_each([&](const std::string& name, const AttrValue& value) {
    const auto* number = value.get_if<std::int64_t>();
    if (number != nullptr && name == "seed") seeds.seed = *number;
    if (number != nullptr && name == "seed2") seeds.seed2 = *number;
  });
  return seeds;
}

}  // namespace

std::vector<Saveable> random_positions() {
  const std::set<const Node*> left_out = nodes_that_start_over();
  std::vector<Saveable> positions;
  for (const Operation& operation : get_default_graph().get_operations()) {
    const Node& node = operation.node();
    if (node.op->effect != Effect::random || left_out.contains(&node)) continue;
    const RandomPositionAttrs attrs{seeds_of_node(node), operation.name()};
    if (attrs.seeds == random::Seeds{}) continue;  // starts anywhere
    OpBuilder builder("_RandomPosition", "", "random_position", Site::current(), {});
    builder.attrs(attrs);
    positions.push_back(
        std::make_shared<RandomSaveable>("_random/" + attrs.op, attrs, builder.build().output(0)));
  }
  return positions;
}

}  // namespace train
}  // namespace towerflow

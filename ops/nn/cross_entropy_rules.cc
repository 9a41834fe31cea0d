// Rewrites that fuse a cross entropy with the cast of its labels and with the scaling of its
// gradient.
#include "core/device/cpu/launch.h"
#include "ops/family.h"
#include "ops/fusion.h"
#include "ops/simd/kernels.h"
#include "ops/simd/loops.h"

namespace towerflow::nn {
namespace {

constexpr const char* kCrossEntropy = "SparseSoftmaxCrossEntropyWithLogits";
constexpr const char* kScaled = "_ScaledSparseSoftmaxCrossEntropy";

/// Attributes of the cross entropy that scales its output 1.
struct ScaledAttrs {
  Array scale;  ///< [rows, 1] float32: the gradient of each loss, known when the plan is made
  static constexpr auto fields = std::tuple{attr::field("scale", &ScaledAttrs::scale)};
};

/// Each slice scales the gradients that it has just computed: the inner kernel has one phase, whose
/// slices are rows.
class ScaledKernel final : public KernelDecorator {
 public:
  explicit ScaledKernel(const KernelRequest& request)
      : KernelDecorator(simd::make_sparse_softmax_xent(request.inputs[0].shape.size(0),
                                                       request.inputs[0].shape.size(1),
                                                       request.inputs[1].dtype == DType::int32)),
        rows_(request.inputs[0].shape.size(0)),
        classes_(request.inputs[0].shape.size(1)),
        scale_(request.attributes<ScaledAttrs>().scale) {}
  void run(int phase, int slice, const void* const* inputs, void* const* outputs,
           std::byte* workspace) const override {
    KernelDecorator::run(phase, slice, inputs, outputs, workspace);
    const auto times = simd::loops().binary_scalar_left[static_cast<int>(simd::Binary::mul)];
    auto* gradient = static_cast<float*>(outputs[1]);
    const SliceRange rows = slice_range(rows_, slices(phase), slice);
    for (std::int64_t row = rows.begin; row < rows.end; ++row) {
      float* at = gradient + row * classes_;
      times(scale_.data<float>() + row, at, at, classes_);
    }
  }

 private:
  std::int64_t rows_, classes_;
  Array scale_;
};

std::unique_ptr<PreparedKernel> scaled_kernel(const KernelRequest& request) {
  return sliced_kernel(std::make_unique<ScaledKernel>(request), {{1, 0}});
}

void scaled_shape(InferenceContext& context) {
  context.add_output(context.dtype(0), Shape{context.shape(0)[0]});
  context.add_output(context.dtype(0), context.shape(0));
}

/// CrossEntropy(logits, Cast(labels)) from int32 to int64 -> CrossEntropy(logits, labels)
bool drop_label_cast(PlanGraph& graph, int id) {
  const PlanNode& node = graph.nodes[static_cast<std::size_t>(id)];
  const PlanNode* cast = fusible_producer(graph, node.inputs[1], id, "Cast");
  const bool widens = cast != nullptr && graph.spec(node.inputs[1]).dtype == DType::int64 &&
                      graph.spec(cast->inputs[0]).dtype == DType::int32;
  if (!widens) return false;
  return graph.replace(id, node.op->name, node.attrs, {node.inputs[0], cast->inputs[0]});
}

/// Mul(known column, CrossEntropy:1) -> a cross entropy that multiplies its output 1 itself; Mul
/// becomes an Identity.
bool scale_gradient(PlanGraph& graph, int id) {
  const PlanNode& node = graph.nodes[static_cast<std::size_t>(id)];
  for (std::size_t i = 0; i < 2; ++i) {
    const ValueId gradient = node.inputs[i], column = node.inputs[1 - i];
    const PlanNode& entropy = graph.node(gradient);
    if (entropy.dead || entropy.op->name != kCrossEntropy || gradient.output != 1) continue;
    if (entropy.device != node.device || !is_float32(graph, gradient)) continue;
    const PlanNode& known = graph.node(column);
    const auto output = static_cast<std::size_t>(column.output);
    const Shape& made = graph.spec(gradient).shape;
    if (!known.is_known(output) || !made.fully_known() || graph.uses(gradient) != 1) continue;
    if (known.values[output].shape() != Shape{made[0], 1}) continue;
    return graph.replace(
        {{gradient.node, kScaled, ScaledAttrs{known.values[output]}, entropy.inputs},
         {id, "Identity", {}, {gradient}}});
  }
  return false;
}

}  // namespace

static void register_scaled_cross_entropy_ops(OpRegistry& registry) {
  registry.add({.name = kScaled,
                .inputs = {"features: T", "labels: Tlabels"},
                .outputs = {"loss: T", "backprop: T"},
                .attrs = attributes<ScaledAttrs>(),
                .shape = scaled_shape,
                .gradient = NoGradient{"it is created after the gradients, in plans only"},
                .plan_only = true});
}

static void register_scaled_cross_entropy_kernels(KernelTable& table) {
  table.add({.op = kScaled, .label = "simd", .accepts = {}, .prepare = scaled_kernel});
}

static void register_cross_entropy_rules(std::vector<RewriteRule>& rules) {
  rules.push_back(
      {"cross entropy and cast of labels", "layers", drop_label_cast, {kCrossEntropy}, {"Cast"}});
  rules.push_back({"cross entropy and scale of its gradient",
                   "layers",
                   scale_gradient,
                   {"Mul"},
                   {kCrossEntropy}});
}

}  // namespace towerflow::nn

namespace towerflow {
OpFamily cross_entropy_rules_family() {
  return {.ops = nn::register_scaled_cross_entropy_ops,
          .kernels = nn::register_scaled_cross_entropy_kernels,
          .rules = nn::register_cross_entropy_rules};
}
}  // namespace towerflow

// A program outside the library that adds an op with gradient and kernel, an optimizer and a
// rewrite rule, and trains two towers with them. docs/extend.md explains it.
#include <towerflow/extend.h>

#include <cmath>
#include <cstdio>
#include <cstring>

namespace {

// --- an op: y = x * sigmoid(x) -----------------------------------------------------------------

void self_gate_shape(tf::InferenceContext& context) {
  if (context.dtype(0) != tf::float32) context.fail_type("SelfGate takes float32");
  context.add_output(tf::float32, context.shape(0));
}

/// dx = dy * (s + y * (1 - s)), where s is sigmoid(x).
std::vector<tf::OptionalGradient> self_gate_gradient(const tf::Operation& op,
                                                     const std::vector<tf::OptionalGradient>& dys) {
  const tf::Tensor dy = tf::dense_gradient(dys[0], op.site());
  const tf::Tensor s = tf::sigmoid(op.input(0));
  const tf::Tensor slope = s + op.output(0) * (1.0 - s);
  return {dy * slope};
}

/// Calls exp only on negative numbers, so that it cannot overflow.
float sigmoid(float x) {
  if (x >= 0) return 1.0f / (1.0f + std::exp(-x));
  const float e = std::exp(x);
  return e / (1.0f + e);
}

class SelfGateKernel final : public tf::CpuKernel {
 public:
  explicit SelfGateKernel(std::int64_t elements) : elements_(elements) {}
  int slices(int) const override { return tf::loop_slices(elements_); }
  bool may_fail() const override { return false; }
  void run(int, int slice, const void* const* inputs, void* const* outputs,
           std::byte*) const override {
    const auto* x = static_cast<const float*>(inputs[0]);
    auto* y = static_cast<float*>(outputs[0]);
    const tf::SliceRange part = tf::slice_range(elements_, slices(0), slice, 16);
    for (std::int64_t i = part.begin; i < part.end; ++i) y[i] = x[i] * sigmoid(x[i]);
  }

 private:
  std::int64_t elements_;
};

tf::KernelEntry self_gate_kernel(const char* label) {
  const auto prepare = [](const tf::KernelRequest& request) {
    const std::int64_t n = request.inputs[0].shape.elements();
    return tf::sliced_kernel(std::make_unique<SelfGateKernel>(n), {{0, 0}});
  };
  return {.op = "SelfGate", .label = label, .accepts = {}, .prepare = prepare};
}

void spell_out_self_gate(tf::FormWriter& form) {
  const tf::FormTensor x = form.input(0);
  form.add("Mul", {x, form.add("Sigmoid", {x})});
}

void register_self_gate() {
  tf::OpRegistry::global().add({.name = "SelfGate",
                                .inputs = {"x: T"},
                                .outputs = {"y: T"},
                                .shape = self_gate_shape,
                                .gradient = self_gate_gradient,
                                .export_form = spell_out_self_gate});
  tf::add_cpu_kernel(self_gate_kernel("example"));
}

tf::Tensor self_gate(const tf::Operand& x, const std::string& name = "",
                     tf::Site site = tf::Site::current()) {
  return tf::OpBuilder("SelfGate", name, site, {&x}).input(x, "x").output();
}

// --- a rewrite rule: the same written by hand becomes the op -------------------------------------

/// Mul(x, Sigmoid(x)), either way round, becomes SelfGate(x).
bool find_self_gate(tf::PlanGraph& graph, int id) {
  const tf::PlanNode& node = graph.nodes[static_cast<std::size_t>(id)];
  for (const std::size_t side : {0u, 1u}) {
    const tf::ValueId x = node.inputs[1 - side];
    const tf::PlanNode* gate = tf::fusible_producer(graph, node.inputs[side], id, "Sigmoid");
    if (gate == nullptr || gate->inputs[0] != x || !tf::is_float32(graph, x)) continue;
    return graph.replace(id, "SelfGate", {}, {x});
  }
  return false;
}

void register_gate_by_hand() {
  tf::add_rewrite_rule({"gate by hand", "layers", find_self_gate, {"Mul"}});
}

// --- an optimizer: steps along the signs of averaged gradients -----------------------------------

/// average = decay * average + (1 - decay) * gradient; variable -= rate * sign(average)
/// (Bernstein et al. 2018, algorithm 2)
class SignumOptimizer final : public tf::train::Optimizer {
 public:
  SignumOptimizer(float rate, float decay)
      : Optimizer("Signum", false), rate_(rate), decay_(decay) {}

 private:
  void create_slots(const std::vector<tf::Variable>& variables, tf::Site site) override {
    for (const tf::Variable& variable : variables) zeros_slot(variable, "average", site);
  }
  void prepare(tf::Graph&, tf::Site) override {}
  tf::Operation apply_dense(const tf::Tensor& gradient, const tf::Variable& variable,
                            tf::Site site) override {
    const tf::Variable average = *get_slot(variable, "average");
    const tf::Tensor kept = average * decay_;
    const tf::Tensor mixed = kept + gradient * (1 - decay_);
    const tf::Tensor now = tf::assign(average, mixed, {}, site);
    return tf::assign_sub(variable, tf::sign(now) * rate_, {}, site).op();
  }
  tf::Operation apply_sparse(const tf::IndexedSlices& gradient, const tf::Variable& variable,
                             tf::Site site) override {
    return apply_dense(tf::convert_to_tensor(gradient, {}, site), variable, site);
  }

  float rate_, decay_;
};

// --- the program --------------------------------------------------------------------------------

void show_op_and_rule() {
  tf::Graph graph;
  const auto as_default = graph.as_default();
  const tf::Tensor x = tf::placeholder(tf::float32, {.shape = {4}});
  const tf::Tensor by_op = self_gate(x);
  const tf::Tensor by_hand = tf::multiply(x, tf::sigmoid(x));
  const tf::Tensor slope = tf::gradients(by_op, {x})[0]->dense();
  const tf::Feeds feeds{{x, {-2.0, 0.0, 1.0, 30.0}}};
  tf::Session session;
  const auto [op, hand, slopes] = session.run({by_op, by_hand, slope}, feeds);
  for (int i = 0; i < 4; ++i) {
    std::printf("%10.6f %10.6f\n", op.data<float>()[i], slopes.data<float>()[i]);
  }
  const bool same = std::memcmp(op.raw(), hand.raw(), op.bytes()) == 0;
  const tf::Fetch fetch = by_hand;
  const std::string report = session.plan_report({&fetch, 1}, feeds);
  const auto at = report.find("rewrite: ");
  std::printf("%s, %s bits\n", report.substr(at, report.find('\n', at) - at).c_str(),
              same ? "the same" : "other");
}

void train_two_towers() {
  tf::Graph graph;
  const auto as_default = graph.as_default();
  SignumOptimizer optimizer(0.01f, 0.5f);
  std::vector<std::vector<tf::GradAndVar>> tower_grads;
  {
    const auto variables = tf::variable_scope(tf::get_variable_scope());
    for (int i = 0; i < 2; ++i) {
      const auto device = tf::device("/gpu:" + std::to_string(i));
      const auto scope = tf::name_scope("tower_" + std::to_string(i));
      const tf::Tensor x = tf::random_uniform({64, 1}, {.minval = -1, .maxval = 1, .seed = i});
      const tf::Variable w =
          tf::get_variable("w", {1, 1}, {.initializer = tf::zeros_initializer()});
      const tf::Tensor wanted = self_gate(2.0 * x);
      const tf::Tensor error = self_gate(tf::matmul(x, w)) - wanted;
      tower_grads.push_back(optimizer.compute_gradients(tf::reduce_mean(tf::square(error))));
      tf::get_variable_scope().reuse_variables();
    }
  }
  const tf::Operation step = optimizer.apply_gradients(tf::average_gradients(tower_grads));
  tf::Session session({.allow_soft_placement = true, .simulated = {.count = 2}});
  session.run(tf::global_variables_initializer());
  for (int i = 0; i < 300; ++i) session.run(step);
  for (const tf::Variable& v : tf::trainable_variables()) {
    std::printf("%s = %.1f\n", v.name().c_str(), session.run(v).item<float>());
  }
  for (const tf::Variable& slot : optimizer.variables()) std::printf("%s\n", slot.name().c_str());
}

template <class F>
void show_error(const F& f) {
  try {
    f();
    std::printf("no error\n");
  } catch (const tf::Error& error) {
    std::printf("%s\n", error.what());
  }
}

}  // namespace

int main() {
  register_self_gate();
  register_gate_by_hand();
  show_op_and_rule();
  train_two_towers();
  show_error(register_self_gate);
  show_error([] { tf::add_cpu_kernel(self_gate_kernel("late")); });
  show_error(register_gate_by_hand);
}

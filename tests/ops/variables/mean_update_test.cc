// The rewrites of averaging and applying towers' gradients: same bits, fewer launches.
#include "ops/variables/mean_update.h"

#include "core/graph/constant.h"
#include "ops/array/concat.h"
#include "ops/array/view.h"
#include "ops/math/reduce.h"
#include "ops/variables/apply.h"
#include "ops/variables/variable.h"
#include "tests/ops/nn/support.h"

namespace towerflow {
namespace {

using namespace testing;  // NOLINT

Tensor mean_of_towers(const std::vector<Array>& gradients) {
  std::vector<Tensor> expanded;
  for (const Array& gradient : gradients) expanded.push_back(expand_dims(tensor_of(gradient), 0));
  return reduce_mean(concat(expanded, 0), 0);
}

enum class Rule { mean, descent, momentum, nesterov };

struct Ran {
  std::vector<Array> values;
  std::string report;
};

/// Three steps; `fused` switches the rewrites.
template <class T>
Ran train(Rule rule, const Shape& shape, int towers, bool fused) {
  Graph graph;
  const auto guard = graph.as_default();
  std::vector<Array> gradients;
  for (int i = 0; i < towers; ++i)
    gradients.push_back(random_array<T>(shape, static_cast<unsigned>(i) + 1));
  if (gradients[0].elements() > 0) gradients[0].data<T>()[0] = T(-0.0);
  const Tensor mean = mean_of_towers(gradients);
  const Variable w(random_array<T>(shape, 50)), slot(Array::zeros(dtype_of<T>(), shape));
  const Tensor rate = tensor_of(Array::scalar(T(0.1))), momentum = tensor_of(Array::scalar(T(0.9)));
  ConfigProto config = unfolded();
  config.passes.fuse_updates = fused;
  config.passes.fuse_convolutions = false;
  Session session(graph, config);
  session.run({w.initializer(), slot.initializer()});
  if (rule == Rule::mean)
    return {{session.run(mean)}, session.plan_report(std::vector<Fetch>{mean})};
  const Site site = Site::current();
  const Operation update = rule == Rule::descent
                               ? apply_gradient_descent(w, rate, mean, "update", {}, site)
                               : apply_momentum(w, slot, rate, mean, momentum, "update",
                                                {.use_nesterov = rule == Rule::nesterov}, site);
  for (int step = 0; step < 3; ++step) session.run(update);
  return {session.run(std::vector<Fetch>{w, slot}),
          session.plan_report(std::vector<Fetch>{update})};
}

template <class T>
void check_same_bits() {
  for (const Rule rule : {Rule::mean, Rule::descent, Rule::momentum, Rule::nesterov}) {
    for (const int towers : {1, 2, 3}) {
      for (const Shape& shape : {Shape{}, Shape{5, 7}, Shape{300, 700}, Shape{0, 4}}) {
        CAPTURE(towers);
        CAPTURE(shape.text());
        const Ran fused = train<T>(rule, shape, towers, true);
        CHECK(fused.values == train<T>(rule, shape, towers, false).values);
        const char* op = rule == Rule::mean      ? "  _MeanOfN ["
                         : rule == Rule::descent ? "  _MeanApplyGradientDescent ["
                                                 : "  _MeanApplyMomentum [";
        CHECK(fused.report.find(op) != std::string::npos);
        CHECK(fused.report.find("ConcatV2 [") == std::string::npos);
        if (rule != Rule::mean) CHECK(fused.report.find("  Apply") == std::string::npos);
      }
    }
  }
}

TEST_CASE("mean and update: float32") { check_same_bits<float>(); }
TEST_CASE("mean and update: float64") { check_same_bits<double>(); }

TEST_CASE("mean and update: a mean that somebody else reads stays") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor mean = mean_of_towers({random_array<float>({3}, 1), random_array<float>({3}, 2)});
  const Variable w(Array::zeros(DType::float32, {3}));
  const Operation update = apply_gradient_descent(w, tensor_of(Array::scalar(1.0f)), mean, "update",
                                                  {}, Site::current());
  Session session(graph, unfolded());
  session.run(w.initializer());
  const std::vector<Fetch> fetches{mean, update};
  const std::string report = session.plan_report(fetches);
  CHECK(report.find("  _MeanOfN [") != std::string::npos);
  CHECK(report.find("  ApplyGradientDescent [") != std::string::npos);
  const Array value = session.run(fetches)[0];
  const Array moved = session.run(w.ref());
  for (int i = 0; i < 3; ++i) CHECK(moved.data<float>()[i] == -value.data<float>()[i]);
}

TEST_CASE("mean and update: other axes, keepdims and stacks are not means of towers") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor a = tensor_of(random_array<float>({2, 3}, 1)),
               b = tensor_of(random_array<float>({2, 3}, 2));
  const Tensor sum_of_rows = reduce_mean(concat(std::vector<Tensor>{a, b}, 0), 0);
  const Tensor other_axis =
      reduce_mean(concat(std::vector<Tensor>{expand_dims(a, 1), expand_dims(b, 1)}, 1), 1);
  const Tensor kept = reduce_mean(
      concat(std::vector<Tensor>{expand_dims(a, 0), expand_dims(b, 0)}, 0), 0, {.keepdims = true});
  Session session(graph, unfolded());
  for (const Tensor& mean : {sum_of_rows, other_axis, kept}) {
    CHECK(session.plan_report(std::vector<Fetch>{mean}).find("_MeanOfN") == std::string::npos);
    CHECK(session.run(mean).elements() > 0);
  }
}

}  // namespace
}  // namespace towerflow

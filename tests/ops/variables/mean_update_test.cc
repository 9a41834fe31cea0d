// The rewrites of averaging and applying towers' gradients: same bits, fewer launches.
#include "ops/variables/mean_update.h"

#include <functional>
#include <memory>

#include "ops/update_rules.h"
#include "ops/variables/apply.h"
#include "tests/ops/nn/support.h"
#include "towerflow/towerflow.h"

namespace towerflow {
namespace {

using namespace testing;  // NOLINT

Tensor mean_of_towers(const std::vector<Array>& gradients) {
  std::vector<Tensor> expanded;
  for (const Array& gradient : gradients) expanded.push_back(expand_dims(tensor_of(gradient), 0));
  return reduce_mean(concat(expanded, 0), 0);
}

/// The ways in which programs write an average.
enum class Average { none, mean, sum, stacked, add_n, add_n_over, weighted, weighted_rows };
constexpr Average kAverages[] = {Average::mean,         Average::sum,        Average::stacked,
                                 Average::add_n,        Average::add_n_over, Average::weighted,
                                 Average::weighted_rows};

Tensor average_of(Average how, const std::vector<Array>& gradients) {
  std::vector<Tensor> plain, weighted, weights;
  const DType dtype = gradients[0].dtype();
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    plain.push_back(tensor_of(gradients[i]));
    if (how != Average::weighted && how != Average::weighted_rows) continue;
    weights.push_back(cast(tensor_of(Array::scalar(0.3 + static_cast<double>(i))), dtype));
    weighted.push_back(i % 2 == 0 ? plain[i] * weights[i] : weights[i] * plain[i]);
  }
  switch (how) {
    case Average::none:
      return plain[0];
    case Average::mean:
      return mean_of_towers(gradients);
    case Average::sum:
      return reduce_sum(stack(plain), 0);
    case Average::stacked:
      return reduce_mean(stack(plain), 0);
    case Average::add_n:
      return add_n(plain);
    case Average::add_n_over:
      return add_n(plain) / static_cast<int>(gradients.size());
    case Average::weighted:
      return add_n(weighted) / add_n(weights);
    case Average::weighted_rows:
      return reduce_sum(stack(weighted), 0) / add_n(weights);
  }
  return plain[0];
}

struct Rule {
  const char* op;
  std::function<std::unique_ptr<train::Optimizer>()> optimizer;
};
template <class O, class... Options>
Rule rule(const char* op, Options... options) {
  return {op, [=] { return std::make_unique<O>(options...); }};
}
const std::vector<Rule>& rules() {
  static const std::vector<Rule> all{
      rule<train::GradientDescentOptimizer>("GradientDescent", 0.1),
      rule<train::MomentumOptimizer>("Momentum", 0.1, 0.9),
      rule<train::MomentumOptimizer>("Momentum", 0.1, 0.9,
                                     train::MomentumOptions{.use_nesterov = true}),
      rule<train::AdamOptimizer>("Adam", 0.1),
      rule<train::AdagradOptimizer>("Adagrad", 0.1),
      rule<train::RMSPropOptimizer>("RMSProp", 0.1, train::RMSPropOptions{.momentum = 0.5}),
      rule<train::RMSPropOptimizer>("CenteredRMSProp", 0.1,
                                    train::RMSPropOptions{.momentum = 0.5, .centered = true})};
  return all;
}

ConfigProto with_fusion(bool fused) {
  ConfigProto config = unfolded();
  config.passes.fuse_updates = fused;
  config.passes.fuse_convolutions = false;
  return config;
}

struct Ran {
  std::vector<Array> values;
  std::string report;
};

/// Three steps; `fused` switches the rewrites.
Ran train_steps(const Rule& rule, const Array& start, const std::function<Gradient()>& gradient,
                bool fused) {
  Graph graph;
  const auto guard = graph.as_default();
  const Variable w(start);
  const auto optimizer = rule.optimizer();
  const Operation update = optimizer->apply_gradients({{gradient(), w}});
  Session session(graph, with_fusion(fused));
  session.run(global_variables_initializer());
  for (int step = 0; step < 3; ++step) session.run(update);
  std::vector<Fetch> kept{w};
  for (const Variable& slot : optimizer->variables()) kept.emplace_back(slot);
  return {session.run(kept), session.plan_report(std::vector<Fetch>{update})};
}

bool holds(const std::string& report, const std::string& part) {
  return report.find(part) != std::string::npos;
}

template <class T>
std::vector<Array> gradients_of(const Shape& shape, int towers) {
  std::vector<Array> gradients;
  for (int i = 0; i < towers; ++i)
    gradients.push_back(random_array<T>(shape, static_cast<unsigned>(i) + 1));
  for (Array& gradient : gradients)
    if (gradient.elements() > 0) gradient.data<T>()[0] = T(-0.0);
  return gradients;
}

/// A stack of constant scalars is a constant itself.
bool is_constant(const Shape& shape, Average how) {
  return shape.rank() == 0 && (how == Average::sum || how == Average::stacked);
}

template <class T>
void check_same_bits() {
  for (const Rule& rule : rules()) {
    for (const int towers : {1, 2, 3, 5}) {
      for (const Shape& shape : {Shape{}, Shape{5, 7}, Shape{300, 700}, Shape{0, 4}}) {
        const auto gradients = gradients_of<T>(shape, towers);
        const Array start = random_array<T>(shape, 50);
        for (const Average how : kAverages) {
          const bool sum_of_one = towers == 1 && how >= Average::add_n;
          if (sum_of_one || is_constant(shape, how) ||
              (shape.rank() == 2 && shape.size(0) == 300 && towers > 2))
            continue;
          CAPTURE(rule.op);
          CAPTURE(towers);
          CAPTURE(static_cast<int>(how));
          CAPTURE(shape.text());
          const auto gradient = [&] { return Gradient(average_of(how, gradients)); };
          const Ran fused = train_steps(rule, start, gradient, true);
          CHECK(fused.values == train_steps(rule, start, gradient, false).values);
          CHECK(holds(fused.report, std::string("  _MeanApply") + rule.op + " ["));
          for (const char* gone : {"  Apply", "ConcatV2 [", "Pack [", "AddN [d", "RealDiv ["})
            CHECK_FALSE(holds(fused.report, gone));
        }
      }
    }
  }
}

TEST_CASE("mean and update: float32") { check_same_bits<float>(); }
TEST_CASE("mean and update: float64") { check_same_bits<double>(); }

TEST_CASE("mean and update: averages by themselves") {
  for (const int towers : {2, 3, 20, 130}) {
    for (const Shape& shape : {Shape{}, Shape{1, 1}, Shape{40}}) {
      for (const Average how : kAverages) {
        if (is_constant(shape, how)) continue;
        CAPTURE(towers);
        CAPTURE(static_cast<int>(how));
        const auto ran = [&](bool fused) {
          Graph graph;
          const auto guard = graph.as_default();
          const Tensor average = average_of(how, gradients_of<float>(shape, towers));
          Session session(graph, with_fusion(fused));
          return Ran{{session.run(average)}, session.plan_report(std::vector<Fetch>{average})};
        };
        const Ran fused = ran(true);
        CHECK(fused.values == ran(false).values);
        // Longer sums have blocks; an AddN alone is one pass already.
        CHECK(holds(fused.report, "  _MeanOfN [") == (towers <= 128 && how != Average::add_n));
      }
    }
  }
}

/// Slices of `towers` gradients as `how` averages them; rows repeat within a tower and between.
template <class T>
IndexedSlices average_of_slices(Average how, int towers, std::int64_t width, DType index) {
  std::vector<Tensor> values, indices, weights;
  for (int i = 0; i < towers; ++i) {
    const std::vector<std::int64_t> rows{3, 0, 3, 5 + i};
    Array array(DType::int64, Shape{4});
    std::copy(rows.begin(), rows.end(), array.data<std::int64_t>());
    indices.push_back(cast(tensor_of(array), index));
    values.push_back(tensor_of(random_array<T>({4, width}, static_cast<unsigned>(i) + 1)));
    weights.push_back(tensor_of(Array::scalar(static_cast<T>(0.3 + i))));
    if (how == Average::weighted) values.back() = values.back() * weights.back();
  }
  Tensor all = concat(values, 0);
  if (how == Average::mean) all = all / towers;
  if (how == Average::weighted) all = all / add_n(weights);
  return {all, concat(indices, 0), std::nullopt};
}

template <class T>
void check_slices() {
  for (const Rule& rule : rules()) {
    if (rule.op == std::string("GradientDescent")) continue;  // a ScatterSub
    for (const Average how : {Average::sum, Average::mean, Average::weighted}) {
      for (const std::int64_t width : {1, 7, 600}) {
        for (const DType index : {DType::int32, DType::int64}) {
          CAPTURE(rule.op);
          CAPTURE(width);
          const Array start = random_array<T>({9, width}, 50);
          const auto gradient = [&] {
            return Gradient(average_of_slices<T>(how, 3, width, index));
          };
          const Ran fused = train_steps(rule, start, gradient, true);
          CHECK(fused.values == train_steps(rule, start, gradient, false).values);
          CHECK(holds(fused.report, std::string("  _MeanSparseApply") + rule.op + " ["));
          CHECK_FALSE(holds(fused.report, "  SparseApply"));
          CHECK_FALSE(holds(fused.report, "RealDiv ["));
          // The indices alone are still put side by side.
          const std::size_t concat = fused.report.find("ConcatV2 [");
          CHECK(fused.report.find("ConcatV2 [", concat + 1) == std::string::npos);
        }
      }
    }
  }
}

TEST_CASE("slices of towers and update: float32") { check_slices<float>(); }
TEST_CASE("slices of towers and update: float64") { check_slices<double>(); }

TEST_CASE("slices and update: rows as a plain loop adds and updates them") {
  constexpr std::int64_t kRows = 500, kWidth = 300, kSlices = 1300;
  const Array values = random_array<float>({kSlices, kWidth}, 1);
  Array rows(DType::int32, Shape{kSlices});
  for (std::int64_t i = 0; i < kSlices; ++i)
    rows.data<std::int32_t>()[i] = static_cast<std::int32_t>(i * i % 331);
  const Array start = random_array<float>({kRows, kWidth}, 2);
  const Rule& momentum = rules()[1];
  const Ran ran = train_steps(
      momentum, start,
      [&] {
        return Gradient(IndexedSlices{tensor_of(values), tensor_of(rows), std::nullopt});
      },
      true);
  std::vector<float> sums(kRows * kWidth),
      w(start.data<float>(), start.data<float>() + sums.size());
  std::vector<float> slot(sums.size());
  std::vector<bool> named(kRows);
  for (std::int64_t i = 0; i < kSlices; ++i) {
    const std::int64_t row = rows.data<std::int32_t>()[i];
    named[static_cast<std::size_t>(row)] = true;
    for (std::int64_t c = 0; c < kWidth; ++c)
      sums[static_cast<std::size_t>(row * kWidth + c)] += values.data<float>()[i * kWidth + c];
  }
  const float scalars[] = {0.1f, 0.9f};
  const MomentumRule<float> update(scalars);
  for (int step = 0; step < 3; ++step)
    for (std::size_t i = 0; i < sums.size(); ++i)
      if (named[i / kWidth]) update(w[i], slot[i], sums[i]);
  CHECK(std::equal(w.begin(), w.end(), ran.values[0].data<float>()));
  CHECK(std::equal(slot.begin(), slot.end(), ran.values[1].data<float>()));
}

TEST_CASE("slices of towers and update: an index out of range changes nothing") {
  Graph graph;
  const auto guard = graph.as_default();
  const Variable w(Array::zeros(DType::float32, {2, 3}));
  std::vector<Tensor> values, indices;
  for (const std::int32_t row : {1, 2}) {
    values.push_back(tensor_of(random_array<float>({1, 3}, 1)));
    Array rows(DType::int32, Shape{1});
    rows.data<std::int32_t>()[0] = row;
    indices.push_back(tensor_of(rows));
  }
  const auto optimizer = rules()[1].optimizer();
  const Operation update = optimizer->apply_gradients(
      {{Gradient(IndexedSlices{concat(values, 0), concat(indices, 0), std::nullopt}), w}});
  Session session(graph, unfolded());
  session.run(global_variables_initializer());
  CHECK(holds(session.plan_report(std::vector<Fetch>{update}), "  _MeanSparseApplyMomentum ["));
  check_error<errors::InvalidArgumentError>([&] { session.run(update); }, "= 2 is not in [0, 2)");
  CHECK(session.run(w.ref()) == Array::zeros(DType::float32, {2, 3}));
}

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

TEST_CASE("mean and update: other axes and keepdims are not means of towers") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor a = tensor_of(random_array<float>({2, 3}, 1)),
               b = tensor_of(random_array<float>({2, 3}, 2));
  const Tensor sum_of_rows = reduce_mean(concat(std::vector<Tensor>{a, b}, 0), 0);
  const Tensor other_axis =
      reduce_mean(concat(std::vector<Tensor>{expand_dims(a, 1), expand_dims(b, 1)}, 1), 1);
  const Tensor kept = reduce_mean(
      concat(std::vector<Tensor>{expand_dims(a, 0), expand_dims(b, 0)}, 0), 0, {.keepdims = true});
  const Tensor across = reduce_mean(stack(std::vector<Tensor>{a, b}, 1), 0);
  Session session(graph, unfolded());
  for (const Tensor& mean : {sum_of_rows, other_axis, kept, across}) {
    CHECK(session.plan_report(std::vector<Fetch>{mean}).find("_MeanOfN") == std::string::npos);
    CHECK(session.run(mean).elements() > 0);
  }
}

}  // namespace
}  // namespace towerflow

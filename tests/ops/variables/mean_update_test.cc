// The rewrites of averaging and applying towers' gradients: the same bits in fewer launches.
#include "ops/variables/mean_update.h"

#include "ops/variables/apply.h"
#include "tests/ops/variables/update_support.h"

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

template <class T>
std::vector<Array> gradients_of(const Shape& shape, int towers) {
  std::vector<Array> gradients;
  for (int i = 0; i < towers; ++i)
    gradients.push_back(random_array<T>(shape, static_cast<unsigned>(i) + 1));
  for (Array& gradient : gradients)
    if (gradient.elements() > 0) gradient.data<T>()[0] = T(-0.0);
  return gradients;
}

/// Returns whether the average is constant, as a stack of constant scalars is.
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
          const RunResult fused = train_steps(rule, start, gradient, true);
          CHECK(fused.values == train_steps(rule, start, gradient, false).values);
          CHECK(contains(fused.report, std::string("  _MeanApply") + rule.op + " ["));
          for (const char* gone : {"  Apply", "ConcatV2 [", "Pack [", "AddN [d", "RealDiv ["})
            CHECK_FALSE(contains(fused.report, gone));
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
          return RunResult{{session.run(average)},
                           session.plan_report(std::vector<Fetch>{average})};
        };
        const RunResult fused = ran(true);
        CHECK(fused.values == ran(false).values);
        // Longer sums are added in blocks, and a single AddN is one pass already.
        CHECK(contains(fused.report, "  _MeanOfN [") == (towers <= 128 && how != Average::add_n));
      }
    }
  }
}

/// Variations of a moving average, of which only `nothing` may become one pass.
enum class MovingAverageVariant { nothing, written, read, other_variable, other_shape };

/// Returns an average after three steps, and its plan.
template <class T>
RunResult moved_average(MovingAverageVariant near, bool fused) {
  Graph graph;
  const auto guard = graph.as_default();
  const Shape shape{3, 50};
  const Variable average(random_array<T>(shape, 1), {.name = "average"});
  const Variable other(random_array<T>(shape, 2), {.name = "other"});
  const Variable value(
      random_array<T>(near == MovingAverageVariant::other_shape ? Shape{50} : shape, 3));
  const Tensor rest = cast(tensor_of(Array::scalar(0.03)), average.dtype());
  const Variable& from = near == MovingAverageVariant::other_variable ? other : average;
  const Tensor distance = from - value;
  std::vector<Fetch> fetches;
  if (near == MovingAverageVariant::written) fetches.emplace_back(assign_add(average, other).op());
  if (near == MovingAverageVariant::read) fetches.emplace_back(reduce_sum(distance));
  fetches.emplace_back(assign_sub(average, distance * rest));
  const Operation twice = assign_add(value, value).op();
  ConfigProto config = with_fusion(fused);
  config.passes.skipped_rewrites.insert("elementwise");
  Session session(graph, config);
  session.run(global_variables_initializer());
  RunResult ran{{}, session.plan_report(fetches)};
  for (int step = 0; step < 3; ++step) {
    for (Array& result : session.run(fetches)) ran.values.push_back(std::move(result));
    session.run(twice);
  }
  return ran;
}

template <class T>
void check_moving_average() {
  for (const MovingAverageVariant near :
       {MovingAverageVariant::nothing, MovingAverageVariant::written, MovingAverageVariant::read,
        MovingAverageVariant::other_variable, MovingAverageVariant::other_shape}) {
    CAPTURE(static_cast<int>(near));
    const RunResult fused = moved_average<T>(near, true);
    CHECK(fused.values == moved_average<T>(near, false).values);
    CHECK(contains(fused.report, "  _MovingAverage [") == (near == MovingAverageVariant::nothing));
    CHECK(contains(fused.report, "  AssignSub [") == (near != MovingAverageVariant::nothing));
  }
}

TEST_CASE("a moving average is one pass, with the bits of several") {
  check_moving_average<float>();
  check_moving_average<double>();
}

TEST_CASE("the averages of ExponentialMovingAverage are passes of that kind") {
  Graph graph;
  const auto guard = graph.as_default();
  const Variable w(random_array<float>({40}, 1), {.name = "w"});
  train::ExponentialMovingAverage ema(0.9);
  const Operation update = ema.apply({w});
  Session session(graph);
  session.run(global_variables_initializer());
  const std::string report = session.plan_report(std::vector<Fetch>{update});
  CHECK(contains(report, "  _MovingAverage ["));
  CHECK_FALSE(contains(report, "  AssignSub ["));
}

TEST_CASE("mean and update: a mean that somebody else reads stays") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor mean = mean_of_towers({random_array<float>({3}, 1), random_array<float>({3}, 2)});
  const Variable w(Array::zeros(DType::float32, {3}));
  const Operation update = apply_gradient_descent(w, tensor_of(Array::scalar(1.0f)), mean, "update",
                                                  {}, Site::current());
  Session session(graph, no_folding_config());
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
  Session session(graph, no_folding_config());
  for (const Tensor& mean : {sum_of_rows, other_axis, kept, across}) {
    CHECK(session.plan_report(std::vector<Fetch>{mean}).find("_MeanOfN") == std::string::npos);
    CHECK(session.run(mean).elements() > 0);
  }
}

}  // namespace
}  // namespace towerflow

// Updates of rows by slices: towers' slices are read in place, and row sums have a fixed order.
#include "core/graph/error.h"
#include "ops/update_rules.h"
#include "tests/ops/variables/update_support.h"

namespace towerflow {
namespace {

using namespace testing;  // NOLINT

enum class Combined { sum, mean, weighted };

/// Returns combined slices of `towers` gradients. Rows repeat within and across towers.
template <class T>
IndexedSlices average_of_slices(Combined how, int towers, std::int64_t width, DType index) {
  std::vector<Tensor> values, indices, weights;
  for (int i = 0; i < towers; ++i) {
    const std::vector<std::int64_t> rows{3, 0, 3, 5 + i};
    Array array(DType::int64, Shape{4});
    std::copy(rows.begin(), rows.end(), array.data<std::int64_t>());
    indices.push_back(cast(tensor_of(array), index));
    values.push_back(tensor_of(random_array<T>({4, width}, static_cast<unsigned>(i) + 1)));
    weights.push_back(tensor_of(Array::scalar(static_cast<T>(0.3 + i))));
    if (how == Combined::weighted) values.back() = values.back() * weights.back();
  }
  Tensor all = concat(values, 0);
  if (how == Combined::mean) all = all / towers;
  if (how == Combined::weighted) all = all / add_n(weights);
  return {all, concat(indices, 0), std::nullopt};
}

template <class T>
void check_slices() {
  for (const Rule& rule : rules()) {
    if (rule.op == std::string("GradientDescent")) continue;  // it uses a ScatterSub
    for (const Combined how : {Combined::sum, Combined::mean, Combined::weighted}) {
      for (const std::int64_t width : {1, 7, 600}) {
        for (const DType index : {DType::int32, DType::int64}) {
          CAPTURE(rule.op);
          CAPTURE(width);
          const Array start = random_array<T>({9, width}, 50);
          const auto gradient = [&] {
            return Gradient(average_of_slices<T>(how, 3, width, index));
          };
          const RunResult fused = train_steps(rule, start, gradient, true);
          CHECK(fused.values == train_steps(rule, start, gradient, false).values);
          CHECK(contains(fused.report, std::string("  _MeanSparseApply") + rule.op + " ["));
          CHECK_FALSE(contains(fused.report, "  SparseApply"));
          CHECK_FALSE(contains(fused.report, "RealDiv ["));
          // Only the indices are still concatenated.
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
  const RunResult ran = train_steps(
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
  const auto optimizer = rules()[1].optimizer(DType::float32);
  const Operation update = optimizer->apply_gradients(
      {{Gradient(IndexedSlices{concat(values, 0), concat(indices, 0), std::nullopt}), w}});
  Session session(graph, no_folding_config());
  session.run(global_variables_initializer());
  CHECK(contains(session.plan_report(std::vector<Fetch>{update}), "  _MeanSparseApplyMomentum ["));
  check_error<errors::InvalidArgumentError>([&] { session.run(update); }, "= 2 is not in [0, 2)");
  CHECK(session.run(w.ref()) == Array::zeros(DType::float32, {2, 3}));
}

}  // namespace
}  // namespace towerflow

// Optimizer updates: every level and every way to add gradients gives the same bits as the rule.
#include <cmath>
#include <utility>

#include "tests/ops/simd/levels.h"

namespace towerflow {
namespace {

using namespace testing;  // NOLINT

struct Case {
  int towers;
  bool weighted;
  float start, divisor;
};
const Case kCases[] = {{1, false, -0.0f, 1.0f}, {1, false, 0.0f, 1.0f}, {1, true, 0.0f, 3.0f},
                       {2, false, 0.0f, 2.0f},  {2, true, 0.0f, 0.7f},  {3, false, -0.0f, 3.0f},
                       {4, false, 0.0f, 4.0f},  {4, true, -0.0f, 1.0f}, {5, false, 0.0f, 5.0f},
                       {9, true, 0.0f, 2.5f}};
constexpr float kWeights[] = {1.0f, 0.25f, 3.0f, 0.1f, 7.0f, 0.0f, 1.5f, 2.0f, 0.3f};
constexpr float kScalars[] = {0.0137f, 0.9f, 0.8f, 0.7f, 0.95f, 1e-3f};  // arbitrary

/// Sizes around the width of registers and around the blocks of long sums.
const std::size_t kSizes[] = {0, 1, 7, 16, 33, 255, 256, 257, 2000};

/// Returns element i of the sum, computed one pass after another.
float gradient_at(const simd::GradientSum& sum, std::size_t i) {
  float total = sum.start;
  for (int tower = 0; tower < sum.towers; ++tower) {
    const float weighted = sum.gradients[tower][i] * (sum.weights ? sum.weights[tower] : 1.0f);
    total += weighted;
  }
  return total / sum.divisor;
}

template <class Rule, std::size_t... kSlot>
void check_rule(const float* scalars, std::index_sequence<kSlot...>) {
  const Rule rule(scalars);
  for (const Case& one : kCases) {
    for (const std::size_t n : kSizes) {
      CAPTURE(one.towers);
      CAPTURE(n);
      std::vector<std::vector<float>> gradients;
      std::vector<const float*> at;
      for (int tower = 0; tower < one.towers; ++tower) {
        gradients.push_back(special_floats(n, static_cast<unsigned>(tower) + 11));
        at.push_back(gradients.back().data());
      }
      const simd::GradientSum sum{at.data(), one.weighted ? kWeights : nullptr, one.towers,
                                  one.start, one.divisor};
      std::vector<std::vector<float>> start{random_floats(n, 1)};
      for (std::size_t slot = 0; slot < Rule::kSlots; ++slot) {
        start.push_back(random_floats(n, static_cast<unsigned>(slot) + 2));
        for (float& x : start.back()) x = std::fabs(x);  // most are used under a square root
      }
      auto wanted = start;
      for (std::size_t i = 0; i < n; ++i) {
        rule(wanted[0][i], wanted[1 + kSlot][i]..., gradient_at(sum, i));
      }
      for (const simd::Loops* loops : all_levels()) {
        CAPTURE(simd::level_name(loops->level));
        auto got = start;
        float* const written[] = {got[0].data(), got[1 + kSlot].data()...};
        loops->update.of<Rule>()(rule, written, sum, static_cast<std::int64_t>(n));
        for (std::size_t a = 0; a < got.size(); ++a) CHECK(same_numbers(got[a], wanted[a]));
      }
      std::vector<float> total(n);
      for (std::size_t i = 0; i < n; ++i) total[i] = gradient_at(sum, i);
      CHECK(same_numbers(total, run_on_all_levels(n, [&](const simd::Loops& loops, float* out) {
                           loops.gradient_sum(sum, out, static_cast<std::int64_t>(n));
                         })));
    }
  }
}

template <class Rule>
void check_rule(const float* scalars = kScalars) {
  check_rule<Rule>(scalars, std::make_index_sequence<Rule::kSlots>());
}

TEST_CASE("update loops: sum") { check_rule<AddRule<float>>(); }
TEST_CASE("update loops: difference") { check_rule<SubtractRule<float>>(); }
TEST_CASE("update loops: moving average") { check_rule<MovingAverageRule<float>>(); }
TEST_CASE("update loops: gradient descent") { check_rule<GradientDescentRule<float>>(); }
TEST_CASE("update loops: momentum") { check_rule<MomentumRule<float>>(); }
TEST_CASE("update loops: Nesterov's momentum") { check_rule<NesterovRule<float>>(); }
TEST_CASE("update loops: Adam") { check_rule<AdamRule<float>>(); }
TEST_CASE("update loops: Adagrad") { check_rule<AdagradRule<float>>(); }
TEST_CASE("update loops: RMSProp") { check_rule<RmsPropRule<float>>(); }
TEST_CASE("update loops: centered RMSProp") { check_rule<CenteredRmsPropRule<float>>(); }
TEST_CASE("update loops: Adadelta") { check_rule<AdadeltaRule<float>>(); }
TEST_CASE("update loops: Adagrad, dual averaging") {
  check_rule<AdagradDualAveragingRule<float>>();
}
TEST_CASE("update loops: Ftrl") { check_rule<FtrlRule<float>>(); }
TEST_CASE("update loops: Ftrl with shrinkage") { check_rule<FtrlShrinkageRule<float>>(); }
TEST_CASE("update loops: Ftrl with the power -1/2, which has loops of its own") {
  constexpr float scalars[] = {0.0137f, 0.9f, 0.8f, -0.5f, -0.5f};
  check_rule<FtrlRule<float>>(scalars);
  check_rule<FtrlShrinkageRule<float>>(scalars);
}
TEST_CASE("update loops: proximal gradient descent") {
  check_rule<ProximalGradientDescentRule<float>>();
}
TEST_CASE("update loops: proximal Adagrad") { check_rule<ProximalAdagradRule<float>>(); }

}  // namespace
}  // namespace towerflow

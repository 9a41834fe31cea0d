// Ops that draw random numbers: TensorFlow's numbers for the same seeds.
#include "tests/ops/cases/families.h"
#include "towerflow/tf.h"

namespace towerflow::testing {
void add_random_cases(std::vector<OpCase>& cases) {
  const std::vector<CaseInput> large{random_input({1000, 1000})};
  const auto none = CaseGradients::none;
  cases.push_back({.name = "RandomUniform",
                   .call =
                       [](In t) {
                         return tf::random_uniform({7, 3}, {.dtype = t.dtype, .seed = 5});
                       },
                   .python = "tf.random_uniform([7, 3], dtype=dtype, seed=5)",
                   .gradients = none});
  cases.push_back({.name = "RandomUniformInt",
                   .call =
                       [](In t) {
                         return tf::random_uniform(
                             {7, 3}, {.minval = -4, .maxval = 9, .dtype = t.dtype, .seed = 5});
                       },
                   .python = "tf.random_uniform([7, 3], -4, 9, dtype=dtype, seed=5)",
                   .dtypes = integers(),
                   .gradients = none});
  cases.push_back({.name = "RandomStandardNormal",
                   .call =
                       [](In t) {
                         return tf::random_normal({7, 3}, {.dtype = t.dtype, .seed = 5});
                       },
                   .python = "tf.random_normal([7, 3], dtype=dtype, seed=5)",
                   .gradients = none});
  cases.push_back({.name = "TruncatedNormal",
                   .call =
                       [](In t) {
                         return tf::truncated_normal({7, 3}, {.dtype = t.dtype, .seed = 5});
                       },
                   .python = "tf.truncated_normal([7, 3], dtype=dtype, seed=5)",
                   .gradients = none});
  cases.push_back({.name = "RandomShuffle",
                   .inputs = {random_input({5, 2}, -9, 9)},
                   .call = [](In t) { return tf::random_shuffle(t.x, {.seed = 5}); },
                   .python = "tf.random_shuffle(x, seed=5)",
                   .dtypes = numbers(),
                   .gradients = none});
}

}  // namespace towerflow::testing

#include "models/score.h"

#include <fmt/format.h>

#include "towerflow/tf.h"

namespace towerflow::models {

Tensor count_right(const Tensor& logits, const Tensor& labels, int k) {
  return tf::reduce_sum(tf::cast(tf::nn::in_top_k(logits, labels, k), tf::float32));
}

Score score_of_right(std::int64_t examples, double right, const RightOptions& options) {
  const auto correct = static_cast<std::int64_t>(right);
  const double share = right / static_cast<double>(examples);
  return {fmt::format("{} of {} test {} right, {} = {:.{}f}", correct, examples, options.examples,
                      options.measure, share, options.decimals),
          {{"correct", correct}, {options.field, share}}};
}

}  // namespace towerflow::models

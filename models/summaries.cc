#include "models/summaries.h"

#include "towerflow/tf.h"

namespace towerflow::models {

Tensor merged_summaries(std::vector<Tensor> summaries, const std::vector<GradAndVar>& grads,
                        const SummaryOptions& options) {
  const auto cpu = tf::device("/cpu:0");
  if (options.learning_rate) {
    summaries.push_back(tf::summary::scalar("learning_rate", *options.learning_rate));
  }
  if (options.histograms) {
    for (const GradAndVar& pair : grads) {
      if (!pair.grad) continue;
      const std::string name = pair.var.op().name() + "/gradients";
      summaries.push_back(pair.grad->is_dense()
                              ? tf::summary::histogram(name, pair.grad->dense())
                              : tf::summary::histogram(name, pair.grad->slices()));
    }
    for (const Variable& var : tf::trainable_variables()) {
      summaries.push_back(tf::summary::histogram(var.op().name(), var));
    }
  }
  return tf::summary::merge(summaries);
}

}  // namespace towerflow::models

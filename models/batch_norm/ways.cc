#include <fmt/format.h>

#include <cmath>
#include <set>

#include "models/batch_norm/batch_norm.h"
#include "models/training.h"
#include "towerflow/tf.h"

namespace towerflow::models::batch_norm {
namespace {

constexpr std::int64_t kBatchSize = 8;

/// A training step that is run from chosen values of the first layer's moving mean.
class Step {
 public:
  Step(int num_towers, Collecting collecting) : num_towers_(num_towers) {
    const auto guard = graph_.as_default();
    tf::set_random_seed(1);
    towers_ = build_towers({.num_gpus = num_towers, .collecting = collecting}, [&] {
      images_.push_back(tf::placeholder(tf::float32, {.shape = {kBatchSize, 784}}));
      return Batch{images_.back(), tf::zeros({kBatchSize}, {.dtype = tf::int32})};
    });
    const Operation init = tf::global_variables_initializer();
    for (const Variable& variable : tf::global_variables()) {
      if (variable.op().name() == "conv1/bn/moving_mean") mean_ = variable;
    }
    session_.emplace(graph_, session_config(num_towers, {}));
    session_->run(init);
  }

  std::size_t collected() const { return towers_.updates.size(); }
  std::size_t distinct() const {
    std::set<std::string> names;
    for (const Fetch& update : towers_.updates) names.insert(update.operation().name());
    return names.size();
  }

  /// Returns the norm of the moving mean after a step from `start`, in which only the images of
  /// tower `bright` are not zero; with -1, all are zero. Zero images have the mean 0.
  double mean_after(float start, int bright) {
    Array value(float32, mean_.shape());
    std::fill_n(value.data<float>(), value.elements(), start);
    session_->run(mean_.initializer(), {{mean_.initial_value(), value}});
    Feeds feeds;
    for (int i = 0; i < num_towers_; ++i) {
      Array pixels = Array::zeros(float32, images_[static_cast<std::size_t>(i)].shape());
      if (i == bright) std::fill_n(pixels.data<float>(), pixels.elements(), 0.5F);
      feeds.emplace_back(images_[static_cast<std::size_t>(i)], std::move(pixels));
    }
    // Without the optimizers, so that each measurement has the same weights.
    session_->run(std::span<const Fetch>(towers_.updates), feeds);
    double squares = 0;
    const Array mean = session_->run(mean_);
    for (const float x : mean.flat<float>()) squares += double{x} * x;
    return std::sqrt(squares);
  }

  /// Returns the norm of a vector of ones.
  double unit() const { return std::sqrt(static_cast<double>(mean_.shape().size(0))); }

 private:
  int num_towers_;
  Graph graph_;
  std::vector<Tensor> images_;
  Towers towers_;
  Variable mean_;
  std::optional<Session> session_;
};

}  // namespace

WayReport report_of(const std::string& name, Collecting collecting, int num_towers) {
  // One tower's update adds 0.1 of the batch's mean.
  const double mean = Step(1, Collecting::first).mean_after(0, 0) / (1 - kBatchNormDecay);
  Step step(num_towers, collecting);
  WayReport report{.name = name,
                   .collected = step.collected(),
                   .distinct = step.distinct(),
                   .keeps = step.mean_after(1, -1) / step.unit(),
                   .receives = {}};
  for (int i = 0; i < num_towers; ++i) {
    report.receives.push_back(step.mean_after(0, i) / mean);
  }
  return report;
}

std::string report_heading(int num_towers) {
  std::string text =
      fmt::format("  {:<12} {:>9} {:>8}   a moving mean keeps", "way", "collected", "distinct");
  for (int i = 0; i < num_towers; ++i) text += fmt::format("  + {}_{}", kTowerName, i);
  return text;
}

std::string report_row(const WayReport& report) {
  std::string text = fmt::format("  {:<12} {:>9} {:>8} {:>21.2f}", report.name, report.collected,
                                 report.distinct, report.keeps);
  for (const double share : report.receives) text += fmt::format(" {:>11.2f}", share);
  return text;
}

std::string table_of_ways(int num_towers) {
  std::string text = "What each way of collecting UPDATE_OPS does in a step\n";
  text += report_heading(num_towers) + "\n";
  for (const auto& [name, collecting] : ways()) {
    text += report_row(report_of(name, collecting, num_towers)) + "\n";
  }
  text +=
      "  An operation that is listed twice runs once. The updates of several towers follow each\n"
      "  other, except with 'all', where each starts from the value before the step; TensorFlow\n"
      "  leaves open which of the two its program does.\n";
  return text;
}

}  // namespace towerflow::models::batch_norm

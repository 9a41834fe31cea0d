#include "models/batch_norm/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <deque>

#include "models/batch_norm/dealt_digits.h"
#include "models/score.h"
#include "report/quantile.h"
#include "towerflow/tf.h"

namespace towerflow::models::batch_norm {
namespace {

constexpr std::size_t kWarmUp = 2;  // steps of a way that are not timed

using Vector = std::vector<double>;

Vector as_vector(const Array& array) {
  const auto values = array.flat<float>();
  return {values.begin(), values.end()};
}

double norm(const Vector& vector) {
  double squares = 0;
  for (const double x : vector) squares += x * x;
  return std::sqrt(squares);
}

double mean_of(const Vector& vector) {
  double sum = 0;
  for (const double x : vector) sum += x;
  return sum / static_cast<double>(vector.size());
}

double relative_distance(const Vector& a, const Vector& b) {
  Vector difference = a;
  for (std::size_t i = 0; i < a.size(); ++i) difference[i] -= b[i];
  return norm(difference) / norm(b);
}

/// Returns how far the vectors of towers are from their mean, root mean square, over its norm.
double drift_of(const std::vector<Vector>& towers) {
  if (towers.empty()) return 0;  // all towers have the same
  Vector mean(towers[0].size(), 0.0);
  for (const Vector& tower : towers) {
    for (std::size_t i = 0; i < mean.size(); ++i) {
      mean[i] += tower[i] / static_cast<double>(towers.size());
    }
  }
  double squares = 0;
  for (const Vector& tower : towers) squares += std::pow(relative_distance(tower, mean), 2);
  return std::sqrt(squares / static_cast<double>(towers.size()));
}

/// The network in training with one way, and in evaluation.
class Contestant {
 public:
  Contestant(const std::string& name, Collecting collecting, const CompareOptions& options)
      : name_(name), collecting_(collecting), options_(options) {
    const auto guard = graph_.as_default();
    tf::set_random_seed(options.seed);
    towers_ = build_towers({.num_gpus = options.num_towers, .collecting = collecting}, [&] {
      fed_.push_back(placeholders(options.batch_size));
      return fed_.back();
    });
    step_ = {towers_.train_op};
    for (const Tensor& loss : towers_.losses) step_.emplace_back(loss);
    for (const auto& moments : moments_of_layer()) {
      step_.emplace_back(moments.mean);
      step_.emplace_back(moments.variance);
    }
    for (const Variable& variable : tf::global_variables()) {
      if (variable.op().name() == options.layer + "/moving_mean") mean_ = variable;
      if (variable.op().name() == options.layer + "/moving_variance") variance_ = variable;
    }
    const Operation init = tf::global_variables_initializer();
    build_evaluation();
    session_.emplace(graph_, session_config(options.num_towers, options.devices));
    session_->run(init);
  }

  void step(const std::vector<DigitBatch>& batches) {
    Feeds feeds;
    for (std::size_t i = 0; i < fed_.size(); ++i) {
      feeds.emplace_back(fed_[i].features, batches[i].images);
      feeds.emplace_back(fed_[i].labels, batches[i].labels);
    }
    using Clock = std::chrono::steady_clock;
    const Clock::time_point start = Clock::now();
    const std::vector<Array> got = session_->run(std::span<const Fetch>(step_), feeds);
    seconds_.push_back(std::chrono::duration<double>(Clock::now() - start).count());
    const std::size_t towers = towers_.losses.size();
    loss_ = 0;
    for (std::size_t i = 0; i < towers; ++i) {
      loss_ += got[1 + i].item<float>() / static_cast<double>(towers);
    }
    std::vector<Vector> means, variances;
    for (std::size_t i = 1 + towers; i < got.size(); i += 2) {
      means.push_back(as_vector(got[i]));
      variances.push_back(as_vector(got[i + 1]));
    }
    mean_drifts_.push_back(drift_of(means));
    variance_drifts_.push_back(drift_of(variances));
  }

  WayResult result(const std::vector<DigitBatch>& test) {
    WayResult result{.report = report_of(name_, collecting_, options_.num_towers)};
    const Vector mean = as_vector(session_->run(mean_));
    const Vector variance = as_vector(session_->run(variance_));
    result.mean = mean_of(mean);
    result.variance = mean_of(variance);
    // Of batches of one size: the mean of their means and variances, and the variance of the means.
    std::vector<Vector> test_means;
    Vector test_mean(mean.size(), 0.0), test_variance(mean.size(), 0.0);
    for (const DigitBatch& batch : test) {
      const std::vector<Array> got =
          session_->run(std::span<const Fetch>(evaluation_),
                        {{test_.features, batch.images}, {test_.labels, batch.labels}});
      result.right += static_cast<std::int64_t>(std::lround(got[0].item<float>()));
      result.right_by_batch += static_cast<std::int64_t>(std::lround(got[1].item<float>()));
      result.examples += batch.labels.elements();
      test_means.push_back(as_vector(got[2]));
      const Vector own_variance = as_vector(got[3]);
      for (std::size_t c = 0; c < mean.size(); ++c) {
        test_mean[c] += test_means.back()[c] / static_cast<double>(test.size());
        test_variance[c] += own_variance[c] / static_cast<double>(test.size());
      }
    }
    for (const Vector& own : test_means) {
      for (std::size_t c = 0; c < mean.size(); ++c) {
        test_variance[c] += std::pow(own[c] - test_mean[c], 2) / static_cast<double>(test.size());
      }
    }
    result.mean_off = relative_distance(mean, test_mean);
    result.variance_off = relative_distance(variance, test_variance);
    result.mean_drift = mean_of(mean_drifts_);
    result.variance_drift = mean_of(variance_drifts_);
    const std::size_t warm_up = std::min(kWarmUp, seconds_.size() - 1);
    result.seconds = report::quantile(
        {seconds_.begin() + static_cast<std::ptrdiff_t>(warm_up), seconds_.end()}, 0.5);
    result.loss = loss_;
    return result;
  }

 private:
  static Batch placeholders(Dim size) {
    const Tensor images = tf::placeholder(tf::float32, {.shape = {size, 784}});
    return {images, tf::placeholder(tf::int32, {.shape = {size}})};
  }

  std::vector<layers::SampleMoments> moments_of_layer() const {
    std::vector<layers::SampleMoments> found;
    for (const layers::BatchMoments& call : tf::layers::all_batch_moments()) {
      if (call.moving_mean.op().name() == options_.layer + "/moving_mean") {
        found.push_back(call.sample);
      }
    }
    return found;
  }

  /// Adds the network with the moving averages, and with the moments of each batch.
  void build_evaluation() {
    const auto scope = tf::name_scope("evaluation");
    const auto vars = tf::variable_scope(tf::get_variable_scope(), {.reuse = true});
    test_ = placeholders(Dim(tf::None));
    for (const bool by_batch : {false, true}) {
      evaluation_.emplace_back(count_right(inference(test_.features, by_batch), test_.labels));
    }
    const layers::SampleMoments moments = moments_of_layer().back();
    evaluation_.emplace_back(moments.mean);
    evaluation_.emplace_back(moments.variance);
  }

  std::string name_;
  Collecting collecting_;
  CompareOptions options_;
  Graph graph_;
  std::vector<Batch> fed_;
  Batch test_;
  Towers towers_;
  std::vector<Fetch> step_, evaluation_;
  Variable mean_, variance_;
  std::optional<Session> session_;
  std::vector<double> seconds_, mean_drifts_, variance_drifts_;
  double loss_ = 0;
};

}  // namespace

std::vector<WayResult> compare_ways(
    const CompareOptions& options,
    const std::function<void(std::int64_t done, std::int64_t total)>& on_step) {
  if (options.layer != "conv1/bn" && options.layer != "conv2/bn") {
    throw ValueError(fmt::format("the network has no batch normalization '{}'", options.layer),
                     {.hint = "conv1/bn and conv2/bn are"});
  }
  DealtDigits digits(options);
  std::deque<Contestant> contestants;
  for (const auto& [name, collecting] : ways()) contestants.emplace_back(name, collecting, options);
  const auto total = options.steps * static_cast<std::int64_t>(contestants.size());
  std::int64_t done = 0;
  for (std::int64_t step = 0; step < options.steps; ++step) {
    const std::vector<DigitBatch> batches = digits.next();
    for (Contestant& contestant : contestants) {
      contestant.step(batches);
      on_step(++done, total);
    }
  }
  const std::vector<DigitBatch> test = digits.test();
  std::vector<WayResult> results;
  for (Contestant& contestant : contestants) results.push_back(contestant.result(test));
  return results;
}

}  // namespace towerflow::models::batch_norm

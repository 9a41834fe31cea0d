#include "models/batch_norm/dealt_digits.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <utility>

#include "models/digits.h"
#include "towerflow/tf.h"

namespace towerflow::models::batch_norm {
namespace {

constexpr std::int64_t kTestDigits = 1000;
constexpr std::int64_t kTestBatch = 100;

}  // namespace

DealtDigits::DealtDigits(const CompareOptions& options)
    : options_(options), waiting_(static_cast<std::size_t>(options.num_towers)) {
  const std::int64_t of_step = options.num_towers * options.batch_size;
  digits_ = read(kDigits.files_of(options.data_dir, Part::train), of_step * options.steps);
  if (static_cast<std::int64_t>(digits_.size()) < of_step) {
    throw ValueError(fmt::format("a step of {} towers needs {} digits, but there are only {}",
                                 options.num_towers, of_step, digits_.size()));
  }
  std::vector<std::pair<double, Digit*>> by_ink;
  for (Digit& digit : digits_) {
    by_ink.emplace_back(std::accumulate(digit.pixels.begin(), digit.pixels.end(), 0.0), &digit);
  }
  std::sort(by_ink.begin(), by_ink.end());
  for (std::size_t i = 0; i < by_ink.size(); ++i) {
    by_ink[i].second->tower = i * waiting_.size() / by_ink.size();
  }
}

std::vector<DealtDigits::Digit> DealtDigits::read(const std::vector<std::string>& files,
                                                  std::int64_t most) {
  Graph graph;
  const auto guard = graph.as_default();
  const Batch batch = ordered_inputs(files, kTestBatch);
  Session session;
  session.run({tf::global_variables_initializer(), tf::local_variables_initializer()});
  tf::train::Coordinator coord;
  const auto threads = tf::train::start_queue_runners(session, {.coord = &coord});
  std::vector<Digit> digits;
  try {
    while (static_cast<std::int64_t>(digits.size()) < most) {
      const auto got = session.run({batch.features, batch.labels});
      const float* pixels = got[0].data<float>();
      for (std::int64_t i = 0; i < got[1].elements(); ++i) {
        digits.push_back({{pixels + i * kImagePixels, pixels + (i + 1) * kImagePixels},
                          got[1].data<std::int32_t>()[i]});
      }
    }
  } catch (const errors::OutOfRangeError&) {  // all were read
  }
  coord.request_stop();
  coord.join(threads);
  if (static_cast<std::int64_t>(digits.size()) > most) {
    digits.resize(static_cast<std::size_t>(most));
  }
  return digits;
}

DigitBatch DealtDigits::batch_of(const std::vector<const Digit*>& digits) {
  const auto size = static_cast<std::int64_t>(digits.size());
  DigitBatch batch{Array(DType::float32, {size, kImagePixels}), Array(DType::int32, {size})};
  float* pixels = batch.images.data<float>();
  for (std::size_t i = 0; i < digits.size(); ++i) {
    pixels = std::copy(digits[i]->pixels.begin(), digits[i]->pixels.end(), pixels);
    batch.labels.data<std::int32_t>()[i] = digits[i]->label;
  }
  return batch;
}

void DealtDigits::shuffle() {
  std::vector<const Digit*> order;
  for (const Digit& digit : digits_) order.push_back(&digit);
  std::mt19937_64 random(static_cast<std::uint64_t>(options_.seed) + 1000003 * rounds_++);
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random() % i]);
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::size_t tower = options_.by_ink ? order[i]->tower : i % waiting_.size();
    waiting_[tower].push_back(order[i]);
  }
}

std::vector<DigitBatch> DealtDigits::next() {
  const auto size = static_cast<std::size_t>(options_.batch_size);
  std::vector<DigitBatch> batches;
  for (auto& own : waiting_) {
    while (own.size() < size) shuffle();
    batches.push_back(batch_of({own.begin(), own.begin() + options_.batch_size}));
    own.erase(own.begin(), own.begin() + options_.batch_size);
  }
  return batches;
}

std::vector<DigitBatch> DealtDigits::test() const {
  const std::vector<Digit> digits =
      read(kDigits.files_of(options_.data_dir, Part::test), kTestDigits);
  std::vector<DigitBatch> batches;
  for (std::size_t at = 0; at + kTestBatch <= digits.size(); at += kTestBatch) {
    std::vector<const Digit*> chosen;
    for (std::size_t i = at; i < at + kTestBatch; ++i) chosen.push_back(&digits[i]);
    batches.push_back(batch_of(chosen));
  }
  if (!batches.empty()) return batches;
  throw ValueError(
      fmt::format("there are {} test digits, fewer than {}", digits.size(), kTestBatch));
}

}  // namespace towerflow::models::batch_norm

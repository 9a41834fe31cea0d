#include "dataset/parallel_map.h"

#include <algorithm>
#include <optional>
#include <thread>

#include "core/graph/error.h"
#include "dataset/ahead.h"
#include "dataset/dataset.h"
#include "dataset/rows.h"

namespace towerflow::data {
namespace {

class ParallelMapIterator final : public DatasetIterator {
 public:
  ParallelMapIterator(std::unique_ptr<DatasetIterator> input,
                      std::shared_ptr<DatasetFunction> function, std::vector<Array> captured,
                      std::size_t threads, IteratorContext& context)
      : input_(std::move(input)),
        function_(std::move(function)),
        captured_(std::move(captured)),
        threads_(threads),
        context_(context),
        ahead_(threads, context) {}
  ~ParallelMapIterator() override { ahead_.stop(); }

  bool next(ElementValue& element, const Pull& pull) override {
    ahead_.start(threads_, [this] { compute(); });
    return ahead_.take(element, pull);
  }
  std::uint64_t skip(std::uint64_t count, const Pull& pull) override {
    return ahead_.started() ? DatasetIterator::skip(count, pull) : input_->skip(count, pull);
  }

 private:
  void compute() {
    std::optional<FunctionCall> function;
    while (true) {
      ElementsAhead::Place* place = nullptr;
      {
        // Elements are read in the order of their places.
        std::lock_guard lock(input_mutex_);
        place = ahead_.reserve();
        if (place == nullptr) return;
        try {
          place->end = !input_->next(place->element, {ahead_.cancellation()});
        } catch (...) {
          place->error = std::current_exception();
        }
        if (place->end || place->error) {
          ahead_.fill(*place);
          continue;
        }
      }
      try {
        if (!function) function.emplace(function_, context_, captured_);
        const std::span<const Array> results = (*function)(place->element);
        place->element.assign(results.begin(), results.end());
      } catch (...) {
        place->error = std::current_exception();
      }
      ahead_.fill(*place);
    }
  }

  std::unique_ptr<DatasetIterator> input_;
  std::shared_ptr<DatasetFunction> function_;
  std::vector<Array> captured_;
  std::size_t threads_;
  IteratorContext& context_;
  std::mutex input_mutex_;
  ElementsAhead ahead_;
};

}  // namespace

std::int64_t checked_parallel_calls(const Array& value) {
  const std::int64_t calls = integer_argument(value, "num_parallel_calls");
  if (calls == AUTOTUNE) return std::max(1U, std::thread::hardware_concurrency());
  if (calls <= 0) {
    throw errors::InvalidArgumentError("num_parallel_calls must be greater than zero.");
  }
  return calls;
}

std::unique_ptr<DatasetIterator> parallel_map(std::unique_ptr<DatasetIterator> input,
                                              std::shared_ptr<DatasetFunction> function,
                                              std::vector<Array> captured, std::int64_t threads,
                                              IteratorContext& context) {
  return std::make_unique<ParallelMapIterator>(std::move(input), std::move(function),
                                               std::move(captured),
                                               static_cast<std::size_t>(threads), context);
}

}  // namespace towerflow::data

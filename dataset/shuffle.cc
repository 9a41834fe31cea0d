
#include <algorithm>
#include <limits>
#include <mutex>
#include <optional>
#include <utility>

#include "core/graph/error.h"
#include "core/graph/scopes.h"
#include "dataset/definition.h"
#include "dataset/rows.h"
#include "dataset/shuffle_seeds.h"
#include "ops/array/select.h"
#include "ops/math/binary.h"
#include "ops/random/philox.h"

namespace towerflow::data {
namespace {

/// Gives each pass its seeds. Shared by the passes of one instance, as in TensorFlow.
class PassSeeds {
 public:
  PassSeeds(ShuffleSeeds seeds, bool reshuffle)
      : seeds_(seeds), words_(seeds.generator()), reshuffle_(reshuffle) {}
  ShuffleSeeds next() {
    if (!reshuffle_) return seeds_;
    std::lock_guard lock(mutex_);
    const std::uint32_t seed = words_();
    return {seed, words_()};
  }

 private:
  std::mutex mutex_;
  ShuffleSeeds seeds_;
  random::PhiloxWords words_;
  bool reshuffle_;
};

/// Draws each element from a ring of the next ones. An element that is drawn leaves its place to
/// the oldest, as in TensorFlow, which decides the order for a seed.
class ShuffleIterator final : public DatasetIterator {
 public:
  ShuffleIterator(std::unique_ptr<DatasetIterator> input, std::uint64_t size, ShuffleSeeds seeds)
      : input_(std::move(input)), size_(size), words_(seeds.generator()) {}
  bool next(ElementValue& element, const Pull& pull) override {
    while (!ended_ && end_ - start_ < size_) {
      ElementValue read;
      if (!input_->next(read, pull)) {
        ended_ = true;
        break;
      }
      const std::uint64_t place = end_ % size_;
      if (place < ring_.size())
        ring_[place] = std::move(read);
      else
        ring_.push_back(std::move(read));
      ++end_;
    }
    if (start_ == end_) return false;
    const std::uint64_t drawn = (start_ + words_() % (end_ - start_)) % size_;
    element = std::move(ring_[drawn]);
    std::swap(ring_[drawn], ring_[start_ % size_]);
    ++start_;
    return true;
  }

 private:
  std::unique_ptr<DatasetIterator> input_;
  std::uint64_t size_;
  random::PhiloxWords words_;
  std::vector<ElementValue> ring_;
  std::uint64_t start_ = 0, end_ = 0;  // of the elements in the ring, counted over the whole pass
  bool ended_ = false;
};

DatasetInstance shuffled_instance(const DatasetInstance& input, const Array& buffer_size,
                                  ShuffleSeeds seeds, bool reshuffle) {
  const std::int64_t size = integer_argument(buffer_size, "buffer_size");
  if (size == 0 || size < -1) {
    throw errors::InvalidArgumentError(
        "buffer_size must be greater than zero or UNKNOWN_CARDINALITY");
  }
  // -1: all elements.
  const auto places =
      size < 0 ? std::numeric_limits<std::uint64_t>::max() / 2 : static_cast<std::uint64_t>(size);
  const auto passes = std::make_shared<PassSeeds>(seeds, reshuffle);
  return [=](IteratorContext& context) {
    return std::make_unique<ShuffleIterator>(input(context), places, passes->next());
  };
}

}  // namespace

std::array<Tensor, 2> shuffle_seed_tensors(std::optional<std::int64_t> seed, Site site) {
  Graph& graph = get_default_graph();
  const bool seeded = seed || graph.seed;
  const random::Seeds seeds = random::get_seed(graph.seed, seed, graph.next_op_seed);
  const Tensor first = dataset_argument(Operand(seeds.seed, site), "seed", DType::int64);
  if (!seeded) {
    return {first, dataset_argument(Operand(seeds.seed2, site), "seed2", DType::int64)};
  }
  // Replaces (0, 0), which would mean no seed, as TensorFlow does.
  const NameScope scope(graph, "seed2", site);
  const Tensor second = dataset_argument(Operand(seeds.seed2, site), "Const", DType::int64);
  const Tensor no_first = equal(first, Operand(0, site), {}, site);
  const Tensor no_second = equal(second, Operand(0, site), {}, site);
  const Tensor neither = logical_and(no_first, no_second, {}, site);
  const Tensor other =
      dataset_argument(Operand((std::int64_t{1} << 31) - 1, site), "Const", DType::int64);
  return {first, where_v2(neither, other, second, {.name = scope.name()}, site)};
}

ShuffleSeeds::ShuffleSeeds(const Array& first, const Array& second)
    : ShuffleSeeds(static_cast<std::uint64_t>(integer_argument(first, "seed")),
                   static_cast<std::uint64_t>(integer_argument(second, "seed2"))) {
  if (seed != 0 || seed2 != 0) return;
  random::GuardedPhilox unseeded(0, 0);
  random::PhiloxWords words(unseeded.reserve_words(4));
  seed = words();
  seed2 = words();
}

Dataset shuffled_dataset(const Dataset& input, const Tensor& buffer_size, ShuffleOptions options,
                         Site site) {
  const auto [seed, seed2] = shuffle_seed_tensors(options.seed, site);
  return make_dataset({.op = "ShuffleDataset",
                       .inputs = {input},
                       .arguments = {buffer_size, seed, seed2},
                       .element = input.element_spec(),
                       .instantiate =
                           [reshuffle = options.reshuffle_each_iteration](
                               const auto& inputs, const std::vector<Array>& arguments) {
                             return shuffled_instance(inputs[0], arguments[0],
                                                      {arguments[1], arguments[2]}, reshuffle);
                           },
                       .site = site,
                       .scalars = 1});
}

Dataset Dataset::shuffle(const ScalarOperand& buffer_size, ShuffleOptions options,
                         Site site) const {
  const Tensor size = dataset_argument(buffer_size, "buffer_size", DType::int64);
  return shuffled_dataset(*this, size, options, site);
}

}  // namespace towerflow::data

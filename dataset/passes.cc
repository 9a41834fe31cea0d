// Datasets that choose among the elements of others: repeat, take, skip, shard, concatenate.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "core/graph/error.h"
#include "dataset/definition.h"
#include "dataset/rows.h"

namespace towerflow::data {
namespace {

class RepeatIterator final : public DatasetIterator {
 public:
  RepeatIterator(DatasetInstance input, std::int64_t count, IteratorContext& context)
      : input_(std::move(input)), count_(count), context_(context) {}
  bool next(ElementValue& element, const Pull& pull) override {
    while (begin_pass()) {
      if (pass_->next(element, pull)) {
        found_ = true;
        return true;
      }
      end_pass();
    }
    return false;
  }
  std::uint64_t skip(std::uint64_t count, const Pull& pull) override {
    std::uint64_t skipped = 0;
    while (skipped < count && begin_pass()) {
      const std::uint64_t here = pass_->skip(count - skipped, pull);
      skipped += here;
      found_ = found_ || here > 0;
      if (skipped < count) end_pass();
    }
    return skipped;
  }

 private:
  /// Returns false at the end.
  bool begin_pass() {
    if (ended_ || (count_ >= 0 && passes_ >= count_)) return false;
    if (pass_ == nullptr) {
      pass_ = input_(context_);
      found_ = false;
    }
    return true;
  }
  void end_pass() {
    pass_ = nullptr;
    ++passes_;
    if (count_ < 0 && !found_) ended_ = true;  // an empty dataset without end is empty
  }

  DatasetInstance input_;
  std::int64_t count_;  // below 0: without end
  IteratorContext& context_;
  std::unique_ptr<DatasetIterator> pass_;
  std::int64_t passes_ = 0;
  bool found_ = false;  // an element in this pass
  bool ended_ = false;
};

class TakeIterator final : public DatasetIterator {
 public:
  TakeIterator(std::unique_ptr<DatasetIterator> input, std::uint64_t count)
      : input_(std::move(input)), left_(count) {}
  bool next(ElementValue& element, const Pull& pull) override {
    if (left_ == 0 || !input_->next(element, pull)) return false;
    --left_;
    return true;
  }
  std::uint64_t skip(std::uint64_t count, const Pull& pull) override {
    const std::uint64_t skipped = input_->skip(std::min(count, left_), pull);
    left_ -= skipped;
    return skipped;
  }

 private:
  std::unique_ptr<DatasetIterator> input_;
  std::uint64_t left_;
};

/// Leaves out `first` elements, then all but each `step`-th one.
class StepIterator final : public DatasetIterator {
 public:
  StepIterator(std::unique_ptr<DatasetIterator> input, std::uint64_t first, std::uint64_t step)
      : input_(std::move(input)), gap_(first), step_(step) {}
  bool next(ElementValue& element, const Pull& pull) override {
    if (!pass_gap(pull) || !input_->next(element, pull)) return false;
    gap_ = step_ - 1;
    return true;
  }

 private:
  /// Returns false at the end.
  bool pass_gap(const Pull& pull) {
    if (gap_ == 0) return true;
    constexpr std::uint64_t kAtOnce = 1024;  // so that a cancelled call forgets little
    while (gap_ > 0) {
      pull.check();
      const std::uint64_t wanted = std::min(gap_, kAtOnce);
      const std::uint64_t skipped = input_->skip(wanted, pull);
      gap_ -= skipped;
      if (skipped < wanted) return false;
    }
    return true;
  }

  std::unique_ptr<DatasetIterator> input_;
  std::uint64_t gap_;  // elements to leave out before the next one
  std::uint64_t step_;
};

class ConcatenateIterator final : public DatasetIterator {
 public:
  ConcatenateIterator(std::unique_ptr<DatasetIterator> input, DatasetInstance second,
                      IteratorContext& context)
      : input_(std::move(input)), second_(std::move(second)), context_(context) {}
  bool next(ElementValue& element, const Pull& pull) override {
    if (input_->next(element, pull)) return true;
    return begin_second() && input_->next(element, pull);
  }
  std::uint64_t skip(std::uint64_t count, const Pull& pull) override {
    const std::uint64_t skipped = input_->skip(count, pull);
    if (skipped == count || !begin_second()) return skipped;
    return skipped + input_->skip(count - skipped, pull);
  }

 private:
  bool begin_second() {
    if (second_ == nullptr) return false;
    input_ = second_(context_);
    second_ = nullptr;
    return true;
  }

  std::unique_ptr<DatasetIterator> input_;
  DatasetInstance second_;
  IteratorContext& context_;
};

class NoElements final : public DatasetIterator {
 public:
  bool next(ElementValue&, const Pull&) override { return false; }
};

/// Makes the node of a dataset with one input and a count.
Dataset counted_dataset(const char* op, const Dataset& input, const ScalarOperand& count,
                        std::function<DatasetInstance(DatasetInstance, std::int64_t)> make,
                        Site site) {
  const Tensor argument = dataset_argument(count, "count", DType::int64);
  return make_dataset({.op = op,
                       .inputs = {input},
                       .arguments = {argument},
                       .element = input.element_spec(),
                       .instantiate =
                           [make](const auto& inputs, const std::vector<Array>& arguments) {
                             return make(inputs[0], integer_argument(arguments[0], "count"));
                           },
                       .site = site,
                       .scalars = 1});
}

}  // namespace

Dataset Dataset::repeat(const ScalarOperand& count, Site site) const {
  return counted_dataset(
      "RepeatDataset", *this, count,
      [](DatasetInstance input, std::int64_t times) -> DatasetInstance {
        return [input, times](IteratorContext& context) {
          return std::make_unique<RepeatIterator>(input, times, context);
        };
      },
      site);
}

Dataset Dataset::take(const ScalarOperand& count, Site site) const {
  return counted_dataset(
      "TakeDataset", *this, count,
      [](DatasetInstance input, std::int64_t taken) -> DatasetInstance {
        if (taken < 0) return input;
        return [input, taken](IteratorContext& context) {
          return std::make_unique<TakeIterator>(input(context), static_cast<std::uint64_t>(taken));
        };
      },
      site);
}

Dataset Dataset::skip(const ScalarOperand& count, Site site) const {
  return counted_dataset(
      "SkipDataset", *this, count,
      [](DatasetInstance input, std::int64_t skipped) -> DatasetInstance {
        if (skipped < 0) {
          return [](IteratorContext&) { return std::make_unique<NoElements>(); };
        }
        return [input, skipped](IteratorContext& context) {
          return std::make_unique<StepIterator>(input(context), static_cast<std::uint64_t>(skipped),
                                                1);
        };
      },
      site);
}

Dataset Dataset::shard(const ScalarOperand& num_shards, const ScalarOperand& index,
                       Site site) const {
  const Tensor count = dataset_argument(num_shards, "num_shards", DType::int64);
  const Tensor which = dataset_argument(index, "index", DType::int64);
  return make_dataset(
      {.op = "ShardDataset",
       .inputs = {*this},
       .arguments = {count, which},
       .element = element_spec(),
       .instantiate = [](const auto& inputs,
                         const std::vector<Array>& arguments) -> DatasetInstance {
         const std::int64_t shards = integer_argument(arguments[0], "num_shards");
         const std::int64_t own = integer_argument(arguments[1], "index");
         if (shards <= 0) {
           throw errors::InvalidArgumentError(fmt::format(
               "Number of shards must be greater than zero (currently num_shards = {}).", shards));
         }
         if (own < 0 || own >= shards) {
           throw errors::InvalidArgumentError(fmt::format(
               "Index must be between 0 and {} (currently index = {}).", shards - 1, own));
         }
         return [input = inputs[0], shards, own](IteratorContext& context) {
           return std::make_unique<StepIterator>(input(context), static_cast<std::uint64_t>(own),
                                                 static_cast<std::uint64_t>(shards));
         };
       },
       .site = site,
       .scalars = 2});
}

Dataset Dataset::concatenate(const Dataset& dataset, Site site) const {
  ElementSpec spec = element_spec();
  const ElementSpec& other = dataset.element_spec();
  if (spec.structure != other.structure || spec.dtypes != other.dtypes) {
    throw TypeError(
        fmt::format("Incompatible dataset elements: {} vs. {}", spec.text(), other.text()),
        {.site = site});
  }
  for (std::size_t i = 0; i < spec.shapes.size(); ++i) {
    const Shape &a = spec.shapes[i], &b = other.shapes[i];
    if (!a.has_rank() || !b.has_rank() || a.rank() != b.rank()) {
      spec.shapes[i] = Shape::unknown();
      continue;
    }
    std::vector<Dim> dims;
    for (std::size_t axis = 0; axis < a.rank(); ++axis) {
      dims.push_back(a[axis] == b[axis] ? a[axis] : None);
    }
    spec.shapes[i] = Shape(std::move(dims));
  }
  return make_dataset({.op = "ConcatenateDataset",
                       .inputs = {*this, dataset},
                       .element = std::move(spec),
                       .instantiate = [](const auto& inputs, const auto&) -> DatasetInstance {
                         return [first = inputs[0], second = inputs[1]](IteratorContext& context) {
                           return std::make_unique<ConcatenateIterator>(first(context), second,
                                                                        context);
                         };
                       },
                       .site = site});
}

}  // namespace towerflow::data

#include "dataset/interleave.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "core/graph/error.h"
#include "dataset/definition.h"
#include "dataset/parallel_map.h"
#include "dataset/rows.h"

namespace towerflow::data {
namespace {

class FlatMapIterator final : public DatasetIterator {
 public:
  FlatMapIterator(std::unique_ptr<DatasetIterator> input, OpenInner open)
      : input_(std::move(input)), open_(std::move(open)) {}
  bool next(ElementValue& element, const Pull& pull) override {
    while (open_next(pull)) {
      if (inner_->next(element, pull)) return true;
      inner_ = nullptr;
    }
    return false;
  }
  std::uint64_t skip(std::uint64_t count, const Pull& pull) override {
    std::uint64_t skipped = 0;
    while (skipped < count && open_next(pull)) {
      skipped += inner_->skip(count - skipped, pull);
      if (skipped < count) inner_ = nullptr;
    }
    return skipped;
  }

 private:
  /// Returns false at the end.
  bool open_next(const Pull& pull) {
    if (inner_ != nullptr) return true;
    pull.check();
    ElementValue outer;
    if (!input_->next(outer, pull)) return false;
    inner_ = open_(outer);
    return true;
  }

  std::unique_ptr<DatasetIterator> input_;
  OpenInner open_;
  std::unique_ptr<DatasetIterator> inner_;
};

class InterleaveIterator final : public DatasetIterator {
 public:
  InterleaveIterator(std::unique_ptr<DatasetIterator> input, OpenInner open, InterleaveOrder order)
      : input_(std::move(input)),
        open_(std::move(open)),
        order_(order),
        cycle_(order.cycle_length) {}
  bool next(ElementValue& element, const Pull& pull) override {
    while (!ended_ || open_count_ > 0) {
      auto& inner = cycle_[at_];
      if (inner != nullptr) {
        if (inner->next(element, pull)) {
          if (++in_block_ == order_.block_length) go_on();
          return true;
        }
        inner = nullptr;
        --open_count_;
        go_on();
      } else if (!ended_) {
        pull.check();
        ElementValue outer;
        ended_ = !input_->next(outer, pull);
        if (!ended_) {
          inner = open_(outer);
          ++open_count_;
        }
      } else {
        go_on();
      }
    }
    return false;
  }

 private:
  void go_on() {
    in_block_ = 0;
    at_ = (at_ + 1) % cycle_.size();
  }

  std::unique_ptr<DatasetIterator> input_;
  OpenInner open_;
  InterleaveOrder order_;
  std::vector<std::unique_ptr<DatasetIterator>> cycle_;
  std::size_t at_ = 0;
  std::size_t in_block_ = 0;  // elements taken from this dataset in this turn
  std::size_t open_count_ = 0;
  bool ended_ = false;  // the input
};

/// A function that returns a dataset: computes the arguments of the dataset for an element.
struct InnerDataset {
  std::shared_ptr<DatasetFunction> function;
  std::shared_ptr<DatasetProgram> program;
  ElementSpec element;

  InnerDataset(const ElementSpec& outer, const std::function<Dataset(const Element&)>& body,
               Site site) {
    function = std::make_shared<DatasetFunction>(
        outer,
        [&](const Element& argument) {
          const Dataset made = body(argument);
          element = made.element_spec();
          program = std::make_shared<DatasetProgram>(captured_definition(made.definition()));
          return program->tensors();
        },
        site);
  }

  OpenInner open(IteratorContext& context, const std::vector<Array>& captured) const {
    // Without arguments to compute nothing is run.
    std::shared_ptr<FunctionCall> call;
    if (!program->tensors().empty()) {
      call = std::make_shared<FunctionCall>(function, context, captured);
    }
    return [call, made = program, &context](ElementValue& outer) {
      std::vector<Array> values;
      if (call != nullptr) {
        const std::span<const Array> results = (*call)(outer);
        values.assign(results.begin(), results.end());
      }
      return made->instantiate(values)(context);
    };
  }
};

std::size_t checked_length(std::int64_t length, const char* name) {
  if (length == -1) return std::max(1U, std::thread::hardware_concurrency());
  if (length <= 0) {
    throw errors::InvalidArgumentError(fmt::format("`{}` must be > 0", name));
  }
  return static_cast<std::size_t>(length);
}

}  // namespace

std::unique_ptr<DatasetIterator> flat_map_iterator(std::unique_ptr<DatasetIterator> input,
                                                   OpenInner open) {
  return std::make_unique<FlatMapIterator>(std::move(input), std::move(open));
}

std::unique_ptr<DatasetIterator> interleave_iterator(std::unique_ptr<DatasetIterator> input,
                                                     OpenInner open, InterleaveOrder order) {
  return std::make_unique<InterleaveIterator>(std::move(input), std::move(open), order);
}

Dataset Dataset::flat_map_elements(const DatasetFunctionBody& function, Site site) const {
  const auto inner = std::make_shared<InnerDataset>(element_spec(), function, site);
  return make_dataset(
      {.op = "FlatMapDataset",
       .inputs = {*this},
       .arguments = inner->function->captured(),
       .element = inner->element,
       .instantiate = [inner](const auto& inputs,
                              const std::vector<Array>& captured) -> DatasetInstance {
         return [=, input = inputs[0]](IteratorContext& context) {
           return flat_map_iterator(input(context), inner->open(context, captured));
         };
       },
       .site = site});
}

Dataset Dataset::interleave_elements(const DatasetFunctionBody& function, InterleaveOptions options,
                                     Site site) const {
  const auto inner = std::make_shared<InnerDataset>(element_spec(), function, site);
  std::vector<Tensor> arguments = inner->function->captured();
  const std::size_t captured_count = arguments.size();
  const auto add = [&](std::int64_t value, const char* name) {
    arguments.push_back(dataset_argument(Operand(value, site), name, DType::int64));
  };
  add(options.cycle_length, "cycle_length");
  add(options.block_length, "block_length");
  const bool parallel = options.num_parallel_calls.has_value();
  if (parallel) {
    add(AUTOTUNE, "buffer_output_elements");
    add(AUTOTUNE, "prefetch_input_elements");
    add(*options.num_parallel_calls, "num_parallel_calls");
  }
  return make_dataset(
      {.op = parallel ? "ParallelInterleaveDatasetV4" : "InterleaveDataset",
       .inputs = {*this},
       .arguments = arguments,
       .element = inner->element,
       .instantiate = [inner, captured_count, parallel](
                          const auto& inputs, const std::vector<Array>& values) -> DatasetInstance {
         const std::vector<Array> captured(
             values.begin(), values.begin() + static_cast<std::ptrdiff_t>(captured_count));
         InterleaveOrder order;
         order.cycle_length = checked_length(
             integer_argument(values[captured_count], "cycle_length"), "cycle_length");
         const std::int64_t block = integer_argument(values[captured_count + 1], "block_length");
         order.block_length = checked_length(block == -1 ? 0 : block, "block_length");
         if (parallel) checked_parallel_calls(values.back());
         return [=, input = inputs[0]](IteratorContext& context) {
           return interleave_iterator(input(context), inner->open(context, captured), order);
         };
       },
       .site = site});
}

}  // namespace towerflow::data

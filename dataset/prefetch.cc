#include <optional>

#include "core/graph/error.h"
#include "core/graph/scopes.h"
#include "dataset/ahead.h"
#include "dataset/definition.h"
#include "dataset/rows.h"

namespace towerflow::data {
namespace {

constexpr std::size_t kAutomaticPrefetch = 2;  // elements; usually batches

class PrefetchIterator final : public DatasetIterator {
 public:
  PrefetchIterator(std::unique_ptr<DatasetIterator> input, std::size_t size,
                   IteratorContext& context)
      : input_(std::move(input)), ahead_(size, context) {}
  ~PrefetchIterator() override { ahead_.stop(); }

  bool next(ElementValue& element, const Pull& pull) override {
    ahead_.start(1, [this] { read(); });
    return ahead_.take(element, pull);
  }
  std::uint64_t skip(std::uint64_t count, const Pull& pull) override {
    return ahead_.started() ? DatasetIterator::skip(count, pull) : input_->skip(count, pull);
  }

 private:
  void read() {
    while (ElementsAhead::Place* place = ahead_.reserve()) {
      try {
        place->end = !input_->next(place->element, {ahead_.cancellation()});
      } catch (...) {
        place->error = std::current_exception();
      }
      ahead_.fill(*place);
    }
  }

  std::unique_ptr<DatasetIterator> input_;
  ElementsAhead ahead_;
};

}  // namespace

Dataset Dataset::prefetch(const ScalarOperand& buffer_size, Site site) const {
  const Tensor argument = dataset_argument(buffer_size, "buffer_size", DType::int64);
  std::optional<ColocationScope> beside;
  const Tensor& handle = definition()->handle;
  if (&handle.graph() == &get_default_graph()) {
    beside.emplace(handle.graph(), &handle.node(), false, site);
  }
  return make_dataset(
      {.op = "PrefetchDataset",
       .inputs = {*this},
       .arguments = {argument},
       .element = element_spec(),
       .instantiate = [](const auto& inputs,
                         const std::vector<Array>& arguments) -> DatasetInstance {
         const std::int64_t size = integer_argument(arguments[0], "buffer_size");
         if (size < AUTOTUNE) {
           throw errors::InvalidArgumentError(
               "buffer_size must be >= 0 or set buffer_size to be tf::data::AUTOTUNE for "
               "auto-tuning");
         }
         if (size == 0) return inputs[0];
         const std::size_t places =
             size == AUTOTUNE ? kAutomaticPrefetch : static_cast<std::size_t>(size);
         return [input = inputs[0], places](IteratorContext& context) {
           return std::make_unique<PrefetchIterator>(input(context), places, context);
         };
       },
       .site = site,
       .scalars = 1});
}

}  // namespace towerflow::data


#include <algorithm>
#include <memory>
#include <mutex>
#include <vector>

#include "core/graph/error.h"
#include "dataset/definition.h"

namespace towerflow::data {
namespace {

/// The elements of a whole pass, shared by the passes of one instance.
struct Kept {
  std::mutex mutex;
  std::shared_ptr<const std::vector<ElementValue>> elements;  // nullptr before the first pass ended
};

/// Reads the input and keeps its elements.
class FillingIterator final : public DatasetIterator {
 public:
  FillingIterator(std::unique_ptr<DatasetIterator> input, std::shared_ptr<Kept> kept)
      : input_(std::move(input)), kept_(std::move(kept)) {}
  bool next(ElementValue& element, const Pull& pull) override {
    if (input_ == nullptr) return false;
    if (input_->next(element, pull)) {
      elements_.push_back(element);
      return true;
    }
    input_ = nullptr;
    std::lock_guard lock(kept_->mutex);
    if (kept_->elements == nullptr) {
      kept_->elements = std::make_shared<const std::vector<ElementValue>>(std::move(elements_));
    }
    return false;
  }

 private:
  std::unique_ptr<DatasetIterator> input_;
  std::shared_ptr<Kept> kept_;
  std::vector<ElementValue> elements_;
};

class KeptIterator final : public DatasetIterator {
 public:
  explicit KeptIterator(std::shared_ptr<const std::vector<ElementValue>> elements)
      : elements_(std::move(elements)) {}
  bool next(ElementValue& element, const Pull&) override {
    if (at_ == elements_->size()) return false;
    element = (*elements_)[at_++];
    return true;
  }
  std::uint64_t skip(std::uint64_t count, const Pull&) override {
    const std::uint64_t skipped = std::min<std::uint64_t>(count, elements_->size() - at_);
    at_ += skipped;
    return skipped;
  }

 private:
  std::shared_ptr<const std::vector<ElementValue>> elements_;
  std::size_t at_ = 0;
};

}  // namespace

Dataset Dataset::cache(Site site) const {
  const Tensor filename = dataset_argument(Operand("", site), "filename", DType::string);
  return make_dataset({.op = "CacheDataset",
                       .inputs = {*this},
                       .arguments = {filename},
                       .element = element_spec(),
                       .instantiate = [](const auto& inputs, const auto&) -> DatasetInstance {
                         return [input = inputs[0], kept = std::make_shared<Kept>()](
                                    IteratorContext& context) -> std::unique_ptr<DatasetIterator> {
                           std::lock_guard lock(kept->mutex);
                           if (kept->elements != nullptr)
                             return std::make_unique<KeptIterator>(kept->elements);
                           return std::make_unique<FillingIterator>(input(context), kept);
                         };
                       },
                       .site = site});
}

}  // namespace towerflow::data

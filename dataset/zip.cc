
#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "core/graph/error.h"
#include "core/graph/scopes.h"
#include "dataset/definition.h"

namespace towerflow::data {
namespace {

class ZipIterator final : public DatasetIterator {
 public:
  explicit ZipIterator(std::vector<std::unique_ptr<DatasetIterator>> inputs)
      : inputs_(std::move(inputs)) {}
  bool next(ElementValue& element, const Pull& pull) override {
    ElementValue part;
    for (; at_ < inputs_.size(); ++at_) {
      try {
        if (!inputs_[at_]->next(part, pull)) return false;
      } catch (const errors::CancelledError&) {
        throw;  // the next call goes on with this input
      } catch (...) {
        ++at_;  // the element is lost, those of the other inputs too
        drop_rest(pull);
        throw;
      }
      std::move(part.begin(), part.end(), std::back_inserter(parts_));
    }
    element = std::exchange(parts_, {});
    at_ = 0;
    return true;
  }
  std::uint64_t skip(std::uint64_t count, const Pull& pull) override {
    for (const auto& input : inputs_) count = std::min(count, input->skip(count, pull));
    return count;
  }

 private:
  void drop_rest(const Pull& pull) {
    for (; at_ < inputs_.size(); ++at_) inputs_[at_]->skip(1, pull);
    parts_.clear();
    at_ = 0;
  }

  std::vector<std::unique_ptr<DatasetIterator>> inputs_;
  ElementValue parts_;  // of inputs before `at_`
  std::size_t at_ = 0;
};

Dataset zipped(const std::vector<Dataset>& datasets, Structure structure, Site site) {
  ElementSpec spec{std::move(structure), {}, {}};
  for (const Dataset& dataset : datasets) {
    const ElementSpec& part = dataset.element_spec();
    spec.structure.parts.push_back(part.structure);
    spec.dtypes.insert(spec.dtypes.end(), part.dtypes.begin(), part.dtypes.end());
    spec.shapes.insert(spec.shapes.end(), part.shapes.begin(), part.shapes.end());
  }
  return make_dataset({.op = "ZipDataset",
                       .inputs = datasets,
                       .element = std::move(spec),
                       .instantiate = [](const std::vector<DatasetInstance>& inputs,
                                         const auto&) -> DatasetInstance {
                         return [inputs](IteratorContext& context) {
                           std::vector<std::unique_ptr<DatasetIterator>> iterators;
                           for (const DatasetInstance& input : inputs)
                             iterators.push_back(input(context));
                           return std::make_unique<ZipIterator>(std::move(iterators));
                         };
                       },
                       .site = site});
}

/// Adds the node that tells TensorFlow how to distribute the numbers of `enumerate`.
Dataset replicated_on_split(const Dataset& numbers, Site site) {
  const NameScope scope(get_default_graph(), "RewriteDataset", site);
  const Tensor rewrite =
      dataset_argument(Operand("replicate_on_split", site), "rewrite_name", DType::string);
  return make_dataset({.op = "RewriteDataset",
                       .inputs = {numbers},
                       .arguments = {rewrite},
                       .element = numbers.element_spec(),
                       .instantiate = [](const auto& inputs, const auto&) { return inputs[0]; },
                       .site = site,
                       .name = scope.name()});
}

}  // namespace

Dataset Dataset::zip(const std::vector<Dataset>& datasets, Site site) {
  return zipped(datasets, {.kind = Structure::Kind::tuple}, site);
}

Dataset Dataset::zip(const std::map<std::string, Dataset>& datasets, Site site) {
  std::vector<Dataset> list;
  Structure structure{.kind = Structure::Kind::dict};
  for (const auto& [key, dataset] : datasets) {
    structure.keys.push_back(key);
    list.push_back(dataset);
  }
  return zipped(list, std::move(structure), site);
}

Dataset Dataset::enumerate(const ScalarOperand& start, Site site) const {
  const Dataset numbers =
      range(start, ScalarOperand(std::numeric_limits<std::int64_t>::max(), site), site);
  return zip({replicated_on_split(numbers, site), *this}, site);
}

}  // namespace towerflow::data

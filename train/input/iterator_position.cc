#include "train/input/iterator_position.h"

#include <fmt/format.h>

#include "core/graph/op_builder.h"

namespace towerflow::train {
namespace {

class IteratorSaveable final : public SaveableObject {
 public:
  IteratorSaveable(const std::string& name, Tensor iterator, const Tensor& taken)
      : SaveableObject(name, {{taken, name + "/taken"}}), iterator_(iterator) {}

  Operation restore(const std::vector<Tensor>& restored, Site site) const override {
    OpBuilder builder("_SetIteratorPosition", "", "set_iterator_position", site, {});
    builder.input(iterator_, "iterator");
    builder.inputs(restored, "position");
    return builder.build();
  }

 private:
  Tensor iterator_;
};

}  // namespace

Saveable make_saveable_from_iterator(const data::Iterator& iterator, Site site) {
  const Tensor& resource = iterator.resource();
  OpBuilder builder("_IteratorPosition", "", "iterator_position", site, {});
  const Tensor taken = builder.input(resource, "iterator").output();
  return std::make_shared<IteratorSaveable>("_input/" + resource.op().name(), resource, taken);
}

}  // namespace towerflow::train

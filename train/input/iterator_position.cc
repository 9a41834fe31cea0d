#include "train/input/iterator_position.h"

#include <fmt/format.h>

#include <utility>

#include "core/graph/op_builder.h"
#include "ops/array/constant.h"

namespace towerflow::train {
namespace {

class IteratorSaveable final : public SaveableObject {
 public:
  IteratorSaveable(const std::string& name, Tensor iterator, std::vector<SaveSpec> specs)
      : SaveableObject(name, std::move(specs)), iterator_(iterator) {}

  Operation restore(const std::vector<Tensor>& restored, Site site) const override {
    OpBuilder builder("_SetIteratorPosition", "", "set_iterator_position", site, {});
    builder.input(iterator_, "iterator");
    builder.inputs({restored[0]}, "position");
    return builder.build();
  }

 private:
  Tensor iterator_;
};

}  // namespace

Saveable make_saveable_from_iterator(const data::Iterator& iterator,
                                     IteratorPositionOptions options, Site site) {
  const Tensor& resource = iterator.resource();
  OpBuilder builder("_IteratorPosition", "", "iterator_position", site, {});
  const Tensor taken = builder.input(resource, "iterator").output();
  const std::string name = "_input/" + resource.op().name();
  std::vector<SaveSpec> specs{{taken, name + "/taken"}};
  if (!options.input.empty()) {
    const Tensor input = constant(Operand(options.input, site), {.name = "position_input"}, site);
    specs.push_back({input, name + "/input"});
  }
  return std::make_shared<IteratorSaveable>(name, resource, std::move(specs));
}

}  // namespace towerflow::train

#include "layers/layer.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/graph/op_builder.h"
#include "ops/array/cast.h"
#include "ops/array/indexed_slices.h"
#include "ops/array/operands.h"
#include "ops/array/shape_of.h"
#include "ops/array/strided_slice.h"
#include "ops/math/binary.h"

namespace towerflow::layers {
namespace {

/// The numbers of layers of each class in a graph, for their names.
struct LayerNumbers {
  std::map<std::string, int> last;
};

std::string numbered_layer_name(const std::string& class_name) {
  const int number = ++get_default_graph().extension<LayerNumbers>().last[class_name];
  return fmt::format("{}_{}", class_name, number);
}

template <class T>
void add_object_once(const std::string& key, const T& object) {
  for (const CollectionItem& item : get_collection_ref(key)) {
    const T* same = std::any_cast<T>(&item.value);
    if (same != nullptr && *same == object) return;
  }
  add_to_collection(key, object);
}

/// Returns whether a variable, or the first part of a partitioned one, is in a list.
bool lists_variable(const std::vector<Variable>& list, const Variable& variable) {
  const Variable& sought = variable.partitioned() ? variable.parts().front() : variable;
  return std::find(list.begin(), list.end(), sought) != list.end();
}

}  // namespace

void add_to_collection_once(const std::string& key, const Operation& operation) {
  add_object_once(key, operation);
}

void add_to_collection_once(const std::string& key, const Tensor& tensor) {
  add_object_once(key, tensor);
}

}  // namespace towerflow::layers

namespace towerflow::layers::types {

void InputSpec::check(const Tensor& input, const std::string& layer, Site site) const {
  const Shape& shape = input.shape();
  if (!shape.has_rank()) return;
  const auto refuse = [&](const std::string& what) {
    throw ValueError(
        fmt::format("Input 0 of layer \"{}\" is incompatible with the layer: {}. Full shape "
                    "received: {}",
                    layer, what, shape.text()),
        {.site = site, .node = input.op().name(), .op = layer});
  };
  if (ndim && shape.rank() != *ndim) {
    refuse(fmt::format("expected ndim={}, found ndim={}", *ndim, shape.rank()));
  }
  if (min_ndim && shape.rank() < *min_ndim) {
    refuse(fmt::format("expected min_ndim={}, found ndim={}", *min_ndim, shape.rank()));
  }
  for (const auto& [axis, size] : axes) {
    const Dim dim = shape[axis];
    if (dim.known() && dim.size() != size) {
      refuse(fmt::format("expected axis {} of input shape to have value {}", axis, size));
    }
  }
}

LayerBody::LayerBody(std::string class_name, LayerOptions options, Site site)
    : name_(options.name),
      base_name_(options.name.empty() ? class_name : options.name),
      options_(std::move(options)),
      dtype_(options_.dtype) {
  if (name_.empty()) name_ = numbered_layer_name(class_name);
  if (!options_.scope) return;
  const auto* text = std::get_if<std::string>(&*options_.scope);
  if (text == nullptr || !text->empty()) open_given(*options_.scope, site);
}

std::string LayerBody::scope_name(Site site) const {
  if (scope_) return scope_->name();
  throw ValueError(fmt::format("No name available for layer scope because the layer \"{}\" has not "
                               "been used yet.",
                               name_),
                   {.site = site, .op = name_, .hint = "the first call determines the scope"});
}

std::vector<Variable> LayerBody::trainable_weights() const {
  return options_.trainable ? trainable_weights_ : std::vector<Variable>();
}

std::vector<Variable> LayerBody::non_trainable_weights() const {
  if (options_.trainable) return non_trainable_weights_;
  std::vector<Variable> all = trainable_weights_;
  all.insert(all.end(), non_trainable_weights_.begin(), non_trainable_weights_.end());
  return all;
}

std::vector<Operation> LayerBody::updates() const {
  return options_.trainable ? updates_ : std::vector<Operation>();
}

std::vector<Tensor> LayerBody::losses() const {
  std::vector<Tensor> found = losses_;
  for (const auto& make_loss : weight_losses_) {
    if (const std::optional<Tensor> loss = make_loss()) found.push_back(*loss);
  }
  return found;
}

void LayerBody::build(const Shape&, Site) {}

Reuse LayerBody::reuse_now() const { return built_ ? Reuse(true) : options_.reuse; }

void LayerBody::open_given(const Scope& scope, Site site) {
  const auto* captured = std::get_if<VariableScopeHandle>(&scope);
  const VariableScopeGuard guard = captured != nullptr
                                       ? variable_scope(*captured, {}, site)
                                       : variable_scope(std::get<std::string>(scope), {}, site);
  scope_ = guard;
}

void LayerBody::set_scope(const std::optional<Scope>& scope, Site site) {
  if (scope_) return;
  if (scope) {
    open_given(*scope, site);
  } else if (options_.reuse == Reuse(true) || options_.reuse == Reuse(AUTO_REUSE)) {
    const VariableScopeGuard guard = variable_scope(base_name_, {}, site);
    scope_ = guard;
  } else {
    const VariableScopeGuard guard =
        variable_scope(std::nullopt, {.default_name = base_name_}, site);
    scope_ = guard;
  }
}

void LayerBody::enter(const std::optional<Scope>& scope, const std::function<void()>& build_weights,
                      const std::function<void()>& body, Site site) {
  set_scope(scope, site);
  {
    const VariableScopeGuard variables =
        variable_scope(*scope_, {.reuse = reuse_now(), .auxiliary_name_scope = false}, site);
    const NameScope names(get_default_graph(), variables->original_name_scope(), site);
    if (!built_) {
      build_weights();
      built_ = true;
    }
    body();
  }
  for (const Operation& update : updates()) {
    layers::add_to_collection_once(GraphKeys::UPDATE_OPS, update);
  }
}

Tensor LayerBody::apply(const Operand& inputs, Site site) {
  const DefaultGraphGuard graph(graph_of(inputs));
  Tensor input, result;
  if (inputs.tensor() == nullptr) input = convert_to_tensor(inputs, {}, site);
  if (inputs.tensor() != nullptr) input = *inputs.tensor();
  const auto check = [&] { input_spec.check(input, name_, site); };
  enter(
      std::nullopt,
      [&] {
        check();
        if (!dtype_) dtype_ = input.dtype();
        build(input.shape(), site);
      },
      [&] {
        check();
        result = call(input, site);
        regularize_activity(result, site);
      },
      site);
  return result;
}

Variable LayerBody::add_weight(const std::string& weight, const Shape& shape,
                               AddWeightOptions options, Site site) {
  set_scope(std::nullopt, site);
  const bool on_read = options.synchronization == VariableSynchronization::ON_READ;
  if (on_read && options.trainable) {
    throw ValueError(
        fmt::format("Synchronization value can be set to VariableSynchronization.ON_READ only for "
                    "non-trainable variables, but '{}' is trainable",
                    weight),
        {.site = site, .op = name_});
  }
  const bool trains = options.trainable && options_.trainable;
  if (!dtype_) dtype_ = options.dtype.value_or(DType::float32);
  const std::vector<Variable> existing = global_variables();
  const VariableScopeGuard variables =
      variable_scope(*scope_, {.reuse = reuse_now(), .auxiliary_name_scope = false}, site);
  const NameScope names(get_default_graph(), variables->original_name_scope(), site);
  const Variable made = get_variable(weight, shape,
                                     {.dtype = options.dtype.value_or(*dtype_),
                                      .initializer = options.initializer,
                                      .trainable = trains,
                                      .partitioner = options.partitioner,
                                      .constraint = options.constraint,
                                      .synchronization = options.synchronization,
                                      .aggregation = options.aggregation},
                                     site);
  if (options.regularizer && !lists_variable(existing, made)) {
    regularize(weight, made, options.regularizer, site);
  }
  // A custom getter may have made it untrainable.
  const bool listed = trains && lists_variable(trainable_variables(), made);
  std::vector<Variable>& list = listed ? trainable_weights_ : non_trainable_weights_;
  if (made.partitioned()) {
    list.insert(list.end(), made.parts().begin(), made.parts().end());
  } else {
    list.push_back(made);
  }
  return made;
}

void LayerBody::regularize(const std::string& weight, const Variable& variable,
                           const Regularizer& regularizer, Site site) {
  const std::vector<Variable> parts =
      variable.partitioned() ? variable.parts() : std::vector<Variable>{variable};
  for (const Variable& part : parts) {
    weight_losses_.push_back([weight, part, regularizer, site]() -> std::optional<Tensor> {
      const NameScope names(part.graph(), weight + "/Regularizer", site);
      return regularizer(part);
    });
    const std::optional<Tensor> loss = weight_losses_.back()();
    if (loss) layers::add_to_collection_once(GraphKeys::REGULARIZATION_LOSSES, *loss);
  }
}

void LayerBody::add_loss(const Tensor& loss) {
  losses_.push_back(loss);
  layers::add_to_collection_once(GraphKeys::REGULARIZATION_LOSSES, loss);
}

void LayerBody::regularize_activity(const Tensor& result, Site site) {
  if (!options_.activity_regularizer) return;
  const NameScope names(result.graph(), "ActivityRegularizer", site);
  const std::optional<Tensor> loss = options_.activity_regularizer(result);
  if (!loss) return;
  // The mean over the batch, so that the batch size does not affect the loss.
  const Tensor sizes = towerflow::shape(result, {}, site);
  const Tensor batch = take_index(sizes, 0, site);
  const Tensor count = cast(batch, loss->dtype(), {}, site);
  add_loss(Operand(*loss, site) / Operand(count, site));
}

std::vector<Variable> Layer::variables() const {
  std::vector<Variable> all = trainable_variables();
  const std::vector<Variable> others = non_trainable_variables();
  all.insert(all.end(), others.begin(), others.end());
  return all;
}

std::int64_t Layer::count_params() const {
  std::int64_t count = 0;
  for (const Variable& variable : variables()) count += variable.shape().elements();
  return count;
}

}  // namespace towerflow::layers::types

#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "layers/activation.h"
#include "ops/variables/variable_scope.h"

namespace towerflow::layers::types {

/// A variable scope, by name or captured.
using Scope = std::variant<std::string, VariableScopeHandle>;

/// What every layer can be told. (the arguments of tf.layers.Layer)
struct LayerOptions {
  bool trainable = true;         ///< whether its weights are listed as trainable
  std::string name{};            ///< of its variable scope; default: its class's name, "dense"
  std::optional<DType> dtype{};  ///< default: that of its first input
  Reuse reuse = std::nullopt;    ///< whether it finds its variables instead of making them
  std::optional<Scope> scope{};  ///< its variable scope, whose name is not made unique
  ActivityRegularizer activity_regularizer{};  ///< a loss of its result
};

struct AddWeightOptions {
  std::optional<DType> dtype{};              ///< default: the layer's
  std::optional<Initializer> initializer{};  ///< default: the scope's, else get_variable's
  Regularizer regularizer{};
  bool trainable = true;
  Constraint constraint{};
  VariableSynchronization synchronization = VariableSynchronization::AUTO;
  VariableAggregation aggregation = VariableAggregation::NONE;
  Partitioner partitioner{};  ///< default: the scope's
};

/// What a layer requires of the shape of its input; anything else is a ValueError of the call.
struct InputSpec {
  std::optional<std::size_t> ndim{};
  std::optional<std::size_t> min_ndim{};
  std::vector<std::pair<int, std::int64_t>> axes{};  ///< size of each axis

  void check(const Tensor& input, const std::string& layer, Site site) const;
};

/// The state that calls of a layer share: its scope, its weights, its losses and updates. A class
/// of layers derives from it and overrides `build`, which makes the weights, and `call`.
///
/// As in TensorFlow, the first call determines the variable scope and makes the weights; later ones
/// find them. Nodes of every call are in the name scope that the first call opened.
class LayerBody {
 public:
  /// `class_name` is the name of the class as variable scopes spell it, "max_pooling2d".
  LayerBody(std::string class_name, LayerOptions options, Site site);
  virtual ~LayerBody() = default;
  LayerBody(const LayerBody&) = delete;
  LayerBody& operator=(const LayerBody&) = delete;

  /// Opens the layer's scopes, makes the weights if this is the first call, and calls the layer.
  Tensor apply(const Operand& inputs, Site site);

  const std::string& name() const { return name_; }
  std::string scope_name(Site site) const;
  std::optional<DType> dtype() const { return dtype_; }
  bool built() const { return built_; }
  bool trainable() const { return options_.trainable; }
  void set_trainable(bool trainable) { options_.trainable = trainable; }
  virtual std::vector<Variable> trainable_weights() const;
  virtual std::vector<Variable> non_trainable_weights() const;
  virtual std::vector<Operation> updates() const;
  std::vector<Tensor> losses() const;

  /// Makes or finds a variable in the layer's scope and lists it as a weight.
  Variable add_weight(const std::string& weight, const Shape& shape, AddWeightOptions options = {},
                      Site site = Site::current());
  /// Lists a loss, in REGULARIZATION_LOSSES as well.
  void add_loss(const Tensor& loss);
  /// Lists an update, in UPDATE_OPS as well once the call has returned.
  void add_update(const Operation& update) { updates_.push_back(update); }

 protected:
  /// Makes the weights for inputs of this shape. Called once.
  virtual void build(const Shape& input_shape, Site site);
  virtual Tensor call(const Tensor& inputs, Site site) = 0;

  /// Runs the body of one call in the layer's scopes, after `build_weights` if it is the first.
  /// `scope` is where the variables are; by default, the first call chooses.
  void enter(const std::optional<Scope>& scope, const std::function<void()>& build_weights,
             const std::function<void()>& body, Site site);
  const LayerOptions& options() const { return options_; }
  const VariableScopeHandle& scope() const { return *scope_; }
  void set_dtype(DType dtype) { dtype_ = dtype; }

  InputSpec input_spec;
  std::vector<Variable> trainable_weights_, non_trainable_weights_;

 private:
  Reuse reuse_now() const;
  void set_scope(const std::optional<Scope>& scope, Site site);
  void open_given(const Scope& scope, Site site);
  void regularize(const std::string& weight, const Variable& variable,
                  const Regularizer& regularizer, Site site);
  void regularize_activity(const Tensor& result, Site site);

  std::string name_;
  std::string base_name_;
  LayerOptions options_;
  std::optional<DType> dtype_;
  bool built_ = false;
  std::optional<VariableScopeHandle> scope_;
  std::vector<Tensor> losses_;
  std::vector<std::function<std::optional<Tensor>()>> weight_losses_;
  std::vector<Operation> updates_;
};

/// A layer: a function with weights that calls share. A cheap handle; copies share the weights, as
/// Python's references do. (tf.layers.Layer)
class Layer {
 public:
  explicit Layer(std::shared_ptr<LayerBody> body) : body_(std::move(body)) {}

  /// Calls the layer. The first call makes its weights.
  Tensor operator()(const Operand& inputs, Site site = Site::current()) const {
    return body_->apply(inputs, site);
  }
  Tensor apply(const Operand& inputs, Site site = Site::current()) const {
    return body_->apply(inputs, site);
  }

  const std::string& name() const { return body_->name(); }
  /// Returns the name of its variable scope. Throws ValueError before the first call.
  std::string scope_name(Site site = Site::current()) const { return body_->scope_name(site); }
  std::optional<DType> dtype() const { return body_->dtype(); }
  bool built() const { return body_->built(); }
  bool trainable() const { return body_->trainable(); }
  void set_trainable(bool trainable) const { body_->set_trainable(trainable); }
  /// Returns the weights, the trainable ones first. (variables, weights)
  std::vector<Variable> variables() const;
  std::vector<Variable> trainable_variables() const { return body_->trainable_weights(); }
  std::vector<Variable> non_trainable_variables() const { return body_->non_trainable_weights(); }
  /// Returns the ops that update moving averages.
  std::vector<Operation> updates() const { return body_->updates(); }
  /// Returns its losses. As in TensorFlow, those of weights are built again each time.
  std::vector<Tensor> losses() const { return body_->losses(); }
  /// Returns the number of elements of all weights. (count_params)
  std::int64_t count_params() const;

 protected:
  template <class Body>
  Body& body() const {
    return static_cast<Body&>(*body_);
  }

 private:
  std::shared_ptr<LayerBody> body_;
};

}  // namespace towerflow::layers::types

namespace towerflow::layers {

/// Adds an object to a collection unless it is there already.
void add_to_collection_once(const std::string& key, const Operation& operation);
void add_to_collection_once(const std::string& key, const Tensor& tensor);

}  // namespace towerflow::layers

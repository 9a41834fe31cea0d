#pragma once

#include <concepts>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/graph/arguments.h"
#include "ops/variables/variable_store.h"

namespace towerflow::types {
class VariableScopeHandle;
}

namespace towerflow {

/// Makes a scope called `name`, made unique among the scopes inside the current one unless
/// `exact_name`. It opens no name scope and is not entered, but can be later.
VariableScopeHandle make_variable_scope(const std::string& name, bool exact_name,
                                        CustomGetter custom_getter, Site site);

}  // namespace towerflow

namespace towerflow::types {

/// The properties of a variable scope: prefix, reuse, defaults. (tf.VariableScope)
class VariableScope {
 public:
  const std::string& name() const { return name_; }
  /// Returns the name scope that it first opened, with a trailing '/'.
  const std::string& original_name_scope() const { return original_name_scope_; }
  Reuse reuse() const { return reuse_; }
  const std::optional<Initializer>& initializer() const { return initializer_; }
  const Regularizer& regularizer() const { return regularizer_; }
  const std::optional<DeviceOrFunction>& caching_device() const { return caching_device_; }
  std::optional<VariableHome> home() const { return home_; }
  const Partitioner& partitioner() const { return partitioner_; }
  const CustomGetter& custom_getter() const { return custom_getter_; }
  const Constraint& constraint() const { return constraint_; }
  std::optional<bool> use_resource() const { return use_resource_; }
  DType dtype() const { return dtype_; }

  /// Makes `get_variable` in this scope only find variables from now on. (reuse_variables)
  void reuse_variables(Site site = Site::current()) {
    reuse_ = true;
    reuse_site_ = site;
  }
  /// Makes `get_variable` in a scope with reuse create what it does not find from now on.
  /// TensorFlow has no such function; optimizers need it to create slots.
  void allow_new_variables() {
    if (reuse_ == Reuse(true)) reuse_ = AUTO_REUSE;
  }
  Site reuse_site() const { return reuse_site_; }  ///< where reuse was turned on
  /// Returns the default name, of this or an outer scope, that was made unique.
  const std::optional<TakenName>& renamed() const { return renamed_; }
  void set_initializer(Initializer initializer);
  void set_regularizer(Regularizer regularizer);
  void set_caching_device(DeviceOrFunction device);
  void set_home(VariableHome home) { home_ = home; }
  void set_partitioner(Partitioner partitioner);
  void set_custom_getter(CustomGetter getter);
  void set_dtype(DType dtype) { dtype_ = dtype; }
  void set_use_resource(bool use_resource) { use_resource_ = use_resource; }

  /// Returns the contents of collection `key` below this scope.
  template <class T = Variable>
  Collected<T> get_collection(const std::string& key) const {
    return towerflow::get_collection<T>(key, name_.empty() ? "" : name_ + "/");
  }
  Collected<Variable> trainable_variables() const;
  Collected<Variable> global_variables() const;
  Collected<Variable> local_variables() const;

 private:
  friend class VariableScopeGuard;
  friend VariableScopeHandle towerflow::make_variable_scope(const std::string&, bool, CustomGetter,
                                                            Site);

  std::string name_;
  std::string original_name_scope_;
  Reuse reuse_ = false;
  Site reuse_site_;
  std::optional<TakenName> renamed_;
  std::optional<Initializer> initializer_;
  Regularizer regularizer_;
  std::optional<DeviceOrFunction> caching_device_;
  std::optional<VariableHome> home_;
  Partitioner partitioner_;
  CustomGetter custom_getter_;
  Constraint constraint_;
  std::optional<bool> use_resource_;
  DType dtype_ = DType::float32;
};

/// A scope object that can be entered again; copies share it.
class VariableScopeHandle {
 public:
  explicit VariableScopeHandle(std::shared_ptr<VariableScope> scope) : scope_(std::move(scope)) {}
  VariableScope* operator->() const { return scope_.get(); }
  VariableScope& operator*() const { return *scope_; }
  const std::string& name() const { return scope_->name(); }
  void reuse_variables(Site site = Site::current()) const { scope_->reuse_variables(site); }
  const std::shared_ptr<VariableScope>& shared() const { return scope_; }

 private:
  std::shared_ptr<VariableScope> scope_;
};

struct VariableScopeOptions {
  /// Used, after being made unique, if no name is given.
  std::optional<std::string> default_name{};
  std::vector<Tensor> values{};  ///< determine the graph, which becomes the default one
  std::optional<Initializer> initializer{};
  Regularizer regularizer{};
  std::optional<DeviceOrFunction> caching_device{};
  Partitioner partitioner{};
  CustomGetter custom_getter{};  ///< called first, around those of the outer scopes
  Reuse reuse = std::nullopt;
  std::optional<DType> dtype{};
  std::optional<bool> use_resource{};
  Constraint constraint{};             ///< as in TensorFlow, scopes inside do not inherit it
  std::optional<VariableHome> home{};  ///< where variables are stored
  bool auxiliary_name_scope = true;
};

/// An open variable scope with its name scope; both end with the guard.
class [[nodiscard]] VariableScopeGuard {
 public:
  /// Takes a name, or a captured scope, or neither: then it opens `options.default_name`.
  VariableScopeGuard(std::optional<std::string> name, std::shared_ptr<VariableScope> captured,
                     const VariableScopeOptions& options, Site site);
  ~VariableScopeGuard();
  VariableScopeGuard(const VariableScopeGuard&) = delete;
  VariableScopeGuard& operator=(const VariableScopeGuard&) = delete;

  VariableScope* operator->() const { return scope_.get(); }
  VariableScope& operator*() const { return *scope_; }
  const std::string& name() const { return scope_->name(); }
  operator VariableScopeHandle() const { return VariableScopeHandle(scope_); }  // NOLINT

 private:
  void make(const std::string& name, const VariableScope& from, const VariableScopeOptions& options,
            Site site);

  DefaultGraphGuard default_graph_;
  Graph& graph_;
  std::unique_ptr<NameScope> name_scope_;
  std::shared_ptr<VariableScope> scope_;
  std::shared_ptr<VariableScope> outer_;
  const std::string* outer_name_ = nullptr;
  std::string inside_;                  ///< prefix of the names of scopes inside
  std::size_t remembered_devices_ = 0;  ///< number outside of this scope; see InitScope
  /// Of a scope that was entered again: the counts of opened scopes before.
  std::optional<std::map<std::string, int>> counts_before_;
};

/// The shape requested of a variable: `{5, 5, 1, 32}`, `{}` for a scalar, or none.
class VariableShape {
 public:
  VariableShape(std::initializer_list<Dim> dims);  // NOLINT
  VariableShape(Shape shape);                      // NOLINT
  VariableShape(std::nullopt_t);                   // NOLINT
  VariableShape(std::optional<Shape> shape);       // NOLINT
  const std::optional<Shape>& get() const { return shape_; }

 private:
  std::optional<Shape> shape_;
};

}  // namespace towerflow::types

namespace towerflow {

/// Prefixes variables that `get_variable` makes or finds, and opens a name scope of that name.
/// Throws ValueError for a name that is not valid for a scope. (tf.variable_scope)
VariableScopeGuard variable_scope(const Text& name, VariableScopeOptions options = {},
                                  Site site = Site::current());
/// Enters a scope again, with its prefix and settings whatever is open, and a new name scope.
VariableScopeGuard variable_scope(const VariableScopeHandle& scope,
                                  VariableScopeOptions options = {}, Site site = Site::current());
/// Opens `options.default_name`, made unique.
VariableScopeGuard variable_scope(std::nullopt_t, VariableScopeOptions options,
                                  Site site = Site::current());

/// Returns the open variable scope of the default graph. (tf.get_variable_scope)
VariableScopeHandle get_variable_scope();

/// Makes or finds the variable `name` in the open variable scope, by TensorFlow's rules of reuse.
///
/// shapes   shape must be fully known, or left out if the initializer is a value
/// dtypes   options.dtype, else the scope's, else float32
/// errors   ValueError: it exists and reuse is off; it does not exist and reuse is on; shape or
///          dtype differ from the existing one's
/// source   tf.get_variable
Variable get_variable(const std::string& name, const VariableShape& shape = std::nullopt,
                      GetVariableOptions options = {}, Site site = Site::current());
/// With the shape of its initial value. (A template, so that {} is a shape for the overload above.)
template <std::same_as<GetVariableOptions> Options = GetVariableOptions>
Variable get_variable(const std::string& name, std::type_identity_t<Options> options,
                      Site site = Site::current()) {
  return get_variable(name, std::nullopt, std::move(options), site);
}

/// As get_variable, in LOCAL_VARIABLES and not trainable. (tf.get_local_variable)
Variable get_local_variable(const std::string& name, const VariableShape& shape = std::nullopt,
                            GetVariableOptions options = {}, Site site = Site::current());
template <std::same_as<GetVariableOptions> Options = GetVariableOptions>
Variable get_local_variable(const std::string& name, std::type_identity_t<Options> options,
                            Site site = Site::current()) {
  return get_local_variable(name, std::nullopt, std::move(options), site);
}

}  // namespace towerflow

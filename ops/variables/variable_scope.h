#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ops/variables/variable.h"

namespace towerflow {

/// Python's tf.AUTO_REUSE.
struct AutoReuse {};
inline constexpr AutoReuse AUTO_REUSE{};

/// Whether `get_variable` makes a variable, finds one, or either.
class Reuse {
 public:
  enum class Mode { inherit, no, yes, automatic };

  constexpr Reuse(bool reuse) : mode_(reuse ? Mode::yes : Mode::no) {}  // NOLINT: {.reuse = true}
  constexpr Reuse(std::nullopt_t) : mode_(Mode::inherit) {}             // NOLINT
  constexpr Reuse(AutoReuse) : mode_(Mode::automatic) {}                // NOLINT

  constexpr Mode mode() const { return mode_; }
  constexpr bool operator==(const Reuse&) const = default;

 private:
  Mode mode_;
};

struct GetVariableOptions;

/// A loss that belongs to a variable, or nothing. (the `regularizer` of tf.get_variable)
using Regularizer = std::function<std::optional<Tensor>(const Variable& variable)>;

/// Makes or finds the variable of a full name.
using VariableGetter = std::function<Variable(
    const std::string& name, const std::optional<Shape>& shape, const GetVariableOptions& options)>;
/// Stands between `get_variable` and the variables: is given the full name and what `getter` would
/// be called with, and returns a variable. (the `custom_getter` of tf.variable_scope)
using CustomGetter =
    std::function<Variable(const VariableGetter& getter, const std::string& name,
                           const std::optional<Shape>& shape, const GetVariableOptions& options)>;

struct GetVariableOptions {
  std::optional<DType> dtype{};
  std::optional<Initializer> initializer{};
  /// Its loss is listed in REGULARIZATION_LOSSES when the variable is made. As in TensorFlow the
  /// loss is built anew each time the listed one is used in an op.
  Regularizer regularizer{};
  std::optional<bool> trainable{};
  std::optional<std::vector<std::string>> collections{};
  std::string caching_device{};
  bool validate_shape = true;
  CustomGetter custom_getter{};
  Reuse reuse = std::nullopt;  ///< the scope's; a custom getter may change it for its getter
};

/// The variables of a graph that `get_variable` made, by name, and how often each variable scope
/// was opened. Kept with the graph.
class VariableStore {
 public:
  /// What the options say, and nothing else: `options.reuse` is the reuse.
  Variable get(const std::string& name, const std::optional<Shape>& shape,
               const GetVariableOptions& options, const std::string& scope, Site site);

  const std::map<std::string, Variable>& variables() const { return variables_; }
  std::map<std::string, int>& scope_counts() { return scope_counts_; }
  /// Forgets how often the scopes below `scope` were opened, as TensorFlow does when it closes.
  void close_subscopes(const std::string& scope);

 private:
  Variable found(const Variable& variable, const std::string& name,
                 const std::optional<Shape>& shape, const GetVariableOptions& options,
                 Site site) const;

  std::map<std::string, Variable> variables_;
  std::map<std::string, int> scope_counts_;
};

/// What an open variable scope says: prefix, reuse, defaults. (tf.VariableScope)
class VariableScope {
 public:
  const std::string& name() const { return name_; }
  /// The name scope it opened first, with a trailing '/'.
  const std::string& original_name_scope() const { return original_name_scope_; }
  Reuse reuse() const { return reuse_; }
  const std::optional<Initializer>& initializer() const { return initializer_; }
  DType dtype() const { return dtype_; }

  /// From here on `get_variable` in this scope only finds variables. (reuse_variables)
  void reuse_variables() { reuse_ = true; }
  /// In a scope that reuses, `get_variable` from here on makes what it does not find. TensorFlow
  /// has no call for it; optimizers make their slots so.
  void allow_new_variables() {
    if (reuse_ == Reuse(true)) reuse_ = AUTO_REUSE;
  }
  const Regularizer& regularizer() const { return regularizer_; }
  const CustomGetter& custom_getter() const { return custom_getter_; }
  void set_regularizer(Regularizer regularizer) { regularizer_ = std::move(regularizer); }
  void set_custom_getter(CustomGetter getter) { custom_getter_ = std::move(getter); }
  void set_initializer(Initializer initializer) { initializer_ = std::move(initializer); }
  void set_dtype(DType dtype) { dtype_ = dtype; }

 private:
  friend class VariableScopeGuard;

  std::string name_;
  std::string original_name_scope_;
  Reuse reuse_ = false;
  std::optional<Initializer> initializer_;
  Regularizer regularizer_;
  CustomGetter custom_getter_;
  std::string caching_device_;
  DType dtype_ = DType::float32;

  friend Variable get_variable(const std::string&, const std::optional<Shape>&, GetVariableOptions,
                               Site);
};

/// A scope object that can be entered again; copies share it.
class VariableScopeHandle {
 public:
  explicit VariableScopeHandle(std::shared_ptr<VariableScope> scope) : scope_(std::move(scope)) {}
  VariableScope* operator->() const { return scope_.get(); }
  VariableScope& operator*() const { return *scope_; }
  const std::string& name() const { return scope_->name(); }
  void reuse_variables() const { scope_->reuse_variables(); }
  const std::shared_ptr<VariableScope>& shared() const { return scope_; }

 private:
  std::shared_ptr<VariableScope> scope_;
};

struct VariableScopeOptions {
  std::string default_name{};  ///< made unique; used where no name is given
  std::optional<Initializer> initializer{};
  Regularizer regularizer{};
  std::string caching_device{};
  CustomGetter custom_getter{};  ///< around the outer scopes' own: it is asked first
  std::optional<DType> dtype{};
  Reuse reuse = std::nullopt;
  bool auxiliary_name_scope = true;
};

/// An open variable scope, with the name scope that goes with it; both end with the guard.
class [[nodiscard]] VariableScopeGuard {
 public:
  VariableScopeGuard(Graph& graph, std::optional<std::string> name,
                     std::shared_ptr<VariableScope> captured, const VariableScopeOptions& options,
                     Site site);
  ~VariableScopeGuard();
  VariableScopeGuard(const VariableScopeGuard&) = delete;
  VariableScopeGuard& operator=(const VariableScopeGuard&) = delete;

  VariableScope* operator->() const { return scope_.get(); }
  VariableScope& operator*() const { return *scope_; }
  const std::string& name() const { return scope_->name(); }
  operator VariableScopeHandle() const { return VariableScopeHandle(scope_); }  // NOLINT

 private:
  void open(const std::string& name, const VariableScope& from, const VariableScopeOptions& options,
            Reuse reuse);

  Graph& graph_;
  std::unique_ptr<NameScope> name_scope_;
  const std::vector<DeviceLevel>* hidden_devices_ = nullptr;  // around; see UnhiddenDevices
  std::shared_ptr<VariableScope> scope_;
  std::shared_ptr<VariableScope> outer_;
  /// Of a scope that was entered again: how often scopes had been opened before.
  std::optional<std::map<std::string, int>> counts_before_;
};

/// Prefixes variables that `get_variable` makes or finds, and opens a name scope of that name.
/// (tf.variable_scope)  Throws ValueError for a name no scope may have.
VariableScopeGuard variable_scope(const std::string& name, VariableScopeOptions options = {},
                                  Site site = Site::current());
/// Enters a scope again: its prefix and settings, whatever is open; a fresh name scope.
VariableScopeGuard variable_scope(const VariableScopeHandle& scope,
                                  VariableScopeOptions options = {}, Site site = Site::current());
/// Opens `options.default_name`, made unique.
VariableScopeGuard variable_scope(std::nullopt_t, VariableScopeOptions options,
                                  Site site = Site::current());

/// The open variable scope of the default graph. (tf.get_variable_scope)
VariableScopeHandle get_variable_scope();

/// Makes the variable `name` in the open variable scope, or finds it: TensorFlow's rules of reuse.
///
/// shapes   shape must be fully known, or be left out when the initializer is a value
/// dtypes   options.dtype, else the scope's, else float32
/// errors   ValueError: it exists and reuse is off; it does not exist and reuse is on; shape or
///          dtype differ from the existing one's
/// source   tf.get_variable
Variable get_variable(const std::string& name, const std::optional<Shape>& shape = std::nullopt,
                      GetVariableOptions options = {}, Site site = Site::current());

/// As get_variable, in LOCAL_VARIABLES and not trainable. (tf.get_local_variable)
Variable get_local_variable(const std::string& name,
                            const std::optional<Shape>& shape = std::nullopt,
                            GetVariableOptions options = {}, Site site = Site::current());

}  // namespace towerflow

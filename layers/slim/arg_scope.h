#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <vector>

#include "layers/slim/args.h"

namespace towerflow::slim::types {

/// A function of slim, as a key.
class ScopedFunction {
 public:
  template <class... Parameters>
  ScopedFunction(Tensor (*function)(Parameters...))  // NOLINT: slim::conv2d
      : key_(reinterpret_cast<Key>(function)) {}
  auto operator<=>(const ScopedFunction&) const = default;

 private:
  using Key = std::uintptr_t;
  Key key_;
};

/// Defaults by function: what an arg_scope captured.
using ArgScope = std::map<ScopedFunction, Args>;

/// Open defaults; they end with the guard.
class [[nodiscard]] ArgScopeGuard {
 public:
  explicit ArgScopeGuard(ArgScope scope);
  ~ArgScopeGuard();
  ArgScopeGuard(const ArgScopeGuard&) = delete;
  ArgScopeGuard& operator=(const ArgScopeGuard&) = delete;
  /// Returns the defaults, to be opened again: `return scope;` of a function like
  /// inception_arg_scope.
  operator ArgScope() const { return scope_; }  // NOLINT

 private:
  ArgScope scope_;
};

}  // namespace towerflow::slim::types

namespace towerflow::slim {

/// Sets defaults of arguments for calls of `functions` in this thread while the guard lives. Inner
/// scopes take precedence argument by argument; arguments of a call take precedence over all.
///
///     const auto scope = slim::arg_scope({slim::conv2d, slim::fully_connected},
///                                        {.weights_regularizer = slim::l2_regularizer(0.004)});
///
/// errors   ValueError: a function that is not slim's
/// source   slim.arg_scope
ArgScopeGuard arg_scope(std::initializer_list<ScopedFunction> functions, const Args& args,
                        Site site = Site::current());
/// Opens captured defaults in place of the open ones.
ArgScopeGuard arg_scope(const ArgScope& scope);

/// Returns the arguments of a call with what it leaves out taken from the open scope. Throws
/// TypeError for one that is not in `accepted`, a list of names between blanks.
Args scoped_args(const ScopedFunction& function, const char* name, std::string_view accepted,
                 const Args& given, Site site);

}  // namespace towerflow::slim

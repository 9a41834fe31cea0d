#pragma once

#include <memory>
#include <optional>
#include <string>
#include <type_traits>

#include "ops/variables/variable_scope.h"

namespace towerflow::types {

struct TemplateOptions {
  bool create_scope_now_ = false;  ///< the scope exists from now on, not from the first call
  std::string unique_name_{};      ///< taken as it stands, in place of the name
  CustomGetter custom_getter_{};
};

/// What the calls of a template share: its variable scope, and whether its variables are made.
class TemplateCalls {
 public:
  TemplateCalls(std::string name, TemplateOptions options, Site site);

  /// Opens the scope for a call: a new one the first time, then the same one with reuse.
  std::unique_ptr<VariableScopeGuard> enter(Site site);
  /// The function returned. Throws ValueError where a call after the first made a trainable
  /// variable.
  void returned(Site site);
  /// The function threw: says where the template was made and throws on.
  [[noreturn]] void failed();

  const std::string& name() const { return name_; }
  const std::optional<VariableScopeHandle>& scope() const { return scope_; }

 private:
  std::size_t trainable_count() const;

  std::string name_;
  TemplateOptions options_;
  Site site_;
  std::optional<VariableScopeHandle> scope_;
  bool called_ = false;             ///< a call is under way, or was
  bool variables_created_ = false;  ///< one returned
  std::size_t trainable_before_ = 0;
};

/// A function whose variables are made by its first call and found by all later ones. Copies share
/// them. See make_template.
template <class F>
class Template {
 public:
  Template(std::string name, F function, TemplateOptions options, Site site)
      : calls_(std::make_shared<TemplateCalls>(std::move(name), std::move(options), site)),
        function_(std::move(function)) {}

  template <class... Args>
  auto operator()(Args&&... args) const {
    const auto scope = calls_->enter(Site{});
    try {
      if constexpr (std::is_void_v<std::invoke_result_t<const F&, Args...>>) {
        function_(std::forward<Args>(args)...);
        calls_->returned(Site{});
      } else {
        auto result = function_(std::forward<Args>(args)...);
        calls_->returned(Site{});
        return result;
      }
    } catch (const Error&) {
      calls_->failed();
    }
  }

  const std::string& name() const { return calls_->name(); }
  /// The scope of its variables, once it has one. (variable_scope)
  const std::optional<VariableScopeHandle>& variable_scope() const { return calls_->scope(); }

 private:
  std::shared_ptr<TemplateCalls> calls_;
  F function_;
};

}  // namespace towerflow::types

namespace towerflow {

/// Wraps a function so that its `get_variable` calls share variables between calls: the first call
/// opens a variable scope called `name`, made unique, later ones open it again with reuse.
///
/// errors   ValueError: a later call makes a trainable variable (by tf::Variable, say)
/// source   tf.make_template
template <class F>
Template<F> make_template(std::string name, F function, TemplateOptions options = {},
                          Site site = Site::current()) {
  return Template<F>(std::move(name), std::move(function), std::move(options), site);
}

}  // namespace towerflow

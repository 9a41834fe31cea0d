#pragma once

#include <memory>
#include <optional>
#include <string>
#include <type_traits>

#include "ops/variables/variable_scope.h"

namespace towerflow::types {

struct TemplateOptions {
  bool create_scope_now_ = false;  ///< make the scope now, not in the first call
  std::string unique_name_{};      ///< used unchanged in place of the name
  CustomGetter custom_getter_{};
};

/// The state shared by the calls of a template: its variable scope, and whether variables exist.
class TemplateCalls {
 public:
  TemplateCalls(std::string name, TemplateOptions options, Site site);

  /// Opens the scope for a call: a new one the first time, then the same one with reuse.
  std::unique_ptr<VariableScopeGuard> enter(Site site);
  /// Must be called when the function has returned. Throws ValueError if a call after the first
  /// made a trainable variable.
  void returned(Site site);
  /// Must be called when the function threw. Rethrows with the place where the template was made.
  [[noreturn]] void failed();

  const std::string& name() const { return name_; }
  const std::optional<VariableScopeHandle>& scope() const { return scope_; }

 private:
  std::size_t trainable_count() const;

  std::string name_;
  TemplateOptions options_;
  Site site_;
  std::optional<VariableScopeHandle> scope_;
  bool called_ = false;             ///< a call is in progress or has returned
  bool variables_created_ = false;  ///< a call has returned
  std::size_t trainable_before_ = 0;
};

/// A function whose variables are made by its first call and reused by later ones. Copies share
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
  /// Returns the scope of its variables, if it has one yet. (variable_scope)
  const std::optional<VariableScopeHandle>& variable_scope() const { return calls_->scope(); }

 private:
  std::shared_ptr<TemplateCalls> calls_;
  F function_;
};

}  // namespace towerflow::types

namespace towerflow {

/// Wraps a function so that its `get_variable` calls share variables between calls. The first call
/// opens a variable scope called `name`, made unique; later ones enter it again with reuse.
///
/// errors   ValueError: a later call makes a trainable variable (for example by tf::Variable)
/// source   tf.make_template
template <class F>
Template<F> make_template(std::string name, F function, TemplateOptions options = {},
                          Site site = Site::current()) {
  return Template<F>(std::move(name), std::move(function), std::move(options), site);
}

}  // namespace towerflow

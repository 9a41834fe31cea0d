#include "ops/variables/template.h"

#include <fmt/format.h>

namespace towerflow {

TemplateCalls::TemplateCalls(std::string name, TemplateOptions options, Site site)
    : name_(std::move(name)), options_(std::move(options)), site_(site) {
  if (!options_.create_scope_now_) return;
  const bool unique = !options_.unique_name_.empty();
  scope_ = make_variable_scope(unique ? options_.unique_name_ : name_, unique,
                               options_.custom_getter_, site);
}

std::size_t TemplateCalls::trainable_count() const {
  return get_default_graph().collections().all(GraphKeys::TRAINABLE_VARIABLES).size();
}

std::unique_ptr<VariableScopeGuard> TemplateCalls::enter(Site site) {
  std::unique_ptr<VariableScopeGuard> guard;
  if (scope_) {
    guard = std::make_unique<VariableScopeGuard>(std::nullopt, scope_->shared(),
                                                 VariableScopeOptions{.reuse = called_}, site);
  } else {
    std::optional<std::string> name;
    if (!options_.unique_name_.empty()) name = options_.unique_name_;
    guard = std::make_unique<VariableScopeGuard>(
        name, nullptr,
        VariableScopeOptions{.default_name = name_, .custom_getter = options_.custom_getter_},
        site);
    scope_ = *guard;
  }
  called_ = true;
  trainable_before_ = trainable_count();
  return guard;
}

void TemplateCalls::returned(Site site) {
  if (variables_created_ && trainable_count() != trainable_before_) {
    const auto all = trainable_variables();
    throw ValueError(fmt::format("Trainable variable created when calling a template after the "
                                 "first time, perhaps you used tf.Variable when you meant "
                                 "tf.get_variable: {}",
                                 all.back().name()),
                     {.site = site, .node = all.back().op().name()});
  }
  variables_created_ = true;
}

void TemplateCalls::failed() {
  if (!variables_created_) called_ = false;
  rethrow_with({.hint = fmt::format("the template '{}' was made at {}", name_, site_.text())});
}

}  // namespace towerflow

// Templates: functions that share variables between their calls.
#include "ops/variables/template.h"
#include "tests/golden/functions.h"
#include "tests/golden/handlers.h"

namespace towerflow::golden {
namespace {

using SharedTemplate = Template<TemplateFunction>;

Value make(Interpreter&, const Args& args) {
  return Object{"Template", make_template(args.text("name"), template_function_of(args),
                                          {.create_scope_now_ = args.flag("create_scope_now"),
                                           .unique_name_ = args.text("unique_name"),
                                           .custom_getter_ = custom_getter_of(args)})};
}

Value call(Interpreter&, const Args& args) {
  return args.object_as<SharedTemplate>("template")(args.tensor("x"));
}

Value scope(Interpreter&, const Args& args) {
  const auto made = args.object_as<SharedTemplate>("template").variable_scope();
  return made ? Value(*made) : Value();
}

}  // namespace

void add_function_handlers(HandlerTable& table) {
  table["make_template"] = make;
  table["call_template"] = call;
  table["template_scope"] = scope;
}

}  // namespace towerflow::golden

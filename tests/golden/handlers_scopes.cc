// Variable, name, device and control dependency scopes; lookups by name.
#include "core/graph/scopes.h"
#include "ops/variables/variable_scope.h"
#include "tests/golden/functions.h"
#include "tests/golden/handlers.h"

namespace towerflow::golden {
namespace {

/// Returns an initializer from an initializer object or a value.
Initializer initializer_of(const Value& value) {
  if (const auto* initializer = value.get_if<Initializer>()) return *initializer;
  return to_operand(value);
}

Value enter_variable_scope(Interpreter& in, const Args& args) {
  VariableScopeOptions options{.default_name = args.optional_text("default_name"),
                               .values = args.has("values") && !args.value("values").none()
                                             ? args.tensors("values")
                                             : std::vector<Tensor>{},
                               .regularizer = regularizer_of(args),
                               .caching_device = args.optional_text("caching_device"),
                               .partitioner = partitioner_of(args),
                               .custom_getter = custom_getter_of(args),
                               .reuse = reuse_of(args.value("reuse")),
                               .dtype = args.optional_dtype("dtype"),
                               .constraint = constraint_of(args),
                               .auxiliary_name_scope = args.flag("auxiliary_name_scope", true)};
  if (!args.value("initializer").none()) {
    options.initializer = initializer_of(args.value("initializer"));
  }
  const Value& scope = args.value("name_or_scope");
  VariableScopeHandle handle = get_variable_scope();
  if (scope.none()) {
    handle = in.enter([&] { return variable_scope(None, options); });
  } else if (const auto* again = scope.get_if<VariableScopeHandle>()) {
    handle = in.enter([&] { return variable_scope(*again, options); });
  } else {
    handle = in.enter([&] { return variable_scope(args.text("name_or_scope"), options); });
  }
  return handle;
}

Value enter_name_scope(Interpreter& in, const Args& args) {
  const auto name = args.optional_text("name");
  NameScopeOptions options{.default_name = args.optional_text("default_name")};
  if (!args.value("values").none()) options.values = args.tensors("values");
  return in.enter([&] { return name_scope(name, options); }).name();
}

Value enter_device(Interpreter& in, const Args& args) {
  const auto spec = args.optional_text("device_name_or_function");
  if (spec) {
    in.enter([&] { return device(*spec); });
  } else {
    in.enter([] { return device(None); });
  }
  return {};
}

Value enter_device_function(Interpreter& in, const Args& args) {
  const DeviceFunction function = device_function_of(args);
  in.enter([&] { return device(function); });
  return {};
}

Value enter_control_dependencies(Interpreter& in, const Args& args) {
  if (args.value("control_inputs").none()) {
    in.enter([] { return control_dependencies(None); });
    return {};
  }
  std::vector<Fetch> inputs;
  for (const Value& item : args.list("control_inputs")) {
    if (item.get_if<double>() != nullptr) throw DoesNotCompile("no Fetch is made of a number");
    inputs.push_back(to_fetch(item));
  }
  in.enter([&] { return control_dependencies(std::span<const Fetch>(inputs)); });
  return {};
}

Value enter_colocate_with(Interpreter& in, const Args& args) {
  const bool ignore_existing = args.flag("ignore_existing");
  if (args.value("op").none()) {
    in.enter([&] { return colocate_with(None, ignore_existing); });
    return {};
  }
  const Operation op = to_fetch(args.value("op")).operation();
  in.enter([&] { return colocate_with(op, ignore_existing); });
  return {};
}

Value exit_scope(Interpreter& in, const Args&) {
  in.exit();
  return {};
}

VariableScopeHandle scope_of(const Args& args) {
  const auto* scope = args.value("scope").get_if<VariableScopeHandle>();
  if (scope == nullptr) throw BadProgram("argument scope should be a VariableScope");
  return *scope;
}

Value reuse_variables(Interpreter&, const Args& args) {
  scope_of(args).reuse_variables();
  return {};
}

Value scope_reuse(Interpreter&, const Args& args) {
  const Reuse reuse = scope_of(args)->reuse();
  if (reuse.mode() == Reuse::Mode::automatic) return "AUTO_REUSE";
  return reuse.mode() == Reuse::Mode::yes;
}

}  // namespace

void add_scope_handlers(HandlerTable& table) {
  table["enter_variable_scope"] = enter_variable_scope;
  table["enter_name_scope"] = enter_name_scope;
  table["enter_device"] = enter_device;
  table["enter_device_function"] = enter_device_function;
  table["enter_control_dependencies"] = enter_control_dependencies;
  table["enter_colocate_with"] = enter_colocate_with;
  table["exit"] = exit_scope;
  table["get_variable_scope"] = [](Interpreter&, const Args&) -> Value {
    return get_variable_scope();
  };
  table["reuse_variables"] = reuse_variables;
  table["scope_name"] = [](Interpreter&, const Args& args) -> Value {
    return scope_of(args)->name();
  };
  table["scope_original_name_scope"] = [](Interpreter&, const Args& args) -> Value {
    return scope_of(args)->original_name_scope();
  };
  table["scope_reuse"] = scope_reuse;
  table["get_name_scope"] = [](Interpreter& in, const Args&) -> Value {
    return in.graph().get_name_scope();
  };
  table["get_tensor_by_name"] = [](Interpreter& in, const Args& args) -> Value {
    return in.graph().get_tensor_by_name(args.text("name"));
  };
  table["get_operation_by_name"] = [](Interpreter& in, const Args& args) -> Value {
    return in.graph().get_operation_by_name(args.text("name"));
  };
  table["unique_name"] = [](Interpreter& in, const Args& args) -> Value {
    return in.graph().unique_name(args.text("name"));
  };
}

}  // namespace towerflow::golden

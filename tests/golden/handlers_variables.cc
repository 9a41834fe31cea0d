// Variables: making, finding, reading, assigning.
#include "ops/variables/assign.h"
#include "ops/variables/variable_scope.h"
#include "tests/golden/functions.h"
#include "tests/golden/handlers.h"

namespace towerflow::golden {
namespace {

std::optional<Initializer> initializer_of(const Args& args) {
  const Value& value = args.value("initializer");
  if (value.none()) return std::nullopt;
  if (const auto* initializer = value.get_if<Initializer>()) return *initializer;
  return Initializer(to_operand(value));
}

GetVariableOptions options_of(const Args& args) {
  GetVariableOptions options;
  options.dtype = args.optional_dtype("dtype");
  options.initializer = initializer_of(args);
  options.collections = args.texts("collections");
  return options;
}

Value get_variable_of(Interpreter&, const Args& args) {
  GetVariableOptions options = options_of(args);
  options.trainable = args.optional_flag("trainable");
  options.regularizer = regularizer_of(args);
  options.custom_getter = custom_getter_of(args);
  options.caching_device = args.optional_text("caching_device");
  options.partitioner = partitioner_of(args);
  options.validate_shape = args.flag("validate_shape", true);
  options.constraint = constraint_of(args);
  if (args.text("synchronization") == "ON_READ") {
    options.synchronization = VariableSynchronization::ON_READ;
  }
  return get_variable(args.text("name"), args.shape("shape"), options);
}

Value get_local_variable_of(Interpreter&, const Args& args) {
  return get_local_variable(args.text("name"), args.shape("shape"), options_of(args));
}

Value plain_variable(Interpreter&, const Args& args) {
  VariableOptions options;
  options.trainable = args.optional_flag("trainable");
  options.collections = args.texts("collections");
  options.validate_shape = args.flag("validate_shape", true);
  options.caching_device = args.optional_text("caching_device");
  options.name = args.text("name");
  options.dtype = args.optional_dtype("dtype");
  options.constraint = constraint_of(args);
  return Variable(args.operand("initial_value"), options);
}

List list_of(const std::vector<Variable>& variables) {
  return List(variables.begin(), variables.end());
}

template <auto kListing>
Value listing(Interpreter&, const Args& args) {
  return list_of(kListing(args.optional_text("scope")));
}

}  // namespace

void add_variable_handlers(HandlerTable& table) {
  table["get_variable"] = get_variable_of;
  table["get_local_variable"] = get_local_variable_of;
  table["Variable"] = plain_variable;
  table["initializer_of"] = [](Interpreter&, const Args& args) -> Value {
    return args.variable("variable").initializer();
  };
  table["parts"] = [](Interpreter&, const Args& args) -> Value {
    const Variable variable = args.variable("variable");
    if (!variable.partitioned()) throw DoesNotCompile("a Variable is no list");
    return list_of(variable.parts());
  };
  table["as_tensor"] = [](Interpreter&, const Args& args) -> Value {
    if (args.value("variable").get_if<Variable>() != nullptr) {
      return args.variable("variable").value();
    }
    return convert_to_tensor(*gradient_of(args.value("variable")));
  };
  table["read_value"] = [](Interpreter&, const Args& args) -> Value {
    return args.variable("variable").value();
  };
  table["global_variables"] = listing<global_variables>;
  table["local_variables"] = listing<local_variables>;
  table["trainable_variables"] = listing<trainable_variables>;
  table["global_variables_initializer"] = [](Interpreter&, const Args&) -> Value {
    return global_variables_initializer();
  };
  table["local_variables_initializer"] = [](Interpreter&, const Args&) -> Value {
    return local_variables_initializer();
  };
  table["variables_initializer"] = [](Interpreter&, const Args& args) -> Value {
    return variables_initializer(args.variables("var_list"), args.text("name", "init"));
  };
  table["assign"] = [](Interpreter&, const Args& args) -> Value {
    return assign(args.variable("ref"), args.operand("value"), {.name = args.text("name")});
  };
  table["assign_add"] = [](Interpreter&, const Args& args) -> Value {
    return assign_add(args.variable("ref"), args.operand("value"), {.name = args.text("name")});
  };
  table["assign_sub"] = [](Interpreter&, const Args& args) -> Value {
    return assign_sub(args.variable("ref"), args.operand("value"), {.name = args.text("name")});
  };
}

}  // namespace towerflow::golden

#pragma once

#include <functional>
#include <string>
#include <unordered_map>

#include "tests/golden/interpreter.h"

namespace towerflow::golden {

/// Makes the call of one op through the public API.
using Handler = std::function<Value(Interpreter&, const Args&)>;
using HandlerTable = std::unordered_map<std::string, Handler>;

/// Handlers of functions that take `x`, or `x` and `y`, and a name.
template <auto kFunction>
Value unary(Interpreter&, const Args& args) {
  return kFunction(args.operand("x"), {.name = args.text("name")}, Site::current());
}
template <auto kFunction>
Value binary(Interpreter&, const Args& args) {
  return kFunction(args.operand("x"), args.operand("y"), {.name = args.text("name")},
                   Site::current());
}

/// Returns the handler of an op, nullptr if the C++ side does not know the op.
const Handler* find_handler(const std::string& op);

// Each of these adds the ops of one area.
void add_scope_handlers(HandlerTable& table);
void add_variable_handlers(HandlerTable& table);
void add_collection_handlers(HandlerTable& table);
void add_function_handlers(HandlerTable& table);
void add_array_handlers(HandlerTable& table);
void add_math_handlers(HandlerTable& table);
void add_nn_handlers(HandlerTable& table);
void add_control_handlers(HandlerTable& table);
void add_tensor_array_handlers(HandlerTable& table);
void add_dataset_handlers(HandlerTable& table);
void add_layer_handlers(HandlerTable& table);
void add_keras_handlers(HandlerTable& table);
void add_cell_handlers(HandlerTable& table);
void add_slim_handlers(HandlerTable& table);
void add_loss_handlers(HandlerTable& table);
void add_metric_handlers(HandlerTable& table);
void add_random_handlers(HandlerTable& table);
void add_input_handlers(HandlerTable& table);
void add_gradient_handlers(HandlerTable& table);
void add_train_handlers(HandlerTable& table);
void add_average_handlers(HandlerTable& table);
void add_session_handlers(HandlerTable& table);
void add_summary_handlers(HandlerTable& table);

}  // namespace towerflow::golden

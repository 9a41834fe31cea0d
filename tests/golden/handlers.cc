#include "tests/golden/handlers.h"

#include "tests/golden/call.h"

namespace towerflow::golden {
namespace {

HandlerTable make_table() {
  HandlerTable table;
  add_scope_handlers(table);
  add_variable_handlers(table);
  add_collection_handlers(table);
  add_function_handlers(table);
  add_array_handlers(table);
  add_math_handlers(table);
  add_nn_handlers(table);
  add_control_handlers(table);
  add_tensor_array_handlers(table);
  add_dataset_handlers(table);
  add_layer_handlers(table);
  add_keras_handlers(table);
  add_cell_handlers(table);
  add_slim_handlers(table);
  add_loss_handlers(table);
  add_metric_handlers(table);
  add_random_handlers(table);
  add_input_handlers(table);
  add_gradient_handlers(table);
  add_train_handlers(table);
  add_average_handlers(table);
  add_session_handlers(table);
  add_summary_handlers(table);
  add_array_calls(table);
  add_indexing_calls(table);
  add_math_calls(table);
  add_nn_calls(table);
  add_convolution_calls(table);
  add_image_calls(table);
  return table;
}

}  // namespace

const Handler* find_handler(const std::string& op) {
  static const HandlerTable table = make_table();
  const auto found = table.find(op);
  return found == table.end() ? nullptr : &found->second;
}

}  // namespace towerflow::golden

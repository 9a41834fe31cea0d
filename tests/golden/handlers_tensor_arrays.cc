// TensorArrays.
#include "tests/golden/handlers.h"
#include "tests/golden/structures.h"

namespace towerflow::golden {
namespace {

TensorArray array_of(const Args& args) {
  const TensorArray* array = tensor_array_of(args.value("array"));
  if (array == nullptr) throw BadProgram("no TensorArray");
  return *array;
}

Value held(const TensorArray& array) { return Object{"TensorArray", array}; }

NameOption name_of(const Args& args) { return {.name = args.text("name")}; }

Value make_array(Interpreter&, const Args& args) {
  TensorArrayOptions options;
  if (!args.value("size").none()) options.size = ScalarOperand(args.operand("size"));
  options.dynamic_size = args.optional_flag("dynamic_size");
  options.clear_after_read = args.optional_flag("clear_after_read");
  options.tensor_array_name = args.text("tensor_array_name");
  options.infer_shape = args.flag("infer_shape", true);
  options.element_shape = args.shape("element_shape");
  options.colocate_with_first_write_call = args.flag("colocate_with_first_write_call", true);
  options.name = args.text("name");
  return held(TensorArray(args.dtype("dtype"), options));
}

template <class Call>
Handler with_array(Call call) {
  return [call](Interpreter&, const Args& args) -> Value { return call(array_of(args), args); };
}

ScalarOperand index_of(const Args& args) { return ScalarOperand(args.operand("index")); }

}  // namespace

void add_tensor_array_handlers(HandlerTable& table) {
  table["TensorArray"] = make_array;
  table["array_write"] = with_array([](const TensorArray& array, const Args& args) {
    return held(array.write(index_of(args), args.operand("value"), name_of(args)));
  });
  table["array_read"] = with_array([](const TensorArray& array, const Args& args) -> Value {
    return array.read(index_of(args), name_of(args));
  });
  table["array_stack"] = with_array([](const TensorArray& array, const Args& args) -> Value {
    return array.stack(name_of(args));
  });
  table["array_gather"] = with_array([](const TensorArray& array, const Args& args) -> Value {
    return array.gather(args.operand("indices"), name_of(args));
  });
  table["array_concat"] = with_array([](const TensorArray& array, const Args& args) -> Value {
    return array.concat(name_of(args));
  });
  table["array_unstack"] = with_array([](const TensorArray& array, const Args& args) {
    return held(array.unstack(args.operand("value"), name_of(args)));
  });
  table["array_scatter"] = with_array([](const TensorArray& array, const Args& args) {
    return held(array.scatter(args.operand("indices"), args.operand("value"), name_of(args)));
  });
  table["array_split"] = with_array([](const TensorArray& array, const Args& args) {
    return held(array.split(args.operand("value"), args.operand("lengths"), name_of(args)));
  });
  table["array_size"] = with_array([](const TensorArray& array, const Args& args) -> Value {
    return array.size(name_of(args));
  });
  table["array_close"] = with_array([](const TensorArray& array, const Args& args) -> Value {
    return array.close(name_of(args));
  });
  table["array_identity"] =
      with_array([](const TensorArray& array, const Args&) { return held(array.identity()); });
  table["array_grad"] = with_array([](const TensorArray& array, const Args& args) {
    TensorArrayGradOptions options;
    if (!args.value("flow").none()) options.flow = args.tensor("flow");
    options.name = args.text("name");
    return held(array.grad(args.text("source"), options));
  });
  table["array_flow"] =
      with_array([](const TensorArray& array, const Args&) -> Value { return array.flow(); });
}

}  // namespace towerflow::golden

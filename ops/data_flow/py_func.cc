#include "ops/data_flow/py_func.h"

#include <fmt/format.h>

#include <map>
#include <mutex>

#include "core/device/cpu/launch.h"
#include "core/graph/export_form.h"
#include "core/graph/op_builder.h"
#include "ops/copy_elements.h"
#include "ops/family.h"

namespace towerflow {
namespace {

/// A function with its gradient; one thread at a time calls it.
struct HeldFunction {
  HeldFunction(ArrayFunction held, GradientRule rule)
      : function(std::move(held)), gradient(std::move(rule)) {}
  ArrayFunction function;
  GradientRule gradient;
  std::mutex mutex;
};

/// The functions of all graphs by token. Graphs own them, kernels keep them alive.
class FunctionTable {
 public:
  std::string add(const std::shared_ptr<HeldFunction>& function) {
    const std::lock_guard lock(mutex_);
    std::string token = fmt::format("pyfunc_{}", next_++);
    functions_.emplace(token, function);
    return token;
  }
  void remove(const std::string& token) {
    const std::lock_guard lock(mutex_);
    functions_.erase(token);
  }
  std::shared_ptr<HeldFunction> find(const std::string& token) {
    const std::lock_guard lock(mutex_);
    const auto found = functions_.find(token);
    return found == functions_.end() ? nullptr : found->second.lock();
  }
  static FunctionTable& global() {
    static FunctionTable table;
    return table;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::weak_ptr<HeldFunction>> functions_;
  int next_ = 0;
};

/// The functions that a graph owns; an extension of the graph.
struct GraphFunctions {
  std::map<std::string, std::shared_ptr<HeldFunction>> functions;
  GraphFunctions() = default;
  GraphFunctions(const GraphFunctions&) = delete;
  GraphFunctions& operator=(const GraphFunctions&) = delete;
  ~GraphFunctions() {
    for (const auto& entry : functions) FunctionTable::global().remove(entry.first);
  }
};

struct PyFuncAttrs {
  std::string token;
  std::vector<DType> dtypes;
  static constexpr auto fields = std::tuple{attr::required("token", &PyFuncAttrs::token),
                                            attr::required("Tout", &PyFuncAttrs::dtypes)};
};

void py_func_shape(InferenceContext& context) {
  for (const DType dtype : context.attrs<PyFuncAttrs>().dtypes) {
    context.add_output(dtype, Shape::unknown());
  }
}

std::vector<OptionalGradient> py_func_gradient(const Operation& op,
                                               const std::vector<OptionalGradient>& dys) {
  const auto held = FunctionTable::global().find(op.attrs().as<PyFuncAttrs>().token);
  if (held == nullptr || !held->gradient) return std::vector<OptionalGradient>(op.num_inputs());
  return held->gradient(op, dys);
}

[[noreturn]] void refuse_py_func(FormWriter& form) {
  const Node& node = form.node();
  throw errors::UnimplementedError("a function of the program cannot be written to a file",
                                   {.site = node.site, .node = node.name, .op = node.op->name});
}

/// Calls the function; its exceptions become errors of a run.
std::vector<Array> call_py_func(HeldFunction& held, const std::vector<Array>& inputs) {
  try {
    const std::lock_guard lock(held.mutex);
    return held.function.function()(inputs);
  } catch (const NotImplementedError& error) {
    throw errors::UnimplementedError(fmt::format("NotImplementedError: {}", error.message()));
  } catch (const errors::OpError&) {
    throw;
  } catch (const Error& error) {
    const bool argument = std::string_view(error.kind()) == "ValueError" ||
                          std::string_view(error.kind()) == "TypeError";
    const std::string text = fmt::format("{}: {}", error.kind(), error.message());
    if (argument) throw errors::InvalidArgumentError(text);
    throw errors::UnknownError(text);
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    throw errors::UnknownError(error.what());
  }
}

std::unique_ptr<PreparedKernel> py_func_kernel(const KernelRequest& request) {
  const auto attrs = request.attributes<PyFuncAttrs>();
  auto held = FunctionTable::global().find(attrs.token);
  if (held == nullptr) {
    throw errors::InvalidArgumentError(
        fmt::format("callback {} is not found: its graph does not exist any more", attrs.token));
  }
  return function_kernel([attrs, held = std::move(held), descs = request.inputs,
                          outputs = request.outputs](const LaunchArgs& args) {
    std::vector<Array> inputs;
    for (std::size_t i = 0; i < descs.size(); ++i) {
      inputs.emplace_back(descs[i].dtype, descs[i].shape);
      copy_elements(descs[i].dtype, descs[i].shape.elements(), args.inputs[i], inputs[i].raw());
    }
    const std::vector<Array> results = call_py_func(*held, inputs);
    if (results.size() != outputs.size()) {
      throw errors::InvalidArgumentError(
          fmt::format("{} returns {} values, but expects to see {} "
                      "values.",
                      attrs.token, results.size(), outputs.size()));
    }
    for (std::size_t i = 0; i < results.size(); ++i) {
      const Array& result = results[i];
      if (result.dtype() != outputs[i].dtype) {
        throw errors::InvalidArgumentError(fmt::format(
            "{}-th value returned by {} is {}, but expects {}", i, attrs.token,
            result.empty() ? "empty" : dtype_name(result.dtype()), dtype_name(outputs[i].dtype)));
      }
      void* to = args.output_memory(i, result.shape(), outputs[i].shape);
      copy_elements(result.dtype(), result.elements(), result.raw(), to);
    }
  });
}

Operation add_py_func(ArrayFunction func, const OperandList& inp, std::vector<DType> dtypes,
                      PyFuncOptions options, Site site) {
  const Operand* first = nullptr;
  for (const Operand& item : inp.items()) {
    if (first == nullptr && item.any_tensor() != nullptr) first = &item;
  }
  const char* op = options.stateful ? "PyFunc" : "PyFuncStateless";
  OpBuilder builder(op, options.name, site, {first});
  for (std::size_t i = 0; i < inp.size(); ++i) {
    builder.input(inp.items()[i], fmt::format("input_{}", i).c_str());
  }
  auto held = std::make_shared<HeldFunction>(std::move(func), std::move(options.gradient));
  const std::string token = FunctionTable::global().add(held);
  builder.graph().extension<GraphFunctions>().functions.emplace(token, held);
  return builder.attrs(PyFuncAttrs{token, std::move(dtypes)}).build();
}

}  // namespace

static void register_py_func_ops(OpRegistry& registry) {
  for (const bool stateful : {true, false}) {
    registry.add({.name = stateful ? "PyFunc" : "PyFuncStateless",
                  .inputs = {"input: list(Tin)"},
                  .outputs = {"output: list(Tout)"},
                  .attrs = attributes<PyFuncAttrs>(),
                  .shape = py_func_shape,
                  .gradient = py_func_gradient,
                  .effect = stateful ? Effect::stateful : Effect::pure,
                  .export_form = refuse_py_func});
  }
}

static void register_py_func_kernels(KernelTable& table) {
  for (const char* op : {"PyFunc", "PyFuncStateless"}) {
    table.add({.op = op, .label = "call", .accepts = {}, .prepare = py_func_kernel});
  }
}

OpFamily py_func_family() {
  return {.ops = register_py_func_ops, .kernels = register_py_func_kernels};
}

Tensor py_func(ArrayFunction func, const OperandList& inp, DType Tout, PyFuncOptions options,
               Site site) {
  return add_py_func(std::move(func), inp, {Tout}, std::move(options), site).output(0);
}

std::vector<Tensor> py_func(ArrayFunction func, const OperandList& inp,
                            std::initializer_list<DType> Tout, PyFuncOptions options, Site site) {
  return add_py_func(std::move(func), inp, Tout, std::move(options), site).outputs();
}

}  // namespace towerflow

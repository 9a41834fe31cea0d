// Writing checkpoints for TensorFlow and reading TensorFlow's.
#include <cstdio>
#include <map>

#include "core/graph/scopes.h"
#include "core/runtime/session.h"
#include "ops/array/constant.h"
#include "ops/variables/partition.h"
#include "ops/variables/variable_scope.h"
#include "tests/interop/arrays.h"
#include "tests/interop/program.h"
#include "train/checkpoint/bundle_reader.h"
#include "train/checkpoint/checkpoint_state.h"
#include "train/saver.h"

namespace towerflow::interop {
namespace {

/// Returns variables with the values of the arrays, by the arrays' names, which need not be valid
/// names of variables.
std::map<std::string, Variable> variables_of(const std::vector<NamedArray>& arrays) {
  std::map<std::string, Variable> variables;
  for (const auto& [name, value] : arrays) variables.emplace(name, Variable(Operand(value)));
  return variables;
}

}  // namespace

void read_tensors(const Arguments& arguments) {
  const TensorBundleReader reader{arguments[0]};
  std::vector<NamedArray> arrays;
  for (const TensorInfo& info : reader.tensors()) {
    try {
      arrays.push_back({info.name, reader.read(info.name)});
    } catch (const Error& error) {
      std::printf("%s %s\n", info.name.c_str(), error.kind());
    }
  }
  write_arrays(arguments[1], arrays);
}

void save(const Arguments& arguments) {
  Graph graph;
  const auto guard = graph.as_default();
  train::Saver saver(variables_of(read_arrays(arguments[0])),
                     {.max_to_keep = std::stoi(arguments[2])});
  Session session;
  session.run(global_variables_initializer());
  for (std::size_t i = 3; i < arguments.size(); ++i)
    saver.save(session, arguments[1], {.global_step = std::stoi(arguments[i])});
}

void save_in_parts(const Arguments& arguments) {
  Graph graph;
  const auto guard = graph.as_default();
  for (const auto& [name, value] : read_arrays(arguments[0])) {
    get_variable(name, std::nullopt,
                 {.initializer = constant(value), .partitioner = fixed_size_partitioner(2)});
  }
  train::Saver saver;
  Session session;
  session.run(global_variables_initializer());
  saver.save(session, arguments[1]);
}

void restore(const Arguments& arguments) {
  std::vector<NamedArray> arrays = read_arrays(arguments[0]);
  for (NamedArray& array : arrays) {
    array.value = array.value.dtype() == DType::string
                      ? Array(DType::string, array.value.shape())
                      : Array::zeros(array.value.dtype(), array.value.shape());
  }
  Graph graph;
  const auto guard = graph.as_default();
  const std::map<std::string, Variable> variables = variables_of(arrays);
  const train::Saver saver(variables);
  Session session;
  std::string prefix = arguments[1];
  if (std::filesystem::is_directory(prefix)) {
    prefix = train::latest_checkpoint(prefix).value();
    std::printf("%s\n", prefix.c_str());
  }
  saver.restore(session, prefix);
  for (NamedArray& array : arrays) array.value = session.run(variables.at(array.name));
  write_arrays(arguments[2], arrays);
}

}  // namespace towerflow::interop

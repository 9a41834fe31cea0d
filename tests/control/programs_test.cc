// Programs with control flow against TensorFlow 2.21: nodes, contexts and results
// (golden/programs.txt, written by make_golden.py).
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>

#include "core/graph/control_flow.h"
#include "tests/control/programs.h"

namespace towerflow::testing {

Tensor scalar(const char* name, DType dtype) {
  return placeholder(dtype, {.shape = Shape{}, .name = name});
}

Variable weight(const char* name, const Shape& shape, double value) {
  return get_variable(name, shape, {.initializer = constant_initializer(value)});
}

std::vector<Tensor> grads(const Tensor& y, const std::vector<Tensor>& xs) {
  const std::vector<GradientTarget> targets(xs.begin(), xs.end());
  std::vector<Tensor> found;
  for (const OptionalGradient& gradient : gradients({y}, targets)) {
    if (gradient) found.push_back(gradient->dense());
  }
  return found;
}

std::vector<Tensor> joined(std::vector<Tensor> a, const std::vector<Tensor>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

std::vector<Program::Run> both(const Tensor& p, const Tensor& x, float value) {
  return {{{{p, true}, {x, value}}}, {{{p, false}, {x, value}}}};
}

std::vector<Program::Run> initialized(std::vector<Program::Run> runs) {
  runs.insert(runs.begin(), {{}, global_variables_initializer()});
  return runs;
}

namespace {

using Lines = std::vector<std::string>;

std::map<std::string, Lines> read_golden() {
  std::ifstream file("tests/control/golden/programs.txt");
  REQUIRE(file.good());
  std::map<std::string, Lines> programs;
  std::string line;
  Lines* current = nullptr;
  while (std::getline(file, line)) {
    if (line.starts_with("== ")) {
      current = &programs[line.substr(3)];
    } else {
      REQUIRE(current != nullptr);
      current->push_back(line);
    }
  }
  return programs;
}

std::string line_of(const Operation& op) {
  Lines inputs, control, outputs;
  for (const Tensor& input : op.inputs()) inputs.push_back(input.name());
  for (const Operation& awaited : op.control_inputs()) control.push_back("^" + awaited.name());
  std::sort(control.begin(), control.end());
  inputs.insert(inputs.end(), control.begin(), control.end());
  for (const Tensor& output : op.outputs()) {
    outputs.push_back(fmt::format("{}{} {}", dtype_name(output.dtype()),
                                  output.is_ref() ? "_ref" : "", output.shape().text()));
  }
  std::string line = fmt::format("{} = {}({}) {}", op.name(), op.type(), fmt::join(inputs, ", "),
                                 fmt::join(outputs, "; "));
  while (line.ends_with(' ')) line.pop_back();
  return line;
}

std::string value_text(const Array& array) {
  std::string text =
      fmt::format("{} [{}]", dtype_name(array.dtype()), fmt::join(array.shape().sizes(), ","));
  dispatch_dtype(array.dtype(), [&]<class T>() {
    for (const T& value : array.flat<T>()) text += fmt::format(" {}", static_cast<double>(value));
  });
  return text;
}

Lines contexts_of(const Graph& graph, const char* key) {
  Lines names;
  for (const auto* context : graph.collections().get<ControlFlowContext*>(key, std::nullopt)) {
    names.push_back(context->name());
  }
  if (names.empty()) return {};
  return {fmt::format("{}: {}", key, fmt::join(names, " "))};
}

Lines run(Session& session, const Program& program, const Program::Run& step) {
  if (step.before.valid()) {
    session.run({step.before});
    return {};
  }
  try {
    Lines lines{"run"};
    const std::vector<Fetch> fetches(program.fetches.begin(), program.fetches.end());
    for (const Array& value : session.run(fetches, step.feeds)) lines.push_back(value_text(value));
    return lines;
  } catch (const Error& error) {
    return {fmt::format("!! run {}", error.kind())};
  }
}

/// Returns the lines of a program in the format of golden/programs.txt.
Lines outcome(const std::function<Program()>& build) {
  Graph graph;
  const auto guard = graph.as_default();
  Program program;
  try {
    program = build();
  } catch (const Error& error) {
    return {fmt::format("!! {}", error.kind())};
  }
  Lines lines;
  for (const Operation& op : graph.get_operations()) lines.push_back(line_of(op));
  std::sort(lines.begin(), lines.end());
  const auto add = [&](const Lines& more) { lines.insert(lines.end(), more.begin(), more.end()); };
  for (const char* key : {GraphKeys::COND_CONTEXT, GraphKeys::WHILE_CONTEXT}) {
    add(contexts_of(graph, key));
  }
  Session session;
  for (const Program::Run& step : program.runs) add(run(session, program, step));
  return lines;
}

/// Returns whether two lines of results are equal but for the rounding of float32.
bool same_values(const std::string& found, const std::string& expected) {
  std::istringstream a(found), b(expected);
  std::string left, right;
  while (true) {
    const bool more = static_cast<bool>(a >> left);
    if (more != static_cast<bool>(b >> right)) return false;
    if (!more) return true;
    if (left == right) continue;
    try {
      const double x = std::stod(left), y = std::stod(right);
      if (std::abs(x - y) > 1e-5 * std::max(1.0, std::abs(y))) return false;
    } catch (const std::exception&) {
      return false;
    }
  }
}

/// Returns the first lines that differ, or an empty string.
std::string difference(const Lines& found, const Lines& expected) {
  std::string text;
  int count = 0;
  std::size_t i = 0, j = 0;
  while ((i < found.size() || j < expected.size()) && count < 8) {
    if (i < found.size() && j < expected.size() && same_values(found[i], expected[j])) {
      ++i, ++j;
      continue;
    }
    const bool extra = j == expected.size() || (i < found.size() && found[i] < expected[j]);
    text += extra ? "  only here:       " + found[i++] : "  only TensorFlow: " + expected[j++];
    text += "\n";
    ++count;
  }
  return text;
}

bool is_node(const std::string& line) { return line.find(" = ") != std::string::npos; }

Programs all_programs() {
  Programs programs;
  add_cond_programs(programs);
  add_loop_programs(programs);
  add_array_programs(programs);
  add_composed_programs(programs);
  add_error_programs(programs);
  return programs;
}

TEST_CASE("programs with control flow have TensorFlow's nodes, contexts and results") {
  const auto golden = read_golden();
  const Programs programs = all_programs();
  const char* only = std::getenv("TOWERFLOW_TEST_PROGRAM");
  for (const auto& entry : golden) {
    if (only != nullptr && entry.first != only) continue;
    CAPTURE(entry.first);
    REQUIRE(programs.contains(entry.first));
    const bool nodes = std::any_of(entry.second.begin(), entry.second.end(), is_node);
    Lines found = outcome(programs.at(entry.first));
    if (!nodes) std::erase_if(found, is_node);
    CHECK(difference(found, entry.second) == "");
  }
  CHECK(programs.size() == golden.size());
}

/// Returns only the lines of results of a program in golden/programs.txt.
Lines results_of(Lines lines) {
  std::erase_if(lines, [](const std::string& line) {
    return is_node(line) || line.find("_context: ") != std::string::npos;
  });
  return lines;
}

/// Returns the results of a program on a simulated accelerator.
Lines accelerated_outcome(const std::function<Program()>& build) {
  Graph graph;
  const auto guard = graph.as_default();
  const Program program = [&] {
    const auto accelerator = device("/device:SIM:0");
    return build();
  }();
  ConfigProto config{.allow_soft_placement = true};
  config.simulated.count = 1;
  config.simulated.latency = 0;
  Session session(config);
  Lines lines;
  for (const Program::Run& step : program.runs) {
    const Lines more = run(session, program, step);
    lines.insert(lines.end(), more.begin(), more.end());
  }
  return lines;
}

TEST_CASE("programs with control flow give the same results on an accelerator") {
  for (const auto& entry : read_golden()) {
    if (entry.first.starts_with("error_")) continue;
    CAPTURE(entry.first);
    CHECK(difference(accelerated_outcome(all_programs().at(entry.first)),
                     results_of(entry.second)) == "");
  }
}

/// Returns the results of a program whose graph was written to a GraphDef and read again.
Lines imported_outcome(const std::function<Program()>& build) {
  Graph graph;
  const auto guard = graph.as_default();
  const Program program = build();
  const GraphDef def = graph.as_graph_def();
  Graph other;
  const auto there = other.as_default();
  import_graph_def(def, {.name = ""});
  Program same;
  for (const Tensor& fetch : program.fetches) {
    same.fetches.push_back(other.get_tensor_by_name(fetch.name()));
  }
  for (const Program::Run& step : program.runs) {
    Program::Run again;
    if (step.before.valid()) again.before = other.get_operation_by_name(step.before.name());
    for (const Feed& feed : step.feeds) {
      again.feeds.emplace_back(other.get_tensor_by_name(feed.tensor().name()), feed.value());
    }
    same.runs.push_back(std::move(again));
  }
  Session session;
  Lines lines;
  for (const Program::Run& step : same.runs) {
    const Lines more = run(session, same, step);
    lines.insert(lines.end(), more.begin(), more.end());
  }
  return lines;
}

TEST_CASE("programs with control flow give the same results after a GraphDef") {
  for (const auto& entry : read_golden()) {
    if (entry.first.starts_with("error_")) continue;
    CAPTURE(entry.first);
    CHECK(difference(imported_outcome(all_programs().at(entry.first)), results_of(entry.second)) ==
          "");
  }
}

TEST_CASE("a program that differs is seen") {
  const auto golden = read_golden();
  const Programs programs = all_programs();
  CHECK(difference(outcome(programs.at("cond")), golden.at("cond_in_cond")) != "");
  CHECK_FALSE(same_values("float32 [] 1.0", "float32 [] 1.001"));
}

}  // namespace
}  // namespace towerflow::testing

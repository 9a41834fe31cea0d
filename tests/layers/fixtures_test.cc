// Layers, cells and slim: nodes, variables, collections, values and gradients as in TensorFlow
// (fixtures/*.txt, written by make_fixtures.py).
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>

#include "core/graph/control_flow.h"
#include "tests/layers/cases.h"
#include "tests/ops/naming/node_line.h"

namespace towerflow {
namespace {

using testing::LayerCases;
using testing::LayerInputs;
using testing::node_line;

using Lines = std::vector<std::string>;

std::map<std::string, Lines> read_fixtures(const std::string& name) {
  std::ifstream file("tests/layers/fixtures/" + name + ".txt");
  REQUIRE(file.good());
  std::map<std::string, Lines> cases;
  std::string line;
  Lines* current = nullptr;
  while (std::getline(file, line)) {
    if (line.starts_with("== ")) {
      current = &cases[line.substr(3)];
    } else {
      REQUIRE(current != nullptr);
      current->push_back(line);
    }
  }
  return cases;
}

/// The numbers of make_fixtures.py's function of that name.
Array numbers(const Shape& shape, std::int64_t salt, DType dtype, bool positive = false) {
  Array values(DType::float64, shape);
  auto* to = values.data<double>();
  for (std::int64_t i = 0; i < shape.elements(); ++i) {
    const std::int64_t value = (i * 7 + i / 11 * 3 + salt * 13) % 11;
    to[i] = static_cast<double>(positive ? value + 1 : value - 5) / 8;
  }
  return cast_elements(values, dtype);
}

/// A tensor's shape with two examples.
Shape fed_shape(const Shape& shape) {
  std::vector<Dim> dims = shape.dims();
  for (Dim& dim : dims) dim = dim.known() ? dim : Dim(2);
  return Shape(std::move(dims));
}

std::string value_line(const std::string& label, const Array& value) {
  const Array wide = cast_elements(value, DType::float64);
  std::string line = "~ " + label + ":";
  for (std::int64_t i = 0; i < wide.elements(); ++i) {
    line += fmt::format(" {:.9g}", wide.data<double>()[i]);
  }
  return line;
}

/// Computes results, losses, gradients and updates of a case.
class CaseRun {
 public:
  CaseRun(const LayerInputs& inputs, std::vector<Tensor> results)
      : inputs_(inputs), results_(std::move(results)) {}

  Lines lines() {
    add_gradients();
    Session session;
    const Collected<Variable> variables = global_variables();
    for (const Variable& variable : variables) {
      add("initial " + variable.name(), session.run(variable.initial_value()));
    }
    for (std::size_t k = 0; k < variables.size(); ++k) {
      const Variable& v = variables[k];
      const bool positive = v.name().find("variance") != std::string::npos;
      session.run(v.initializer(),
                  {{v.initializer().input(1),
                    numbers(v.shape(), static_cast<std::int64_t>(k), v.dtype(), positive)}});
    }
    run(session);
    return lines_;
  }

 private:
  void add(const std::string& label, const Array& value) {
    lines_.push_back(value_line(label, value));
  }

  void add_gradients() {
    losses_ = get_collection(GraphKeys::REGULARIZATION_LOSSES);
    std::vector<Tensor> asked, targets;
    for (const Variable& variable : trainable_variables()) {
      labels_.push_back("gradient " + variable.name());
      asked.push_back(variable);
    }
    for (const Tensor& input : inputs_.floats()) {
      labels_.push_back("gradient " + input.name());
      asked.push_back(input);
    }
    std::int64_t k = 0;
    for (const Tensor& result : results_) {
      if (!is_floating(result.dtype())) continue;
      const std::int64_t salt = 3 + k++;
      if (!result.shape().fully_known()) continue;
      const Array weights = numbers(result.shape(), salt, result.dtype());
      targets.push_back(reduce_sum(result * constant(weights)));
    }
    if (!targets.empty()) {
      slopes_ = gradients(targets, asked);
    } else {
      slopes_.resize(asked.size());
    }
  }

  void run(Session& session) {
    Feeds feeds;
    std::int64_t salt = 50;
    for (const Tensor& input : inputs_.floats()) {
      feeds.emplace_back(input, numbers(fed_shape(input.shape()), salt++, input.dtype()));
    }
    feeds.emplace_back(inputs_.i, Nested({{0, 1, 2}, {2, 0, 1}}));
    feeds.emplace_back(inputs_.l, Nested({1, 0}));
    feeds.emplace_back(inputs_.b, true);
    std::vector<Fetch> fetches(results_.begin(), results_.end());
    fetches.insert(fetches.end(), losses_.begin(), losses_.end());
    Lines labels;
    for (std::size_t k = 0; k < results_.size(); ++k) labels.push_back(fmt::format("result {}", k));
    for (std::size_t k = 0; k < losses_.size(); ++k) labels.push_back(fmt::format("loss {}", k));
    for (std::size_t k = 0; k < slopes_.size(); ++k) {
      if (!slopes_[k]) continue;
      labels.push_back(labels_[k]);
      fetches.emplace_back(convert_to_tensor(*slopes_[k]));
    }
    const auto values = session.run(fetches, feeds);
    for (std::size_t k = 0; k < labels.size(); ++k) add(labels[k], values[k]);
    const std::vector<Fetch> updates = get_collection<Fetch>(GraphKeys::UPDATE_OPS);
    if (updates.empty()) return;
    for (const Fetch& update : updates) session.run(update, feeds);
    for (const Variable& v : global_variables()) {
      if (v.name().find("moving") == std::string::npos) continue;
      add("updated " + v.name(), session.run(v));
    }
  }

  const LayerInputs& inputs_;
  std::vector<Tensor> results_, losses_;
  Lines labels_;
  std::vector<OptionalGradient> slopes_;
  Lines lines_;
};

Lines graph_lines(const Graph& graph, std::size_t before) {
  Lines lines;
  for (std::size_t i = before; i < graph.size(); ++i) {
    std::string line = node_line(graph.operation(i));
    line.pop_back();
    lines.push_back(std::move(line));
  }
  return lines;
}

void add_collections(Graph& graph, Lines& lines) {
  const Collected<Variable> trainable = trainable_variables();
  for (const Variable& v : global_variables()) {
    const bool trains = std::find(trainable.begin(), trainable.end(), v) != trainable.end();
    lines.push_back(
        fmt::format("* {} {}{}", v.name(), v.shape().text(), trains ? " trainable" : ""));
  }
  for (const char* key : {"update_ops", "losses", "regularization_losses", "model_variables",
                          "moving_average_variables", "ends"}) {
    Lines names;
    for (const CollectionItem& item : graph.collections().all(key)) {
      names.push_back(item.name.value_or("?"));
    }
    if (!names.empty()) lines.push_back(fmt::format("# {}: {}", key, fmt::join(names, ", ")));
  }
  for (const char* key : {GraphKeys::COND_CONTEXT, GraphKeys::WHILE_CONTEXT}) {
    Lines names;
    for (const auto* context : graph.collections().get<ControlFlowContext*>(key, std::nullopt)) {
      names.push_back(context->name());
    }
    if (!names.empty()) lines.push_back(fmt::format("# {}: {}", key, fmt::join(names, ", ")));
  }
}

/// Returns what a case does, in the form of the fixtures.
Lines outcome(const LayerCases::mapped_type& body) {
  Graph graph;
  const auto guard = graph.as_default();
  set_random_seed(42);
  const LayerInputs inputs;
  const std::size_t before = graph.size();
  try {
    const std::vector<Tensor> results = body(inputs);
    Lines lines = graph_lines(graph, before);
    add_collections(graph, lines);
    const Lines values = CaseRun(inputs, results).lines();
    lines.insert(lines.end(), values.begin(), values.end());
    return lines;
  } catch (const Error& raised) {
    Lines lines = graph_lines(graph, before);
    lines.push_back(fmt::format("!! {}", raised.kind()));
    INFO(raised.what());
    CHECK(true);
    return lines;
  }
}

/// Returns whether two lines are the same, numbers within 1e-5 relative or 1e-6.
bool same_line(const std::string& ours, const std::string& theirs) {
  if (ours == theirs) return true;
  if (theirs.find(" = FusedBatchNormV3(") != std::string::npos) {
    // The last output is for kernels of GPUs; TensorFlow does not say that it is empty here.
    const std::size_t last = theirs.rfind("; ");
    return ours.substr(0, last) == theirs.substr(0, last);
  }
  if (!ours.starts_with("~ ") || !theirs.starts_with("~ ")) return false;
  const std::size_t colon = theirs.find(": ");
  if (ours.substr(0, colon) != theirs.substr(0, colon)) return false;
  std::istringstream left(ours.substr(colon + 1)), right(theirs.substr(colon + 1));
  double a = 0, b = 0;
  while (right >> b) {
    if (!(left >> a) || !(std::abs(a - b) <= 1e-6 + 1e-5 * std::abs(b))) return false;
  }
  return !(left >> a);
}

bool enters_a_context(const std::string& line) {
  return line.find(" = Switch(") != std::string::npos ||
         line.find(" = Enter(") != std::string::npos;
}

/// Returns the line of a node with its control inputs sorted.
std::string with_sorted_control(const std::string& line) {
  const std::size_t first = line.find('^');
  if (first == std::string::npos) return line;
  const std::size_t end = line.find(')', first);
  Lines control;
  std::istringstream names(line.substr(first, end - first));
  for (std::string name; names >> name;) {
    if (name.ends_with(',')) name.pop_back();
    control.push_back(name);
  }
  std::sort(control.begin(), control.end());
  return fmt::format("{}{}{}", line.substr(0, first), fmt::join(control, ", "), line.substr(end));
}

/// Returns the lines with those of nodes sorted: in a branch or a loop, TensorFlow adds a node
/// before those by which its inputs enter, and control inputs in no order.
Lines in_common_order(Lines lines) {
  const auto is_node = [](const std::string& line) {
    return line.find(" = ") != std::string::npos && !line.starts_with("~ ");
  };
  const auto end = std::find_if_not(lines.begin(), lines.end(), is_node);
  if (std::none_of(lines.begin(), end, enters_a_context)) return lines;
  std::transform(lines.begin(), end, lines.begin(), with_sorted_control);
  std::sort(lines.begin(), end);
  return lines;
}

/// Compares a case, and reports the first line that differs.
void compare(const std::string& key, const Lines& ours, const Lines& theirs) {
  const std::size_t common = std::min(ours.size(), theirs.size());
  std::size_t at = 0;
  while (at < common && same_line(ours[at], theirs[at])) ++at;
  if (at == ours.size() && at == theirs.size()) return;
  const std::string our_line = at < ours.size() ? ours[at] : "(nothing)";
  const std::string their_line = at < theirs.size() ? theirs[at] : "(nothing)";
  FAIL_CHECK(key << ", line " << at << "\n  ours:   " << our_line << "\n  theirs: " << their_line);
}

void check_family(const std::string& name, const LayerCases& cases) {
  const auto fixtures = read_fixtures(name);
  for (const auto& [key, theirs] : fixtures) {
    if (!cases.contains(key)) {
      FAIL_CHECK("no case '" << key << "'");
      continue;
    }
    compare(key, in_common_order(outcome(cases.at(key))), in_common_order(theirs));
  }
  CHECK(cases.size() == fixtures.size());
}

TEST_CASE("layers make the nodes, variables and values that TensorFlow makes") {
  check_family("layers", testing::layers_cases());
}

TEST_CASE("recurrent cells make the nodes, variables and values that TensorFlow makes") {
  check_family("rnn", testing::rnn_cases());
}

TEST_CASE("slim makes the nodes, variables and values that tf-slim makes") {
  check_family("slim", testing::slim_cases());
}

}  // namespace
}  // namespace towerflow

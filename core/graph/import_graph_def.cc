#include <fmt/format.h>

#include <charconv>
#include <queue>
#include <unordered_map>

#include "core/graph/export_form.h"
#include "core/graph/graph_def.h"
#include "core/graph/node_attrs.h"
#include "core/graph/scopes.h"
#include "core/graph/trial.h"

namespace towerflow {
namespace {

constexpr std::string_view kColocationPrefix = "loc:@";

/// The name of an input: "x", "x:1" or "^x".
struct InputName {
  std::string node;
  std::size_t output = 0;
  bool control = false;
};

InputName parse_input(std::string_view text) {
  if (text.starts_with('^')) return {std::string(text.substr(1)), 0, true};
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return {std::string(text)};
  InputName name{std::string(text.substr(0, colon))};
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data() + colon + 1, end, name.output);
  if (error != std::errc() || at != end) return {std::string(text)};
  return name;
}

/// Suspends open scopes while nodes are imported: control inputs are added explicitly, colocation
/// and gradient overrides come from the NodeDefs.
class SuspendedScopes {
 public:
  explicit SuspendedScopes(Graph& graph) : state_(graph.scopes()) { exchange(); }
  ~SuspendedScopes() { exchange(); }
  SuspendedScopes(const SuspendedScopes&) = delete;
  SuspendedScopes& operator=(const SuspendedScopes&) = delete;

 private:
  void exchange() {
    std::swap(state_.control, control_);
    std::swap(state_.colocation, colocation_);
    std::swap(state_.gradient_overrides, overrides_);
    std::swap(state_.pending_variable, variable_);
  }

  ScopeState& state_;
  std::vector<ControlLevel> control_;
  std::vector<Node*> colocation_;
  std::map<std::string, std::string> overrides_;
  std::optional<std::string> variable_;
};

class Importer {
 public:
  Importer(Graph& graph, const GraphDef& def, const ImportGraphDefOptions& options, Site site)
      : graph_(graph), def_(def), options_(options), site_(site) {
    for (std::size_t i = 0; i < def.node.size(); ++i) {
      const std::string& name = def.node[i].name;
      if (name.empty() || name.ends_with('/')) fail(def.node[i], "has an invalid name");
      if (!places_.emplace(name, i).second) fail(def.node[i], "is not unique");
    }
    for (const auto& [name, tensor] : options.input_map) unused_.insert(name);
    read_inputs();
    sort();
    if (!unused_.empty()) {
      throw ValueError(fmt::format("Attempted to map inputs that were not found in graph_def: [{}]",
                                   fmt::join(unused_, ", ")),
                       {.site = site_});
    }
  }

  /// Adds the nodes in the open name scope, with the control inputs `control`.
  void build(const std::vector<Node*>& control) {
    made_.assign(def_.node.size(), {});
    names_.clear();
    const std::string& scope = graph_.get_name_scope();
    for (const std::size_t place : order_) {
      const NodeDef& node = def_.node[place];
      const std::string unique = graph_.unique_name(node.name);
      const std::string full = scope.empty() ? unique : scope + "/" + node.name;
      names_.emplace(node.name, full);
    }
    back_edges_.clear();
    for (const std::size_t place : order_) made_[place] = add(place, control);
    add_back_edges();
    for (const std::size_t place : order_) move_beside_others(made_[place].node());
  }

  std::vector<Fetch> returned() const {
    std::vector<Fetch> found;
    for (const std::string& element : options_.return_elements) {
      const auto whole = places_.find(element);
      if (whole != places_.end()) {
        found.emplace_back(made_[whole->second]);
        continue;
      }
      const InputName name = parse_input(element);
      const auto part = places_.find(name.node);
      if (part == places_.end() || name.control || name.node == element) {
        throw ValueError(
            fmt::format("Requested return element '{}' not found in graph_def", element),
            {.site = site_});
      }
      const Operation& op = made_[part->second];
      if (name.output >= op.num_outputs()) {
        throw ValueError(fmt::format("Invalid return output {} of node '{}', which has {} outputs",
                                     name.output, name.node, op.num_outputs()),
                         {.site = site_});
      }
      found.emplace_back(op.output(name.output));
    }
    return found;
  }

 private:
  [[noreturn]] void fail(const NodeDef& node, const std::string& what) const {
    throw ValueError(fmt::format("Node '{}' {}", node.name, what),
                     {.site = site_, .node = node.name, .op = node.op});
  }

  /// Returns the tensor mapped to an input, nullptr if there is none.
  const Tensor* mapped(const std::string& text) {
    for (const std::string& name : {text, text + ":0"}) {
      const auto at = options_.input_map.find(name);
      if (at == options_.input_map.end()) continue;
      unused_.erase(name);
      return &at->second;
    }
    return nullptr;
  }

  void read_inputs() {
    inputs_.resize(def_.node.size());
    for (std::size_t i = 0; i < def_.node.size(); ++i) {
      const NodeDef& node = def_.node[i];
      bool control = false;
      for (const std::string& text : node.input) {
        InputName name = parse_input(text);
        if (control && !name.control) {
          fail(node, "has control dependencies that do not come after regular dependencies");
        }
        control = name.control;
        if (mapped(text) == nullptr && !places_.contains(name.node)) {
          fail(node, fmt::format("has the unknown input node '{}'", name.node));
        }
        inputs_[i].push_back(std::move(name));
      }
    }
  }

  /// Sorts the nodes topologically, keeping the order of the GraphDef where possible.
  void sort() {
    const std::size_t count = def_.node.size();
    std::vector<std::vector<std::size_t>> readers(count);
    std::vector<std::size_t> waits(count, 0);
    std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t k = 0; k < inputs_[i].size(); ++k) {
        if (mapped(def_.node[i].input[k]) != nullptr || is_back_edge(i, k)) continue;
        readers[places_.at(inputs_[i][k].node)].push_back(i);
        ++waits[i];
      }
      if (waits[i] == 0) ready.push(i);
    }
    while (!ready.empty()) {
      const std::size_t next = ready.top();
      ready.pop();
      order_.push_back(next);
      for (const std::size_t reader : readers[next]) {
        if (--waits[reader] == 0) ready.push(reader);
      }
    }
    if (order_.size() == count) return;
    const auto first = std::find_if(waits.begin(), waits.end(), [](auto left) { return left > 0; });
    fail(def_.node[static_cast<std::size_t>(first - waits.begin())],
         fmt::format("is one of {} nodes in a cycle or after it", count - order_.size()));
  }

  /// Returns whether an input of a Merge is the value of the next iteration of a loop.
  bool is_back_edge(std::size_t place, std::size_t k) const {
    if (def_.node[place].op != "Merge" && def_.node[place].op != "RefMerge") return false;
    const auto from = places_.find(inputs_[place][k].node);
    if (from == places_.end()) return false;
    const std::string& op = def_.node[from->second].op;
    return op == "NextIteration" || op == "RefNextIteration";
  }

  /// Closes the loops once all nodes exist.
  void add_back_edges() {
    for (const auto& [place, k] : back_edges_) {
      graph_.set_back_edge(made_[place].node(), k, input(def_.node[place], place, k));
    }
  }

  const OpDef& op_of(const NodeDef& node) const {
    const OpDef* op = OpRegistry::global().find(node.op);
    // The library's own ops with state, such as datasets, hold what a GraphDef cannot contain.
    const bool is_made_here =
        op != nullptr && op->effect == Effect::stateful && op->name.starts_with('_');
    if (op != nullptr && !op->plan_only && !is_made_here) return *op;
    throw errors::NotFoundError(fmt::format("Op type not registered '{}'", node.op),
                                {.site = site_, .node = node.name, .op = node.op});
  }

  Tensor input(const NodeDef& node, std::size_t place, std::size_t k) {
    if (const Tensor* tensor = mapped(node.input[k])) return *tensor;
    const InputName& name = inputs_[place][k];
    const Operation& op = made_[places_.at(name.node)];
    if (name.output >= op.num_outputs()) {
      fail(node, fmt::format("is connected to the invalid output {} of node '{}', which has {}",
                             name.output, name.node, op.num_outputs()));
    }
    return op.output(name.output);
  }

  Operation add(std::size_t place, const std::vector<Node*>& control) {
    const NodeDef& node = def_.node[place];
    const OpDef& op = op_of(node);
    NodeSpec spec{.op = node.op, .name = names_.at(node.name) + "/", .site = site_};
    for (std::size_t k = 0; k < node.input.size(); ++k) {
      if (k > 0 && is_back_edge(place, k) && mapped(node.input[k]) == nullptr) {
        spec.inputs.push_back(spec.inputs[0]);  // until the other exists
        back_edges_.emplace_back(place, k);
      } else if (!inputs_[place][k].control) {
        spec.inputs.push_back(input(node, place, k));
      } else if (mapped(node.input[k]) == nullptr) {
        spec.control_inputs.push_back(&made_[places_.at(inputs_[place][k].node)].node());
      } else {
        spec.control_inputs.push_back(&mapped(node.input[k])->node());
      }
    }
    spec.control_inputs.insert(spec.control_inputs.end(), control.begin(), control.end());
    const std::vector<std::string> groups = colocation_groups(node);
    std::optional<DeviceScope> outside, device;
    const bool beside_others = is_beside_others(groups, names_.at(node.name));
    if (!groups.empty()) outside.emplace(graph_, DeviceLevel());
    try {
      spec.attrs = parse_attributes(op, node.attr, names_.at(node.name), spec.inputs);
      if (!beside_others && !node.device.empty())
        device.emplace(graph_, DeviceSpec::parse(node.device, site_), site_);
      const Operation made = graph_.add(std::move(spec));
      complete(node, made, groups);
      return made;
    } catch (const errors::OpError&) {
      throw;
    } catch (const Error& error) {  // TypeErrors too: the GraphDef is at fault
      ErrorDetail detail = error.detail();
      detail.site = site_;
      detail.node = node.name;
      detail.op = node.op;
      throw ValueError(error.message(), detail);
    }
  }

  /// Returns the groups that a NodeDef names, under the names that their nodes have here.
  std::vector<std::string> colocation_groups(const NodeDef& node) const {
    const auto at = node.attr.find("_class");
    if (at == node.attr.end()) return {};
    const auto* given = at->second.get_if<std::vector<std::string>>();
    if (given == nullptr) fail(node, "has an attribute '_class' that is not a list of strings");
    std::vector<std::string> groups;
    for (const std::string& group : *given) {
      if (!group.starts_with(kColocationPrefix)) continue;
      const auto beside = names_.find(group.substr(kColocationPrefix.size()));
      if (beside == names_.end()) {
        fail(node, fmt::format("expects to be colocated with unknown node '{}'",
                               group.substr(kColocationPrefix.size())));
      }
      groups.push_back(std::string(kColocationPrefix) + beside->second);
    }
    return groups;
  }

  /// Returns whether groups of a node are those of other nodes.
  static bool is_beside_others(const std::vector<std::string>& groups, const std::string& name) {
    return std::any_of(groups.begin(), groups.end(), [&](const std::string& group) {
      return std::string_view(group).substr(kColocationPrefix.size()) != name;
    });
  }

  /// Gives a node beside others the device of the first of them that has one. The node's own device
  /// in the GraphDef does not count.
  void move_beside_others(Node& made) const {
    for (const std::string& group : made.colocation_groups) {
      const std::string other = group.substr(kColocationPrefix.size());
      if (other == made.name) continue;
      made.device = graph_.get_operation_by_name(other).device();
      if (!made.device.empty()) return;
    }
  }

  void complete(const NodeDef& node, const Operation& op, const std::vector<std::string>& groups) {
    Node& made = op.node();
    if (!groups.empty()) made.colocation_groups = groups;
    const AttrMap attributes = node_attributes(made);
    for (const auto& [name, value] : node.attr) {
      const auto at = attributes.find(name);
      if (at == attributes.end() || name.starts_with('_') || is_same(value, at->second)) continue;
      throw ValueError(
          fmt::format("attribute '{}' is {}, but the inputs and the other attributes require {}",
                      name, attr_text(value), attr_text(at->second)));
    }
    if (const auto* override_name = known<std::string>(node, "_gradient_op_type")) {
      made.gradient_op_type = *override_name;
    }
    if (const auto* shapes = known<std::vector<Shape>>(node, "_output_shapes")) {
      for (std::size_t i = 0; i < std::min(shapes->size(), op.num_outputs()); ++i) {
        op.output(i).set_shape((*shapes)[i], site_);
      }
    }
  }

  static bool is_same(const AttrValue& given, const AttrValue& made) {
    if (given == made) return true;
    return given.is_empty_list() && made.is_empty_list();  // their types are not stored
  }

  template <class T>
  static const T* known(const NodeDef& node, const char* name) {
    const auto at = node.attr.find(name);
    return at == node.attr.end() ? nullptr : at->second.get_if<T>();
  }

  Graph& graph_;
  const GraphDef& def_;
  const ImportGraphDefOptions& options_;
  Site site_;
  std::unordered_map<std::string, std::size_t> places_;  // indices of nodes in the GraphDef
  std::set<std::string> unused_;                         // keys of input_map not found yet
  std::vector<std::vector<InputName>> inputs_;
  std::vector<std::size_t> order_;
  std::unordered_map<std::string, std::string> names_;  // in the graph, by name in the GraphDef
  std::vector<Operation> made_;                         // by index in the GraphDef
  std::vector<std::pair<std::size_t, std::size_t>> back_edges_;  // nodes and their inputs
};

/// Returns the nodes that the options name.
std::set<std::string> named_nodes(const ImportGraphDefOptions& options) {
  std::set<std::string> names;
  for (const std::string& element : options.return_elements) {
    names.insert(parse_input(element).node);
  }
  for (const auto& [name, tensor] : options.input_map) names.insert(parse_input(name).node);
  return names;
}

}  // namespace

std::vector<Fetch> import_graph_def(const GraphDef& graph_def, ImportGraphDefOptions options,
                                    Site site) {
  Graph& graph = get_default_graph();
  const std::optional<GraphDef> read = read_forms(graph_def, named_nodes(options));
  Importer importer(graph, read ? *read : graph_def, options, site);
  {
    const GraphTrial trial(graph);  // finds errors before anything is added
    const NameScope scope(graph, "import", site);
    importer.build({});
    importer.returned();
  }
  const std::string name = options.name.value_or("import");
  const NameScope scope(graph, name.empty() ? std::nullopt : std::optional(name), site);
  const std::vector<Node*> control = graph.scopes().control_inputs_for({}).take();
  const SuspendedScopes closed(graph);
  const UnpublishedNodes unpublished(graph);
  importer.build(control);
  return importer.returned();
}

}  // namespace towerflow

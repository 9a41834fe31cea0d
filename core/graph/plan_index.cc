#include "core/graph/plan_index.h"

#include <algorithm>

#include "core/graph/plan_graph.h"

namespace towerflow {
namespace {

/// Returns the variables that a node writes.
std::vector<int> variables_written_by(const PlanGraph& graph, const PlanNode& node) {
  std::vector<int> variables;
  for (const int written : node.op->written) {
    variables.push_back(graph.root_variable(node.inputs[static_cast<std::size_t>(written)]));
  }
  return variables;
}

}  // namespace

PlanIndex::PlanIndex(const PlanGraph& graph)
    : uses_(graph.nodes.size()),
      node_records_(graph.nodes.size()),
      awaited_(graph.nodes.size(), 0) {
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    uses_[i].resize(graph.nodes[i].outputs.size());
    if (!graph.nodes[i].dead) add_node(graph, static_cast<int>(i));
  }
  for (const ValueId fetch : graph.fetches) {
    if (fetch.node < 0) continue;
    ++uses_of(fetch).count;
    ++uses_of(fetch).fetches;
  }
  for (const int target : graph.targets) ++awaited_[static_cast<std::size_t>(target)];
}

void PlanIndex::update(const PlanGraph& graph, int node) {
  remove_node(node);
  if (!graph.nodes[static_cast<std::size_t>(node)].dead) add_node(graph, node);
}

bool PlanIndex::is_current(const PlanGraph& graph, int node) const {
  const PlanNode& reading = graph.nodes[static_cast<std::size_t>(node)];
  const NodeRecord& noted = node_records_[static_cast<std::size_t>(node)];
  const auto first = reads_.begin() + noted.first_read;
  return std::equal(reading.inputs.begin(), reading.inputs.end(), first, first + noted.reads,
                    [](ValueId input, const Read& read) { return input == read.value; }) &&
         reading.control == noted.control && variables_written_by(graph, reading) == noted.written;
}

bool PlanIndex::is_fetched(ValueId value) const {
  const Uses* uses = known(value);
  return uses != nullptr && uses->fetches > 0;
}

int PlanIndex::uses(ValueId value) const {
  const Uses* uses = known(value);
  return uses == nullptr ? 0 : uses->count;
}

int PlanIndex::only_reader(ValueId value) const {
  const Uses* uses = known(value);
  if (uses == nullptr || uses->first < 0) return -1;
  const int reader = reads_[static_cast<std::size_t>(uses->first)].reader;
  for (int at = uses->first; at >= 0; at = reads_[static_cast<std::size_t>(at)].next) {
    if (reads_[static_cast<std::size_t>(at)].reader != reader) return -1;
  }
  return reader;
}

bool PlanIndex::written_between(int variable, int first, int last) const {
  const auto writer = writers_.upper_bound({variable, first});
  return writer != writers_.end() && writer->first == variable && writer->second < last;
}

PlanIndex::Uses& PlanIndex::uses_of(ValueId value) {
  std::vector<Uses>& outputs = uses_[static_cast<std::size_t>(value.node)];
  const auto output = static_cast<std::size_t>(value.output);
  if (output >= outputs.size()) outputs.resize(output + 1);  // a rewrite has added one
  return outputs[output];
}

const PlanIndex::Uses* PlanIndex::known(ValueId value) const {
  const std::vector<Uses>& outputs = uses_[static_cast<std::size_t>(value.node)];
  const auto output = static_cast<std::size_t>(value.output);
  return output < outputs.size() ? &outputs[output] : nullptr;
}

void PlanIndex::add_node(const PlanGraph& graph, int node) {
  const PlanNode& reading = graph.nodes[static_cast<std::size_t>(node)];
  NodeRecord& noted = node_records_[static_cast<std::size_t>(node)];
  noted.first_read = static_cast<int>(reads_.size());
  noted.reads = static_cast<int>(reading.inputs.size());
  for (const ValueId input : reading.inputs) {
    Uses& uses = uses_of(input);
    const auto at = static_cast<int>(reads_.size());
    reads_.push_back({input, node, -1, uses.first});
    if (uses.first >= 0) reads_[static_cast<std::size_t>(uses.first)].before = at;
    uses.first = at;
    ++uses.count;
  }
  noted.control = reading.control;
  for (const int awaited : noted.control) ++awaited_[static_cast<std::size_t>(awaited)];
  noted.written = variables_written_by(graph, reading);
  for (const int variable : noted.written) writers_.insert({variable, node});
}

void PlanIndex::remove_node(int node) {
  NodeRecord& noted = node_records_[static_cast<std::size_t>(node)];
  for (int at = noted.first_read; at < noted.first_read + noted.reads; ++at) {
    const Read read = reads_[static_cast<std::size_t>(at)];
    Uses& uses = uses_of(read.value);
    (read.before < 0 ? uses.first : reads_[static_cast<std::size_t>(read.before)].next) = read.next;
    if (read.next >= 0) reads_[static_cast<std::size_t>(read.next)].before = read.before;
    --uses.count;
  }
  for (const int awaited : noted.control) --awaited_[static_cast<std::size_t>(awaited)];
  for (const int variable : noted.written) writers_.erase({variable, node});
  noted = {};
}

}  // namespace towerflow

// The pass that makes every edge between two memories one visible copy.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "core/runtime/passes.h"

namespace towerflow {
namespace {

/// What stands for a copy in a plan; it has no kernel, the queue does it.
const OpDef& copy_op() {
  static const OpDef def{
      .name = "_Copy", .shape = {}, .gradient = NoGradient{"plans alone hold it"}};
  return def;
}

int to_int(std::size_t index) { return static_cast<int>(index); }

/// Walks the nodes in order and writes them anew, copies among them.
class CopyInserter {
 public:
  CopyInserter(PlanGraph& graph, const DeviceSet& devices) : graph_(graph), devices_(devices) {}

  std::vector<Transfer> run() {
    find_reads_by_writers();
    old_ = std::exchange(graph_.nodes, {});
    place_of_.assign(old_.size(), -1);
    for (std::size_t i = 0; i < old_.size(); ++i) move(static_cast<int>(i));
    for (ValueId& fetch : graph_.fetches) {
      if (fetch.node >= 0) fetch = in_memory_of(moved(fetch), devices_.host(), "(fetched)");
    }
    for (int& target : graph_.targets) target = place_of_[static_cast<std::size_t>(target)];
    return std::move(transfers_);
  }

 private:
  struct Copy {
    int node = -1;
    std::size_t transfer = 0;
  };

  /// The reads of a variable that something which writes it takes as an input.
  void find_reads_by_writers() {
    for (const PlanNode& node : graph_.nodes) {
      if (node.dead) continue;
      for (const int written : node.op->written) {
        const int variable = graph_.variable_behind(node.inputs[static_cast<std::size_t>(written)]);
        for (const ValueId input : node.inputs) {
          if (input.node != variable && graph_.variable_behind(input) == variable) {
            read_by_writers_.insert(input.node);
          }
        }
      }
    }
  }

  ValueId moved(ValueId value) const {
    return {place_of_[static_cast<std::size_t>(value.node)], value.output};
  }

  void move(int index) {
    PlanNode node = old_[static_cast<std::size_t>(index)];
    for (int& control : node.control) control = place_of_[static_cast<std::size_t>(control)];
    for (ValueId& input : node.inputs) input = moved(input);
    if (!node.dead) bring_inputs(node);
    graph_.find_variable(node);
    std::vector<int> written;
    for (const int input : node.op->written) {
      if (!node.dead) {
        written.push_back(graph_.variable_behind(node.inputs[static_cast<std::size_t>(input)]));
      }
    }
    place_of_[static_cast<std::size_t>(index)] = to_int(graph_.nodes.size());
    if (read_by_writers_.contains(index))
      values_of_their_place_.insert(to_int(graph_.nodes.size()));
    graph_.nodes.push_back(std::move(node));
    for (const int variable : written) refresh(variable);
  }

  /// Copies what the node's device does not see; what its kernel reads on the host comes there.
  void bring_inputs(PlanNode& node) {
    if (node.inputs.empty()) return;
    const Device& device = devices_[node.device];
    const KernelEntry* entry = nullptr;
    if (!device.on_host())
      entry = device.backend->find_kernel(kernel_request(graph_, node, device));
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const bool on_host = entry != nullptr && entry->reads_on_host(static_cast<int>(i));
      node.inputs[i] =
          in_memory_of(node.inputs[i], on_host ? devices_.host() : node.device, name_of(node));
    }
  }

  static std::string name_of(const PlanNode& node) { return node.origin->name; }

  /// The memory that a value lies in; -1 where it is known, and so anywhere.
  int device_of(ValueId value) const {
    const PlanNode& node = graph_.node(value);
    if (node.is_known(static_cast<std::size_t>(value.output))) return -1;
    if (node.lane == Lane::download) return devices_.host();
    return node.device;
  }

  ValueId in_memory_of(ValueId value, int device, const std::string& reader) {
    const int from = device_of(value);
    if (from < 0 || devices_[from].space() == devices_[device].space()) return value;
    const int variable = graph_.variable_behind(value);
    const bool replica = variable >= 0 && !devices_[device].on_host() && is_plain_read(value);
    const std::pair key(replica ? ValueId{variable, 0} : value, device);
    auto found = copies_.find(key);
    if (found == copies_.end()) {
      found = copies_.emplace(key, add_copy(value, from, device, replica)).first;
    }
    auto& readers = transfers_[found->second.transfer].readers;
    if (readers.empty() || readers.back() != reader) readers.push_back(reader);
    return {found->second.node, 0};
  }

  /// Whether the value is a variable's own read, which means the value at the place of each reader:
  /// it waits for nothing itself, and nobody who reads it writes the variable.
  bool is_plain_read(ValueId value) const {
    const PlanNode& node = graph_.node(value);
    if (node.op->effect == Effect::variable) return true;
    return node.own_read && !values_of_their_place_.contains(value.node);
  }

  Copy add_copy(ValueId value, int from, int device, bool replica) {
    const PlanNode& producer = graph_.node(value);
    const OutputSpec& spec = graph_.spec(value);
    PlanNode copy;
    copy.op = &copy_op();
    copy.inputs = {value};
    graph_.find_variable(copy);
    copy.outputs = {{spec.dtype, spec.shape, false}};
    copy.values.resize(1);
    copy.origin = producer.origin;
    // The device that is no host has the engines; between two of them the one that receives.
    const bool down = devices_[device].on_host();
    copy.device = down ? from : device;
    copy.lane = down ? Lane::download : Lane::upload;
    copy.replica = replica;
    const auto bytes = static_cast<std::size_t>(spec.shape.elements()) * dtype_size(spec.dtype);
    const int variable = graph_.variable_behind(value);
    const PlanNode& named = replica ? graph_.nodes[static_cast<std::size_t>(variable)] : producer;
    transfers_.push_back(
        {named.origin->name, devices_[from].name, devices_[device].name, {}, bytes, replica});
    graph_.nodes.push_back(std::move(copy));
    return {to_int(graph_.nodes.size()) - 1, transfers_.size() - 1};
  }

  /// After a variable has changed: what was copied of it before is old, and each replica follows at
  /// once, ahead of whoever reads it next, in this run or a later one.
  void refresh(int variable) {
    const ValueId master{variable, 0};
    for (auto at = copies_.lower_bound({master, -1}); at != copies_.end(); ++at) {
      auto& [key, copy] = *at;
      if (key.first != master) break;
      PlanNode& first = graph_.nodes[static_cast<std::size_t>(copy.node)];
      if (!first.replica) continue;
      PlanNode again = first;
      again.inputs = {master};
      graph_.find_variable(again);
      copy.node = to_int(graph_.nodes.size());
      graph_.nodes.push_back(std::move(again));
    }
  }

  PlanGraph& graph_;
  const DeviceSet& devices_;
  std::vector<PlanNode> old_;
  std::vector<int> place_of_;                       // old node -> new
  std::set<int> read_by_writers_;                   // old nodes
  std::set<int> values_of_their_place_;             // the same, new
  std::map<std::pair<ValueId, int>, Copy> copies_;  // by value and device
  std::vector<Transfer> transfers_;
};

}  // namespace

std::vector<Transfer> insert_copies(PlanGraph& graph, const DeviceSet& devices, PassLog& log) {
  const bool one_memory = std::all_of(
      graph.nodes.begin(), graph.nodes.end(),
      [&](const PlanNode& node) { return node.dead || devices[node.device].on_host(); });
  if (one_memory) return {};
  std::vector<Transfer> transfers = CopyInserter(graph, devices).run();
  std::size_t bytes = 0;
  for (const Transfer& transfer : transfers) bytes += transfer.bytes;
  log.add(fmt::format("copy: {} values cross between memories, {} bytes", transfers.size(), bytes));
  return transfers;
}

}  // namespace towerflow

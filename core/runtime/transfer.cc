// The pass that turns every edge between two memories into an explicit copy.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "core/runtime/passes.h"

namespace towerflow {
namespace {

/// The op of a copy in a plan. It has no kernel, since the queue does the copy.
const OpDef& copy_op() {
  static const OpDef def{
      .name = "_Copy", .shape = {}, .gradient = NoGradient{"it exists in plans only"}};
  return def;
}

int to_int(std::size_t index) { return static_cast<int>(index); }

/// Copies the nodes in order to a new list and inserts copies between memories.
class CopyInserter {
 public:
  CopyInserter(PlanGraph& graph, const DeviceSet& devices) : graph_(graph), devices_(devices) {}

  std::vector<Transfer> run() {
    find_reads_by_writers();
    for (const ValueId fetch : graph_.fetches) fetched_.insert(fetch.node);
    old_ = std::exchange(graph_.nodes, {});
    new_index_of_.assign(old_.size(), -1);
    for (std::size_t i = 0; i < old_.size(); ++i) move(static_cast<int>(i));
    for (ValueId& fetch : graph_.fetches) {
      if (fetch.node >= 0) fetch = fetched_value(renumbered(fetch));
    }
    for (int& target : graph_.targets) target = new_index_of_[static_cast<std::size_t>(target)];
    return std::move(transfers_);
  }

 private:
  static constexpr const char* kFetched = "(fetched)";

  struct Copy {
    int node = -1;
    std::size_t transfer = 0;
  };

  /// Collects the reads of a variable that are inputs of a node that writes it.
  void find_reads_by_writers() {
    for (const PlanNode& node : graph_.nodes) {
      if (node.dead) continue;
      for (const int written : node.op->written) {
        const int variable = graph_.root_variable(node.inputs[static_cast<std::size_t>(written)]);
        for (const ValueId input : node.inputs) {
          if (input.node != variable && graph_.root_variable(input) == variable) {
            read_by_writers_.insert(input.node);
          }
        }
      }
    }
  }

  ValueId renumbered(ValueId value) const {
    return {new_index_of_[static_cast<std::size_t>(value.node)], value.output};
  }

  void renumber(Guards& guards) const {
    for (Guard& guard : guards) guard.pred = new_index_of_[static_cast<std::size_t>(guard.pred)];
    std::sort(guards.begin(), guards.end());
  }

  void move(int index) {
    PlanNode node = old_[static_cast<std::size_t>(index)];
    for (int& control : node.control) control = new_index_of_[static_cast<std::size_t>(control)];
    for (ValueId& input : node.inputs) input = renumbered(input);
    renumber(node.guards);
    for (Guards& choice : node.choices) renumber(choice);
    const std::vector<int> written = variables_written_by(node);
    const std::vector<int> mirrors = devices_that_mirror(node, written);
    for (const int device : mirrors) {
      PlanNode mirror = node;
      mirror.device = device;
      mirror.mirrors = true;
      copy_inputs_to_device(mirror);
      for (const int variable : written) {
        transfers_[copies_.at({{variable, 0}, device}).transfer].mirrored = true;
      }
      graph_.update_input_variable(mirror);
      graph_.nodes.push_back(std::move(mirror));
    }
    if (!node.dead) copy_inputs_to_device(node);
    graph_.update_input_variable(node);
    new_index_of_[static_cast<std::size_t>(index)] = to_int(graph_.nodes.size());
    old_index_of_[to_int(graph_.nodes.size())] = index;
    if (read_by_writers_.contains(index))
      reads_at_own_position_.insert(to_int(graph_.nodes.size()));
    const bool own_read = node.own_read && !node.dead;
    graph_.nodes.push_back(std::move(node));
    if (own_read && fetched_.contains(index)) {
      copy_fetched_read(new_index_of_[static_cast<std::size_t>(index)]);
    }
    for (const int variable : written) refresh(variable, mirrors);
  }

  std::vector<int> variables_written_by(const PlanNode& node) const {
    std::vector<int> written;
    for (const int input : node.op->written) {
      if (node.dead) break;
      written.push_back(graph_.root_variable(node.inputs[static_cast<std::size_t>(input)]));
    }
    return written;
  }

  /// Returns the devices that run an update of mirrored variables themselves: those that have read
  /// the first of them, if they have a kernel of it. The update must run at the variables' home.
  std::vector<int> devices_that_mirror(const PlanNode& node,
                                       const std::vector<int>& written) const {
    std::vector<int> devices;
    if (written.empty() || node.op->effect != Effect::writes_variable) return devices;
    for (const int variable : written) {
      const bool here = variable >= 0 && device_of_variable(variable) == node.device;
      if (!here || devices_[node.device].on_host() || !graph_.is_mirrored(variable)) return devices;
    }
    const ValueId master{written.front(), 0};
    for (auto at = copies_.lower_bound({master, -1}); at != copies_.end(); ++at) {
      const auto& [key, copy] = *at;
      if (key.first != master) break;
      const Device& device = devices_[key.second];
      if (device.on_host() || !is_filled_for(copy, node.guards)) continue;
      const KernelRequest request = kernel_request(graph_, node, device);
      if (device.backend->find_kernel(request) != nullptr) devices.push_back(key.second);
    }
    return devices;
  }

  /// A fetched own read of a variable has the variable's value at the position of the read, so it
  /// is copied there.
  void copy_fetched_read(int node) {
    const ValueId value{node, 0};
    const int from = device_of(value);
    if (from < 0 || devices_[from].on_host()) return;
    copies_.emplace(std::pair(value, devices_.host()),
                    add_copy(value, from, devices_.host(), false));
  }

  ValueId fetched_value(ValueId fetch) {
    const auto copied = copies_.find({fetch, devices_.host()});
    if (copied == copies_.end() || !graph_.node(fetch).own_read) {
      return value_in_memory_of(fetch, devices_.host(), kFetched, {});
    }
    note_reader(copied->second, kFetched);
    return {copied->second.node, 0};
  }

  /// Inserts copies of the inputs that the node's device cannot access. Inputs that its kernel
  /// reads on the host are copied there.
  void copy_inputs_to_device(PlanNode& node) {
    if (node.inputs.empty()) return;
    const Device& device = devices_[node.device];
    const KernelEntry* entry = nullptr;
    if (!device.on_host())
      entry = device.backend->find_kernel(kernel_request(graph_, node, device));
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (contains_input(node.op->name_only_inputs, i)) continue;
      const bool on_host = entry != nullptr && entry->reads_on_host(static_cast<int>(i));
      const bool writes = contains_input(node.op->written, i);
      const bool allows_uninitialized = writes || contains_input(node.op->maybe_uninitialized, i);
      if (writes && !node.mirrors) note_write(node.inputs[i], node);
      node.inputs[i] =
          value_in_memory_of(node.inputs[i], on_host ? devices_.host() : node.device, name_of(node),
                             node.is_merge() ? node.choices[i] : node.guards, allows_uninitialized);
    }
  }

  /// Notes the transfer of a write by the host of a variable stored elsewhere: the host's replica
  /// is written, then copied to the variable's home.
  void note_write(ValueId ref, const PlanNode& writer) {
    const int variable = graph_.root_variable(ref);
    if (variable < 0) return;
    const Device &home = devices_[device_of_variable(variable)], &host = devices_[writer.device];
    if (home.space() == host.space()) return;
    const PlanNode& node = graph_.nodes[static_cast<std::size_t>(variable)];
    const std::size_t bytes = node.outputs[0].shape.bytes(dtype_size(node.outputs[0].dtype));
    transfers_.push_back(
        {node.origin->name, host.name, home.name, {name_of(writer)}, bytes, false});
  }

  /// Returns the same value as another device computes it; nullopt if it does not.
  std::optional<ValueId> twin_of(ValueId value, int device) const {
    const auto old = old_index_of_.find(value.node);
    if (graph_.twins.empty() || old == old_index_of_.end()) return std::nullopt;
    const auto twin = graph_.twins.find({{old->second, value.output}, device});
    return twin == graph_.twins.end() ? std::nullopt : std::optional(renumbered(twin->second));
  }

  static std::string name_of(const PlanNode& node) { return node.origin->name; }

  /// Returns the device whose memory a value is in; -1 if it is known, and so available everywhere.
  int device_of(ValueId value) const {
    const PlanNode& node = graph_.node(value);
    if (node.is_known(static_cast<std::size_t>(value.output))) return -1;
    if (node.lane == Lane::download) return devices_.host();
    const int variable = graph_.spec(value).is_ref ? graph_.root_variable(value) : -1;
    return variable < 0 ? node.device : device_of_variable(variable);
  }

  int device_of_variable(int variable) const {
    return graph_.nodes[static_cast<std::size_t>(variable)].device;
  }

  /// Returns a value, or a copy of it, in the memory of a device. `guards` are the reader's.
  ValueId value_in_memory_of(ValueId value, int device, const std::string& reader,
                             const Guards& guards, bool allows_uninitialized = false) {
    const int from = device_of(value);
    if (from < 0 || devices_[from].space() == devices_[device].space()) return value;
    const int variable = graph_.root_variable(value);
    if (variable >= 0 && is_plain_read(value)) {
      return replica_of(variable, value, device, reader, guards, allows_uninitialized);
    }
    if (goes_through_host(from, device)) {
      const ValueId there = value_in_memory_of(value, devices_.host(), reader, guards);
      return value_in_memory_of(there, device, reader, guards);
    }
    const std::pair key(value, device);
    if (const auto twin = twin_of(value, device)) return *twin;
    auto found = copies_.find(key);
    if (found == copies_.end()) {
      found = copies_.emplace(key, add_copy(value, from, device, false)).first;
    }
    note_reader(found->second, reader);
    return {found->second.node, 0};
  }

  /// Returns what a device reads of the variable that `value` reads: the variable itself if its
  /// home is in the same memory, else a replica. A reader in a branch shares the filling of a
  /// replica only with readers that run if it does, since the variable may have no value otherwise.
  ValueId replica_of(int variable, ValueId value, int device, const std::string& reader,
                     const Guards& guards, bool allows_uninitialized) {
    const int home = device_of_variable(variable);
    const ValueId master{variable, 0};
    if (devices_[device].on_host()) device = devices_.host();
    if (devices_[device].space() == devices_[home].space()) return master;
    auto found = copies_.find({master, device});
    if (found == copies_.end() || !is_filled_for(found->second, guards)) {
      if (device_of(value) != home) value = master;
      int from = home;
      if (goes_through_host(home, device)) {
        from = devices_.host();
        value = replica_of(variable, value, from, reader, guards, allows_uninitialized);
      }
      const Copy copy = add_copy(value, from, device, true);
      graph_.nodes[static_cast<std::size_t>(copy.node)].guards = guards;
      found = copies_.insert_or_assign(std::pair(master, device), copy).first;
    }
    if (allows_uninitialized)
      graph_.nodes[static_cast<std::size_t>(found->second.node)].allows_uninitialized = true;
    note_reader(found->second, reader);
    return {found->second.node, 0};
  }

  /// Returns whether a replica is filled whenever a reader with these guards runs.
  bool is_filled_for(const Copy& copy, const Guards& guards) const {
    const Guards& filled = graph_.nodes[static_cast<std::size_t>(copy.node)].guards;
    return std::includes(guards.begin(), guards.end(), filled.begin(), filled.end());
  }

  /// Returns whether a copy must go through the host: copy engines reach only the host and devices
  /// of their own backend.
  bool goes_through_host(int from, int to) const {
    const Device &source = devices_[from], &target = devices_[to];
    return !source.on_host() && !target.on_host() && source.backend != target.backend;
  }

  void note_reader(const Copy& copy, const std::string& reader) {
    auto& readers = transfers_[copy.transfer].readers;
    if (readers.empty() || readers.back() != reader) readers.push_back(reader);
  }

  /// Returns whether a read of a variable has the variable's value at the position of each reader.
  /// A reference does, and so does the variable's own read, which has no control inputs, unless one
  /// of its readers writes the variable.
  bool is_plain_read(ValueId value) const {
    return graph_.spec(value).is_ref ||
           (graph_.node(value).own_read && !reads_at_own_position_.contains(value.node));
  }

  Copy add_copy(ValueId value, int from, int device, bool replica) {
    const PlanNode& producer = graph_.node(value);
    const OutputSpec& spec = graph_.spec(value);
    PlanNode copy;
    copy.op = &copy_op();
    copy.inputs = {value};
    graph_.update_input_variable(copy);
    copy.outputs = {{spec.dtype, spec.shape, false}};
    copy.values.resize(1);
    copy.origin = producer.origin;
    copy.guards = producer.guards;
    // The device that is not the host has the copy engines; of two devices, the receiver copies.
    const bool down = devices_[device].on_host();
    copy.device = down ? from : device;
    copy.lane = down ? Lane::download : Lane::upload;
    copy.replica = replica;
    const auto bytes = static_cast<std::size_t>(spec.shape.elements()) * dtype_size(spec.dtype);
    const int variable = graph_.root_variable(value);
    const PlanNode& named = replica ? graph_.nodes[static_cast<std::size_t>(variable)] : producer;
    transfers_.push_back(
        {named.origin->name, devices_[from].name, devices_[device].name, {}, bytes, replica});
    graph_.nodes.push_back(std::move(copy));
    return {to_int(graph_.nodes.size()) - 1, transfers_.size() - 1};
  }

  /// Refreshes the replicas of a variable that has changed, before their next readers in this run
  /// or a later one, except on devices that have changed them as well. The host's comes first,
  /// since others may be filled from it.
  void refresh(int variable, const std::vector<int>& changed) {
    const ValueId master{variable, 0};
    const auto fill = [&](int device, Copy& copy) {
      if (std::find(changed.begin(), changed.end(), device) != changed.end()) return;
      PlanNode again = graph_.nodes[static_cast<std::size_t>(copy.node)];
      if (!again.replica) return;
      const bool from_host = goes_through_host(device_of_variable(variable), device);
      again.inputs = {from_host ? ValueId{copies_.at({master, devices_.host()}).node, 0} : master};
      graph_.update_input_variable(again);
      copy.node = to_int(graph_.nodes.size());
      graph_.nodes.push_back(std::move(again));
    };
    const auto on_host = copies_.find({master, devices_.host()});
    if (on_host != copies_.end()) fill(devices_.host(), on_host->second);
    for (auto at = copies_.lower_bound({master, -1}); at != copies_.end(); ++at) {
      auto& [key, copy] = *at;
      if (key.first != master) break;
      if (key.second != devices_.host()) fill(key.second, copy);
    }
  }

  PlanGraph& graph_;
  const DeviceSet& devices_;
  std::vector<PlanNode> old_;
  std::vector<int> new_index_of_;                   // old node -> new node
  std::map<int, int> old_index_of_;                 // new node -> old node
  std::set<int> read_by_writers_;                   // old nodes
  std::set<int> fetched_;                           // old nodes
  std::set<int> reads_at_own_position_;             // new nodes of read_by_writers_
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

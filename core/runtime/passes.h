#pragma once

#include <map>
#include <string>

#include "core/graph/rewrite.h"
#include "core/runtime/colocation.h"
#include "core/runtime/device_set.h"

namespace towerflow {

/// The devices that are homes of variables, by name: a home is chosen by the first plan of a
/// session that has the variable, and stays what it is.
using HomeDevices = std::map<std::string, int>;

/// Pass 2: a device for every node, by what was asked, colocation and the kernels there are.
std::vector<Placement> place(PlanGraph& graph, const DeviceSet& devices,
                             const ColocationGroups& groups, HomeDevices& homes, bool soft,
                             PassLog& log);

/// The end of pass 2: moves nodes with late outputs to the host, where memory can be allocated
/// while a run is in progress.
void move_late_to_host(PlanGraph& graph, const DeviceSet& devices, std::vector<Placement>& ledger,
                       PassLog& log);

/// Pass: a node that must wait for a pure one waits for the effects behind that one instead, so
/// that what is awaited but read by nobody is not computed: `gate_gradients` asks for such.
void drop_unread(PlanGraph& graph, PassLog& log);

/// Pass: computes what depends on constants alone, up to `kFoldedBytes` an output.
inline constexpr std::size_t kFoldedBytes = 64 * 1024;
void fold_constants(PlanGraph& graph, const DeviceSet& devices, PassLog& log);

/// Pass: lets equal pure nodes on one device be computed once.
void share_subexpressions(PlanGraph& graph, PassLog& log);

/// Pass 4: applies the registered rules that `options` does not skip. What a rule makes of a node
/// is taken only if the node's device has a kernel for it.
void apply_rewrites(PlanGraph& graph, const DeviceSet& devices, const PassOptions& options,
                    PassLog& log);

/// Pass 3: each edge between two memories becomes one copy, shared by those that read it there;
/// reads of a variable away from its home become reads of a replica, refreshed as soon as the
/// variable has changed. What the host writes of a variable that lives elsewhere becomes a write of
/// the host's replica. Last of the passes on the graph, so that no rewrite has to look through
/// copies.
std::vector<Transfer> insert_copies(PlanGraph& graph, const DeviceSet& devices, PassLog& log);

/// The kernel request of a node with what is known of it now.
KernelRequest kernel_request(const PlanGraph& graph, const PlanNode& node, const Device& device);

/// The entry for a node on its device; throws InvalidArgumentError naming op and dtypes.
const KernelEntry& kernel_for(const PlanGraph& graph, const PlanNode& node, const Device& device);

}  // namespace towerflow

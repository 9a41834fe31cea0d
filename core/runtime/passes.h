#pragma once

#include <map>
#include <string>

#include "core/graph/rewrite.h"
#include "core/runtime/colocation.h"
#include "core/runtime/device_set.h"

namespace towerflow {

/// The home devices of variables, by name. The first plan of a session that uses a variable chooses
/// its home, which then never changes.
using HomeDevices = std::map<std::string, int>;

/// Pass 2: chooses a device for every node by its request, its colocation group and the available
/// kernels. `worker` is that of RunOptions.
std::vector<Placement> place(PlanGraph& graph, const DeviceSet& devices,
                             const ColocationGroups& groups, HomeDevices& homes, bool soft,
                             PassLog& log, int worker = 0);

/// End of pass 2: moves nodes whose shapes or static inputs are known only during the run to the
/// host, where memory can be allocated at that time.
void move_late_to_host(PlanGraph& graph, const DeviceSet& devices, std::vector<Placement>& ledger,
                       PassLog& log);

/// Pass: replaces control dependencies on pure nodes by dependencies on the effects behind them, so
/// that nodes that are awaited but whose outputs nobody reads, as with `gate_gradients`, are not
/// computed.
void drop_unread(PlanGraph& graph, PassLog& log);

/// Pass: computes nodes that depend only on constants and have at most `kFoldedBytes` of output.
inline constexpr std::size_t kFoldedBytes = 64 * 1024;
void fold_constants(PlanGraph& graph, const DeviceSet& devices, PassLog& log);

/// Pass: merges equal pure nodes on one device.
void share_subexpressions(PlanGraph& graph, PassLog& log);

/// Pass 4: applies the registered rewrite rules that `options` does not skip. A rewritten node is
/// accepted only if its device has a kernel for it.
void apply_rewrites(PlanGraph& graph, const DeviceSet& devices, const PassOptions& options,
                    PassLog& log);

/// Pass 3: replaces each edge between two memories by a copy, shared by all readers in the target
/// memory. Reads of a variable away from its home become reads of a replica, which is refreshed as
/// soon as the variable has changed. A write by the host of a variable stored elsewhere becomes a
/// write of the host's replica. Runs after the other passes on the graph, so that rewrites need not
/// look through copies.
std::vector<Transfer> insert_copies(PlanGraph& graph, const DeviceSet& devices, PassLog& log);

/// Returns the kernel request of a node, with the shapes and values that are known so far.
KernelRequest kernel_request(const PlanGraph& graph, const PlanNode& node, const Device& device);

/// Returns the kernel entry for a node on its device. Throws InvalidArgumentError naming the op and
/// its inputs if there is none.
const KernelEntry& kernel_for(const PlanGraph& graph, const PlanNode& node, const Device& device);

}  // namespace towerflow

#pragma once

#include <cstdint>

#include "core/device/resource_store.h"

namespace towerflow {

/// The version of a variable's value: the number of writes in the low bits, and above them a hash
/// of these writes. Copies of a variable have one version only if the same writes have made them.

/// Returns how many writes a version counts.
inline std::uint64_t writes_of(std::uint64_t version) { return version & 0xffffffff; }

/// Throws FailedPreconditionError if a variable has no value.
void require_initialized(const VariableStorage& storage);

/// Returns whether a replica has the current value of its source.
bool is_current(const VariableStorage& replica, const VariableStorage& source);
/// Notes that a replica has been filled.
void mark_current(VariableStorage& replica, const VariableStorage& source);
/// Notes write number `write`. The new version depends on the old one and on the write.
void mark_changed(VariableStorage& storage, std::uint64_t write);
/// Gives a storage whose write has failed a version that no other one has.
void mark_failed(VariableStorage& storage);

/// Returns a number that no other execution of a plan has.
std::uint64_t next_execution();

}  // namespace towerflow

#pragma once

namespace towerflow::testing {

/// A resource that a program takes from the system.
enum class ResourceKind {
  object,  ///< operator new
  block,   ///< values and arenas: aligned_alloc, mmap
  thread,  ///< a thread
};

/// Starts to count the resources that the program's own code takes on all threads, and refuses the
/// `number`th of this kind; 0 refuses none, -1 stops counting.
///
/// Requests of other libraries (oneDNN, OpenMP, protobuf, ..) are neither counted nor refused: some
/// of them end the process if they get no memory, which this project cannot change.
void fail_allocation(ResourceKind kind, long number);
/// Returns the number of counted requests of this kind.
long allocation_count(ResourceKind kind);

}  // namespace towerflow::testing

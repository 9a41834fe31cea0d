#pragma once

namespace towerflow::testing {

/// What a program takes from the system.
enum class Taken {
  object,  ///< operator new
  block,   ///< values and arenas: aligned_alloc, mmap
  thread,  ///< a thread
};

/// From now on what the program's own code takes is counted, on all threads, and the `number`th of
/// that kind is refused; 0 refuses none, -1 ends all that.
///
/// What another library asks for (oneDNN, OpenMP, protobuf, ..) is neither counted nor refused:
/// some of them end the process when they get no memory, which this project cannot change.
void fail_allocation(Taken kind, long number);
/// How many of that kind were counted.
long allocation_count(Taken kind);

}  // namespace towerflow::testing

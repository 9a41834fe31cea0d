#pragma once

#include <cstddef>
#include <functional>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

namespace towerflow::fuzz {

/// Every choice of a mutation, so that a seed repeats it.
using Random = std::mt19937_64;

/// Changes bytes that mean nothing to it: libFuzzer's own mutation, or plain_mutation. They stay at
/// most `most` bytes long.
using Mutate = std::function<void(std::string& bytes, std::size_t most)>;

/// One kind of input from outside: what reads it, and how it is changed below its checksums and
/// its compression, where changes of the bytes alone hardly get.
struct Target {
  const char* name;  ///< of the folders corpus/NAME and regressions/NAME
  /// Reads the input as the library's users would. A towerflow::Error is how bad input ends; throws
  /// Broken where results contradict each other.
  void (*read)(std::string_view bytes);
  void (*mutate)(std::string& bytes, std::size_t most, Random& random, const Mutate& plain);
};

extern const Target kTFRecord, kExample, kIdx, kCifar10, kCheckpoint, kState, kEvents, kGraph,
    kInspect;

/// All of them.
std::span<const Target* const> targets();

/// A promise of the library that an input shows to be broken.
class Broken : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

/// Throws Broken where `holds` is false.
void require(bool holds, const char* promise);

/// Reads the input and swallows the errors that bad input may have; whether there was none. What
/// else is thrown, an InternalError among it, is a find.
bool run(const Target& target, std::string_view bytes);

/// Calls `read` and swallows the same errors; whether there was none.
bool succeeds(const std::function<void()>& read);

/// One of the changes that find most: bits, numbers at the edge of their range, pieces taken out,
/// put in and copied.
void plain_mutation(std::string& bytes, std::size_t most, Random& random);

}  // namespace towerflow::fuzz

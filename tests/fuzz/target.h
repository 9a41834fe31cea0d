#pragma once

#include <cstddef>
#include <functional>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

namespace towerflow::fuzz {

/// The source of all random choices of a mutation, so that a seed reproduces it.
using Random = std::mt19937_64;

/// Mutates bytes without knowing their format, up to a length of `most`: libFuzzer's mutation or
/// plain_mutation.
using Mutate = std::function<void(std::string& bytes, std::size_t most)>;

/// One kind of external input: its reader, and a mutation of its contents below checksums and
/// compression, which byte mutations rarely get past.
struct Target {
  const char* name;  ///< name of its folders in corpus/ and regressions/
  /// Reads the input as the library's users would. Throws a towerflow::Error for bad input and
  /// Broken if results contradict each other.
  void (*read)(std::string_view bytes);
  void (*mutate)(std::string& bytes, std::size_t most, Random& random, const Mutate& plain);
};

extern const Target kTFRecord, kExample, kIdx, kCifar10, kCheckpoint, kState, kEvents, kGraph,
    kImage, kInspect;

/// Returns all targets.
std::span<const Target* const> targets();

/// Thrown if an input shows that the library breaks a promise.
class BrokenPromise : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

/// Throws Broken if `holds` is false.
void require(bool holds, const char* promise);

/// Reads the input, swallows the errors allowed for bad input and returns whether there was none.
/// Anything else that is thrown, such as an InternalError, is a find.
bool run(const Target& target, std::string_view bytes);

/// Calls `read`, swallows the same errors and returns whether there was none.
bool succeeds(const std::function<void()>& read);

/// Makes a few of the most effective changes: flipped bits, numbers at the limits of their range,
/// removed, inserted and copied pieces.
void plain_mutation(std::string& bytes, std::size_t most, Random& random);

}  // namespace towerflow::fuzz

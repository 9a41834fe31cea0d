#pragma once

#include <deque>
#include <vector>

#include "core/graph/array.h"
#include "models/batch_norm/compare.h"

namespace towerflow::models::batch_norm {

/// Images [N, 784] and labels [N].
struct DigitBatch {
  Array images, labels;
};

/// Digits in memory: shuffled batches for towers, the same for each seed, and test digits.
class DealtDigits {
 public:
  /// Reads the digits that the training needs. Throws ValueError if a step needs more than there
  /// are.
  explicit DealtDigits(const CompareOptions& options);

  /// Returns the next batch of each tower; the digits are repeated when all were dealt.
  std::vector<DigitBatch> next();
  /// Returns at most 1000 test digits, in batches of one size.
  std::vector<DigitBatch> test() const;

 private:
  struct Digit {
    std::vector<float> pixels;
    std::int32_t label = 0;
    std::size_t tower = 0;  ///< that gets it if digits are dealt by ink
  };
  static std::vector<Digit> read(const std::vector<std::string>& files, std::int64_t most);
  static DigitBatch batch_of(const std::vector<const Digit*>& digits);
  void shuffle();

  CompareOptions options_;
  std::vector<Digit> digits_;
  std::vector<std::deque<const Digit*>> waiting_;  // of each tower
  std::uint64_t rounds_ = 0;                       // of all digits
};

}  // namespace towerflow::models::batch_norm

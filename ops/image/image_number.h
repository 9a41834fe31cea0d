#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/graph/operand.h"

namespace towerflow::image {

/// A size or an offset of an image: a number that is known while the graph is built, or a tensor.
/// Operators compute at once or add a node, as Python's do.
class ImageNumber {
 public:
  ImageNumber(std::int64_t value) : value_(value) {}  // NOLINT: offset + 1
  explicit ImageNumber(Tensor tensor) : tensor_(std::move(tensor)), is_tensor_(true) {}
  /// Takes an argument of a call. Throws TypeError unless it is an integer or a tensor.
  ImageNumber(const Operand& argument, const char* name, Site site);

  bool is_tensor() const { return is_tensor_; }
  std::int64_t value() const { return value_; }
  const Tensor& tensor() const { return tensor_; }
  Tensor& tensor() { return tensor_; }
  Operand operand(Site site) const;
  /// Returns the size for a static shape.
  Dim dim() const;

 private:
  std::int64_t value_ = 0;
  Tensor tensor_;
  bool is_tensor_ = false;
};

ImageNumber added(const ImageNumber& a, const ImageNumber& b, Site site);
ImageNumber subtracted(const ImageNumber& a, const ImageNumber& b, Site site);
ImageNumber negated(const ImageNumber& a, Site site);
/// Rounds towards negative infinity.
ImageNumber halved(const ImageNumber& a, Site site);
ImageNumber larger(const ImageNumber& a, const ImageNumber& b, Site site);
ImageNumber smaller(const ImageNumber& a, const ImageNumber& b, Site site);

enum class Comparison : std::uint8_t { greater, greater_equal, equal };

/// Throws ValueError with `message` unless a compares to b as said. If one is a tensor, adds an
/// operation to `checks` that does so at run time.
void require_number(const ImageNumber& a, Comparison comparison, const ImageNumber& b,
                    const char* message, std::vector<Operation>& checks, Site site);

/// Returns the sizes of a tensor of known rank: of an unknown one, a tensor.
std::vector<ImageNumber> image_dimensions(const Tensor& image, Site site);

/// Makes a vector of int32.
Tensor stacked(const std::vector<ImageNumber>& numbers, Site site);

}  // namespace towerflow::image

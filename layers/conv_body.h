#pragma once

#include <string>
#include <vector>

#include "layers/convolutional.h"

namespace towerflow::layers {

/// What the convolutions share: checked arguments and the weights.
class ConvBody : public LayerBody {
 public:
  ConvBody(const char* class_name, int rank, int filters, const nn::Extents& kernel_size,
           ConvOptions options, Site site);

  Variable kernel, bias;

 protected:
  void build(const Shape& shape, Site site) override;
  /// Returns the kernel's shape for inputs of this number of channels.
  virtual Shape kernel_shape(Dim channels) const;

  /// Throws ValueError if a window is larger than the image by more than one element, before there
  /// are weights.
  virtual void check_image(const Shape& shape, Site site) const;
  /// Returns the number of channels of the inputs. Throws ValueError if it is unknown.
  Dim channels_of(const Shape& shape, Site site) const;
  void add_bias(Site site);
  /// Adds the bias, if there is one, and applies the activation.
  Tensor finish(Tensor result, Site site) const;
  /// Returns strides in the order of the data format, with those of batch and channels.
  std::vector<int> all_strides() const;
  std::string image_format() const { return channels_first_ ? "NCHW" : "NHWC"; }
  int channel_axis() const { return channels_first_ ? -1 - rank_ : -1; }

  int rank_;
  int filters_;
  ConvOptions options_;
  bool channels_first_;
  std::string padding_;  ///< in lower case
  std::vector<int> size_, strides_, rates_;
};

}  // namespace towerflow::layers

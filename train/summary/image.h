#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/graph/operand.h"

namespace towerflow {

namespace summary {

struct ImageOptions {
  ByName by_name = ByName();
  std::optional<std::vector<std::string>> collections{};  ///< SUMMARIES if not given
  std::string family{};  ///< prefix of the tag, by which images are grouped
};

/// Returns a serialized tf.Summary of the first `max_outputs` images of a batch, each a PNG with
/// the tag "name/image/0", .. ("name/image" if max_outputs is 1). uint8 is stored as it is. Floats
/// are scaled per image: by 255 / max if none is negative, else by 127 / max of the absolute values
/// around 128. A pixel that is not finite becomes red.
///
/// shapes   tensor [n, height, width, channels] with 1, 3 or 4 channels -> []
/// dtypes   uint8, float32, float64 -> string
/// grads    none: the result is a message
/// errors   ValueError: not 4 dimensions, max_outputs < 1; TypeError: another dtype; at run time
///          InvalidArgumentError: another number of channels; InternalError: an image without
///          pixels
/// source   tf.summary.image
Tensor image(const std::string& name, const Operand& tensor, int max_outputs = 3,
             ImageOptions options = {}, Site site = Site::current());
inline Tensor image(const std::string& name, const Operand& tensor, ImageOptions options,
                    Site site = Site::current()) {
  return image(name, tensor, 3, std::move(options), site);
}

}  // namespace summary
}  // namespace towerflow

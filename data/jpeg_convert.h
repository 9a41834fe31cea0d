#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string_view>

#include "data/example.h"

namespace towerflow::data {

/// An image as a record of ImageNet's schema holds it.
struct LabelledJpeg {
  std::string_view bytes;
  std::int64_t height, width;
  std::int64_t label;
  std::string_view text;  ///< the label in words
  std::string_view filename;
};

/// Sets the features of TensorFlow's build_image_data.py: image/encoded, image/height, image/width,
/// image/channels, image/colorspace, image/format, image/filename, image/class/label and
/// image/class/text.
void set_features(ExampleBuilder& example, const LabelledJpeg& image);

/// The options of `convert_jpegs`.
struct JpegConvertOptions {
  /// A folder like that of the training images; absent for no validation set.
  std::optional<std::filesystem::path> validation_dir = std::nullopt;
  /// A file with a label a line; absent for the names of the training images' subfolders, sorted.
  std::optional<std::filesystem::path> labels_file = std::nullopt;
  std::int64_t train_shards = 2;       ///< files of the training set, at most one an image
  std::int64_t validation_shards = 2;  ///< files of the validation set
  /// Called with the images written so far and in total.
  std::function<void(std::int64_t done, std::int64_t total)> progress{};
};

/// The number of Examples written, per set, and of labels.
struct JpegCounts {
  std::int64_t train = 0;
  std::int64_t validation = 0;
  std::int64_t labels = 0;
};

/// Converts folders of JPEGs, with one subfolder for each label, to `train-00000-of-00002`, ..,
/// `validation-00000-of-00002`, .. in `out_dir`, which is created if missing. An Example has
/// the features of `set_features`, the JPEG as it is. Labels count from 1, since 0 is the
/// background; `labels.txt` beside the records has a label a line, 1 first. Images are in random
/// order, the same each time. With a labels file, other subfolders are ignored. Files whose name
/// begins with a dot are ignored too.
///
/// The files appear when all are written; an earlier error leaves existing ones untouched. Then
/// files of an earlier conversion into another number of files are deleted. Throws NotFoundError
/// for a folder or a file that is missing, a label without a subfolder of training images, and a
/// set without images; InvalidArgumentError, with the file, for one that is no JPEG, for a
/// validation image of an unknown label, and for a label that is listed twice or is not a name of
/// one line; and errors of reading and writing.
JpegCounts convert_jpegs(const std::filesystem::path& train_dir,
                         const std::filesystem::path& out_dir,
                         const JpegConvertOptions& options = {});

}  // namespace towerflow::data

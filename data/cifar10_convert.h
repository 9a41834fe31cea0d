#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>

namespace towerflow::data {

/// The number of Examples written, per set; 0 for a set that has no file.
struct Cifar10Counts {
  std::int64_t train = 0;
  std::int64_t validation = 0;
  std::int64_t eval = 0;
};

/// Converts the files of CIFAR-10's binary version (plain or gzip) to `train.tfrecords`
/// (data_batch_1 to data_batch_4), `validation.tfrecords` (data_batch_5) and `eval.tfrecords`
/// (test_batch) in `out_dir`, which is created if missing. An Example has `image` (3,072 bytes: the
/// red, green and blue planes, each row by row) and `label` (int64); Examples are in the order of
/// the files. The sets are those of TensorFlow's generate_cifar10_tfrecords.py.
///
/// A set gets the files that are there; without any it is not written, and a file of it from an
/// earlier conversion is deleted. The files appear when all are written; an earlier error leaves
/// existing ones untouched. `progress` is called with the files converted so far and in total.
/// Throws NotFoundError if none is there, what `read_cifar10_file` throws, and errors of writing.
Cifar10Counts convert_cifar10(
    const std::filesystem::path& folder, const std::filesystem::path& out_dir,
    const std::function<void(std::int64_t done, std::int64_t total)>& progress = {});

}  // namespace towerflow::data

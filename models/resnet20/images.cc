// CIFAR-10 as TFRecords, and a small set like it.
#include <filesystem>

#include "data/cifar10_convert.h"
#include "data/existing_file.h"
#include "models/cifar10/cifar10.h"
#include "models/resnet20/resnet20.h"

namespace towerflow::models::resnet20 {
namespace {

std::vector<std::string> record_files_of(const std::string& folder, Part part) {
  return {data::existing_file(folder, part == Part::train ? "train.tfrecords" : "eval.tfrecords",
                              "`towerflow convert cifar10 --from cifar-10-batches-bin --to D` "
                              "makes them")
              .string()};
}

void make_stripes(const std::string& folder) {
  const std::filesystem::path binary = std::filesystem::path(folder) / "cifar-10-batches-bin";
  std::filesystem::create_directories(binary);
  cifar10::kImages.make(binary.string());
  data::convert_cifar10(binary, folder);
}

}  // namespace

const DataSet kRecords{.name = "cifar10_records",
                       .examples = "images",
                       .files = "train.tfrecords and eval.tfrecords",
                       .made = "2,000 images of stripes in ten directions and widths",
                       .files_of = record_files_of,
                       .count = count_records,
                       .make = make_stripes};

}  // namespace towerflow::models::resnet20

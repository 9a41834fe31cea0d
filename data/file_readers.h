#pragma once

#include <cstdint>
#include <string>

#include "data/record_reader.h"

namespace towerflow::types {

struct FixedLengthRecordReaderOptions {
  std::int64_t header_bytes = 0;  ///< before the first record
  std::int64_t footer_bytes = 0;  ///< at the end of a file, part of no record
  std::int64_t hop_bytes = 0;  ///< from one record's beginning to the next; 0 stands for their size
  std::string name{};
  std::string encoding{};  ///< "", "ZLIB" or "GZIP": how the files are stored
};

/// Reads records of one length, such as CIFAR-10's. Keys are "path:number of the record in its
/// file", from 0; bytes at a file's end that make no whole record are passed over.
///
/// errors   ValueError: record_bytes below 1 or above 2^30, a negative number, an unknown encoding;
///          in a run as `TFRecordReader`
/// source   tf.FixedLengthRecordReader
class FixedLengthRecordReader : public ReaderBase {
 public:
  explicit FixedLengthRecordReader(std::int64_t record_bytes,
                                   FixedLengthRecordReaderOptions options = {},
                                   Site site = Site::current());
};

struct TextLineReaderOptions {
  std::int64_t skip_header_lines = 0;  ///< of each file
  std::string name{};
};

/// Reads lines, without "\n" or "\r\n". Keys are "path:number of the line", from 1.
///
/// errors   ValueError: skip_header_lines below 0; in a run ResourceExhaustedError: a line of more
///          than 2^30 bytes; and those of `TFRecordReader`
/// source   tf.TextLineReader
class TextLineReader : public ReaderBase {
 public:
  explicit TextLineReader(TextLineReaderOptions options = {}, Site site = Site::current());
};

struct WholeFileReaderOptions {
  std::string name{};
};

/// Reads whole files. Keys are their paths.
///
/// errors   in a run ResourceExhaustedError: a file of more than 2^30 bytes; and those of
///          `TFRecordReader`
/// source   tf.WholeFileReader
class WholeFileReader : public ReaderBase {
 public:
  explicit WholeFileReader(WholeFileReaderOptions options = {}, Site site = Site::current());
};

}  // namespace towerflow::types

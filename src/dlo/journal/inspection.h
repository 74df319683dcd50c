#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "dlo/core/result.h"
#include "dlo/journal/file_system.h"
#include "dlo/journal/journal.h"

namespace dlo {

class Segments;

/// A place where a journal is not what it was.
struct Damage {
  std::string file;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;  // up to the next thing that is whole; 0: the whole file
  std::string what;
};

/// A journal looked at from outside. Changes nothing, stops at nothing, reads every byte.
class Inspection {
 public:
  explicit Inspection(FileSystem& files);
  ~Inspection();
  Inspection(const Inspection&) = delete;
  Inspection& operator=(const Inspection&) = delete;

  /// Walks all segments and hands every whole record to `visit`, in order, past any damage.
  /// An error is the visitor's, or says that files cannot be read.
  Result<void> walk(const Journal::Visitor& visit);

  /// As Journal::read, after `walk`.
  void read(std::span<const Address> records, const Journal::Reader& each);

  std::uint64_t segments = 0;
  std::uint64_t groups = 0;
  std::uint64_t records = 0;
  std::uint64_t bytes = 0;
  bool sealed = false;           // the last stop was clean
  std::uint64_t unfinished = 0;  // bytes of a last group that a crash cut short: no damage
  std::vector<Damage> damages;

 private:
  class Walk;
  FileSystem& files_;
  std::unique_ptr<Segments> segments_;
};

}  // namespace dlo

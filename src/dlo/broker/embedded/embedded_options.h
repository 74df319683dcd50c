#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "dlo/broker/own_queues.h"
#include "dlo/core/sealed.h"
#include "dlo/core/time.h"
#include "dlo/journal/journal.h"

namespace dlo {

struct EmbeddedOptions {
  JournalOptions journal;
  // A checkpoint is written after this much journal, or eight times its own size if that is more:
  // then reading back is quick and checkpoints are a small part of what is written.
  std::uint64_t checkpoint_every = 64U << 20U;
  // Slots have 24 bits for the number of a segment; publications end a little earlier.
  std::uint32_t last_segment = 0xFF'FFFF;
  bool housekeeping = true;  // a thread that checkpoints and moves stragglers
  // What it could not do, for want of room as a rule, it tries again after this time.
  Millis housekeeping_again{5000};
  // Told when housekeeping begins to fail, the journal takes nothing more, or the disk does not
  // give a message, and why; and, with an empty text, when housekeeping works again. On the thread
  // of housekeeping, with no lock held.
  std::function<void(const std::string&)> on_trouble;
  // Null: bodies are written as they are. Else payloads, headers and error texts are sealed.
  std::shared_ptr<const Sealer> sealer;
};

}  // namespace dlo

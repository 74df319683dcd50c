#include "dlo/store/poison_book.h"

namespace dlo {

PoisonItem poison_item_of(const DeadLetter& record) {
  const Owner& owner = *record.message->owner;
  PoisonItem item;
  item.poison_id = record.number;
  item.record = record.id;
  item.instance_id = owner.instance;
  item.execution_id = owner.execution;
  item.activity = owner.activity;
  item.abandon_count = record.counters.abandon;
  if (!record.failure.text.empty()) item.last_error = record.failure.text;
  item.poisoned_at = record.died_at;
  return item;
}

}  // namespace dlo

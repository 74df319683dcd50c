#pragma once

// Everything a program needs to embed an office: link dlo::dlo and include this.

#include "dlo/broker/broker.h"
#include "dlo/broker/embedded/embedded_queues.h"
#include "dlo/broker/memory/memory_broker.h"
#include "dlo/core/decide.h"
#include "dlo/core/identity.h"
#include "dlo/core/profile.h"
#include "dlo/engine/clock.h"
#include "dlo/engine/engine.h"
#include "dlo/engine/handler.h"
#include "dlo/engine/processor.h"
#include "dlo/queue/queue.h"
#include "dlo/regex/re2_compiler.h"
#include "dlo/store/memory/memory_office.h"
#include "dlo/store/office.h"
#include "dlo/store/sqlite/sqlite_office.h"

#pragma once
// One small product on the card, compared with the processor's bits: a card that computes wrongly
// is refused before a model is loaded.

#include "engine/backend/backend.h"

namespace cuda {

// Device, in words, when the card's results differ; any error of the card as it comes.
engine::Result<void> testSelf(engine::Backend& card);

} // namespace cuda

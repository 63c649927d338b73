#pragma once
// Where a model runs, in words. Translated: GUI thread.

#include "app/backend_choice.h"
#include "ui/notice.h"

#include <QString>

namespace app {

// "Everything runs on your processor."
QString placeSentence(const ComputePlace& place);
// For a plan that runs on the processor, because the card's memory cannot hold it.
QString tooLargeForCard(const QString& cardName);

// Why a card that is there is not used (ChosenBackend::whyNotCard).
inline constexpr char kPlaceNotice[] = "place"; // its id
ui::Notice placeNotice(const QString& whyNotCard);

} // namespace app

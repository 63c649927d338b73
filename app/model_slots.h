#pragma once
// The three places of a trio, and what the set-up page says of a file in one of them.
//
// GUI thread (translations).

#include "engine/model/model_file.h"
#include "ui/model_setup.h"

#include <QString>

#include <optional>

namespace app {

inline constexpr ui::ModelSlot kSlots[] = {ui::ModelSlot::Target, ui::ModelSlot::Projector,
                                           ui::ModelSlot::Drafter};

// Sizes on disk are in powers of ten, as file managers and download pages have them.
QString diskSize(qint64 bytes);
// The small model that comes with the program, by the name in its file: it can do little.
bool isDemoModel(const engine::ModelFileInfo& info);
// As the file says, or the file's own name.
QString modelName(const engine::ModelFileInfo& info);
QString slotName(ui::ModelSlot slot); // "the second slot"
std::optional<ui::ModelSlot> slotFor(engine::FileRole role);
std::optional<engine::ModelFileInfo>& partOf(engine::ModelSlots& trio, ui::ModelSlot slot);
// A usable file in its place.
ui::SlotState goodSlot(const engine::ModelFileInfo& info, ui::ModelSlot slot);

} // namespace app

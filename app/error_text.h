#pragma once
// Errors as sentences for people: what happened, why if known, and what they can do. The only place
// where such texts are written. GUI thread (translations).

#include "engine/base/result.h"
#include "ui/notice.h"

#include <QString>

#include <filesystem>

namespace app {

enum class Doing { LoadingModel, Answering, Saving, OpeningHistory, Attaching };

// One or two sentences with a full stop. Empty for Cancelled: the person asked for it.
QString errorText(const engine::Error& error, Doing doing);

// Ids of remedies, carried back by the window.
namespace remedy {
inline constexpr auto kChooseFiles = "choose-files";
inline constexpr auto kShorter = "shorter-conversation";
inline constexpr auto kWithoutVision = "without-vision";
inline constexpr auto kWithoutDraft = "without-draft";
inline constexpr auto kReload = "reload-model";
inline constexpr auto kTryAgain = "try-again";
inline constexpr auto kNewChat = "new-chat";
inline constexpr auto kMoreRoom = "more-room";
inline constexpr auto kSaveAgain = "save-again";
} // namespace remedy

// A notice with the sentence, what can be done, and the engine's own words as details.
ui::Notice errorNotice(const QString& id, const engine::Error& error, Doing doing);

// The history could not be read and lies now under another name.
ui::Notice setAsideNotice(const std::filesystem::path& keptAs);

QString pathText(const std::filesystem::path& path); // for display and for Qt's file functions
std::filesystem::path filePath(const QString& path);

} // namespace app

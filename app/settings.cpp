#include "app/settings.h"

#include "app/error_text.h"

#include <cmath>

namespace app {

namespace {

template<class T> T within(const QSettings& ini, const char* key, T least, T most, T standard) {
    bool ok = false;
    const double value = ini.value(QLatin1String(key)).toString().toDouble(&ok);
    if (!ok || !std::isfinite(value) || value < double(least) || value > double(most))
        return standard;
    return static_cast<T>(value);
}

bool flag(const QSettings& ini, const char* key, bool standard) {
    const QString text = ini.value(QLatin1String(key)).toString();
    if (text == QLatin1String("true")) return true;
    if (text == QLatin1String("false")) return false;
    return standard;
}

// An enumeration is stored as the number of its place.
template<class T> T choice(const QSettings& ini, const char* key, T last, T standard) {
    return static_cast<T>(within(ini, key, 0, static_cast<int>(last), static_cast<int>(standard)));
}

} // namespace

Settings::Settings(const QString& iniFile) : m_ini(iniFile, QSettings::IniFormat) {}

ui::SettingsValues Settings::values() const {
    const ui::SettingsValues standard;
    const engine::SamplerSettings& s = standard.sampling;
    ui::SettingsValues v;
    v.theme = choice(m_ini, "window/theme", ui::ThemeChoice::Dark, standard.theme);
    v.textZoom =
        within(m_ini, "window/textZoom", ui::kMinTextZoom, ui::kMaxTextZoom, standard.textZoom);
    v.enterSends = flag(m_ini, "window/enterSends", standard.enterSends);
    v.searchThinking = flag(m_ini, "window/searchThinking", standard.searchThinking);
    const std::string word = m_ini.value(QStringLiteral("chat/strength")).toString().toStdString();
    v.strength = engine::strengthFromWord(word).value_or(standard.strength);
    v.draftLength.tokens = within(m_ini, "chat/draftLength", engine::DraftLength::kAutomatic,
                                  engine::DraftLength::kMax, standard.draftLength.tokens);
    v.sampling.temperature = within(m_ini, "sampling/temperature", 0.0f, 5.0f, s.temperature);
    v.sampling.topK = within(m_ini, "sampling/topK", 0, 1'000'000, s.topK);
    v.sampling.topP = within(m_ini, "sampling/topP", 0.0f, 1.0f, s.topP);
    v.sampling.minP = within(m_ini, "sampling/minP", 0.0f, 1.0f, s.minP);
    v.sampling.repetition = within(m_ini, "sampling/repetition", 0.1f, 10.0f, s.repetition);
    v.sampling.repetitionWindow =
        within(m_ini, "sampling/repetitionWindow", 0, 1'000'000, s.repetitionWindow);
    v.threads = within(m_ini, "engine/threads", 0, 1024, standard.threads);
    return v;
}

void Settings::setValues(const ui::SettingsValues& v) {
    m_ini.setValue(QStringLiteral("window/theme"), static_cast<int>(v.theme));
    m_ini.setValue(QStringLiteral("window/textZoom"), v.textZoom);
    m_ini.setValue(QStringLiteral("window/enterSends"), v.enterSends);
    m_ini.setValue(QStringLiteral("window/searchThinking"), v.searchThinking);
    m_ini.setValue(QStringLiteral("chat/strength"),
                   QString::fromStdString(std::string(engine::strengthWord(v.strength))));
    m_ini.setValue(QStringLiteral("chat/draftLength"), v.draftLength.tokens);
    m_ini.setValue(QStringLiteral("sampling/temperature"), double(v.sampling.temperature));
    m_ini.setValue(QStringLiteral("sampling/topK"), v.sampling.topK);
    m_ini.setValue(QStringLiteral("sampling/topP"), double(v.sampling.topP));
    m_ini.setValue(QStringLiteral("sampling/minP"), double(v.sampling.minP));
    m_ini.setValue(QStringLiteral("sampling/repetition"), double(v.sampling.repetition));
    m_ini.setValue(QStringLiteral("sampling/repetitionWindow"), v.sampling.repetitionWindow);
    m_ini.setValue(QStringLiteral("engine/threads"), v.threads);
}

QByteArray Settings::windowLayout() const {
    return QByteArray::fromBase64(
        m_ini.value(QStringLiteral("window/layout")).toString().toLatin1());
}

void Settings::setWindowLayout(const QByteArray& layout) {
    m_ini.setValue(QStringLiteral("window/layout"), QString::fromLatin1(layout.toBase64()));
}

qint64 Settings::openChat() const {
    bool ok = false;
    const qint64 id = m_ini.value(QStringLiteral("window/openChat")).toString().toLongLong(&ok);
    return ok && id > 0 ? id : 0;
}

void Settings::setOpenChat(qint64 chatId) {
    m_ini.setValue(QStringLiteral("window/openChat"), QString::number(chatId));
}

engine::ModelFiles Settings::modelFiles() const {
    engine::ModelFiles files;
    files.target = filePath(m_ini.value(QStringLiteral("model/target")).toString());
    files.projector = filePath(m_ini.value(QStringLiteral("model/projector")).toString());
    files.drafter = filePath(m_ini.value(QStringLiteral("model/drafter")).toString());
    return files;
}

void Settings::setModelFiles(const engine::ModelFiles& files) {
    m_ini.setValue(QStringLiteral("model/target"), pathText(files.target));
    m_ini.setValue(QStringLiteral("model/projector"), pathText(files.projector));
    m_ini.setValue(QStringLiteral("model/drafter"), pathText(files.drafter));
}

ui::PlanChoice Settings::plan() const {
    ui::PlanChoice plan;
    plan.contextTokens = within<qint64>(m_ini, "model/contextTokens", 0, qint64(1) << 24, 0);
    plan.vision = flag(m_ini, "model/useVision", true);
    plan.draft = flag(m_ini, "model/useDraft", true);
    return plan;
}

void Settings::setPlan(const ui::PlanChoice& plan) {
    m_ini.setValue(QStringLiteral("model/contextTokens"), plan.contextTokens);
    m_ini.setValue(QStringLiteral("model/useVision"), plan.vision);
    m_ini.setValue(QStringLiteral("model/useDraft"), plan.draft);
}

bool Settings::wasSaid(const QString& what) const {
    return flag(m_ini, QStringLiteral("said/%1").arg(what).toLatin1().constData(), false);
}

void Settings::setSaid(const QString& what) {
    m_ini.setValue(QStringLiteral("said/%1").arg(what), true);
}

} // namespace app
